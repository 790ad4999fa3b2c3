"""The format: what we write is what OpenSSH writes, and nothing that is written in another way is read."""

import base64
import struct

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from clawft.errors import ClawftError
from clawft.trust.signing.sshsig import (
    MAX_BYTES,
    PublicKey,
    encode_signed_message,
    make_public_key,
    parse_private_key,
    parse_public_key,
    parse_signature,
    sign_ed25519,
    verify_signature,
)

BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
PRIME = 2**255 - 19
EIGHT = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"  # a point of order 8


def _string(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def _unpack(armor: str) -> bytes:
    return base64.b64decode("".join(armor.split("\n")[1:-2]))


def _armor(packed: bytes) -> bytes:
    return f"{BEGIN}\n{_lines(base64.b64encode(packed).decode())}\n{END}\n".encode()


def _lines(text: str) -> str:
    return "\n".join(text[at : at + 70] for at in range(0, len(text), 70))


def _packed(
    key: bytes,
    space: bytes = b"clawft-skill",
    *,
    reserved: bytes = b"",
    name: bytes = b"sha512",
    inner: bytes,
    end: bytes = b"",
) -> bytes:
    parts = (key, space, reserved, name, inner)
    return b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(_string, parts)) + end


@given(st.binary(max_size=200), st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=30))
def test_what_is_signed_is_read_again_and_holds_for_this_message_only(message: bytes, space: str) -> None:
    private = Ed25519PrivateKey.from_private_bytes(bytes(32))
    signature = parse_signature(sign_ed25519(private, space, message).encode())

    assert signature.namespace == space
    assert verify_signature(signature, message)
    assert not verify_signature(signature, message + b"\n")


@given(st.data())
def test_an_armor_in_which_anything_was_changed_holds_no_more(data: st.DataObject) -> None:
    armor = sign_ed25519(Ed25519PrivateKey.from_private_bytes(bytes(32)), "clawft-skill", b"text")
    packed = bytearray(_unpack(armor))
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    try:
        changed = parse_signature(_armor(bytes(packed)))
    except ClawftError:
        return
    assert changed.namespace != "clawft-skill" or not verify_signature(changed, b"text")


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: f"{BEGIN}\n{text}\n{END}".encode())))
def test_whatever_lies_there_is_a_signature_or_an_error(content: bytes) -> None:
    for parse in (parse_signature, parse_private_key, lambda given: parse_public_key(given.decode("latin-1"))):
        with pytest.raises(ClawftError):
            parse(content)


def test_either_hash_is_understood_and_is_part_of_what_is_signed(private: Ed25519PrivateKey, public: PublicKey) -> None:
    for name, other in (("sha256", b"sha512"), ("sha512", b"sha256")):
        inner = _string(b"ssh-ed25519") + _string(private.sign(encode_signed_message("clawft-skill", name, b"text")))
        good = parse_signature(_armor(_packed(public.blob, name=name.encode(), inner=inner)))
        turned = parse_signature(_armor(_packed(public.blob, name=other, inner=inner)))

        assert verify_signature(good, b"text")
        assert not verify_signature(turned, b"text")


def test_only_one_whole_armor_is_a_signature(private: Ed25519PrivateKey) -> None:
    armor = sign_ed25519(private, "clawft-skill", b"text")
    body = armor.split("\n")[1:-2]
    parse_signature(armor.encode())
    parse_signature(armor.removesuffix("\n").encode())  # the last line may be without its end

    for wrong in (
        armor + armor,
        armor + "\n",
        armor + "x",
        " " + armor,
        "\n" + armor,
        armor.replace("\n", "\r\n"),
        armor.replace(BEGIN, "-----BEGIN PGP SIGNATURE-----"),
        "\n".join((BEGIN, "", *body, END, "")),
        "\n".join((BEGIN, f" {body[0]}", *body[1:], END, "")),
        "\n".join((BEGIN, "".join(body), END, "")),  # a line that is too long
        "\n".join((BEGIN, *body)),
        f"{BEGIN}\n{END}\n",
        "é" + armor,
        "",
    ):
        with pytest.raises(ClawftError) as caught:
            parse_signature(wrong.encode())
        assert caught.value.code == "signature-format"


def test_a_huge_file_is_no_signature() -> None:
    with pytest.raises(ClawftError, match="too large"):
        parse_signature(f"{BEGIN}\n{'A' * MAX_BYTES}\n{END}\n".encode())


def test_base64_has_one_way_to_be_written(private: Ed25519PrivateKey) -> None:
    text = base64.b64encode(_unpack(sign_ed25519(private, "clawft-skill", b"text"))).decode()
    last = text.rstrip("=")[-1]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    padded = text.rstrip("=")[:-1] + alphabet[alphabet.index(last) + 1] + "=" * text.count("=")
    assert base64.b64decode(padded) == base64.b64decode(text)  # the same bytes, written in another way

    for wrong in (padded, text.rstrip("="), text + "====", text.replace("+", "-").replace("/", "_") + "!"):
        with pytest.raises(ClawftError, match="base64"):
            parse_signature(f"{BEGIN}\n{_lines(wrong)}\n{END}\n".encode())


def test_bytes_beyond_the_end_and_fields_that_are_cut_off_are_refused(
    private: Ed25519PrivateKey, public: PublicKey
) -> None:
    value = private.sign(encode_signed_message("clawft-skill", "sha512", b"text"))
    inner = _string(b"ssh-ed25519") + _string(value)
    parse_signature(_armor(_packed(public.blob, inner=inner)))

    for wrong in (
        _packed(public.blob, inner=inner, end=b"\0"),
        _packed(public.blob, inner=inner + b"\0"),
        _packed(public.blob + b"\0", inner=inner),
        _packed(public.blob, inner=inner, reserved=b"x"),
        _packed(public.blob, inner=inner, name=b"sha1"),
        _packed(public.blob, inner=inner, name=b"md5"),
        _packed(public.blob, inner=_string(b"ssh-rsa") + _string(value)),
        _packed(public.blob, inner=_string(b"ssh-ed25519") + _string(value[:63])),
        _packed(public.blob, inner=inner)[:-1],
        _packed(public.blob[:-1], inner=inner),
        b"SSHSIG" + struct.pack(">I", 2) + _packed(public.blob, inner=inner)[10:],
        b"SSHSIG",
    ):
        with pytest.raises(ClawftError) as caught:
            parse_signature(_armor(wrong))
        assert caught.value.code == "signature-format"


@pytest.mark.parametrize(
    "raw",
    [
        (0).to_bytes(32, "little"),
        (1).to_bytes(32, "little"),
        (PRIME - 1).to_bytes(32, "little"),
        (PRIME + 1).to_bytes(32, "little"),  # 1, written in a second way
        (PRIME + 5).to_bytes(32, "little"),
        (1 | 1 << 255).to_bytes(32, "little"),
        bytes.fromhex(EIGHT),
        (int.from_bytes(bytes.fromhex(EIGHT), "little") | 1 << 255).to_bytes(32, "little"),
        (PRIME - int.from_bytes(bytes.fromhex(EIGHT), "little")).to_bytes(32, "little"),
    ],
    ids=lambda raw: raw.hex()[:8] + raw.hex()[-4:],
)
def test_a_key_for_which_one_signature_fits_many_messages_is_no_key(raw: bytes) -> None:
    with pytest.raises(ClawftError, match="weak"):
        parse_public_key(make_public_key(raw).line)
    with pytest.raises(ClawftError, match="weak"):
        parse_signature(_armor(_packed(make_public_key(raw).blob, inner=_string(b"ssh-ed25519") + _string(bytes(64)))))


def test_an_rsa_key_that_can_be_broken_is_no_key() -> None:
    for bits in (1024, 2047):
        number = (1 << bits - 1 | 1).to_bytes(bits // 8 + 1, "big")
        blob = b"".join(map(_string, (b"ssh-rsa", b"\x01\x00\x01", number)))
        with pytest.raises(ClawftError, match="weak"):
            parse_public_key(f"ssh-rsa {base64.b64encode(blob).decode()}")


@pytest.mark.parametrize("exponent", [b"\x01", b"\x04"], ids=["one", "even"])
def test_an_rsa_key_by_which_anybody_signs_is_no_key(exponent: bytes) -> None:
    blob = b"".join(map(_string, (b"ssh-rsa", exponent, b"\0" + b"\xff" * 256)))
    with pytest.raises(ClawftError, match="weak"):
        parse_public_key(f"ssh-rsa {base64.b64encode(blob).decode()}")


@pytest.mark.parametrize(
    "numbers", [(b"\0\x01\x00\x01", b"\0" + b"\xff" * 256), (b"\x01\x00\x01", bytes(9) + b"\xff" * 256)]
)
def test_an_rsa_key_has_one_fingerprint_so_that_it_can_be_revoked(numbers: tuple[bytes, bytes]) -> None:
    blob = b"".join(map(_string, (b"ssh-rsa", *numbers)))
    with pytest.raises(ClawftError, match="one way"):
        parse_public_key(f"ssh-rsa {base64.b64encode(blob).decode()}")


def test_a_key_has_one_kind_and_no_options(public: PublicKey) -> None:
    assert parse_public_key(f"{public.line} ada@example.org\n") == public
    kind, body = public.line.split()

    for wrong in (
        f"ssh-rsa {body}",
        f"{kind} {body[:-4]}",
        f"{kind} {body}AAAA",
        f"no-touch-required {public.line}",
        kind,
        "",
        f"ssh-ed25519-cert-v01@openssh.com {body}",
        "ssh-dss AAAAB3NzaC1kc3M=",
    ):
        with pytest.raises(ClawftError) as caught:
            parse_public_key(wrong)
        assert caught.value.code == "key-format"
