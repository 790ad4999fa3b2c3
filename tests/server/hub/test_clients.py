"""The public clients, as they are: `clawhub` and `skills` of npm against `weft hub serve`."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clawft.server.hub.store import HubStore
from clawft.server.hub.tokens import HubTokens
from node_packages import install_packages

HERE = Path(__file__).parents[2] / "clients"
Client = Callable[..., str]
_COLOUR = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="session")
def packages() -> Path:
    """Both clients, installed once by npm."""
    return install_packages(HERE)


@pytest.fixture
def hub(tmp_path: Path, child_env: dict[str, str]) -> Iterator[str]:
    """A hub in a process of its own: its address."""
    command = ["weft", "hub", "serve", "--port", "0", "--quiet", "--format", "json"]
    with subprocess.Popen(command, env=child_env, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def run(packages: Path, hub: str, project: Path, tmp_path: Path, child_env: dict[str, str]) -> Iterator[Client]:
    """Run a client in the project: what it said. It reaches this machine alone, and is told to report nothing."""
    programs = {"clawhub": packages / "clawhub/bin/clawdhub.js", "skills": packages / "skills/bin/cli.mjs"}
    outside = tmp_path / "connections"
    environ = {
        **child_env,
        "NODE_OPTIONS": f"--require={HERE / 'loopback.cjs'}",
        "CONNECTIONS": str(outside),
        "CLAWHUB_REGISTRY": hub,
        "CLAWHUB_SITE": hub,
        "CLAWHUB_DISABLE_TELEMETRY": "1",
        "SKILLS_API_URL": hub,
        "DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
        "NO_COLOR": "1",
    }

    def call(client: str, *words: str | Path, fails: bool = False) -> str:
        command = ["node", str(programs[client]), *map(str, words)]
        done = subprocess.run(
            command, env=environ, cwd=project, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )
        said = _COLOUR.sub("", done.stdout + done.stderr)
        assert (done.returncode != 0) == fails, said
        return said

    yield call
    assert not outside.exists(), outside.read_text()


@pytest.fixture
def token(hub: str, tmp_path: Path) -> str:
    """A token to publish as @alice, made while the hub runs."""
    store = HubStore.open_folder(str(tmp_path / "home" / ".clawft" / "hub"))
    try:
        return HubTokens(store).create("alice", ("read", "publish"))[0]
    finally:
        store.close()


def write_skill(folder: Path, text: str) -> Path:
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    front = f"name: {folder.name}\ndescription: Tells the tides of a harbour when somebody asks for them."
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\n\n{text}\n")
    (folder / "scripts" / "look_up.py").write_text(f"print({text!r})\n")
    return folder


def verify(project: Path, child_env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["weft", "skills", "verify"]
    return subprocess.run(command, env=child_env, cwd=project, capture_output=True, text=True, timeout=60, check=False)


def test_clawhub_publishes_searches_installs_and_updates(
    run: Client, token: str, project: Path, tmp_path: Path, child_env: dict[str, str]
) -> None:
    assert "Logged in as @alice" in run("clawhub", "login", "--token", token)
    source = write_skill(tmp_path / "sources" / "tides", "first")
    assert "Published tides@1.0.0" in run("clawhub", "publish", source, "--version", "1.0.0", "--changelog", "new")
    assert "tides v1.0.0  @alice" in run("clawhub", "search", "harbour")
    assert "Installed tides" in run("clawhub", "install", "tides")
    installed = project / "skills" / "tides"
    assert (installed / "scripts" / "look_up.py").read_text() == "print('first')\n"
    assert verify(project, child_env).returncode == 0

    write_skill(source, "second")
    run("clawhub", "publish", source, "--version", "1.1.0")
    assert "tides: updated -> 1.1.0" in run("clawhub", "update", "--all")
    assert (installed / "scripts" / "look_up.py").read_text() == "print('second')\n"
    assert json.loads((project / ".clawhub" / "lock.json").read_text())["skills"]["tides"]["version"] == "1.1.0"
    (installed / "scripts" / "look_up.py").write_text("print('changed')\n")
    changed = verify(project, child_env)
    assert changed.returncode == 1
    assert "tides" in changed.stdout + changed.stderr


@pytest.mark.soak
def test_clawhub_sees_local_changes_inspects_and_deletes(
    run: Client, token: str, project: Path, tmp_path: Path
) -> None:
    run("clawhub", "login", "--token", token)
    source = write_skill(tmp_path / "sources" / "tides", "first")
    run("clawhub", "publish", source, "--version", "1.1.0")
    write_skill(source, "second")
    assert "exists with other content" in run("clawhub", "publish", source, "--version", "1.1.0", fails=True)
    run("clawhub", "install", "tides")
    (project / "skills" / "tides" / "scripts" / "look_up.py").write_text("print('changed')\n")
    assert "local changes" in run("clawhub", "update", "tides")

    shown = run("clawhub", "inspect", "tides", "--versions", "--files")
    assert re.search(r"Moderation: CLEAN[\s\S]*1\.1\.0[\s\S]*scripts/look_up\.py", shown)
    run("clawhub", "delete", "tides", "--yes")
    assert "deleted" in run("clawhub", "install", "tides", "--force", fails=True)


def test_skills_finds_adds_and_refreshes(
    run: Client, hub: str, token: str, project: Path, tmp_path: Path, child_env: dict[str, str]
) -> None:
    def publish(version: str, text: str) -> None:
        folder = write_skill(tmp_path / "sources" / "tides", text)
        form: list[Any] = [("payload", (None, json.dumps({"slug": "tides", "version": version})))]
        form += [("files", (str(one.relative_to(folder)), one.read_bytes())) for one in folder.rglob("*.*")]
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx2.post(
            f"{hub}/api/v1/skills", files=form, headers=headers, trust_env=False, verify=False, timeout=60
        )
        assert answer.status_code == 200, answer.text

    publish("1.0.0", "first")
    found = re.search(r"(http://\S+@tides)", run("skills", "find", "harbour"))
    assert found is not None
    run("skills", "add", found[1], "--agent", "codex", "--yes", "--copy")
    script = project / ".agents" / "skills" / "tides" / "scripts" / "look_up.py"
    assert script.read_text() == "print('first')\n"
    assert list(json.loads((project / "skills-lock.json").read_text())["skills"]) == ["tides"]
    assert verify(project, child_env).returncode == 0

    publish("1.1.0", "second")
    run("skills", "add", hub, "--skill", "tides", "--agent", "codex", "--yes", "--global", "--copy")
    told = run("skills", "update", "--global", "--yes")  # of such a place it says how, and no more
    again = re.search(r"npx skills (add \S+ -g -y)", told)
    assert again is not None
    run("skills", *again[1].split(), "--agent", "codex")
    run("skills", "add", found[1], "--agent", "codex", "--yes", "--copy")
    assert script.read_text() == "print('second')\n"
    assert verify(project, child_env).returncode == 0
    script.write_text("print('changed')\n")
    assert verify(project, child_env).returncode == 1
