"""Debian's Chromium, driven by Playwright: for the tests of the console and for its pictures."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright


def find_chromium() -> str | None:
    return shutil.which("chromium")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """One browser, without a window. Raises: AssertionError where none is installed."""
    path = find_chromium()
    assert path is not None, "chromium is not installed"
    with sync_playwright() as playwright:
        # Its own sandbox needs what a container, or root, does not have; it sees pages of this machine alone.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
