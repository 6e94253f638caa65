// Whether each source flows: its last event, what it sent, its rates against the lines, and where it posts to.

import { ask } from "./api.js";
import { el, put } from "./dom.js";
import { percent } from "./plot.js";
import { link } from "./router.js";
import { copyable, empty, heading, mark, renew, table, when } from "./widgets.js";

const HEADINGS = [
  "Source",
  "Flow",
  "Last event",
  "Events, 1 h",
  "Sends, 24 h",
  "Hard bounces, 24 h",
  "Complaints, 24 h",
  "Dead letters",
  "Webhook",
];

export function open(main) {
  const list = el("section", { class: "listing", "aria-label": "Sources" });
  put(main, heading("Sources"), list, refusals());
  let before = "";

  async function refresh(signal) {
    const { sources } = await ask("v1/sources", { signal });
    const now = JSON.stringify(sources);
    if (now === before) return;
    before = now;
    renew(
      list,
      sources.length
        ? rowsOf(sources)
        : empty("No source is configured.", el("p", {}, "Sources are named in cdk.json.")),
    );
  }

  return { title: "Sources", refresh };
}

function rowsOf(sources) {
  const rows = sources.map((row) => [
    [
      el("a", { href: link("activity", "", { source: row.source }) }, row.source),
      el("small", { class: "faint" }, row.provider ?? "no longer configured"),
    ],
    flow(row),
    when(row.last_event_at),
    String(row.hour.events ?? 0),
    String(row.day.sends),
    rate(row, row.day.hard_bounces, "HardBouncePercentDay"),
    rate(row, row.day.complaints, "ComplaintPercentDay"),
    row.dead_letters
      ? el("a", { href: link("dead-letters") }, `${row.dead_letters}${row.more_dead_letters ? "+" : ""}`)
      : "0",
    webhook(row),
  ]);
  return table("Sources", HEADINGS, rows, { look: "sources" });
}

function flow(row) {
  if (row.quiet) return mark("quiet", "bounced");
  if (!row.last_event_at) return mark("no events", "other");
  return row.hour.events ? mark("flowing", "delivered") : mark("idle", "other");
}

function rate(row, events, name) {
  const line = row.rates.find((it) => it.name === name);
  const share = row.day.sends ? (100 * events) / row.day.sends : 0;
  return [
    el("span", {}, row.day.sends ? `${events} (${percent(share)})` : String(events)),
    line?.high && mark("high", "bounced"),
    line && el("small", { class: "faint" }, `line ${percent(line.line)}`),
  ];
}

function webhook(row) {
  if (!row.provider) return "–";
  if (row.provider === "ses") return el("span", { class: "faint" }, "SNS topic");
  const path = `webhooks/${encodeURIComponent(row.source)}`;
  return copyable(new URL(path, document.baseURI).href, "webhook's address", `…/${row.source}`);
}

function refusals() {
  return el(
    "section",
    { class: "card note" },
    el("h2", {}, "Refused requests"),
    el(
      "p",
      {},
      "A request that is not proven leaves nothing in the database, so that nobody can fill it with forgeries. It is counted by source as ",
      el("code", {}, "VerificationFailed"),
      " and ",
      el("code", {}, "RequestsRefused"),
      " in CloudWatch, with an alarm and a plot on the dashboard. Why one is refused is found out offline:",
    ),
    el(
      "pre",
      { tabindex: "0" },
      "bin/mailfold verify-request --provider NAME --headers headers.txt --body body.bin --secret-file secrets.txt",
    ),
  );
}
