// Is it flowing, and is anything close to a line: counts, plots and ages.

import { ask } from "./api.js";
import { el, put } from "./dom.js";
import { figure, percent, short } from "./plot.js";
import { go, link } from "./router.js";
import { span } from "./time.js";
import { heading, renew } from "./widgets.js";

//: name -> step, hours, words
const RANGES = {
  "1h": ["minute", 1, "60 minutes"],
  "24h": ["hour", 24, "24 hours"],
  "7d": ["hour", 168, "7 days"],
  "30d": ["day", 720, "30 days"],
};
const TYPES = [
  "processed",
  "delivered",
  "opened",
  "clicked",
  "deferred",
  "bounced",
  "dropped",
  "complained",
  "unsubscribed",
  "resubscribed",
  "other",
];
// SES looks at a sender from the first of each on and pauses it from the second on:
// https://docs.aws.amazon.com/ses/latest/dg/reputationdashboard-messages.html
const BOUNCE_LINES = [
  { name: "SES reviews at 5 %", at: 5 },
  { name: "SES may pause at 10 %", at: 10 },
];
const COMPLAINT_LINES = [
  { name: "SES reviews at 0.1 %", at: 0.1 },
  { name: "SES may pause at 0.5 %", at: 0.5 },
];
const WIDTHS = { minute: 60e3, hour: 3600e3, day: 86400e3 };
//: A rate of fewer sends than this says nothing.
const LEAST_SENDS = 10;
//: How many measurements of the ages are kept while the page is open.
const KEPT = 120;
//: Measured while the page is open; the way to another page and back does not lose them.
const ages = [];

export function open(main, route) {
  const name = RANGES[route.query.range] ? route.query.range : "24h";
  const [step, hours, words] = RANGES[name];
  const tiles = el("div", { class: "tiles" });
  const events = figure("Events by type", `As they arrived, by ${step}, in the last ${words}.`);
  const bounces = figure("Hard bounces", `Of what was sent, by ${step}. Fewer than ${LEAST_SENDS} sends make no rate.`);
  const complaints = figure(
    "Complaints",
    `Of what was sent, by ${step}. Fewer than ${LEAST_SENDS} sends make no rate.`,
  );
  const waiting = figure(
    "Ages",
    "Measured while this page is open: both rise when something is stuck. The age of the oldest record of the queue is on the CloudWatch dashboard.",
  );
  put(
    main,
    heading("Overview", chips(name)),
    tiles,
    events.node,
    el("div", { class: "pair" }, bounces.node, complaints.node),
    waiting.node,
  );

  async function refresh(signal) {
    const since = new Date(Date.now() - hours * 3600e3).toISOString();
    const [series, age] = await Promise.all([
      ask("v1/events/series", { query: { step, since }, signal }),
      ask("v1/waiting", { signal }),
    ]);
    const found = gather(series, step);
    remember(age);
    const label = labelOf(step, hours);
    const common = { times: found.times, label };
    events.set({ ...common, key: series.points, kind: "bars", format: short, series: found.byType });
    bounces.set({
      ...common,
      key: series.points,
      kind: "lines",
      format: percent,
      lines: BOUNCE_LINES,
      least: 0.1,
      series: [{ name: "hard bounces", look: "bounced", values: found.rate("hard") }],
    });
    complaints.set({
      ...common,
      key: series.points,
      kind: "lines",
      format: percent,
      lines: COMPLAINT_LINES,
      least: 0.01,
      series: [{ name: "complaints", look: "complained", values: found.rate("complained") }],
    });
    waiting.set(agesData());
    renew(tiles, tilesOf(found, age, words));
  }

  return { title: "Overview", refresh };
}

function chips(chosen) {
  const made = Object.entries(RANGES).map(([name, [, , words]]) =>
    el(
      "button",
      {
        type: "button",
        class: "chip",
        "aria-pressed": String(name === chosen),
        on: { click: () => go(link("overview", "", { range: name })) },
      },
      words,
    ),
  );
  return el("div", { class: "chips", role: "group", "aria-label": "Time" }, made);
}

// Lays the points out in full columns: an hour without events is an hour, not a gap.
function gather({ since, until, points }, step) {
  const width = WIDTHS[step];
  const begin = Date.parse(since);
  const times = [];
  for (let at = begin; at < Date.parse(until); at += width) times.push(at);
  const sum = (fits) => {
    const values = times.map(() => 0);
    for (const point of points) {
      if (fits(point)) values[Math.floor((Date.parse(point.at) - begin) / width)] += point.events;
    }
    return values;
  };
  const of = (type) => sum((point) => point.type === type);
  const hard = sum((point) => point.bounce_class === "hard");
  const [processed, delivered, bounced, complained] = ["processed", "delivered", "bounced", "complained"].map(of);
  // Not every provider tells of a message that it took: then what became of it must do.
  const sends = times.map((_, at) => Math.max(processed[at], delivered[at] + bounced[at]));
  const counts = { hard, complained };
  return {
    times,
    byType: TYPES.map((type) => ({ name: type, look: type, values: of(type) })).filter(({ values }) =>
      values.some(Boolean),
    ),
    rate: (name) => sends.map((sent, at) => (sent < LEAST_SENDS ? null : (100 * counts[name][at]) / sent)),
    all: (name) => counts[name].reduce((a, b) => a + b, 0),
    sends: sends.reduce((a, b) => a + b, 0),
    events: points.reduce((total, point) => total + point.events, 0),
  };
}

function labelOf(step, hours) {
  const options =
    step === "day"
      ? { day: "2-digit", month: "short" }
      : hours > 24
        ? { weekday: "short", hour: "2-digit" }
        : { hour: "2-digit", minute: "2-digit" };
  return (at) => new Date(at).toLocaleString("en-GB", options);
}

function remember({ asked_at: at, oldest_unpublished_at: unpublished, newest_event_at: newest }) {
  const age = (iso) => (iso ? Math.max(0, (Date.parse(at) - Date.parse(iso)) / 1000) : null);
  ages.push({ at: Date.parse(at), unpublished: age(unpublished) ?? 0, newest: age(newest) });
  if (ages.length > KEPT) ages.shift();
}

function agesData() {
  const label = (at) => new Date(at).toLocaleTimeString("en-GB");
  const series = [
    { name: "oldest change that is not published yet", look: "deferred", values: ages.map((age) => age.unpublished) },
    { name: "newest event", look: "clicked", values: ages.map((age) => age.newest) },
  ];
  return { key: ages.at(-1), kind: "lines", times: ages.map(({ at }) => at), label, format: span, least: 10, series };
}

function tilesOf(found, age, words) {
  const share = (name) => (found.sends >= LEAST_SENDS ? percent((100 * found.all(name)) / found.sends) : "–");
  const since = (iso) => (iso ? span((Date.parse(age.asked_at) - Date.parse(iso)) / 1000) : "–");
  return [
    tile("Events", short(found.events), words, link("activity")),
    tile(
      "Hard bounces",
      share("hard"),
      `${found.all("hard")} of ${short(found.sends)} sends`,
      link("activity", "", { status: "bounced", bounce: "hard" }),
    ),
    tile(
      "Complaints",
      share("complained"),
      `${found.all("complained")} of ${short(found.sends)} sends`,
      link("activity", "", { status: "complained" }),
    ),
    tile("Newest event", since(age.newest_event_at), age.newest_event_at ? "ago" : "none stored", link("sources")),
    tile(
      "Oldest unpublished",
      since(age.oldest_unpublished_at),
      age.oldest_unpublished_at ? "waits for the bus" : "nothing waits",
      "",
    ),
    tile(
      "Dead letters",
      `${age.dead_letters}${age.more_dead_letters ? "+" : ""}`,
      age.oldest_dead_letter_at ? `oldest ${since(age.oldest_dead_letter_at)}` : "none",
      link("dead-letters"),
    ),
  ];
}

function tile(name, value, more, href) {
  const inside = [
    el("span", { class: "tile-name" }, name),
    el("span", { class: "tile-value" }, value),
    el("span", { class: "faint" }, more),
  ];
  return href ? el("a", { class: "tile", href }, inside) : el("div", { class: "tile" }, inside);
}
