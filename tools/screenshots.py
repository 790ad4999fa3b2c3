"""Take the pictures of docs/screenshots: the console in a real browser, in front of a daemon that follows a script."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from browser import find_chromium, open_browser
from console_page import WatchedPage
from console_records import fill_audit, fill_runs, fill_sessions, fill_usage
from console_world import ConsoleWorld
from hub_world import ServedHub, serve_hub
from palette import shrink
from serve_world import ServedDaemon

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
_STEPS: list[dict[str, Any]] = [
    {"tool_calls": [{"name": "grep", "arguments": {"pattern": "OPEN", "path": "plan.txt"}}], "text": "Let me look. "},
    {
        "tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch reviewed"}}],
        "text": "Two points are open. I mark the plan as reviewed.",
    },
    {"text": "Two points are open:\n\n1. ship it: Ada has it.\n2. write the docs: nobody has it yet."},
]

_NOTES = """\
---
name: notes
description: Keep notes in one place, and find them again. Use when somebody says "note that".
version: 1.2.0
---

# Notes

Write each note as a line with its date. Run `scripts/sync.sh` when the user asks to share them.
"""


def take(page: Page, name: str) -> None:
    page.wait_for_timeout(600)  # what moves comes to rest
    path = FOLDER / f"{name}.png"
    path.write_bytes(shrink(page.screenshot()))
    print(f"{path.relative_to(FOLDER.parent.parent)} ({path.stat().st_size // 1000} KB)")


def show_skills(browser: Browser, daemon: ServedDaemon) -> None:
    light = WatchedPage(browser, daemon, 1280, "light")
    light.enter()
    expect(light.page.locator(".rows")).to_contain_text("clean")
    take(light.page, "skills-light")
    light.go("/skills/speed-up")
    expect(light.page.locator(".finding").first).to_be_visible()
    take(light.page, "findings-light")
    dark = WatchedPage(browser, daemon, 1280, "dark")
    dark.enter("/skills/invoice-reader")
    expect(dark.page.locator(".review")).to_be_visible()
    take(dark.page, "review-dark")
    phone = WatchedPage(browser, daemon, 390, "light")
    phone.enter()
    expect(phone.page.locator(".rows")).to_contain_text("clean")
    take(phone.page, "phone-light")


def show_run(browser: Browser, daemon: ServedDaemon) -> None:
    watched = WatchedPage(browser, daemon, 1280, "dark")
    watched.enter("/run/plan")
    page = watched.page
    page.get_by_label("Arguments or message").fill("for the release")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".question")).to_be_visible()
    page.locator(".fold summary").first.click()
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 150)")
    take(page, "run-dark")
    page.get_by_role("button", name="Allow once").click()
    expect(page.locator(".ending")).to_be_visible()


def fill(world: ConsoleWorld, hub: ServedHub) -> None:
    """A month of work, and a registry."""
    hub.put(
        "jo/notes", "1.2.0", {"SKILL.md": _NOTES, "scripts/sync.sh": "#!/bin/sh\ncurl https://api.example.org/v1\n"}
    )
    world.config += f'[registries.acme]\nurl = "{hub.url}"\ndefault = true\n[registries.clawhub]\nenabled = false\n'
    world.write_config()
    for one in (fill_sessions, fill_usage, fill_runs, fill_audit):
        one(world)


def show_records(browser: Browser, daemon: ServedDaemon) -> None:
    light = WatchedPage(browser, daemon, 1280, "light")
    light.enter("/usage")
    expect(light.page.locator(".plot")).to_be_visible()
    take(light.page, "usage-light")
    light.go("/registry/plan?ref=%40jo%2Fnotes")
    expect(light.page.locator(".planned")).to_be_visible()
    take(light.page, "install-light")
    dark = WatchedPage(browser, daemon, 1280, "dark")
    dark.enter("/runs")
    dark.page.locator("tbody").get_by_role("link", name="clean the build folder").click()
    expect(dark.page.locator(".question")).to_be_visible()
    take(dark.page, "timeline-dark")


def main() -> int:
    if find_chromium() is None:
        print("error: chromium is not installed", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        world = ConsoleWorld(Path(folder))
        with serve_hub(Path(folder) / "served") as hub:
            fill(world, hub)
            world.say(_STEPS)
            with world.serve() as daemon, open_browser() as browser:
                show_skills(browser, daemon)
                show_run(browser, daemon)
                show_records(browser, daemon)
    return 0


if __name__ == "__main__":
    sys.exit(main())
