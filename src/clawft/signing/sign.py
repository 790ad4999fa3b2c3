"""Signing a skill: its signature is written beside SKILL.md, and is no part of what it signs."""

import os

from clawft.errors import ClawftError
from clawft.files import replace_file
from clawft.signing.check import SIGNATURE_NAME
from clawft.signing.keys import Signer
from clawft.signing.statements import SKILL_SPACE, Statement

__all__ = ["sign_skill"]


def sign_skill(folder: str, statement: Statement, signer: Signer) -> str:
    """Write the signature of a skill; where. Raises: ClawftError."""
    path = os.path.join(folder, SIGNATURE_NAME)
    armor = signer.sign(SKILL_SPACE, statement.text)
    try:
        replace_file(path, armor.encode(), 0o644)
    except OSError as error:
        raise ClawftError("not-written", f"The signature was not written: {error.strerror}", path=path) from error
    return path
