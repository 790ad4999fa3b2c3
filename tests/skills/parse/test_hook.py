"""HOOK.md: what a hook is, hears and asks for; whatever is wrong with that is said, and gives it nothing."""

import pytest

from clawft.config.extensions import HookPermissions
from clawft.errors import MissingFrontmatter, YamlParse
from clawft.skills.parse.hooks import Hook, parse_hook


def _parse(metadata: str, folder: str = "greeter", name: str = "greeter") -> Hook:
    text = f"---\nname: {name}\ndescription: Greets.\nmetadata: {metadata}\n---\n\nAbout it.\n"
    return parse_hook(text, folder, path="HOOK.md")


def _codes(hook: Hook) -> list[str]:
    return [one.code for one in hook.diagnostics]


def test_all_that_openclaw_writes_is_read() -> None:
    hook = _parse(
        '{"openclaw": {"emoji": "x", "events": ["agent:bootstrap", "command"], "export": "run", "hookKey": "g",'
        ' "requires": {"bins": ["git"], "anyBins": ["a", "b"], "env": ["TOKEN"]}, "os": ["linux"], "always": true}}'
    )

    assert (hook.name, hook.events, hook.export, hook.key) == ("greeter", ("agent:bootstrap", "command"), "run", "g")
    requires = hook.about.requires
    assert (requires.bins, requires.any_bins, requires.env, requires.os) == (
        ("git",),
        ("a", "b"),
        ("TOKEN",),
        ("linux",),
    )
    assert hook.about.always
    assert _codes(hook) == []


@pytest.mark.parametrize("block", ["clawdbot", "moltbot", "openclaw", "clawft"])
def test_blocks_of_all_clients_name_events(block: str) -> None:
    assert _parse(f'{{"{block}": {{"events": ["tool:before"]}}}}').events == ("tool:before",)


def test_other_names_of_what_happens_here_are_known() -> None:
    assert _parse('{"clawdbot": {"events": ["before_tool_call", "after_tool_call"]}}').events == (
        "tool:before",
        "tool:after",
    )


def test_an_unknown_event_is_told_with_the_close_one_and_the_others_are_heard() -> None:
    hook = _parse('{"openclaw": {"events": ["agent:bootstrp", "session:patch", "command:new"]}}')

    assert hook.events == ("command:new",)
    unknown, never = hook.diagnostics
    assert (unknown.code, unknown.hint) == ("hook-event-unknown", "Did you mean 'agent:bootstrap'?")
    assert (never.code, never.message) == ("hook-event-never", "The event 'session:patch' never happens here")


@pytest.mark.parametrize("events", ["[]", "17", '{"a": 1}', "null", "[null, 3]"])
def test_a_hook_without_an_event_is_told_that_it_never_runs(events: str) -> None:
    hook = _parse(f'{{"openclaw": {{"events": {events}}}}}')

    assert hook.events == ()
    assert "hook-events-missing" in _codes(hook)


def test_what_it_asks_for_is_read() -> None:
    hook = _parse('{"openclaw": {"events": ["tool"], "permissions": {"net": ["a.example"], "write": ["out"]}}}')

    assert hook.wants == HookPermissions(net=("a.example",), write=("out",))


@pytest.mark.parametrize("wish", ['{"net": ["a.example"], "run": ["sh"]}', '{"net": "a.example"}', "[1]", '"all"'])
def test_one_wish_that_is_not_understood_gives_it_nothing(wish: str) -> None:
    hook = _parse(f'{{"openclaw": {{"events": ["tool"], "permissions": {wish}}}}}')

    assert hook.wants == HookPermissions()
    assert "hook-permissions" in _codes(hook)


def test_line_ends_and_marks_of_other_systems_are_read() -> None:
    text = "---\r\nname: greeter\r\nmetadata: {openclaw: {events: [tool]}}\r\n---\r\n"

    assert parse_hook(text, "greeter", path="HOOK.md").events == ("tool",)


def test_an_unsafe_name_becomes_a_safe_one() -> None:
    hook = _parse('{"openclaw": {"events": ["tool"]}}', name='"../../etc Passwd"')

    assert hook.name == "etc-passwd"
    assert "name-not-canonical" in _codes(hook)


def test_without_frontmatter_or_with_broken_yaml_it_is_no_hook() -> None:
    with pytest.raises(MissingFrontmatter):
        parse_hook("# Greeter\n", "greeter", path="HOOK.md")
    with pytest.raises(YamlParse):
        parse_hook("---\nname: [greeter\nmetadata: }\n---\n", "greeter", path="HOOK.md")


def test_metadata_over_the_limits_gives_it_nothing() -> None:
    hook = _parse(f'{{"openclaw": {{"events": ["tool"], "x": "{"x" * 9000}", "permissions": {{"net": ["a"]}}}}}}')

    assert (hook.events, hook.wants) == ((), HookPermissions())
    assert {"metadata-limit", "hook-events-missing"} <= set(_codes(hook))
