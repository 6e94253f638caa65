"""Addresses, reasons, ids and raws come from strangers: whatever they hold is shown, and nothing of it runs."""

import json
import re
from datetime import UTC, datetime
from urllib.parse import quote

from playwright.sync_api import Page, expect

from tests.browser.office import OperateContext
from tests.browser.watching import Watched

PAYLOADS = (
    "<script>window.__ran=1</script>",
    "<img src=x onerror=window.__ran=1>",
    "<svg/onload=window.__ran=1>",
    '<a href="javascript:window.__ran=1">x</a>',
    "javascript:window.__ran=1//",
    "\"><b onmouseover='window.__ran=1'>",
    "'-window.__ran=1-'",
    "]]><script>window.__ran=1</script><!--",
    "${window.__ran=1}{{window.__ran=1}}#{7*7}<%= 7*7 %>",
    "</textarea></title><style>*{display:none}</style>",
    '" style="background:url(//evil.invalid/x)" x="',
    "<link rel=stylesheet href=//evil.invalid/x.css>",
    "<iframe srcdoc='<script>parent.__ran=1</script>'></iframe>",
    "\u202e<object data=//evil.invalid/x></object>\u2028.",
)


def poison(office: OperateContext) -> None:
    """Put every payload into every field that a provider, a dead letter or a person fills."""
    now = datetime.now(UTC)
    for number, payload in enumerate(PAYLOADS):
        event = {
            "id": f"{number}{payload}",
            "type": "bounce",
            "timestamp": now.isoformat(),
            "data": {
                "message_id": message_id(number),
                "recipient": address(number),
                "bounce_type": f"permanent{payload}",
                "reason": f"550 5.1.1 {payload}",
                payload: {payload: [payload]},
            },
        }
        hard = {**event, "id": f"h{number}{payload}", "data": {**event["data"], "bounce_type": "hard"}}
        kind = {**event, "id": f"k{number}{payload}", "type": payload}
        dead_letter = {"type": payload, payload: payload}
        office.receive("main", [event, hard, kind, dead_letter], at=now)
    _poison_by_hand(office)


def _poison_by_hand(office: OperateContext) -> None:
    """Fill what only settings, headers and people fill."""
    for number, payload in enumerate(PAYLOADS):
        words = payload.replace("'", "''")
        office.owner.execute(
            "insert into dead_letters (dead_letter_id, kind, reason, source, provider, raw, received_at, headers) "
            f"values ('id{number}{words}', 'k{words}', 'r{number}{words}', 's{words}', '{words}', '{words}', now(), "
            f"cast('{json.dumps({payload: payload}).replace(chr(39), chr(39) * 2)}' as jsonb))"
        )
        office.owner.execute(
            "insert into suppressions (address, scope, manual_effect, manual_at, manual_by, manual_reason) "
            f"values ('hand{number}@example.com', 'scope{words}', 'suppress', now(), 'by{words}', 'because{words}')"
        )
        office.owner.execute(
            f"update email_events set source = 's{words}' where message_id = 'm{number}{words}' and type = 'other'"
        )


def message_id(number: int) -> str:
    return f"m{number}{PAYLOADS[number]}"


def address(number: int) -> str:
    return f'"{PAYLOADS[number]}"{number}@example.com'


def test_nothing_that_a_stranger_wrote_is_run(office: OperateContext, page: Page, watched: Watched) -> None:
    poison(office)
    page.goto(office.console())
    page.wait_for_selector(".tile")

    assert missing(page, "#/activity", "table.activity tbody tr", [address(n) for n in range(len(PAYLOADS))]) == []
    everything = [f"scope{it}" for it in PAYLOADS] + [f"by{it}: because{it}" for it in PAYLOADS]
    assert missing(page, "#/suppressions", "table.suppressions tbody tr", everything) == []
    assert (
        missing(page, "#/dead-letters", "table.dead-letters tbody tr", [f"r{n}{it}" for n, it in enumerate(PAYLOADS)])
        == []
    )
    assert missing(page, "#/sources", "table.sources tbody tr", [f"s{it}" for it in PAYLOADS]) == []
    for number, payload in enumerate(PAYLOADS):
        open_message(page, number)
        assert missing_now(page, [message_id(number), f"550 5.1.1 {payload}", f"bounce/permanent{payload}"]) == []
        assert missing_now(page, [json.dumps(payload, ensure_ascii=False) + ": {"]) == []
    watched.check(office.origin)
    assert page.evaluate("window.__ran") is None


def test_what_lies_deeper_is_not_run_either(office: OperateContext, page: Page, watched: Watched) -> None:
    poison(office)
    page.goto(office.console())
    page.wait_for_selector(".tile")

    for number in range(len(PAYLOADS)):
        look(page, f"#/address/{quote(address(number), safe='')}", ".verdict")
        open_folds(page)
        assert missing_now(page, [address(number).lower()]) == []
    for group in office.reader.get("/v1/dead-letters")["groups"]:
        look(page, f"#/dead-letters/{group['group_id']}", "table.dead-letter-rows tbody tr")
        open_folds(page)
        assert missing_now(page, [group["reason"]]) == []
    for payload in PAYLOADS:
        look(page, f"#/message/{quote(payload, safe='')}", ".empty")
        look(page, f"#/activity?q={quote(payload + '@x.example', safe='')}&source={quote(payload)}", ".empty")
        look(page, f"#/{quote(payload, safe='')}?{quote(payload)}={quote(payload)}", ".tile")
    watched.check(office.origin)
    assert page.evaluate("window.__ran") is None


def look(page: Page, hash_: str, drawn: str) -> None:
    page.evaluate("(hash) => { document.querySelector('main').replaceChildren(); location.hash = hash; }", hash_)
    page.wait_for_selector(drawn)


def missing(page: Page, hash_: str, drawn: str, texts: list[str]) -> list[str]:
    look(page, hash_, drawn)
    return missing_now(page, texts)


def missing_now(page: Page, texts: list[str]) -> list[str]:
    # Addresses are stored in lower case.
    shown = page.evaluate("document.querySelector('main').textContent").lower()
    return [text for text in texts if text.lower() not in shown]


def open_message(page: Page, number: int) -> None:
    look(page, f"#/message/{quote(message_id(number), safe='')}", ".timeline .event")
    open_folds(page)


def open_folds(page: Page) -> None:
    page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
    expect(page.locator("main details pre").filter(has_text=re.compile("^…?$"))).to_have_count(0)
