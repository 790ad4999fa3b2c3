"""Files that hold a private key or a token whatever their name is: recognised by what they begin with."""

import os
import re
import stat

__all__ = ["holds_private_key", "is_private_key", "may_hold_key"]

MAX_HEAD = 64 * 1024  # of a file that is looked at: a bundle may begin with certificates
_NAMED = re.compile(r"key|rsa|dsa|ed25519|private|secret|credential|service|account|token")
_ENDS = (
    ".pem", ".key", ".p8", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".der", ".crt", ".cer", ".cert", ".asc", ".gpg",
    ".pgp",
)  # fmt: skip
_BEGIN = rb"(?:-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-|AGE-SECRET-KEY-1)"
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:#[^\n]*\n\s*)*" + _BEGIN)
_ANYWHERE = re.compile(rb"^" + _BEGIN, re.MULTILINE)
_ACCOUNT = re.compile(rb'"private_key"\s*:\s*"-----BEGIN ')
_STORES = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")  # Java's
_DER_KEY = re.compile(rb"\x30(?:[\x00-\x7f]|\x81.|\x82..|\x83...)\x02\x01[\x00\x01][\x02\x04\x30]", re.DOTALL)


def may_hold_key(name: str) -> bool:
    """Whether a folded name is one that private keys have; what is only public is told by its content."""
    return name.endswith(_ENDS) or name.startswith("id_") or bool(_NAMED.search(name))


def is_private_key(name: str, head: bytes) -> bool:
    """Whether a file of a folded name that begins so is a private key, or holds one among certificates."""
    if name.endswith((".p12", ".pfx")):
        return head.startswith(b"\x30")
    if name.endswith(_ENDS) or name.startswith("id_"):
        return bool(_ANYWHERE.search(head) or _DER_KEY.match(head)) or head.startswith(_STORES)
    return bool(_FIRST.match(head) or (name.endswith(".json") and _ACCOUNT.search(head)))


def holds_private_key(path: str, name: str) -> bool:
    """The same of a file on disk, which may be anything. Raises: OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a device may do something
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return is_private_key(name, os.read(descriptor, MAX_HEAD))
    finally:
        os.close(descriptor)
