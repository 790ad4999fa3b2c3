"""`weft onboard`: a conversation at a real terminal, what it writes, and that no key is ever shown."""

import json
import re
import stat
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clawft.cli.onboard.clients import find_importable_servers
from clawft.cli.onboard.servers import local_addresses
from clawft.config.agents import ProviderSettings
from clawft.workspace import find_workspace
from talk import WAIT_S, Talk
from wire import Asked, Reply, WireServer, fail, say

Weft = Callable[..., subprocess.CompletedProcess[str]]
KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def env(child_env: dict[str, str]) -> dict[str, str]:
    """No keyring of the developer's, and no server at Ollama's usual port."""
    unused = "127.0.0.1:9"
    return {**child_env, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", "OLLAMA_HOST": unused}


@pytest.fixture
def talk(project: Path, env: dict[str, str]) -> Iterator[Callable[..., Talk]]:
    opened: list[Talk] = []

    def start(*args: str, **environ: str) -> Talk:
        opened.append(Talk(["weft", "onboard", *args], project, {**env, **environ}))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.fixture
def onboard(weft: Weft, env: dict[str, str]) -> Weft:
    """`weft onboard ARGS…` without a terminal."""

    def run(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        return weft("onboard", *args, **{**env, **environ})

    return run


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".clawft" / "config.toml"


def _write(path: Path, content: str | dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def _host(server: WireServer) -> str:
    return server.url.removeprefix("http://").removesuffix("/v1")


def _only_with_key(reply: Callable[[], Reply]) -> Callable[[Asked], Reply]:
    """A server that answers who has the key."""
    return lambda asked: reply() if asked.headers.get("authorization") == f"Bearer {KEY}" else fail(401, "no key")


def _models(*names: str) -> Reply:
    body = json.dumps({"data": [{"id": name} for name in names]}).encode()
    return Reply(headers=(("content-type", "application/json"),), raw=(body,))


def _everything_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "keys.json")


def test_without_a_terminal_it_refuses_and_says_what_to_pass(onboard: Weft, config: Path) -> None:
    done = onboard()

    assert (done.returncode, done.stdout) == (3, "")
    assert "error[needs-yes]" in done.stderr
    assert "--yes" in done.stderr
    assert not config.exists()


def test_yes_takes_the_server_of_this_machine_that_answers(onboard: Weft, config: Path) -> None:
    with WireServer([say("ready")], models=("tiny-1", "tiny-2")) as server:
        done = onboard("--yes", OLLAMA_HOST=_host(server))

    assert (done.returncode, done.stdout) == (0, "")
    assert "server ollama: 2 models" in done.stderr
    assert "it answered after" in done.stderr
    text = config.read_text()
    assert tomllib.loads(text) == {
        "agents": {"defaults": {"model": "ollama/tiny-1"}},
        "providers": {"ollama": {"base_url": server.url}},
    }
    assert text.startswith("# Settings of weft")
    assert "# what answers" in text
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert server.asked[0].body["max_tokens"] == 16


def test_probe_of_a_port_carries_no_key(onboard: Weft, config: Path) -> None:
    with WireServer([say("ready")], models=("tiny",)) as server:
        _write(config, f'[providers.mine]\nbase_url = "{server.url}"\napi_key = {{ env = "MINE" }}\n')
        onboard("--yes", MINE=KEY)

    assert "authorization" not in server.listed[0].headers


def test_what_yes_wrote_answers_a_turn(onboard: Weft, weft: Weft) -> None:
    with WireServer([say("ready"), say("Hello there")], models=("tiny",)) as server:
        onboard("--yes", OLLAMA_HOST=_host(server))
        done = weft("agent", "-m", "hi")

    assert (done.returncode, done.stdout.strip()) == (0, "Hello there")


def test_yes_with_nothing_there_changes_nothing_and_says_how_to_go_on(onboard: Weft, config: Path) -> None:
    done = onboard("--yes")

    assert done.returncode == 0
    assert "Nothing to change" in done.stderr
    assert "weft onboard again" in done.stderr
    assert not config.exists()


def test_yes_chooses_no_model_that_costs(onboard: Weft, config: Path) -> None:
    done = onboard("--yes", OPENAI_API_KEY=KEY)

    assert "key for openai: OPENAI_API_KEY" in done.stderr
    assert "weft onboard --model openai/MODEL" in done.stderr
    assert KEY not in done.stderr
    assert not config.exists()


def test_yes_takes_the_model_that_is_named_even_if_the_call_fails_and_exits_1(onboard: Weft, config: Path) -> None:
    with WireServer([fail(500, "out of order")]) as server:
        _write(config, f'[providers.mine]\nbase_url = "{server.url}"\n')
        done = onboard("--yes", "--model", "mine/some", "--format", "json")

    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["schema"], document["model"]) == ("clawft.onboard.v1", "mine/some")
    assert document["test"]["error"] == "provider-failed"
    assert tomllib.loads(config.read_text())["agents"]["defaults"]["model"] == "mine/some"
    assert len(server.asked) == 1


def test_running_again_changes_nothing(onboard: Weft, config: Path) -> None:
    with WireServer([say("ready"), say("ready")], models=("tiny",)) as server:
        onboard("--yes", OLLAMA_HOST=_host(server))
        before = config.read_bytes()
        done = onboard("--yes", "--format", "json", OLLAMA_HOST=_host(server))

    assert json.loads(done.stdout)["changed"] is False
    assert config.read_bytes() == before


def test_comments_and_settings_of_an_old_file_stay(onboard: Weft, config: Path) -> None:
    _write(config, "# mine\n[skills]\nenabled = true # yes\n")
    with WireServer([say("ready")], models=("tiny",)) as server:
        onboard("--yes", OLLAMA_HOST=_host(server))

    text = config.read_text()
    assert text.startswith("# mine\n[skills]\nenabled = true # yes\n")
    assert 'model = "ollama/tiny"' in text


def test_typed_key_is_never_shown_and_is_stored_for_the_user_alone(
    talk: Callable[..., Talk], weft: Weft, config: Path, tmp_path: Path
) -> None:
    with WireServer(_only_with_key(lambda: say("Yes, I am here")), models=_only_with_key(lambda: _models("big"))) as it:
        one = talk("--format", "json")
        one.answer("Which one?", "other")
        one.answer("Its address", it.url)
        one.answer("A name for it [work]: ", "")
        one.answer("Key for work (not shown; Enter for none): ", f"  {KEY} ")
        one.answer("Which model? [big]: ", "")
        one.expect("it answered after")
        one.answer("Write this to your config? [Y/n]", "y")
        code, out = one.end()
        done = weft("agent", "-m", "hi")

    assert code == 0
    assert KEY not in one.screen + out
    assert KEY[:12] not in one.screen
    assert json.loads(out)["key"] == "work"
    assert tomllib.loads(config.read_text())["providers"]["work"] == {
        "base_url": it.url,
        "api_key": {"keystore": "work"},
    }
    keys = config.parent / "keys.json"
    assert (stat.S_IMODE(keys.stat().st_mode), json.loads(keys.read_text())["keys"]) == (0o600, {"work": KEY})
    assert done.stdout.strip() == "Yes, I am here"
    assert KEY.encode() not in _everything_below(tmp_path)


def test_config_show_tells_that_a_key_is_stored(weft: Weft, talk: Callable[..., Talk], config: Path) -> None:
    _write(config, '[providers.work]\napi_key = { keystore = "work" }\n')
    assert "key:work (not stored)" in weft("config", "show").stdout

    _write(config.parent / "keys.json", {"version": 1, "keys": {"work": KEY}})
    (config.parent / "keys.json").chmod(0o600)

    shown = weft("config", "show").stdout
    assert "key:work (stored)" in shown
    assert KEY not in shown
    assert "key:other" in weft("config", "set", "providers.work.api_key", "key:other").stdout


def test_refused_key_is_asked_for_again(talk: Callable[..., Talk], config: Path) -> None:
    with WireServer(_only_with_key(lambda: say("ready")), models=_only_with_key(lambda: _models("big"))) as it:
        _write(config, f'[providers.work]\nbase_url = "{it.url}"\napi_key = {{ keystore = "work" }}\n')
        one = talk()
        one.expect("server work: wants a key")
        one.answer("Which one?", "work")
        one.answer("Key for work", "sk-wrong-000000")
        one.expect("status 401")
        one.answer("Key for work", KEY)
        one.answer("Which model?", "1")
        one.expect("it answered")
        one.answer("Write this", "")
        code, _ = one.end()

    assert code == 0
    assert "sk-wrong" not in one.screen
    assert json.loads((config.parent / "keys.json").read_text())["keys"] == {"work": KEY}


def test_failed_call_is_explained_and_may_be_kept(talk: Callable[..., Talk], config: Path) -> None:
    with WireServer([fail(404, "no such model"), fail(404, "no such model")], models=("a", "b")) as server:
        one = talk(OLLAMA_HOST=_host(server))
        one.answer("Which one? [ollama]", "")
        one.answer("Which model?", "c")
        one.expect("error[provider-failed]")
        one.expect("hint: ")
        one.answer("What now? [a]", "a")
        one.answer("Which one?", "ollama")
        one.answer("Which model?", "d")
        one.answer("What now?", "k")
        one.answer("Write this", "")
        code, _ = one.end()

    assert code == 0
    assert tomllib.loads(config.read_text())["agents"]["defaults"]["model"] == "ollama/d"


def test_failed_call_may_leave_all_as_it_was(talk: Callable[..., Talk], config: Path) -> None:
    with WireServer([fail(500)], models=("a",)) as server:
        one = talk(OLLAMA_HOST=_host(server))
        one.answer("Which one?", "ollama")
        one.answer("Which model?", "")
        one.answer("What now?", "s")
        code, _ = one.end()

    assert code == 0
    assert "Nothing to change" in one.screen
    assert not config.exists()


def test_no_to_the_last_question_writes_nothing(talk: Callable[..., Talk], config: Path) -> None:
    with WireServer([say("ready")], models=("a",)) as server:
        one = talk(OLLAMA_HOST=_host(server))
        one.answer("Which one?", "9999")
        one.expect("Type a number from 1 to")
        one.answer("Which one?", "ollama")
        one.answer("Which model?", "")
        one.answer("Write this", "n")
        code, _ = one.end()

    assert code == 0
    assert "Nothing was written" in one.screen
    assert not config.parent.exists() or not config.exists()


@pytest.mark.parametrize("key", [b"\x03", b"\x04"], ids=["ctrl-c", "ctrl-d"])
@pytest.mark.parametrize("prompt", ["Its address", "Key for work"])
def test_leaving_at_a_question_leaves_nothing_behind(
    talk: Callable[..., Talk], config: Path, key: bytes, prompt: str
) -> None:
    one = talk()
    one.answer("Which one?", "other")
    if prompt != "Its address":
        one.answer("Its address", "http://127.0.0.1:9/v1")
        one.answer("A name", "")
    one.expect(prompt)
    one.press(key)
    code, _ = one.end()

    assert code == 130
    assert "Traceback" not in one.screen
    assert not config.exists()
    assert not (config.parent / "keys.json").exists()


def test_key_typed_at_the_wrong_question_is_not_taken(talk: Callable[..., Talk], config: Path) -> None:
    one = talk()
    one.answer("Which one?", KEY)
    one.expect("looks like a key")
    one.answer("Which one?", "offline")
    code, _ = one.end()

    assert code == 0
    assert not config.exists()


def test_key_goes_to_the_keyring_where_there_is_one(talk: Callable[..., Talk], config: Path, tmp_path: Path) -> None:
    _write(
        tmp_path / "modules" / "deskring.py",
        "import json, os\n"
        "from keyring.backend import KeyringBackend\n"
        "class Keyring(KeyringBackend):\n"
        "    priority = 5\n"
        "    path = os.environ['DESKRING']\n"
        "    def _load(self):\n"
        "        return json.load(open(self.path)) if os.path.exists(self.path) else {}\n"
        "    def get_password(self, service, username):\n"
        "        return self._load().get(username)\n"
        "    def set_password(self, service, username, password):\n"
        "        json.dump({**self._load(), username: password}, open(self.path, 'w'))\n",
    )
    ring = tmp_path / "ring.json"
    desk = {
        "PYTHONPATH": str(tmp_path / "modules"),
        "PYTHON_KEYRING_BACKEND": "deskring.Keyring",
        "DESKRING": str(ring),
    }
    with WireServer(_only_with_key(lambda: say("ready")), models=_only_with_key(lambda: _models("big"))) as it:
        one = talk(**desk)
        one.answer("Which one?", "other")
        one.answer("Its address", it.url)
        one.answer("A name", "")
        one.answer("Key for work", KEY)
        one.answer("Which model?", "")
        one.answer("Write this", "")
        code, _ = one.end()

    assert code == 0
    assert "is in the system's keyring" in one.screen
    assert json.loads(ring.read_text()) == {"work": KEY}
    assert json.loads((config.parent / "keys.json").read_text())["keys"] == {"work": None}


def test_servers_of_other_clients_are_imported_without_their_secrets(
    onboard: Weft, config: Path, project: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    servers = {
        "files": {"command": "npx", "args": ["-y", "server-files", "/tmp"], "env": {"LEVEL": "info"}},
        "my server": {"type": "http", "url": "https://tools.example.com/mcp"},
        "with-key": {"command": "tool", "env": {"TOOL_API_KEY": KEY}},
        "old": {"type": "sse", "url": "https://tools.example.com/sse"},
        "leaky": {"command": "tool", "args": ["--api-key", KEY]},
        "off": {"command": "tool", "disabled": True},
    }
    _write(
        home / ".claude.json",
        {"mcpServers": servers, "projects": {str(project): {"mcpServers": {"here": {"command": "tool"}}}}},
    )
    _write(home / ".codex" / "config.toml", '[mcp_servers.codex]\ncommand = "uvx"\nargs = ["x"]\nenv_vars = ["HOME"]\n')
    _write(home / ".cursor" / "mcp.json", "{ // not JSON")
    _write(project / ".mcp.json", {"mcpServers": {"stranger": {"command": "rm"}}})

    done = onboard("--yes", "--format", "json")

    written = tomllib.loads(config.read_text())["mcp"]["servers"]
    assert written == {
        "files": {"command": "npx", "args": ["-y", "server-files", "/tmp"], "env": {"LEVEL": "info"}},
        "my-server": {"url": "https://tools.example.com/mcp"},
        "here": {"command": "tool"},
        "codex": {"command": "uvx", "args": ["x"], "env": {"HOME": "${HOME}"}},
    }
    assert json.loads(done.stdout)["imported"] == ["files", "my-server", "here", "codex"]
    assert "# imported from ~/.claude.json" in config.read_text()
    for reason in ("old SSE transport", "arguments hold a secret", "disabled there", "cannot be parsed"):
        assert reason in done.stderr
    assert KEY not in done.stderr + done.stdout + config.read_text()


def test_import_with_a_secret_asks_and_refers_to_a_variable(
    talk: Callable[..., Talk], config: Path, tmp_path: Path
) -> None:
    server = {
        "url": "https://tools.example.com/mcp",
        "headers": {"Authorization": f"Bearer {KEY}", "X-Team": "${TEAM:-blue}", "X-Other": "${env:OTHER}"},
    }
    _write(tmp_path / "home" / ".cursor" / "mcp.json", {"mcpServers": {"tools": server}})

    one = talk(OTHER="x")
    one.answer("Which one?", "offline")
    one.expect("needs TOOLS_AUTHORIZATION in the environment; a key is not copied")
    one.answer("Import tools? [y/N]", "y")
    one.answer("Write this", "")
    code, _ = one.end()

    assert code == 0
    assert tomllib.loads(config.read_text())["mcp"]["servers"]["tools"]["headers"] == {
        "Authorization": "Bearer ${TOOLS_AUTHORIZATION}",
        "X-Team": "blue",
        "X-Other": "${OTHER}",
    }
    assert KEY not in one.screen


def test_skills_of_other_clients_are_counted_and_left_where_they_are(onboard: Weft, tmp_path: Path) -> None:
    for name in ("one", "two"):
        text = f"---\nname: {name}\ndescription: d\n---\n"
        _write(tmp_path / "home" / ".claude" / "skills" / name / "SKILL.md", text)

    done = onboard("--yes")

    assert "2 skills in ~/.claude/skills, used as they are" in done.stderr


def test_broken_config_ends_it_before_any_question(onboard: Weft, config: Path) -> None:
    _write(config, "[skills]\nenabeld = 1\n")

    done = onboard("--yes")

    assert done.returncode == 1
    assert "config-unknown-key" in done.stderr


def test_help_tells_what_it_does(onboard: Weft) -> None:
    assert re.search(r"without\s+being\s+shown", onboard("--help").stdout)


def test_other_programs_on_the_usual_ports_are_not_taken_for_model_servers(onboard: Weft) -> None:
    odd = [
        Reply(headers=(("content-type", "text/html"),), raw=(b"<html>",)),
        Reply(raw=(b"[" * 100_000,)),
        Reply(raw=(b'{"data": [{"id": 3}]}',)),
        Reply(raw=(b"x",), end="stall"),
    ]
    for reply in odd:
        with WireServer(models=lambda _, reply=reply: reply) as server:  # type: ignore[misc]
            done = onboard("--yes", OLLAMA_HOST=_host(server))
        assert done.returncode == 0
        assert "nothing: no key" in done.stderr


SECRETS = [KEY, "0123456789abcdef0123456789abcdef", "ghp_0123456789abcdef0123"]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "shape",
    [
        {"command": "x", "args": ["--token", "SECRET"]},
        {"command": "x", "args": ["--apiKey=SECRET"]},
        {"command": "x", "args": ["SECRET"]},
        {"command": "x", "args": ["https://user:SECRET@example.com/"]},
        {"command": "x", "env": {"SOME_TOKEN": "SECRET"}},
        {"command": "x", "env": {"PLAIN": "SECRET"}},
        {"command": "x", "env": {"URL": "https://user:SECRET@example.com/"}},
        {"command": "x", "env": {"SOME_TOKEN": "${SOME_TOKEN:-SECRET}"}},
        {"command": "x", "env": {"PLAIN": "${OTHER}SECRET"}},
        {"url": "https://example.com/mcp?api_key=SECRET"},
        {"url": "https://example.com/mcp?x=SECRET"},
        {"url": "https://example.com/SECRET/mcp"},
        {"url": "https://user:SECRET@example.com/mcp"},
        {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer SECRET"}},
        {"url": "https://example.com/mcp", "headers": {"X-Plain": "SECRET"}},
        {"httpUrl": "https://example.com/mcp", "headers": {"x-api-key": "SECRET"}},
    ],
    ids=json.dumps,
)
def test_no_secret_of_another_client_is_in_an_offer(tmp_path: Path, shape: dict[str, Any], secret: str) -> None:
    server = json.loads(json.dumps(shape).replace("SECRET", secret))
    _write(tmp_path / ".cursor" / "mcp.json", {"mcpServers": {"tool": server}})

    (offer,) = find_importable_servers(find_workspace({"HOME": str(tmp_path)}, str(tmp_path)), {})

    assert secret not in repr(offer)
    assert offer.problem or "${" in json.dumps(offer.settings)


@pytest.mark.parametrize(
    "written",
    [
        [],
        {"mcpServers": []},
        {"mcpServers": {"x": 3}},
        {"mcpServers": {"": {"command": "x"}}},
        {"projects": []},
        {"projects": {"/": 3}},
    ],
    ids=json.dumps,
)
def test_odd_file_of_another_client_offers_nothing(tmp_path: Path, written: Any) -> None:
    _write(tmp_path / ".claude.json", json.dumps(written))

    assert find_importable_servers(find_workspace({"HOME": str(tmp_path)}, "/"), {}) == []


@pytest.mark.parametrize(
    "server",
    [
        {},
        {"command": 3},
        {"command": "x", "args": "y"},
        {"command": "x", "args": [3]},
        {"command": "x", "env": {"A": 3}},
        {"command": "x\u0000"},
        {"command": "${HOME}/x"},
        {"command": "x", "args": ["${DIR}"]},
        {"url": "http://example.com/mcp"},
        {"url": "file:///etc/passwd"},
        {"url": "https://[bad"},
        {"url": "https://example.com", "headers": {"bad name": "x"}},
        {"url": "https://example.com", "headers": 3, "type": "sse"},
    ],
    ids=json.dumps,
)
def test_server_that_could_not_be_used_is_not_offered(tmp_path: Path, server: dict[str, Any]) -> None:
    _write(tmp_path / ".claude.json", {"mcpServers": {"x": server}})

    (offer,) = find_importable_servers(find_workspace({"HOME": str(tmp_path)}, "/"), {})

    assert offer.problem
    assert offer.settings == {}


def test_references_of_codex_become_ours(tmp_path: Path) -> None:
    _write(
        tmp_path / ".codex" / "config.toml",
        """[mcp_servers.far]
url = "https://example.com/mcp"
bearer_token_env_var = "FAR_TOKEN"
env_http_headers = { X-Team = "TEAM" }
""",
    )

    (offer,) = find_importable_servers(find_workspace({"HOME": str(tmp_path)}, "/"), {"TEAM": "blue"})

    assert offer.settings["headers"] == {"X-Team": "${TEAM}", "Authorization": "Bearer ${FAR_TOKEN}"}
    assert offer.missing == ("FAR_TOKEN",)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1:4000", "http://127.0.0.1:4000/v1"),
        ("http://localhost:4000/", "http://localhost:4000/v1"),
        ("[::1]:4000", "http://[::1]:4000/v1"),
        ("models.example.com:4000", "http://127.0.0.1:11434/v1"),
        ("127.0.0.1:none", "http://127.0.0.1:11434/v1"),
    ],
)
def test_ollama_is_looked_for_where_its_variable_says_on_this_machine(host: str, url: str) -> None:
    assert local_addresses({}, {"OLLAMA_HOST": host})["ollama"] == url


def test_only_this_machine_is_looked_at_and_each_address_once() -> None:
    providers = {
        "far": ProviderSettings(base_url="https://models.example.com/v1"),
        "mine": ProviderSettings(base_url="http://127.0.0.1:8000/v1/"),
        "odd": ProviderSettings(base_url="http://[bad"),
    }

    found = local_addresses(providers, {})

    assert next(iter(found.items())) == ("mine", "http://127.0.0.1:8000/v1")
    assert not {"far", "odd", "vllm"} & set(found)
    assert len(set(found.values())) == len(found)


def test_key_of_a_named_model_is_asked_for(talk: Callable[..., Talk], config: Path) -> None:
    with WireServer(_only_with_key(lambda: say("ready"))) as it:
        _write(config, f'[providers.work]\nbase_url = "{it.url}"\napi_key = {{ env = "NOT_SET" }}\n')
        one = talk("--model", "work/big")
        one.answer("Key for work", KEY)
        one.expect("it answered")
        one.answer("Write this", "")
        code, _ = one.end()

    assert code == 0
    assert tomllib.loads(config.read_text())["providers"]["work"]["api_key"] == {"keystore": "work"}
    assert KEY not in one.screen


def test_ctrl_c_during_the_call_leaves_nothing_behind(talk: Callable[..., Talk], config: Path) -> None:
    called = threading.Event()

    def stall(_: Asked) -> Reply:
        called.set()
        return say("rea", end="stall")

    with WireServer(stall, models=("tiny",)) as server:
        one = talk(OLLAMA_HOST=_host(server))
        one.answer("Which one?", "ollama")
        one.answer("Which model?", "")
        one.expect("for one word")
        assert called.wait(WAIT_S)
        one.press(b"\x03")
        code, _ = one.end()

    assert code == 130
    assert "Traceback" not in one.screen
    assert not config.exists()


def test_config_of_a_project_that_wins_is_said(talk: Callable[..., Talk], weft: Weft, project: Path) -> None:
    _write(project / ".clawft" / "config.toml", '[agents.defaults]\nmodel = "offline"\n')
    weft("config", "trust", "--yes")
    with WireServer([say("ready")], models=("tiny",)) as server:
        one = talk(OLLAMA_HOST=_host(server))
        one.answer("Which one? [offline]", "ollama")
        one.answer("Which model?", "")
        one.answer("Write this", "")
        one.expect("sets the model to offline, and wins")
        code, _ = one.end()

    assert code == 0


def test_settings_in_json_are_kept_in_json(onboard: Weft, config: Path) -> None:
    _write(config.with_suffix(".json"), {"skills": {"enabled": True}})
    with WireServer([say("ready")], models=("tiny",)) as server:
        done = onboard("--yes", OLLAMA_HOST=_host(server))

    assert done.returncode == 0
    written = json.loads(config.with_suffix(".json").read_text())
    assert written["agents"] == {"defaults": {"model": "ollama/tiny"}}
    assert not config.exists()
