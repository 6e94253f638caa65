"""`make cost`: dollars per million events, from the work that the handlers do here and the prices in docs/cost.md."""

import sys
from dataclasses import dataclass

from bench import bill, prices
from bench.bill import MILLION, Knobs, Load, PerBatch, PerRequest
from bench.lab import open_lab
from bench.prices import Prices
from bench.progress import Ticker
from bench.quantities import Scales, deployed_knobs

#: Events a month -> the instance that carries them; docs/cost.md says why.
INSTANCES = {MILLION: "t4g.micro", 100 * MILLION: "m7g.large", 1_000 * MILLION: "r7g.2xlarge"}
EVENTS_PER_REQUEST = (1, 10, 50)
#: Days that events are kept, and the least storage that RDS sells.
KEPT_DAYS = 30
LEAST_GB = 20
#: Larger batches than this cost the same for each event, and take long to weigh.
WEIGHED_RECORDS = 500


@dataclass(frozen=True, kw_only=True)
class Month:
    """What one load costs in a month."""

    load: Load
    #: part -> dollars
    parts: dict[str, float]
    instance: str
    #: dollars for the instance and for its storage
    database: tuple[float, float]

    @property
    def per_million(self) -> float:
        """Return the dollars for a million events, without what stands still and without the database."""
        return sum(self.parts.values()) / (self.load.events / MILLION)


def main() -> None:
    """Weigh the handlers, then do the arithmetic."""
    listed, knobs = prices.read(), deployed_knobs()
    ticker = Ticker("cost")
    with open_lab() as lab:
        scales = Scales(lab)
        try:
            months = [month for size in EVENTS_PER_REQUEST for month in _months(size, scales, listed, knobs, ticker)]
            standing = bill.standing(listed, metrics=len(scales.metrics))
        finally:
            scales.close()
    ticker.done()
    sys.stdout.write(report(months, standing, listed) + "\n")


def _months(size: int, scales: Scales, listed: Prices, knobs: Knobs, ticker: Ticker) -> list[Month]:
    ticker.tick(f"weighing requests of {size}")
    request = scales.request(size)
    stored = sum(scales.stored_bytes(size).values())
    weighed: dict[int, PerBatch] = {}
    months = []
    for events, instance in INSTANCES.items():
        load = Load(events=events, events_per_request=size)
        records = min(WEIGHED_RECORDS, round(bill.records_per_batch(load, request, knobs)))
        if records not in weighed:
            weighed[records] = scales.batch(records=records, events=size)
        months.append(_month(load, request, weighed[records], stored, instance, listed, knobs))
    return months


def _month(
    load: Load, request: PerRequest, batch: PerBatch, stored: float, instance: str, listed: Prices, knobs: Knobs
) -> Month:
    kept = load.events * KEPT_DAYS / 30 * stored
    return Month(
        load=load,
        parts=bill.monthly(listed, load, request, batch, knobs),
        instance=instance,
        database=bill.database(listed, instance=instance, stored_bytes=kept, least_gb=LEAST_GB),
    )


def report(months: list[Month], standing: float, listed: Prices) -> str:
    """Return the table and what it leaves out."""
    parts = list(months[0].parts)
    heads = ("events a month", "per request", "$ per million", *parts, "database $ a month")
    rows = [heads, *(_row(month, parts) for month in months)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    keyed = bill.keyed(listed, Load(events=MILLION, events_per_request=1))
    return "\n".join(
        [
            *lines,
            "",
            "Parts are dollars per million events; list prices, no free tier. Beside that:",
            f"  {standing:.2f} a month stand still: metrics of one source, the secret, pollers that find nothing",
            f"  {keyed:.2f} per million requests of a keyed source, for the table of keys",
            f"  {MILLION * listed.sns_publish:.2f} per million events of SES, for the topic not the API and receive",
        ]
    )


def _row(month: Month, parts: list[str]) -> tuple[str, ...]:
    millions = month.load.events / MILLION
    instance, storage = month.database
    return (
        f"{month.load.events:,.0f}",
        str(month.load.events_per_request),
        f"{month.per_million:.3f}",
        *(f"{month.parts[part] / millions:.3f}" for part in parts),
        f"{instance:,.0f} {month.instance} + {storage:,.0f} storage",
    )


if __name__ == "__main__":
    main()
