// Folding dead letters again: always tried first, then confirmed, then done page by page.

import { ask } from "./api.js";
import { askFirst } from "./ask-first.js";
import { el, put } from "./dom.js";
import { announce, table } from "./widgets.js";

const PAGE = 100;
const COUNTS = ["dead_letters", "new", "duplicate", "conflict", "left", "left_out", "events"];
const OUTCOMES = {
  new: "folded, new",
  duplicate: "folded, known already",
  conflict: "folded, in conflict with a known content",
};

// Returns what tries and redrives the dead letters of a choice: a group, or all.
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
      const foldable = sums.dead_letters - sums.left;
      apply.hidden = applied || sums.dead_letters === 0;
      apply.textContent = `Redrive ${sums.dead_letters} dead letter${sums.dead_letters === 1 ? "" : "s"}`;
      announce(
        `${applied ? "Redriven" : "Dry run"}: ${foldable} of ${sums.dead_letters} dead letters ${applied ? "are" : "would be"} folded.`,
      );
      apply.onclick = () => confirm(sums.dead_letters, foldable, sums.left_out);
    } catch (reason) {
      put(result, el("p", { class: "dialog-problem" }, reason.message));
    } finally {
      bar.hidden = true;
      for (const button of buttons) button.disabled = false;
    }
  }

  async function confirm(dead_letters, foldable, leftOut) {
    const agreed = await askFirst({
      title: `Redrive ${dead_letters} dead letters?`,
      words: [
        `By the dry run ${foldable} of them fold, and ${dead_letters - foldable} stay with today's reason.`,
        leftOut && `${leftOut} more are left out; the dry run says why.`,
        "What is folded stays folded. Letters that arrive meanwhile are not meant.",
      ].filter(Boolean),
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

// Folds one dead letter that failed an authenticity check, after a person has read what that means.
export function foldUnproven(id) {
  return askFirst({
    title: "Fold an unproven dead letter?",
    words: [
      "It failed an authenticity check: its signature was used for another event, or is too old to be checked. " +
        "Anyone who saw that signature could have sent it.",
      "Folded, it counts like any event of the provider: it can change a status and suppress an address. " +
        "That cannot be undone. The audit log names your token.",
      "Fold it only if the provider itself shows the same event.",
    ],
    verb: "Fold it unproven",
    danger: true,
    act: async () => {
      const fold = (apply) =>
        ask("v1/dead-letters/redrive", { method: "POST", body: { ids: [id], unproven: true, apply } });
      const tried = await fold(false);
      if (tried.left) throw new Error(`Today's code cannot fold it: ${tried.reasons[0].reason}. Nothing was changed.`);
      if (!tried.dead_letters) throw new Error("It is no longer here: it was folded, or pruned.");
      await fold(true);
      announce("The dead letter is folded.");
    },
  });
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
      reasons.set(key, (reasons.get(key) ?? 0) + why.dead_letters);
    }
    sums.left_out_reason = page.left_out_reason ?? sums.left_out_reason;
    report(sums.dead_letters + sums.left_out);
    if (!page.cursor) return { ...sums, reasons };
    place = { cursor: page.cursor, until: page.until };
  }
}

function summary(sums, applied) {
  const leftOut = sums.left_out
    ? el("p", {}, `${sums.left_out} left out: ${sums.left_out_reason}.`)
    : null;
  if (!sums.dead_letters) return [el("p", {}, "There is nothing left to fold."), leftOut];
  const rows = Object.entries(OUTCOMES)
    .filter(([name]) => sums[name])
    .map(([name, words]) => [String(sums[name]), words, ""]);
  const left = [...sums.reasons].map(([key, dead_letters]) => {
    const [source, kind, reason] = JSON.parse(key);
    return [String(dead_letters), applied ? "left" : "would be left", `${source ?? "–"}, ${kind}: ${reason}`];
  });
  return [
    el("h2", {}, applied ? "Redriven" : "Dry run: nothing was changed"),
    table("Outcome", ["Letters", "Outcome", "Reason"], [...rows, ...left], { look: "outcome" }),
    leftOut,
  ];
}
