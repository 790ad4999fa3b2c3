"""Every file that lasts has a version: an older one is read, a newer one is refused in one sentence and left as it is.

`tests/golden/formats/1` is a user's folder as the first weft wrote it. A new version adds a folder beside it.
"""

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from clawft.agent.tools.saved_files import load_originals
from clawft.errors import ClawftError
from clawft.trust.audit.lines import AuditHead, write_head
from clawft.trust.records import Seal

ROOT = Path(__file__).resolve().parents[2]
FIRST = ROOT / "tests" / "golden" / "formats" / "1"
NEWER = 9
Weft = Callable[..., subprocess.CompletedProcess[str]]


class Kind(Struct, frozen=True):
    """A lasting file: commands that show it with what they print, commands that would write it, how it gets newer."""

    file: str  # below the name, where that is of a folder
    shows: dict[tuple[str, ...], str]
    writes: tuple[tuple[str, ...], ...]
    renew: Callable[[Path], None]
    beside: tuple[str, ...] = ()  # files that are part of it


def _in_json(path: Path) -> None:
    path.write_bytes(msgspec.json.encode({"version": NEWER} | _without_version(path)))


def _without_version(path: Path) -> dict[str, object]:
    document = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    return {key: value for key, value in document.items() if key != "version"} | {"later": []}


def _in_toml(path: Path) -> None:
    text = re.sub(r"(?m)^version = 1\n", "", path.read_text())
    path.write_text(f"version = {NEWER}\nlater = []\n{text}")


def _in_first_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":%d' % NEWER, 1))


def _in_head(path: Path) -> None:
    with open(path.parent / "audit.head", "r+b") as file:
        seq, digest, size, files, following, *_ = msgspec.json.decode(file.read().rpartition(b"] ")[0] + b"]")
        newer = AuditHead(seq, digest, size, files, following, NEWER)
        write_head(file.fileno(), newer, Seal(str(path.parent / "trust.key")))


def _in_database(*statements: str) -> Callable[[Path], None]:
    def renew(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            for statement in statements:
                database.execute(statement)

    return renew


_RUNS = (
    "CREATE TABLE weft_format(id INTEGER PRIMARY KEY, version INTEGER)",
    f"INSERT INTO weft_format VALUES(1, {NEWER})",
)
_ADD_JOB = ("cron", "add", "@daily", "-m", "x")
_INSTALL = ("skills", "install", "./greet", "--yes", "--force")
_APPROVALS: dict[tuple[str, ...], str] = {("skills", "trust", "--list"): "exec_shell(ls)"}
# By the name that docs/operations.md has for it.
KINDS = {
    "approvals.json": Kind("", _APPROVALS, (_INSTALL,), _in_json, ("approvals.head",)),
    "approvals.head": Kind("", _APPROVALS, (_INSTALL,), _in_json, ("approvals.json",)),
    "overrides.json": Kind(
        "", {("skills", "allow", "--list"): "some-rule"}, (_INSTALL,), _in_json, ("overrides.head",)
    ),
    "grants.json": Kind(
        "",
        {("plugins", "show", "local.notes"): "Counts the words"},
        (("plugins", "enable", "local.notes", "--yes"),),
        _in_json,
        ("grants.head",),
    ),
    "audit.jsonl": Kind(
        "", {("audit", "show"): "install greet", ("audit", "verify"): "6 lines"}, (_INSTALL,), _in_head, ("audit.head",)
    ),
    "config.toml": Kind(
        "", {("config", "show"): "scripted/x"}, (("config", "set", "skills.enabled", "false"),), _in_toml
    ),
    "keys.json": Kind("", {("doctor",): "✓ keys"}, (("registries", "token", "clawhub", "--forget"),), _in_json),
    "publishers.toml": Kind(
        "", {("publishers", "list"): "alice"}, (("publishers", "remove", "alice", "--yes"),), _in_toml
    ),
    "serve-tokens.json": Kind(
        "",
        {("serve", "token", "list"): "reader"},
        (("serve", "token", "new", "other", "--scope", "read"), ("serve", "token", "remove", "reader")),
        _in_json,
    ),
    "skills.lock": Kind("", {("skills", "verify"): "1 skill is as installed"}, (_INSTALL,), _in_toml),
    "sessions/": Kind(
        "cli%3Aold.jsonl",
        {("sessions", "show", "cli:old"): "hello of old"},
        (("sessions", "fork", "cli:old", "cli:new"), ("agent", "--session", "cli:old", "-m", "x")),
        _in_first_line,
    ),
    "usage.sqlite": Kind("", {("skills", "stats"): "greet"}, (), _in_database(f"PRAGMA user_version={NEWER}")),
    "runs/runs.sqlite": Kind("", {("cron", "list"): "hello"}, (_ADD_JOB,), _in_database(*_RUNS)),
    "hub/hub.sqlite": Kind(
        "",
        {("hub", "status"): "alice"},
        (("hub", "import", "--owner", "alice", "./greet"),),
        _in_database(f"UPDATE hub_meta SET value = '{NEWER}' WHERE key = 'schema'"),
    ),
    "mcp-skills/": Kind(
        "files/acad8a1b94c59f9cd98fdbc10d1b7201/origin.json",
        {("mcp", "skills"): "files:greet"},
        (("mcp", "untrust", "files:greet", "--yes"),),
        _in_json,
    ),
}
# A session is read line by line, with a warning; of a plugin it is shown that it is not granted anything, and why.
SHOWN_ANYWAY = {("sessions", "show", "cli:old"), ("plugins", "show", "local.notes")}


@pytest.fixture
def user_dir(project: Path, child_env: dict[str, str], headless: None) -> Path:
    """The folder of a user whose weft was the first, and a skill in the project."""
    folder = Path(child_env["HOME"], ".clawft")
    shutil.copytree(FIRST, folder)
    (folder / "plugins" / "notes" / "plugin.py").touch()
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    shutil.copytree(FIRST / "skills" / "greet", project / "greet")
    return folder


@pytest.mark.parametrize("name", KINDS)
def test_what_the_first_weft_wrote_is_read(weft: Weft, user_dir: Path, name: str) -> None:
    for command, words in KINDS[name].shows.items():
        for _ in range(2):  # the first may bring it up to date
            done = weft(*command)
            assert words in done.stdout + done.stderr
            assert "error[" not in done.stderr
            assert "newer" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", KINDS)
def test_what_a_newer_weft_wrote_is_refused_and_left_as_it_is(weft: Weft, user_dir: Path, name: str) -> None:
    kind = KINDS[name]
    path = user_dir / name / kind.file
    kind.renew(path)
    files = [path, *(user_dir / one for one in kind.beside)]
    before = [one.read_bytes() for one in files]
    sentence = f"was written by a newer weft (format {NEWER}; this weft reads up to 1)"
    for command in (*kind.shows, *kind.writes):
        done = weft(*command)
        assert [one.read_bytes() for one in files] == before, command
        if command not in SHOWN_ANYWAY:
            assert done.returncode != 0, command
            assert sentence in done.stdout + done.stderr, command


def test_nothing_counts_as_approved_by_what_a_newer_weft_wrote(weft: Weft, user_dir: Path) -> None:
    _in_json(user_dir / "approvals.json")
    assert "untrusted" in weft("skills", "show", "greet").stdout
    assert weft("skills", "run", "greet").returncode != 0


@pytest.mark.parametrize("name", ["approvals.json", "approvals.head"])
def test_a_seal_does_not_hold_for_another_version(weft: Weft, user_dir: Path, name: str) -> None:
    document = msgspec.json.decode((user_dir / name).read_bytes())
    (user_dir / name).write_bytes(msgspec.json.encode({**document, "version": 0}))
    done = weft("skills", "trust", "--list")
    assert done.returncode == 1
    assert "error[approvals-tampered]" in done.stderr


def test_files_of_a_newer_weft_that_undo_would_read_are_refused(tmp_path: Path) -> None:
    manifest = tmp_path / "originals" / "manifest.jsonl"
    shutil.copytree(FIRST / "output" / "old", tmp_path, dirs_exist_ok=True)
    assert [one.path for one in load_originals(str(tmp_path))] == ["/nowhere/a.txt"]
    _in_json(manifest)
    with pytest.raises(ClawftError, match=r"manifest.jsonl was written by a newer weft \(format 9;"):
        load_originals(str(tmp_path))


def test_a_config_may_say_its_version_and_keeps_it(weft: Weft, user_dir: Path) -> None:
    config = user_dir / "config.toml"
    config.write_text("version = 1\n" + config.read_text())
    assert weft("config", "set", "skills.enabled", "false").returncode == 0
    assert config.read_text().startswith("version = 1\n")
    assert weft("config", "get", "skills.enabled").stdout.strip() == "false"


@pytest.mark.parametrize("version", ['"1"', "0", "true"])
def test_a_config_with_a_version_that_is_none_is_refused(weft: Weft, user_dir: Path, version: str) -> None:
    (user_dir / "config.toml").write_text(f"version = {version}\n")
    done = weft("config", "show")
    assert done.returncode == 1
    assert "error[config-invalid]: version: expected a number from 1 on" in done.stderr


# Those that have no command of their own to show them.
MORE = {"output/", "checkpoints/", "`folders.json`", "installing/", "backups of a hub", "`weft_` tables in PostgreSQL"}
# Every module that writes, with the lasting files it writes; else why none of that needs a version.
CACHE = "a cache: one of another version is made anew"
DOCUMENT = "a file for people or other programs, in their format"
MOMENT = "only for as long as a process runs"
CONTENT = "bytes that are named by their hash"
WRITERS: dict[str, str | tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "skills/discovery/folder_cache.py",
            "skills/discovery/plugin_folders.py",
            "skills/discovery/plugin_folders.py",
        ),
        CACHE,
    ),
    **dict.fromkeys(
        ("agent/memory/index.py", "sandbox/wasm/compiler.py", "scanner/cache.py", "scanner/rescan.py"), CACHE
    ),
    **dict.fromkeys(("cli/demo.py", "cli/fleet_feed.py", "cli/fleet_sources.py", "cli/scan.py"), DOCUMENT),
    **dict.fromkeys(("cli/publisher_keys.py", "cli/sessions.py", "cli/skills/validation.py"), DOCUMENT),
    **dict.fromkeys(
        ("cli/skills/publish.py", "agent/memory/disk.py", "install/archive/pack.py", "install/archive/target.py"),
        DOCUMENT,
    ),
    **dict.fromkeys(("plugins/runtime.py", "plugins/folder.py", "install/publish/publication.py"), DOCUMENT),
    **dict.fromkeys(
        ("install/publish/scaffold.py", "cli/repl/reader.py", "agent/loop.py", "trust/signing/keys.py"), DOCUMENT
    ),
    **dict.fromkeys(
        (
            "trust/signing/keys.py",
            "install/transaction/installation.py",
            "agent/tools/file_access.py",
            "trust/records.py",
        ),
        DOCUMENT,
    ),
    **dict.fromkeys(("agent/tools/file_changes.py", "agent/tools/file_changes.py"), DOCUMENT),
    **dict.fromkeys(
        ("cli/doctor/checks.py", "cli/doctor/files.py", "cli/gateway.py", "cli/serve/daemon.py", "cli/worker.py"),
        MOMENT,
    ),
    **dict.fromkeys(
        (
            "server/client/daemons.py",
            "skills/discovery/ranking.py",
            "skills/discovery/digest.py",
            "files.py",
            "trust/run_copies.py",
        ),
        MOMENT,
    ),
    **dict.fromkeys(
        ("server/hub/publication.py", "server/hub/backup.py", "server/hub/store.py", "jobs/engine.py"), MOMENT
    ),
    **dict.fromkeys(("jobs/recent_runs.py", "jobs/runs.py", "sandbox/landlock_launcher.py"), MOMENT),
    "sandbox/selftest.py": MOMENT,
    **dict.fromkeys(("sandbox/room.py", "sandbox/room_server.py", "sandbox/session_tmp.py"), MOMENT),
    "sandbox/background.py": ("output/",),
    "sandbox/plain_tree.py": DOCUMENT,
    **dict.fromkeys(("sandbox/git_defaults.py", "trust/own_edits.py"), MOMENT),
    "config/sqlite.py": "the opener of all files of SQLite; those who call it are named here",
    **dict.fromkeys(
        ("sandbox/process.py", "sandbox/wasi.py", "install/sources/http.py", "install/sources/local.py"), MOMENT
    ),
    **dict.fromkeys(("install/transaction/verification.py", "install/transaction/stage.py"), MOMENT),
    **dict.fromkeys(("server/hub/blobs.py", "sandbox/secret_files.py", "trust/approved_copies.py"), CONTENT),
    "config/editor.py": ("config.toml",),
    "config/keystore.py": ("keys.json",),
    "jobs/channels/store.py": ("runs/runs.sqlite", "`weft_` tables in PostgreSQL"),
    "server/hub/backup.py": ("backups of a hub",),
    "server/hub/database.py": ("hub/hub.sqlite",),
    "install/lockfile/file.py": ("skills.lock",),
    "agent/mcp/offered_skills.py": ("mcp-skills/",),
    "agent/records.py": ("usage.sqlite",),
    "jobs/database.py": ("runs/runs.sqlite", "`weft_` tables in PostgreSQL"),
    "server/tokens.py": ("serve-tokens.json",),
    "agent/sessions/log.py": ("sessions/",),
    "agent/sessions/store.py": ("sessions/",),
    "trust/signing/publishers.py": ("publishers.toml",),
    "install/transaction/apply.py": ("skills.lock",),
    "install/transaction/journal.py": ("installing/",),
    "install/transaction/updates.py": ("skills.lock",),
    "agent/tools/saved_files.py": ("output/",),
    "agent/checkpoints/store.py": ("checkpoints/",),
    "agent/checkpoints/restore.py": DOCUMENT,
    "trust/audit/log.py": ("audit.jsonl",),
    "trust/records.py": ("approvals.json", "approvals.head", "overrides.json", "grants.json", "`folders.json`"),
}
_WRITES = re.compile(r"\b(?:create|replace)_file\(|\bopen_sqlite\(|\bO_CREAT\b|= Table\(|open\([^)\n]*\"[wax]b?\"")


def test_whoever_writes_a_file_says_which_lasting_one_it_is_or_why_it_needs_no_version() -> None:
    source = ROOT / "src" / "clawft"
    texts = {str(path.relative_to(source)): path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    writing = {name for name, text in texts.items() if _WRITES.search(text) and not name.startswith("scan/languages/")}
    assert writing == set(WRITERS)
    assert {name for named in WRITERS.values() if isinstance(named, tuple) for name in named} == {*KINDS, *MORE}


def test_the_docs_list_every_lasting_file_with_its_version() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = page.partition("## Versions of files")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")][
        2:
    ]
    listed = {row[0] if row[0] in MORE else row[0].strip("`"): row[1] for row in rows}
    assert listed == dict.fromkeys((*KINDS, *MORE), "1") | {"installing/": "2"}
