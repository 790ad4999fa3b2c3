"""What the tests of the console share: a daemon with skills of all kinds, one browser, and pages that are watched."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser import find_chromium, open_browser
from console_page import WAIT_MS, OpenPage, WatchedPage
from console_world import ConsoleWorld
from node_packages import install_packages
from serve_world import ServedDaemon


class OneBrowser:
    """A browser for many tests. Its event loop counts as running from its start to its end: here, in its blocks alone,
    so that tests in between can have a loop of their own."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)

    @contextmanager
    def used(self) -> Iterator[Browser]:
        asyncio._set_running_loop(self._loop)
        try:
            yield self._browser
        finally:
            asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def browser() -> Iterator[OneBrowser]:
    if find_chromium() is None:
        pytest.skip("chromium is not installed")
    expect.set_options(timeout=WAIT_MS)
    with ExitStack() as stack:
        one = OneBrowser(stack.enter_context(open_browser()))
        yield one
        with one.used():
            stack.close()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> ConsoleWorld:
    return ConsoleWorld(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="session")
def daemon(world: ConsoleWorld) -> Iterator[ServedDaemon]:
    """`weft serve`, for all tests that do not end it."""
    with world.serve() as served:
        yield served


@pytest.fixture
def open_page(browser: OneBrowser) -> Iterator[OpenPage]:
    """Opens a page for a daemon; what it did is looked at when the test is over."""
    opened: list[WatchedPage] = []

    def open_one(daemon: ServedDaemon, *, width: int = 1280, theme: str = "light") -> WatchedPage:
        opened.append(WatchedPage(used, daemon, width, theme))
        return opened[-1]

    with browser.used() as used:
        yield open_one
        for one in opened:
            one.check()
            one.context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, from npm."""
    return (install_packages(Path(__file__).parent / "axe") / "axe-core" / "axe.min.js").read_text()
