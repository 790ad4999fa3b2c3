"""Check the signature of a skill, and change which publishers and keys are trusted."""

import os
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct, structs

from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.files import read_optional
from clawft.trust.signing.publishers import (
    ANY,
    ROTATION_SPACE,
    SKILL_SPACE,
    KeyRotation,
    Publisher,
    PublisherKey,
    Publishers,
    RevokedKey,
    SkillStatement,
    parse_rotation,
)
from clawft.trust.signing.sshsig import MAX_BYTES, SshSignature, parse_signature, verify_signature

SIGNATURE_NAME = ".clawft-signature"

SignatureState = Literal["unsigned", "good", "untrusted", "bad", "revoked", "expired"]
_REFUSED: dict[SignatureState, tuple[str, str]] = {
    "bad": ("signature-bad", f"Do not use it. If it is yours: weft skills sign DIR; or remove {SIGNATURE_NAME}"),
    "revoked": (
        "signature-revoked",
        "Do not use it: somebody else may have signed it. Ask for another key's signature",
    ),
    "untrusted": (
        "signature-untrusted",
        "Compare the key with what its publisher says elsewhere, then: weft publishers trust NAME KEY",
    ),
    "expired": ("signature-expired", "Ask its publisher for a new key or signature"),
}


class Signature(Struct, frozen=True):
    """The verdict on a signature. `key` is its fingerprint; `reason` says why it is not good."""

    state: SignatureState
    key: str = ""
    publisher: str = ""
    reason: str = ""

    @property
    def line(self) -> str:
        """The signature in one line, for a person who decides about the skill."""
        if self.state == "unsigned":
            return "not signed"
        by = f"{self.publisher} ({self.key})" if self.publisher else self.key
        if self.state == "good":
            return f"signed by {by}"
        return f"{self.state}: {self.reason}" + (f"; signed by {by}" if by else "")


def check_signature(
    folder: str, statement: SkillStatement, publishers: Publishers, *, owner: str = "", at: datetime | None = None
) -> Signature:
    """Judge the signature of a skill's folder, whose name, version and digest the caller knows from elsewhere.

    `owner` is whose it is in the registry it comes from. `at` is when it was accepted, for a skill that was long ago.
    A signature without a version is one of the content; any other version than the statement's makes it bad.
    """
    try:
        content = read_optional(os.path.join(folder, SIGNATURE_NAME), MAX_BYTES)
        if content is None:
            return Signature("unsigned")
        signature = parse_signature(content)
        if signature.namespace != SKILL_SPACE:
            return Signature("bad", signature.key.fingerprint, reason="it was made for something else than skills")
        texts = [candidate.text for candidate in _candidates(statement)]
    except ClawftError as error:
        return Signature("bad", reason=str(error))
    return _judge(signature, texts, publishers, (owner, statement.name), at or datetime.now(UTC))


def _candidates(statement: SkillStatement) -> list[SkillStatement]:
    bare = SkillStatement(statement.name, "", statement.digest)
    return [statement] if not statement.version else [statement, bare]


def _judge(
    signature: SshSignature, texts: list[bytes], publishers: Publishers, named: tuple[str, str], at: datetime
) -> Signature:
    key = signature.key.fingerprint
    if not any(verify_signature(signature, text) for text in texts):
        return Signature("bad", key, reason="it is for another name, version or content")
    revoked = publishers.find_revoked(key, at)
    owned = publishers.find_key(key)
    publisher = owned[0] if owned else ""
    if revoked:
        return Signature("revoked", key, publisher, f"the key was revoked on {_day(revoked.at)}: {revoked.reason}")
    if owned is None:
        return Signature("untrusted", key, reason="nobody you trust has this key")
    if not publishers.publisher[publisher].may_sign(*named):
        return Signature("untrusted", key, publisher, f"{publisher} may not sign {'/'.join(filter(None, named))}")
    state, reason = judge_key(owned[1], publishers, at)
    return Signature(state, key, publisher, reason)


def judge_key(key: PublisherKey, publishers: Publishers, at: datetime) -> tuple[SignatureState, str]:
    """Judge a signature at a time by a key that was not revoked, and return the reason if it is not good."""
    if key.since and at < key.since:
        return "untrusted", f"the key counts from {_day(key.since)} on"
    if key.until and at >= key.until:
        return "expired", f"the key counts no more since {_day(key.until)}"
    return _judge_vouchers(key, publishers)


def _judge_vouchers(key: PublisherKey, publishers: Publishers) -> tuple[SignatureState, str]:
    """Return whether those who vouched for a key, one after the other, could when they did, and are still trusted."""
    seen: set[str] = set()
    while key.vouched_by and key.vouched_by not in seen:
        seen.add(key.vouched_by)
        revoked = publishers.find_revoked(key.vouched_by, key.vouched_at or datetime.now(UTC))
        if revoked:
            return "untrusted", f"the key that vouched for it was revoked on {_day(revoked.at)}: {revoked.reason}"
        voucher = publishers.find_key(key.vouched_by)
        if voucher is None:
            return "untrusted", "the key that vouched for it is trusted no more"
        key = voucher[1]
    return ("untrusted", "keys vouch for each other in a circle") if key.vouched_by else ("good", "")


def find_refusal(signature: Signature, *, required: bool) -> Diagnostic | None:
    """Return why a skill must not be installed or used, by its signature; None if it may. A bad or a revoked one always
    counts."""
    if signature.state == "good" or (signature.state not in ("bad", "revoked") and not required):
        return None
    if signature.state == "unsigned":
        hint = "Ask its publisher to sign it. Who wants that: --require-signature, or skills.security in your config"
        return Diagnostic(
            "signature-missing", "error", "The skill is not signed, and a signature is required", hint=hint
        )
    code, hint = _REFUSED[signature.state]
    return Diagnostic(code, "error", f"The signature is {signature.line}", hint=hint)


def require_signature(signature: Signature, *, required: bool, path: str = "") -> None:
    """Raises: Refused where `find_refusal` finds something."""
    refusal = find_refusal(signature, required=required)
    if refusal:
        raise Refused(refusal.code, refusal.message, path=path, hint=refusal.hint)


def _day(time: datetime) -> str:
    return time.astimezone(UTC).date().isoformat()


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
    others = tuple(known_key for known_key in before.key if known_key.public.fingerprint != fingerprint)
    after = Publisher(skills or before.skills or (ANY,), (*others, structs.replace(key, key=key.public.line)))
    return structs.replace(publishers, publisher={**publishers.publisher, name: after})


def revoke_key(publishers: Publishers, fingerprint: str, revoked: RevokedKey) -> Publishers:
    """Revoke a key, whether or not it is known. A revocation is never made weaker."""
    before = publishers.revoked.get(fingerprint)
    if before and (before.since is None or (revoked.since is not None and before.since <= revoked.since)):
        return publishers
    return structs.replace(publishers, revoked={**publishers.revoked, fingerprint: revoked})


def remove_publisher(publishers: Publishers, name: str) -> Publishers:
    """Without a publisher; what was revoked stays so. Raises: NotFound."""
    get_publisher(publishers, name)
    left = {key: publisher for key, publisher in publishers.publisher.items() if key != name}
    return structs.replace(publishers, publisher=left)


def find_vouched(publishers: Publishers, fingerprint: str) -> tuple[str, ...]:
    """The keys that are trusted on the word of another."""
    keys = [key for publisher in publishers.publisher.values() for key in publisher.key]
    return tuple(key.public.fingerprint for key in keys if key.vouched_by == fingerprint)


def render_rotation(rotation: KeyRotation, armor: str) -> str:
    """The file that a publisher hands on: what is stated, and the signature by the old key."""
    return rotation.text.decode() + armor


def read_rotation(text: str) -> tuple[KeyRotation, SshSignature]:
    """Parse a key rotation file: its statement, and the signature, whose key is the one it names. Raises:
    ClawftError."""
    head, found, tail = text.partition(_ARMOR)
    if not found:
        raise ClawftError("rotation-format", "The file holds no signature", hint="Get it again from its publisher")
    rotation, signature = parse_rotation(head), parse_signature((found + tail).encode("ascii", errors="replace"))
    if signature.namespace != ROTATION_SPACE or signature.key.fingerprint != rotation.old:
        raise ClawftError("rotation-format", "The signature is for something else, or of another key than it says")
    return rotation, signature


def accept_rotation(publishers: Publishers, text: str, at: datetime) -> tuple[Publishers, str, KeyRotation]:
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
    if not verify_signature(signature, rotation.text):
        raise Refused("rotation-untrusted", "The signature does not hold: the file was changed", hint="Get it again")
    new = PublisherKey(rotation.new.line, None, None, rotation.old, at.astimezone(UTC))
    known = publishers.find_key(rotation.new.fingerprint)
    if known and known[0] == name:  # what is trusted by itself needs nobody's word
        return publishers, name, rotation
    return trust_key(publishers, name, new), name, rotation
