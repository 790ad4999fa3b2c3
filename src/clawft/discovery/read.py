"""One skill folder to a Skill: SKILL.md first, else `skill.json` (R2), with Codex's sidecar on top."""

import os

from msgspec import structs

from clawft.discovery.walk import is_below
from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.files import read_regular
from clawft.format import Skill, apply_sidecar, decode_text, parse_legacy, parse_skill_md
from clawft.format.names import is_safe_folder

__all__ = ["MAX_FILE_BYTES", "SIDECAR", "load_skill"]

MAX_FILE_BYTES = 1 << 20  # D26
SIDECAR = "agents/openai.yaml"


def load_skill(folder: str, file: str, root: str, max_prompt_bytes: int) -> tuple[Skill, os.stat_result | None]:
    """The skill in `folder`, with its prompt; and the status of its file if that alone decides what it is.

    Raises: ClawftError when the skill is broken, FileNotFoundError or NotADirectoryError when there is none.
    """
    path = f"{folder}/{file}"
    name = os.path.basename(folder)
    data, status = _read(path, root)
    if not is_safe_folder(name):
        raise Unreadable("folder-name", f"The folder name '{name}' may hold letters, digits, '_' and '-' only", path=path, hint="Rename the folder")
    decoded = decode_text(data, path)
    if file == "skill.json":
        skill = parse_legacy(decoded.text, _read_prompt(folder, root), name, path=path, max_prompt_bytes=max_prompt_bytes)
    else:
        skill = parse_skill_md(decoded.text, name, path=path, max_prompt_bytes=max_prompt_bytes)
    found = decoded.diagnostics
    if file != "SKILL.md" and file != "skill.json":
        found += (Diagnostic("file-name", "warning", f"The file is named {file}; most clients look for SKILL.md only", path, 0, "Rename it to SKILL.md"),)
    if found:
        skill = structs.replace(skill, diagnostics=found + skill.diagnostics)
    sidecar = f"{folder}/{SIDECAR}"
    if os.access(sidecar, os.F_OK):
        return _with_sidecar(skill, sidecar, root), None
    return skill, status if file == "SKILL.md" else None


def _read(path: str, root: str) -> tuple[bytes, os.stat_result]:
    """Read a file of a skill; a link is followed only if it stays below the searched folder."""
    try:
        return read_regular(path, MAX_FILE_BYTES)
    except Unreadable as error:
        if error.code != "is-a-link":
            raise
    real = os.path.realpath(path)
    if not is_below(real, os.path.realpath(root)):
        raise Unreadable("link-leaves-root", f"The link leads out of the searched folder, to {real}", path=path, hint="Put a copy of the file here")
    try:
        return read_regular(real, MAX_FILE_BYTES)
    except FileNotFoundError as error:
        raise Unreadable("unreadable", f"The link leads to nothing: {real}", path=path) from error


def _read_prompt(folder: str, root: str) -> str | None:
    path = f"{folder}/prompt.md"
    try:
        return decode_text(_read(path, root)[0], path).text
    except FileNotFoundError:
        return None


def _with_sidecar(skill: Skill, path: str, root: str) -> Skill:
    try:
        return apply_sidecar(skill, decode_text(_read(path, root)[0], path).text, path)
    except ClawftError as error:
        problem = structs.replace(error.diagnostic, severity="warning")
        return structs.replace(skill, diagnostics=(*skill.diagnostics, problem))
