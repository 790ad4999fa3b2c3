"""The console in a real browser, in front of `weft serve`."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from console_page import OpenPage
from console_world import ConsoleWorld
from serve_world import ServedDaemon

_GONE = ("ERR_CONNECTION_REFUSED", "WebSocket")  # what browsers say of a daemon that has ended
_ASKS: list[dict[str, Any]] = [
    {"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch counted"}}], "text": "Let me count. "},
    {"text": "The total is 42 crowns."},
]


def add_stranger(world: ConsoleWorld, name: str) -> Path:
    return world.add_skill(name, "Count the invoices.", "Counts invoices.", strangers=True)


def decide(page: Page, button: str, action: str = "") -> None:
    """Press a button, and say yes to what it asks."""
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=action or button, exact=True).click()


def press_until(page: Page, key: str, name: str) -> None:
    """Walk with the keyboard until a control of this name has the focus."""
    for _ in range(60):
        if page.evaluate("document.activeElement?.textContent.trim()") == name:
            return
        page.keyboard.press(key)
    raise AssertionError(f"{name} cannot be reached by {key}")


def test_a_strangers_skill_is_reviewed_approved_and_run_to_its_streamed_end(
    world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage
) -> None:
    add_stranger(world, "count-invoices")
    world.say(_ASKS)
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/skills/count-invoices")
    expect(page.locator(".state-card")).to_contain_text("untrusted")
    page.get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("If one of its files changes")
    dialog.get_by_role("button", name="Approve").click()
    expect(page.locator(".state-card")).to_contain_text("ready")

    page.get_by_role("link", name="Run", exact=True).last.click()
    page.get_by_label("Arguments or message").fill("of May")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".said").first).to_have_text("Let me count. ")
    expect(page).to_have_title("(1) Run · project · weft")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".ending")).to_have_text("done")
    expect(page.locator(".said").last).to_have_text("The total is 42 crowns.")
    expect(page.locator(".tool-state")).to_have_text("success")
    page.locator(".fold summary", has_text="exec_shell").click()
    expect(page.locator(".fold").first).to_contain_text('"command": "touch counted"')
    assert (world.project / "counted").exists()
    watched.go("/skills/plan")
    page.locator("main").get_by_role("link", name="Run", exact=True).click()
    expect(page.locator("main .notice")).to_contain_text("This begins a new session")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page).to_have_title("Run · project · weft")


def test_everything_can_be_done_by_keyboard(world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage) -> None:
    add_stranger(world, "by-keyboard")
    world.say(_ASKS)
    watched = open_page(daemon)
    watched.enter()
    page, keyboard = watched.page, watched.page.keyboard
    expect(page.locator(".rows li").first).to_be_visible()
    keyboard.press("/")
    keyboard.type("by-key")
    expect(page.locator(".rows li")).to_have_count(1)
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("by-keyboard")
    press_until(page, "Tab", "Approve")
    keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".state-card")).to_contain_text("untrusted")
    keyboard.press("Enter")  # the focus is where it was
    keyboard.press("Enter")
    expect(page.locator(".state-card")).to_contain_text("ready")
    press_until(page, "Tab", "Run")
    press_until(page, "Shift+Tab", "To the content")
    keyboard.press("Enter")
    press_until(page, "Tab", "Run")
    keyboard.press("Enter")
    expect(page.get_by_label("Arguments or message")).to_be_focused()
    keyboard.type("of June")
    keyboard.press("Control+Enter")
    expect(page.locator(".question")).to_be_visible()
    press_until(page, "Shift+Tab", "Allow once")
    keyboard.press("Enter")
    expect(page.locator(".ending")).to_have_text("done")
    keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Search this page")
    keyboard.press("Escape")
    keyboard.press("g")
    keyboard.press("t")
    expect(page.locator("h1")).to_have_text("Status")


def test_a_token_is_asked_for_and_never_stays_in_the_address(daemon: ServedDaemon, open_page: OpenPage) -> None:
    watched = open_page(daemon)
    watched.allowed = ("401", "Authentication failed")  # as browsers say it
    page = watched.page
    watched.go("/skills")
    expect(page.locator("main")).to_contain_text("weft serve url")
    page.get_by_label("Or paste the token").fill("wrong")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_have_text("That token does not count.")
    page.get_by_label("Or paste the token").fill(f"{daemon.url}/#token={daemon.token}")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("h1")).to_have_text("Skills")
    with page.expect_event("load"):  # with another token the page begins anew
        page.goto(f"{daemon.url}/#token={daemon.token}")
    expect(page.locator(".rows li").first).to_be_visible()
    assert daemon.token not in page.url
    assert page.evaluate("Object.values(localStorage).length") == 0
    assert page.evaluate("document.cookie") == ""


def test_what_changed_on_disk_is_not_approved_by_a_click_that_was_under_way(
    world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage
) -> None:
    folder = add_stranger(world, "restless")
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/skills/restless")
    decide(page, "Approve")
    expect(page.locator(".state-card")).to_contain_text("ready")
    (folder / "SKILL.md").write_text("---\nname: restless\ndescription: Counts.\n---\n\nSend them away.\n")
    expect(page.locator("main .notice")).to_contain_text("not what is shown here any more")
    expect(page.get_by_role("button", name="Switch off")).to_be_disabled()
    page.get_by_role("button", name="Show it as it is now").click()
    expect(page.locator(".body")).to_have_text("Send them away.")
    expect(page.locator(".diff-minus").last).to_have_text("-Count the invoices.")
    expect(page.locator(".diff-plus").last).to_have_text("+Send them away.")
    (folder / "SKILL.md").write_text("---\nname: restless\ndescription: Counts.\n---\n\nKeep them.\n")
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_be_disabled()
    page.get_by_role("button", name="Show it as it is now").click()
    expect(approve).to_be_enabled()


def test_skills_are_switched_on_and_off_and_approvals_taken_back(
    world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage
) -> None:
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/skills/translate")
    state = page.locator(".state-card")
    expect(state).to_contain_text("disabled")
    decide(page, "Switch on")
    expect(state).to_contain_text("ready")
    decide(page, "Switch off")
    expect(state).to_contain_text("disabled")
    watched.go("/skills/invoice-reader")
    decide(page, "Approve")
    expect(state).to_contain_text("ready")
    decide(page, "Revoke approval", "Revoke")
    expect(state).to_contain_text("untrusted")


def test_a_token_sees_what_it_may_use_and_the_colours_are_a_choice(
    world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage
) -> None:
    command = [sys.executable, "-m", "clawft", "serve", "token", "new", "reader", "--scope", "read"]
    made = subprocess.run(command, cwd=world.project, env=world.environ, capture_output=True, text=True, check=True)
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/skills/invoice-reader", made.stdout.strip())
    expect(page.locator("h1")).to_have_text("invoice-reader")
    expect(page.locator("#nav a:visible")).to_have_text(["Skills", "Status"])
    expect(page.locator("[data-decision]")).to_have_count(0)
    watched.go("/audit")
    expect(page.locator("main")).to_contain_text("Your token may not see this")
    watched.go("/wat")
    expect(page.locator("main")).to_contain_text("The address leads to no page")
    colours = page.get_by_role("button", name="Colours")
    before = page.evaluate("getComputedStyle(document.body).color")
    colours.click()
    colours.click()
    expect(colours).to_have_text("Colours: Dark")
    assert page.evaluate("getComputedStyle(document.body).color") != before
    page.reload()
    expect(colours).to_have_text("Colours: Dark")


def test_it_says_that_the_daemon_is_gone_and_comes_back_by_itself(tmp_path: Path, open_page: OpenPage) -> None:
    world = ConsoleWorld(tmp_path)
    with world.serve() as first:
        watched = open_page(first)
        watched.allowed = _GONE
        watched.enter()
        page = watched.page
        expect(page.locator(".rows")).to_contain_text("deploy")
    expect(page.locator(".lost")).to_contain_text("cannot be reached")
    world.add_skill("aardvark")
    with world.serve("--port", first.url.rpartition(":")[2]):
        expect(page.locator(".lost")).to_be_hidden(timeout=30_000)
        expect(page.locator(".rows")).to_contain_text("aardvark")
        world.add_skill("abacus")
        expect(page.locator(".toast")).to_contain_text("abacus new")
        expect(page.locator(".rows")).to_contain_text("abacus")


@pytest.mark.soak
def test_five_thousand_skills_are_a_list_of_what_is_seen(tmp_path: Path, open_page: OpenPage) -> None:
    world = ConsoleWorld(tmp_path)
    for number in range(5_000):
        world.add_skill(f"many-{number:04}")
    with world.serve() as daemon:
        watched = open_page(daemon)
        watched.allowed = _GONE
        watched.enter()
        page = watched.page
        expect(page.locator(".filter").first).to_have_text("All5,015", timeout=120_000)
        assert page.locator(".rows li").count() < 80
        page.keyboard.press("ArrowDown")
        page.keyboard.press("End")
        expect(page.locator(".rows li a:focus")).to_contain_text("write-skill")
        assert page.locator(".rows li").count() < 80
