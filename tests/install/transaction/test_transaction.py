"""A transaction between its steps: what is changed, broken off, forged or in the way, and what comes of it."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import msgspec
import pytest
from msgspec import structs

from clawft.app.app import App, open_app
from clawft.app.install import finish_interrupted, open_install_effects, open_supplies
from clawft.errors import ClawftError, Refused
from clawft.install.lockfile.file import load_lock, render_lock
from clawft.install.lockfile.model import LockedFile, LockedSkill, SkillOrigin
from clawft.install.sources.local import LocalSource
from clawft.install.sources.model import ResolvedSkill
from clawft.install.transaction.apply import TransactionContext, apply_transaction, inode_of, lock_transactions
from clawft.install.transaction.installation import InstallChoices, Transaction, WantedSkill, open_transaction
from clawft.install.transaction.journal import FileEdit, FolderMove, LockEdit, RecordedDecisions, TransactionJournal
from clawft.install.transaction.plan import PlannedSkill
from clawft.install.transaction.scanning import ScanProcesses
from clawft.install.transaction.stage import StagedSkill
from clawft.install.transaction.targets import InstallSite, find_site, staged_name
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.approvals import make_approval
from faults import Fault, run_faulty

YES = InstallChoices()


@pytest.fixture
def app(tmp_path: Path) -> App:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return open_app({"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}, str(tmp_path / "project"))


@pytest.fixture
def site(app: App) -> InstallSite:
    return find_site(app.workspace, "user")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "hello", "Say hello.")


@pytest.fixture
def to_both(app: App, site: InstallSite, source: Path) -> Iterator[tuple[Transaction, list[PlannedSkill]]]:
    """A skill that is staged for two clients, and agreed to."""
    with open_transaction("install hello", site, ("clawft", "claude"), open_supplies(app)) as transaction:
        yield transaction, transaction.plan(stage(transaction, source, app), YES)


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\nname: hello\ndescription: Says hello when asked to.\n---\n{text}\n")
    return folder


def stage(transaction: Transaction, source: Path, app: App) -> list[StagedSkill]:
    wanted = WantedSkill(LocalSource(), ResolvedSkill(SkillOrigin("folder", str(source)), "hello"))
    with ScanProcesses(1, app.scan_dir) as scans:
        return anyio.run(transaction.stage, [wanted], scans)


def install(app: App, site: InstallSite, source: Path, *to: str) -> None:
    with open_transaction("install hello", site, to, open_supplies(app)) as transaction:
        transaction.commit(transaction.plan(stage(transaction, source, app), YES), YES)


def digests(site: InstallSite, *to: str) -> set[str]:
    return {compute_digest(site.folder(one, "hello")).value for one in to if os.path.isdir(site.folder(one, "hello"))}


def left(site: InstallSite, app: App) -> list[str]:
    """What no finished transaction leaves."""
    roots = [root for root in site.roots.values() if os.path.isdir(root)]
    hidden = [name for root in roots for name in os.listdir(root) if name.startswith(".")]
    return hidden + [one for one in os.listdir(open_install_effects(app).journals.folder) if one != "turn.lock"]


def test_a_staged_file_that_changes_after_it_was_looked_at_is_not_placed(
    app: App, site: InstallSite, to_both: tuple[Transaction, list[PlannedSkill]]
) -> None:
    transaction, plans = to_both
    Path(plans[0].staged.folder, "SKILL.md").write_text("Something else.")
    with pytest.raises(Refused, match="changed"):
        transaction.commit(plans, YES)
    assert digests(site, "clawft", "claude") == set()
    assert load_lock(site.lock) == {}


def test_what_was_put_there_while_a_person_thought_about_it_is_not_overwritten(
    site: InstallSite, source: Path, to_both: tuple[Transaction, list[PlannedSkill]]
) -> None:
    transaction, plans = to_both
    mine = write(Path(site.folder("claude", "hello")), "My own.")
    with pytest.raises(Refused):
        transaction.commit(plans, YES)
    assert "My own." in (mine / "SKILL.md").read_text()
    assert digests(site, "clawft") == set()


def test_what_another_process_installed_meanwhile_is_looked_at_again(
    app: App, site: InstallSite, source: Path, to_both: tuple[Transaction, list[PlannedSkill]]
) -> None:
    transaction, plans = to_both
    install(app, site, source, "clawft")
    with pytest.raises(Refused, match="by another process"):
        transaction.commit(plans, YES)
    assert load_lock(site.lock)["hello"].to == ("clawft",)


def test_a_transaction_that_was_written_down_is_finished_by_the_next_command(
    app: App, site: InstallSite, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        monkeypatch.context() as patch,
        open_transaction("install", site, ("clawft", "claude"), open_supplies(app)) as transaction,
    ):
        plans = transaction.plan(stage(transaction, source, app), YES)
        patch.setattr(
            "clawft.install.transaction.installation.apply_transaction", lambda *_: ()
        )  # as if it were killed there
        transaction.commit(plans, YES)
    assert digests(site, "clawft", "claude") == set()
    assert finish_interrupted(app) == ()
    assert digests(site, "clawft", "claude") == {load_lock(site.lock)["hello"].digest}
    assert {one.path for one in app.approvals.load()} == {site.folder(one, "hello") for one in ("clawft", "claude")}
    assert left(site, app) == []


@pytest.mark.parametrize("end", ["skills.lock", "clawft/skills/hello", "claude/skills/hello", "approvals.json"])
def test_a_skill_that_is_just_being_placed_or_removed_never_passes_for_the_users_own(
    app: App, site: InstallSite, source: Path, end: str
) -> None:
    words = ["skills", "install", str(source), "--to", "clawft", "--to", "claude", "--yes"]
    fault = Fault(app.workspace.home, "kill", path=end)
    killed = run_faulty(fault, words, cwd=app.workspace.cwd, env={**app.environ, "LANG": "C.UTF-8"})
    assert killed.returncode == -signal.SIGKILL
    there = [one for one in app.refresh().skills if one.name == "hello"]
    assert all(one.state in ("untrusted", "shadowed") for one in there)
    assert bool(there) == (end not in ("skills.lock", "clawft/skills/hello"))


def test_where_a_place_is_taken_at_the_last_moment_nothing_is_placed(
    app: App, site: InstallSite, tmp_path: Path
) -> None:
    journal, hands = prepare(app, site, tmp_path, "one", "two")
    mine = write(Path(site.folder("clawft", "two")), "My own.")
    with pytest.raises(Refused, match="Something else was put there"):
        apply_transaction(journal, hands)
    assert "My own." in (mine / "SKILL.md").read_text()
    assert os.listdir(site.roots["clawft"]) == ["two"]
    assert left(site, app) == []


def test_a_staged_skill_that_is_not_what_was_looked_at_is_not_placed(
    app: App, site: InstallSite, tmp_path: Path
) -> None:
    journal, hands = prepare(app, site, tmp_path, "one", "two")
    write(Path(journal.moves[1].hidden), "Something else.")
    with pytest.raises(Refused, match="changed after it was looked at"):
        apply_transaction(journal, hands)
    assert os.listdir(site.roots["clawft"]) == []


def test_a_staged_skill_that_changed_after_a_kill_is_not_placed(app: App, site: InstallSite, tmp_path: Path) -> None:
    journal, _ = prepare(app, site, tmp_path, "one", "two")
    write(Path(journal.moves[1].hidden), "Something else.")
    assert [one.code for one in finish_interrupted(app)] == ["install-lost"]
    assert os.listdir(site.roots["clawft"]) == []
    assert left(site, app) == []


def test_a_staged_folder_that_was_replaced_after_a_kill_is_not_placed(
    app: App, site: InstallSite, tmp_path: Path
) -> None:
    journal, _ = prepare(app, site, tmp_path, "one")
    hidden = Path(journal.moves[0].hidden)
    shutil.copytree(hidden, tmp_path / "copy")
    shutil.rmtree(hidden)
    shutil.copytree(tmp_path / "copy", hidden)
    os.rename(hidden, f"{hidden}-first")  # another inode than the one that was freed
    shutil.copytree(tmp_path / "copy", hidden)
    assert [one.code for one in finish_interrupted(app)] == ["install-lost"]
    assert os.listdir(site.roots["clawft"]) == []


def test_what_was_placed_before_something_failed_is_taken_out_and_what_was_there_comes_back(
    app: App, site: InstallSite, tmp_path: Path
) -> None:
    old = write(Path(site.folder("clawft", "one")), "The old one.")
    journal, hands = prepare(app, site, tmp_path, "one", "two", "three")
    os.makedirs(os.path.join(site.roots["clawft"], "gone"))
    nowhere = structs.replace(journal.moves[2], target=os.path.join(site.roots["clawft"], "gone", "x", "three"))
    with pytest.raises(FileNotFoundError):
        apply_transaction(structs.replace(journal, moves=(*journal.moves[:2], nowhere)), hands)
    assert "The old one." in (old / "SKILL.md").read_text()
    assert sorted(os.listdir(site.roots["clawft"])) == ["gone", "one"]
    assert left(site, app) == []


def test_a_removal_that_was_broken_off_is_finished_and_one_that_failed_comes_back(
    app: App, site: InstallSite, tmp_path: Path
) -> None:
    one = write(Path(site.folder("clawft", "one")), "Mine.")
    journals = open_install_effects(app).journals
    for undo in (True, False):
        with journals.begin("remove one", tuple(site.roots.values())) as begun:
            hidden = os.path.join(site.roots["clawft"], staged_name(1, begun.id, removed=True))
            ready = structs.replace(begun, ready=True, moves=(FolderMove(str(one), hidden, old=inode_of(str(one))),))
            journals.write(ready)
        if undo:
            one.rename(hidden)
            journals.mark_undone(ready)
        assert finish_interrupted(app) == ()
        assert one.is_dir() == undo
        assert left(site, app) == []


def test_a_removal_that_failed_leaves_what_was_put_in_its_place_alone(app: App, site: InstallSite) -> None:
    one = write(Path(site.folder("clawft", "one")), "Mine.")
    journals = open_install_effects(app).journals
    with journals.begin("remove one", tuple(site.roots.values())) as begun:
        hidden = os.path.join(site.roots["clawft"], staged_name(1, begun.id, removed=True))
        ready = structs.replace(begun, ready=True, moves=(FolderMove(str(one), hidden, old=inode_of(str(one))),))
        journals.write(ready)
    one.rename(hidden)
    write(one, "Another.")
    journals.mark_undone(ready)
    assert finish_interrupted(app) == ()
    assert "Another." in (one / "SKILL.md").read_text()


def test_decisions_of_a_transaction_that_failed_are_taken_back(app: App, site: InstallSite, tmp_path: Path) -> None:
    journal, hands = prepare(app, site, tmp_path, "one")
    place = site.folder("clawft", "one")
    old, new = (make_approval("skill", place, f"sha256:{digit * 64}", "one") for digit in "ab")
    app.approvals.record([old])
    decided = structs.replace(
        journal, places=(place,), before=RecordedDecisions((old,)), after=RecordedDecisions((new,))
    )
    hands.journals.write(decided)
    app.approvals.record([new])
    hands.journals.mark_undone(decided)
    assert finish_interrupted(app) == ()
    assert app.approvals.load() == (old,)


def test_a_lock_of_others_that_changed_stops_an_installation_and_is_left_alone_by_recovery(
    app: App, site: InstallSite, tmp_path: Path
) -> None:
    theirs = tmp_path / "lock.json"
    theirs.write_text("changed since")
    journal, hands = prepare(app, site, tmp_path, "one")
    ready = structs.replace(journal, texts=(FileEdit(str(theirs), "ours", before="as it was"),))
    hands.journals.write(ready)
    (left_alone,) = finish_interrupted(app)
    assert (left_alone.code, left_alone.path, left_alone.line) == ("install-lock-left", str(theirs), 0)
    assert theirs.read_text() == "changed since"
    assert set(load_lock(site.lock)) == {"one"}

    journal, hands = prepare(app, site, tmp_path, "two")
    with pytest.raises(Refused, match="Another program changed its lock"):
        apply_transaction(structs.replace(journal, texts=ready.texts), hands)
    assert set(load_lock(site.lock)) == {"one"}
    assert os.listdir(site.roots["clawft"]) == ["one"]


def test_a_folder_of_journals_that_is_none_is_told(app: App, site: InstallSite) -> None:
    (Path(app.workspace.user_dir) / "installing").parent.mkdir(parents=True, exist_ok=True)
    (Path(app.workspace.user_dir) / "installing").write_text("a file")
    (told,) = finish_interrupted(app)
    assert (told.code, told.line) == ("install-unfinished", 0)
    assert told.message.startswith("An installation was broken off, and what is left to do cannot be done: ")


def test_an_installation_that_cannot_be_ended_is_told_by_who_reads_and_stops_who_changes(
    app: App, site: InstallSite, tmp_path: Path
) -> None:
    prepare(app, site, tmp_path, "one")
    Path(site.lock).write_text("no lock\n")
    assert [one.code for one in finish_interrupted(app)] == ["install-unfinished"]
    with pytest.raises(Refused) as caught, lock_transactions(open_install_effects(app)):
        pass
    assert (caught.value.code, os.listdir(site.roots["clawft"])[0][0]) == ("install-unfinished", ".")
    Path(site.lock).unlink()
    assert finish_interrupted(app) == ()
    assert set(load_lock(site.lock)) == {"one"}


def test_a_journal_of_an_older_weft_is_finished_and_one_of_a_newer_is_refused(
    app: App, site: InstallSite, source: Path, tmp_path: Path
) -> None:
    install(app, site, source, "clawft")
    journal, hands = prepare(app, site, tmp_path, "one")
    assert journal.lock is not None
    entry = journal.lock.after["one"]
    assert entry is not None
    older = {
        **{"id": journal.id, "what": "install one", "roots": journal.roots, "ready": True, "moves": journal.moves},
        "texts": [{"path": site.lock, "content": render_lock([entry]), "mode": 0o644}],
        "approvals": [make_approval("skill", site.folder("clawft", "one"), journal.moves[0].digest, "one")],
        "notes": [{"subject": "install one", "name": "one"}],
    }
    path = Path(hands.journals.folder, f"{journal.id}.json")

    def put(content: dict[str, object]) -> None:
        encoded = msgspec.json.encode(content)
        seal = app.seal.sign(encoded, "installing")
        path.write_bytes(msgspec.json.encode({"seal": seal, "journal": msgspec.Raw(encoded)}))

    put({**older, "version": 3})
    with pytest.raises(ClawftError) as caught:
        finish_interrupted(app)
    assert caught.value.code == "format-newer"
    put(older)
    assert finish_interrupted(app) == ()
    assert set(load_lock(site.lock)) == {"hello", "one"}  # the text of the journal has only one of them
    assert {one.name for one in app.approvals.load()} == {"hello", "one"}
    assert left(site, app) == []


def prepare(app: App, site: InstallSite, tmp_path: Path, *names: str) -> tuple[TransactionJournal, TransactionContext]:
    """A journal of skills that are staged, as a process leaves it that is killed before the first is placed."""
    hands = open_install_effects(app)
    os.makedirs(site.roots["clawft"], exist_ok=True)
    with hands.journals.begin(f"install {' '.join(names)}", tuple(site.roots.values())) as begun:
        moves, entries = [], {}
        for number, name in enumerate(names):
            hidden = os.path.join(site.roots["clawft"], staged_name(number, begun.id))
            digest = compute_digest(str(write(Path(hidden), f"The new {name}."))).value
            target = site.folder("clawft", name)
            moves.append(FolderMove(target, hidden, inode_of(hidden), inode_of(target), digest))
            data = Path(hidden, "SKILL.md").read_bytes()
            files = {"SKILL.md": LockedFile(hashlib.sha256(data).hexdigest(), len(data))}
            entries[name] = LockedSkill(name, SkillOrigin("folder", str(tmp_path)), digest, files)
        lock = LockEdit(site.lock, dict.fromkeys(names), dict(entries), os.path.lexists(site.lock))
        ready = structs.replace(begun, ready=True, moves=tuple(moves), lock=lock)
        hands.journals.write(ready)
    return ready, hands


def test_a_journal_that_somebody_else_wrote_is_not_followed(
    app: App, site: InstallSite, source: Path, tmp_path: Path
) -> None:
    install(app, site, source, "clawft")
    victim = write(tmp_path / "victim", "Precious.")
    journals = Path(open_install_effects(app).journals.folder)
    forged = {"id": "0" * 16, "ready": True, "moves": [{"target": str(victim), "hidden": str(tmp_path / "gone")}]}
    (journals / f"{'0' * 16}.json").write_text(json.dumps({"seal": "0" * 64, "journal": forged}))
    with pytest.raises(ClawftError) as caught:
        finish_interrupted(app)
    assert caught.value.code == "install-tampered"
    assert victim.is_dir()


def test_staged_files_whose_place_was_taken_meanwhile_are_given_up(
    app: App, site: InstallSite, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        monkeypatch.context() as patch,
        open_transaction("install", site, ("clawft",), open_supplies(app)) as transaction,
    ):
        plans = transaction.plan(stage(transaction, source, app), YES)
        patch.setattr("clawft.install.transaction.installation.apply_transaction", lambda *_: ())
        transaction.commit(plans, YES)
    mine = write(Path(site.folder("clawft", "hello")), "My own.")
    assert [(one.code, one.line) for one in finish_interrupted(app)] == [("install-lost", 0)]
    assert "My own." in (mine / "SKILL.md").read_text()
    assert load_lock(site.lock) == {}
    assert left(site, app) == []


def test_two_installations_at_once_both_succeed(app: App, site: InstallSite, tmp_path: Path) -> None:
    environ = {**app.environ, "LANG": "C.UTF-8"}
    for name in ("one", "two"):
        shutil.copytree(write(tmp_path / "hello", "Say hello."), tmp_path / name)
        text = (tmp_path / name / "SKILL.md").read_text().replace("name: hello", f"name: {name}")
        (tmp_path / name / "SKILL.md").write_text(text)
    command = [sys.executable, "-P", "-m", "clawft", "skills", "install", "--yes"]
    started = [
        subprocess.Popen([*command, str(tmp_path / name)], env=environ, cwd=tmp_path, stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    try:
        ended = [(one.communicate(timeout=60)[1], one.returncode) for one in started]
    finally:
        for one in started:
            one.kill()
    assert [code for _, code in ended] == [0, 0], ended
    assert set(load_lock(site.lock)) == {"one", "two"}
    assert left(site, app) == []


def test_clients_that_share_a_folder_by_a_link_get_one_copy(app: App, site: InstallSite, source: Path) -> None:
    os.makedirs(site.roots["agents"])
    os.makedirs(os.path.dirname(site.roots["claude"]))
    os.symlink(site.roots["agents"], site.roots["claude"])
    install(app, site, source, "agents", "claude")
    assert digests(site, "agents", "claude") == {load_lock(site.lock)["hello"].digest}
    assert left(site, app) == []


def test_that_it_goes_on_is_told_while_nothing_is_done_yet(app: App, site: InstallSite) -> None:
    told: list[tuple[int, int]] = []

    async def wait_until_told() -> list[WantedSkill]:
        with anyio.fail_after(60):
            while len(told) < 2:
                await anyio.sleep(0.01)
        return []

    async def stage_slowly(scans: ScanProcesses) -> None:
        await transaction.stage([wait_until_told], scans, lambda *said: told.append(said))

    with (
        open_transaction("install", site, (), open_supplies(app)) as transaction,
        ScanProcesses(1, app.scan_dir) as scans,
    ):
        anyio.run(stage_slowly, scans)
    assert told == [(0, 1), (0, 1), (1, 1)]
