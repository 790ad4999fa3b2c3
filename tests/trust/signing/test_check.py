"""What a signature is worth: of what, by whom, and when."""

import os
from collections.abc import Callable, MutableMapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import structs

from clawft.errors import Refused
from clawft.trust.signing.publishers import (
    ROTATION_SPACE,
    SKILL_SPACE,
    Publisher,
    PublisherKey,
    Publishers,
    RevokedKey,
    SkillStatement,
)
from clawft.trust.signing.signatures import SIGNATURE_NAME, Signature, check_signature, find_refusal, require_signature
from clawft.trust.signing.sshsig import PublicKey, make_public_key, sign_ed25519

STATEMENT = SkillStatement("weather", "1.2.0", "sha256:" + "ab" * 32)  # as the fixture `sign` signs it
Sign = Callable[..., Path]
EARLY, NOON, LATE = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 6, 12))


def test_a_skill_without_a_signature_is_unsigned(tmp_path: Path, trusted: Publishers) -> None:
    assert check_signature(str(tmp_path), STATEMENT, trusted) == Signature("unsigned")


def test_a_trusted_key_is_named_with_its_publisher(sign: Sign, trusted: Publishers, public: PublicKey) -> None:
    found = check_signature(str(sign()), STATEMENT, trusted)

    assert found == Signature("good", public.fingerprint, "ada")
    assert found.line == f"signed by ada ({public.fingerprint})"
    require_signature(found, required=True)


@pytest.mark.parametrize(
    "other",
    [
        SkillStatement("weather2", "1.2.0", STATEMENT.digest),
        SkillStatement("weather", "1.2.1", STATEMENT.digest),
        SkillStatement("weather", "", STATEMENT.digest),
        SkillStatement("weather", "1.2.0", "sha256:" + "cd" * 32),
        SkillStatement("weather\n1.2.0", "", STATEMENT.digest),
    ],
)
def test_another_name_version_or_content_makes_it_bad_and_that_is_always_refused(
    other: SkillStatement, sign: Sign, trusted: Publishers
) -> None:
    found = check_signature(str(sign()), other, trusted)

    assert found.state == "bad"
    for required in (True, False):
        with pytest.raises(Refused) as caught:
            require_signature(found, required=required)
        assert caught.value.code == "signature-bad"


def test_a_signature_of_the_content_alone_holds_for_every_version(sign: Sign, trusted: Publishers) -> None:
    folder = sign(SkillStatement("weather", "", STATEMENT.digest))

    assert check_signature(str(folder), STATEMENT, trusted).state == "good"
    other = SkillStatement("weather", "", "sha256:" + "cd" * 32)
    assert check_signature(str(folder), other, trusted).state == "bad"


def test_a_signature_made_for_something_else_is_bad(sign: Sign, trusted: Publishers) -> None:
    for space in ("file", "git", ROTATION_SPACE, "clawft-skill2"):
        assert check_signature(str(sign(space=space)), STATEMENT, trusted).state == "bad"


def test_what_stands_in_place_of_the_file_is_bad(sign: Sign, trusted: Publishers, tmp_path: Path) -> None:
    folder = sign()
    file = folder / SIGNATURE_NAME
    (tmp_path / "elsewhere").write_bytes(file.read_bytes())
    file.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert check_signature(str(folder), STATEMENT, trusted).state == "bad"
    file.unlink()
    os.mkfifo(file)
    assert check_signature(str(folder), STATEMENT, trusted).state == "bad"
    file.unlink()
    file.write_bytes(b"-" * (1 << 20))
    assert check_signature(str(folder), STATEMENT, trusted).state == "bad"


def test_a_key_of_nobody_is_untrusted_and_refused_only_where_a_signature_is_required(sign: Sign) -> None:
    found = check_signature(str(sign()), STATEMENT, Publishers())

    assert found.state == "untrusted"
    assert find_refusal(found, required=False) is None
    said = find_refusal(found, required=True)
    assert said is not None
    assert said.code == "signature-untrusted"


def test_a_publisher_signs_only_what_is_theirs(sign: Sign, trusted: Publishers) -> None:
    folder = str(sign())

    def state(*patterns: str, owner: str = "") -> str:
        one = structs.replace(trusted.publisher["ada"], skills=patterns)
        return check_signature(folder, STATEMENT, Publishers({"ada": one}), owner=owner).state

    assert state("ada/*", owner="ada") == "good"
    assert state("ada/*", owner="bob") == "untrusted"
    assert state("ada/*", owner="-") == "untrusted"  # there are owners, and which it is was kept from us
    assert state("Ada/*", owner="aDa") == "good"  # small letters and capitals are one
    assert state("ada/wea*", "bob/weather", owner="bob") == "good"
    assert state("weather", owner="bob") == "good"
    assert state("ada/*") == "good"  # no registry says whose it is
    assert state("ada/sun*") == "untrusted"
    assert state() == "untrusted"


def test_a_key_counts_in_its_time(sign: Sign, public: PublicKey) -> None:
    key = PublisherKey(public.line, since=EARLY, until=NOON)
    publishers = Publishers({"ada": Publisher(("*",), (key,))})
    folder = str(sign())

    def state(at: datetime) -> str:
        return check_signature(folder, STATEMENT, publishers, at=at).state

    assert state(datetime(2025, 12, 31, tzinfo=UTC)) == "untrusted"
    assert state(EARLY) == "good"
    assert state(NOON) == "expired"
    assert state(LATE) == "expired"


def test_revocation_beats_everything_also_for_what_was_signed_before(
    sign: Sign, trusted: Publishers, public: PublicKey
) -> None:
    revoked = structs.replace(trusted, revoked={public.fingerprint: RevokedKey(NOON, "stolen")})
    folder = str(sign())

    for at in (EARLY, NOON, LATE):
        found = check_signature(folder, STATEMENT, revoked, at=at)
        assert (found.state, found.publisher) == ("revoked", "ada")
        assert "stolen" in found.reason
    with pytest.raises(Refused, match="stolen"):
        require_signature(found, required=False)


def test_a_revocation_since_a_day_leaves_what_was_accepted_before(
    sign: Sign, trusted: Publishers, public: PublicKey
) -> None:
    revoked = structs.replace(trusted, revoked={public.fingerprint: RevokedKey(LATE, "stolen", NOON)})
    folder = str(sign())

    assert check_signature(folder, STATEMENT, revoked, at=EARLY).state == "good"
    assert check_signature(folder, STATEMENT, revoked, at=NOON).state == "revoked"
    assert check_signature(folder, STATEMENT, revoked).state == "revoked"


def test_a_key_that_was_vouched_for_falls_with_the_one_that_vouched(
    sign: Sign, tmp_path: Path, public: PublicKey
) -> None:
    """Three keys, each vouched for by the one before."""
    privates = [Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)) for number in (1, 2, 3)]
    keys = [make_public_key(one.public_key().public_bytes_raw()) for one in privates]
    chain = (
        PublisherKey(keys[0].line),
        PublisherKey(keys[1].line, None, None, keys[0].fingerprint, EARLY),
        PublisherKey(keys[2].line, None, None, keys[1].fingerprint, NOON),
    )
    folder = sign()
    (folder / SIGNATURE_NAME).write_text(sign_ed25519(privates[2], SKILL_SPACE, STATEMENT.text))

    def state(revoked: dict[str, RevokedKey], known: tuple[PublisherKey, ...] = chain) -> str:
        return check_signature(str(folder), STATEMENT, Publishers({"ada": Publisher(("*",), known)}, revoked)).state

    assert state({}) == "good"
    assert state({keys[0].fingerprint: RevokedKey(LATE, "stolen")}) == "untrusted"
    assert state({keys[1].fingerprint: RevokedKey(LATE, "stolen")}) == "untrusted"
    assert state({keys[0].fingerprint: RevokedKey(LATE, "stolen", NOON)}) == "good"  # it vouched before
    assert state({}, chain[1:]) == "untrusted"
    circle = (chain[2], structs.replace(chain[1], vouched_by=keys[2].fingerprint))
    assert state({}, circle) == "untrusted"


def test_no_program_has_a_say_in_whether_a_signature_holds(
    sign: Sign, trusted: Publishers, tmp_path: Path, environ: MutableMapping[str, str]
) -> None:
    folder = sign()
    (folder / SIGNATURE_NAME).write_bytes((Path(__file__).parent / "rsa-signature.txt").read_bytes())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh-keygen").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bin" / "ssh-keygen").chmod(0o755)
    environ["PATH"] = str(tmp_path / "bin")

    assert check_signature(str(folder), STATEMENT, trusted).state == "untrusted"  # it holds
    other = SkillStatement("weather", "1.2.1", STATEMENT.digest)
    assert check_signature(str(folder), other, trusted).state == "bad"
