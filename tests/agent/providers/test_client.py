"""Proxies and certificates come from the environment that is given, and from nowhere else."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.providers.http_client import find_proxy
from clawft.agent.providers.request import Chunk, ModelRequest, ProviderError, TextChunk
from clawft.errors import ClawftError
from clawft.messages import Message
from wire import WireServer, say

pytestmark = pytest.mark.anyio

_TLS = Path(__file__).parent / "tls"  # a certificate for 127.0.0.1 that nobody trusts


async def collect(provider: Any) -> list[Chunk]:
    return [chunk async for chunk in provider.stream(ModelRequest("m", (Message("user", "hi"),)))]


@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_TLS / "cert.pem", _TLS / "key.pem")
    return context


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ({"https_proxy": "p:1"}, "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other, models.example"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".models.example"}, None),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "example"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "els.example"}, "http://p:1"),
    ],
)
def test_proxy_follows_the_variables(environ: dict[str, str], proxy: str | None) -> None:
    assert find_proxy("https://eu.models.example/v1", environ) == proxy
    assert find_proxy("https://models.example/v1", environ) == proxy


def test_addresses_may_be_left_out_by_network() -> None:
    environ = {"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,[::1]"}
    assert find_proxy("http://10.2.3.4/v1", environ) is None
    assert find_proxy("http://11.2.3.4/v1", environ) == "http://p:1"


async def test_request_goes_through_the_proxy(connect: Any) -> None:
    with WireServer([say("ok")]) as proxy:
        provider = connect("http://models.example/v1", "openai", {"HTTP_PROXY": proxy.url.removesuffix("/v1")})
        assert (await collect(provider))[0] == TextChunk("ok")
        assert proxy.asked[0].path == "http://models.example/v1/chat/completions"


async def test_this_machine_is_never_asked_for_through_a_proxy(connect: Any) -> None:
    with WireServer([say("ok")]) as server, WireServer() as proxy:
        await collect(connect(server, "openai", {"HTTP_PROXY": proxy.url, "ALL_PROXY": proxy.url}))
        assert (len(server.asked), proxy.asked) == (1, [])


async def test_proxy_that_is_not_there_is_told_without_its_password(connect: Any) -> None:
    provider = connect(
        "http://models.example/v1", "openai", {"HTTP_PROXY": "http://u:pass-word@127.0.0.1:1"}, max_retries=0
    )
    with pytest.raises(ProviderError) as caught:
        await collect(provider)
    assert caught.value.code == "provider-unreachable"
    assert "pass-word" not in f"{caught.value!r} {caught.value.hint} {caught.value.__cause__!r}"


async def test_connection_that_fails_elsewhere_is_tried_again(connect: Any) -> None:
    provider = connect("http://models.example/v1", "openai", {"HTTP_PROXY": "http://127.0.0.1:1"}, max_retries=2)
    with pytest.raises(ProviderError):
        await collect(provider)
    assert len(connect.waits) == 2


@pytest.mark.parametrize("proxy", ["socks5://u:pass-word@p:1", "http://[pass-word"])
async def test_proxy_that_cannot_be_used_is_told_without_its_password(connect: Any, proxy: str) -> None:
    with pytest.raises(ClawftError) as caught:
        await collect(connect("https://models.example/v1", "openai", {"HTTPS_PROXY": proxy}))
    assert caught.value.code == "provider-bad-proxy"
    assert "pass-word" not in f"{caught.value!r} {caught.value.hint}"


async def test_certificate_that_nobody_trusts_is_refused_at_once(connect: Any, tls: ssl.SSLContext) -> None:
    with WireServer([say("never")], tls=tls) as server:
        with pytest.raises(ProviderError) as caught:
            await collect(connect(server))
        assert (server.asked, connect.waits) == ([], [])
    assert caught.value.code == "provider-unreachable"
    assert "SSL_CERT_FILE" in caught.value.hint


async def test_certificate_of_the_environment_is_trusted(connect: Any, tls: ssl.SSLContext) -> None:
    with WireServer([say("ok")], tls=tls) as server:
        provider = connect(server, "openai", {"SSL_CERT_FILE": str(_TLS / "cert.pem")})
        assert (await collect(provider))[0] == TextChunk("ok")
        await provider.close()


async def test_certificates_that_cannot_be_read_are_told(connect: Any, tmp_path: Path) -> None:
    with pytest.raises(ClawftError) as caught:
        await collect(connect("https://127.0.0.1:1/v1", "openai", {"SSL_CERT_FILE": str(tmp_path / "none.pem")}))
    assert caught.value.code == "provider-bad-certificates"
