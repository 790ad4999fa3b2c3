"""Edits on disk reach whoever subscribed, as one change each; and what goes wrong leaves what was there."""

import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from clawft.app.app import open_app
from clawft.server.protocol.subscriptions import SkillsChanged
from clawft.server.reload import Generation, LiveRuntimes, LiveSkills
from clawft.server.reload.generation import load_generation

pytestmark = pytest.mark.anyio
WAIT_S = 60.0


class Seat:
    """A home, and what somebody who subscribed was told of it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.user = self.home / ".clawft"
        self.user.mkdir(parents=True)
        (folder / "project").mkdir()
        environ = {"HOME": str(self.home), "PATH": f"{self.home}/bin:{os.defpath}"}
        self.live = LiveSkills(open_app(environ, str(folder / "project")))
        self.told: list[SkillsChanged] = []
        self._more = anyio.Event()

    def write(self, name: str, text: str = "", root: str = ".clawft/skills") -> Path:
        file = self.home / root / name / "SKILL.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text or f"---\nname: {name}\ndescription: Does {name}.\n---\nDo it.\n")
        return file

    def configure(self, text: str) -> None:
        (self.user / "config.toml").write_text(text)

    def hear(self, change: SkillsChanged) -> None:
        self.told.append(change)
        self._more.set()

    async def next(self, number: int = 1) -> SkillsChanged:
        """The next change that is told, after as many as were taken."""
        with anyio.fail_after(WAIT_S):
            while len(self.told) < number:
                self._more = anyio.Event()
                await self._more.wait()
        return self.told[number - 1]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        await self.live.open()
        self.live.subscribe(self.hear)
        async with anyio.create_task_group() as group:
            with anyio.fail_after(WAIT_S):
                await group.start(self.live.run)
            yield
            group.cancel_scope.cancel()

    @property
    def states(self) -> dict[str, str]:
        return _states(self.live.current)


def _states(generation: Generation) -> dict[str, str]:
    return {one.name: one.state for one in generation.app.skills if one.found.location.scope != "bundled"}


@pytest.fixture
def seat(tmp_path: Path) -> Seat:
    return Seat(tmp_path)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Without a watcher, everything is looked at so often."""
    return lambda: monkeypatch.setattr("clawft.server.reload.live._LOOK_S", 0.05)


async def test_an_edit_is_told_with_the_state_before_and_the_path(seat: Seat) -> None:
    file = seat.write("one")
    async with seat.running():
        assert (seat.live.watching, seat.live.failure) == ("watchfiles", None)
        file.write_text(file.read_text().replace("---\nDo", "disable-model-invocation: true\n---\nDo"))
        change = await seat.next()
        (one,) = change.changed
        assert (one.name, one.state, one.was_state, one.path) == ("one", "manual", "ready", str(file))
        assert [(each.path, each.kind) for each in change.paths] == [(str(file), "modified")]
        assert change.generation == seat.live.current.number
        assert seat.states == {"one": "manual"}


async def test_a_folder_of_skills_that_was_not_there_is_seen(seat: Seat) -> None:
    async with seat.running():
        seat.write("one", root=".claude/skills")
        change = await seat.next()
        assert [(each.name, each.scope, each.was_state) for each in change.added] == [("one", "user", "")]
        shutil.rmtree(seat.home / ".claude")
        assert [each.name for each in (await seat.next(2)).removed] == ["one"]
        seat.write("one", root=".claude/skills")
        assert [each.name for each in (await seat.next(3)).added] == ["one"]


async def test_many_files_that_change_together_are_one_change(seat: Seat) -> None:
    seat.configure("[skills.security]\nscan_on_load = false\n")
    seat.write("first")
    async with seat.running():
        for number in range(200):
            seat.write(f"skill-{number}")
        change = await seat.next()
        assert len(change.added) == 200
        assert len(change.paths) == 100 < change.seen
        assert seat.live.current.number == 2


async def test_a_file_that_an_editor_replaces_is_one_change(seat: Seat) -> None:
    file = seat.write("one")
    async with seat.running():
        new = file.with_name("new")
        new.write_text(file.read_text().replace("Do it.", "Do it well."))
        os.replace(new, file)
        change = await seat.next()
        assert [(each.name, each.state) for each in change.changed] == [("one", "ready")]


async def test_a_reload_that_fails_keeps_what_was_there_and_says_why(seat: Seat) -> None:
    seat.write("one")
    async with seat.running():
        seat.configure("[skills]\nenabled = 3\n")
        failed = (await seat.next()).failed
        assert failed is not None
        assert failed.code == "config-invalid"
        assert seat.live.failure is not None
        assert seat.states == {"one": "ready"}
        seat.configure("[skills]\nenabled = false\n")
        change = await seat.next(2)
        assert change.also == ("config",)
        assert seat.states == {"one": "disabled"}
        assert seat.live.failure is None


async def test_a_folder_that_the_config_names_is_watched_from_then_on(seat: Seat) -> None:
    seat.write("far", root="elsewhere")
    async with seat.running():
        seat.configure(f'[skills.load]\nextra_dirs = ["{seat.home}/elsewhere"]\n')
        assert [each.name for each in (await seat.next()).added] == ["far"]
        seat.write("farther", root="elsewhere")
        assert [each.name for each in (await seat.next(2)).added] == ["farther"]


async def test_what_changed_while_nobody_watched_is_seen_at_the_start(seat: Seat) -> None:
    await seat.live.open()
    seat.write("one")
    async with anyio.create_task_group() as group:
        seat.live.subscribe(seat.hear)
        group.start_soon(seat.live.run)
        assert [each.name for each in (await seat.next()).added] == ["one"]
        group.cancel_scope.cancel()


async def test_without_a_watcher_the_same_is_seen_more_slowly(seat: Seat, slow: Callable[[], None]) -> None:
    slow()
    seat.configure("[skills.load]\nwatch = false\n")
    file = seat.write("one")
    async with seat.running():
        assert (seat.live.watching, seat.live.failure) == ("stat", None)
        file.write_text("---\nname: one\ndescription: Changed.\n---\nDo it.\n")
        change = await seat.next()
        assert [each.name for each in change.changed] == ["one"]
        assert change.paths == ()


async def test_a_watcher_that_cannot_start_is_said_and_made_do_without(
    seat: Seat, slow: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow()
    monkeypatch.setattr("clawft.skills.discovery.watch.MAX_FOLDERS", 1)
    async with seat.running():
        assert seat.live.watching == "stat"
        assert seat.live.failure is not None
        assert seat.live.failure.code == "watch-limit"
        seat.write("one")
        assert [each.name for each in (await seat.next()).added] == ["one"]


async def test_what_no_watcher_sees_is_found_while_other_things_change(
    seat: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawft.server.reload.live._DOUBT_S", 0.5)
    seat.configure("[skills.load]\nwatch_debounce_ms = 50\n")
    needs = 'metadata: {"openclaw": {"requires": {"bins": ["late-tool"]}}}'
    seat.write("needy", f"---\nname: needy\ndescription: Needs.\n{needs}\n---\nDo it.\n")
    async with seat.running():
        assert seat.states["needy"] == "ineligible"
        tool = seat.home / "bin" / "late-tool"
        tool.parent.mkdir()
        tool.touch(0o755)
        with anyio.fail_after(WAIT_S):
            while seat.states["needy"] == "ineligible":
                seat.write("busy", f"---\nname: busy\ndescription: Busy {anyio.current_time()}.\n---\nDo it.\n")
                await anyio.sleep(0.1)


async def test_many_who_ask_at_once_have_it_read_once(seat: Seat, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def count(*args: Any) -> Generation:
        read.append(args)
        return load_generation(*args)

    async with seat.running():
        monkeypatch.setattr("clawft.server.reload.live.load_generation", count)
        seat.configure("[skills.load]\nwatch_debounce_ms = 1000\n")
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(seat.live.refresh)
    assert len(read) == 1


async def test_what_was_seen_is_read_though_who_asked_is_gone(seat: Seat) -> None:
    seat.configure("[skills.load]\nwatch_debounce_ms = 300\n")
    async with seat.running():
        seat.write("late")
        with anyio.fail_after(WAIT_S):
            while not seat.live._pending:
                await anyio.sleep(0.01)
        async with anyio.create_task_group() as group:
            group.start_soon(seat.live.reload)
            while seat.live._pending:
                await anyio.sleep(0)
            group.cancel_scope.cancel()
        assert seat.live._doubt
        assert [one.name for one in (await seat.next()).added] == ["late"]


async def test_a_decision_of_ours_counts_at_once(seat: Seat) -> None:
    seat.write("one")
    async with seat.running():
        seat.configure("[skills.entries.one]\nenabled = false\n")
        assert _states(await seat.live.refresh()) == {"one": "disabled"}
        seat.write("two")
        assert _states(await seat.live.reload()) == {"one": "disabled", "two": "ready"}


async def test_a_turn_keeps_its_runtime_while_settings_change(seat: Seat, headless: None) -> None:
    await seat.live.open()
    runtimes = LiveRuntimes(seat.live)
    async with runtimes.use() as first:
        seat.write("one")
        await seat.live.reload()
        async with runtimes.use() as again:
            assert again is first  # only skills changed
            assert "one" in [one.name for one in again.skills.load()]
        seat.configure('[agents.defaults]\nmodel = "local/other"\n')
        await seat.live.reload()
        async with runtimes.use() as second:
            assert second is not first
            assert second.config.agents.defaults.model == "local/other"
    await runtimes.close()


async def test_without_a_watcher_every_edit_is_seen_by_the_very_next_call(tmp_path: Path) -> None:
    seat = Seat(tmp_path)
    seat.configure("[skills.load]\nwatch = false\nwatch_debounce_ms = 60000\n")
    await seat.live.open()
    for number in range(3):
        seat.write(f"skill-{number}")
        await seat.live.refresh()
        assert f"skill-{number}" in seat.states


async def test_with_a_watcher_every_edit_of_a_skill_is_seen_by_the_very_next_call(tmp_path: Path) -> None:
    seat = Seat(tmp_path)
    seat.configure("[skills.load]\nwatch_debounce_ms = 60000\n")
    async with seat.running():
        for number in range(10):
            folder = seat.write(f"skill-{number}").parent
            await seat.live.refresh()
            assert f"skill-{number}" in seat.states
            (folder / "SKILL.md").write_text(f"---\nname: other-{number}\ndescription: Does it.\n---\nDo it.\n")
            await seat.live.refresh()
            assert f"other-{number}" in {one.name for one in seat.live.current.app.skills}
            shutil.rmtree(folder)
            await seat.live.refresh()
            assert f"other-{number}" not in {one.name for one in seat.live.current.app.skills}


async def test_a_setting_edited_twice_within_a_tick_of_the_clock_counts_each_time(tmp_path: Path) -> None:
    seat = Seat(tmp_path)
    seat.write("tidy")
    seat.configure("[skills.entries.tidy]\nenabled = true \n")
    async with seat.running():
        for number in range(20):
            seat.configure(f"[skills.entries.tidy]\nenabled = {('false', 'true ')[number % 2]}\n")
            await seat.live.refresh()
            assert seat.states["tidy"] == ("disabled", "ready")[number % 2]
