"""Whether a signature holds, for every kind of key: told here, whatever programs lie about on this machine."""

import hashlib
from typing import TYPE_CHECKING

from clawft.errors import ClawftError
from clawft.signing.sshsig import Reader, SshSignature, hashed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

__all__ = ["verify"]

_HARDWARE = "sk-"
_SEEN = 5  # bytes that a key in hardware adds: what it asked its owner for, and a number that it counts up


def verify(signature: SshSignature, message: bytes) -> bool:
    """Whether a signature is over this message, by the key that it names, in the namespace that it names."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    data = hashed(signature.namespace, signature.hash, message)
    try:
        _check(signature, data)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, ClawftError):
        return False
    return True


def _check(signature: SshSignature, data: bytes) -> None:
    """Raises: InvalidSignature and others for one that does not hold."""
    kind, rest = signature.key.kind, signature.rest
    reader = Reader(signature.key.blob)
    reader.string()
    if kind == "ssh-rsa":
        return _check_rsa(signature, data, reader.integer(), reader.integer())
    if signature.algorithm != kind or len(rest) != (_SEEN if kind.startswith(_HARDWARE) else 0):
        raise ValueError("it is not of the kind of its key")
    if "ed25519" in kind:
        raw = reader.string()
        return _check_ed25519(raw, signature.value, _as_seen(reader.string(), rest, data) if rest else data)
    curve, point = reader.string().decode(), reader.string()
    return _check_ecdsa(curve, point, signature.value, _as_seen(reader.string(), rest, data) if rest else data)


def _as_seen(application: bytes, seen: bytes, data: bytes) -> bytes:
    """What a key in hardware signs in place of the data."""
    return hashlib.sha256(application).digest() + seen + hashlib.sha256(data).digest()


def _check_ed25519(raw: bytes, value: bytes, data: bytes) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    Ed25519PublicKey.from_public_bytes(raw).verify(value, data)


def _check_rsa(signature: SshSignature, data: bytes, exponent: int, modulus: int) -> None:
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
    numbers = Reader(value)
    r, s = numbers.integer(), numbers.integer()
    numbers.end()
    key: EllipticCurvePublicKey = ec.EllipticCurvePublicKey.from_encoded_point(known[curve][0], point)
    key.verify(encode_dss_signature(r, s), data, ec.ECDSA(known[curve][1]))
