// The small things that pages are made of.

import { el, put } from "./dom.js";
import { ago, exact } from "./time.js";

const KNOWN = new Set(
  "processed deferred bounced delivered opened clicked unsubscribed dropped complained resubscribed other".split(" "),
);

// Says something to whoever cannot see the page change.
export function announce(sentence) {
  document.getElementById("live").textContent = sentence;
}

// Returns a status as a word with a colour; the colour alone never tells.
export function pill(status, bounceClass) {
  const word = status ?? "unknown";
  const look = KNOWN.has(word) ? (word === "bounced" && bounceClass !== "hard" ? "soft" : word) : "other";
  return el("span", { class: `pill is-${look}` }, bounceClass ? `${word}, ${bounceClass}` : word);
}

// Returns a mark of another kind, such as "quiet" or "high".
export function mark(word, look) {
  return el("span", { class: `pill is-${look}` }, word);
}

// Returns how long ago something was, with the exact time on demand.
export function when(iso) {
  if (!iso) return el("span", { class: "faint" }, "never");
  return el("time", { datetime: iso, title: exact(iso), "data-at": iso }, ago(iso));
}

// Brings the relative times up to date.
export function tick() {
  for (const node of document.querySelectorAll("time[data-at]")) {
    const text = ago(node.dataset.at);
    if (node.textContent !== text) node.textContent = text;
  }
}

// Returns an id in monospace with a button that copies it.
export function copyable(text, name = "id", shown = text) {
  const button = el(
    "button",
    { type: "button", class: "copy", "aria-label": `Copy the ${name}`, title: "Copy" },
    "Copy",
  );
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text).then(
      () => (button.textContent = "Copied"),
      () => (button.textContent = "Not allowed"),
    );
    announce(`${name}: ${button.textContent.toLowerCase()}`);
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return el("span", { class: "copyable" }, el("code", { title: text }, shown), button);
}

// Returns what stands where there is nothing to show; it says what would bring something.
export function empty(title, ...more) {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, title), ...more);
}

// Returns a table. Roles are spelled out, because narrow screens lay it out as cards, which hides a table from readers.
export function table(name, headings, rows, { look = "", label = name } = {}) {
  const head = headings.map((heading) => el("th", { scope: "col", role: "columnheader" }, heading));
  return el(
    "table",
    { class: `list ${look}`, role: "table", "aria-label": label },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head)),
    el(
      "tbody",
      { role: "rowgroup" },
      rows.map((cells) => row(headings, cells)),
    ),
  );
}

function row(headings, cells) {
  const made = cells.map((cell, at) =>
    el("td", { role: "cell", "data-label": headings[at], class: `c${at}` }, el("span", { class: "in" }, cell)),
  );
  return el("tr", { role: "row" }, made);
}

// Returns a link that is as large as its row.
export function rowLink(href, text, title) {
  return el("a", { class: "row-link", href, title }, text);
}

// Returns a fold with JSON in it, made when it is opened first.
export function folded(summary, load) {
  const inside = el("pre", { tabindex: "0", "aria-label": summary });
  const fold = el("details", { class: "fold" }, el("summary", {}, summary), inside);
  fold.addEventListener("toggle", async () => {
    if (!fold.open || inside.textContent) return;
    inside.textContent = "…";
    try {
      const value = await load();
      inside.textContent = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    } catch (reason) {
      inside.textContent = "";
      put(fold, el("summary", {}, summary), el("p", { class: "faint" }, reason.message));
    }
  });
  return fold;
}

// Puts other children into an element; whoever is there with the keyboard stays at the same place.
export function renew(parent, ...children) {
  const stops = () => [...parent.querySelectorAll("a, button, select, input, summary")];
  const at = stops().indexOf(document.activeElement);
  put(parent, ...children);
  if (at >= 0) stops()[at]?.focus({ preventScroll: true });
}

// Returns a heading that takes the focus when its page opens.
export function heading(text, ...beside) {
  return el("div", { class: "heading" }, el("h1", { tabindex: "-1" }, text), ...beside);
}
