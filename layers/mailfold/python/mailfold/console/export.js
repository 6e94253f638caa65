// Everything that the current filter finds, as a file made in the browser.

import { ask } from "./api.js";
import * as csv from "./csv.js";
import { announce } from "./widgets.js";

//: More rows than this make a browser slow, and a spreadsheet as well; totals are better asked of the API.
export const MOST_ROWS = 10_000;
const PAGE = 200;
const COLUMNS = {
  recipient: (row) => row.recipient,
  status: (row) => row.status,
  bounce_class: (row) => row.bounce_class,
  source: (row) => row.source,
  status_since: (row) => row.since,
  last_event: (row) => row.event.type,
  occurred_at: (row) => row.event.occurred_at,
  received_at: (row) => row.event.received_at,
  reason: (row) => row.event.reason,
  message_id: (row) => row.message_id,
};

// Walks the pages and saves a file; the button shows how far it is and stops it when pressed once more.
export async function exportMessages(button, query) {
  if (button.dataset.stop) {
    button.dataset.stop = "now";
    return;
  }
  button.dataset.stop = "later";
  try {
    const rows = await walk(query, (count) => {
      button.textContent = `${count} rows, stop`;
      return button.dataset.stop === "now";
    });
    const names = Object.keys(COLUMNS);
    csv.save(
      "mailfold-activity.csv",
      csv.table(
        names,
        rows.map((row) => names.map((name) => COLUMNS[name](row))),
      ),
    );
    announce(rows.length >= MOST_ROWS ? `The first ${MOST_ROWS} rows are saved.` : `${rows.length} rows are saved.`);
  } catch (reason) {
    announce(`No file: ${reason.message}`);
  } finally {
    delete button.dataset.stop;
    button.textContent = "CSV";
  }
}

async function walk(query, report) {
  const rows = [];
  let cursor = "";
  do {
    const page = await ask("v1/messages", { query: { ...query, limit: PAGE, cursor } });
    rows.push(...page.messages);
    cursor = page.next;
    if (report(rows.length)) break;
  } while (cursor && rows.length < MOST_ROWS);
  return rows.slice(0, MOST_ROWS);
}
