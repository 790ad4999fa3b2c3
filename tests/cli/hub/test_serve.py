"""`weft hub serve`: what it says, what it refuses, and how it ends."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from hub_world import ServedHub

Weft = Callable[..., subprocess.CompletedProcess[str]]


def test_a_hub_is_not_opened_to_a_network_by_accident(weft: Weft) -> None:
    done = weft("hub", "serve", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 3
    assert "error[hub-plain-http]" in done.stderr
    assert "--plain-http" in done.stderr
    done = weft("hub", "serve", "--host", "0.0.0.0", "--port", "0", "--plain-http")
    assert done.returncode == 3
    assert "error[hub-no-token]" in done.stderr
    done = weft("hub", "serve", "--host", "192.0.2.1", "--port", "0", "--public-url", "https://hub.example")
    assert "error[hub-no-token]" in done.stderr
    for wrong in ("hub.example", "ftp://hub.example", "https://", "https://hub.example/?a=1"):
        assert weft("hub", "serve", "--public-url", wrong).returncode == 2


def test_a_port_that_is_taken_is_said(weft: Weft) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        done = weft("hub", "serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "error[hub-address]" in done.stderr
    assert "--port 0" in done.stderr


def wait_until_closed(url: str) -> None:
    """Until nobody new gets in, which is when it is about to end."""
    deadline = time.monotonic() + 60
    with suppress(OSError):
        while time.monotonic() < deadline:
            socket.create_connection(("127.0.0.1", urlsplit(url).port or 0), 5).close()


def test_it_says_where_it_is_and_ends_when_the_answers_are_out(
    project: Path, child_env: dict[str, str], tmp_path: Path
) -> None:
    command = ["weft", "hub", "serve", "--port", "0", "--folder", str(tmp_path / "kept")]
    process = subprocess.Popen(
        command, env=child_env, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert httpx2.get(f"{url}/healthz", trust_env=False, verify=False).text == "ok"

            def parts() -> Iterator[bytes]:  # a request that is being sent when the signal comes
                yield b'{"items":[{"slug":"a",'
                httpx2.get(
                    f"{url}/healthz", trust_env=False, verify=False
                )  # once it is answered, what came before it was read
                process.send_signal(signal.SIGTERM)
                wait_until_closed(url)
                yield b'"version":"1.0.0"}]}'

            answer = httpx2.post(
                f"{url}/api/v1/skills/-/security-verdicts", content=parts(), trust_env=False, verify=False
            )
            assert answer.status_code == 200
            assert process.wait(60) == 0
            assert process.stderr is not None
            said = process.stderr.read()
        finally:
            process.kill()
    assert "weft hub token new OWNER" in said
    assert f"{url}/mcp" in said
    assert "POST /api/v1/skills/-/security-verdicts 200" in said
    assert "Traceback" not in said
    assert (tmp_path / "kept" / "hub.sqlite").exists()


def test_a_program_reads_its_lines(project: Path, child_env: dict[str, str]) -> None:
    command = ["weft", "hub", "serve", "--port", "0", "--format", "json"]
    with subprocess.Popen(command, env=child_env, cwd=project, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            listening = json.loads(process.stdout.readline())
            assert (listening["schema"], listening["event"]) == ("clawft.hub.serve.v1", "listening")
            httpx2.get(f"{listening['url']}/api/v1/skills/a%0d%0ab?token=secret", trust_env=False, verify=False)
            line = process.stdout.readline()
            request = json.loads(line)
            assert (request["event"], request["status"], request["path"]) == ("request", 404, "/api/v1/skills/a\r\nb")
            assert "secret" not in line
            process.stdout.close()  # who read them has left
            for _ in range(2):
                assert httpx2.get(f"{listening['url']}/api/v1/skills", trust_env=False, verify=False).status_code == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_weft_installs_from_it(served_hub: ServedHub, weft: Weft, project: Path) -> None:
    served_hub.put("alice/tides", files={"run.sh": "#!/bin/sh\ndate\n"})
    assert weft("config", "set", "registries.hub.url", served_hub.url).returncode == 0
    done = weft("skills", "install", "hub:tides", "--yes")
    assert done.returncode == 0, done.stderr
    listed = weft("skills", "verify")
    assert listed.returncode == 0, listed.stdout + listed.stderr
