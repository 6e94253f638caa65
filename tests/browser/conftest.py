"""The console in a real browser, on a real Postgres that the real functions have filled."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from local.browser import FLAGS, ensure_browser
from local.postgres import PostgresServer
from tests.browser.office import OperateContext
from tests.browser.scenes import fill
from tests.browser.watching import Watched
from tests.support.databases import Databases

ARTEFACTS = Path(__file__).parent / "artefacts"
LOUD = "NO BROWSER: the console is NOT tested. Install chromium, or name one in MAILFOLD_CHROMIUM."


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or whichever is there."""
    found = ensure_browser()
    if found is None:
        pytest.skip(LOUD)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(found), headless=True, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def patches() -> Iterator[pytest.MonkeyPatch]:
    """Environment for as long as the run takes."""
    with pytest.MonkeyPatch.context() as patches:
        yield patches


@pytest.fixture(scope="session")
def filled(
    postgres_server: PostgresServer, databases: Databases, patches: pytest.MonkeyPatch
) -> Iterator[OperateContext]:
    """A day of mail; nobody changes it."""
    with databases.migrated() as name:
        office = OperateContext(postgres_server, name, patches)
        fill(office)
        yield office
        office.close()


@pytest.fixture
def office(
    postgres_server: PostgresServer, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> Iterator[OperateContext]:
    """An empty database of one test's own."""
    with databases.migrated() as name:
        office = OperateContext(postgres_server, name, monkeypatch)
        yield office
        office.close()


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """As many separate browsers as a test wants."""
    made: list[BrowserContext] = []

    def make(**options: object) -> BrowserContext:
        made.append(browser.new_context(**{"locale": "en-GB", "timezone_id": "Europe/Berlin", **options}))  # type: ignore[arg-type]
        made[-1].set_default_timeout(10_000)
        return made[-1]

    yield make
    for context in made:
        context.close()


@pytest.fixture
def page(new_context: Callable[..., BrowserContext]) -> Page:
    """A tab on a desk."""
    return new_context(viewport={"width": 1280, "height": 800}).new_page()


@pytest.fixture
def watched(page: Page) -> Iterator[Watched]:
    """The same tab; the test fails if anything in it went wrong."""
    watched = Watched(page)
    yield watched
    watched.check()
