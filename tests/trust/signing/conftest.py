"""What tests of signatures share: a skill's folder, keys, and who is trusted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from clawft.trust.signing.publishers import SKILL_SPACE, Publisher, PublisherKey, Publishers, SkillStatement
from clawft.trust.signing.signatures import SIGNATURE_NAME
from clawft.trust.signing.sshsig import PublicKey, make_public_key, sign_ed25519

STATEMENT = SkillStatement("weather", "1.2.0", "sha256:" + "ab" * 32)

Sign = Callable[..., Path]


@pytest.fixture
def private() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.fixture
def public(private: Ed25519PrivateKey) -> PublicKey:
    return make_public_key(private.public_key().public_bytes_raw())


@pytest.fixture
def trusted(public: PublicKey) -> Publishers:
    """Ada, who may sign anything by her one key."""
    return Publishers({"ada": Publisher(("*",), (PublisherKey(public.line),))})


@pytest.fixture
def sign(tmp_path: Path, private: Ed25519PrivateKey) -> Sign:
    """A folder with a signature of a statement, in a namespace."""

    def make(statement: SkillStatement = STATEMENT, space: str = SKILL_SPACE) -> Path:
        folder = tmp_path / "weather"
        os.makedirs(folder, exist_ok=True)
        (folder / SIGNATURE_NAME).write_text(sign_ed25519(private, space, statement.text))
        return folder

    return make
