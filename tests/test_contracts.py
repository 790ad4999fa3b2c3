"""The contracts between the agent and what extends it: names, what passes, and that what is built in keeps them."""

import ast
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clawft import contracts
from clawft.agent.memory import MemoryFiles
from clawft.agent.skill_invocation import INVOKE, TELL_CONFIG
from clawft.contracts import (
    Binary,
    Capability,
    ChannelCapabilities,
    InboundMessage,
    MemoryBackend,
    MemoryResult,
    MessagePayload,
    OutboundMessage,
    Permissions,
    Phase,
    PipelineContext,
    PipelineStage,
    Plugin,
    Structured,
    Text,
)


@pytest.mark.parametrize("kind", [Capability, Phase])
def test_every_choice_goes_through_json_and_back(kind: type[StrEnum]) -> None:
    for one in kind:
        assert msgspec.json.decode(msgspec.json.encode(one), type=kind) is one


def test_capabilities_and_phases_have_the_names_of_the_seed() -> None:
    assert [one.value for one in Capability] == ["tool", "channel", "pipeline_stage", "skill", "memory", "voice"]
    phases = ["pre_route", "pre_assemble", "pre_transport", "post_transport", "post_score"]
    assert [one.value for one in Phase] == phases


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Text("hello"), MessagePayload),
        (Binary("image/png", b"\x00\xff"), MessagePayload),
        (Structured({"buttons": [1, None]}), MessagePayload),
        (InboundMessage(id="1", sender="a", conversation="c", text="hi", metadata={"n": 1}), InboundMessage),
        (OutboundMessage(key="k", conversation="c", text="hi", is_repeat=True), OutboundMessage),
        (PipelineContext({"text": "hi"}, {"text": "yes"}, {"seen": [1]}), PipelineContext),
        (MemoryResult("key", "value", 0.5, {"from": "chat"}), MemoryResult),
        (Permissions(("~/notes:ro",), ("*.example.com",), ("KEY",), shell=True), Permissions),
        (ChannelCapabilities(binary=True, threads=True), ChannelCapabilities),
    ],
)
def test_all_that_passes_goes_through_json_and_back(value: object, kind: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=kind) == value


def test_a_plugin_asks_for_nothing_and_is_its_own_only_part_unless_it_says_otherwise() -> None:
    plugin = Plugin()
    assert tuple(plugin.parts()) == (plugin,)
    assert plugin.is_healthy()
    assert plugin.shutdown() is None
    assert Permissions() == Permissions((), (), (), shell=False)


def test_what_is_built_in_keeps_the_same_contracts(tmp_path: Path) -> None:
    assert isinstance(MemoryFiles(str(tmp_path)), MemoryBackend)
    assert all(isinstance(one, PipelineStage) for one in (INVOKE, TELL_CONFIG))


def test_contracts_depend_on_types_only() -> None:
    tree = ast.parse(Path(contracts.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name for name in imported if name and name.startswith("clawft")} == {"clawft.errors"}
    assert imported <= {"clawft.errors", "msgspec", "collections.abc", "enum", "socket", "typing"}
