"""What a benchmark reports: figures with their spread and what they must reach, and curves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number of the report: the median of the rounds of one run, and how far they lay apart."""

    name: str
    value: float
    low: float
    high: float
    rounds: int
    unit: str = "x"
    #: ``>=`` or ``<=`` and the bound; None for a figure that is only told.
    must: tuple[str, float] | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the figure is what it must be; None where nothing is asked of it."""
        if self.must is None:
            return None
        relation, bound = self.must
        return self.value >= bound if relation == ">=" else self.value <= bound


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How one figure moves along another."""

    name: str
    x_label: str
    y_label: str
    points: Sequence[tuple[float, float]]


@dataclass(kw_only=True)
class Section:
    """What one benchmark found."""

    name: str
    figures: list[Figure] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    #: Sentences that explain a figure: the machine, a profile, what bounds it.
    notes: list[str] = field(default_factory=list)

    def add(
        self, name: str, samples: Sequence[float], *, unit: str = "x", must: tuple[str, float] | None = None
    ) -> Figure:
        """Add the median of the samples, with the quartiles as its spread."""
        low, high = quartiles(samples)
        figure = Figure(name=name, value=median(samples), low=low, high=high, rounds=len(samples), unit=unit, must=must)
        self.figures.append(figure)
        return figure


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """Return the first and the third quartile."""
    ordered = sorted(samples)
    last = len(ordered) - 1
    return ordered[round(last * 0.25)], ordered[round(last * 0.75)]


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the sample below which this share of all samples lies."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
