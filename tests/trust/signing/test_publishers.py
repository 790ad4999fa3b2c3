"""The trust file: read with suspicion, written the same way for the same publishers."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clawft.errors import ClawftError, NotFound, Refused
from clawft.trust.signing.publishers import (
    ROTATION_SPACE,
    SKILL_SPACE,
    KeyRotation,
    Publisher,
    PublisherKey,
    Publishers,
    RevokedKey,
    change_publishers,
    load_publishers,
    render_publishers,
)
from clawft.trust.signing.signatures import accept_rotation, remove_publisher, render_rotation, revoke_key, trust_key
from clawft.trust.signing.sshsig import PublicKey, make_public_key, sign_ed25519

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def second() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([7] * 32))


@pytest.fixture
def other(second: Ed25519PrivateKey) -> PublicKey:
    return make_public_key(second.public_key().public_bytes_raw())


def test_what_is_written_is_read_again_and_is_the_same_in_any_order(
    tmp_path: Path, public: PublicKey, other: PublicKey
) -> None:
    keys = (PublisherKey(public.line, NOW, None, other.fingerprint, NOW), PublisherKey(other.line, None, NOW))
    revoked = {"SHA256:" + "a" * 43: RevokedKey(NOW, 'a "quoted"\tré\x7fason', NOW)}
    one = Publishers({"ada": Publisher(("ada/*", "x"), keys), "bob": Publisher()}, revoked)
    turned = Publishers({"bob": Publisher(), "ada": Publisher(("ada/*", "x"), keys[::-1])}, revoked)

    change_publishers(str(tmp_path), lambda _: one)
    text = (tmp_path / "publishers.toml").read_text("utf-8")
    loaded = load_publishers(str(tmp_path))

    assert text == render_publishers(turned) == render_publishers(loaded)
    assert loaded.revoked == revoked
    assert set(loaded.publisher["ada"].key) == set(keys)
    assert (tmp_path / "publishers.toml").stat().st_mode & 0o777 == 0o600


def test_a_file_edited_by_hand_is_understood(tmp_path: Path, public: PublicKey) -> None:
    (tmp_path / "publishers.toml").write_text(
        f'# mine\n[publisher.ada]\n[[publisher.ada.key]]\nkey = "{public.line} ada@home"\n'
        f'from = 2026-01-01\nuntil = "2027-01-01T00:00:00+01:00"\n[revoked."SHA256:{"b" * 43}"]\n'
        'at = 2026-02-03T04:05:06\nreason = "lost"\n'
    )
    loaded = load_publishers(str(tmp_path))

    assert loaded.find_key(public.fingerprint) is not None
    assert loaded.publisher["ada"].skills == ("*",)
    assert loaded.publisher["ada"].key[0].since == datetime(2026, 1, 1, tzinfo=UTC)
    assert loaded.revoked["SHA256:" + "b" * 43].at.tzinfo is not None


def test_a_file_that_anybody_could_exchange_trusts_nobody(tmp_path: Path) -> None:
    (tmp_path / "publishers.toml").write_text("version = 1\n")
    (tmp_path / "publishers.toml").chmod(0o600)
    tmp_path.chmod(0o777)
    with pytest.raises(Refused, match="Others may write") as caught:
        load_publishers(str(tmp_path))
    assert caught.value.code == "publishers-unsafe"
    tmp_path.chmod(0o770)  # the group is often one of the user alone
    assert load_publishers(str(tmp_path)) == Publishers()


def test_a_file_that_others_may_write_trusts_nobody(tmp_path: Path) -> None:
    file = tmp_path / "publishers.toml"
    file.write_text("version = 1\n")
    for mode in (0o620, 0o602, 0o666):
        file.chmod(mode)
        with pytest.raises(Refused) as caught:
            load_publishers(str(tmp_path))
        assert caught.value.code == "publishers-unsafe"
    file.chmod(0o644)
    assert load_publishers(str(tmp_path)) == Publishers()


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "version = 0",
        "publishers = 1",
        "[publisher.'../x']",
        "[publisher.Ada]",
        "[publisher.ada]\nskills = ['a/b/c']",
        "[publisher.ada]\nskills = ['[a]']",
        "[[publisher.ada.key]]\nkey = 'ssh-ed25519 AAAA'",
        "[[publisher.ada.key]]\nkey = '{key}'\ntrust = true",
        "[[publisher.ada.key]]\nkey = '{key}'\n[[publisher.bob.key]]\nkey = '{key}'",
        "[[publisher.ada.key]]\nkey = '{key}'\n[[publisher.ada.key]]\nkey = '{key} twice'",
        "[[publisher.ada.key]]\nkey = '{key}'\nuntil = 'soon'",
        "[[publisher.ada.key]]\nkey = '{key}'\nvouched_by = 'me'",
        "[revoked.abc]\nat = 2026-01-01\nreason = 'x'",
        "[revoked.'SHA256:" + "c" * 43 + "']\nreason = 'x'",
        "a = " + "[" * 5000,
    ],
)
def test_a_file_that_makes_no_sense_is_an_error_and_not_nobody(text: str, tmp_path: Path, public: PublicKey) -> None:
    (tmp_path / "publishers.toml").write_text(text.replace("{key}", public.line))

    with pytest.raises(ClawftError) as caught:
        load_publishers(str(tmp_path))
    assert caught.value.code == "publishers-damaged"


def test_a_revoked_key_and_the_key_of_another_are_not_trusted(trusted: Publishers, public: PublicKey) -> None:
    with pytest.raises(Refused) as caught:
        trust_key(trusted, "eve", PublisherKey(public.line))
    assert caught.value.code == "key-of-another"
    revoked = revoke_key(trusted, public.fingerprint, RevokedKey(NOW, "stolen"))
    with pytest.raises(Refused) as caught:
        trust_key(revoked, "ada", PublisherKey(public.line))
    assert caught.value.code == "key-revoked"
    with pytest.raises(Refused):  # whoever is removed takes no revocation along
        trust_key(remove_publisher(revoked, "ada"), "ada", PublisherKey(public.line))
    with pytest.raises(NotFound):
        remove_publisher(trusted, "adda")


def test_a_revocation_is_never_made_weaker(trusted: Publishers, public: PublicKey) -> None:
    whole = revoke_key(trusted, public.fingerprint, RevokedKey(NOW, "stolen"))

    assert revoke_key(whole, public.fingerprint, RevokedKey(NOW, "oh well", NOW)) == whole
    partly = revoke_key(trusted, public.fingerprint, RevokedKey(NOW, "stolen", NOW))
    assert (
        revoke_key(partly, public.fingerprint, RevokedKey(NOW, "all of it")).revoked[public.fingerprint].since is None
    )


def _vouch(private: Ed25519PrivateKey, old: PublicKey, new: PublicKey, space: str = ROTATION_SPACE) -> str:
    rotation = KeyRotation(old.fingerprint, new, "2026-11-16")
    return render_rotation(rotation, sign_ed25519(private, space, rotation.text))


def test_a_new_key_is_taken_on_the_word_of_a_trusted_one(
    trusted: Publishers, private: Ed25519PrivateKey, public: PublicKey, other: PublicKey
) -> None:
    after, name, _ = accept_rotation(trusted, _vouch(private, public, other), NOW)

    assert name == "ada"
    found = after.find_key(other.fingerprint)
    assert found is not None
    assert (found[0], found[1].vouched_by, found[1].vouched_at) == ("ada", public.fingerprint, NOW)
    assert accept_rotation(after, _vouch(private, public, other), NOW)[0] == after


def test_the_word_of_a_stranger_a_revoked_or_an_ended_key_is_nothing(
    trusted: Publishers, private: Ed25519PrivateKey, public: PublicKey, other: PublicKey, second: Ed25519PrivateKey
) -> None:
    third = make_public_key(Ed25519PrivateKey.from_private_bytes(bytes([9] * 32)).public_key().public_bytes_raw())
    ended = Publishers({"ada": Publisher(("*",), (PublisherKey(public.line, None, NOW),))})
    revoked = revoke_key(trusted, public.fingerprint, RevokedKey(NOW, "stolen", datetime(2030, 1, 1, tzinfo=UTC)))
    good = _vouch(private, public, other)
    for publishers, text in (
        (trusted, _vouch(second, other, third)),
        (trusted, good.replace("2026-11-16", "2026-11-17")),
        (trusted, good.replace(other.line, third.line)),
        (ended, good),
        (revoked, good),
        (revoke_key(trusted, other.fingerprint, RevokedKey(NOW, "known bad")), good),
    ):
        with pytest.raises(Refused) as caught:
            accept_rotation(publishers, text, NOW)
        assert caught.value.code in ("rotation-untrusted", "key-revoked")


def test_a_key_that_fell_with_the_one_that_vouched_for_it_vouches_for_nobody(
    trusted: Publishers, private: Ed25519PrivateKey, public: PublicKey, other: PublicKey, second: Ed25519PrivateKey
) -> None:
    third = make_public_key(Ed25519PrivateKey.from_private_bytes(bytes([9] * 32)).public_key().public_bytes_raw())
    after, _, _ = accept_rotation(trusted, _vouch(private, public, other), NOW)
    fallen = revoke_key(after, public.fingerprint, RevokedKey(NOW, "stolen"))

    with pytest.raises(Refused, match="stolen") as caught:
        accept_rotation(fallen, _vouch(second, other, third), NOW)
    assert caught.value.code == "rotation-untrusted"


def test_a_statement_is_written_in_one_way_and_for_nothing_else(
    trusted: Publishers, private: Ed25519PrivateKey, public: PublicKey, other: PublicKey
) -> None:
    good = _vouch(private, public, other)
    for text in (
        _vouch(private, public, other, SKILL_SPACE),
        good.replace("clawft-rotation-v1", "clawft-rotation-v2"),
        good.replace(other.line, f"{other.line} "),
        "\n" + good,
        good + good,
        good.partition("-----")[0],
        "",
    ):
        with pytest.raises(ClawftError) as caught:
            accept_rotation(trusted, text, NOW)
        assert caught.value.code in ("rotation-format", "signature-format", "key-format")
