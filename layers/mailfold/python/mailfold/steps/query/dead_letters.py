"""Dead letters: by the way in which they failed, one by one, and folded again."""

from dataclasses import replace
from datetime import datetime
from shlex import quote
from typing import Any

from mailfold.errors import BadRequest, NotFound
from mailfold.steps.operate.arguments import Arguments
from mailfold.steps.operate.context import OperateContext
from mailfold.steps.operate.dead_letters import NEEDS_IDS, redrive_dead_letters
from mailfold.steps.query.context import Call
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.kinds import Flag, Kind, Moment, Text, Texts, Whole
from mailfold.steps.query.response import Response
from mailfold.steps.query.sizes import READ_BYTES, ROOM_BYTES, last_of, weight
from mailfold.store.connection import Parameter
from mailfold.store.reading import read
from mailfold.tokens import allowed

#: How many groups are shown, and how far the dead letters of one are counted.
GROUPS = 200
MOST_COUNTED = 1_000
#: The end of a reason that is a whole traceback; the page of its group has all of it.
GROUP_REASON_CHARACTERS = 2_000

#: Which dead letters are folded again, and how many in one call; the answer's cursor goes on from there.
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


def list_dead_letters(call: Call) -> Response:
    """Return the groups, or a page of the dead letters of one group, the newest first."""
    group_id = call.text("group")
    if not group_id:
        return Response(body={"groups": read_groups(call), "dead_letters": [], "next": None})
    at, dead_letter_id = "infinity", ""
    if call.values.get("cursor"):
        at, dead_letter_id = unseal(call.values["cursor"], {"group": group_id}, "tx")
    most = call.values.get("limit") or 50
    parameters: dict[str, Parameter] = {"group_id": group_id, "at": at, "id": dead_letter_id, "most": most}
    [page] = read(call.tx, "page_dead_letters", {**parameters, "sources": call.sources, "most_bytes": READ_BYTES})
    last = last_of(page["items"], found=page["found"], most=most)
    following = last and seal({"group": group_id}, last["created_at"], last["dead_letter_id"])
    return Response(body={"groups": [], "dead_letters": page["items"], "next": following})


def read_groups(call: Call) -> list[dict[str, Any]]:
    """Return the ways in which dead letters failed, the newest first, as far as the token may see them."""
    bounds = {"most": MOST_COUNTED, "groups": GROUPS, "reason_characters": GROUP_REASON_CHARACTERS}
    return read(call.tx, "read_dead_letter_groups", {**bounds, "sources": call.sources})


def show_dead_letter(call: Call) -> Response:
    """Return one dead letter, with what was received unless the token may not see it or the question leaves it out."""
    raw = call.values.get("raw")
    if raw is None:
        raw = "raw" in allowed(call.token.scopes)
    parameters: dict[str, Parameter] = {"dead_letter_id": call.values["dead_letter_id"], "raw": raw}
    found = read(call.tx, "read_dead_letter", {**parameters, "sources": call.sources, "most_bytes": READ_BYTES})
    if not found:
        raise NotFound("there is no such dead letter")
    [dead_letter] = found
    if raw:
        size = dead_letter.pop("raw_bytes")
        if dead_letter["raw"] is None or weight(dead_letter) > ROOM_BYTES:
            how = f"bin/mailfold dead-letters show {quote(dead_letter['dead_letter_id'])}"
            dead_letter |= {"raw": None, "raw_left_out": f"{size} bytes do not fit into this answer: {how} shows them"}
    return Response(body=dead_letter)


def redrive(operate: OperateContext, values: dict[str, Any]) -> Response:
    """Fold dead letters again; unless `apply` is on, only tell what would become of them."""
    if values.get("unproven") and not values.get("ids"):
        raise BadRequest(NEEDS_IDS)
    given = {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}
    return Response(body=redrive_dead_letters(replace(operate, role=ROLE), Arguments(given)))
