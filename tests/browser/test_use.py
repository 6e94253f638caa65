"""What people do with the console: sign in, look for something, change something, take a file along."""

import csv
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.office import OperateContext
from tests.browser.watching import Watched
from tests.support.captured import event
from tests.support.records import raw


def delivered(number: int, **data: Any) -> dict[str, Any]:
    at = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    return raw(f"e{number}", at=at, message_id=f"m{number}", recipient=f"user{number}@example.com", **data)


def bounced(number: int, reason: str = "550 5.1.1 no such user") -> dict[str, Any]:
    return {**delivered(number, bounce_type="hard", reason=reason), "type": "bounce"}


def tab_to(page: Page, name: str) -> None:
    """PublishContext the tab key until something of this name has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        focused = page.evaluate("(document.activeElement.ariaLabel || document.activeElement.textContent || '').trim()")
        if focused.startswith(name):
            return
    pytest.fail(f"the keyboard never reaches {name}")


def test_all_of_it_works_without_a_mouse(office: OperateContext, page: Page, watched: Watched) -> None:
    office.receive("main", [*(delivered(number) for number in range(8)), bounced(8)])
    page.goto(f"{office.url}/console")
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type(office.reader.token)
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    tab_to(page, "Overview")
    tab_to(page, "Activity")
    page.keyboard.press("Enter")
    expect(page.locator("table.activity tbody tr")).to_have_count(9)
    tab_to(page, "Bounced, hard")
    page.keyboard.press("Space")
    expect(page.locator("table.activity tbody tr")).to_have_count(1)
    tab_to(page, "user8@example.com")
    page.keyboard.press("Enter")
    expect(page.locator(".meaning")).to_contain_text("The mailbox does not exist.")
    tab_to(page, "Lift user8@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Lift this stop?")).to_be_visible()
    page.keyboard.type("they wrote to us")
    tab_to(page, "Lift")
    page.keyboard.press("Enter")

    expect(page.locator(".stop-line")).to_have_count(0)
    rows = office.owner.execute("select manual_effect, manual_by, manual_reason from suppressions")
    assert rows == [["lift", "token:ann", "they wrote to us"]]


def test_the_slash_leads_to_the_search_and_escape_out_of_a_dialog(
    office: OperateContext, page: Page, watched: Watched
) -> None:
    office.receive("main", [delivered(1), bounced(2)])
    page.goto(office.console())
    page.get_by_role("link", name="Activity", exact=True).click()
    expect(page.locator("table.activity tbody tr")).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("user1@example.com")
    page.keyboard.press("Enter")
    expect(page.locator("table.activity tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Suppressions", exact=True).click()
    page.get_by_role("button", name="Lift user2@example.com").click()

    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert office.owner.execute("select manual_effect from suppressions") == [[None]]


def test_the_token_leaves_the_address_at_once_and_goes_into_no_other(
    office: OperateContext, page: Page, watched: Watched
) -> None:
    page.goto(office.console())
    page.wait_for_selector(".tile")

    assert "token" not in page.url
    assert [url for url in watched.requests if office.reader.token in url] == []
    assert page.evaluate("sessionStorage.length + localStorage.length") == 1
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_an_unknown_token_leads_back_to_the_sign_in(office: OperateContext, page: Page) -> None:
    page.goto(office.console("mf_" + "x" * 43))
    expect(page.get_by_label("Token")).to_be_visible()
    page.get_by_label("Token").fill("mf_" + "y" * 43)
    page.keyboard.press("Enter")

    expect(page.locator(".dialog-problem")).to_contain_text("not known")


def test_a_token_that_may_look_at_nothing_is_told_which_scope_is_missing(office: OperateContext, page: Page) -> None:
    page.goto(f"{office.url}/console")
    page.get_by_label("Token").fill(office.reader.make_token("checkout", "check"))
    page.keyboard.press("Enter")

    expect(page.locator(".dialog-problem")).to_contain_text("lacks the scope read")
    expect(page.locator(".dialog-problem")).to_contain_text("bin/mailfold tokens add NAME --scope read")
    assert page.evaluate("sessionStorage.length") == 0


def test_raw_payloads_are_shown_to_who_may_see_them(office: OperateContext, page: Page, watched: Watched) -> None:
    office.receive("main", [{**delivered(1), "note": "the payload"}])
    page.goto(office.console() + "&page")
    page.goto(f"{office.url}/console#message/m1")
    page.get_by_text("Raw").click()

    expect(page.get_by_label("Raw")).to_contain_text("the payload")


def test_who_may_not_see_raw_payloads_is_told_so(office: OperateContext, page: Page) -> None:
    office.receive("main", [{**delivered(1), "note": "the payload"}, {"type": "nonsense"}])
    page.goto(office.console(office.reader.make_token("bob", "read")))
    page.wait_for_selector(".tile")
    page.goto(f"{office.url}/console#message/m1")
    page.get_by_text("Raw", exact=True).click()
    expect(page.locator("details.fold")).to_contain_text("lacks the scope raw")
    page.get_by_role("link", name="Dead letters", exact=True).click()
    page.locator("table.dead-letters tbody tr a").first.click()
    page.get_by_text("Raw", exact=True).last.click()

    expect(page.locator("details.fold")).to_contain_text("lacks the scope raw")
    assert "the payload" not in page.content()


def test_a_lifted_address_leaves_the_list(office: OperateContext, page: Page, watched: Watched) -> None:
    office.receive("main", [bounced(1), bounced(2)])
    page.goto(office.console())
    page.get_by_role("link", name="Suppressions", exact=True).click()
    page.get_by_role("button", name="Lift user1@example.com").click()
    page.get_by_role("dialog").get_by_role("button", name="Lift").click()

    expect(page.locator("table.suppressions tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Lifted").click()
    expect(page.locator("table.suppressions tbody tr")).to_contain_text(["user1@example.com"])


def test_whoever_may_only_read_is_told_so(office: OperateContext, page: Page) -> None:
    office.receive("main", [bounced(1)])
    page.goto(office.console(office.reader.make_token("bob", "read")))
    page.get_by_role("link", name="Suppressions", exact=True).click()
    page.get_by_role("button", name="Lift user1@example.com").click()
    page.get_by_role("dialog").get_by_role("button", name="Lift").click()

    expect(page.get_by_role("dialog")).to_contain_text("lacks the scope operate")
    assert office.owner.execute("select manual_effect from suppressions") == [[None]]


def test_an_address_is_stopped_by_hand(office: OperateContext, page: Page, watched: Watched) -> None:
    page.goto(office.console())
    page.get_by_role("link", name="Suppressions", exact=True).click()
    page.get_by_role("button", name="Stop an address").click()
    page.get_by_label("Address", exact=True).fill("legal@example.net")
    page.get_by_label("Reason, for the record").fill("asked by letter")
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()

    expect(page.locator("table.suppressions tbody tr")).to_contain_text(["legal@example.net"])
    assert office.reader.get("/v1/recipients/legal@example.net")["may_be_mailed"] is False


def test_new_events_come_by_themselves_but_move_nothing_that_is_read(
    office: OperateContext, page: Page, watched: Watched
) -> None:
    office.receive("main", [delivered(1)])
    page.clock.install()
    page.goto(office.console())
    page.get_by_role("link", name="Activity", exact=True).click()
    expect(page.locator("table.activity tbody tr")).to_have_count(1)
    page.mouse.move(5, 5)
    office.receive("main", [delivered(2)])
    page.clock.fast_forward(5_000)
    expect(page.locator("table.activity tbody tr")).to_have_count(2)

    page.locator("table.activity").hover()
    office.receive("main", [delivered(3), delivered(4)])
    page.clock.fast_forward(5_000)

    expect(page.locator(".fresh")).to_have_text("2 new")
    expect(page.locator("table.activity tbody tr")).to_have_count(2)
    page.locator(".fresh").click()
    expect(page.locator("table.activity tbody tr")).to_have_count(4)


def test_pages_go_back_and_forth_and_the_way_back_leads_to_the_same_one(
    office: OperateContext, page: Page, watched: Watched
) -> None:
    office.receive("main", [delivered(number) for number in range(70)])
    page.goto(office.console())
    page.get_by_role("link", name="Activity", exact=True).click()
    expect(page.locator("table.activity tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Older").click()
    expect(page.locator("table.activity tbody tr")).to_have_count(20)

    page.locator(".row-link").first.click()
    page.wait_for_selector(".timeline")
    page.go_back()

    expect(page.locator("table.activity tbody tr")).to_have_count(20)
    page.get_by_role("button", name="Newer").click()
    expect(page.locator("table.activity tbody tr")).to_have_count(50)


def test_the_file_holds_all_that_the_filter_finds_and_no_formula(
    office: OperateContext, page: Page, watched: Watched
) -> None:
    office.receive("main", [delivered(number) for number in range(10)])
    office.receive("main", [bounced(number, "=cmd|'/C calc'!A0") for number in range(10, 240)])
    page.goto(office.console())
    page.evaluate("location.hash = '#/activity?status=bounced&bounce=hard'")
    expect(page.locator("table.activity tbody tr")).to_have_count(50)

    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()

    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert {row["recipient"] for row in rows} == {f"user{number}@example.com" for number in range(10, 240)}
    assert {row["reason"] for row in rows} == {"'=cmd|'/C calc'!A0"}


def test_a_failure_is_told_and_mended_by_itself(office: OperateContext, page: Page) -> None:
    page.clock.install()
    page.goto(office.console())
    page.wait_for_selector(".tile")
    page.route("**/v1/**", lambda route: route.abort())
    page.clock.fast_forward(5_000)
    expect(page.locator("#problem")).to_contain_text("cannot be reached. Next try in 6 s.")
    page.unroute("**/v1/**")
    page.clock.fast_forward(5_000)
    expect(page.locator("#problem")).to_contain_text("cannot be reached")

    page.clock.fast_forward(5_000)

    expect(page.locator("#problem")).to_be_empty()


def test_whoever_is_at_a_place_with_the_keyboard_stays_there(
    office: OperateContext, page: Page, watched: Watched
) -> None:
    office.receive("main", [delivered(1)])
    page.clock.install()
    page.goto(office.console())
    page.wait_for_selector(".tile")
    page.locator("a.tile", has_text="Complaints").focus()
    office.receive("main", [delivered(2)])

    page.clock.fast_forward(5_000)

    expect(page.locator("a.tile .tile-value").first).to_have_text("2")
    expect(page.locator("a.tile", has_text="Complaints")).to_be_focused()


def test_a_page_that_is_paused_asks_for_nothing(office: OperateContext, page: Page, watched: Watched) -> None:
    page.clock.install()
    page.goto(office.console())
    page.wait_for_selector(".tile")
    page.get_by_role("button", name="Live").click()
    before = len(watched.requests)

    page.clock.run_for(30_000)

    assert len(watched.requests) == before
    page.get_by_role("button", name="Paused").click()
    expect(page.get_by_role("button", name="Live")).to_be_visible()
    assert len(watched.requests) > before


def test_the_chosen_colours_outlive_the_page(office: OperateContext, page: Page, watched: Watched) -> None:
    page.goto(office.console())
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_label("Colours").select_option("dark")
    page.reload()

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_empty_pages_say_what_would_fill_them(office: OperateContext, page: Page, watched: Watched) -> None:
    page.goto(office.console())
    page.get_by_role("link", name="Activity", exact=True).click()
    expect(page.locator(".empty")).to_contain_text(f"{office.url}/webhooks/SOURCE")
    expect(page.locator(".empty")).to_contain_text("make demo")

    page.get_by_role("link", name="Dead letters", exact=True).click()

    expect(page.locator(".empty")).to_contain_text("No dead letters")


def test_dead_letters_are_tried_confirmed_and_redriven(office: OperateContext, page: Page, watched: Watched) -> None:
    office.receive("main", [{"type": "delivery", "data": {"message_id": f"m{number}"}} for number in range(6)])
    # As if what sent the first four had been fixed.
    mended = """'{"id": "' || dead_letter_id || '", "timestamp": "2026-01-01T00:00:00Z"}'"""
    office.owner.execute(f"update dead_letters set raw = (raw::jsonb || ({mended})::jsonb)::text where raw ~ 'm[0-3]'")
    count = "select (select count(*) from email_events), (select count(*) from dead_letters)"
    page.goto(office.console())
    page.get_by_role("link", name="Dead letters", exact=True).click()
    page.locator(".row-link").click()
    page.get_by_role("button", name="Dry run of this group").click()
    expect(page.locator(".result")).to_contain_text("Dry run: nothing was changed")
    expect(page.locator(".result")).to_contain_text("main, unparseable:")
    assert office.owner.execute(count) == [[0, 6]]

    page.get_by_role("button", name="Redrive 6 dead letters").click()
    expect(page.get_by_role("dialog")).to_contain_text("4 of them fold, and 2 stay")
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()

    expect(page.get_by_role("heading", name="Redriven")).to_be_visible()
    assert office.owner.execute(count) == [[4, 2]]


def test_an_unproven_dead_letter_is_folded_only_by_itself_and_after_a_warning(
    office: OperateContext, page: Page, watched: Watched
) -> None:
    for name in ("genuine", "ceo", "cfo"):
        office.receive("mailgun", [event(name, "complained")], key="token:captured")
    office.receive("main", [{"type": "delivery", "data": {"message_id": "m1"}}])
    people = "select recipient from email_events order by 1"
    page.goto(office.console())
    page.get_by_role("link", name="Dead letters", exact=True).click()
    expect(page.locator("table.dead-letters tbody tr", has_text="claim_conflict")).to_contain_text("2 unproven")
    page.get_by_role("button", name="Dry run of all groups").click()
    expect(page.locator(".result")).to_contain_text("2 left out: some failed an authenticity check")
    page.get_by_role("button", name="Redrive 1 dead letter").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 more are left out; the dry run says why")
    page.get_by_role("dialog").get_by_role("button", name="Redrive").click()
    expect(page.get_by_role("heading", name="Redriven")).to_be_visible()
    assert office.owner.execute(people) == [["genuine@example.com"]]

    page.locator(".row-link", has_text="not proven").click()
    expect(page.locator("table.dead-letter-rows .pill", has_text="unproven")).to_have_count(2)
    page.get_by_role("button", name="Fold the unproven dead letter").first.click()
    expect(page.get_by_role("dialog")).to_contain_text("Anyone who saw that signature could have sent it")
    page.keyboard.press("Escape")
    assert office.owner.execute(people) == [["genuine@example.com"]]

    page.get_by_role("button", name="Fold the unproven dead letter").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Fold it unproven").click()

    expect(page.locator("table.dead-letter-rows tbody tr")).to_have_count(1)
    assert len(office.owner.execute(people)) == 2
    assert office.owner.execute("select details ->> 'unproven' from audit_log order by at desc limit 1") == [["1"]]


def test_times_csv_and_diagnoses_are_right(office: OperateContext, page: Page) -> None:
    page.goto(office.console())
    page.wait_for_selector(".tile")
    base = re.sub(r"/console.*", "/console/", page.url)

    found = page.evaluate(
        """async (base) => {
            const [{ diagnose }, { field }, { ago, span }, { parse, link }, { el }] = await Promise.all(
                ["diagnosis", "csv", "time", "router", "dom"].map((name) => import(`${base}${name}.js`)));
            const refused = (make) => { try { make(); return false; } catch { return true; } };
            return {
                full: diagnose({ type: "bounced", bounce_class: "soft", reason: "552 5.2.2 over quota" }).says,
                machine: diagnose({ type: "opened", machine: true }).says,
                unheard: diagnose({ type: "new thing" }).says,
                address: diagnose({ type: "bounced", bounce_class: "hard", reason: "from 5.1.1.7" }).code,
                fields: ["=1", "+1", "-1", "@a", " =1", "a,b", 'a"b', null, 7].map(field),
                ago: [ago("2026-01-01T00:00:00Z", Date.parse("2026-01-01T00:03:10Z")), span(90000), span(200000)],
                route: parse(link("message", "a/b?c=d#e%", { q: "a+b@c" })),
                refused: [
                    () => el("script"), () => el("a", { href: "javascript:1" }), () => el("a", { href: "//x.invalid" }),
                    () => el("p", { onclick: "1" }), () => el("p", { style: "x" }), () => el("p", { srcdoc: "x" }),
                ].map(refused),
            };
        }""",
        base,
    )

    assert found["full"] == "The mailbox is full."
    assert found["machine"] == "A machine loaded the images, such as a mail proxy."
    assert found["unheard"] == "The provider told something that has no meaning here."
    assert found["address"] == ""
    assert found["fields"] == ['"\'=1"', '"\'+1"', '"\'-1"', '"\'@a"', '"\' =1"', '"a,b"', '"a""b"', "", "7"]
    assert found["ago"] == ["3 min ago", "25 h", "2 d"]
    assert found["route"] == {"page": "message", "rest": "a/b?c=d#e%", "query": {"q": "a+b@c"}}
    assert found["refused"] == [True] * 6
