"""Every page, light and dark, on a desk and on a phone: pictures to look at, and axe's opinion."""

from collections.abc import Callable
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import ARTEFACTS
from tests.browser.office import OperateContext
from tests.browser.watching import Watched

#: page -> its address, and what is there once it is drawn
PAGES = {
    "overview": ("#/overview", "svg.plot rect"),
    "activity": ("#/activity", "table.activity tbody tr"),
    "message": ("#/message/order-20261", ".timeline .event"),
    "suppressions": ("#/suppressions", "table.suppressions tbody tr"),
    "address": ("#/address/ines%40example.com", "table.events tbody tr"),
    "dead-letters": ("#/dead-letters", "table.dead-letters tbody tr"),
    "sources": ("#/sources", "table.sources tbody tr"),
}
#: Every page in both schemes and on both screens, without looking at everything four times.
EXAMINED = {("desktop", "light"), ("phone", "dark")}
SCREENS = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_is_fit_to_be_looked_at(
    filled: OperateContext, new_context: Callable[..., BrowserContext], screen: str, scheme: str
) -> None:
    page = new_context(viewport=SCREENS[screen], color_scheme=scheme).new_page()
    watched = Watched(page)
    ARTEFACTS.mkdir(exist_ok=True)
    findings: dict[str, Any] = {}
    sideways: dict[str, int] = {}

    def look(name: str) -> None:
        whole = name not in {"activity", "suppressions", "dialog"}
        page.screenshot(path=ARTEFACTS / f"{name}-{screen}-{scheme}.png", full_page=whole)
        sideways[name] = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        findings[name] = serious(page) if (screen, scheme) in EXAMINED else []

    page.goto(f"{filled.url}/console")
    look("sign-in")
    page.goto(filled.console())
    page.wait_for_selector(".tile")
    for name, (address, drawn) in PAGES.items():
        open_page(page, address, drawn)
        look(name)
    page.get_by_role("link", name="Dead letters", exact=True).click()
    page.get_by_role("link", name="a time that is none").click()
    page.locator("details summary").first.click()
    page.get_by_role("button", name="Dry run of this group").click()
    page.wait_for_selector(".result > *")
    look("group")
    open_page(page, "#/suppressions", "table.suppressions tbody tr")
    page.get_by_role("button", name="Lift ines@example.com").click()
    look("dialog")

    assert findings == {name: [] for name in findings}
    assert sideways == dict.fromkeys(sideways, 0)
    watched.check()


def open_page(page: Page, address: str, drawn: str) -> None:
    page.evaluate("(address) => { location.hash = address; }", address)
    page.wait_for_selector(drawn)


def serious(page: Page) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{it['id']}: {[node['html'][:160] for node in it['nodes'][:3]]}"
        for it in found
        if it["impact"] in {"serious", "critical"}
    ]
