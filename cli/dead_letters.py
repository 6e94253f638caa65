"""mailfold dead-letters: what could not be folded, by the way in which it failed, and how it is folded again."""

import argparse
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

from cli import dead_letter_queue
from cli.consent import add_redrive_options, confirmed
from cli.errors import DONE, FOUND, CommandError
from cli.pace import Pace, say, waiting_records
from cli.place import Place
from cli.progress import Progress
from cli.show import as_json, fields, table

#: Letters of one transaction, at most.
PAGE = 50
#: An order that takes longer than this meets a stack that is busy: the next page is half as large.
SLOW_SECONDS = 0.5
RATE = 200

GROUP_COLUMNS = {
    "group": "group_id",
    "source": "source",
    "kind": "kind",
    "dead_letters": "dead_letters",
    "unproven": "unproven",
    "oldest": "oldest",
    "newest": "newest",
    "sample": "sample",
    "reason": "reason",
}
LETTER_COLUMNS = {
    "id": "dead_letter_id",
    "group": "group_id",
    "source": "source",
    "kind": "kind",
    "unproven": "unproven",
    "not kept": "not_kept",
    "received": "received_at",
    "reason": "reason",
}
LETTER_FIELDS = {
    "id": "dead_letter_id",
    "group": "group_id",
    "source": "source",
    "kind": "kind",
    "reason": "reason",
    "unproven": "unproven",
    "not kept": "not_kept",
    "received": "received_at",
    "dead since": "created_at",
    "headers": "headers",
    "raw": "raw",
}
#: What a dead letter becomes, in the words of the two tables before and after.
RESULTS = {
    "new": "folded, new",
    "duplicate": "folded, known already",
    "conflict": "folded, in conflict with a known content",
}
COUNTS = ("dead_letters", *RESULTS, "left", "left_out", "events")
#: What a person agrees to before an unproven dead letter is folded.
UNPROVEN = "anyone who saw one signature could have sent the unproven ones, and what is folded stays folded"


def add_parsers(commands: Any) -> None:
    """Add the command and those below it."""
    parser = commands.add_parser("dead-letters", help="what could not be folded, by reason; fold it again")
    parser.set_defaults(run=show_groups)
    below = parser.add_subparsers(metavar="COMMAND")
    listed = below.add_parser("list", help="the newest, without their raw")
    listed.add_argument("--group", default="", help="only those of one group")
    listed.add_argument("--most", type=int, default=50, help="how many (50)")
    listed.add_argument("--cursor", help="where the page before ended")
    listed.set_defaults(run=show_list)
    one = below.add_parser("show", help="one, whole, with the provider's own words")
    one.add_argument("id", metavar="ID")
    one.set_defaults(run=show_dead_letter)
    redrive = below.add_parser("redrive", help="fold again with today's code; without --apply only try it")
    redrive.add_argument("ids", nargs="*", metavar="ID")
    redrive.add_argument("--group", help="all of one group")
    redrive.add_argument("--all", action="store_true", help="all there are")
    redrive.add_argument(
        "--unproven", action="store_true", help="fold these ids even if they failed an authenticity check"
    )
    add_redrive_options(redrive, rate=RATE)
    redrive.set_defaults(run=redrive_dead_letters)
    dead_letter_queue.add_parsers(below)


def show_groups(arguments: argparse.Namespace, place: Place) -> int:
    """Show how many dead letters failed in which way."""
    found = place.order("dead-letters.groups")
    print(as_json(found) if arguments.json else table(found["groups"], GROUP_COLUMNS))
    return DONE


def show_list(arguments: argparse.Namespace, place: Place) -> int:
    """Show a page of dead letters."""
    found = place.order("dead-letters.list", group=arguments.group, most=arguments.most, cursor=arguments.cursor)
    if arguments.json:
        print(as_json(found))
        return DONE
    print(table(found["dead_letters"], LETTER_COLUMNS))
    if found["cursor"]:
        print(f"\nthere are more: --cursor '{found['cursor']}'")
    return DONE


def show_dead_letter(arguments: argparse.Namespace, place: Place) -> int:
    """Show one dead letter."""
    found = place.order("dead-letters.show", id=arguments.id)
    print(as_json(found) if arguments.json else fields(found, LETTER_FIELDS))
    return DONE


def redrive_dead_letters(arguments: argparse.Namespace, place: Place) -> int:
    """Try all dead letters first; then, if asked to, fold them for good. What is left over is told by the exit code."""
    pace = Pace(rate=arguments.rate, backlog=lambda: waiting_records(place))
    chosen = _chosen(arguments)
    total = _count(place, chosen)
    tried = _redrive(place, pace, chosen, total, apply=False)
    if not arguments.json:
        print(outcome_table(tried))
    done = None
    # What would only be left again is still given today's reason.
    if arguments.apply and tried["dead_letters"] and confirmed(arguments, _question(arguments, tried)):
        done = _redrive(place, pace, chosen, total, apply=True)
        if not arguments.json:
            print(f"\n{outcome_table(done)}")
    if arguments.json:
        print(as_json({"tried": tried, "done": done}))
    elif not arguments.apply:
        print("\nonly tried: --apply does it")
    return FOUND if any((done or tried)[name] for name in ("conflict", "left", "left_out")) else DONE


def _question(arguments: argparse.Namespace, tried: dict[str, Any]) -> str:
    question = f"fold {sum(tried[name] for name in RESULTS)} dead letters?"
    return f"{UNPROVEN}: {question}" if arguments.unproven else question


def _chosen(arguments: argparse.Namespace) -> dict[str, Any]:
    if sum((bool(arguments.ids), bool(arguments.group), arguments.all)) != 1:
        raise CommandError("say which: one or more ids, --group, or --all")
    if arguments.unproven and not arguments.ids:
        raise CommandError("--unproven needs ids: what failed an authenticity check is folded one by one")
    if arguments.all:
        return {"all": True}
    if arguments.group:
        return {"group": arguments.group}
    return {"ids": arguments.ids} | ({"unproven": True} if arguments.unproven else {})


def _count(place: Place, chosen: dict[str, Any]) -> int:
    if "ids" in chosen:
        return len(chosen["ids"])
    groups = place.order("dead-letters.groups")["groups"]
    return sum(group["dead_letters"] for group in groups if chosen.get("group") in (None, group["group_id"]))


def _redrive(place: Place, pace: Pace, chosen: dict[str, Any], total: int, *, apply: bool) -> dict[str, Any]:
    progress = Progress("folding" if apply else "trying", total)
    sums: Counter[str] = Counter()
    reasons: Counter[tuple[str, str, str]] = Counter()
    left_out_reason = None
    try:
        for page in _pages(place, pace, chosen, apply=apply):
            sums.update({name: page[name] for name in COUNTS})
            for why in page["reasons"]:
                reasons[why["source"] or "-", why["kind"], why["reason"]] += why["dead_letters"]
            left_out_reason = page["left_out_reason"] or left_out_reason
            progress.reach(sums["dead_letters"] + sums["left_out"])
    except (CommandError, KeyboardInterrupt):
        if apply:
            say(
                f"stopped after {sums['dead_letters']} dead letters; what is folded stays folded, the rest is as it was"
            )
        raise
    names = ("source", "kind", "reason")
    left = [dict(zip(names, why, strict=True)) | {"dead_letters": count} for why, count in reasons.most_common()]
    return {name: sums[name] for name in COUNTS} | {"reasons": left, "left_out_reason": left_out_reason}


def _pages(place: Place, pace: Pace, chosen: dict[str, Any], *, apply: bool) -> Iterator[dict[str, Any]]:
    """Order page by page; dead letters that come meanwhile are not meant."""
    position: dict[str, Any] = {}
    largest = most = min(PAGE, pace.rate)
    while True:
        pace.take(most)
        began_at = pace.clock()
        order = partial(place.order, "dead-letters.redrive", **chosen, **position, apply=apply, most=most)
        page = pace.again(order)
        slow = pace.clock() - began_at > SLOW_SECONDS
        most = max(1, most // 2) if slow else min(largest, most * 2)
        if page["cursor"] is None:
            return
        yield page
        position = {"cursor": page["cursor"], "until": page["until"]}


def outcome_table(found: dict[str, Any]) -> str:
    """Write what became of the dead letters, or would, and why some were left out."""
    rows = [{"dead_letters": found[name], "outcome": words} for name, words in RESULTS.items() if found[name]]
    rows += [{**why, "outcome": "left"} for why in found["reasons"]]
    text = table(
        rows,
        {"dead_letters": "dead_letters", "outcome": "outcome", "source": "source", "kind": "kind", "reason": "reason"},
    )
    if not found["left_out"]:
        return text
    return f"{text}\n\nleft out: {found['left_out']}; {found['left_out_reason']}"
