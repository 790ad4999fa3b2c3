"""What the user decides about publishers, as changes of the trust file: whom to trust, which keys count no more."""

from datetime import UTC, datetime

from msgspec import structs

from clawft.errors import ClawftError, NotFound, Refused, find_close
from clawft.signing.check import judge_key
from clawft.signing.publishers import ANY, Publisher, PublisherKey, Publishers, Revoked
from clawft.signing.sshsig import SshSignature, parse_signature
from clawft.signing.statements import ROTATION_SPACE, Rotation, parse_rotation
from clawft.signing.verifying import verify

__all__ = [
    "accept_rotation",
    "find_vouched",
    "get_publisher",
    "read_rotation",
    "remove_publisher",
    "render_rotation",
    "revoke_key",
    "trust_key",
]

_ARMOR = "-----BEGIN SSH SIGNATURE-----"


def get_publisher(publishers: Publishers, name: str) -> Publisher:
    """The publisher of a name. Raises: NotFound."""
    if name not in publishers.publisher:
        close = find_close(name, publishers.publisher)
        hint = (f"did you mean '{close}'? " if close else "") + "Run: weft publishers list"
        raise NotFound("publisher-not-found", f"You trust no publisher '{name[:80]}'", hint=hint)
    return publishers.publisher[name]


def trust_key(publishers: Publishers, name: str, key: PublisherKey, skills: tuple[str, ...] = ()) -> Publishers:
    """A publisher with this key among theirs; `skills` replaces what they may sign, if given. Raises: Refused."""
    fingerprint = key.public.fingerprint
    revoked = publishers.revoked.get(fingerprint)
    if revoked:
        hint = "Ask its publisher for another. Revoked by mistake? Remove the entry from publishers.toml"
        raise Refused("key-revoked", f"You revoked {fingerprint}: {revoked.reason}", hint=hint)
    owner = publishers.find_key(fingerprint)
    if owner and owner[0] != name:
        message = f"{fingerprint} is a key of {owner[0]} already"
        raise Refused("key-of-another", message, hint=f"Run: weft publishers remove {owner[0]}")
    before = publishers.publisher.get(name, Publisher())
    others = tuple(one for one in before.key if one.public.fingerprint != fingerprint)
    after = Publisher(skills or before.skills or (ANY,), (*others, structs.replace(key, key=key.public.line)))
    return structs.replace(publishers, publisher={**publishers.publisher, name: after})


def revoke_key(publishers: Publishers, fingerprint: str, revoked: Revoked) -> Publishers:
    """A key that counts no more, whether or not it is known. A revocation is never made weaker."""
    before = publishers.revoked.get(fingerprint)
    if before and (before.since is None or (revoked.since is not None and before.since <= revoked.since)):
        return publishers
    return structs.replace(publishers, revoked={**publishers.revoked, fingerprint: revoked})


def remove_publisher(publishers: Publishers, name: str) -> Publishers:
    """Without a publisher; what was revoked stays so. Raises: NotFound."""
    get_publisher(publishers, name)
    left = {key: one for key, one in publishers.publisher.items() if key != name}
    return structs.replace(publishers, publisher=left)


def find_vouched(publishers: Publishers, fingerprint: str) -> tuple[str, ...]:
    """The keys that are trusted on the word of another."""
    keys = [key for one in publishers.publisher.values() for key in one.key]
    return tuple(key.public.fingerprint for key in keys if key.vouched_by == fingerprint)


def render_rotation(rotation: Rotation, armor: str) -> str:
    """The file that a publisher hands on: what is stated, and the signature by the old key."""
    return rotation.text.decode() + armor


def read_rotation(text: str) -> tuple[Rotation, SshSignature]:
    """What such a file states, and the signature, whose key is the one it names. Raises: ClawftError."""
    head, found, tail = text.partition(_ARMOR)
    if not found:
        raise ClawftError("rotation-format", "The file holds no signature", hint="Get it again from its publisher")
    rotation, signature = parse_rotation(head), parse_signature((found + tail).encode("ascii", errors="replace"))
    if signature.namespace != ROTATION_SPACE or signature.key.fingerprint != rotation.old:
        raise ClawftError("rotation-format", "The signature is for something else, or of another key than it says")
    return rotation, signature


def accept_rotation(publishers: Publishers, text: str, at: datetime) -> tuple[Publishers, str, Rotation]:
    """A publisher with the key that one of their own vouches for; who that is. Raises: ClawftError; Refused."""
    rotation, signature = read_rotation(text)
    owned = publishers.find_key(rotation.old)
    revoked = publishers.revoked.get(rotation.old)
    if owned is None or revoked:
        why = f"was revoked: {revoked.reason}" if revoked else "is of nobody you trust"
        hint = "Compare the new key with what its publisher says elsewhere, then: weft publishers trust NAME KEY"
        raise Refused("rotation-untrusted", f"The key that vouches, {rotation.old}, {why}", hint=hint)
    name, old = owned
    state, reason = judge_key(old, publishers, at)
    if state != "good":
        raise Refused("rotation-untrusted", f"The key that vouches, {rotation.old}, does not count today: {reason}")
    if not verify(signature, rotation.text):
        raise Refused("rotation-untrusted", "The signature does not hold: the file was changed", hint="Get it again")
    new = PublisherKey(rotation.new.line, None, None, rotation.old, at.astimezone(UTC))
    known = publishers.find_key(rotation.new.fingerprint)
    if known and known[0] == name:  # what is trusted by itself needs nobody's word
        return publishers, name, rotation
    return trust_key(publishers, name, new), name, rotation
