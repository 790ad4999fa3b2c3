"""A page of the console in a browser, and what it did that no page of ours does."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

from serve_world import ServedDaemon

WAIT_MS = 20_000
_WATCH = "addEventListener('securitypolicyviolation', e => (window.violations ??= []).push(e.violatedDirective), true)"
OpenPage = Callable[..., "WatchedPage"]


class WatchedPage:
    """A page of its own context. `allowed` are parts of complaints of the browser that are due."""

    def __init__(self, browser: Browser, daemon: ServedDaemon, width: int, theme: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
        self.page: Page = self.context.new_page()
        self.daemon = daemon
        self.wrong: list[str] = []
        self.allowed: tuple[str, ...] = ()
        self.page.set_default_timeout(WAIT_MS)
        self.page.add_init_script(_WATCH)
        self.page.on("dialog", self._dialog)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("request", lambda request: self._went_to(request.url))
        self.page.on("websocket", lambda socket: self._went_to(socket.url))
        self.page.on("console", self._heard)

    def go(self, path: str) -> None:
        """To a page of the console."""
        self.page.goto(f"{self.daemon.url}/#{path}")

    def enter(self, path: str = "/skills", token: str = "") -> None:
        """Into the console with a token, which is the user's own, then to one of its pages."""
        self.page.goto(f"{self.daemon.url}/#token={token or self.daemon.token}")
        self.page.wait_for_selector("main h1")
        self.go(path)

    def check(self) -> None:
        """Nothing was asked of anybody else, nothing popped up, nothing broke, no rule of the page was violated."""
        violations: list[Any] = self.page.evaluate("window.violations ?? []")
        assert violations == []
        assert [one for one in self.wrong if not any(due in one for due in self.allowed)] == []

    def _went_to(self, url: str) -> None:
        if not url.startswith((f"{self.daemon.url}/", self.daemon.socket_url, "data:")):
            self.wrong.append(f"request: {url}")

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.wrong.append(f"console: {said.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()
