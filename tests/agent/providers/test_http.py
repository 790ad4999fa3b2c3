"""Streams, retries, and what servers say went wrong, over real sockets and on both wires."""

from typing import Any

import anyio
import pytest

from clawft.agent.providers.request import CallChunk, DoneChunk, ModelRequest, RetryChunk, TextChunk
from clawft.config.secret import SecretRef
from clawft.messages import Message, Usage
from wire import Reply, WireServer, call, fail, say

pytestmark = pytest.mark.anyio

_ASK = ModelRequest("m", (Message("user", "hi"),))
_KEY = "sk-very-secret-value"


async def test_text_is_streamed_piece_by_piece_with_its_usage(connect: Any, wire: str) -> None:
    with WireServer([say("Hel", "lo ", "wörld 😀", usage=(12, 3))]) as server:
        chunks = await connect.collect(connect(server, wire))
    assert chunks[:3] == [TextChunk("Hel"), TextChunk("lo "), TextChunk("wörld 😀")]
    assert chunks[3] == DoneChunk("end", Usage(12, 3))


async def test_piece_is_handed_on_before_the_answer_is_over(connect: Any, wire: str) -> None:
    with WireServer([say("first", end="stall")]) as server:
        stream = connect(server, wire).stream(_ASK)
        with anyio.fail_after(60):
            assert await anext(stream) == TextChunk("first")
        await stream.aclose()


async def test_parallel_tool_calls_come_whole(connect: Any, wire: str) -> None:
    calls = (("a", "read_file", '{"path": "x"}'), ("b", "exec_shell", '{"command": "ls"}'))
    with WireServer([Reply(text=("Look: ",), calls=calls)]) as server:
        chunks = await connect.collect(connect(server, wire))
    made = [(one.call.id, one.call.name, one.call.arguments) for one in chunks if isinstance(one, CallChunk)]
    assert made == [("a", "read_file", {"path": "x"}), ("b", "exec_shell", {"command": "ls"})]
    assert isinstance(chunks[-1], DoneChunk)
    assert chunks[-1].stop == "tools"


async def test_malformed_arguments_are_kept_as_they_came(connect: Any, wire: str) -> None:
    with WireServer([Reply(calls=(("a", "x", '{"path": '),)), Reply(calls=(("a", "x", "[1]"),))]) as server:
        provider = connect(server, wire)
        found = [one.call for _ in range(2) for one in await connect.collect(provider) if isinstance(one, CallChunk)]
    assert [(one.arguments, one.malformed) for one in found] == [({}, '{"path": '), ({}, "[1]")]


async def test_call_without_arguments_has_none(connect: Any, wire: str) -> None:
    with WireServer([Reply(calls=(("a", "x", ""),))]) as server:
        found = [one.call for one in await connect.collect(connect(server, wire)) if isinstance(one, CallChunk)]
    assert [(one.arguments, one.malformed) for one in found] == [({}, "")]


async def test_connection_is_used_again(connect: Any, wire: str) -> None:
    with WireServer([say("a"), call("x", {}), fail(400), say("b")]) as server:
        provider = connect(server, wire)
        await connect.collect(provider)
        await connect.collect(provider)
        await connect.fail_with(provider)
        await connect.collect(provider)
        assert [one.connection for one in server.asked] == [1, 1, 1, 1]


async def test_parallel_calls_of_one_provider_do_not_mix(connect: Any, wire: str) -> None:
    def answer(asked: Any) -> Reply:
        return say(str(asked.body["model"]))

    with WireServer(answer) as server:
        provider, found = connect(server, wire), []

        async def ask(name: str) -> None:
            found.append((name, connect.text_of(await connect.collect(provider, ModelRequest(name, _ASK.messages)))))

        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(ask, f"model-{number}")
    assert len(found) == 12
    assert all(name == text for name, text in found)


async def test_limit_is_waited_for_as_the_server_asks(connect: Any, wire: str) -> None:
    with WireServer([fail(429, "slow down", retry_after="7"), say("ok")]) as server:
        chunks = await connect.collect(connect(server, wire))
    assert chunks[0] == RetryChunk(1, 7.0, "'test' answered with status 429: slow down")
    assert connect.text_of(chunks) == "ok"
    assert connect.waits == [7.0]


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after": "100000"}, 60),
        ({"retry_after": "-3"}, 0),
        ({"retry_after": "Thu, 01 Jan 1970 00:00:20 GMT"}, 20),
        ({"retry_after": "Thu, 01 Jan 1970 00:00:20"}, 20),
        ({"retry_after": "Thu, 01 Jan 2099 00:00:00 GMT"}, 60),
        ({"retry_after": "5", "retry_after_ms": "250"}, 0.25),
    ],
)
async def test_every_form_of_retry_after_is_read(connect: Any, headers: dict[str, str], wait_s: float) -> None:
    with WireServer([fail(503, **headers), say("ok")]) as server:
        await connect.collect(connect(server))
    assert connect.waits == [wait_s]


@pytest.mark.parametrize("written", ["soon", "nan", "inf", "Thu, 99 Foo 1970"])
async def test_retry_after_that_means_nothing_is_left_out(connect: Any, written: str) -> None:
    with WireServer([fail(503, retry_after=written), say("ok")]) as server:
        await connect.collect(connect(server))
    assert 0.3 < connect.waits[0] <= 0.5


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504, 529])
async def test_failures_that_may_pass_are_tried_again_after_longer_and_longer_waits(connect: Any, status: int) -> None:
    with WireServer([fail(status), fail(status), fail(status), say("ok")]) as server:
        chunks = await connect.collect(connect(server))
    assert [one.attempt for one in chunks if isinstance(one, RetryChunk)] == [1, 2, 3]
    assert connect.text_of(chunks) == "ok"
    assert all(0.75 * full <= wait <= full for wait, full in zip(connect.waits, (0.5, 1, 2), strict=True))


@pytest.mark.parametrize(("status", "code"), [(500, "provider-failed"), (429, "provider-limited")])
async def test_failures_to_the_end_are_told_with_the_servers_words(
    connect: Any, wire: str, status: int, code: str
) -> None:
    with WireServer([fail(status, "too busy")] * 3) as server:
        error, chunks = await connect.fail_with(connect(server, wire, max_retries=2))
        assert len(server.asked) == 3
    assert (error.code, len(chunks)) == (code, 2)
    assert str(error) == f"'test' answered with status {status}: too busy"


async def test_server_may_say_that_trying_again_is_no_use(connect: Any) -> None:
    with WireServer([fail(500, x_should_retry="false")]) as server:
        error, chunks = await connect.fail_with(connect(server))
    assert (error.code, chunks) == ("provider-failed", [])


async def test_quota_that_is_used_up_is_not_tried_again(connect: Any) -> None:
    body = b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    with WireServer([Reply(status=429, raw=(body,))]) as server:
        error, chunks = await connect.fail_with(connect(server))
    assert (error.code, chunks) == ("provider-limited", [])


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_key_is_told_with_the_name_of_its_variable(connect: Any, wire: str, status: int) -> None:
    with WireServer([fail(status, f"bad key {_KEY}")]) as server:
        error, _ = await connect.fail_with(connect(server, wire, {"MY_KEY": _KEY}, api_key=SecretRef(env="MY_KEY")))
    assert error.code == "provider-refused"
    assert "MY_KEY" in error.hint
    assert str(error).endswith("bad key <secret>")


async def test_refusal_without_a_key_says_that_there_is_none(connect: Any) -> None:
    with WireServer([fail(401)]) as server:
        error, _ = await connect.fail_with(connect(server))
    assert "has no api_key" in error.hint


async def test_words_of_the_server_are_cut_cleaned_and_masked_first(connect: Any, wire: str) -> None:
    words = "x" * 485 + _KEY + "\x1b[31mred\r\n" + "y" * 1000
    with WireServer([fail(400, words)]) as server:
        error, _ = await connect.fail_with(connect(server, wire, {"K": _KEY}, api_key=SecretRef(env="K")))
    said = str(error).partition("400: ")[2]
    assert len(said) == 500
    assert said.isprintable()
    assert said.startswith("x" * 485 + "<secret> ")


async def test_secrets_of_headers_are_masked_too(connect: Any) -> None:
    headers = {"X-Team": "${TEAM}"}
    with WireServer([fail(400, "team team-secret-1 is unknown")]) as server:
        error, _ = await connect.fail_with(connect(server, "openai", {"TEAM": "team-secret-1"}, headers=headers))
        assert server.asked[0].headers["x-team"] == "team-secret-1"
    assert "team-secret-1" not in str(error)


async def test_error_inside_a_stream_is_masked_too(connect: Any, wire: str) -> None:
    frame = b'data: {"type": "error", "error": {"type": "bad", "message": "key %s"}}\n\n' % _KEY.encode()
    with WireServer([Reply(raw=(frame,))]) as server:
        error, _ = await connect.fail_with(connect(server, wire, {"K": _KEY}, api_key=SecretRef(env="K")))
    assert str(error) == "'test' answered with status 400: key <secret>"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(status=404, raw=(b"<h1>not here</h1>",)), "404: <h1>not here</h1>"),
        (Reply(status=400, raw=(b'{"error": "plain words"}',)), "400: plain words"),
        (Reply(status=400, raw=(b'{"detail": "more words"}',)), "400: more words"),
        (Reply(status=400, raw=(b"[" * 50_000,)), "400: [["),
        (Reply(status=418, raw=()), "418"),
        (Reply(status=422, raw=(b"\xff\xfe",)), "422: \ufffd\ufffd"),
        (Reply(status=400, raw=(b"z" * 1_000_000,)), "400: zzz"),
    ],
)
async def test_errors_in_any_form_are_told(connect: Any, reply: Reply, said: str) -> None:
    with WireServer([reply]) as server:
        error, _ = await connect.fail_with(connect(server))
    assert error.code == "provider-failed"
    assert said in str(error)


async def test_error_that_never_ends_is_told_in_time(connect: Any) -> None:
    with WireServer([Reply(status=400, raw=(b"some words",), end="stall")]) as server:
        error, _ = await connect.fail_with(connect(server, timeout_s=0.3))
    assert str(error).endswith("400: some words")


async def test_redirect_is_not_followed(connect: Any, wire: str) -> None:
    with WireServer([say("never")]) as other:
        target = (("location", other.url + "/chat/completions"),)
        with WireServer([Reply(status=307, headers=target, raw=())]) as server:
            error, _ = await connect.fail_with(connect(server, wire, {"K": _KEY}, api_key=SecretRef(env="K")))
        assert other.asked == []
    assert error.code == "provider-failed"
    assert "not followed" in error.hint
