// Folding dead letters again: always tried first, then confirmed, then done page by page.

import { ask } from "./api.js";
import { askFirst } from "./ask-first.js";
import { el, put } from "./dom.js";
import { announce, table } from "./widgets.js";

const PAGE = 100;
const COUNTS = ["letters", "new", "duplicate", "conflict", "left", "events"];
const OUTCOMES = {
  new: "folded, new",
  duplicate: "folded, known already",
  conflict: "folded, in conflict with a known content",
};

// Returns what tries and redrives the letters of a choice: a group, or all.
export function redrivePanel(choice, expected, again) {
  const result = el("div", { class: "result", role: "status" });
  const bar = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Letters done" });
  const words = choice.all ? "all groups" : "this group";
  const dryRun = el("button", { type: "button" }, `Dry run of ${words}`);
  const apply = el("button", { type: "button", class: "danger", hidden: true }, "Redrive");
  const buttons = [dryRun, apply];

  async function work(applied) {
    for (const button of buttons) button.disabled = true;
    bar.hidden = false;
    try {
      const sums = await walk(choice, applied, (done) => {
        bar.max = Math.max(expected, done, 1);
        bar.value = done;
      });
      put(result, summary(sums, applied));
      const foldable = sums.letters - sums.left;
      apply.hidden = applied || sums.letters === 0;
      apply.textContent = `Redrive ${sums.letters} letter${sums.letters === 1 ? "" : "s"}`;
      announce(
        `${applied ? "Redriven" : "Dry run"}: ${foldable} of ${sums.letters} letters ${applied ? "are" : "would be"} folded.`,
      );
      apply.onclick = () => confirm(sums.letters, foldable);
    } catch (reason) {
      put(result, el("p", { class: "dialog-problem" }, reason.message));
    } finally {
      bar.hidden = true;
      for (const button of buttons) button.disabled = false;
    }
  }

  async function confirm(letters, foldable) {
    const agreed = await askFirst({
      title: `Redrive ${letters} letters?`,
      words: [
        `By the dry run ${foldable} of them fold, and ${letters - foldable} stay with today's reason.`,
        "What is folded stays folded. Letters that arrive meanwhile are not meant.",
      ],
      verb: "Redrive",
      danger: true,
      act: () => true,
    });
    if (!agreed) return;
    await work(true);
    again();
  }

  dryRun.addEventListener("click", () => work(false));
  return el("div", { class: "redrive" }, el("div", { class: "buttons" }, dryRun, apply, bar), result);
}

async function walk(choice, apply, report) {
  const sums = Object.fromEntries(COUNTS.map((name) => [name, 0]));
  const reasons = new Map();
  let place = {};
  for (;;) {
    const page = await ask("v1/dead-letters/redrive", {
      method: "POST",
      body: { ...choice, ...place, apply, most: PAGE },
    });
    for (const name of COUNTS) sums[name] += page[name] ?? 0;
    for (const why of page.reasons ?? []) {
      const key = JSON.stringify([why.source, why.kind, why.reason]);
      reasons.set(key, (reasons.get(key) ?? 0) + why.letters);
    }
    report(sums.letters);
    if (!page.cursor) return { ...sums, reasons };
    place = { cursor: page.cursor, until: page.until };
  }
}

function summary(sums, applied) {
  if (!sums.letters) return el("p", {}, "There is nothing left to fold.");
  const rows = Object.entries(OUTCOMES)
    .filter(([name]) => sums[name])
    .map(([name, words]) => [String(sums[name]), words, ""]);
  const left = [...sums.reasons].map(([key, letters]) => {
    const [source, kind, reason] = JSON.parse(key);
    return [String(letters), applied ? "left" : "would be left", `${source ?? "–"}, ${kind}: ${reason}`];
  });
  return [
    el("h2", {}, applied ? "Redriven" : "Dry run: nothing was changed"),
    table("Outcome", ["Letters", "Outcome", "Reason"], [...rows, ...left], { look: "outcome" }),
  ];
}
