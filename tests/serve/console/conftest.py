"""What the tests of the console share: a daemon with skills of all kinds, one browser, and pages that are watched."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser import find_chromium, open_browser
from console_page import WAIT_MS, OpenPage, WatchedPage
from console_world import ConsoleWorld
from node_packages import install_packages
from serve_world import ServedDaemon


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("chromium is not installed")
    expect.set_options(timeout=WAIT_MS)
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> ConsoleWorld:
    return ConsoleWorld(tmp_path_factory.mktemp("console"))


@pytest.fixture(scope="session")
def daemon(world: ConsoleWorld) -> Iterator[ServedDaemon]:
    """`weft serve`, for all tests that do not end it."""
    with world.serve() as served:
        yield served


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens a page for a daemon; what it did is looked at when the test is over."""
    opened: list[WatchedPage] = []

    def open_one(daemon: ServedDaemon, *, width: int = 1280, theme: str = "light") -> WatchedPage:
        opened.append(WatchedPage(browser, daemon, width, theme))
        return opened[-1]

    yield open_one
    for one in opened:
        one.check()
        one.context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, from npm."""
    return (install_packages(Path(__file__).parent / "axe") / "axe-core" / "axe.min.js").read_text()
