"""OpenSSH keys and signatures (SSHSIG): parse, make and verify them."""

import base64
import binascii
import hashlib
import struct
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from clawft.errors import ClawftError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


ED25519 = "ssh-ed25519"
KINDS = (  # certificates are none of them: who may sign is written in the trust file and nowhere else
    *(ED25519, "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", "ssh-rsa"),
    *("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"),
)
CURVES = {"nistp256": 65, "nistp384": 97, "nistp521": 133}  # with the bytes of a point that is written in full
HASHES = ("sha512", "sha256")
MAX_BYTES = 16 << 10  # the armor of the largest RSA key has half of that
MAX_KEY = 8 << 10
MIN_RSA, MAX_RSA = 2048, 16384  # bits
MAX_EXPONENT = 64  # bits
_MAGIC = b"SSHSIG"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_IN_FULL = 4  # the first byte of such a point
_LINE = 70
_MAX_LINE = 76
_PRIME = 2**255 - 19
_CURVE = -121665 * pow(121666, -1, _PRIME) % _PRIME  # d of the curve


class PublicKey(Struct, frozen=True):
    """A public key: its kind, and all of it as OpenSSH encodes it."""

    kind: str
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """Its name, as `ssh-keygen -l` prints it."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def line(self) -> str:
        """The key as it stands in a `.pub` file."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"


class SshSignature(Struct, frozen=True):
    """The content of an armor. `text` is the armor itself, `rest` what keys in hardware add to their signature."""

    text: str
    key: PublicKey
    namespace: str
    hash: Literal["sha512", "sha256"]
    algorithm: str
    value: bytes
    rest: bytes = b""


def make_public_key(raw: bytes) -> PublicKey:
    """The public key of 32 bytes of Ed25519."""
    return PublicKey(ED25519, _string(ED25519.encode()) + _string(raw))


def parse_public_key(text: str) -> PublicKey:
    """The key of a line of a `.pub` file; a comment may follow it. Raises: ClawftError with code `key-format`."""
    words = text.split()
    if len(text) > MAX_KEY or len(words) < 2 or words[0] not in KINDS:
        kinds = ", ".join(KINDS)
        hint = f"Give a line such as 'ssh-ed25519 AAAA…', or a .pub file. Kinds: {kinds}"
        raise ClawftError("key-format", "This is no public key of a kind that signs", hint=hint)
    key = _read_key(_decode(words[1]))
    if key.kind != words[0]:
        raise ClawftError("key-format", f"The key says it is {words[0]}, and is {key.kind}")
    return key


def parse_private_key(content: bytes) -> tuple[PublicKey, bool]:
    """The public half of a private key in OpenSSH's format, and whether a passphrase keeps the rest closed.

    Raises: ClawftError with code `key-format`.
    """
    lines = content.decode("ascii", errors="replace").strip().splitlines() or [""]
    if (lines[0], lines[-1]) != ("-----BEGIN OPENSSH PRIVATE KEY-----", "-----END OPENSSH PRIVATE KEY-----"):
        hint = "Give a key as ssh-keygen makes it, or its .pub file if an agent holds it"
        raise ClawftError("key-format", "This is no private key in OpenSSH's format", hint=hint)
    reader = SshReader(_decode("".join(lines[1:-1])), "key-format")
    magic = b"openssh-key-v1\0"
    if reader.take(len(magic)) != magic:
        raise ClawftError("key-format", "This is no private key in OpenSSH's format")
    cipher, _kdf, _options = (reader.string() for _ in range(3))
    if reader.number() != 1:
        raise ClawftError("key-format", "The file holds more than one key")
    return _read_key(reader.string()), cipher != b"none"


def parse_signature(content: bytes) -> SshSignature:
    """The one signature that a file holds, and nothing else. Raises: ClawftError with code `signature-format`."""
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        raise _malformed("it is not text") from None
    if len(content) > MAX_BYTES:
        raise _malformed("it is too large")
    lines = text.removesuffix("\n").split("\n")
    if (
        len(lines) < 3
        or (lines[0], lines[-1]) != (_BEGIN, _END)
        or not all(0 < len(line) <= _MAX_LINE for line in lines)
    ):
        raise _malformed("it is not one armored SSH signature and nothing else")
    reader = SshReader(_decode("".join(lines[1:-1]), "signature-format"))
    if reader.take(len(_MAGIC)) != _MAGIC or reader.number() != 1:
        raise _malformed("it is not an SSH signature of version 1")
    blob, namespace, reserved, name = (reader.string() for _ in range(4))
    inner = SshReader(reader.string())
    algorithm, value = inner.string(), inner.string()
    rest = inner.content[inner.at :]
    reader.end()
    key = _read_key(blob, "signature-format")
    chosen = next((hash_ for hash_ in HASHES if hash_.encode() == name), None)
    if reserved or chosen is None:
        raise _malformed("it uses a hash that is not known")
    if key.kind == ED25519:
        inner.end()
        if algorithm != ED25519.encode() or len(value) != 64:
            raise _malformed("it is not of the kind of its key")
    return SshSignature(text, key, _text(namespace), chosen, _text(algorithm), value, rest)  # type: ignore[arg-type]


def encode_signed_message(namespace: str, name: str, message: bytes) -> bytes:
    """Return the bytes that are really signed for a message."""
    parts = (namespace.encode(), b"", name.encode(), hashlib.new(name, message).digest())
    return _MAGIC + b"".join(map(_string, parts))


def sign_ed25519(private: "Ed25519PrivateKey", namespace: str, message: bytes) -> str:
    """The armored signature of a message, as `ssh-keygen -Y sign` makes it."""
    key = make_public_key(private.public_key().public_bytes_raw())
    value = private.sign(encode_signed_message(namespace, HASHES[0], message))
    inner = _string(ED25519.encode()) + _string(value)
    parts = (key.blob, namespace.encode(), b"", HASHES[0].encode(), inner)
    packed = _MAGIC + struct.pack(">I", 1) + b"".join(map(_string, parts))
    encoded = base64.b64encode(packed).decode()
    lines = [encoded[at : at + _LINE] for at in range(0, len(encoded), _LINE)]
    return "\n".join((_BEGIN, *lines, _END, ""))


def _is_weak(raw: bytes) -> bool:
    """Return whether a point is written in a second way, or is of small order: one signature then fits many
    messages."""
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    if y >= _PRIME or y in (0, 1, _PRIME - 1):  # orders 4, 1 and 2
        return True
    return (_CURVE * pow(y, 4, _PRIME) + 2 * y * y - 1) % _PRIME == 0  # doubled it has y = 0: order 8


def _read_key(blob: bytes, code: str = "key-format") -> PublicKey:
    reader = SshReader(blob, code)
    kind = _text(reader.string())
    if kind not in KINDS:
        raise ClawftError(code, "Keys of this kind do not sign skills", hint=f"Use one of: {', '.join(KINDS)}")
    if "ed25519" in kind:
        raw = reader.string()
        if len(raw) != 32 or _is_weak(raw):
            raise ClawftError(code, "This Ed25519 key is malformed or weak", hint="Use a key that was made properly")
    if "ecdsa" in kind:
        curve, point = _text(reader.string()), reader.string()
        if not kind.partition("@")[0].endswith(curve) or len(point) != CURVES.get(curve) or point[0] != _IN_FULL:
            raise ClawftError(code, "This ECDSA key is malformed", hint="Use a key that was made properly")
    if kind == "ssh-rsa":
        _check_rsa(reader.integer(), reader.integer(), code)
    if kind.startswith("sk-"):
        reader.string()  # what it is for
    reader.end()
    return PublicKey(kind, blob)


def _check_rsa(exponent: int, modulus: int, code: str) -> None:
    """Check an RSA key. Raises: ClawftError for one that is so weak that others could sign by it, or too large to be
    verified."""
    why = ""
    if modulus.bit_length() < MIN_RSA:
        why = f"is weak: it has {modulus.bit_length()} bits, not {MIN_RSA}"
    elif exponent < 3 or not exponent % 2:
        why = "is weak: anybody can sign by it"
    elif modulus.bit_length() > MAX_RSA or exponent.bit_length() > MAX_EXPONENT:
        why = "is larger than anybody verifies"
    if why:
        raise ClawftError(code, f"This RSA key {why}", hint="Use another key")


class SshReader:
    """Takes OpenSSH's encoding apart, and complains of what is missing or left over."""

    def __init__(self, content: bytes, code: str = "signature-format") -> None:
        self.content = content
        self.code = code
        self.at = 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.content):
            raise ClawftError(self.code, "The encoding ends too early")
        self.at += count
        return self.content[self.at - count : self.at]

    def number(self) -> int:
        return int.from_bytes(self.take(4), "big")

    def string(self) -> bytes:
        return self.take(self.number())

    def integer(self) -> int:
        """A number that is not negative, in the one way to write it: else a key would have many fingerprints."""
        content = self.string()
        value = int.from_bytes(content, "big")
        if content != value.to_bytes(value.bit_length() // 8 + 1, "big"):
            raise ClawftError(self.code, "A number of the key is not written in the one way that counts")
        return value

    def end(self) -> None:
        if self.at != len(self.content):
            raise ClawftError(self.code, "Something follows the end of the encoding")


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def _decode(text: str, code: str = "key-format") -> bytes:
    """Base64 in the one way to write it."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if not content or base64.b64encode(content).decode() != text:
        raise ClawftError(code, "The base64 is malformed")
    return content


def _text(content: bytes) -> str:
    return content.decode("ascii", errors="backslashreplace")


def _malformed(why: str) -> ClawftError:
    return ClawftError("signature-format", f"The signature cannot be read: {why}")


_HARDWARE = "sk-"
_SEEN = 5  # bytes that a key in hardware adds: what it asked its owner for, and a number that it counts up


def verify_signature(signature: SshSignature, message: bytes) -> bool:
    """Return whether a signature is over this message, by the key that it names, in the namespace that it names."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    data = encode_signed_message(signature.namespace, signature.hash, message)
    try:
        _check(signature, data)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, ClawftError):
        return False
    return True


def _check(signature: SshSignature, data: bytes) -> None:
    """Raises: InvalidSignature and others for one that does not hold."""
    kind, rest = signature.key.kind, signature.rest
    reader = SshReader(signature.key.blob)
    reader.string()
    if kind == "ssh-rsa":
        return _check_rsa_signature(signature, data, reader.integer(), reader.integer())
    if signature.algorithm != kind or len(rest) != (_SEEN if kind.startswith(_HARDWARE) else 0):
        raise ValueError("it is not of the kind of its key")
    if "ed25519" in kind:
        raw = reader.string()
        return _check_ed25519(raw, signature.value, _as_seen(reader.string(), rest, data) if rest else data)
    curve, point = reader.string().decode(), reader.string()
    return _check_ecdsa(curve, point, signature.value, _as_seen(reader.string(), rest, data) if rest else data)


def _as_seen(application: bytes, seen: bytes, data: bytes) -> bytes:
    """Return the bytes that a key in hardware signs in place of the data."""
    return hashlib.sha256(application).digest() + seen + hashlib.sha256(data).digest()


def _check_ed25519(raw: bytes, value: bytes, data: bytes) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    Ed25519PublicKey.from_public_bytes(raw).verify(value, data)


def _check_rsa_signature(signature: SshSignature, data: bytes, exponent: int, modulus: int) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers

    known = {"rsa-sha2-256": hashes.SHA256(), "rsa-sha2-512": hashes.SHA512()}  # never SHA-1, which `ssh-rsa` means
    if signature.algorithm not in known or signature.rest:
        raise ValueError("it is not of the kind of its key")
    value = signature.value.rjust((modulus.bit_length() + 7) // 8, b"\0")
    RSAPublicNumbers(exponent, modulus).public_key().verify(value, data, PKCS1v15(), known[signature.algorithm])


def _check_ecdsa(curve: str, point: bytes, value: bytes, data: bytes) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    known: dict[str, tuple[ec.EllipticCurve, hashes.HashAlgorithm]] = {
        "nistp256": (ec.SECP256R1(), hashes.SHA256()),
        "nistp384": (ec.SECP384R1(), hashes.SHA384()),
        "nistp521": (ec.SECP521R1(), hashes.SHA512()),
    }
    numbers = SshReader(value)
    r, s = numbers.integer(), numbers.integer()
    numbers.end()
    key: EllipticCurvePublicKey = ec.EllipticCurvePublicKey.from_encoded_point(known[curve][0], point)
    key.verify(encode_dss_signature(r, s), data, ec.ECDSA(known[curve][1]))
