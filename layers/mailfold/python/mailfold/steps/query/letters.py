"""Dead letters: the ways in which they failed, the letters of one group, one letter, and folding them again."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from mailfold.errors import BadQuestion, NothingFound
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.dead_letters import NEEDS_IDS, redrive_letters
from mailfold.steps.operate.office import Office
from mailfold.steps.query.answer import Answer
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.keeper import Asked
from mailfold.steps.query.kinds import Flag, Kind, Moment, Text, Texts, Whole
from mailfold.store.reading import read

#: How many groups are shown, and how far the letters of one are counted.
GROUPS = 200
MOST_COUNTED = 1_000

#: Which letters are folded again, and how many in one call; the answer's cursor goes on from there.
CHOICE: dict[str, Kind] = {
    "ids": Texts(most=500),
    "group": Text(most=200),
    "all": Flag(),
    "unproven": Flag(),
    "apply": Flag(),
    "most": Whole(most=500),
    "cursor": Text(least=0, most=200),
    "until": Moment(),
}

#: Folding again writes what process writes. Readers take this role for that order alone, inside its transaction.
ROLE = "mailfold_redrive"


def list_letters(asked: Asked) -> Answer:
    """Return the groups, or a page of the letters of one group, the newest first."""
    group_id = asked.text("group")
    if not group_id:
        groups = read(asked.tx, "read_dead_letter_groups", {"most": MOST_COUNTED, "groups": GROUPS})
        return Answer(body={"groups": groups, "letters": [], "next": None})
    at, letter_id = "infinity", ""
    if asked.values.get("cursor"):
        at, letter_id = unseal(asked.values["cursor"], {"group": group_id}, "tx")
    most = asked.values.get("limit") or 50
    letters = read(asked.tx, "page_dead_letters", {"group_id": group_id, "at": at, "id": letter_id, "most": most})
    last = letters[-1] if len(letters) == most else None
    following = last and seal({"group": group_id}, last["created_at"], last["dead_letter_id"])
    return Answer(body={"groups": [], "letters": letters, "next": following})


def show_letter(asked: Asked) -> Answer:
    """Return one letter with what was received."""
    found = read(asked.tx, "read_dead_letter", {"dead_letter_id": asked.values["dead_letter_id"]})
    if not found:
        raise NothingFound("there is no such dead letter")
    return Answer(body=found[0])


def redrive(office: Office, values: dict[str, Any]) -> Answer:
    """Fold letters again; unless `apply` is on, only tell what would become of them."""
    if values.get("unproven") and not values.get("ids"):
        raise BadQuestion(NEEDS_IDS)
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}
    return Answer(body=redrive_letters(replace(office, role=ROLE), Arguments(given)))
