"""The console's pages of what is on disk: conversations, runs, usage, the audit log; and of registries."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from clawft.agent.run_request import RunRequest
from clawft.agent.sessions import SessionStore
from clawft.app.app import open_app
from clawft.app.jobs import open_app_runs
from clawft.jobs.run_state import PendingQuestion, WorkerRow, now_text
from clawft.jobs.worker_registry import this_host, this_mark
from clawft.messages import ApprovalNeeded, Message
from console_page import OpenPage
from console_records import fill_audit, fill_sessions, fill_usage
from console_world import ConsoleWorld
from hub_world import ServedHub, serve_hub
from serve_world import ServedDaemon

_MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"
_PAGES = ("/sessions", "/sessions/release%2Fplanning", "/runs", "/usage", "/audit", "/registry?q=notes")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHub]:
    with serve_hub(tmp_path_factory.mktemp("hub")) as served:
        served.put("jo/notes", "1.2.0", {"scripts/run.sh": "#!/bin/sh\ncurl https://api.example.org/v1\n"})
        yield served


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, hub: ServedHub) -> ConsoleWorld:
    made = ConsoleWorld(Path(tmp_path_factory.mktemp("records")))
    made.config += f'[registries.acme]\nurl = "{hub.url}"\ndefault = true\n[registries.clawhub]\nenabled = false\n'
    made.write_config()
    fill_sessions(made)
    fill_usage(made)
    fill_audit(made)
    with SessionStore(str(made.user_dir / "sessions")).open(_MARKUP) as session:
        session.append(Message("user", f"hostile {_MARKUP}"), 1)
        session.finish_turn(1)
    add_run(made)
    return made


def add_run(world: ConsoleWorld, asks: str = "rm -r build/old") -> None:
    """A run that waits for an answer, and what looks like a worker: this process, which does nothing."""
    app = open_app(world.environ, str(world.project))
    with closing(open_app_runs(app)) as runs:
        at = now_text()
        row = WorkerRow("w", this_host(), os.getpid(), this_mark(), "default", 4, at, 0, at, stopping=False)
        runs.store.roster.register_worker(row)
        run = runs.start(RunRequest(kind="agent", cwd=str(world.project), text=f"clean up {_MARKUP}"))
        runs.store.begin(run, 1, "w")
        event = ApprovalNeeded(call="c", tool="exec_shell", question=f"Run: {asks}")
        runs.store.ask(PendingQuestion(run=run, key="1.0", kind="approval", event=event, asked=at))
        runs.store.park(run, 1, ["1.0"])


@pytest.fixture(scope="module")
def daemon(world: ConsoleWorld) -> Iterator[ServedDaemon]:
    with world.serve() as served:
        yield served


def test_what_was_said_is_found_and_read_with_its_tool_calls_and_stays_words(
    daemon: ServedDaemon, open_page: OpenPage
) -> None:
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/sessions")
    expect(page.locator("tbody tr")).to_have_count(5)
    page.get_by_role("searchbox").fill("ship it")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="What is open").click()
    expect(page.locator("h1")).to_have_text("release/planning")
    call = page.locator(".fold", has_text="grep")
    call.locator("summary").click()
    expect(call).to_contain_text("OPEN write the docs")
    expect(page.locator(".conversation")).to_contain_text("Skill plan was loaded")
    expect(page.locator(".fold", has_text="make deploy").locator(".chip")).to_have_text("error")
    watched.go("/sessions?q=hostile")
    page.get_by_role("link", name="hostile").click()
    expect(page.locator("h1")).to_have_text(_MARKUP)
    expect(page.locator(".asked")).to_contain_text(_MARKUP)
    page.get_by_role("link", name="Go on").click()
    page.get_by_label("Arguments or message").fill("once more")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".ending")).to_have_text("done")
    page.get_by_role("link", name=_MARKUP).click()
    expect(page.locator(".asked").last).to_contain_text("once more")


def test_a_run_that_waits_is_answered_where_it_is_shown(daemon: ServedDaemon, open_page: OpenPage) -> None:
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/approvals")
    expect(page.locator(".question")).to_contain_text("rm -r build/old")
    expect(page).to_have_title("(1) Approvals · project · weft")
    watched.go("/runs")
    expect(page.locator(".question")).to_contain_text("rm -r build/old")
    page.locator("tbody").get_by_role("link", name="clean up").click()
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.locator(".sub .chip")).to_have_text("queued")
    expect(page.locator("#nav [data-page='/approvals'] .badge")).to_be_hidden()
    expect(page.get_by_role("table", name="Timeline")).to_contain_text("no, token owner")
    page.get_by_role("button", name="End it").click()
    page.get_by_role("dialog").get_by_role("button", name="End it").click()
    expect(page.get_by_role("button", name="Go on with it")).to_be_enabled()
    watched.go("/audit?q=run")
    expect(page.locator("tbody tr")).to_have_count(2)  # the answer and the end


def test_costs_are_drawn_and_the_log_is_told_to_be_whole(daemon: ServedDaemon, open_page: OpenPage) -> None:
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/usage")
    expect(page.get_by_role("img", name="Cost for each day")).to_be_visible()
    page.get_by_role("button", name="Tokens").click()
    expect(page.get_by_role("img", name="Tokens for each day")).to_be_visible()
    assert page.locator(".plot-column").count() == 30
    expect(page.get_by_role("table", name="Usage of models")).to_contain_text("claude/sonnet")
    page.get_by_label("Range").select_option("7")
    expect(page.locator(".plot-column")).to_have_count(7)
    watched.go("/audit")
    expect(page.locator(".audit-whole")).to_contain_text("none was changed, removed or added")
    page.get_by_label("Decision").select_option("denied")
    page.get_by_role("button", name="make deploy").click()
    expect(page.get_by_role("dialog")).to_contain_text("nobody was there to ask")


def test_a_skill_of_a_registry_is_looked_at_and_installed(daemon: ServedDaemon, open_page: OpenPage) -> None:
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/registry")
    page.get_by_role("searchbox").fill("notes")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="@jo/notes").click()
    expect(page.locator(".planned")).to_contain_text("api.example.org")
    expect(page.locator(".planned")).to_contain_text("scripts/run.sh")
    page.get_by_role("button", name="Install").click()
    page.get_by_role("dialog").get_by_role("button", name="Install").click()
    expect(page.locator(".state-card")).to_contain_text("ready")
    expect(page.locator("h1")).to_contain_text("notes")


@pytest.mark.soak
def test_filled_pages_have_no_serious_finding_and_fit_a_phone(
    daemon: ServedDaemon, open_page: OpenPage, axe: str
) -> None:
    watched = open_page(daemon, width=390)
    page = watched.page
    watched.enter()
    for path in _PAGES:
        watched.go(path)
        expect(page.locator(".page h1")).to_be_visible()
        expect(page.locator("tbody tr:visible, .turn-end").first).to_be_visible()
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert (path, serious) == (path, [])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


@pytest.mark.soak
def test_the_focus_stays_with_its_question_whatever_else_is_asked(
    world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage
) -> None:
    add_run(world, "touch mine")
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/runs")
    mine = page.locator(".question", has_text="touch mine").get_by_role("button", name="Allow once")
    mine.focus()
    add_run(world, "touch another")
    expect(page.locator(".question", has_text="touch another")).to_be_visible()
    expect(mine).to_be_focused()


@pytest.mark.soak
def test_a_long_conversation_is_read_from_its_end_too(
    world: ConsoleWorld, daemon: ServedDaemon, open_page: OpenPage
) -> None:
    with SessionStore(str(world.user_dir / "sessions")).open("long 100%/é?#") as session:
        for number in range(400):
            session.append(Message("user", f"asked {number}"), number + 1)
    watched = open_page(daemon)
    page = watched.page
    watched.enter("/sessions/long%20100%25%2F%C3%A9%3F%23")
    expect(page.locator("h1")).to_have_text("long 100%/é?#")
    expect(page.locator(".asked").first).to_contain_text("asked 0")
    page.get_by_role("link", name="Go to the newest").click()
    expect(page.locator(".asked").last).to_contain_text("asked 399")
    expect(page.locator("main")).to_contain_text("300 earlier records not shown")
    page.get_by_role("link", name="From the beginning").click()
    expect(page.locator(".asked").first).to_contain_text("asked 0")
