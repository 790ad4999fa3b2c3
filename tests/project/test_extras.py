"""Each optional part alone, and none: what it is for starts for real, while the packages of all others are missing."""

import json
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS: dict[str, list[str]] = {
    name: lines for name, lines in PROJECT["optional-dependencies"].items() if name != "all"
}
SERVER = ROOT / "tests" / "agent" / "mcp" / "servers" / "plain.py"
INSTALLED_BY_README = ("mcp", "durable", "hub", "serve")
_BLOCK = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
gone = frozenset({gone!r})
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in gone else find(name, *more)
"""
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
_INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _HELLO})


def find_distributions(lines: list[str]) -> set[str]:
    """Find what is installed for some requirements, with all that those require."""
    found: set[str] = set()
    seen: set[str] = set()
    pending = list(map(Requirement, lines))
    while pending:
        wanted = pending.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        try:
            needed = metadata.requires(wanted.name) or []
        except metadata.PackageNotFoundError:  # of another platform
            continue
        found.add(canonicalize_name(wanted.name))
        for requirement in map(Requirement, needed):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *wanted.extras)):
                pending.append(requirement)
    return found


def find_missing_modules(extras: tuple[str, ...]) -> list[str]:
    """Find the modules that an installation with just these extras would not have."""
    everything = [line for lines in EXTRAS.values() for line in lines]
    have = find_distributions([*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])])
    gone = find_distributions(everything) - have
    modules: dict[str, set[str]] = {}
    for module, names in metadata.packages_distributions().items():
        modules[module] = set(map(canonicalize_name, names))
    return sorted(module for module, names in modules.items() if names & gone and not names & have)


class Installation:
    """`weft` as it is with some extras: in a folder and a home of its own."""

    def __init__(self, extras: tuple[str, ...], folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        block = folder / "block"
        block.mkdir()
        (block / "sitecustomize.py").write_text(_BLOCK.format(gone=find_missing_modules(extras)))
        self.environ = {**environ, "PYTHONPATH": str(block)}
        self.home = Path(environ["HOME"]) / ".clawft"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            ["weft", *words],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def succeed(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @contextmanager
    def start(self, *words: str) -> Iterator[dict[str, Any]]:
        """Start what listens; its first line of JSON comes back, and a signal ends it."""
        process = subprocess.Popen(
            ["weft", *words, "--format", "json"],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate(timeout=60)[1]
            yield json.loads(line)
            process.send_signal(signal.SIGTERM)
            _, complaints = process.communicate(timeout=60)
            assert (process.returncode, "Traceback" in complaints) == (0, False), complaints
        finally:
            process.kill()
            process.communicate(timeout=60)


@pytest.fixture
def install(tmp_path: Path, child_env: dict[str, str]) -> Callable[..., Installation]:
    return lambda *extras: Installation(extras, tmp_path, child_env)


def ask(url: str, token: str = "") -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        body: bytes = answer.read()
    return body.decode()


def check_daemon(weft: Installation) -> None:
    with weft.start("serve", "--port", "0") as said:
        token = (weft.home / "serve-token").read_text().strip()
        assert "vet-skill" in ask(f"{said['url']}/api/v1/skills", token)
        assert "clawft_requests_total" in ask(f"{said['url']}/metrics", token)
        assert said["url"] in weft.succeed("serve", "url")


def check_hub(weft: Installation) -> None:
    with weft.start("hub", "serve", "--port", "0") as said:
        assert "items" in ask(f"{said['url']}/api/v1/skills")
    assert "alice" in weft.run("hub", "token", "new", "alice").stderr


def check_mcp_server(weft: Installation) -> None:
    done = subprocess.run(
        ["weft", "mcp"],
        cwd=weft.folder,
        env=weft.environ,
        input=f"{_INITIALIZE}\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"], done.stderr


def name_server(weft: Installation) -> None:
    """Have an MCP server in the settings, which needs no package itself."""
    weft.home.mkdir(parents=True, exist_ok=True)
    command = f'command = {json.dumps(sys.executable)}\nargs = ["-IS", {json.dumps(str(SERVER))}, ""]\n'
    (weft.home / "config.toml").write_text(f"[mcp.servers.plain]\n{command}")


def check_mcp_client(weft: Installation) -> None:
    name_server(weft)
    done = weft.run("agent", "-m", "hello")
    assert (done.returncode, "mcp" in done.stderr) == (0, False), done.stderr
    (weft.home / "config.toml").unlink()


def check_runs(weft: Installation) -> None:
    run = weft.succeed("agent", "--background", "-m", "hello").split()[0]
    weft.succeed("worker", "--until-idle")
    weft.succeed("runs", "watch", run)  # another worker may have it, which the first command started
    assert "Status: done" in weft.succeed("runs", "show", run)
    weft.succeed("cron", "add", "@daily", "-m", "x")
    assert "gateway-no-channel" in weft.run("gateway").stderr


def check_wasm_plugin(weft: Installation) -> None:
    shutil.copytree(ROOT / "examples" / "plugins" / "wasm-text", weft.folder / "wasm-text")
    weft.succeed("plugins", "install", "./wasm-text", "--yes")
    assert "text-facts" in weft.succeed("plugins", "enable", "text-facts", "--yes")


def check_parts(*names: str) -> Callable[[Installation], None]:
    def check(weft: Installation) -> None:
        for name in names:
            assert f"part: {name} " in weft.run("doctor").stdout

    return check


def check_basics(weft: Installation) -> None:
    for words in (("skills", "list"), ("agent", "-m", "hello"), ("doctor",), ("demo",)):
        weft.succeed(*words)


def check_hints(weft: Installation) -> None:
    for words, extra in _NEEDS.items():
        done = weft.run(*words)
        assert (done.returncode, f"clawft[{extra}]" in done.stderr) == (1, True), (words, done.stderr)
    name_server(weft)
    assert "clawft[mcp]" in weft.run("agent", "-m", "hello").stderr


# A command, and the extra that it names where that is not installed.
_NEEDS = {
    ("serve",): "serve",
    ("mcp",): "serve",
    ("hub", "serve"): "hub",
    ("worker",): "durable",
    ("gateway",): "durable",
    ("runs", "list"): "durable",
    ("agent", "--background", "-m", "x"): "durable",
}
_USES: dict[tuple[str, ...], tuple[Callable[[Installation], None], ...]] = {
    (): (check_basics, check_hints),
    ("mcp",): (check_mcp_client,),
    ("durable",): (check_runs,),
    ("hub",): (check_hub,),
    ("serve",): (check_daemon, check_mcp_server),
    ("wasm",): (check_wasm_plugin,),
    ("deno",): (check_parts("deno"),),
    ("keyring",): (check_parts("keyring"),),
    ("telemetry",): (check_parts("telemetry"),),
    INSTALLED_BY_README: (check_basics, check_daemon, check_mcp_server, check_mcp_client, check_hub, check_runs),
}


# No extra, and each alone, is tried by `make soak`.
_CASES = [pytest.param(extras, marks=[pytest.mark.soak] if len(extras) <= 1 else []) for extras in _USES]


@pytest.mark.parametrize("extras", _CASES, ids=lambda extras: "+".join(extras) or "none")
def test_what_an_extra_is_for_works_with_it_alone(
    install: Callable[..., Installation], extras: tuple[str, ...]
) -> None:
    weft = install(*extras)
    for check in _USES[extras]:
        check(weft)


def test_every_extra_is_tried_alone() -> None:
    assert {extras[0] for extras in _USES if len(extras) == 1} == {name for name, lines in EXTRAS.items() if lines}
