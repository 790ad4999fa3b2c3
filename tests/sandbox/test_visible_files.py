"""What a confined program sees of this machine: which real folders, which of them it may change, what stays hidden."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clawft.config.tools import SandboxSettings
from clawft.sandbox.confinement import Confinement
from clawft.sandbox.pinned_path import PinnedPath
from clawft.sandbox.visible_files import VisibleFiles, VisibleFilesBuilder, signal_code
from clawft.workspace import Workspace


class Machine:
    """A home with this program's own folder, and a project beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.home, self.project = self.folder / "home", self.folder / "project"
        self.user_dir = self.home / ".clawft"
        for one in (self.user_dir, self.project):
            one.mkdir(parents=True)
        self.workspace = Workspace(str(self.home), str(self.user_dir), str(self.project), str(self.project))

    def make(self, *names: str) -> None:
        for name in names:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if name.endswith("/") else path.write_text("x")

    def at(self, *names: str) -> tuple[str, ...]:
        return tuple(str(self.folder / name) for name in names)

    def visible(self, *, path: str = "", by_children: bool = False, settings: dict[str, object] | None = None,
             **granted: object) -> VisibleFiles:  # fmt: skip
        builder = VisibleFilesBuilder(SandboxSettings(**(settings or {})), self.workspace)  # type: ignore[arg-type]
        return builder.build(Confinement(**granted), path, by_children=by_children)  # type: ignore[arg-type]

    def named(self, places: object) -> list[str]:
        """Places, paths, or pairs of a place and the same path, below the folder of the machine."""
        assert isinstance(places, tuple)
        for one in places:
            assert not isinstance(one, tuple) or one[0].path == one[1]
        plain = (one[0] if isinstance(one, tuple) else one for one in places)
        return [os.path.relpath(one.path if isinstance(one, PinnedPath) else one, self.folder) for one in plain]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_is_seen_that_was_not_granted(machine: Machine) -> None:
    assert machine.visible() == VisibleFiles()


def test_what_is_granted_is_seen_outer_folders_first(machine: Machine) -> None:
    machine.make("data/inner/deep/", "other/", "out/deep/", "copy/")
    visible = machine.visible(
        readable=machine.at("data/inner/deep", "data", "other"),
        writable=machine.at("out/deep", "out"),
        own=machine.at("out/deep"),
        mounts=((*machine.at("copy"), "/b"),),
        hidden=("/hidden",),
    )
    assert sorted(machine.named(visible.readable)[:2]) == ["data", "other"]
    assert machine.named(visible.readable)[2:] == ["data/inner/deep"]
    assert [os.path.relpath(root.path, machine.folder) for root, _ in visible.writable] == ["out", "out/deep"]
    assert [(place.path, seen) for place, seen in visible.mounts] == [(*machine.at("copy"), "/b")]
    assert (visible.hidden, machine.named(visible.own)) == (("/hidden",), ["out/deep"])


def test_what_is_not_there_or_made_by_the_kernel_is_no_root(machine: Machine) -> None:
    machine.make("data/")
    (machine.folder / "link").symlink_to("/proc")
    wanted = ("/", "/proc", "/proc/self", "/sys", "/dev/shm", *machine.at("none", "link", "data", "home/.clawft"))
    visible = machine.visible(readable=wanted, writable=wanted)
    assert (machine.named(visible.readable), [root.path for root, _ in visible.writable]) == ([], [*machine.at("data")])


def test_what_may_be_changed_is_not_listed_as_read_only_too(machine: Machine) -> None:
    machine.make("out/deep/", "data/")
    visible = machine.visible(
        whole={"named": machine.at("out/deep", "data")}, readable=machine.at("out/deep"), writable=machine.at("out")
    )
    assert machine.named(visible.readable) == ["data"]
    assert [root.path for root, _ in visible.writable] == [*machine.at("out")]


def test_settings_add_to_a_confinement_unless_it_is_the_only_one(machine: Machine) -> None:
    machine.make("home/data/", "home/out/", "project/own/")
    settings: dict[str, object] = {"readable": ("~/data",), "writable": ("~/out",)}
    visible = machine.visible(settings=settings)
    assert machine.named(visible.readable) == ["home/data"]
    assert [root.path for root, _ in visible.writable] == [*machine.at("home/out")]
    assert machine.visible(settings=settings, only=True) == VisibleFiles()
    assert machine.named(machine.visible(settings={"readable": ("own",)}).readable) == ["project/own"]


def test_what_lies_in_this_programs_own_folder_is_seen_alone(machine: Machine) -> None:
    machine.make("home/.clawft/skills/a/x", "home/notes")
    visible = machine.visible(readable=machine.at("home", "home/.clawft/skills/a"))
    assert machine.named(visible.readable) == ["home"]
    assert machine.named(visible.inside) == ["home/.clawft/skills/a"]
    assert machine.named(visible.hidden) == ["home/.clawft"]


def test_secrets_are_hidden_in_all_but_what_is_given_whole_for_a_reason_and_there_in_a_home(machine: Machine) -> None:
    machine.make("data/.env", "home/.ssh/id", "home/.env")
    assert machine.named(machine.visible(readable=machine.at("data")).hidden) == ["data/.env"]
    assert machine.visible(whole={"named": machine.at("data")}).hidden == ()
    hidden = machine.named(machine.visible(whole={"named": machine.at("home")}).hidden)
    assert sorted(hidden) == ["home/.clawft", "home/.env", "home/.ssh"]
    assert sorted(machine.named(machine.visible(whole={"named": (str(machine.folder),)}).hidden)) == sorted(hidden)


def test_an_own_folder_that_is_not_there_cannot_be_hidden(machine: Machine) -> None:
    machine.user_dir.rmdir()
    assert machine.visible(readable=machine.at("home")).hidden == ()


def test_each_is_hidden_once(machine: Machine) -> None:
    machine.make("home/.env")
    visible = machine.visible(readable=machine.at("home"), hidden=machine.at("home/.env"))
    assert sorted(machine.named(visible.hidden)) == ["home/.clawft", "home/.env"]


def test_programs_of_a_path_are_seen_but_for_those_that_may_be_changed(machine: Machine) -> None:
    machine.make("tools/bin/run", "project/bin/run")
    path = ":".join(machine.at("tools/bin", "project/bin", "home/.clawft"))
    visible = machine.visible(path=path, writable=machine.at("project"))
    assert str(machine.folder / "tools/bin") in [place.path for place, _ in visible.readable]
    assert not [place for place, _ in visible.readable if "project" in place.path.removeprefix(str(machine.folder))]
    assert not [place for place, _ in visible.readable if place.path.endswith(".clawft")]


def test_a_program_that_may_be_changed_is_not_seen_under_another_name(machine: Machine) -> None:
    machine.make("project/bin/run", "tools/", "t/run")
    (machine.folder / "tools/project").symlink_to(machine.project / "bin")
    (machine.folder / "tools/a-name-that-is-longer-than-others").symlink_to(machine.folder / "t")
    path = ":".join(machine.at("tools/project", "tools/a-name-that-is-longer-than-others"))
    data = "a-place-of-some-length"
    machine.make(f"{data}/")
    visible = machine.visible(path=path, writable=machine.at("project"), readable=machine.at(data))
    seen = [
        (os.path.relpath(place.path, machine.folder), os.path.relpath(at, machine.folder))
        for place, at in visible.readable
    ]
    assert seen == [(data, data), ("t", "tools/a-name-that-is-longer-than-others")]


def test_an_interpreter_that_a_folder_of_the_project_links_to_is_seen_with_its_toolchain(machine: Machine) -> None:
    machine.make("home/.pyenv/versions/3.99/bin/python", "home/keys/key", "project/.venv/bin/run")
    for name, target in (("python", "home/.pyenv/versions/3.99/bin/python"), ("key", "home/keys/key")):
        (machine.project / ".venv/bin" / name).symlink_to(machine.folder / target)
    visible = machine.visible(path=str(machine.project / ".venv/bin"), writable=machine.at("project"))
    assert machine.named(visible.readable) == ["home/.pyenv/versions"]


def test_a_folder_of_programs_opens_no_more_than_64_folders(machine: Machine) -> None:
    machine.make("tools/")
    for number in range(70):
        machine.make(f"made/{number}/run")
        (machine.folder / f"tools/run{number}").symlink_to(machine.folder / f"made/{number}/run")
    readable = machine.named(machine.visible(path=str(machine.folder / "tools")).readable)
    assert ("tools" in readable, len(readable)) == (True, 64)


def test_what_is_shown_is_what_was_there_when_it_was_granted(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark is what the sandbox compares with what it mounts, so that a folder exchanged meanwhile is refused."""
    machine.make("data/", "other/")
    granted, scandir = (machine.folder / "data").stat(), os.scandir

    def exchange(folder: Any) -> Any:
        if not (machine.folder / "gone").exists():
            (machine.folder / "data").rename(machine.folder / "gone")
            (machine.folder / "other").rename(machine.folder / "data")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", exchange)  # the guard of the project is found once all places are open
    ((place, _),) = machine.visible(whole={"named": machine.at("data")}, writable=machine.at("project")).readable
    assert (machine.folder / "gone").exists()
    assert place.mark == (granted.st_dev, granted.st_ino)


@pytest.mark.parametrize(
    ("code", "seen"), [(0, 0), (1, 1), (128, 128), (129, -1), (137, -9), (143, -15), (159, -31), (160, 160), (255, 255)]
)
def test_the_code_of_a_program_tells_what_ended_it(code: int, seen: int) -> None:
    assert signal_code(code) == seen


def test_a_path_is_looked_through_once(machine: Machine) -> None:
    machine.make("tools/bin/run")
    builder = VisibleFilesBuilder(SandboxSettings(), machine.workspace)
    path = str(machine.folder / "tools/bin")
    first = builder.build(Confinement(), path)
    machine.make("tools/lib/")  # which would be seen, too
    assert builder.build(Confinement(), path) == first
    assert builder.build(Confinement(), "/usr/bin") == VisibleFiles()


@pytest.mark.parametrize("by_children", [True, False])
def test_what_may_be_changed_has_its_guard(machine: Machine, by_children: bool) -> None:
    machine.make("project/.git/", "project/.env", "project/src/")
    ((root, guard),) = machine.visible(writable=machine.at("project"), by_children=by_children).writable
    assert (root.path, machine.named(guard.read_only), machine.named(guard.hidden)) == (
        str(machine.project),
        ["project/.git"],
        ["project/.env"],
    )
    assert (guard.children is not None) is by_children
    plain = VisibleFilesBuilder(SandboxSettings(), machine.workspace).build(
        Confinement(writable=machine.at("project")), ""
    )
    assert plain.writable[0][1].children is None


def test_the_folders_that_programs_are_searched_in_are_guarded_in_a_home(machine: Machine) -> None:
    machine.make("home/tools/run", "home/work/")
    ((_, guard),) = machine.visible(writable=machine.at("home"), path=str(machine.home / "tools")).writable
    assert machine.named(guard.read_only) == ["home/tools"]


def test_the_repository_of_a_worktree_is_seen(machine: Machine) -> None:
    def git(*words: str, cwd: Path) -> None:
        subprocess.run(("git", *words), cwd=cwd, check=True, capture_output=True, timeout=60)

    main = machine.folder / "main"
    main.mkdir()
    git("init", "-q", cwd=main)
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first", cwd=main)
    machine.project.rmdir()
    git("worktree", "add", "-q", str(machine.project), cwd=main)
    assert machine.named(machine.visible(writable=machine.at("project")).readable) == ["main/.git"]
    assert machine.named(machine.visible(readable=machine.at("project")).readable) == ["project"]


def test_a_project_behind_a_link_is_seen_under_both_names_where_there_is_room(machine: Machine) -> None:
    known = machine.folder / "known"
    known.symlink_to(machine.project)
    machine.workspace = structs.replace(machine.workspace, project=str(known))
    link = (str(machine.project), str(known))
    assert machine.visible(writable=machine.at("known")).links == (link,)
    assert machine.visible(readable=machine.at("known")).links == (link,)
    assert machine.visible().links == ()
    assert machine.visible(whole={"named": machine.at("known")}).links == ()
    assert machine.visible(writable=machine.at("known"), readable=(str(machine.folder),)).links == ()
    assert machine.visible(writable=(*machine.at("known"), str(machine.folder))).links == ()


def test_a_project_under_its_real_name_needs_no_link(machine: Machine) -> None:
    assert machine.visible(writable=machine.at("project")).links == ()
