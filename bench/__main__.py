"""`make bench`: run the benchmarks, print their figures and write the report."""

import argparse
import importlib
import json
import sys
import time

from bench import report
from bench.figures import Section
from bench.lab import Lab, open_lab
from bench.progress import Ticker

#: In this order: what the database must be quiet for comes first.
PARTS = ("fold", "growth", "query", "prune", "receive", "cold_start", "end_to_end")


def main() -> None:
    """Measure what is asked for; leave with 1 where a figure is not what it must be and --strict was given."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("only", nargs="*", choices=[[], *PARTS], default=[], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a figure is not reached")
    parser.add_argument("--dry", action="store_true", help="print only, leave the report files alone")
    parser.add_argument(
        "--render", action="store_true", help="measure nothing: write picture and table of the report again"
    )
    arguments = parser.parse_args()
    if arguments.render:
        report.render(json.loads(report.JSON_FILE.read_text()))
        return
    began_at = time.monotonic()
    sections: list[Section] = []
    with open_lab() as lab:
        for part in arguments.only or PARTS:
            sections.append(_measure(part, lab))
            if not arguments.dry:
                # One part that fails must not take with it what the others have found.
                report.write(sections)
    print(report.table(sections))
    print(f"\n{time.monotonic() - began_at:.0f} s")
    if not arguments.dry:
        print("written: bench/report.json, bench/report.svg, docs/performance.md")
    missed = [figure for section in sections for figure in section.figures if figure.reached is False]
    sys.exit(1 if arguments.strict and missed else 0)


def _measure(part: str, lab: Lab) -> Section:
    ticker = Ticker(part)
    section: Section = importlib.import_module(f"bench.{part}").measure(lab, ticker)
    ticker.done()
    return section


if __name__ == "__main__":
    main()
