"""The published schemas: valid, and what the daemon says and takes is what they say."""

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from clawft.messages import TextDelta, Usage
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, Problem, Refusal
from clawft.server.protocol.executions import Chat, SkillResult, TurnEvent
from clawft.server.protocol.operations import (
    MESSAGES,
    OPERATIONS,
    PUSHED,
    decode_answer,
    decode_request,
    list_schemas,
    schema_name,
    schema_of,
    type_name,
)
from clawft.server.protocol.skills import ListSkills, SkillsList

MESSAGES_SENT: tuple[DaemonRequest | DaemonAnswer, ...] = (
    ListSkills(id="1", state="ready"),
    Chat(text="hello"),
    SkillsList(generation=1, skills=()),
    TurnEvent(id="1", execution="e", sequence=1, event=TextDelta(text="a")),
    SkillResult(execution="e", session="s", status="done", text="x", usage=Usage()),
    Refusal(error=Problem(code="request-invalid", severity="error", message="no")),
)


@pytest.mark.parametrize("message", MESSAGES)
def test_every_message_has_a_schema_that_stands_alone(message: str) -> None:
    schema = schema_of(message)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == schema_name(message) == f"{message}.v1.json"


def test_the_index_names_a_schema_of_all_that_is_asked_answered_and_pushed() -> None:
    index = list_schemas()
    named = {one[kind] for one in index["operations"] for kind in ("request", "answer")}
    named |= {one["schema"] for one in index["pushed"]}
    assert named == {schema_name(one) for one in MESSAGES}
    assert [one["name"] for one in index["operations"]] == [one.name for one in OPERATIONS]
    assert {one["name"]: one["topic"] for one in index["pushed"]} == {type_name(one): to for one, to in PUSHED.items()}


@pytest.mark.parametrize("message", MESSAGES_SENT, ids=lambda one: type_name(type(one)))
def test_what_is_sent_is_as_its_schema_says(message: DaemonRequest | DaemonAnswer) -> None:
    text = msgspec.json.encode(message)
    jsonschema.validate(msgspec.json.decode(text), schema_of(type_name(type(message))))
    assert (decode_request(text) if isinstance(message, DaemonRequest) else decode_answer(text)) == message


def test_a_request_with_a_field_too_many_is_none_and_an_answer_with_one_is_from_a_newer_daemon() -> None:
    with pytest.raises(msgspec.ValidationError, match="more"):
        decode_request(b'{"type":"list_skills","more":1}')
    with pytest.raises(jsonschema.ValidationError, match="more"):
        jsonschema.validate({"type": "list_skills", "more": 1}, schema_of("list_skills"))
    newer = decode_answer(b'{"type":"skills_list","generation":1,"skills":[],"more":1}')
    assert newer == SkillsList(generation=1, skills=())
