// Small plots of our own: bars and lines, with a legend, words for screen readers, and the numbers as a table.

import { el, put, shape } from "./dom.js";

const HEIGHT = 190;
const PAD = { left: 44, right: 10, top: 10, bottom: 24 };

// Returns a part of a hundred, as exact as its size asks for.
export function percent(value) {
  const digits = value === 0 || value >= 10 ? 0 : value >= 1 ? 1 : 2;
  return `${value.toFixed(digits)} %`;
}

// Returns a number in its short form.
export function short(value) {
  return value >= 10_000
    ? `${Math.round(value / 1000)}k`
    : value >= 1000
      ? `${(value / 1000).toFixed(1)}k`
      : String(value);
}

// Returns a figure that draws itself anew for each width and each data.
// draw: {times, series: [{name, look, values}], lines: [{name, at}], kind: "bars" | "lines", format, label}
export function figure(title, words) {
  const canvas = el("div", { class: "canvas" });
  const legend = el("ul", { class: "legend" });
  const numbers = el(
    "details",
    { class: "fold numbers" },
    el("summary", {}, "As a table"),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, as a table` }),
  );
  const node = el(
    "section",
    { class: "figure card" },
    el("h2", {}, title),
    el("p", { class: "faint" }, words),
    canvas,
    legend,
    numbers,
  );
  let data = null;

  function draw() {
    if (!data || !canvas.clientWidth) return;
    // One measurement makes no line.
    const least = data.kind === "lines" ? 2 : 1;
    put(
      canvas,
      data.times.length >= least
        ? picture(title, data, canvas.clientWidth)
        : el("p", { class: "faint" }, "Nothing to draw yet."),
    );
  }

  new ResizeObserver(draw).observe(canvas);
  return {
    node,
    set(fresh) {
      if (data && JSON.stringify(data.key) === JSON.stringify(fresh.key)) return;
      data = fresh;
      put(legend, legendOf(data));
      put(numbers.querySelector("div"), tableOf(title, data));
      draw();
    },
  };
}

function legendOf({ series, lines = [] }) {
  const entries = series.map(({ name, look }) => el("li", {}, el("span", { class: `swatch of-${look}` }), name));
  return [...entries, ...lines.map(({ name }) => el("li", {}, el("span", { class: "swatch dashed" }), name))];
}

function picture(title, data, width) {
  const top = ceiling(data);
  const plot = { width: width - PAD.left - PAD.right, height: HEIGHT - PAD.top - PAD.bottom, top };
  const number = figureNumber++;
  return shape(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${width} ${HEIGHT}`,
      width,
      height: HEIGHT,
      role: "img",
      "aria-labelledby": `pt${number} pd${number}`,
    },
    shape("title", { id: `pt${number}` }, title),
    shape("desc", { id: `pd${number}` }, described(data)),
    shape(
      "g",
      { transform: `translate(${PAD.left} ${PAD.top})` },
      axes(data, plot),
      data.kind === "bars" ? bars(data, plot) : curves(data, plot),
      thresholds(data, plot),
    ),
  );
}

let figureNumber = 0;

function ceiling({ series, lines = [], kind, times, least = 1 }) {
  const heights = times.map((_, at) => {
    const values = series.map(({ values }) => values[at] ?? 0);
    return kind === "bars" ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  const highest = Math.max(least, ...heights, ...lines.map(({ at }) => at * 1.15));
  const size = 10 ** Math.floor(Math.log10(highest));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * size).find((step) => step >= highest);
}

function axes({ times, format, label }, { width, height, top }) {
  const marks = [0, 0.5, 1].map((share) => {
    const y = height * (1 - share);
    return [
      shape("line", { class: "grid", x1: 0, x2: width, y1: y, y2: y }),
      shape("text", { class: "tick", x: -6, y: y + 4, "text-anchor": "end" }, format(top * share)),
    ];
  });
  const every = Math.max(1, Math.ceil(times.length / Math.max(2, Math.floor(width / 74))));
  const step = width / times.length;
  const below = times.map((time, at) =>
    at % every === 0 && (at + 0.5) * step < width - 16
      ? shape(
          "text",
          {
            class: "tick",
            x: (at + 0.5) * step,
            y: height + 17,
            "text-anchor": at === 0 && step < 40 ? "start" : "middle",
          },
          label(time),
        )
      : null,
  );
  return [marks, below];
}

function bars({ times, series, label }, { width, height, top }) {
  const step = width / times.length;
  return times.map((time, at) => {
    let below = 0;
    const parts = series.map(({ look, values }) => {
      const size = (height * (values[at] ?? 0)) / top;
      below += size;
      return size
        ? shape("rect", {
            class: `of-${look}`,
            x: at * step + step * 0.1,
            y: height - below,
            width: step * 0.8,
            height: size,
          })
        : null;
    });
    const said = series.filter(({ values }) => values[at]).map(({ name, values }) => `${name} ${values[at]}`);
    return shape("g", {}, shape("title", {}, `${label(time)}: ${said.join(", ") || "none"}`), parts);
  });
}

function curves({ times, series, format, label }, { width, height, top }) {
  const step = width / times.length;
  const x = (at) => (at + 0.5) * step;
  const y = (value) => height * (1 - value / top);
  return series.map(({ name, look, values }) => {
    // A gap stays a gap: no mail is no rate.
    const runs = [[]];
    values.forEach((value, at) => (value === null ? runs.push([]) : runs.at(-1).push(`${x(at)},${y(value)}`)));
    const lines = runs
      .filter((run) => run.length > 1)
      .map((run) => shape("polyline", { class: `curve of-${look}`, points: run.join(" ") }));
    const dots = values.map((value, at) =>
      value === null
        ? null
        : shape(
            "circle",
            { class: `dot of-${look}`, cx: x(at), cy: y(value), r: times.length > 60 ? 1.5 : 2.5 },
            shape("title", {}, `${label(times[at])}: ${name} ${format(value)}`),
          ),
    );
    return [lines, dots];
  });
}

function thresholds({ lines = [], format }, { width, height, top }) {
  let taken = Infinity;
  return lines.map(({ at }) => {
    const y = height * (1 - at / top);
    // Where two lines nearly touch, the lower one is named; the legend names both.
    const isFree = taken - y > 12;
    if (isFree) taken = y;
    return [
      shape("line", { class: "threshold", x1: 0, x2: width, y1: y, y2: y }),
      isFree && shape("text", { class: "threshold-name", x: 4, y: y - 4 }, format(at)),
    ];
  });
}

function described({ series, lines = [], times, format, label }) {
  if (!times.length) return "Nothing in this time.";
  const parts = series.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    return known.length
      ? `${name}: at most ${format(Math.max(...known))}, at last ${format(known.at(-1))}`
      : `${name}: none`;
  });
  const crossed = lines.map(({ name }) => `Line: ${name}.`);
  return `${label(times[0])} to ${label(times.at(-1))}. ${parts.join("; ")}. ${crossed.join(" ")}`;
}

function tableOf(title, { times, series, format, label }) {
  const head = ["Time", ...series.map(({ name }) => name)].map((name) => el("th", { scope: "col" }, name));
  const rows = times
    .map((time, at) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, label(time)),
        series.map(({ values }) => el("td", {}, values[at] === null ? "–" : format(values[at] ?? 0))),
      ),
    )
    .reverse();
  return el(
    "table",
    { class: "numbers" },
    el("caption", { class: "hidden" }, title),
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, rows),
  );
}
