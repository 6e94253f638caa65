"""May I send to this address, who must not be mailed, and a person's own decision about it."""

from typing import Any

from mailfold.errors import BadQuestion, NothingFound, Outdated
from mailfold.events import Effect
from mailfold.jsontext import dumps, storable_text
from mailfold.steps.query.answer import Answer
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.keeper import Asked
from mailfold.steps.query.sizes import READ_BYTES, last_of
from mailfold.store.connection import Parameter
from mailfold.store.reading import read
from mailfold.store.suppressions import decide_by_hand

#: How many rows are looked at for one page.
WALK = 5_000
FILTERS = ("reason", "active")


def check(asked: Asked) -> Answer:
    """Return for each address whether it is stopped, in one statement."""
    given = asked.values["addresses"]
    wanted = {"", asked.text("scope")}
    addresses = [storable_text(address).strip().lower() for address in given]
    stops = [row[0] for row in asked.tx.run("read_check", {"addresses": dumps(addresses)})]
    results = []
    for address, found in zip(given, stops, strict=True):
        because = [stop for stop in found if stop["scope"] in wanted]
        results.append(
            {
                "address": address,
                "stopped": bool(because),
                "reason": because[0]["reason"] if because else None,
                "since": because[0]["since"] if because else None,
                "scopes": [stop["scope"] for stop in found],
            }
        )
    return Answer(body={"scope": asked.text("scope"), "results": results})


def list_suppressions(asked: Asked) -> Answer:
    """Return a page of stops, the newest first."""
    active = asked.values.get("active")
    filters = {"reason": asked.text("reason"), "active": "" if active is None else str(active).lower()}
    at, address, scope = "infinity", "", ""
    if asked.values.get("cursor"):
        at, address, scope = unseal(asked.values["cursor"], filters, "txx")
    most = asked.values.get("limit") or 50
    parameters: dict[str, Parameter] = {"at": at, "address": address, "scope": scope, "walk": WALK, "most": most}
    bounds: dict[str, Parameter] = {"sources": asked.sources, "most_bytes": READ_BYTES}
    [page] = read(asked.tx, "page_suppressions", {**parameters, **filters, **bounds})
    items = [{**item, "evidence": seen_evidence(asked, item["evidence"])} for item in page["items"]]
    behind = last_of(items, found=page["found"], most=most)
    last = page["last"] if page["walked"] == WALK else None
    if behind:
        last = [behind["place"], behind["address"], behind["scope"]]
    for item in items:
        del item["place"]
    return Answer(body={"suppressions": items, "next": last and seal(filters, *last)})


def seen_evidence(asked: Asked, evidence: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the evidence of a stop or a lift unless it is of a source that the token is not bound to.

    A row of soft bounces may be of several sources, and so belongs to none of them.
    """
    return evidence if evidence is not None and asked.may_see(evidence.get("source")) else None


def of_address(asked: Asked, address: str) -> list[dict[str, Any]]:
    """Return every stop of an address, whichever source caused it, with the evidence that the token may see."""
    rows = read(asked.tx, "read_suppressions_of", {"address": address})
    for row in rows:
        for name in ("first_stop", "last_stop", "last_lift", "soft_stop"):
            if seen_evidence(asked, row[name]) is None:
                row[name] = None
                row.pop(f"{name}_event_id", None)
    return rows


def stop(asked: Asked) -> Answer:
    """Stop an address by hand, until it is lifted by hand."""
    return _decide(asked, Effect.STOP)


def lift(asked: Asked) -> Answer:
    """Lift by hand whatever has stopped an address so far."""
    return _decide(asked, Effect.LIFT)


def _decide(asked: Asked, effect: Effect) -> Answer:
    address, scope, reason = asked.values["address"], asked.text("scope"), asked.text("reason")
    rows = {row["scope"]: row for row in read(asked.tx, "read_suppressions_of", {"address": address})}
    if effect is Effect.LIFT and scope not in rows:
        raise NothingFound("this address was never stopped in this scope")
    if address.startswith("erased:") and scope not in rows:
        raise BadQuestion("nobody of this erased form is known")
    decided = decide_by_hand(
        asked.tx,
        # An erased person stays erased: the decision is entered where the stop is kept.
        rows[scope]["address"] if scope in rows else address,
        effect,
        scope=scope,
        decided_at=asked.now,
        decided_by=asked.office.by,
        reason=reason,
        publish=asked.office.publish,
    )
    if not decided:
        raise Outdated("somebody else decided about this address later")
    asked.note(f"suppressions.{effect}", address=address, scope=scope)
    [row] = [row for row in read(asked.tx, "read_suppressions_of", {"address": address}) if row["scope"] == scope]
    return Answer(body={"address": address, "scope": scope, "stopped": row["stopped"]})
