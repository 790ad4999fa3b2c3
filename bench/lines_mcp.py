"""The lines of the MCP server: a call of a tool, on the pipes of a process and over HTTP."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from make_skills import wait_until_settled, write_skills
from mcp_clients import stdio_of
from measure import Timed, best_ms
from report import Line
from serve_world import ServeWorld

CALLS = 50
_LIMIT = 1.3
_OPEN = "[serve.limits]\nreads_per_minute = 10000000\nwrites_per_minute = 10000000\n"
_VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
}
_CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "skill-list", "arguments": {}, "_meta": _META},
    }
).encode()
_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": _VERSION,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "skill-list",
}
Ask = Callable[[], bytes]
BASELINE = "a bare server of the same SDK that gives the same"


def measure_mcp(folder: Path, skills: int, rounds: int) -> list[Line]:
    """Both, with the same skills."""
    world = ServeWorld(folder)
    world.config = _OPEN
    write_skills(world.user_dir / "skills", skills)
    wait_until_settled()
    return [_measure_pipes(world, folder, skills, rounds), _measure_http(world, folder, skills, rounds)]


def _measure_pipes(world: ServeWorld, folder: Path, skills: int, rounds: int) -> Line:
    server = stdio_of(world)
    with _pipes([server.command, *server.args], server.cwd, server.env) as ours:
        _keep(folder, ours(), skills)
        with _pipes(_bare("stdio", folder)) as bare:
            took = _compare(ours, bare, rounds)
    what = f"an MCP `tools/call` of skill-list on stdio, {skills} skills"
    return Line("mcp-stdio", what, BASELINE, *took, "ms", _LIMIT)


def _measure_http(world: ServeWorld, folder: Path, skills: int, rounds: int) -> Line:
    with world.serve("--quiet") as served, _http(served.url, served.token) as ours:
        _keep(folder, ours(), skills)
        with subprocess.Popen(_bare("http", folder), stdout=subprocess.PIPE, text=True) as process:
            try:
                port = int(process.stdout.readline() if process.stdout else "")
                with _http(f"http://127.0.0.1:{port}") as bare:
                    took = _compare(ours, bare, rounds)
            finally:
                process.terminate()
    what = f"an MCP `tools/call` of skill-list over HTTP, {skills} skills"
    return Line("mcp-http", what, BASELINE, *took, "ms", _LIMIT)


def _compare(ours: Ask, bare: Ask, rounds: int) -> tuple[float, float]:
    assert _result(ours()) == _result(bare())

    def call(ask: Ask) -> None:
        for _ in range(CALLS):
            ask()

    for one in (ours, bare):  # so that both are warm
        call(one)
    took, took_bare = best_ms(rounds, Timed(lambda: call(ours), per=CALLS), Timed(lambda: call(bare), per=CALLS))
    return took, took_bare


def _bare(way: str, folder: Path) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("mcp_bare.py")), way, str(folder / "answer.json")]


def _keep(folder: Path, answer: bytes, skills: int) -> None:
    result = _result(answer)
    assert len(result["structuredContent"]["skills"]) >= skills
    (folder / "answer.json").write_text(json.dumps(result), "utf-8")


def _result(answer: bytes) -> dict[str, Any]:
    found = json.loads(answer)["result"]
    return {key: found[key] for key in ("content", "structuredContent")}


@contextmanager
def _pipes(words: list[str], cwd: Any = None, env: Any = None) -> Iterator[Ask]:
    with subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        source, target = process.stdin, process.stdout
        assert source is not None
        assert target is not None

        def ask() -> bytes:
            source.write(_CALL + b"\n")
            source.flush()
            return target.readline()

        try:
            yield ask
        finally:
            process.terminate()


@contextmanager
def _http(url: str, token: str = "") -> Iterator[Ask]:
    headers = _HEADERS | ({"Authorization": f"Bearer {token}"} if token else {})
    with httpx2.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as client:

        def ask() -> bytes:
            answer = client.post("/mcp", content=_CALL)
            assert answer.status_code == 200, answer.text
            return answer.content

        yield ask
