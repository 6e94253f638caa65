"""The picture of a report: bars for what must be reached, curves for what grows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

from matplotlib import pyplot
from matplotlib.axes import Axes

SVG_FILE = Path(__file__).parent / "report.svg"
GOOD, BAD, QUIET = "#2a9d6f", "#c8553d", "#5b7db1"


def draw(report: Mapping[str, Any]) -> None:
    """Draw the report into its file."""
    # Texts stay texts and ids do not change from run to run: the file can be searched and compared.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "mailfold", "font.size": 9})
    asked = [figure for section in report["sections"].values() for figure in section["figures"] if figure["must"]]
    curves = [curve for section in report["sections"].values() for curve in section["curves"]]
    rows = 1 + (len(curves) + 1) // 2
    heights = [0.34 * len(asked) + 0.6] + [2.6] * (rows - 1)
    canvas = pyplot.figure(figsize=(11, sum(heights) + 0.6), layout="constrained")
    grid = canvas.add_gridspec(rows, 2, height_ratios=heights)
    _bars(canvas.add_subplot(grid[0, :]), asked)
    for index, curve in enumerate(curves):
        _curve(canvas.add_subplot(grid[1 + index // 2, index % 2]), curve)
    canvas.savefig(SVG_FILE, metadata={"Date": None})
    pyplot.close(canvas)


def _bars(axes: Axes, figures: list[dict[str, Any]]) -> None:
    """Show each figure by how far it passes what is asked: 1 is just enough, in whichever direction."""
    margins = [_margin(figure, figure["value"]) for figure in figures]
    colours = [GOOD if figure["reached"] else BAD for figure in figures]
    places = range(len(figures))
    axes.barh(places, margins, color=colours, height=0.6)
    for place, figure, margin in zip(places, figures, margins, strict=True):
        ends = sorted((_margin(figure, figure["low"]), _margin(figure, figure["high"])))
        axes.plot(ends, [place, place], color="#222222", linewidth=1.2)
        relation, bound = figure["must"]
        sign = "≥" if relation == ">=" else "≤"
        label = f" {figure['value']:.3g} {figure['unit']} ({sign} {bound:g})"
        axes.text(max(margin, ends[1]), place, label, va="center", fontsize=8)
    axes.axvline(1, color="#222222", linewidth=0.8, linestyle="--")
    axes.set_yticks(places, [figure["name"] for figure in figures])
    axes.invert_yaxis()
    axes.set_xlim(0, max(margins, default=1) * 1.35)
    axes.set_xlabel("times what is asked (median of one run, line: quartiles)")
    axes.set_title("What must be reached", loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def _margin(figure: Mapping[str, Any], value: float) -> float:
    relation, bound = figure["must"]
    return float(value / bound if relation == ">=" else bound / value)


def _curve(axes: Axes, curve: Mapping[str, Any]) -> None:
    xs, ys = zip(*curve["points"], strict=True)
    axes.plot(xs, ys, marker="o", color=QUIET)
    axes.set_ylim(bottom=0, top=max(ys) * 1.2)
    axes.set_title(curve["name"], loc="left")
    axes.set_xlabel(curve["x_label"])
    axes.set_ylabel(curve["y_label"])
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
