// What happened to one message: for each recipient the status, what it means, and every event in its order.

import { ask, Refusal } from "./api.js";
import { decideButton } from "./decisions.js";
import { diagnose, reasonOf, scopeWords } from "./diagnosis.js";
import { el, put } from "./dom.js";
import { link } from "./router.js";
import { exact } from "./time.js";
import { copyable, empty, folded, heading, mark, pill, when } from "./widgets.js";

//: For more recipients than this, whether each is suppressed is left to its own page.
const MOST_LOOKED_UP = 10;

export function open(main, route, again) {
  const id = route.rest;
  const body = el("div", { class: "message" });
  const back = el("p", { class: "back" }, el("a", { href: link("activity") }, "← Activity"));
  put(main, back, heading("Message"), el("p", { class: "message-id" }, copyable(id, "message id")), body);
  let before = "";
  let raws = null;
  // Asked for once, when somebody opens the first fold.
  const rawOf = async (eventId) => {
    raws ??= ask(path(id), { query: { raw: true } }).then(byEvent);
    const found = (await raws).get(eventId);
    return found === undefined ? "not among the first hundred events" : found;
  };

  async function refresh(signal) {
    let message;
    try {
      message = await ask(path(id), { signal });
    } catch (reason) {
      if (!(reason instanceof Refusal) || reason.status !== 404) throw reason;
      put(body, unknown(id));
      return;
    }
    const stops = await lookUp(message.recipients, signal);
    const now = JSON.stringify([message, [...stops]]);
    // Folds that are open stay open as long as nothing has happened.
    if (now === before) return;
    before = now;
    raws = null;
    put(
      body,
      message.recipients.map((recipient) => section(recipient, stops.get(recipient.recipient), rawOf, again)),
    );
    if (message.more_events) body.append(el("p", { class: "faint" }, "There are more events than are shown here."));
  }

  return { title: "Message", refresh };
}

const path = (id) => `v1/messages/${encodeURIComponent(id)}`;

function byEvent(message) {
  return new Map(message.recipients.flatMap(({ timeline }) => timeline.map((event) => [event.event_id, event.raw ?? event.raw_left_out])));
}

async function lookUp(recipients, signal) {
  const names = recipients.map(({ recipient }) => recipient).filter((name) => name && /@|^erased:/.test(name));
  const answers = names.slice(0, MOST_LOOKED_UP).map(async (name) => {
    // An address that the API does not take for one is still shown with its events.
    const found = await ask(`v1/recipients/${encodeURIComponent(name)}`, { signal }).catch(() => null);
    return [name, found?.suppressions.filter((row) => row.suppressed) ?? []];
  });
  return new Map(await Promise.all(answers));
}

function unknown(id) {
  return empty(
    "Nothing is stored about this message.",
    el("p", {}, "Either no event of it has arrived yet, or its events are older than what is kept."),
    id.includes("@") && el("p", {}, el("a", { href: link("activity", "", { q: id }) }, "Search for it as an address")),
  );
}

function section(recipient, stops, rawOf, again) {
  const { status, bounce_class: bounceClass, timeline } = recipient;
  const name = recipient.recipient;
  const deciding = timeline.findLast((event) => event.type === status && (event.bounce_class ?? null) === bounceClass);
  const title = name
    ? el("a", { href: link("address", name) }, name)
    : el("span", { class: "faint" }, "no recipient named");
  return el(
    "section",
    { class: "card" },
    el("h2", {}, title),
    el("p", { class: "status-line" }, pill(status, bounceClass), recipient.since && ["since ", when(recipient.since)]),
    deciding && meaning(deciding),
    stops?.map((stop) => stopLine(name, stop, again)),
    el("h3", {}, `Events (${timeline.length})`),
    el(
      "ol",
      { class: "timeline" },
      timeline.map((event) => entry(event, rawOf)),
    ),
  );
}

function meaning(event) {
  const { code, says, advice } = diagnose(event);
  return el(
    "p",
    { class: "meaning" },
    el("strong", {}, says),
    advice && ` ${advice}`,
    code && [" ", el("code", {}, code)],
  );
}

function stopLine(name, stop, again) {
  return el(
    "p",
    { class: "stop-line" },
    mark("suppressed", "suppressed"),
    el("span", {}, `for ${scopeWords(stop.scope)}: ${reasonOf(stop)}`),
    decideButton("lift", name, stop.scope, again),
  );
}

function entry(event, rawOf) {
  const { says } = diagnose(event);
  return el(
    "li",
    { class: `event is-${event.type}` },
    el(
      "div",
      { class: "event-head" },
      pill(event.type, event.bounce_class),
      event.machine && mark("machine", "other"),
      el(
        "span",
        { class: "event-time" },
        when(event.occurred_at),
        el("span", { class: "faint" }, exact(event.occurred_at)),
      ),
    ),
    el("p", { class: "event-says" }, says),
    event.reason && el("p", { class: "reason" }, event.reason),
    el("p", { class: "faint small" }, `${event.source}: `, el("code", {}, event.kind), ` · ${event.event_id}`),
    folded("Raw", () => rawOf(event.event_id)),
  );
}
