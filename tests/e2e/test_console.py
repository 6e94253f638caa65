"""The console of the local stack, opened at the address that `make run` prints."""

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from cli.local_stack import Stack
from local.browser import FLAGS, ensure_browser
from local.senders import WebhookSender
from local.traffic import Request
from samples import Keys, sampler
from tests.e2e.support import LocalRun

SOURCE = "sendgrid"


@pytest.fixture(scope="module")
def printed(running: LocalRun) -> str:
    """The console's address, with its token."""
    assert running.process
    assert running.process.stdout
    for line in running.process.stdout:
        found = re.search(r"console +(http\S+#token=mf_\S+)", line)
        if found:
            return found[1]
    pytest.fail("make run prints no console")


@pytest.fixture
def page() -> Iterator[Page]:
    """A tab of a real browser."""
    found = ensure_browser()
    if found is None:
        pytest.skip("NO BROWSER: the console is NOT tested on the local stack.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(found), headless=True, args=list(FLAGS))
        yield browser.new_page()
        browser.close()


def test_what_a_provider_sends_appears_in_the_console(printed: str, stack: Stack, page: Page) -> None:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(printed)
    expect(page.locator(".tile").first).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Activity", exact=True).click()
    source = stack.sources[SOURCE]
    assert source.secret
    assert source.signer
    marker = f"console-{uuid.uuid4().hex}"
    event = sampler(SOURCE).generate(Random(3), marker, datetime.now(UTC))
    keys = Keys(secret=source.secret, signer=source.signer)
    sender = WebhookSender(f"{stack.base_url}/webhooks/{SOURCE}", sampler(SOURCE), keys)

    assert sender.send(Request(source=SOURCE, events=(event,))) == 200

    row = page.get_by_title(re.compile(marker))
    expect(row).to_have_text(event["email"], timeout=30_000)
    row.click()
    expect(page.locator(".timeline .event")).to_have_count(1)
    assert wrong == []
    sender.close()
