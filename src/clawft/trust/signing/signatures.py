"""Whether a skill is signed, by whom, and whether that counts for this user now."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from clawft.config import Config
from clawft.config.load import own_section
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import read_optional
from clawft.signing.publishers import PublisherKey, Publishers
from clawft.signing.sshsig import MAX_BYTES, SshSignature, parse_signature
from clawft.signing.statements import SKILL_SPACE, Statement
from clawft.signing.verifying import verify

__all__ = [
    "SIGNATURE_NAME",
    "Signature",
    "State",
    "check_signature",
    "find_refusal",
    "is_required",
    "judge_key",
    "require_signature",
]

SIGNATURE_NAME = ".clawft-signature"

State = Literal["unsigned", "good", "untrusted", "bad", "revoked", "expired"]
_REFUSED: dict[State, tuple[str, str]] = {
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
    """What a signature is worth. `key` is its fingerprint; `reason` says why it is not good."""

    state: State
    key: str = ""
    publisher: str = ""
    reason: str = ""

    @property
    def line(self) -> str:
        """It in a line, for whoever decides about the skill."""
        if self.state == "unsigned":
            return "not signed"
        by = f"{self.publisher} ({self.key})" if self.publisher else self.key
        if self.state == "good":
            return f"signed by {by}"
        return f"{self.state}: {self.reason}" + (f"; signed by {by}" if by else "")


def check_signature(
    folder: str, statement: Statement, publishers: Publishers, *, owner: str = "", at: datetime | None = None
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
        texts = [one.text for one in _candidates(statement)]
    except ClawftError as error:
        return Signature("bad", reason=str(error))
    return _judge(signature, texts, publishers, (owner, statement.name), at or datetime.now(UTC))


def _candidates(statement: Statement) -> list[Statement]:
    bare = Statement(statement.name, "", statement.digest)
    return [statement] if not statement.version else [statement, bare]


def _judge(
    signature: SshSignature, texts: list[bytes], publishers: Publishers, named: tuple[str, str], at: datetime
) -> Signature:
    key = signature.key.fingerprint
    if not any(verify(signature, text) for text in texts):
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


def judge_key(key: PublisherKey, publishers: Publishers, at: datetime) -> tuple[State, str]:
    """What is signed by a key that was not revoked is worth, and why no more."""
    if key.since and at < key.since:
        return "untrusted", f"the key counts from {_day(key.since)} on"
    if key.until and at >= key.until:
        return "expired", f"the key counts no more since {_day(key.until)}"
    return _judge_vouchers(key, publishers)


def _judge_vouchers(key: PublisherKey, publishers: Publishers) -> tuple[State, str]:
    """Whether those who vouched for a key, one after the other, could when they did, and are still trusted."""
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


def is_required(config: Config, user_dir: str, environ: Mapping[str, str]) -> bool:
    """Whether the user wants every skill signed. A project's config has no say: it could be a stranger's."""
    return bool(own_section(config, user_dir, "skills", environ).security.require_signature)


def find_refusal(signature: Signature, *, required: bool) -> Diagnostic | None:
    """Why a skill must not be installed or used, as far as its signature goes. A bad or a revoked one always counts."""
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
    said = find_refusal(signature, required=required)
    if said:
        raise Refused(said.code, said.message, path=path, hint=said.hint)


def _day(time: datetime) -> str:
    return time.astimezone(UTC).date().isoformat()
