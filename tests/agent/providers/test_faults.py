"""What a network and a hostile server can do to a stream, over real sockets and on both wires."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from clawft.agent.providers.http import MAX_ANSWER_BYTES
from clawft.agent.providers.request import DoneChunk, ModelRequest, RetryChunk, StreamCut, TextChunk
from clawft.config.secret import SecretRef
from clawft.messages import Message
from wire import Reply, WireServer, fail, say

pytestmark = pytest.mark.anyio

_ASK = ModelRequest("m", (Message("user", "hi"),))
_KEY = "sk-very-secret-value"


async def test_stream_that_is_cut_after_text_is_told(connect: Any, wire: str) -> None:
    with WireServer([say("half of", end="cut")]) as server:
        error, chunks = await connect.fail_with(connect(server, wire))
        assert len(server.asked) == 1
    assert isinstance(error, StreamCut)
    assert (error.code, connect.text_of(chunks)) == ("provider-cut", "half of")


async def test_stream_that_ends_early_but_cleanly_is_cut_too(connect: Any, wire: str) -> None:
    pieces = (
        b'data: {"choices": [{"delta": {"content": "half"}}]}\n\n',
        b'data: {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "half"}}\n\ndata: {"ty',
    )
    with WireServer([Reply(raw=(pieces[wire == "anthropic"],))]) as server:
        error, chunks = await connect.fail_with(connect(server, wire))
    assert isinstance(error, StreamCut)
    assert connect.text_of(chunks) == "half"


async def test_stream_that_is_cut_before_anything_came_is_tried_again(connect: Any, wire: str) -> None:
    with WireServer([Reply(raw=(), end="cut"), Reply(raw=(b": hm\n\n",)), say("ok")]) as server:
        chunks = await connect.collect(connect(server, wire))
    assert connect.text_of(chunks) == "ok"
    assert len(connect.waits) == 2


async def test_empty_stream_to_the_end_is_a_bad_answer(connect: Any, wire: str) -> None:
    with WireServer([Reply(raw=())] * 2) as server:
        error, _ = await connect.fail_with(connect(server, wire, max_retries=1))
    assert error.code == "provider-bad-answer"


@pytest.mark.parametrize("frame", [b"data: {nope\n\n", b"data: [1]\n\n", b"data: " + b"[" * 50_000 + b"\n\n"])
async def test_malformed_event_is_a_bad_answer(connect: Any, wire: str, frame: bytes) -> None:
    with WireServer([Reply(raw=(frame,))]) as server:
        error, _ = await connect.fail_with(connect(server, wire))
        assert len(server.asked) == 1
    assert error.code == "provider-bad-answer"


async def test_page_in_place_of_a_stream_is_told(connect: Any, wire: str) -> None:
    page = Reply(headers=(("content-type", "text/html; charset=x"),), raw=(b"<html>log in</html>",))
    with WireServer([page]) as server:
        error, _ = await connect.fail_with(connect(server, wire))
    assert error.code == "provider-bad-answer"
    assert "'text/html' instead of a stream" in str(error)


async def test_stall_within_a_stream_ends_in_time(connect: Any, wire: str) -> None:
    with WireServer([say("half", end="stall")]) as server:
        error, chunks = await connect.fail_with(connect(server, wire, timeout_s=0.3))
        assert server.hung_up.wait(60)
    assert (error.code, connect.text_of(chunks)) == ("provider-timeout", "half")
    assert "timeout_s" in error.hint


async def test_client_with_a_timeout_of_one_second_times_out(connect: Any) -> None:
    with WireServer([say("late", wait_s=20)]) as server:
        started = time.monotonic()
        error, _ = await connect.fail_with(connect(server, timeout_s=1, max_retries=0))
        taken = time.monotonic() - started
    assert (error.code, str(error)) == ("provider-timeout", "Nothing came from 'test' for 1 s")
    assert taken > 0.9


async def test_slow_headers_are_tried_again(connect: Any, wire: str) -> None:
    with WireServer([say("late", wait_s=20), say("ok")]) as server:
        chunks = await connect.collect(connect(server, wire, timeout_s=0.3))
    assert [type(one) for one in chunks] == [RetryChunk, TextChunk, DoneChunk]


@contextmanager
def dripping(data: bytes) -> Iterator[str]:
    """A server that sends one byte each 20 ms, for ever."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(60)
                connection.recv(65_536)
                index = 0
                while not stop.wait(0.02):
                    try:
                        connection.sendall(data[index : index + 1] or b"x")
                    except OSError:
                        return
                    index += 1

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        stop.set()
        thread.join(60)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nX-A: ", b"HTTP/1.1 200 OK\r\n\r\n"])
async def test_server_that_drips_bytes_without_end_times_out(connect: Any, head: bytes) -> None:
    with dripping(head) as url:
        error, _ = await connect.fail_with(connect(url, timeout_s=0.8, connect_timeout_s=0.2, max_retries=0))
    assert error.code == "provider-timeout"


async def test_nobody_listening_is_told_at_once_on_this_machine(connect: Any, wire: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error, chunks = await connect.fail_with(connect(f"http://127.0.0.1:{port}/v1", wire))
    assert (error.code, chunks) == ("provider-unreachable", [])
    assert f"127.0.0.1:{port}" in str(error)
    assert "start the server" in error.hint


async def test_host_that_does_not_answer_fails_within_the_time_to_connect(connect: Any) -> None:
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for filler in (first, second):  # a full queue: what comes next is dropped, as by a host that is gone
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        started = time.monotonic()
        error, _ = await connect.fail_with(connect(url, connect_timeout_s=0.5, timeout_s=30, max_retries=0))
        taken = time.monotonic() - started
    assert error.code == "provider-unreachable"
    assert "within 0.5 s" in str(error)
    assert taken > 0.4


async def test_closing_the_stream_closes_the_connection(connect: Any, wire: str) -> None:
    with WireServer([say("first", end="stall")]) as server:
        stream = connect(server, wire).stream(_ASK)
        assert await anext(stream) == TextChunk("first")
        await stream.aclose()
        assert server.hung_up.wait(60)


async def test_cancelling_closes_the_connection(connect: Any, wire: str) -> None:
    with WireServer([say("first", end="stall")]) as server:
        provider = connect(server, wire)

        async def read(scope: anyio.CancelScope) -> None:
            async for chunk in provider.stream(_ASK):
                assert chunk == TextChunk("first")
                scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(read, group.cancel_scope)
        assert server.hung_up.wait(60)


async def test_server_that_stays_silent_after_the_end_holds_nobody_up(connect: Any) -> None:
    done = b'data: {"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    with WireServer([Reply(raw=(done,), end="stall")]) as server:
        with anyio.fail_after(60):
            chunks = await connect.collect(connect(server))
    assert connect.text_of(chunks) == "ok"


async def test_compressed_stream_is_read(connect: Any, wire: str) -> None:
    with WireServer([say("Grüße ", "aus dem Zip", gzipped=True)]) as server:
        chunks = await connect.collect(connect(server, wire))
    assert connect.text_of(chunks) == "Grüße aus dem Zip"


async def test_broken_compression_is_a_bad_answer(connect: Any) -> None:
    with WireServer([Reply(headers=(("content-encoding", "gzip"),), raw=(b"no gzip at all",))]) as server:
        error, _ = await connect.fail_with(connect(server))
    assert error.code == "provider-bad-answer"


async def test_line_without_end_is_refused_at_the_limit(connect: Any, wire: str) -> None:
    with WireServer([Reply(raw=(b"data: ", *(b"x" * 1_000_000,) * 8))]) as server:
        error, _ = await connect.fail_with(connect(server, wire))
    assert error.code == "provider-bad-answer"
    assert "event of over" in str(error)


async def test_answer_without_end_is_refused_at_the_limit(connect: Any, wire: str) -> None:
    piece = b": " + b"x" * 999_997 + b"\n"
    with WireServer([Reply(raw=(piece,) * (MAX_ANSWER_BYTES // 1_000_000 + 2))]) as server:
        error, _ = await connect.fail_with(connect(server, wire))
    assert error.code == "provider-bad-answer"
    assert str(MAX_ANSWER_BYTES) in str(error)


async def test_long_event_within_the_limit_is_read(connect: Any, wire: str) -> None:
    long = "a" * 1_000_000
    with WireServer([say(long)]) as server:
        assert connect.text_of(await connect.collect(connect(server, wire))) == long


async def test_half_characters_in_a_message_are_mended(connect: Any, wire: str) -> None:
    with WireServer([say("ok")]) as server:
        await connect.collect(connect(server, wire), ModelRequest("m", (Message("user", "name \udce9.txt"),)))
        assert "name ?.txt" in str(server.asked[0].body["messages"])


async def test_no_error_and_no_repr_shows_the_key(connect: Any, wire: str) -> None:
    faults = [
        fail(400, _KEY),
        fail(401, _KEY),
        say("x", end="cut"),
        Reply(raw=(b"data: {\n\n",)),
        say("x", end="stall"),
    ]
    shown = ""
    with WireServer(faults) as server:
        provider = connect(server, wire, {"K": _KEY}, api_key=SecretRef(env="K"), timeout_s=0.3, max_retries=0)
        for _ in faults:
            error, _ = await connect.fail_with(provider)
            shown += f"{error} {error!r} {error.hint} {error.diagnostic!r} {error.__cause__!r}"
        shown += repr(provider) + repr(vars(provider))
        name = "x-api-key" if wire == "anthropic" else "authorization"
        assert _KEY in server.asked[0].headers[name]
    assert _KEY not in shown.replace(repr({"K": _KEY}), "")  # the environment is the caller's own
