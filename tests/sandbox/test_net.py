"""Fetching: the judged address is the one connected to, at every redirect; real servers on loopback."""

import gzip
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from types import MappingProxyType

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec import structs

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError
from clawft.sandbox.addresses import FetchError, resolve_host
from clawft.sandbox.net import FetchedPage, fetch
from clawft.trust.network import BlockedDomain, DisallowedScheme, InvalidUrl, PolicyViolation, PrivateIp, UrlPolicy

pytestmark = pytest.mark.anyio
OPEN = WebSettings(block_private_ips=False, timeout_s=20)
STRICT = WebSettings(timeout_s=20)


class Handler(BaseHTTPRequestHandler):
    """`/to/URL` redirects there, `/loop` to itself; other paths answer with a body of that kind."""

    server: "Server"

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers.items())))
        if self.path.startswith("/to/"):
            self._answer(b"moved", 302, {"Location": self.path[4:]})
        elif self.path == "/loop":
            self._answer(b"", 307, {"Location": "/loop"})
        elif self.path == "/nowhere":
            self._answer(b"stay", 302)
        elif self.path == "/big":
            self._answer(b"x" * 300_000)
        elif self.path == "/bomb":
            self._answer(gzip.compress(b"\0" * 50_000_000, 9), headers={"Content-Encoding": "gzip"})
        elif self.path == "/broken":
            self._answer(b"no gzip at all", headers={"Content-Encoding": "gzip"})
        elif self.path == "/hang":
            self.server.released.wait(60)
        elif self.path == "/missing":
            self._answer(b"no", 404)
        else:
            self._answer(b"hello", headers={"Set-Cookie": "a=b", "X-Path": self.path})

    def _answer(self, body: bytes, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # who asked has read enough
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.released = threading.Event()
        self.names: list[str | None] = []
        if tls is not None:
            tls.sni_callback = lambda _, name, __: self.names.append(name)
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that goes away, or does not trust us

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.server_address[1]}{path}"


def _serve(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join(60)
        server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    yield from _serve(Server())


@pytest.fixture
def other() -> Iterator[Server]:
    yield from _serve(Server())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for `named.test` that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "named.test")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("named.test")]), critical=False)
    signed = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def tls_server(certificate: Path) -> Iterator[Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    yield from _serve(Server(context))


class Names:
    """A resolver that the test tells what to answer; each answer is given once, the last one for ever."""

    def __init__(self, **answers: Sequence[Sequence[str]]) -> None:
        self.answers = {name.replace("_", "."): list(each) for name, each in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self.answers[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


async def _fetch(url: str, settings: WebSettings = OPEN, names: Names | None = None) -> FetchedPage:
    return await fetch(url, UrlPolicy(settings), settings, resolve=names or Names())


async def test_page_is_fetched_with_its_status_headers_and_body(server: Server) -> None:
    fetched = await _fetch(server.url("/a?b=c d".replace(" ", "%20")))

    assert (fetched.status, fetched.body, fetched.truncated) == (200, b"hello", False)
    assert fetched.url == server.url("/a?b=c%20d")
    assert fetched.headers["x-path"] == "/a?b=c%20d"


async def test_status_that_says_no_is_an_answer_too(server: Server) -> None:
    assert (await _fetch(server.url("/missing"))).status == 404


async def test_name_is_resolved_once_and_stays_in_the_host_header(server: Server) -> None:
    names = Names(pinned_test=[["127.0.0.1"]])

    fetched = await _fetch(server.url("/", "Pinned.test."), names=names)

    assert names.asked == ["pinned.test"]
    assert fetched.url == server.url("/", "pinned.test")
    assert server.requests[0][1]["host"] == f"pinned.test:{server.server_address[1]}"


async def test_name_that_resolves_anew_to_a_private_address_is_not_followed_there(server: Server) -> None:
    names = Names(rebind_test=[["127.0.0.1"], ["10.0.0.1"]])

    fetched = await _fetch(server.url("/", "rebind.test"), names=names)

    assert (fetched.body, names.asked) == (b"hello", ["rebind.test"])


class StrictButForServer(UrlPolicy):
    """The policy as configured, except for the one address at which the test's server stands."""

    def check_address(self, address: str | IPv4Address | IPv6Address) -> PolicyViolation | None:
        return None if str(address) == "127.0.0.1" else super().check_address(address)


async def test_rebound_name_is_judged_again_at_a_redirect(server: Server) -> None:
    names = Names(rebind_test=[["127.0.0.1"], ["169.254.169.254"]])

    with pytest.raises(PrivateIp) as caught:
        await fetch(server.url("/to//again", "rebind.test"), StrictButForServer(STRICT), STRICT, resolve=names)

    assert "169.254.169.254" in str(caught.value)
    assert [path for path, _ in server.requests] == ["/to//again"]


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1"], ["2606:4700::1111", "::ffff:10.0.0.1"], ["169.254.169.254"]],
)
async def test_one_private_address_refuses_the_host(addresses: list[str], server: Server) -> None:
    with pytest.raises(PrivateIp) as caught:
        await _fetch(server.url("/", "mixed.test"), STRICT, Names(mixed_test=[addresses]))

    assert (caught.value.code, caught.value.exit_code) == ("url-private-address", 3)
    assert server.requests == []


@pytest.mark.parametrize(
    ("location", "error"),
    [
        ("http://127.0.0.2/", PrivateIp),
        ("http://2130706434/", PrivateIp),
        ("//[::1]/", PrivateIp),
        ("http://localhost/", PrivateIp),
        ("http://private.test/", PrivateIp),
        ("http://blocked.test/", BlockedDomain),
        ("file:///etc/passwd", DisallowedScheme),
        ("http://user:pass@8.8.8.8/", InvalidUrl),
    ],
)
async def test_redirect_to_what_is_refused_is_not_followed(
    location: str, error: type[PolicyViolation], server: Server
) -> None:
    settings = structs.replace(STRICT, blocked_domains=("blocked.test",))
    policy = StrictButForServer(settings)
    names = Names(public_test=[["127.0.0.1"]], private_test=[["192.168.0.1"]])

    with pytest.raises(error):
        await fetch(server.url(f"/to/{location}", "public.test"), policy, settings, resolve=names)

    assert len(server.requests) == 1


async def test_redirects_are_followed_to_the_end(server: Server, other: Server) -> None:
    fetched = await _fetch(server.url("/to/" + other.url("/to/" + server.url("/end"))))

    assert (fetched.url, fetched.body) == (server.url("/end"), b"hello")
    assert len(server.requests) + len(other.requests) == 3


async def test_redirect_that_leads_nowhere_is_the_answer(server: Server) -> None:
    fetched = await _fetch(server.url("/nowhere"))

    assert (fetched.status, fetched.body) == (302, b"stay")


@pytest.mark.parametrize("limit", [0, 3])
async def test_redirects_come_to_an_end(limit: int, server: Server) -> None:
    with pytest.raises(FetchError) as caught:
        await _fetch(server.url("/loop"), structs.replace(OPEN, max_redirects=limit))

    assert caught.value.code == "fetch-redirects"
    assert len(server.requests) == limit + 1


async def test_headers_of_the_caller_stay_with_the_origin_they_were_meant_for(server: Server, other: Server) -> None:
    headers = {"Authorization": "Bearer s", "X-Key": "k", "User-Agent": "me", "Accept": "text/html", "Host": "evil",
               "Cookie": "c=d", "Transfer-Encoding": "chunked"}  # fmt: skip

    await fetch(server.url("/to//to/" + other.url("/")), UrlPolicy(OPEN), OPEN, headers=headers, resolve=Names())

    (_, first), (_, second) = server.requests
    ((_, third),) = other.requests
    for sent in (first, second):
        assert (sent["authorization"], sent["x-key"], sent["user-agent"]) == ("Bearer s", "k", "me")
        assert sent["host"] == f"127.0.0.1:{server.server_address[1]}"
    assert {"cookie", "transfer-encoding"}.isdisjoint(first)
    assert (third["user-agent"], third["accept"]) == ("me", "text/html")
    assert {"authorization", "x-key", "cookie"}.isdisjoint(third)


@pytest.mark.parametrize("headers", [{"a b": "c"}, {"a": "b\r\nc: d"}, {"a": "é"}, {"": "x"}])
async def test_header_that_cannot_be_sent_is_an_error(headers: dict[str, str], server: Server) -> None:
    with pytest.raises(FetchError) as caught:
        await fetch(server.url("/"), UrlPolicy(OPEN), OPEN, headers=headers)

    assert caught.value.code == "fetch-header"
    assert server.requests == []


async def test_cookie_that_is_set_is_not_sent_back(server: Server) -> None:
    await _fetch(server.url("/a"))
    await _fetch(server.url("/to//b"))

    assert all("cookie" not in sent for _, sent in server.requests)


async def test_proxies_of_the_environment_are_not_used(server: Server, environ: dict[str, str]) -> None:
    environ["http_proxy"] = environ["HTTP_PROXY"] = environ["ALL_PROXY"] = "http://127.0.0.1:1"

    assert (await _fetch(server.url("/"))).body == b"hello"


@pytest.mark.parametrize(("limit", "cut"), [(1000, True), (299_999, True), (300_000, False)])
async def test_body_is_cut_at_the_limit(limit: int, cut: bool, server: Server) -> None:
    fetched = await _fetch(server.url("/big"), structs.replace(OPEN, max_bytes=limit))

    assert (fetched.body, fetched.truncated) == (b"x" * limit, cut)


async def test_limit_counts_what_was_unpacked(server: Server) -> None:
    fetched = await _fetch(server.url("/bomb"), structs.replace(OPEN, max_bytes=100_000))

    assert (fetched.body, fetched.truncated) == (b"\0" * 100_000, True)


async def test_body_that_cannot_be_unpacked_is_an_error(server: Server) -> None:
    with pytest.raises(FetchError) as caught:
        await _fetch(server.url("/broken"))

    assert caught.value.code == "fetch-failed"


async def test_fetch_takes_no_longer_than_its_time(server: Server) -> None:
    with pytest.raises(FetchError) as caught:
        await _fetch(server.url("/hang"), structs.replace(OPEN, timeout_s=0.3))

    assert caught.value.code == "fetch-timeout"


async def test_certificate_is_checked_for_the_name_while_the_address_is_the_judged_one(
    tls_server: Server, certificate: Path
) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    url = tls_server.url("/", "named.test", "https")
    names = Names(named_test=[["127.0.0.1"]])

    fetched = await fetch(url, UrlPolicy(OPEN), OPEN, resolve=names, ssl_context=trusting)

    assert fetched.body == b"hello"
    assert tls_server.names == ["named.test"]


@pytest.mark.parametrize("host", ["other.test", "127.0.0.1"])
async def test_certificate_of_another_name_is_refused(host: str, tls_server: Server, certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    names = Names(other_test=[["127.0.0.1"]])

    with pytest.raises(FetchError) as caught:
        await fetch(tls_server.url("/", host, "https"), UrlPolicy(OPEN), OPEN, resolve=names, ssl_context=trusting)

    assert "certificate" in str(caught.value)
    assert tls_server.requests == []


async def test_certificate_that_this_machine_does_not_know_is_refused(tls_server: Server) -> None:
    with pytest.raises(FetchError) as caught:
        await _fetch(tls_server.url("/", "named.test", "https"), names=Names(named_test=[["127.0.0.1"]]))

    assert "certificate" in str(caught.value)


async def test_next_address_is_tried_when_one_does_not_answer(server: Server) -> None:
    names = Names(two_test=[["::1", "127.0.0.1"]])

    assert (await _fetch(server.url("/", "two.test"), names=names)).body == b"hello"


async def test_host_that_does_not_answer_is_an_error() -> None:
    idle = Server()
    url = idle.url("/", "closed.test")
    idle.server_close()

    with pytest.raises(FetchError) as caught:
        await _fetch(url, names=Names(closed_test=[["127.0.0.1"]]))

    assert caught.value.code == "fetch-failed"
    assert "'closed.test' could not be fetched" in str(caught.value)


async def test_host_without_addresses_is_an_error() -> None:
    with pytest.raises(FetchError) as caught:
        await _fetch("http://empty.test/", names=Names(empty_test=[[]]))

    assert caught.value.code == "fetch-failed"


async def test_scheme_that_is_allowed_but_not_ours_is_an_error() -> None:
    settings = structs.replace(OPEN, allowed_schemes=("ftp",))

    with pytest.raises(FetchError) as caught:
        await _fetch("ftp://127.0.0.1/", settings)

    assert caught.value.code == "fetch-scheme"


async def test_loopback_name_resolves_to_loopback() -> None:
    assert set(await resolve_host("localhost", 80)) <= {"127.0.0.1", "::1"}


async def test_name_that_cannot_be_one_is_an_error() -> None:
    with pytest.raises(ClawftError) as caught:
        await resolve_host("a" * 70 + ".localhost", 80)

    assert caught.value.code == "fetch-unresolved"
