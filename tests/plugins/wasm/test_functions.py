"""Every function of the world, both ways: what a component is given, and what it is refused."""

import json
import os
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import anyio
import pytest

from clawft.config.tools import WebSettings
from clawft.contracts import Permissions
from wasm_guests import ECHO, GET_CONFIG, GET_ENV, HTTP_GET, HTTP_POST, LOG, READ_FILE, WRITE_FILE, repeat
from wasm_yard import WasmYard

pytestmark = pytest.mark.anyio
SETTINGS = {
    "type": "object",
    "properties": {
        "unit": {"type": "string", "default": "metric"},
        "depth": {"type": "integer"},
        "paths": {"type": "object", "properties": {"out": {"type": "string", "default": "here"}}},
    },
}


async def test_execute_tool_is_given_name_and_arguments_and_gives_content(yard: WasmYard) -> None:
    yard.add_code(ECHO)
    async with yard.open() as plugins:
        assert await yard.ask(plugins, "Grüße, 世界") == ('{"s":"Grüße, 世界"}', False)


async def test_content_that_is_a_text_in_json_is_read_as_that_text(yard: WasmYard) -> None:
    quote = "(call $answer (i32.add (local.get 2) (i32.const 5)) (i32.sub (local.get 3) (i32.const 6)) (i32.const 1))"
    yard.add_code(quote)
    async with yard.open() as plugins:
        assert await yard.ask(plugins, 'two\nlines and a "quote"') == ('two\nlines and a "quote"', True)


async def test_get_config_gives_settings_defaults_and_tables_as_json(yard: WasmYard) -> None:
    yard.add_code(GET_CONFIG, config_schema=SETTINGS)
    async with yard.open({"entries": {"org.example.guest": {"config": {"depth": 3}}}}) as plugins:
        assert await yard.ask(plugins, "unit") == ("metric", False)
        assert await yard.ask(plugins, "depth") == ("3", False)
        assert await yard.ask(plugins, "paths") == ('{"out":"here"}', False)
        assert await yard.ask(plugins, "paths.out") == ("here", False)
        assert (await yard.ask(plugins, "paths.in"))[1]
        assert (await yard.ask(plugins, ""))[1]


async def test_get_env_gives_what_was_granted_and_nothing_else(yard: WasmYard) -> None:
    yard.environ |= {"UNIT_TOKEN": "tok-123456789", "HOME_TOKEN": "secret"}
    yard.add_code(GET_ENV, permissions={"env_vars": ["UNIT_TOKEN", "UNSET"]})
    async with yard.open() as plugins:
        assert await yard.ask(plugins, "UNIT_TOKEN") == ("tok-123456789", False)
        assert (await yard.ask(plugins, "UNSET"))[1]
        assert (await yard.ask(plugins, "HOME_TOKEN"))[1]
    assert yard.denials() == ["variable HOME_TOKEN"]
    assert yard.secrets.mask("tok-123456789") == "<secret>"


async def test_get_env_gives_nothing_that_was_asked_for_and_not_granted(yard: WasmYard) -> None:
    yard.environ["UNIT_TOKEN"] = "tok-123456789"
    yard.add_code(GET_ENV, permissions={"env_vars": ["UNIT_TOKEN"]}, grant=Permissions(env_vars=("OTHER",)))
    async with yard.open() as plugins:
        assert (await yard.ask(plugins, "UNIT_TOKEN"))[1]


async def test_log_writes_lines_with_their_level_to_the_plugins_log(yard: WasmYard) -> None:
    yard.add_code(LOG)
    async with yard.open() as plugins:
        await yard.ask(plugins, "it is late")
    assert "warn: it is late" in yard.log("org.example.guest")


async def test_a_flood_of_log_lines_is_cut(yard: WasmYard) -> None:
    yard.add_code(f"{repeat(3000, f'{LOG} drop')} {ECHO}")
    async with yard.open() as plugins:
        await yard.ask(plugins, "again")
    lines = yard.log("org.example.guest").splitlines()
    assert len(lines) == 1001
    assert "left out" in lines[-1]


async def test_files_are_written_to_the_data_folder_and_read_back(yard: WasmYard) -> None:
    yard.add_code(WRITE_FILE)
    yard.add_code(READ_FILE, "org.example.reader")
    async with yard.open() as plugins:
        assert await yard.ask(plugins, "notes/today.txt") == ("", False)
        assert (yard.user_dir / "plugin-data/org.example.guest/notes/today.txt").read_text() == "notes/today.txt"
        data = yard.user_dir / "plugin-data/org.example.reader"
        data.mkdir(parents=True, exist_ok=True)
        (data / "a.txt").write_text("mine")
        assert await yard.ask(plugins, "a.txt", "org.example.reader") == ("mine", False)


async def test_a_path_leads_to_one_place_whatever_lies_elsewhere(yard: WasmYard) -> None:
    yard.add_code(READ_FILE, permissions={"filesystem": [".:ro"]}, files={"a.txt": "shipped", "b.txt": "shipped"})
    data = yard.user_dir / "plugin-data/org.example.guest"
    data.mkdir(parents=True)
    (data / "a.txt").write_text("data")
    for name in ("a.txt", "c.txt"):
        (yard.project / name).write_text("of the project")
    async with yard.open() as plugins:
        assert await yard.ask(plugins, "a.txt") == ("data", False)
        assert await yard.ask(plugins, "plugin:a.txt") == ("shipped", False)
        assert await yard.ask(plugins, "project:a.txt") == ("of the project", False)
        for path in ("b.txt", "c.txt", "plugin:c.txt", "project:b.txt"):
            assert await yard.ask(plugins, path) == (f"There is no '{path}'", True)


async def test_what_the_plugin_ships_is_not_written(yard: WasmYard) -> None:
    folder = yard.add_code(WRITE_FILE, files={"table.txt": "shipped"})
    async with yard.open() as plugins:
        said, is_error = await yard.ask(plugins, "plugin:table.txt")
    assert is_error
    assert "may not be written" in said
    assert yard.denials() == ["write plugin:table.txt"]
    assert (folder / "table.txt").read_text() == "shipped"


async def test_granted_folders_are_read_and_written_and_some_only_read(yard: WasmYard, tmp_path: Path) -> None:
    shared, fixed = tmp_path / "shared", tmp_path / "fixed"
    for one in (shared, fixed):
        one.mkdir()
        (one / "a.txt").write_text(one.name)
    asked = {"filesystem": [str(shared), f"{fixed}:ro"]}
    yard.add_code(READ_FILE, permissions=asked)
    yard.add_code(WRITE_FILE, "org.example.writer", permissions=asked)
    async with yard.open() as plugins:
        assert await yard.ask(plugins, f"{shared}/a.txt") == ("shared", False)
        assert await yard.ask(plugins, f"{fixed}/a.txt") == ("fixed", False)
        assert await yard.ask(plugins, f"{shared}/b.txt", "org.example.writer") == ("", False)
        said, is_error = await yard.ask(plugins, f"{fixed}/b.txt", "org.example.writer")
    assert is_error
    assert "may not be written" in said
    assert (shared / "b.txt").read_text() == f"{shared}/b.txt"
    assert not (fixed / "b.txt").exists()


async def test_a_path_in_the_project_has_to_lie_in_what_was_granted(yard: WasmYard) -> None:
    for name in ("notes.txt", "docs/a.txt"):
        (yard.project / name).parent.mkdir(exist_ok=True)
        (yard.project / name).write_text(name)
    (yard.project / "docs/out").symlink_to("/etc")
    asked = {"filesystem": ["docs"]}
    yard.add_code(READ_FILE, permissions=asked)
    yard.add_code(WRITE_FILE, "org.example.writer", permissions=asked)
    closed = ["project:notes.txt", "project:docs/out/passwd", "project:../home/a", "project:/etc/passwd", "project:~/a"]
    async with yard.open() as plugins:
        assert await yard.ask(plugins, "project:docs/a.txt") == ("docs/a.txt", False)
        assert await yard.ask(plugins, "project:docs/b.txt", "org.example.writer") == ("", False)
        for path in closed:
            said, is_error = await yard.ask(plugins, path)
            assert is_error
            assert "nothing that was granted" in said
    assert yard.denials() == [f"read {path}" for path in closed]
    assert (yard.project / "docs/b.txt").read_text() == "project:docs/b.txt"


async def test_secrets_and_what_gives_power_stay_closed_inside_of_a_granted_folder(yard: WasmYard) -> None:
    for name in (".env", ".git/config", "AGENTS.md", "a.txt"):
        (yard.project / name).parent.mkdir(exist_ok=True)
        (yard.project / name).write_text(name)
    (yard.project / "link").symlink_to(".env")
    asked = {"filesystem": ["."]}
    yard.add_code(READ_FILE, permissions=asked)
    yard.add_code(WRITE_FILE, "org.example.writer", permissions=asked)
    async with yard.open() as plugins:
        for path in ("project:.env", "project:link", f"{yard.project}/.env"):
            assert "secrets" in (await yard.ask(plugins, path))[0]
        assert await yard.ask(plugins, "project:.git/config") == (".git/config", False)
        for path in (".git/config", ".git/hooks/pre-commit", "AGENTS.md", ".env", "sub/.claude/settings.json"):
            assert (await yard.ask(plugins, f"{yard.project}/{path}", "org.example.writer"))[1]
        assert await yard.ask(plugins, f"{yard.project}/a.txt", "org.example.writer") == ("", False)
    assert (yard.project / ".git/config").read_text() == ".git/config"
    assert not (yard.project / "sub").exists()


async def test_a_secret_file_that_was_granted_by_name_is_read(yard: WasmYard) -> None:
    (yard.project / ".env").write_text("KEY=1")
    yard.add_code(READ_FILE, permissions={"filesystem": [".", ".env:ro"]})
    async with yard.open() as plugins:
        assert await yard.ask(plugins, f"{yard.project}/.env") == ("KEY=1", False)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../org.example.other/a", "..", ".", "a/../../b", "~/.clawft/trust.key", "plugin:../a", "project:"],
)
async def test_a_file_outside_of_what_was_granted_is_denied(yard: WasmYard, path: str) -> None:
    yard.add_code(READ_FILE)
    yard.add_code(WRITE_FILE, "org.example.writer")
    async with yard.open() as plugins:
        for one in ("org.example.guest", "org.example.writer"):
            _, is_error = await yard.ask(plugins, path, one)
            assert is_error
    assert yard.denials() == [f"read {path}", f"write {path}"]


async def test_links_do_not_lead_out_of_the_data_folder(yard: WasmYard, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    data = yard.user_dir / "plugin-data/org.example.guest"
    data.mkdir(parents=True)
    (data / "file").symlink_to(tmp_path / "secret.txt")
    (data / "folder").symlink_to(tmp_path)
    yard.add_code(READ_FILE)
    async with yard.open() as plugins:
        for path in ("file", "folder/secret.txt"):
            said, is_error = await yard.ask(plugins, path)
            assert is_error
            assert "leads out" in said
    assert yard.denials() == ["read file", "read folder/secret.txt"]


async def test_links_do_not_lead_out_of_a_granted_folder(yard: WasmYard, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (shared / "link").symlink_to("../secret.txt")
    yard.add_code(WRITE_FILE, permissions={"filesystem": [str(shared)]})
    async with yard.open() as plugins:
        assert (await yard.ask(plugins, f"{shared}/link"))[1]
        assert (await yard.ask(plugins, f"{shared}/../secret.txt"))[1]
    assert (tmp_path / "secret.txt").read_text() == "secret"


async def test_what_is_no_text_or_no_file_is_an_answer(yard: WasmYard) -> None:
    data = yard.user_dir / "plugin-data/org.example.guest"
    data.mkdir(parents=True)
    (data / "picture").write_bytes(b"\xff\xfe\xfd")
    (data / "large").write_bytes(bytes((4 << 20) + 1))
    os.mkfifo(data / "pipe")
    yard.add_code(READ_FILE)
    async with yard.open() as plugins:
        answers = {name: await yard.ask(plugins, name) for name in ("picture", "large", "pipe", "nothing")}
    assert all(is_error for _, is_error in answers.values())
    assert "UTF-8" in answers["picture"][0]
    assert "no 'nothing'" in answers["nothing"][0]


async def test_the_users_own_folder_cannot_be_granted(yard: WasmYard) -> None:
    yard.add_code(READ_FILE, permissions={"filesystem": [str(yard.home)]})
    async with yard.open() as plugins:
        failure = await yard.fail(plugins, str(yard.user_dir / "audit.jsonl"))
    assert failure.code == "plugin-permissions"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])).decode())

    def _answer(self, body: str) -> None:
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("location", self.path[4:])
            self.end_headers()
            return
        told = {"method": self.command, "path": self.path, "body": body, "x": self.headers.get("x-test")}
        content = b"x" * (5 << 20) if self.path == "/large" else json.dumps(told).encode()
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    """A server on this machine."""
    with HTTPServer(("127.0.0.1", 0), _Handler) as made:
        thread = Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join()


async def test_a_granted_host_is_reached_with_method_headers_and_body(yard: WasmYard, server: str) -> None:
    asked = {"network": [server]}
    yard.add_code(HTTP_GET, texts="GET", permissions=asked)
    yard.add_code(HTTP_POST, "org.example.poster", texts="POSTx-test", permissions=asked)
    async with yard.open() as plugins:
        said, is_error = await yard.ask(plugins, f"http://{server}/a")
        posted, _ = await yard.ask(plugins, f"http://{server}/b", "org.example.poster")
    assert not is_error
    assert json.loads(said) == {"method": "GET", "path": "/a", "body": "", "x": None}
    assert json.loads(posted) == {"method": "POST", "path": "/b", "body": f"http://{server}/b", "x": "x-test"}
    assert f"http://{server}/a" in [one["subject"] for one in yard.audited() if one["decision"] == "allowed"]


async def test_a_host_that_was_not_granted_is_denied_and_so_is_a_redirect_to_it(yard: WasmYard, server: str) -> None:
    yard.add_code(HTTP_GET, texts="GET", permissions={"network": [server]})
    async with yard.open() as plugins:
        for url in ("http://localhost:9/a", f"http://{server}/to/http://localhost:9/b"):
            said, is_error = await yard.ask(plugins, url)
            assert is_error
            assert "not granted" in said
    assert yard.denials() == ["http://localhost:9/a", "http://localhost:9/b"]
    line = "host: refused: http://localhost:9/a: not granted (weft plugins grant org.example.guest)"
    assert line in yard.log("org.example.guest")


async def test_without_a_granted_host_nothing_is_reached(yard: WasmYard, server: str) -> None:
    yard.add_code(HTTP_GET, texts="GET")
    async with yard.open() as plugins:
        said, is_error = await yard.ask(plugins, f"http://{server}/a")
    assert is_error
    assert "no host was granted" in said
    assert yard.denials() == [f"http://{server}/a"]


async def test_the_url_policy_holds_for_granted_hosts(yard: WasmYard, server: str) -> None:
    yard.web = WebSettings()
    yard.add_code(HTTP_GET, texts="GET", permissions={"network": [server, "*"]})
    async with yard.open() as plugins:
        for url in (f"http://{server}/a", "file:///etc/passwd", "http://user@example.com/", "no address"):
            assert (await yard.ask(plugins, url))[1]
    assert len(yard.denials()) == 4


async def test_answers_that_are_errors_too_large_or_none_are_told(yard: WasmYard, server: str) -> None:
    yard.add_code(HTTP_GET, texts="GET", permissions={"network": [server, "127.0.0.1:1"]})
    async with yard.open() as plugins:
        missing, large, closed = [
            await yard.ask(plugins, url)
            for url in (f"http://{server}/none", f"http://{server}/large", "http://127.0.0.1:1/")
        ]
    assert missing[1]
    assert missing[0].startswith("HTTP 404")
    assert large[1]
    assert "more than" in large[0]
    assert closed[1]


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield f"127.0.0.1:{made.getsockname()[1]}"


async def test_a_request_ends_with_the_time_of_its_call(yard: WasmYard, silent: str) -> None:
    yard.add_code(HTTP_GET, texts="GET", permissions={"network": [silent]})
    async with yard.open({"wasm": {"timeout_s": 0.2}}) as plugins:
        with anyio.fail_after(60):
            failure = await yard.fail(plugins, f"http://{silent}/")
    assert failure.code == "plugin-timeout"


async def test_cancelling_a_call_ends_its_request(yard: WasmYard, silent: str) -> None:
    yard.add_code(HTTP_GET, texts="GET", permissions={"network": [silent]})
    async with yard.open() as plugins:
        with anyio.move_on_after(0.2) as scope:
            await yard.ask(plugins, f"http://{silent}/")
        assert scope.cancelled_caught


async def test_a_use_is_written_down_with_plugin_tool_digest_and_outcome(yard: WasmYard) -> None:
    yard.add_code(ECHO)
    async with yard.open() as plugins:
        await yard.ask(plugins)
    used = [line for line in yard.audited() if line["decision"] == "used"]
    assert [(one["kind"], one["subject"], one["detail"]) for one in used] == [
        ("plugin", "try_it", {"plugin": "org.example.guest", "outcome": "success"})
    ]
    assert yard.statuses[0].grant is not None
    assert used[0]["digest"] == yard.statuses[0].grant.digest
