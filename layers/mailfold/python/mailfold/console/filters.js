// The head of the activity list: one search box, chips with counts, a source and a period.

import { ask } from "./api.js";
import { el, put } from "./dom.js";
import { go, link } from "./router.js";
import { PERIOD_WORDS } from "./time.js";
import { renew } from "./widgets.js";

//: Each chip is a status, and for bounces its class.
const CHIPS = [
  ["All", "", ""],
  ["Delivered", "delivered", ""],
  ["Opened", "opened", ""],
  ["Clicked", "clicked", ""],
  ["Processed", "processed", ""],
  ["Deferred", "deferred", ""],
  ["Bounced, hard", "bounced", "hard"],
  ["Bounced, soft", "bounced", "soft"],
  ["Bounced, unknown", "bounced", "unknown"],
  ["Dropped", "dropped", ""],
  ["Complained", "complained", ""],
  ["Unsubscribed", "unsubscribed", ""],
];
const PAUSE_MS = 600;

// Returns the filters as an element, and what keeps their counts and sources up to date.
export function makeFilters(filter, change) {
  const chips = el("div", { class: "chips", role: "group", "aria-label": "Status" });
  const source = el("select", { name: "source", "aria-label": "Source" }, el("option", { value: "" }, "All sources"));
  let known = "";
  const node = el("div", { class: "filters" }, searchBox(filter, change), source, periodOf(filter, change), chips);
  count(null);
  source.addEventListener("change", () => change({ source: source.value }));

  async function refresh(signal) {
    const names = (await ask("v1/sources", { signal })).sources.map((row) => row.source);
    if (filter.source && !names.includes(filter.source)) names.push(filter.source);
    if (known === names.join("\n")) return;
    known = names.join("\n");
    const options = names.map((name) => el("option", { value: name, selected: name === filter.source }, name));
    put(source, el("option", { value: "" }, "All sources"), options);
  }

  function count(counts) {
    renew(
      chips,
      CHIPS.map((chip) => chipOf(chip, filter, counts, change)),
      isFiltered(filter) && el("a", { class: "clear", href: link("activity") }, "Clear the filters"),
    );
  }

  return { node, refresh, count };
}

function isFiltered({ q, status, source, period }) {
  return Boolean(q || status || source) || period !== "30d";
}

function chipOf([words, status, bounce], filter, counts, change) {
  const chosen = filter.status === status && filter.bounce === bounce;
  const found = counts?.find((row) => row.status === status && (row.bounce_class ?? "") === bounce);
  const attributes = {
    type: "button",
    class: `chip${found?.messages === 0 ? " none" : ""}`,
    "aria-pressed": String(chosen),
    on: { click: () => change({ status, bounce }) },
  };
  const number = found && el("span", { class: "count" }, `${found.messages}${found.more ? "+" : ""}`);
  return el("button", attributes, words, number);
}

function searchBox(filter, change) {
  const input = el("input", {
    type: "search",
    name: "q",
    value: filter.q,
    placeholder: "Address or message id",
    "aria-label": "Search by address or message id",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 1000,
  });
  let timer = 0;
  const search = () => {
    clearTimeout(timer);
    const text = input.value.trim();
    // Only addresses hold this sign for sure; whatever else is typed is looked up as a message.
    if (text === "" || text.includes("@")) {
      if (text !== filter.q) change({ q: text });
    } else go(link("message", text));
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    // Message ids hold an @ as well, so a pause searches for nothing but a whole address.
    if (input.value === "" || /^[^@\s<>]+@[^@\s]+\.[a-z]{2,}$/i.test(input.value.trim())) {
      timer = setTimeout(search, PAUSE_MS);
    }
  });
  const form = el("form", { class: "search", role: "search" }, input);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  return form;
}

function periodOf(filter, change) {
  const options = Object.entries(PERIOD_WORDS).map(([name, words]) =>
    el("option", { value: name, selected: name === filter.period }, words),
  );
  const select = el("select", { name: "period", "aria-label": "Time" }, options);
  const from = el("input", { type: "date", name: "from", value: filter.from, "aria-label": "From" });
  const to = el("input", { type: "date", name: "to", value: filter.to, "aria-label": "To and including" });
  const days = el("span", { class: "days", hidden: filter.period !== "own" }, from, " to ", to);
  select.addEventListener("change", () => {
    if (select.value === "own") days.hidden = false;
    else change({ period: select.value });
  });
  for (const day of [from, to]) {
    day.addEventListener(
      "change",
      () => from.value && to.value && change({ period: "own", from: from.value, to: to.value }),
    );
  }
  return el("span", { class: "period" }, select, days);
}
