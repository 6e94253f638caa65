// Times as people read them: how long ago, and exactly when on demand.

const STEPS = [
  [120, 1, "s"],
  [3600, 60, "min"],
  [48 * 3600, 3600, "h"],
  [Infinity, 86400, "d"],
];

//: The date presets, in hours.
export const PERIODS = { "1h": 1, "24h": 24, "7d": 168, "30d": 720, all: 0 };
export const PERIOD_WORDS = {
  "1h": "last hour",
  "24h": "last 24 hours",
  "7d": "last 7 days",
  "30d": "last 30 days",
  all: "any time",
  own: "chosen days",
};

// Returns a span of seconds in its largest fitting unit.
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [, size, unit] = STEPS.find(([limit]) => whole < limit);
  return `${Math.floor(whole / size)} ${unit}`;
}

// Returns how long ago a time was; clocks may differ by a little.
export function ago(iso, now = Date.now()) {
  const seconds = (now - Date.parse(iso)) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds < -60) return `in ${span(-seconds)}`;
  return seconds < 2 ? "now" : `${span(seconds)} ago`;
}

// Returns a time to the second in the reader's own zone, which is named.
export function exact(iso) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  return at.toLocaleString("en-GB", {
    year: "numeric",
    month: "short",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "short",
  });
}

// Returns since and until of a preset, or of days chosen by hand, whole days in the reader's own zone.
export function period(name, from = "", to = "") {
  if (name === "own") {
    return { since: midnight(from, 0), until: midnight(to, 1) };
  }
  const hours = PERIODS[name] ?? PERIODS["30d"];
  return { since: hours ? new Date(Date.now() - hours * 3600e3).toISOString() : "", until: "" };
}

function midnight(day, later) {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day);
  if (!found) return "";
  return new Date(Number(found[1]), Number(found[2]) - 1, Number(found[3]) + later).toISOString();
}
