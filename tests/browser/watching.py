"""Sees whatever a page must never do: dialogs, errors, breaches of its policy, requests to strangers."""

from typing import Any

from playwright.sync_api import ConsoleMessage, Dialog, Page, Request

#: Reports what the policy has blocked, before any script of the page runs.
REPORTER = """
window.__breaches = [];
document.addEventListener("securitypolicyviolation",
    (event) => window.__breaches.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Watched:
    """One tab under watch."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.wrong: list[str] = []
        page.add_init_script(REPORTER)
        page.on("dialog", self._on_dialog)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("console", self._on_console)
        page.on("request", self._on_request)

    def _on_dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_console(self, message: ConsoleMessage) -> None:
        # The browser itself writes a line for each refusal of the API; pages explain those.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.wrong.append(f"console: {message.text}")

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def check(self, origin: str = "http://127.0.0.1:") -> None:
        """Insist that nothing went wrong so far."""
        breaches: Any = self.page.evaluate("window.__breaches") if self.page.url.startswith("http") else []
        assert self.wrong == []
        assert breaches == []
        assert [url for url in self.requests if not url.startswith((origin, "blob:", "data:"))] == []
