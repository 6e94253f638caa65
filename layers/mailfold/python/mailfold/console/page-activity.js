// What happened lately: every message with its status, newest first, by status, source, time or address.

import { ask } from "./api.js";
import { exportMessages } from "./export.js";
import { el, put } from "./dom.js";
import { makeFilters } from "./filters.js";
import { go, link } from "./router.js";
import { period } from "./time.js";
import { announce, empty, heading, pill, renew, rowLink, table, when } from "./widgets.js";

const HEADINGS = ["To", "Status", "Last event", "Source", "Time"];
const PAGE = 50;

// Which page of which filter was looked at, so that the way back from a message leads to the same place.
let remembered = { key: "" };

export function open(main, route, again) {
  const filter = readFilter(route.query);
  const key = JSON.stringify(filter);
  if (remembered.key !== key || remembered.cursors.length === 1) {
    remembered = { key, ...period(filter.period, filter.from, filter.to), cursors: [""], newest: new Set() };
  }
  const place = remembered;
  const list = el("section", { class: "listing", "aria-label": "Messages" });
  const fresh = el("button", { type: "button", class: "fresh", hidden: true });
  const pages = el("nav", { class: "pager", "aria-label": "Pages of messages" });
  const filters = makeFilters(filter, (changed) => go(link("activity", "", asQuery({ ...filter, ...changed }))));
  const csv = el("button", { type: "button" }, "CSV");
  csv.addEventListener("click", () => exportMessages(csv, query(filter, place, "")));
  put(main, heading("Activity", csv), filters.node, el("div", { class: "fresh-line" }, fresh), list, pages);
  let shown = null;

  async function refresh(signal) {
    const [newest, counts] = await Promise.all([
      ask("v1/messages", { query: query(filter, place, ""), signal }),
      countStatuses(filter, place, signal),
      filters.refresh(signal),
    ]);
    filters.count(counts);
    const cursor = place.cursors.at(-1);
    if (shown?.cursor !== cursor) {
      draw(cursor, cursor === "" ? newest : await ask("v1/messages", { query: query(filter, place, cursor), signal }));
    } else if (cursor === "" && !isBeingRead(list)) draw("", newest);
    else offer(newest);
  }

  function draw(cursor, page) {
    const same = shown && JSON.stringify(shown.page.messages) === JSON.stringify(page.messages);
    if (shown?.cursor === "" && cursor === "" && !same) announce(`${countNew(page)} new`);
    if (cursor === "") place.newest = new Set(page.messages.map(rowKey));
    if (!same) put(list, page.messages.length ? rowsOf(page.messages) : nothing(filter, page));
    shown = { cursor, page };
    fresh.hidden = true;
    renew(pages, pager(page));
  }

  function countNew(page) {
    return page.messages.filter((message) => !place.newest.has(rowKey(message))).length;
  }

  // What is being read must not move: whoever reads decides when the new rows come.
  function offer(page) {
    const count = countNew(page);
    fresh.hidden = count === 0;
    fresh.textContent = `${count === PAGE ? `${PAGE}+` : count} new`;
    fresh.onclick = () => {
      place.cursors = [""];
      draw("", page);
      scrollTo(0, 0);
    };
  }

  function pager(page) {
    const newer = el("button", { type: "button", disabled: place.cursors.length === 1 }, "← Newer");
    const older = el("button", { type: "button", disabled: !page.next }, "Older →");
    newer.addEventListener("click", () => move(() => place.cursors.pop()));
    older.addEventListener("click", () => move(() => place.cursors.push(page.next)));
    return [newer, el("span", {}, `Page ${place.cursors.length}`), older];
  }

  function move(change) {
    change();
    announce(`Page ${place.cursors.length}`);
    scrollTo(0, 0);
    again();
  }

  return { title: "Activity", refresh };
}

function readFilter(query) {
  const { q = "", status = "", bounce = "", source = "", period: name = "30d", from = "", to = "" } = query;
  return { q, status, bounce, source, period: name, from, to };
}

function asQuery({ period: name, from, to, ...rest }) {
  return { ...rest, period: name === "30d" ? "" : name, ...(name === "own" && { from, to }) };
}

function query(filter, { since, until }, cursor) {
  return {
    recipient: filter.q,
    status: filter.status,
    bounce_class: filter.bounce,
    source: filter.source,
    since,
    until,
    limit: PAGE,
    cursor,
  };
}

async function countStatuses(filter, { since, until }, signal) {
  // The API counts statuses of everybody; next to one address they would mislead.
  if (filter.q) return null;
  return (await ask("v1/statuses/counts", { query: { source: filter.source, since, until }, signal })).counts;
}

function rowKey({ message_id, recipient, event }) {
  return `${message_id}\n${recipient}\n${event.event_id}`;
}

function isBeingRead(list) {
  return scrollY > 120 || list.contains(document.activeElement) || list.matches(":hover");
}

function rowsOf(messages) {
  const rows = messages.map((message) => [
    rowLink(link("message", message.message_id), message.recipient, `Message ${message.message_id}`),
    pill(message.status, message.bounce_class),
    el("span", { class: "clip" }, [message.event.type, message.event.reason].filter(Boolean).join(": ")),
    message.source,
    when(message.event.received_at),
  ]);
  return table("Messages", HEADINGS, rows, { look: "activity" });
}

function nothing(filter, page) {
  if (page.next) return empty("Nothing on this page yet.", el("p", {}, "Older pages may hold more."));
  if (filter.q || filter.status || filter.source) {
    return empty(
      "No message fits these filters.",
      el("p", {}, el("a", { href: link("activity") }, "Clear the filters")),
    );
  }
  return empty(
    filter.period === "all" ? "No event has arrived yet." : "No event has arrived in this time.",
    el("p", {}, "Let a provider post its events to this address, with the name of a source at its end:"),
    el("p", {}, el("code", {}, new URL("webhooks/", document.baseURI).href + "SOURCE")),
    el("p", {}, "On the local stack, send signed traffic of every provider with ", el("code", {}, "make demo"), "."),
  );
}
