"""Whether everybody can use the console, as far as axe-core can tell."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console_page import OpenPage
from serve_world import ServedDaemon

PAGES = (
    "/skills", "/skills/speed-up", "/skills/invoice-reader", "/run/plan", "/approvals", "/sessions", "/runs", "/usage",
    "/audit", "/registry", "/status",
)  # fmt: skip


def find_serious(page: Page, axe: str) -> list[Any]:
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3], one["nodes"][0]["failureSummary"])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_no_page_has_a_serious_finding(
    daemon: ServedDaemon, open_page: OpenPage, axe: str, theme: str, width: int
) -> None:
    watched = open_page(daemon, theme=theme, width=width)
    page = watched.page
    page.goto(daemon.url)
    found = {"token": find_serious(page, axe)}
    watched.enter()
    for path in PAGES:
        watched.go(path)
        expect(page.locator(".page h1")).to_be_visible()
        expect(page.locator(".state-loading")).to_have_count(0)
        found[path] = find_serious(page, axe)
    page.keyboard.press("?")
    found["keys"] = find_serious(page, axe)
    assert {path: said for path, said in found.items() if said} == {}
