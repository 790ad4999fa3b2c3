"""One place over HTTP: bounded, judged at every redirect, its token for nobody else; a hostile server on loopback."""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import structs

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, Refused
from clawft.install.sources.http import FetchLimits, FetchRequest, HttpError, SourceConnection
from scripted_site import Reply, ScriptedSite

pytestmark = pytest.mark.anyio
SETTINGS = WebSettings(timeout_s=5)
SMALL = FetchLimits(timeout_s=10, download_s=10, redirects=3, answer_bytes=2_000, download_bytes=5_000, wait_s=0.05)
IMPATIENT = structs.replace(SMALL, timeout_s=0.3, download_s=0.3)
HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
async def fetching(hostile: ScriptedSite) -> AsyncIterator[SourceConnection]:
    opened = SourceConnection(hostile.url, SETTINGS, token="clh_secret", limits=SMALL)
    yield opened
    await opened.aclose()


async def test_a_download_is_the_bytes_that_came_and_its_digest(
    fetching: SourceConnection, hostile: ScriptedSite, tmp_path: Path
) -> None:
    hostile.answers["/a"] = Reply(b"abc", headers={"Content-Type": "Application/Zip"})

    came = await fetching.download(f"{hostile.url}/a", str(tmp_path / "a"))

    assert (tmp_path / "a").read_bytes() == b"abc"
    assert (came.sha256, came.size, came.content_type) == (hashlib.sha256(b"abc").hexdigest(), 3, "application/zip")


async def test_one_connection_serves_many_requests(fetching: SourceConnection, hostile: ScriptedSite) -> None:
    hostile.answers["/a"] = Reply({"a": 1})

    for _ in range(5):
        assert await fetching.ask(f"{hostile.url}/a", dict[str, int]) == {"a": 1}

    assert hostile.connections == 1


async def test_requests_at_the_same_time_all_get_their_answers(
    fetching: SourceConnection, hostile: ScriptedSite
) -> None:
    for number in range(6):
        hostile.answers[f"/{number}"] = Reply([number])
    got: list[int] = []

    async def ask(number: int) -> None:
        got.extend(await fetching.ask(f"{hostile.url}/{number}", list[int]))

    async with anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(ask, number)

    assert sorted(got) == list(range(6))


async def test_a_connection_that_was_closed_meanwhile_is_opened_again(
    fetching: SourceConnection, hostile: ScriptedSite
) -> None:
    hostile.answers["/a"] = Reply(raw=[HEAD + b"Content-Length: 2\r\n\r\n{}"])  # and then it is closed

    assert [await fetching.ask(f"{hostile.url}/a", dict[str, int]) for _ in range(3)] == [{}, {}, {}]


def _lying_length(_: ScriptedSite) -> Iterable[bytes]:
    return [HEAD + b"Content-Length: 100\r\n\r\nshort"]


def _cut_chunk(_: ScriptedSite) -> Iterable[bytes]:
    return [HEAD + b"Transfer-Encoding: chunked\r\n\r\n10\r\nshort"]


def _no_length(_: ScriptedSite) -> Iterable[bytes]:
    return [HEAD + b"Connection: close\r\n\r\nwho knows"]


def _endless(site: ScriptedSite) -> Iterable[bytes]:
    return site.drip(b"800\r\n" + b"x" * 0x800 + b"\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n")


def _drip(site: ScriptedSite) -> Iterable[bytes]:
    return site.drip(b"1\r\nx\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n")


def _silent(site: ScriptedSite) -> Iterable[bytes]:
    return (b"" for _ in iter(lambda: site.stop.wait(0.02), True))


def _headers_for_ever(site: ScriptedSite) -> Iterable[bytes]:
    return site.drip(b"X-More: yes\r\n", HEAD)


def _two_lengths(_: ScriptedSite) -> Iterable[bytes]:
    return [HEAD + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\nhi"]


def _no_http(_: ScriptedSite) -> Iterable[bytes]:
    return [b"220 mail.example ESMTP\r\n"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (_lying_length, "download-truncated"),
        (_cut_chunk, "download-truncated"),
        (_no_length, "download-truncated"),
        (_endless, "download-too-large"),
        (_drip, "fetch-timeout"),
        (_silent, "fetch-timeout"),
        (_headers_for_ever, "fetch-timeout"),
        (_two_lengths, "fetch-failed"),
        (_no_http, "fetch-failed"),
    ],
)
async def test_a_download_that_does_not_end_as_it_should_is_refused_and_leaves_nothing(
    answer: Callable[[ScriptedSite], Iterable[bytes]], code: str, hostile: ScriptedSite, tmp_path: Path
) -> None:
    hostile.answers["/a"] = lambda _: Reply(raw=answer(hostile))
    limits = IMPATIENT if code == "fetch-timeout" else SMALL
    fetching = SourceConnection(hostile.url, SETTINGS, limits=structs.replace(limits, attempts=1))

    with pytest.raises(ClawftError) as caught:
        await fetching.download(f"{hostile.url}/a", str(tmp_path / "a"))
    await fetching.aclose()

    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


async def test_what_says_it_is_too_large_is_not_even_begun(
    fetching: SourceConnection, hostile: ScriptedSite, tmp_path: Path
) -> None:
    hostile.answers["/a"] = Reply(b"", headers={"Content-Length": "99999999999"})

    with pytest.raises(Refused) as caught:
        await fetching.download(f"{hostile.url}/a", str(tmp_path / "a"))

    assert caught.value.code == "download-too-large"


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(b'["' + b"x" * 3_000 + b'"]'), "download-too-large"),
        (Reply(b"[" * 1_900), "source-answer"),
        (Reply(b"<html>"), "source-answer"),
        (Reply(b"\xff\xfe"), "source-answer"),
        (Reply([1, 2]), "source-answer"),
        (Reply({"a": "no number"}), "source-answer"),
        (Reply(b"{}", headers={"Content-Encoding": "gzip"}), "fetch-failed"),
        (Reply(b"", 204), "source-failed"),
        (Reply(b"{}", 206), "source-failed"),
    ],
)
async def test_an_answer_that_is_none_is_an_error(
    reply: Reply, code: str, fetching: SourceConnection, hostile: ScriptedSite
) -> None:
    hostile.answers["/a"] = reply

    with pytest.raises(ClawftError) as caught:
        await fetching.ask(f"{hostile.url}/a", dict[str, int])

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("http://169.254.169.254/latest/meta-data", "fetch-insecure"),
        ("https://169.254.169.254/latest/meta-data", "url-private-address"),
        ("https://10.0.0.1/", "url-private-address"),
        ("https://localhost:1/", "url-private-address"),
        ("https://[::1]/", "url-private-address"),
        ("https://0x7f.1/", "url-private-address"),
        ("http://localhost:{port}/there", "fetch-insecure"),  # the same server by another name is another origin
        ("http://127.0.0.1:1/", "fetch-insecure"),
        ("file:///etc/passwd", "url-invalid"),
        ("gopher://example.org/", "url-scheme"),
        ("https://user:word@example.org/", "url-invalid"),
        ("https://[", "url-invalid"),
        ("/go", "fetch-redirects"),
    ],
)
async def test_a_redirect_leads_nowhere_that_is_private_or_unencrypted(
    location: str, code: str, fetching: SourceConnection, hostile: ScriptedSite, tmp_path: Path
) -> None:
    hostile.answers["/go"] = Reply(b"", 302, {"Location": location.replace("{port}", str(hostile.port))})
    hostile.answers["/there"] = Reply(b"inside")

    with pytest.raises(ClawftError) as caught:
        await fetching.download(f"{hostile.url}/go", str(tmp_path / "a"))

    assert caught.value.code == code
    assert "/there" not in hostile.asked()
    assert list(tmp_path.iterdir()) == []


async def test_a_name_that_resolves_to_a_private_address_is_refused(hostile: ScriptedSite) -> None:
    async def resolve(_host: str, _port: int) -> tuple[str, ...]:
        return ("93.184.216.34", "10.1.2.3")

    fetching = SourceConnection(hostile.url, SETTINGS, limits=SMALL, resolve=resolve)
    hostile.answers["/go"] = Reply(b"", 302, {"Location": "https://registry.example/a"})

    with pytest.raises(Refused) as caught:
        await fetching.read(f"{hostile.url}/go")
    await fetching.aclose()

    assert caught.value.code == "url-private-address"


async def test_an_address_that_nobody_typed_is_not_asked_on_a_private_network(hostile: ScriptedSite) -> None:
    with pytest.raises(Refused) as caught:
        SourceConnection(hostile.url, SETTINGS, typed=False)

    assert caught.value.code == "url-private-address"
    assert hostile.requests == []


async def test_the_token_goes_to_its_own_origin_alone(fetching: SourceConnection, hostile: ScriptedSite) -> None:
    with ScriptedSite() as other:
        other.answers["/a"] = Reply({})
        hostile.answers["/a"] = Reply({})
        elsewhere = SourceConnection(other.url, SETTINGS, limits=SMALL)
        await fetching.ask(f"{hostile.url}/a", dict[str, int])
        await elsewhere.ask(f"{other.url}/a", dict[str, int])
        await elsewhere.aclose()

        assert hostile.requests[0].headers["authorization"] == "Bearer clh_secret"
        assert "authorization" not in other.requests[0].headers
        assert "cookie" not in other.requests[0].headers


@pytest.mark.parametrize("token", ["clh_x\r\nX-Other: 1", "clh x", "clh_ü"])
async def test_a_token_that_would_break_a_header_is_not_used(token: str, hostile: ScriptedSite) -> None:
    with pytest.raises(ClawftError) as caught:
        SourceConnection(hostile.url, SETTINGS, token=token)

    assert caught.value.code == "source-token"


async def test_a_token_is_not_sent_unencrypted() -> None:
    with pytest.raises(Refused) as caught:
        SourceConnection("http://hub.example", SETTINGS, token="clh_x")

    assert caught.value.code == "source-token"


async def test_a_busy_server_is_asked_again_when_it_says_so(fetching: SourceConnection, hostile: ScriptedSite) -> None:
    replies = [Reply("down", 503), Reply("later", 429, {"Retry-After": "0"}), Reply({"a": 1})]
    hostile.answers["/a"] = lambda _: replies.pop(0)

    quick = SourceConnection(hostile.url, SETTINGS, limits=structs.replace(SMALL, wait_s=1))
    assert await quick.ask(f"{hostile.url}/a", dict[str, int]) == {"a": 1}
    await quick.aclose()


@pytest.mark.parametrize(
    "wait",
    ["3600", format_datetime(datetime(2099, 1, 1, tzinfo=UTC), usegmt=True), "9" * 400],
    ids=["s", "date", "long"],
)
async def test_a_server_cannot_make_us_wait_for_long(
    wait: str, fetching: SourceConnection, hostile: ScriptedSite
) -> None:
    hostile.answers["/a"] = Reply("Rate limit exceeded", 429, {"Retry-After": wait})

    with pytest.raises(HttpError) as caught:
        await fetching.ask(f"{hostile.url}/a", dict[str, int])

    assert caught.value.code == "source-busy"
    assert len(hostile.requests) == 1


async def test_a_time_to_wait_in_digits_of_no_number_is_ours_to_choose(hostile: ScriptedSite) -> None:
    replies = [Reply("no", 503, {"Retry-After": "\xb2"}), Reply({"a": 1})]
    hostile.answers["/a"] = lambda _: replies.pop(0)
    quick = SourceConnection(hostile.url, SETTINGS, limits=structs.replace(SMALL, wait_s=1))

    assert await quick.ask(f"{hostile.url}/a", dict[str, int]) == {"a": 1}
    await quick.aclose()


async def test_a_server_that_stays_busy_is_asked_three_times(fetching: SourceConnection, hostile: ScriptedSite) -> None:
    hostile.answers["/a"] = Reply("no", 503, {"Retry-After": "0"})

    with pytest.raises(HttpError) as caught:
        await fetching.ask(f"{hostile.url}/a", dict[str, int])

    assert (caught.value.code, len(hostile.requests)) == ("source-failed", 3)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "source-failed"),
        (401, "source-denied"),
        (403, "source-denied"),
        (404, "source-not-found"),
        (409, "source-conflict"),
        (410, "source-gone"),
        (423, "source-pending"),
        (500, "source-failed"),
        (418, "source-failed"),
    ],
)
async def test_what_a_server_refuses_is_told_in_its_words_made_harmless(
    status: int, code: str, fetching: SourceConnection, hostile: ScriptedSite
) -> None:
    hostile.answers["/a"] = Reply("not\x1b[2J to\u202eday " + "x" * 5_000, status)

    with pytest.raises(HttpError) as caught:
        await fetching.read(f"{hostile.url}/a")

    said = str(caught.value)
    assert (caught.value.code, caught.value.status) == (code, status)
    assert "not [2J to day xxx" in said
    assert said.isprintable()
    assert len(said) < 400


async def test_what_is_sent_is_not_sent_on_by_a_redirect(fetching: SourceConnection, hostile: ScriptedSite) -> None:
    hostile.answers["/a"] = Reply(b"", 307, {"Location": "/b"})
    hostile.answers["/b"] = Reply({})

    with pytest.raises(ClawftError) as caught:
        await fetching.ask(f"{hostile.url}/a", dict[str, int], FetchRequest("POST", b"{}"))

    assert caught.value.code == "fetch-redirects"
    assert hostile.asked() == ["/a"]


async def test_what_is_sent_is_not_sent_twice_where_nobody_knows_whether_it_arrived(
    fetching: SourceConnection, hostile: ScriptedSite
) -> None:
    hostile.answers["/a"] = lambda _: Reply(raw=[])  # it hangs up without a word

    with pytest.raises(ClawftError) as caught:
        await fetching.ask(f"{hostile.url}/a", dict[str, int], FetchRequest("POST", b"{}"))

    assert caught.value.code == "fetch-failed"
    assert hostile.asked() == ["/a"]


async def test_nothing_of_the_environment_is_used(
    fetching: SourceConnection, hostile: ScriptedSite, environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    environ.update({"HTTP_PROXY": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1", "HOME": str(tmp_path)})
    hostile.answers["/a"] = Reply({})

    assert await fetching.ask(f"{hostile.url}/a", dict[str, Any]) == {}
    assert hostile.requests[0].headers["authorization"] == "Bearer clh_secret"


async def test_a_compressed_download_stays_as_it_was_sent(
    fetching: SourceConnection, hostile: ScriptedSite, tmp_path: Path
) -> None:
    """Nothing is blown up on the way: what a digest is of is what is sent."""
    import gzip

    bomb = gzip.compress(b"\0" * 3_000_000)
    hostile.answers["/a"] = Reply(bomb, headers={"Content-Encoding": "gzip"})

    await fetching.download(f"{hostile.url}/a", str(tmp_path / "a"))

    assert (tmp_path / "a").read_bytes() == bomb


async def test_the_question_asks_for_nothing_compressed(fetching: SourceConnection, hostile: ScriptedSite) -> None:
    hostile.answers["/a"] = Reply({})

    await fetching.ask(f"{hostile.url}/a", dict[str, int])

    assert hostile.requests[0].headers["accept-encoding"] == "identity"
