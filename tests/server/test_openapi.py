"""The OpenAPI document: it says what there is, and what it says holds for whatever is sent."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from clawft.config.serve import LimitSettings, ServeSettings
from clawft.server.api import PREFIX, make_daemon_openapi
from clawft.server.protocol.operations import OPERATIONS
from serve_thread import ServedDaemon, serve_here
from serve_world import ServeWorld

# What asks other machines, or starts a process of its own. Events never end.
_LEFT_OUT = ("search_registry", "plan_install", "install_skill", "start_run", "retry_run")
_NAMES = [*(one.name for one in OPERATIONS if one.path and one.name not in _LEFT_OUT), "healthz", "metrics"]
_OPEN = LimitSettings(reads_per_minute=10_000_000, writes_per_minute=10_000_000, message_kb=65_536)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDaemon]:
    world = ServeWorld(tmp_path_factory.mktemp("openapi"))
    world.add_skill("tides")
    world.add_skill("stranger", strangers=True)
    with serve_here(world, ServeSettings(drain_s=1.0, limits=_OPEN)) as here:
        yield here


def test_every_operation_is_described_and_every_reference_leads_somewhere(served: ServedDaemon) -> None:
    with served.client("") as client:
        document = client.get(f"{PREFIX}/openapi.json").json()
    assert document == msgspec.json.decode(msgspec.json.encode(make_daemon_openapi(PREFIX)))
    described = {one["operationId"]: one for path in document["paths"].values() for one in path.values()}
    assert {one.name for one in OPERATIONS if one.path} <= described.keys()
    assert all(one["summary"] for one in described.values())
    wanted = {one.rpartition("/")[2] for one in references(document)}
    assert wanted <= document["components"]["schemas"].keys()


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def try_everything(served: ServedDaemon, names: list[str], examples: int) -> None:
    """Ask all that the document allows, and much that it does not; each answer must be as it says."""
    import schemathesis  # takes its time
    from schemathesis.core.result import Ok

    document = {
        **make_daemon_openapi(PREFIX),
        "security": [],
    }  # a token comes with all of it: test_door.py does without
    schema = schemathesis.openapi.from_dict(document).include(operation_id=names)
    not_all_is_in_the_schema = [schemathesis.checks.positive_data_acceptance]  # such as one of two fields, not both
    headers = {"Authorization": f"Bearer {served.token}"}
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=[*HealthCheck],
            )
            def ask(case: Any) -> None:
                case.call_and_validate(
                    base_url=served.url, headers=headers, timeout=20, excluded_checks=not_all_is_in_the_schema
                )

            with suppress(Unsatisfiable):  # what takes nothing can be given nothing wrong
                ask()


def test_whatever_is_sent_is_answered_as_the_document_says(served: ServedDaemon) -> None:
    try_everything(served, _NAMES, 3)


@pytest.mark.soak
@pytest.mark.parametrize("name", _NAMES)
def test_whatever_is_sent_is_answered_as_the_document_says_at_length(served: ServedDaemon, name: str) -> None:
    try_everything(served, [name], 50)
