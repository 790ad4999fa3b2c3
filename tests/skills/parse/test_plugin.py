"""Our own manifest: the examples of the seed, what is refused, and a schema that is what is enforced."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.contracts import Capability, Permissions, Phase
from clawft.errors import ClawftError
from clawft.skills.parse.plugin import PluginManifest, load_schema, parse_manifest
from clawft.skills.parse.schema import check_schema

JSON = "clawft.plugin.json"
# A documented example of a manifest.
EMAIL = """{
  "id": "com.clawft.email",
  "name": "Email Channel",
  "version": "0.1.0",
  "author": "ClawFT Contributors",
  "description": "IMAP/SMTP email channel adapter with Gmail OAuth2 support",
  "min_clawft_version": "0.2.0",
  "capabilities": ["channel", "tool"],
  "skill_dirs": ["skills/email-triage", "skills/email-compose"],
  "permissions": {
    "network": ["imap.gmail.com", "smtp.gmail.com", "oauth2.googleapis.com"],
    "env_vars": ["GMAIL_CLIENT_ID", "GMAIL_CLIENT_SECRET"],
    "filesystem": ["~/.clawft/plugins/email/"],
    "shell": false
  },
  "wasm_module": null,
  "config_schema": {
    "type": "object",
    "properties": {
      "imap_host": { "type": "string", "default": "imap.gmail.com" },
      "imap_port": { "type": "integer", "default": 993 },
      "smtp_host": { "type": "string", "default": "smtp.gmail.com" },
      "smtp_port": { "type": "integer", "default": 587 }
    }
  }
}"""
EMAIL_YAML = """
id: com.clawft.email
name: Email Channel
version: 0.1.0
capabilities:
  - channel
  - tool
skill_dirs:
  - skills/email-triage
  - skills/email-compose
permissions:
  network:
    - imap.gmail.com
    - smtp.gmail.com
  env_vars:
    - GMAIL_CLIENT_ID
    - GMAIL_CLIENT_SECRET
"""
LEAST = {"id": "org.example.one", "name": "One", "version": "1.0.0", "capabilities": ["voice"]}
TOOL = {"name": "one", "description": "Does one"}


def parse(**changes: Any) -> PluginManifest:
    raw = {name: value for name, value in {**LEAST, **changes}.items() if value is not ...}
    return parse_manifest(json.dumps(raw).encode(), JSON)


def why(**changes: Any) -> str:
    with pytest.raises(ClawftError) as refused:
        parse(**changes)
    assert refused.value.code == "plugin-manifest"
    return str(refused.value)


def test_the_example_of_the_seed_is_read_and_written_back_the_same() -> None:
    manifest = parse_manifest(EMAIL.encode(), JSON)
    assert manifest.id == "com.clawft.email"
    assert manifest.capabilities == (Capability.CHANNEL, Capability.TOOL)
    assert manifest.skill_dirs == ("skills/email-triage", "skills/email-compose")
    assert manifest.permissions.filesystem == ("~/.clawft/plugins/email/",)
    assert manifest.wasm_module is None
    written = msgspec.structs.replace(manifest, diagnostics=())
    given = {name: value for name, value in json.loads(EMAIL).items() if value is not None}
    given["permissions"].pop("shell")  # what is as it is by itself is not written
    assert json.loads(msgspec.json.encode(written)) == given
    assert parse_manifest(msgspec.json.encode(written), JSON) == manifest
    # It was written before tools and channels were to be declared: it loads, and that nothing comes of it is said.
    assert [one.code for one in manifest.diagnostics] == ["plugin-capability", "plugin-capability"]


def test_the_example_in_yaml_says_the_same_as_one_in_json() -> None:
    manifest = parse_manifest(EMAIL_YAML.encode(), "clawft.plugin.yaml")
    same = json.loads(EMAIL)
    for name in ("author", "description", "min_clawft_version", "config_schema", "wasm_module"):
        del same[name]
    same["permissions"] = {"network": same["permissions"]["network"][:2], "env_vars": same["permissions"]["env_vars"]}
    other = parse_manifest(json.dumps(same).encode(), JSON)
    assert msgspec.structs.replace(manifest, diagnostics=()) == msgspec.structs.replace(other, diagnostics=())


def test_everything_that_a_manifest_can_say_is_read() -> None:
    manifest = parse(
        capabilities=["tool", "channel", "pipeline_stage", "skill", "memory"],
        tools=[{**TOOL, "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}, "read_only": True}],
        channels=["mail"],
        stages=[{"name": "mask", "phase": "pre_transport", "on_failure": "stop"}],
        memory=["sqlite"],
        skill_dirs=["skills"],
        python="pkg.plugin:Mine",
        permissions={"network": ["*"], "shell": True},
        config_schema={"type": "object", "properties": {"host": {"type": "string"}}},
        author=None,
    )
    assert manifest.tools[0].read_only
    assert (manifest.stages[0].phase, manifest.stages[0].on_failure) == (Phase.PRE_TRANSPORT, "stop")
    assert manifest.permissions == Permissions(network=("*",), shell=True)
    assert manifest.has_code
    assert manifest.diagnostics == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ...}, "'id'"),
        ({"id": "email"}, "id"),
        ({"id": "com.Example.Email"}, "id"),
        ({"id": "com.example/../../x"}, "id"),
        ({"id": "com." + "a" * 200}, "id"),
        ({"name": ""}, "name"),
        ({"version": "1"}, "version"),
        ({"version": 1.0}, "version"),
        ({"capabilities": []}, "capabilities"),
        ({"capabilities": ["tool", "rule"]}, "capabilities"),
        ({"capabilities": ["tool"], "tools": [{**TOOL, "name": "a__b"}]}, "__"),
        ({"capabilities": ["tool"], "tools": [TOOL, {**TOOL, "name": "ONE"}]}, "same name"),
        ({"capabilities": ["tool"], "tools": [{**TOOL, "root": True}]}, "root"),
        ({"capabilities": ["tool"], "tools": [{**TOOL, "parameters": {"$ref": "x"}}]}, "parameters of the tool"),
        ({"tools": [TOOL]}, "capability 'tool'"),
        ({"channels": ["mail"]}, "capability 'channel'"),
        ({"skill_dirs": ["../../.ssh"]}, "does not lie"),
        ({"skill_dirs": ["/etc"]}, "does not lie"),
        ({"skill_dirs": ["a"] * 500}, "skill_dirs"),
        ({"wasm_module": "../x.wasm"}, "does not lie"),
        ({"capabilities": ["channel"], "channels": ["a"], "wasm_module": "x.wasm"}, "WebAssembly"),
        ({"python": "os; import x:y"}, "python"),
        ({"permissions": {"root": True}}, "root"),
        ({"permissions": {"env_vars": ["A=B"]}}, "env_vars"),
        ({"permissions": {"shell": "yes"}}, "shell"),
        ({"config_schema": {"type": "string"}}, "config_schema"),
        ({"config_schema": {"properties": {"a": {"pattern": "(a+)+$", "$dynamicRef": "x"}}}}, "config_schema"),
        ({"min_clawft_version": "soon"}, "min_clawft_version"),
    ],
)
def test_a_manifest_that_cannot_be_meant_is_refused_with_what_is_wrong(changes: dict[str, Any], said: str) -> None:
    assert said in why(**changes)


@pytest.mark.parametrize("data", [b"", b"[]", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000, b'{"id": "a", "id": 1}'])
@pytest.mark.parametrize("file", [JSON, "clawft.plugin.yaml"])
def test_what_is_no_manifest_at_all_is_refused(data: bytes, file: str) -> None:
    with pytest.raises(ClawftError):
        parse_manifest(data, file)


def test_keys_that_nobody_knows_are_told_and_those_of_other_dialects_are_not_taken() -> None:
    manifest = parse(homepage="x", servers=[{"name": "x", "command": "sh"}], dialect="claude", hook_files=["x"])
    told = [one.message for one in manifest.diagnostics if one.code == "plugin-unknown-key"]
    assert [one.split("'")[1] for one in told] == ["homepage", "servers", "dialect", "hook_files"]
    assert (manifest.servers, manifest.dialect, manifest.hook_files) == ((), "clawft", ())


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["tool", "1.0.0", "org.x.y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "shell", "x"]), inner),
    max_leaves=6,
)
_KEYS = st.sampled_from([*load_schema()["properties"], "x"])


@given(st.dictionaries(_KEYS, _VALUES, max_size=4))
def test_what_the_published_schema_refuses_is_refused_whoever_checks_it(changes: dict[str, Any]) -> None:
    raw = {**LEAST, **changes}
    valid = jsonschema.Draft202012Validator(load_schema()).is_valid(raw)
    assert valid or why(**changes)  # what it lets pass may still name things that do not go together


def test_the_schema_is_one_that_others_can_use_and_names_every_field() -> None:
    schema = load_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    inner = {key: value for key, value in schema["properties"].items() if key != "$schema"}
    assert check_schema({"type": "object", "properties": inner}) == ""  # nothing in it goes unchecked
    of_others = {"dialect", "command_dirs", "agent_dirs", "hook_files", "servers", "diagnostics"}
    assert set(schema["properties"]) - {"$schema"} == set(PluginManifest.__struct_fields__) - of_others
    assert set(schema["properties"]["permissions"]["properties"]) == set(Permissions.__struct_fields__)
    assert set(schema["properties"]["capabilities"]["items"]["enum"]) == {one.value for one in Capability}
    phases = schema["properties"]["stages"]["items"]["properties"]["phase"]["enum"]
    assert set(phases) == {one.value for one in Phase}
    required = {name for name in schema["required"] if why(**{name: ...})}
    assert required == {"id", "name", "version", "capabilities"}
