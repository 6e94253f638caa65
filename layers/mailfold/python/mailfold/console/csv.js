// A table as a file that spreadsheets open, and that none of them takes for a formula.

const TYPE = "text/csv;charset=utf-8";

// Returns one field. A spreadsheet runs what begins with one of these signs; the apostrophe makes it text again:
// https://owasp.org/www-community/attacks/CSV_Injection
export function field(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const safe = /^\s*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n';]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// Returns the text of a table: RFC 4180, with a mark by which spreadsheets know UTF-8.
export function table(names, rows) {
  return "\ufeff" + [names, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

// Hands a file to the reader; nothing leaves the browser.
export function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: TYPE }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
