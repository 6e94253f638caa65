"""erase: what comes later, and what is written elsewhere, does not bring the person back."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.conftest import Store
from tests.support.erasing import PETRA, Desk, dump, traces


@pytest.fixture
def desk(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    desk = Desk(store, monkeypatch)
    yield desk
    desk.close()


def _event(event_id: str, kind: str, recipient: str = PETRA.address, **data: Any) -> dict[str, Any]:
    told = {"recipient": recipient, "message_id": "m1", **data}
    return {"id": event_id, "type": kind, "timestamp": "2026-01-02T00:00:00Z", "data": told}


def test_every_line_of_the_audit_log_is_written_without_addresses(desk: Desk, store: Store) -> None:
    scope = f"list:{PETRA.address}"
    bounce = _event("e1", "bounce", bounce_type="Permanent")
    desk.fold("sesmetric", [bounce], headers={}, body=b"1")
    desk.order("suppressions.add", address=PETRA.address, scope=scope, reason="asked")
    desk.order("suppressions.add", address="bob@elsewhere.org", scope=f"list:{PETRA.address.upper()}", reason="asked")
    desk.order("suppressions.lift", address=PETRA.address, scope=scope, reason="asked")
    desk.order("replay", message_id=f"<{PETRA.address}.1@mailer>", apply=True)

    lines = store.rows("select cast(to_jsonb(a) as text) from audit_log a")

    assert len(lines) >= 3
    assert [line for [line] in lines if "petra.quast" in line.lower()] == []
    [[details]] = store.rows("select details from audit_log where action = 'suppressions.lift'")
    form = store.value(f"select erased_form('{PETRA.address}')")
    assert details == {"scope": f"list:{form}"}


def test_a_scope_that_holds_the_address_stays_stopped_under_its_erased_form(desk: Desk, store: Store) -> None:
    desk.order("suppressions.add", address=PETRA.address, scope=f"list:{PETRA.address}", reason="asked")

    desk.erase(PETRA.address)

    form = store.value(f"select erased_form('{PETRA.address}')")
    assert store.rows("select address, scope from suppressed") == [[form, f"list:{form}"]]
    assert desk.left(PETRA.address) == {}


def test_another_content_of_an_erased_event_does_not_bring_the_person_back(desk: Desk, store: Store) -> None:
    contents = [_event("e1", kind, ip=PETRA.ip, name=PETRA.name) for kind in ("bounce", "complaint", "open", "click")]
    for number, content in enumerate(contents[:2]):
        desk.fold("sesmetric", [content], headers={}, body=f"{number}".encode())
    desk.erase(PETRA.address)
    form = store.value(f"select erased_form('{PETRA.address}')")

    for number, content in enumerate(contents):
        desk.fold("sesmetric", [content], headers={"svix-id": PETRA.address}, body=f"again {number}".encode())

    assert traces(dump(store), PETRA) == set()
    assert store.rows("select distinct recipient from message_status") == [[form]]
    # Nothing is dropped: each content is folded, and each but the one that is stored is a dead letter.
    assert store.value("select count(*) from message_status") == 4
    assert store.value("select count(*) from dead_letters where kind = 'conflict'") == 3


def test_dead_letters_that_were_erased_stay_apart_when_they_are_folded_again(desk: Desk, store: Store) -> None:
    for number in range(3):
        desk.fold("sesmetric", [{"about": PETRA.address, "number": number}], headers={}, body=f"{number}".encode())
    desk.erase(PETRA.address)
    before = store.rows("select dead_letter_id, raw, reason from dead_letters order by 1")

    desk.order("dead-letters.redrive", all=True, apply=True)

    assert len(before) == 3
    assert store.rows("select dead_letter_id, raw, reason from dead_letters order by 1") == before


def test_of_a_dead_letter_of_several_events_only_those_of_the_person_are_emptied(desk: Desk, store: Store) -> None:
    mine, bobs = _event("e1", "open"), _event("e2", "open", "bob@elsewhere.org", number=1.10, copy=PETRA.address)
    desk.fold("sesmetric", [_event("e0", "open", "bob@elsewhere.org")], headers={}, body=b"1", key="k")
    desk.fold("sesmetric", [mine, bobs], headers={}, body=b"2", key="k")

    desk.erase(PETRA.address)

    [[raw]] = store.rows("select raw from dead_letters")
    kept = json.loads(raw)
    assert kept[0] == {"erased": True}
    assert kept[1]["data"]["recipient"] == "bob@elsewhere.org"
    assert kept[1]["data"]["copy"].startswith("erased:")
    assert "1.1" in raw


def test_an_id_without_an_address_is_stored_as_it_came(desk: Desk, store: Store) -> None:
    ids = ["evt_1", "dGVzdA==", "a/b+c~d", "0102018f-0000", "x:y"]
    desk.fold("sesmetric", [_event(one, "open") for one in ids], headers={}, body=b"1", key="key_1==")
    named = [_event(spelling, "open") for spelling in PETRA.spellings().values()]
    desk.fold("sesmetric", named, headers={}, body=b"2", key=PETRA.address)

    stored = {row[0] for row in store.rows("select event_id from email_events")}
    assert {f"sesmetric:{one}" for one in ids} < stored
    assert len(stored) == len(ids) + len(named)
    assert [one for one in stored if "petra" in one] == []
    assert store.value("select count(*) from claims where claim_key like '%petra%'") == 0
