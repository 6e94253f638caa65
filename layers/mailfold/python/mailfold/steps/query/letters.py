"""Dead letters: the ways in which they failed, the letters of one group, one letter, and folding them again."""

from dataclasses import replace
from datetime import datetime
from shlex import quote
from typing import Any

from mailfold.errors import BadQuestion, NothingFound
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.dead_letters import NEEDS_IDS, redrive_letters
from mailfold.steps.operate.office import Office
from mailfold.steps.query.answer import Answer
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.keeper import Asked
from mailfold.steps.query.kinds import Flag, Kind, Moment, Text, Texts, Whole
from mailfold.steps.query.sizes import READ_BYTES, ROOM_BYTES, last_of, weight
from mailfold.store.connection import Parameter
from mailfold.store.reading import read
from mailfold.tokens import allowed

#: How many groups are shown, and how far the letters of one are counted.
GROUPS = 200
MOST_COUNTED = 1_000
#: The end of a reason that is a whole traceback; the page of its group has all of it.
GROUP_REASON_CHARACTERS = 2_000

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
        return Answer(body={"groups": read_groups(asked), "letters": [], "next": None})
    at, letter_id = "infinity", ""
    if asked.values.get("cursor"):
        at, letter_id = unseal(asked.values["cursor"], {"group": group_id}, "tx")
    most = asked.values.get("limit") or 50
    parameters: dict[str, Parameter] = {"group_id": group_id, "at": at, "id": letter_id, "most": most}
    [page] = read(asked.tx, "page_dead_letters", {**parameters, "sources": asked.sources, "most_bytes": READ_BYTES})
    last = last_of(page["items"], found=page["found"], most=most)
    following = last and seal({"group": group_id}, last["created_at"], last["dead_letter_id"])
    return Answer(body={"groups": [], "letters": page["items"], "next": following})


def read_groups(asked: Asked) -> list[dict[str, Any]]:
    """Return the ways in which letters failed, the newest first, as far as the token may see them."""
    bounds = {"most": MOST_COUNTED, "groups": GROUPS, "reason_characters": GROUP_REASON_CHARACTERS}
    return read(asked.tx, "read_dead_letter_groups", {**bounds, "sources": asked.sources})


def show_letter(asked: Asked) -> Answer:
    """Return one letter, with what was received unless the token may not see it or the question leaves it out."""
    raw = asked.values.get("raw")
    if raw is None:
        raw = "raw" in allowed(asked.token.scopes)
    parameters: dict[str, Parameter] = {"dead_letter_id": asked.values["dead_letter_id"], "raw": raw}
    found = read(asked.tx, "read_dead_letter", {**parameters, "sources": asked.sources, "most_bytes": READ_BYTES})
    if not found:
        raise NothingFound("there is no such dead letter")
    [letter] = found
    if raw:
        size = letter.pop("raw_bytes")
        if letter["raw"] is None or weight(letter) > ROOM_BYTES:
            how = f"bin/mailfold dead-letters show {quote(letter['dead_letter_id'])}"
            letter |= {"raw": None, "raw_left_out": f"{size} bytes do not fit into this answer: {how} shows them"}
    return Answer(body=letter)


def redrive(office: Office, values: dict[str, Any]) -> Answer:
    """Fold letters again; unless `apply` is on, only tell what would become of them."""
    if values.get("unproven") and not values.get("ids"):
        raise BadQuestion(NEEDS_IDS)
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}
    return Answer(body=redrive_letters(replace(office, role=ROLE), Arguments(given)))
