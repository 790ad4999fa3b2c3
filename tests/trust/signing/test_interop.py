"""The real OpenSSH: what we sign it verifies, what it signs we verify, and its agent signs for us."""

import base64
import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from clawft.errors import ClawftError, NotFound, Refused
from clawft.trust.programs import HostPrograms
from clawft.trust.signing.keys import find_own_key, find_ssh_key, make_own_key, open_signer, own_key_path, sign_skill
from clawft.trust.signing.publishers import (
    SKILL_SPACE,
    Publisher,
    PublisherKey,
    Publishers,
    SkillStatement,
    render_signers,
)
from clawft.trust.signing.signatures import check_signature
from clawft.trust.signing.sshsig import encode_signed_message

STATEMENT = SkillStatement("weather", "1.2.0", "sha256:" + "ab" * 32)
KEYGEN = shutil.which("ssh-keygen") or ""
needs_openssh = pytest.mark.skipif(not KEYGEN, reason="ssh-keygen is not installed")


def _make(path: Path, kind: str, passphrase: str = "") -> str:
    kind, _, bits = kind.partition("-")
    size = ["-b", bits] if bits else []
    words = [KEYGEN, "-q", "-t", kind, *size, "-N", passphrase, "-C", "ada", "-f", str(path)]
    subprocess.run(words, check=True, timeout=60)
    return str(path)


def _trusting(line: str) -> Publishers:
    key = PublisherKey(" ".join(line.split()[:2]))
    return Publishers({"ada": Publisher(("*",), (key,))})


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment with an agent of its own."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()  # it says where it listens when it does
        yield {"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": str(socket)}
    finally:
        process.terminate()
        process.communicate(timeout=60)


@needs_openssh
def test_what_we_sign_openssh_verifies(tmp_path: Path, child_env: dict[str, str]) -> None:
    user = tmp_path / "user"
    made = make_own_key(str(user), HostPrograms(child_env), "ada", passphrase=False)
    signer = open_signer(own_key_path(str(user)), HostPrograms(child_env))
    sign_skill(str(tmp_path), STATEMENT, signer)
    signers = tmp_path / "signers"
    signers.write_text(render_signers(_trusting(made.line)))

    words = [KEYGEN, "-Y", "verify", "-f", str(signers), "-I", "ada", "-n", SKILL_SPACE]
    words += ["-s", str(tmp_path / ".clawft-signature")]
    good = subprocess.run(words, input=STATEMENT.text, capture_output=True, timeout=60, check=False)
    other = subprocess.run(words, input=STATEMENT.text + b"\n", capture_output=True, timeout=60, check=False)

    assert signer.program is None  # we signed by ourselves
    assert good.returncode == 0, good.stderr
    assert made.fingerprint in good.stdout.decode()
    assert other.returncode != 0


@needs_openssh
@pytest.mark.parametrize("kind", ["ed25519", "ecdsa-256", "ecdsa-384", "ecdsa-521", "rsa-2048"])
def test_what_openssh_signs_we_verify(kind: str, tmp_path: Path, child_env: dict[str, str]) -> None:
    key = _make(tmp_path / "key", kind)
    words = [KEYGEN, "-Y", "sign", "-O", f"hashalg=sha{512 if kind == 'ed25519' else 256}"]
    words += ["-f", key, "-n", SKILL_SPACE]
    done = subprocess.run(words, input=STATEMENT.text, capture_output=True, timeout=60, check=True)
    (tmp_path / ".clawft-signature").write_bytes(done.stdout)
    trusted = _trusting((tmp_path / "key.pub").read_text())

    assert check_signature(str(tmp_path), STATEMENT, trusted).state == "good"
    other = SkillStatement("weather", "1.2.1", STATEMENT.digest)
    assert check_signature(str(tmp_path), other, trusted).state == "bad"


def _sign_by_hardware(kind: bytes, flags: int) -> tuple[str, bytes]:
    """What a FIDO key would sign: its line, and the armor."""
    application, seen = b"ssh:", struct.pack(">BI", flags, 7)
    message = hashlib.sha256(encode_signed_message(SKILL_SPACE, "sha512", STATEMENT.text)).digest()
    message = hashlib.sha256(application).digest() + seen + message
    if b"ed25519" in kind:
        private = Ed25519PrivateKey.from_private_bytes(bytes(32))
        blob = b"".join(map(_string, (kind, private.public_key().public_bytes_raw(), application)))
        value = private.sign(message)
    else:
        curve = ec.derive_private_key(7, ec.SECP256R1())
        point = curve.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        blob = b"".join(map(_string, (kind, b"nistp256", point, application)))
        numbers = decode_dss_signature(curve.sign(message, ec.ECDSA(SHA256())))
        value = b"".join(_string(one.to_bytes(one.bit_length() // 8 + 1, "big")) for one in numbers)
    parts = (blob, SKILL_SPACE.encode(), b"", b"sha512", _string(kind) + _string(value) + seen)
    packed = b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(_string, parts))
    text = base64.b64encode(packed).decode()
    lines = [text[at : at + 70] for at in range(0, len(text), 70)]
    armor = "\n".join(("-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""))
    return f"{kind.decode()} {base64.b64encode(blob).decode()}", armor.encode()


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


@needs_openssh
@pytest.mark.parametrize("kind", [b"sk-ssh-ed25519@openssh.com", b"sk-ecdsa-sha2-nistp256@openssh.com"])
def test_a_signature_by_a_key_in_hardware_is_verified(kind: bytes, tmp_path: Path) -> None:
    line, armor = _sign_by_hardware(kind, flags=1)
    (tmp_path / ".clawft-signature").write_bytes(armor)
    (tmp_path / "signers").write_text(f"ada {line}\n")
    words = [KEYGEN, "-Y", "verify", "-f", str(tmp_path / "signers"), "-I", "ada", "-n", SKILL_SPACE]
    words += ["-s", str(tmp_path / ".clawft-signature")]
    assert subprocess.run(words, input=STATEMENT.text, capture_output=True, timeout=60, check=False).returncode == 0

    assert check_signature(str(tmp_path), STATEMENT, _trusting(line)).state == "good"
    other = SkillStatement("weather", "1.2.1", STATEMENT.digest)
    assert check_signature(str(tmp_path), other, _trusting(line)).state == "bad"


@needs_openssh
@pytest.mark.parametrize("kind", ["ed25519", "rsa-2048"])
def test_a_key_of_ssh_signs_for_us(kind: str, tmp_path: Path, child_env: dict[str, str]) -> None:
    key = _make(tmp_path / "key", kind)

    signer = open_signer(key, HostPrograms(child_env), ssh=True)
    sign_skill(str(tmp_path), STATEMENT, signer)

    assert signer.program is not None
    assert signer.program.words == (KEYGEN,)
    trusted = _trusting((tmp_path / "key.pub").read_text())
    assert check_signature(str(tmp_path), STATEMENT, trusted).publisher == "ada"


@needs_openssh
def test_the_agent_signs_by_a_key_whose_private_half_is_not_here(tmp_path: Path, agent: dict[str, str]) -> None:
    key = _make(tmp_path / "key", "ed25519")
    subprocess.run(["ssh-add", "-q", key], env=agent, check=True, timeout=60)
    os.unlink(key)

    sign_skill(str(tmp_path), STATEMENT, open_signer(f"{key}.pub", HostPrograms(agent)))

    trusted = _trusting((tmp_path / "key.pub").read_text())
    assert check_signature(str(tmp_path), STATEMENT, trusted).state == "good"


@needs_openssh
def test_a_key_that_neither_file_nor_agent_has_signs_nothing(tmp_path: Path, agent: dict[str, str]) -> None:
    key = _make(tmp_path / "key", "ed25519")
    os.unlink(key)

    with pytest.raises(ClawftError) as caught:
        sign_skill(str(tmp_path), STATEMENT, open_signer(f"{key}.pub", HostPrograms(agent)))

    assert caught.value.code == "signing-failed"
    assert not (tmp_path / ".clawft-signature").exists()


@needs_openssh
def test_a_key_with_a_passphrase_is_left_to_openssh(tmp_path: Path, child_env: dict[str, str]) -> None:
    key = _make(tmp_path / "key", "ed25519", "secret words")

    signer = open_signer(key, HostPrograms(child_env | {"SSH_ASKPASS_REQUIRE": "never"}))
    assert signer.program is not None
    assert signer.program.words == (KEYGEN,)
    with pytest.raises(ClawftError) as caught:  # there is no terminal to ask on
        sign_skill(str(tmp_path), STATEMENT, signer)
    assert caught.value.code == "signing-failed"

    with pytest.raises(NotFound) as missing:
        open_signer(key, HostPrograms({"PATH": str(tmp_path)}))
    assert missing.value.code == "ssh-keygen-missing"


def test_our_own_key_is_private_and_made_once(tmp_path: Path, child_env: dict[str, str]) -> None:
    user = str(tmp_path / "user")
    assert find_own_key(user) is None
    made = make_own_key(user, HostPrograms(child_env), "ada", passphrase=False)

    assert find_own_key(user) == made
    assert os.stat(own_key_path(user)).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(own_key_path(user))).st_mode & 0o777 == 0o700
    with pytest.raises(Refused) as caught:
        make_own_key(user, HostPrograms(child_env), "ada", passphrase=False)
    assert caught.value.code == "key-exists"
    os.chmod(own_key_path(user), 0o640)
    with pytest.raises(Refused) as caught:
        open_signer(own_key_path(user), HostPrograms(child_env))
    assert caught.value.code == "key-exposed"


def test_the_key_that_ssh_would_take_is_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        find_ssh_key(str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_rsa").write_text("")
    (tmp_path / ".ssh" / "id_ecdsa.pub").write_text("")

    assert find_ssh_key(str(tmp_path)) == str(tmp_path / ".ssh" / "id_ecdsa.pub")


def test_a_program_beside_us_is_not_taken_for_openssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ssh-keygen").write_text("#!/bin/sh\n")
    (tmp_path / "ssh-keygen").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    key = _make(tmp_path / "key", "ed25519")

    with pytest.raises(NotFound):
        open_signer(key, HostPrograms({"PATH": ".:"}), ssh=True)
