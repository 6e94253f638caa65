// What could not be folded: by the way in which it failed, one by one, and folded again after a dry run.

import { ask } from "./api.js";
import { el, put } from "./dom.js";
import { foldUnproven, redrivePanel } from "./redrive.js";
import { link } from "./router.js";
import { copyable, empty, folded, heading, mark, renew, rowLink, table, when } from "./widgets.js";

const GROUPS = ["Reason", "Source", "Kind", "Letters", "Newest"];
const LETTERS = ["Letter", "Reason", "Received", "Raw"];
const UNPROVEN =
  "Unproven dead letters failed an authenticity check: anyone who saw one signature could have sent them. " +
  "No redrive of a group folds them. Open the raw, compare it with what the provider shows, then fold it or leave it.";

export function open(main, route, again) {
  return route.rest ? openGroup(main, route.rest, again) : openGroups(main, again);
}

function openGroups(main, again) {
  const list = el("section", { class: "listing", "aria-label": "Groups" });
  const panel = el("div", {});
  const words = "Letters that failed in the same way form a group. Mend the cause, try the group, then fold it again.";
  put(main, heading("Dead letters"), el("p", { class: "faint" }, words), list, panel);
  let before = "";

  async function refresh(signal) {
    const { groups } = await ask("v1/dead-letters", { signal });
    const now = JSON.stringify(groups);
    if (now === before) return;
    before = now;
    renew(list, groups.length ? groupRows(groups) : nothing());
    if (groups.length > 1 && !panel.childNodes.length) put(panel, redrivePanel({ all: true }, count(groups), again));
  }

  return { title: "Dead letters", refresh };
}

function groupRows(groups) {
  const rows = groups.map((group) => [
    rowLink(link("dead-letters", group.group_id), lastLine(group.reason)),
    group.source ?? "–",
    group.kind,
    [`${group.dead_letters}${group.more ? "+" : ""}`, unprovenOf(group)],
    when(group.last_at),
  ]);
  return table("Groups", GROUPS, rows, { look: "dead-letters" });
}

function openGroup(main, groupId, again) {
  const head = el("div", {});
  const panel = el("div", {});
  const list = el("section", { class: "listing", "aria-label": "Letters" });
  const more = el("nav", { class: "pager", "aria-label": "Pages of dead letters" });
  const back = el("p", { class: "back" }, el("a", { href: link("dead-letters") }, "← Dead letters"));
  put(main, back, heading("Dead letters of one group"), head, panel, list, more);
  const cursors = [""];
  let before = "";

  async function refresh(signal) {
    const query = { group: groupId, limit: 50, cursor: cursors.at(-1) };
    const [{ groups }, page] = await Promise.all([
      ask("v1/dead-letters", { signal }),
      ask("v1/dead-letters", { query, signal }),
    ]);
    const group = groups.find((row) => row.group_id === groupId);
    const now = JSON.stringify([group, page]);
    if (now === before) return;
    before = now;
    put(head, group ? groupHead(group) : empty("This group is empty: all of its dead letters are folded, or pruned."));
    if (group && !panel.childNodes.length) put(panel, redrivePanel({ group: groupId }, count([group]), again));
    put(list, page.dead_letters.length ? letterRows(page.dead_letters, again) : []);
    renew(more, pager(page.next));
  }

  function pager(next) {
    const newer = el("button", { type: "button", disabled: cursors.length === 1 }, "← Newer");
    const older = el("button", { type: "button", disabled: !next }, "Older →");
    newer.addEventListener("click", () => (cursors.pop(), again()));
    older.addEventListener("click", () => (cursors.push(next), again()));
    return cursors.length === 1 && !next ? [] : [newer, el("span", {}, `Page ${cursors.length}`), older];
  }

  return { title: "Dead letters", refresh };
}

function groupHead(group) {
  const facts = [
    ["Source", group.source ?? "–"],
    ["Kind", group.kind],
    ["Letters", `${group.dead_letters}${group.more ? "+" : ""}`],
    ["Unproven", String(group.unproven)],
    ["Oldest", when(group.first_at)],
    ["Newest", when(group.last_at)],
  ];
  return [
    el("p", { class: "reason" }, group.reason),
    group.unproven > 0 && el("p", { class: "faint" }, UNPROVEN),
    el(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    ),
  ];
}

function letterRows(dead_letters, again) {
  const rows = dead_letters.map((dead_letter) => [
    copyable(dead_letter.dead_letter_id, "id of the dead letter"),
    [dead_letter.unproven && unproven(dead_letter, again), el("span", { class: "clip" }, lastLine(dead_letter.reason))],
    when(dead_letter.received_at),
    folded("Raw", async () => rawOf(await wholeOf(dead_letter.dead_letter_id))),
  ]);
  return table("Letters", LETTERS, rows, { look: "dead-letter-rows" });
}

function unprovenOf(group) {
  return group.unproven > 0 && [" ", mark(`${group.unproven} unproven`, "deferred")];
}

// The mark, and the only way to fold what bears it: one at a time.
function unproven(dead_letter, again) {
  const name = `Fold the unproven dead letter ${dead_letter.dead_letter_id}`;
  const button = el("button", { type: "button", class: "danger", "aria-label": name }, "Fold…");
  button.addEventListener("click", async () => (await foldUnproven(dead_letter.dead_letter_id)) && again());
  return [mark("unproven", "deferred"), " ", button, " "];
}

// Asked for in so many words, so that a token without the scope is told of it.
function wholeOf(id) {
  return ask(`v1/dead-letters/${encodeURIComponent(id)}`, { query: { raw: true } });
}

// Laid out, where it is JSON at all.
function rawOf({ raw, raw_left_out: leftOut, headers, reason, not_kept: notKept }) {
  let shown = raw ?? leftOut;
  try {
    shown = JSON.stringify(JSON.parse(raw), null, 2);
  } catch {
    // It is shown as it came.
  }
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  const counted = notKept > 0 && `${notKept} more payloads under this key were counted and not kept.`;
  return [reason, counted, lines.join("\n"), shown].filter(Boolean).join("\n\n");
}

// A reason may be a whole traceback; its last line is what tells.
function lastLine(reason) {
  return reason.trim().split("\n").at(-1);
}

function count(groups) {
  return groups.reduce((sum, group) => sum + group.dead_letters, 0);
}

function nothing() {
  return empty(
    "No dead letters.",
    el(
      "p",
      {},
      "Every event that was accepted is folded. An event that cannot be is kept here with its reason and its raw.",
    ),
  );
}
