"""What a week of mail looks like, with the usual share of trouble: the same on every run but for the clock."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from tests.browser.office import OperateContext

NAMES = ("ann", "bob", "carla", "dmitri", "eve", "farid", "grace", "hiro", "ines", "jonas", "kim", "lucia", "mats")
HOSTS = ("example.com", "mail.example.org", "students.example.edu", "shop.example.net")
HARD = (
    ("5.1.1", "550 5.1.1 The email account that you tried to reach does not exist"),
    ("5.1.10", "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup"),
    ("5.2.1", "550 5.2.1 The email account that you tried to reach is disabled"),
)
SOFT = (
    ("4.2.2", "452 4.2.2 The recipient's inbox is out of storage space"),
    ("4.4.1", "421 4.4.1 connection timed out"),
    ("5.7.1", "550 5.7.1 Our system has detected that this message is likely unsolicited mail"),
)
#: kind -> how often, of a thousand messages
FATES = {"delivered": 480, "open": 270, "click": 140, "deferred": 30, "hard": 34, "soft": 24, "drop": 12, "spam": 4}
NUMBERS = count(1)


def fill(office: OperateContext, *, messages: int = 900, hours: int = 24) -> None:
    """Receive the mail of the last hours, more by day than by night, and some dead letters that cannot be folded."""
    rng = Random(7)
    now = datetime.now(UTC)
    for hour in range(hours, 0, -1):
        # In the middle of each hour, so that the columns of a plot have one request each.
        middle = now.replace(minute=30, second=rng.randrange(60)) - timedelta(hours=hour - 1)
        at = min(middle, now - timedelta(minutes=4))
        share = max(0.25, 1 - abs(hour - hours / 2) / (hours / 2)) * 2 / hours
        for source in ("sendgrid", "newsletter"):
            size = round(messages * share * (0.7 if source == "sendgrid" else 0.3))
            events = [event for _ in range(size) for event in story(rng, at)]
            office.receive(source, events, at=min(at + timedelta(minutes=2), now))
    office.receive("postmark", [postmark(rng, now)], at=now - timedelta(minutes=3))
    _stops(office, now)
    _dead_letters(office, now)


def story(rng: Random, at: datetime) -> Iterator[dict[str, Any]]:
    """Yield the events of one message."""
    number = next(NUMBERS)
    address = f"{rng.choice(NAMES)}{rng.randrange(900)}@{rng.choice(HOSTS)}"
    common = {"email": address, "sg_message_id": f"{rng.randbytes(11).hex()}.recvd-{number:05d}-1.0"}

    def event(name: str, seconds: int, **more: Any) -> dict[str, Any]:
        stamp = int((at + timedelta(seconds=seconds)).timestamp())
        return {**common, "event": name, "timestamp": stamp, "sg_event_id": f"ev{next(NUMBERS):08d}", **more}

    [fate] = rng.choices(list(FATES), list(FATES.values()))
    yield event("processed", 0)
    if fate in {"delivered", "open", "click", "spam"}:
        yield event("delivered", 2, response="250 2.0.0 OK")
    if fate in {"open", "click"}:
        yield event("open", 40, useragent="Mozilla/5.0")
    if fate == "click":
        yield event("click", 55, url="https://example.com/offer")
    if fate == "deferred":
        yield event("deferred", 5, response="451 4.7.1 Try again later", attempt="2")
    if fate == "spam":
        yield event("spamreport", 90)
    if fate == "drop":
        yield event("dropped", 1, reason="Bounced Address")
    if fate == "hard":
        status, reason = rng.choice(HARD)
        yield event("bounce", 3, type="bounce", status=status, reason=reason)
    if fate == "soft":
        status, reason = rng.choice(SOFT)
        yield event("bounce", 3, type="blocked", status=status, reason=reason)


def postmark(rng: Random, at: datetime) -> dict[str, Any]:
    """Return one delivery that Postmark tells of."""
    return {
        "RecordType": "Delivery",
        "MessageID": "883953f4-6105-42a2-a16a-77a8eac79483",
        "Recipient": "grace@example.com",
        "DeliveredAt": at.isoformat(),
        "Details": "250 OK",
        "ServerID": 23,
        "MessageStream": "outbound",
    }


def _stops(office: OperateContext, now: datetime) -> None:
    def event(number: int, name: str, **more: Any) -> dict[str, Any]:
        at = int((now - timedelta(minutes=20 - number)).timestamp())
        return {"email": "kim@example.com", "sg_event_id": f"st{number}", "timestamp": at, "event": name, **more}

    soft = {"type": "blocked", "status": "4.2.2", "reason": "452 4.2.2 mailbox full", "email": "mats@example.org"}
    events = [event(number, "bounce", sg_message_id=f"full{number}.x", **soft) for number in range(5)]
    events.append(event(7, "group_unsubscribe", asm_group_id=10, sg_message_id="weekly-41.x"))
    journey = {"email": "ines@example.com", "sg_message_id": "order-20261.recvd-7f9-1.0"}
    events += [
        event(8, "processed", **journey),
        event(9, "deferred", response="451 4.7.1 Greylisted, try again in 5 minutes", attempt="1", **journey),
        event(10, "delivered", response="250 2.0.0 OK", **journey),
        event(11, "open", sg_machine_open=True, useragent="GoogleImageProxy", **journey),
        event(
            12,
            "bounce",
            type="bounce",
            status="5.1.1",
            reason="550 5.1.1 User unknown in virtual mailbox table",
            **journey,
        ),
    ]
    office.receive("newsletter", events, at=now - timedelta(minutes=1))
    office.sweep()
    office.reader.ask("PUT", "/v1/suppressions/legal@example.net", body={"reason": "asked by letter, case 4711"})


def _dead_letters(office: OperateContext, now: datetime) -> None:
    bad = [
        {"event": "bounce", "email": f"x{n}@example.com", "timestamp": "yesterday", "sg_event_id": f"bad{n}"}
        for n in range(7)
    ]
    nameless = [{"type": "delivery", "data": {"message_id": f"m{n}"}} for n in range(3)]
    office.receive("sendgrid", bad, at=now - timedelta(hours=2))
    office.receive("main", nameless, at=now - timedelta(minutes=30))
