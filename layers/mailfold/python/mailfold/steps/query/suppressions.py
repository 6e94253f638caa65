"""May I send to this address, who must not be mailed, and a person's own decision about it."""

from typing import Any

from mailfold.errors import BadRequest, NotFound, Outdated
from mailfold.events import Effect
from mailfold.jsontext import dumps, storable_text
from mailfold.steps.query.context import Call
from mailfold.steps.query.cursors import seal, unseal
from mailfold.steps.query.response import Response
from mailfold.steps.query.sizes import READ_BYTES, last_of
from mailfold.store.connection import Parameter
from mailfold.store.reading import read
from mailfold.store.suppressions import decide_manually

#: How many rows are looked at for one page.
WALK = 5_000
FILTERS = ("reason", "active")


def check(call: Call) -> Response:
    """Return for each address whether it is stopped, in one statement."""
    given = call.values["addresses"]
    wanted = {"", call.text("scope")}
    addresses = [storable_text(address).strip().lower() for address in given]
    stops = [row[0] for row in call.tx.run("read_check", {"addresses": dumps(addresses)})]
    results = []
    for address, found in zip(given, stops, strict=True):
        because = [stop for stop in found if stop["scope"] in wanted]
        results.append(
            {
                "address": address,
                "suppressed": bool(because),
                "reason": because[0]["reason"] if because else None,
                "since": because[0]["since"] if because else None,
                "scopes": [stop["scope"] for stop in found],
            }
        )
    return Response(body={"scope": call.text("scope"), "results": results})


def list_suppressions(call: Call) -> Response:
    """Return a page of stops, the newest first."""
    active = call.values.get("active")
    filters = {"reason": call.text("reason"), "active": "" if active is None else str(active).lower()}
    at, address, scope = "infinity", "", ""
    if call.values.get("cursor"):
        at, address, scope = unseal(call.values["cursor"], filters, "txx")
    most = call.values.get("limit") or 50
    parameters: dict[str, Parameter] = {"at": at, "address": address, "scope": scope, "walk": WALK, "most": most}
    bounds: dict[str, Parameter] = {"sources": call.sources, "most_bytes": READ_BYTES}
    [page] = read(call.tx, "page_suppressions", {**parameters, **filters, **bounds})
    items = [{**item, "evidence": seen_evidence(call, item["evidence"])} for item in page["items"]]
    behind = last_of(items, found=page["found"], most=most)
    last = page["last"] if page["walked"] == WALK else None
    if behind:
        last = [behind["place"], behind["address"], behind["scope"]]
    for item in items:
        del item["place"]
    return Response(body={"suppressions": items, "next": last and seal(filters, *last)})


def seen_evidence(call: Call, evidence: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the evidence of a stop or a lift unless it is of a source that the token is not bound to.

    A row of soft bounces may be of several sources, and so belongs to none of them.
    """
    return evidence if evidence is not None and call.may_see(evidence.get("source")) else None


def of_address(call: Call, address: str) -> list[dict[str, Any]]:
    """Return every stop of an address, whichever source caused it, with the evidence that the token may see."""
    rows = read(call.tx, "read_suppressions_of", {"address": address})
    for row in rows:
        for name in ("first_suppress", "last_suppress", "last_lift", "soft_suppress"):
            if seen_evidence(call, row[name]) is None:
                row[name] = None
                row.pop(f"{name}_event_id", None)
    return rows


def suppress(call: Call) -> Response:
    """Stop an address manually, until it is lifted manually."""
    return _decide(call, Effect.SUPPRESS)


def lift(call: Call) -> Response:
    """Lift manually whatever has stopped an address so far."""
    return _decide(call, Effect.LIFT)


def _decide(call: Call, effect: Effect) -> Response:
    address, scope, reason = call.values["address"], call.text("scope"), call.text("reason")
    rows = {row["scope"]: row for row in read(call.tx, "read_suppressions_of", {"address": address})}
    if effect is Effect.LIFT and scope not in rows:
        raise NotFound("this address was never stopped in this scope")
    if address.startswith("erased:") and scope not in rows:
        raise BadRequest("nobody of this erased form is known")
    decided = decide_manually(
        call.tx,
        # An erased person stays erased: the decision is entered where the stop is kept.
        rows[scope]["address"] if scope in rows else address,
        effect,
        scope=scope,
        decided_at=call.now,
        decided_by=call.operate.by,
        reason=reason,
        publish=call.operate.publish,
    )
    if not decided:
        raise Outdated("somebody else decided about this address later")
    call.note(f"suppressions.{effect}", address=address, scope=scope)
    [row] = [row for row in read(call.tx, "read_suppressions_of", {"address": address}) if row["scope"] == scope]
    return Response(body={"address": address, "scope": scope, "suppressed": row["suppressed"]})
