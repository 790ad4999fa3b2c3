"""Whole turns: commands and fetches reach the hosts that were granted, and every address is a line of the log."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clawft.app.app import open_app
from clawft.messages import Answer, ApprovalNeeded, ToolFinished
from wire import call, say
from world import Person as AgreeingPerson
from world import World, only

pytestmark = pytest.mark.anyio


class Person:
    """Says yes to commands and no to all else, and keeps the questions."""

    def __init__(self) -> None:
        self.asked: list[ApprovalNeeded] = []

    async def __call__(self, event: ApprovalNeeded) -> Answer:
        self.asked.append(event)
        is_command = event.tool == "exec_shell" and not event.question.startswith("Let commands")
        return "once" if is_command and not event.dangerous else "no"


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    """A server of this machine; `served` is what it was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, format: str, *args: object) -> None:
            pass

    served: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.served = served  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(60)


async def run_command(world: World, command: str, skill: str = "") -> str:
    world.replies = [call("exec_shell", {"command": command}), say("done")]
    (ended,) = only(await world.run(skill=skill, approve=Person()), ToolFinished)
    return str(ended.result)


async def test_a_command_reaches_the_host_that_a_rule_allows(world: World, site: Any) -> None:
    place = f"127.0.0.1:{site.server_port}"
    world.config = f'[tools.web]\nblock_private_ips = false\n[permissions]\nallow = ["WebFetch(domain:{place})"]\n'

    shown = await run_command(world, f"curl -sS http://{place}/x")

    assert "hello" in shown
    (line,) = world.audit("url")
    assert (line["subject"], line["decision"], line["rule"], line["session"]) == (place, "allowed", place, "test")


async def test_a_command_without_a_grant_has_no_network(world: World, site: Any) -> None:
    world.config = "[tools.web]\nblock_private_ips = false\n"

    await run_command(world, f"curl -sS --noproxy '*' http://127.0.0.1:{site.server_port}/x")

    assert site.served == []


async def test_a_command_is_told_which_host_was_refused_and_what_would_allow_it(world: World, site: Any) -> None:
    world.config = '[permissions]\nallow = ["WebFetch(domain:a.test)"]\ndeny = ["WebFetch(domain:b.a.test)"]\n'

    own = f"curl -sS http://127.0.0.1:{site.server_port}/"  # the loopback of the sandbox
    shown = await run_command(world, f"{own}; curl -sS http://c.test:8080/; curl -sS https://b.a.test/")

    assert "refused: c.test:8080 (not-granted), b.a.test:443 (not-granted)" in shown
    assert "To allow it: weft permissions allow 'WebFetch(domain:c.test:8080)'" in shown
    assert "'WebFetch(domain:b.a.test)']" in shown
    assert site.served == []
    assert {(line["subject"], line["decision"]) for line in world.audit("url")} == {
        ("c.test:8080", "denied"),
        ("b.a.test:443", "denied"),
    }


async def test_person_agrees_to_a_host_once_for_all_commands_of_the_session(world: World, site: Any) -> None:
    world.config = "[tools.web]\nblock_private_ips = false\n"
    person = AgreeingPerson("session")
    reach = f"curl -sS --noproxy '' http://127.0.0.1:{site.server_port}/x"
    world.replies = [call("exec_shell", {"command": reach}), call("exec_shell", {"command": f"{reach}y"}), say("done")]

    await world.run(approve=person)

    assert site.served == ["/x", "/xy"]
    hosts = [event for event in person.asked if event.question.startswith("Let commands")]
    assert [(event.question, event.reason) for event in hosts] == [
        (f"Let commands reach 127.0.0.1:{site.server_port}", f"wanted by: {reach}")
    ]


async def test_while_a_strangers_skill_is_at_work_commands_reach_only_its_approved_hosts(world: World) -> None:
    world.add_skill("guest", "Run:\n\n```sh\ncurl https://api.guest.test/v1\n```\n", strangers=True)
    trust(world)
    code = "curl -sS -o /dev/null -w '%{http_code} '"

    shown = await run_command(world, f"{code} http://api.guest.test/; {code} http://evil.test/", skill="guest")

    assert "502 403" in shown  # the first was looked for, and has no address
    (line,) = world.audit("url")
    assert (line["subject"], line["decision"], line["rule"]) == ("evil.test:80", "denied", "not-granted")
    assert line["skill"] == "guest"
    assert line["digest"]


async def test_a_strangers_skill_that_sends_a_model_elsewhere_is_asked_about(world: World, site: Any) -> None:
    world.add_skill("guest", "Fetch what you need.", strangers=True)
    world.config = "[tools.web]\nblock_private_ips = false\n"
    trust(world)
    url = f"http://127.0.0.1:{site.server_port}/?secret"
    world.replies = [call("web_fetch", {"url": url}), say("done")]
    person = Person()

    (ended,) = only(await world.run(skill="guest", approve=person), ToolFinished)

    assert ended.status == "error"
    assert site.served == []
    assert [one.reason for one in person.asked] == ["the skill 'guest' was not approved for the host '127.0.0.1'"]


async def test_a_fetch_is_a_line_with_its_address(world: World, site: Any) -> None:
    world.config = "[tools.web]\nblock_private_ips = false\n"
    url = f"http://127.0.0.1:{site.server_port}/page"
    world.replies = [call("web_fetch", {"url": url}), say("done")]

    await world.run(approve=Person())

    assert [(line["subject"], line["decision"]) for line in world.audit("url")] == [(url, "allowed")]


def trust(world: World) -> None:
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review(one.found) for one in app.skills if one.name == "guest"])


async def test_a_server_of_the_projects_config_runs_in_the_sandbox(world: World) -> None:
    plain = Path(__file__).parents[1] / "agent" / "mcp" / "servers" / "plain.py"
    (world.project / "server.py").write_text(plain.read_text())
    server = '[mcp.servers.files]\ncommand = "python3"\nargs = ["server.py"]\ntrusted = true\nsandbox = "none"\n'
    (world.project / ".clawft" / "config.toml").write_text(server)
    open_app(world.environ, str(world.project)).approve_config()
    world.replies = [call("files__write", {"path": str(world.project / "pwned")}), say("done")]

    (ended,) = only(await world.run(approve=Person()), ToolFinished)

    assert "no: " in str(ended.result)
    assert not (world.project / "pwned").exists()
    lines = map(json.loads, (world.user_dir / "audit.jsonl").read_text().splitlines())
    (started,) = [line for line in lines if line["kind"] == "command"]
    assert (started["subject"], started["detail"]["sandbox"]) == ("python3 server.py", "confined")
