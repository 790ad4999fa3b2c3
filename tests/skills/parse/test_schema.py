"""Arguments against JSON Schemas of strangers: what is understood means what the standard says; the rest is refused."""

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.parse.schema import MAX_SCHEMA, check_arguments, check_schema

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.5]), st.text("ab", max_size=3)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
)
TYPES = st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"])
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def keyword(name: str, value: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return value.map(lambda one: {name: one})


def extend(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    parts = st.one_of(
        keyword("type", TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True)),
        keyword("enum", st.lists(VALUES, min_size=1, max_size=3)),
        keyword("const", VALUES),
        keyword("pattern", st.sampled_from(["^a", "b$", "[ab]{2}"])),
        keyword("uniqueItems", st.booleans()),
        keyword("multipleOf", st.sampled_from([1, 2, 0.5])),
        keyword("required", st.lists(st.sampled_from("xyz"), max_size=2, unique=True)),
        keyword("properties", st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)),
        *(keyword(name, st.integers(0, 3)) for name in COUNTS),
        *(keyword(name, st.integers(-2, 2)) for name in BOUNDS),
        *(keyword(name, inner) for name in ("items", "additionalProperties", "not")),
        *(keyword(name, some) for name in ("anyOf", "oneOf", "allOf")),
    )
    return st.lists(parts, max_size=4).map(lambda many: {key: value for part in many for key, value in part.items()})


SCHEMAS: st.SearchStrategy[Any] = st.recursive(st.booleans() | st.just({}), extend, max_leaves=6)


@given(SCHEMAS, VALUES)
def test_what_is_accepted_is_what_the_standard_accepts(schema: Any, value: Any) -> None:
    whole = {"type": "object", "properties": {"x": schema}, "additionalProperties": False}
    assert check_schema(whole) == ""
    accepted = check_arguments({"x": value}, whole) == ""
    assert accepted == jsonschema.Draft202012Validator(whole).is_valid({"x": value})


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "array"}, "not 'object'"),
        ({"properties": []}, "no mapping"),
        ({"properties": {"a": 3}}, "no schema"),
        ({"properties": {"a": {"type": "text"}}}, "no type 'text'"),
        ({"properties": {"a": {"$ref": "#/x"}}}, "'$ref' is not understood"),
        ({"patternProperties": {}}, "'patternProperties' is not understood"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, "the pattern '(?=a)' is not understood"),
        ({"properties": {"a": {"maxLength": -1}}}, "'maxLength' is no count"),
        ({"properties": {"a": {"multipleOf": 0}}}, "'multipleOf' is no number"),
        ({"properties": {"a": {"enum": []}}}, "'enum' is no list"),
        ({"required": "a"}, "no list of names"),
        ({"anyOf": [{}]}, "'anyOf' may not stand outermost"),
        ({"properties": {"a b": {}}}, "'a b' cannot be the name of an argument"),
        ({"properties": {"x" * 65: {}}}, "cannot be the name of an argument"),
        ({"required": ["a"]}, "requires 'a' and does not define it"),
        ({"description": "x" * MAX_SCHEMA}, "more than"),
    ],
)
def test_a_schema_that_says_what_is_not_understood_is_refused_whole(schema: dict[str, Any], why: str) -> None:
    assert why in check_schema(schema)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "'name' is missing"),
        ({"name": 3}, "'name' should be a text"),
        ({"name": "a", "count": True}, "'count' should be an integer"),
        ({"name": "a", "tags": ["a", 3]}, "'tags[1]' should be a text"),
        ({"name": "a", "where": {"line": "x"}}, "'where.line' should be an integer or null"),
        ({"name": "a", "other": 1}, "'other' is not expected"),
        ({"name": "bad name"}, "does not match"),
        ({"name": "a", "level": "high"}, 'should be one of "low"'),
        ({"name": "a", "count": 99}, "at most 9"),
    ],
)
def test_what_is_wrong_is_named(arguments: dict[str, Any], why: str) -> None:
    schema = {
        "properties": {
            "name": {"type": "string", "pattern": "^[a-z]+$"},
            "count": {"type": "integer", "maximum": 9},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"type": "object", "properties": {"line": {"type": ["integer", "null"]}}},
            "level": {"enum": ["low"]},
        },
        "required": ["name"],
    }
    assert check_schema(schema) == ""
    assert check_arguments({"name": "a", "count": 1.0, "where": {"line": None}}, schema) == ""
    assert why in check_arguments(arguments, schema)


def test_a_pattern_is_told_with_an_example_where_there_is_one() -> None:
    told = {"type": "object", "properties": {"v": {"type": "string", "pattern": "^a$", "examples": ["a"]}}}
    assert check_arguments({"v": "b"}, told) == "'v' does not match ^a$, as a does"


@pytest.mark.unmeasured
def test_no_schema_hangs_a_check() -> None:
    alike = {"anyOf": [{"const": number} for number in range(1000)]}
    schema = {"properties": {"a": {"items": alike}, "b": {"pattern": "^(a+)+$"}}}
    assert check_schema(schema) == ""
    assert "too much" in check_arguments({"a": [999] * 100_000}, schema)
    assert "too much" in check_arguments({"a": [999] * 100_000}, {"properties": {"a": {"not": {"items": alike}}}})
    assert "does not match" in check_arguments({"b": "a" * 50_000 + "b"}, schema)


def test_values_nested_without_end_are_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert "too deep" in check_arguments({"a": deep}, {"properties": {"a": {"enum": [1]}}})
