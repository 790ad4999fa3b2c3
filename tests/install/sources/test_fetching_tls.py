"""Registries over TLS: the certificate is that of the name, though the address is the judged one."""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from clawft.config.tools import WebSettings
from clawft.errors import ClawftError
from clawft.install.sources.http import SourceConnection
from scripted_site import Reply, ScriptedSite

pytestmark = pytest.mark.anyio
SETTINGS = WebSettings(timeout_s=10)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate for `hub.test` that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hub.test")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("hub.test")]), critical=False)
    signed = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def secure(certificate: Path) -> Iterator[ScriptedSite]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ScriptedSite(context) as site:
        site.answers["/a"] = Reply({"a": 1})
        yield site


def connect(site: ScriptedSite, host: str, certificate: Path | None) -> SourceConnection:
    async def resolve(_host: str, _port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    trusted = ssl.create_default_context(cafile=str(certificate)) if certificate else None
    address = f"https://{host}:{site.port}"
    return SourceConnection(address, SETTINGS, token="clh_secret", resolve=resolve, ssl_context=trusted)


async def test_a_registry_is_known_by_its_name_and_its_connection_is_kept(
    secure: ScriptedSite, certificate: Path
) -> None:
    fetching = connect(secure, "hub.test", certificate)

    for _ in range(3):
        assert await fetching.ask(f"{fetching.home.origin}/a", dict[str, int]) == {"a": 1}
    await fetching.aclose()

    assert secure.connections == 1
    assert secure.requests[0].headers["host"] == f"hub.test:{secure.port}"
    assert secure.requests[0].headers["authorization"] == "Bearer clh_secret"


@pytest.mark.parametrize(("host", "trusts"), [("other.test", True), ("hub.test", False)])
async def test_whoever_cannot_prove_to_be_the_registry_gets_no_token(
    host: str, trusts: bool, secure: ScriptedSite, certificate: Path
) -> None:
    fetching = connect(secure, host, certificate if trusts else None)

    with pytest.raises(ClawftError) as caught:
        await fetching.ask(f"{fetching.home.origin}/a", dict[str, int])
    await fetching.aclose()

    assert caught.value.code == "fetch-failed"
    assert secure.requests == []


async def test_a_registry_does_not_lead_back_to_where_nothing_is_encrypted(
    secure: ScriptedSite, certificate: Path
) -> None:
    fetching = connect(secure, "hub.test", certificate)
    secure.answers["/go"] = Reply(b"", 302, {"Location": f"http://hub.test:{secure.port}/a"})

    with pytest.raises(ClawftError) as caught:
        await fetching.read(f"{fetching.home.origin}/go")
    await fetching.aclose()

    assert caught.value.code == "fetch-insecure"
