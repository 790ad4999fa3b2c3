"""Whether everybody can use the console, as far as axe-core can tell."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console_page import OpenPage
from console_world import ConsoleWorld
from serve_world import ServedDaemon

PAGES = ("/skills", "/skills/speed-up", "/skills/invoice-reader", "/run/plan", "/approvals", "/status")
EMPTY = ("/sessions", "/runs", "/usage", "/audit", "/registry")  # with nothing on them; test_records.py fills them


def find_serious(page: Page, axe: str, theme: str = "light") -> list[Any]:
    """What is wrong; in another theme than light only what colours do."""
    page.evaluate(axe)
    only = {"runOnly": ["color-contrast"]} if theme == "dark" else {}
    options = {"resultTypes": ["violations"], **only}
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3], one["nodes"][0]["failureSummary"])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def ask_for_approval(page: Page, axe: str, theme: str) -> list[Any]:
    """With a skill at work, a question of a tool, and a question of the console."""
    page.goto(page.url.partition("#")[0] + "#/run/plan")
    page.get_by_label("Arguments or message").fill("for Ada")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".question")).to_be_visible()
    page.locator(".fold summary").click()
    found = find_serious(page, axe, theme)
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.locator(".ending")).to_be_visible()
    page.goto(page.url.partition("#")[0] + "#/skills/invoice-reader")
    page.get_by_role("button", name="Approve").click()
    found += find_serious(page, axe, theme)
    page.keyboard.press("Escape")
    return found


@pytest.mark.parametrize(
    ("theme", "width"), [("light", 1280), ("dark", 1280), pytest.param("light", 390, marks=pytest.mark.soak)]
)
def test_no_page_has_a_serious_finding(
    world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage, axe: str, theme: str, width: int
) -> None:
    world.say([{"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch a"}}]}, {"text": "Done."}])
    watched = open_page(daemon, theme=theme, width=width)
    page = watched.page
    page.goto(daemon.url)
    found = {"token": find_serious(page, axe, theme)}
    watched.enter()
    for path in (*PAGES, *(EMPTY if (theme, width) == ("light", 1280) else ())):
        watched.go(path)
        expect(page.locator(".page h1")).to_be_visible()
        expect(page.locator(".state-loading")).to_have_count(0)
        found[path] = find_serious(page, axe, theme)
    if width < 760:
        page.get_by_role("button", name="Menu").click()
        found["menu"] = find_serious(page, axe, theme)
    found["asks"] = ask_for_approval(page, axe, theme)
    page.keyboard.press("?")
    found["keys"] = find_serious(page, axe, theme)
    assert {path: said for path, said in found.items() if said} == {}


def test_the_check_finds_what_is_wrong(daemon: ServedDaemon, open_page: OpenPage, axe: str) -> None:
    page = open_page(daemon).page
    page.goto(daemon.url)
    page.evaluate("document.querySelector('h1').style.color = '#ddd'; document.querySelector('label').remove()")
    assert {one[0] for one in find_serious(page, axe)} >= {"color-contrast", "label-title-only"}
