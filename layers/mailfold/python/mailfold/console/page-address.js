// One address: whether it may be mailed, why not, and what happened to it lately.

import { ask } from "./api.js";
import { decideButton } from "./decisions.js";
import { diagnose, reasonOf, scopeWords } from "./diagnosis.js";
import { el, put } from "./dom.js";
import { link } from "./router.js";
import { copyable, empty, folded, heading, mark, pill, table, when } from "./widgets.js";

const HEADINGS = ["Event", "Meaning", "Message", "Source", "Time"];

export function open(main, route, again) {
  const address = route.rest;
  const body = el("div", {});
  const back = el("p", { class: "back" }, el("a", { href: link("suppressions") }, "← Suppressions"));
  put(main, back, heading("Address"), el("p", { class: "message-id" }, copyable(address, "address")), body);
  let before = "";

  async function refresh(signal) {
    const found = await ask(`v1/recipients/${encodeURIComponent(address)}`, { signal });
    const now = JSON.stringify(found);
    if (now === before) return;
    before = now;
    put(
      body,
      verdict(found, again),
      found.suppressions.map((row) => stopCard(found.address, row, again)),
      events(found),
    );
  }

  return { title: "Address", refresh };
}

function verdict(found, again) {
  const some = found.suppressions.some((row) => row.suppressed);
  const words = found.may_be_mailed
    ? some
      ? "May be mailed, but not in every scope."
      : "May be mailed."
    : "Must not be mailed.";
  return el(
    "p",
    { class: "verdict" },
    mark(found.may_be_mailed ? "may be mailed" : "suppressed", found.may_be_mailed ? "delivered" : "suppressed"),
    el("strong", {}, words),
    found.may_be_mailed && decideButton("stop", found.address, "", again),
  );
}

function stopCard(address, row, again) {
  return el(
    "section",
    { class: "card" },
    el("h2", {}, `${row.suppressed ? "Stopped" : "Was suppressed"} for ${scopeWords(row.scope)}`),
    el(
      "dl",
      { class: "facts" },
      fact("Reason", reasonOf(row)),
      fact("First stop", when(row.first_suppress_at ?? row.soft_suppress_at ?? row.manual_at)),
      fact("Latest stop", when(row.last_suppress_at ?? row.soft_suppress_at ?? row.manual_at)),
      row.last_lift_at && fact("Latest lift", when(row.last_lift_at)),
      row.manual_effect &&
        fact("By hand", `${row.manual_effect} by ${row.manual_by}: ${row.manual_reason || "no reason given"}`),
    ),
    row.suppressed && el("p", {}, decideButton("lift", address, row.scope, again)),
    folded("Evidence", () => row),
  );
}

function fact(name, value) {
  return el("div", {}, el("dt", {}, name), el("dd", {}, value));
}

function events(found) {
  if (!found.events.length) return empty("Nothing is stored about this address.");
  const rows = found.events.map((event) => [
    pill(event.type, event.bounce_class),
    diagnose(event).says,
    event.message_id ? el("a", { href: link("message", event.message_id), class: "clip" }, event.message_id) : "–",
    event.source,
    when(event.occurred_at),
  ]);
  return [
    el("h2", {}, `Events (${found.events.length}${found.events.length === 100 ? "+" : ""})`),
    el("div", { class: "listing" }, table("Events", HEADINGS, rows, { look: "events" })),
  ];
}
