"""Lines that no honest plugin writes: each ends the talk with a reason, and with nothing else."""

from contextlib import suppress

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.plugins.guest.wire import GuestError, GuestRequest, GuestResponse, RefusalReport
from clawft.plugins.protocol import PluginConnection, make_error
from clawft.plugins.runtime import PluginFailed

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
_LIKE_OURS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["answer", "ask", "told", "other"]) | _VALUES,
        "id": st.integers() | _VALUES,
        "what": st.sampled_from(["deliver_inbound", "deliver_payload"]) | _VALUES,
        "channel": st.text() | _VALUES,
        "rule": st.sampled_from(["no-host", "no-shell"]) | _VALUES,
        "subject": st.text() | _VALUES,
        "given": _VALUES,
        "value": _VALUES,
        "error": _VALUES,
    },
)


async def _nowhere(_: bytes) -> None:
    """Nothing is sent in these tests."""


@given(st.lists(st.binary(max_size=200) | _LIKE_OURS.map(msgspec.json.encode), max_size=5))
def test_any_line_is_a_delivery_or_a_named_failure(lines: list[bytes]) -> None:
    async def hear() -> None:
        talk = PluginConnection(_nowhere, str)
        for line in lines:
            with suppress(PluginFailed):
                assert isinstance(
                    talk.hear(line), GuestRequest | RefusalReport
                )  # nothing was asked, so nothing can be answered

    anyio.run(hear)


@given(st.builds(GuestError, st.sampled_from(["answer", "channel", "failed"]), st.text(), st.text(), st.text()))
def test_what_a_plugin_says_of_itself_is_bounded_and_has_a_code(said: GuestError) -> None:
    error = make_error(said, str)
    assert error.code.replace("-", "").isalnum()
    assert error.code.isascii()
    assert len(str(error)) <= 2000
    assert "\x1b" not in str(error) + error.hint


def test_an_answer_reaches_who_waits_and_only_once() -> None:
    sent: list[bytes] = []

    async def keep(line: bytes) -> None:
        sent.append(line)

    async def ask() -> None:
        talk = PluginConnection(keep, str)
        async with anyio.create_task_group() as tasks:
            answers: list[object] = []

            async def wait() -> None:
                answers.append(await talk.order("call", "execute_tool", {}))

            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            number = msgspec.json.decode(sent[0])["id"]
            line = msgspec.json.encode(GuestResponse(number, "yes"))
            assert talk.hear(line) is None
            with pytest.raises(PluginFailed, match="what it was not asked"):
                talk.hear(line)
        assert answers == ["yes"]

    anyio.run(ask)


def test_a_flood_of_what_was_refused_ends_the_talk() -> None:
    async def flood() -> None:
        talk, line = PluginConnection(_nowhere, str), msgspec.json.encode(RefusalReport("no-host", "a:1"))
        with pytest.raises(PluginFailed) as failed:
            all(isinstance(talk.hear(line), RefusalReport) for _ in range(30_000))
        assert failed.value.code == "plugin-flooded"

    anyio.run(flood)
