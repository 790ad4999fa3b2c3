"""Manifests of other clients: Agent Plugins 1.0 as its specification has it, and Claude Code's as they are found."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.contracts import Permissions
from clawft.errors import ClawftError, Unreadable
from clawft.skills.parse.client_plugins import (
    is_agent_plugin,
    parse_agent_plugin,
    parse_claude_plugin,
    parse_marketplace,
)
from clawft.skills.parse.plugin import PluginManifest

BASE = "https://agent-plugins.org/schemas/1.0.0"
AGENT, CLAUDE = "/p/plugin.json", "/p/.claude-plugin/plugin.json"


def reader(files: dict[str, Any]) -> Callable[[str], bytes | None]:
    def read(path: str) -> bytes | None:
        if path.startswith(".."):
            raise Unreadable("plugin-path", "It does not lie in the plugin's folder", path=path)
        content = files.get(path)
        return content if content is None or isinstance(content, bytes) else json.dumps(content).encode()

    return read


def agent(servers: Any = None, **manifest: Any) -> PluginManifest:
    raw = {"$schema": f"{BASE}/plugin.schema.json", "name": "my-plugin", **manifest}
    files = {} if servers is None else {"mcp.json": {"$schema": f"{BASE}/mcp.schema.json", "mcpServers": servers}}
    return parse_agent_plugin(json.dumps(raw).encode(), AGENT, reader(files))


def claude(files: dict[str, Any] | None = None, **manifest: Any) -> PluginManifest:
    return parse_claude_plugin(json.dumps({"name": "helper", **manifest}).encode(), CLAUDE, reader(files or {}))


def told(manifest: PluginManifest) -> str:
    return "\n".join(f"{one.code} {one.severity}: {one.message}" for one in manifest.diagnostics)


def test_the_full_manifest_of_the_specification_is_read() -> None:
    manifest = agent(
        version="not semver",
        description="Brief",
        author={"name": "Author Name", "email": "author@example.com", "url": "https://example.com"},
        homepage="https://docs.example.com/plugin",
        repository="https://github.com/example/plugin",
        license="MIT",
        keywords=["keyword1", "keyword2"],
        extensions={"com.example.client": {"setting": True}},
    )
    assert (manifest.id, manifest.version, manifest.author) == ("my-plugin", "not semver", "Author Name")
    assert (manifest.skill_dirs, manifest.dialect) == (("skills",), "agent-plugins")
    assert manifest.diagnostics == ()


@pytest.mark.parametrize("name", ["my-plugin", "acme.tools", "lint3r", "a", "a" * 64])
def test_names_that_the_specification_allows(name: str) -> None:
    assert agent(name=name).id == name


@pytest.mark.parametrize(
    "name", ["My-Plugin", "-start", "end-", "has--double", "too.many..dots", "", "a" * 65, 7, None]
)
def test_names_that_it_does_not(name: Any) -> None:
    with pytest.raises(ClawftError, match="name"):
        agent(name=name)


@pytest.mark.parametrize(
    "changes",
    [
        {"$schema": f"{BASE.replace('1.0.0', '9.0.0')}/plugin.schema.json"},
        {"$schema": 1},
        {"version": 1},
        {"keywords": "one"},
        {"author": "Jane"},
        {"author": {"name": "Jane", "phone": "1"}},
        {"author": {"name": 1}},
    ],
)
def test_any_other_violation_of_the_schema_is_fatal(changes: dict[str, Any]) -> None:
    with pytest.raises(ClawftError) as refused:
        agent(**changes)
    assert refused.value.code == "plugin-manifest"
    assert next(iter(changes)) in str(refused.value)


def test_unknown_fields_and_odd_extensions_are_told_and_do_no_harm() -> None:
    manifest = agent(skills="./elsewhere", hooks={}, extensions=[1])
    assert manifest.skill_dirs == ("skills",)
    assert "'skills' is not known" in told(manifest)
    assert "'hooks' is not known" in told(manifest)
    assert "'extensions' is no mapping" in told(manifest)


def test_the_servers_of_the_specification_are_read_and_what_they_need_is_asked_for() -> None:
    manifest = agent(
        {
            "local-validator": {
                "type": "stdio",
                "command": "./bin/validator",
                "args": ["--data", "${PLUGIN_DATA}/validator"],
                "env": {"CONFIG": "${PLUGIN_ROOT}/config.json", "KEPT": "${HOME}"},
                "cwd": "${PLUGIN_ROOT}",
            },
            "deployment-api": {
                "type": "streamable-http",
                "url": "https://deploy.example.com/mcp",
                "headers": {"X-Tenant": "public-tenant"},
            },
            "legacy-events": {"type": "sse", "url": "https://legacy.example.com/sse"},
        }
    )
    assert [one.name for one in manifest.servers] == ["local-validator", "deployment-api"]
    assert all(one.literal for one in manifest.servers)
    assert manifest.permissions == Permissions(network=("*", "deploy.example.com"), shell=True)
    assert "'legacy-events' is left out: the old transport" in told(manifest)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"type": "stdio"}, "command"),
        ({"command": "x"}, "type"),
        ({"type": "stdio", "command": "x", "url": "https://x.example"}, "url"),
        ({"type": "stdio", "command": "../bin/server"}, "command"),
        ({"type": "stdio", "command": "./../server"}, "command"),
        ({"type": "stdio", "command": "/bin/sh"}, "command"),
        ({"type": "stdio", "command": "x", "cwd": "data"}, "cwd"),
        ({"type": "stdio", "command": "x", "cwd": "./../.."}, "cwd"),
        ({"type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOT}/../x"}, "cwd"),
        ({"type": "stdio", "command": "x", "cwd": "${PLUGIN_ROOTS}"}, "cwd"),
        ({"type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "/"}}, "PLUGIN_ROOT"),
        ({"type": "stdio", "command": "x", "args": "one"}, "args"),
        ({"type": "streamable-http", "url": "https://"}, "url"),
        ({"type": "streamable-http", "url": "https://x.example", "headers": {"A": "1", "a": "2"}}, "header"),
        ({"type": "http", "url": "https://x.example"}, "type"),
        ([], "type"),
    ],
)
def test_one_server_that_is_wrong_costs_no_other(server: Any, said: str) -> None:
    manifest = agent({"bad": server, "good": {"type": "stdio", "command": "x"}})
    assert [one.name for one in manifest.servers] == ["good"]
    (one,) = manifest.diagnostics
    assert one.code == "plugin-servers"
    assert "'bad' is left out" in one.message
    assert said in one.message


@pytest.mark.parametrize(
    "content", [b"{", b"[]", {"mcpServers": {}}, {"$schema": f"{BASE}/mcp.schema.json", "mcpServers": {}, "x": 1}]
)
def test_a_file_of_servers_that_is_wrong_costs_the_servers_alone(content: Any) -> None:
    data = json.dumps({"$schema": f"{BASE}/plugin.schema.json", "name": "my-plugin"}).encode()
    manifest = parse_agent_plugin(data, AGENT, reader({"mcp.json": content}))
    assert (manifest.servers, manifest.skill_dirs) == ((), ("skills",))
    assert "its servers are left out" in told(manifest)


def test_a_plugin_json_of_another_program_is_not_taken_for_one() -> None:
    assert is_agent_plugin(json.dumps({"$schema": f"{BASE}/plugin.schema.json"}).encode())
    for data in (b"{", b"[]", b'{"type": "panel"}', b'{"$schema": "https://example.com"}', b"[" * 100_000):
        assert not is_agent_plugin(data)


def test_claudes_manifest_says_where_things_are_beside_or_in_place_of_the_usual_folders() -> None:
    plain = claude()
    assert (plain.skill_dirs, plain.command_dirs, plain.agent_dirs) == (("skills",), ("commands",), ("agents",))
    assert plain.hook_files == ("hooks/hooks.json",)
    manifest = claude(
        displayName="The Helper",
        version="2.1.0",
        author="Jane Developer <jane@example.com>",
        skills=["./more", "./skills/"],
        commands=["./custom/one.md", "./custom/two.md"],
        agents="./custom/agents/",
        hooks="./config/hooks.json",
        keywords=["x"],
    )
    assert (manifest.id, manifest.name, manifest.version) == ("helper", "The Helper", "2.1.0")
    assert manifest.skill_dirs == ("skills", "more")
    assert manifest.command_dirs == ("custom/one.md", "custom/two.md")
    assert (manifest.agent_dirs, manifest.hook_files) == (("custom/agents",), ("config/hooks.json",))
    assert manifest.diagnostics == ()
    assert claude(hooks={"Stop": []}).hook_files == (".claude-plugin/plugin.json",)
    by_name = claude(commands={"a": {"source": "./a.md"}, "b": {"content": "Do it"}})
    assert by_name.command_dirs == ("a.md",)
    assert "written into the manifest" in told(by_name)


def test_what_is_not_used_here_and_what_nobody_knows_is_told() -> None:
    unused = ["lspServers", "outputStyles", "dependencies", "userConfig", "channels", "monitors", "experimental"]
    manifest = claude(**{one: {} for one in unused}, skillz="./x")
    for one in unused:
        assert f"plugin-unused note: '{one}'" in told(manifest)
    assert "plugin-unknown-key warning: 'skillz'" in told(manifest)


@pytest.mark.parametrize("path", ["/etc", "../x", "./a/../../b", "~/x", "a\\b", "x\0y", "", "a" * 500, 7, None, {}])
def test_paths_that_lead_out_are_not_used_and_told(path: Any) -> None:
    manifest = claude(skills=[path], agents=[path])
    assert (manifest.skill_dirs, manifest.agent_dirs) == (("skills",), ())
    assert told(manifest).count("plugin-path") == 2


@pytest.mark.parametrize("name", [None, 7, "", "a b", "../x", "a/b", "a..b", "x" * 80, "\u202e", "-a"])
def test_a_plugin_of_claudes_needs_a_name_that_can_be_one(name: Any) -> None:
    with pytest.raises(ClawftError) as refused:
        claude(name=name)
    assert refused.value.code == "plugin-manifest"


def test_claudes_servers_stand_in_the_manifest_in_files_or_in_the_usual_file() -> None:
    stdio, http = {"command": "npx", "args": ["-y", "x"]}, {"type": "http", "url": "https://mcp.example.com:8443/mcp"}
    assert [one.name for one in claude({".mcp.json": {"mcpServers": {"a": stdio}}}).servers] == ["a"]
    assert [one.name for one in claude({".mcp.json": {"a": stdio, "b": http}}).servers] == ["a", "b"]
    assert [one.name for one in claude({".mcp.json": {"a": stdio}}, mcpServers={"b": http}).servers] == ["b"]
    assert [one.name for one in claude({"x.json": {"a": stdio}}, mcpServers="./x.json").servers] == ["a"]
    both = claude({"x.json": {"a": stdio}}, mcpServers=["./x.json", {"b": http}])
    assert [one.name for one in both.servers] == ["a", "b"]
    assert both.permissions == Permissions(network=("*", "mcp.example.com:8443"), shell=True)


def test_variables_that_claudes_servers_are_written_with_are_asked_for_by_name() -> None:
    server = {
        "command": "${CLAUDE_PLUGIN_ROOT}/run",
        "args": ["${CLAUDE_PROJECT_DIR}", "${HOST:-localhost}"],
        "env": {"TOKEN": "${GITHUB_TOKEN}", "D": "${CLAUDE_PLUGIN_DATA}", "ODD": "${not a name}"},
    }
    remote = {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}
    asked = claude(mcpServers={"a": server, "b": remote}).permissions
    assert asked.env_vars == ("HOST", "GITHUB_TOKEN", "KEY")


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"a": {"type": "sse", "url": "https://x.example"}}, "transport 'sse'"),
        ({"a": {"type": "ws", "url": "wss://x.example"}}, "transport 'ws'"),
        ({"a": {"args": []}}, "command"),
        ({"a": []}, "no mapping"),
        ({"a": {"command": "x", "env": {"K": "${user_config.key}"}}}, "user_config.key"),
        ({"a": {"command": 7}}, "command"),
        ("./gone.json", "no such file"),
        ("./server.mcpb", "Bundles"),
        ("../out.json", "does not lie"),
        (7, "neither a path nor a mapping"),
    ],
)
def test_servers_of_claudes_that_cannot_be_used_are_told(servers: Any, said: str) -> None:
    manifest = claude(mcpServers=servers)
    assert manifest.servers == ()
    assert said in told(manifest)
    assert manifest.skill_dirs == ("skills",)


def test_what_a_server_says_beside_is_told_and_more_servers_than_one_can_use_are_left_out() -> None:
    manifest = claude(mcpServers={"a": {"command": "x", "alwaysLoad": True, "oauth": {}}})
    assert len(manifest.servers) == 1
    assert "'alwaysLoad', 'oauth' of the server 'a' is not used" in told(manifest)
    many = claude(mcpServers={f"s{number}": {"command": "x"} for number in range(100)})
    assert len(many.servers) == 32
    assert "more than 32" in told(many)


def test_a_marketplace_tells_where_its_plugins_and_skills_lie() -> None:
    plugins: list[Any] = [
        {"name": "a", "source": "./plugins/a"},
        {"name": "b", "source": {"source": "github", "repo": "x/y"}},
        {"name": "c", "source": "../../etc"},
        {"name": "d", "source": "./", "skills": ["./skills/x", "/etc", 7]},
    ]
    assert parse_marketplace(json.dumps({"plugins": plugins}).encode()) == (("plugins/a",), ("skills/x",))
    for data in (b"{", b"[]", b'{"plugins": 7}', b'{"plugins": [7]}', b"[" * 100_000):
        assert parse_marketplace(data) == ((), ())


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(["./a", "${X}", "stdio"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.just("command"), inner),
    max_leaves=8,
)
_USED = ("skills", "commands", "agents", "hooks", "mcpServers", "author", "version", "displayName", "description")


@given(st.dictionaries(st.sampled_from(_USED), _ANY, max_size=4))
def test_whatever_stands_in_claudes_manifest_what_is_taken_lies_in_the_folder(changes: dict[str, Any]) -> None:
    manifest = claude(**changes)
    for path in (*manifest.skill_dirs, *manifest.command_dirs, *manifest.agent_dirs, *manifest.hook_files):
        assert not path.startswith(("/", "~"))
        assert ".." not in path.split("/")


@given(_ANY)
def test_whatever_servers_agent_plugins_names_the_manifest_is_read(servers: Any) -> None:
    assert agent(servers).id == "my-plugin"
