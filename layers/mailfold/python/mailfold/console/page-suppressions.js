// Who must not be mailed: why, since when, on what evidence; lift one, or stop one by hand.

import { ask } from "./api.js";
import { decideButton, stop } from "./decisions.js";
import { scopeWords, STOPPED } from "./diagnosis.js";
import { el, put } from "./dom.js";
import { go, link } from "./router.js";
import { announce, empty, heading, mark, renew, table, when } from "./widgets.js";

const HEADINGS = ["Address", "Reason", "Evidence", "Scope", "Since", "Action"];
const CHIPS = [
  ["Stopped now", "true"],
  ["Lifted", "false"],
  ["All", "all"],
];
const LOOKS = {
  bounced: "bounced",
  complained: "complained",
  unsubscribed: "unsubscribed",
  dropped: "dropped",
  soft_bounces: "soft",
};

export function open(main, route, again) {
  const { active = "true", reason = "" } = route.query;
  const list = el("section", { class: "listing", "aria-label": "Suppressions" });
  const pages = el("nav", { class: "pager", "aria-label": "Pages of suppressions" });
  const add = el("button", { type: "button", on: { click: () => stop("", again) } }, "Stop an address");
  put(main, heading("Suppressions", add), filters(active, reason), list, pages);
  const cursors = [""];
  let shown = "";

  async function refresh(signal) {
    const query = { active: active === "all" ? "" : active, reason, limit: 50, cursor: cursors.at(-1) };
    const page = await ask("v1/suppressions", { query, signal });
    const now = JSON.stringify(page.suppressions);
    if (now !== shown && !(shown && list.contains(document.activeElement))) {
      shown = now;
      put(list, page.suppressions.length ? rowsOf(page.suppressions, redo) : nothing(active, reason));
    }
    renew(pages, pager(page.next));
  }

  // A row that was just decided about may go, even from under the focus.
  function redo() {
    shown = "";
    main.querySelector("h1").focus();
    again();
  }

  function pager(next) {
    const newer = el("button", { type: "button", disabled: cursors.length === 1 }, "← Newer");
    const older = el("button", { type: "button", disabled: !next }, "Older →");
    newer.addEventListener("click", () => move(() => cursors.pop()));
    older.addEventListener("click", () => move(() => cursors.push(next)));
    return cursors.length === 1 && !next ? [] : [newer, el("span", {}, `Page ${cursors.length}`), older];
  }

  function move(change) {
    change();
    shown = "";
    announce(`Page ${cursors.length}`);
    again();
    scrollTo(0, 0);
  }

  return { title: "Suppressions", refresh };
}

function filters(active, reason) {
  const to = (changed) => go(link("suppressions", "", { active, reason, ...changed }));
  const chips = CHIPS.map(([words, value]) =>
    el(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(active === value),
        on: { click: () => to({ active: value }) },
      },
      words,
    ),
  );
  const options = Object.entries(STOPPED).map(([name, words]) =>
    el("option", { value: name, selected: name === reason }, words),
  );
  const select = el(
    "select",
    { name: "reason", "aria-label": "Reason" },
    el("option", { value: "" }, "Any reason"),
    options,
  );
  select.addEventListener("change", () => to({ reason: select.value }));
  const input = el("input", {
    type: "search",
    name: "q",
    placeholder: "Look up an address",
    "aria-label": "Look up an address",
    autocomplete: "off",
  });
  const form = el("form", { class: "search", role: "search" }, input);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) go(link("address", input.value.trim()));
  });
  return el(
    "div",
    { class: "filters" },
    form,
    select,
    el("div", { class: "chips", role: "group", "aria-label": "Which" }, chips),
  );
}

function rowsOf(suppressions, again) {
  const rows = suppressions.map((row) => [
    el("a", { href: link("address", row.address) }, row.address),
    mark(STOPPED[row.reason] ?? row.reason ?? "lifted", row.suppressed ? (LOOKS[row.reason] ?? "suppressed") : "other"),
    el("span", { class: "clip" }, evidence(row)),
    scopeWords(row.scope),
    when(row.since),
    row.suppressed
      ? decideButton("lift", row.address, row.scope, again)
      : ["lifted ", when(row.manual_effect === "lift" ? row.manual_at : row.last_lift_at)],
  ]);
  return table("Suppressions", HEADINGS, rows, { look: "suppressions" });
}

function evidence({ reason, evidence: found, manual_by: by, manual_reason: words }) {
  if (reason === "manual") return `${by}: ${words || "no reason given"}`;
  if (reason === "soft_bounces") return `${found?.limit ?? ""} in a row with no delivery since`;
  return found ? found.reason || `told by ${found.source}` : "–";
}

function nothing(active, reason) {
  if (reason || active !== "true") return empty("No address fits these filters.");
  return empty(
    "No address is suppressed.",
    el("p", {}, "Hard bounces, complaints, unsubscribes and soft bounces in a row stop an address by themselves."),
  );
}
