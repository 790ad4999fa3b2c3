"""Check a SKILL.md against the Agent Skills specification, and apply the fixes that diagnostics carry."""

import unicodedata
from typing import Any

from msgspec import Struct

from clawft.errors import ClawftError, Diagnostic, Unreadable
from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.fields import BLOCK_KEYS, KEYS
from clawft.skills.parse.model import MAX_NAME, NAMESPACES
from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.parse.text import decode_text, encode_text, split_frontmatter
from clawft.skills.parse.yaml import load_yaml

FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_CLIENT = "openclaw"  # whose block most clients and registries read
_TEXTS = frozenset({"version", "author", "homepage", "emoji", "category", "primary_env", "skill_key"})
_REQUIRED = {"bins": "requires.bins", "dependencies": "requires.skills"} | dict.fromkeys(
    ("env_vars", "required_environment_variables"), "requires.env"
)


def check_spec(text: str, dir_name: str, path: str) -> tuple[Diagnostic, ...]:
    """Every violation of the spec in a SKILL.md, as errors; of a client's block, which all let pass, a note."""
    try:
        front = split_frontmatter(text, path, f"skill/{dir_name}")
    except ClawftError as error:
        return (error.diagnostic,)
    if front is None or front.start:
        return (Diagnostic("spec-frontmatter", "error", "The file must start with frontmatter", path, 1),)
    notes = DiagnosticCollector(path, front.yaml, front.yaml_start, 2)
    raw, complaint = load_yaml(front.yaml, DiagnosticCollector(path))
    if complaint or not isinstance(raw, dict):
        return (
            Diagnostic(
                "spec-yaml", "error", f"The frontmatter must be a YAML mapping: {complaint or 'it is not'}", path, 2
            ),
        )
    for key in raw:
        if key not in FIELDS:
            _say(notes, "spec-field", f"The spec has no field '{str(key)[:60]}'", str(key), _find_place(key))
    _check_name(raw.get("name"), dir_name, notes)
    _check_text(raw.get("description"), "description", MAX_DESCRIPTION, notes, required=True)
    _check_text(raw.get("compatibility"), "compatibility", MAX_COMPATIBILITY, notes)
    _check_text(raw.get("license"), "license", 0, notes)
    _check_text(raw.get("allowed-tools"), "allowed-tools", 0, notes)
    _check_metadata(raw.get("metadata", {}), notes)
    return tuple(notes.found)


def _say(notes: DiagnosticCollector, code: str, message: str, key: str, hint: str = "") -> None:
    notes.add(code, "error", message, key=key, hint=hint)


def _check_name(value: Any, dir_name: str, notes: DiagnosticCollector) -> None:
    if not isinstance(value, str) or not value.strip():
        return _say(notes, "spec-name", "'name' is required, as a text", "name")
    name = unicodedata.normalize("NFKC", value.strip())
    if len(name) > MAX_NAME:
        _say(notes, "spec-name", f"'name' has {len(name)} characters; {MAX_NAME} is the limit", "name")
    if name != name.lower():
        _say(notes, "spec-name", f"'name' must be lowercase: {name[:80]}", "name")
    if name.startswith("-") or name.endswith("-") or "--" in name:
        _say(notes, "spec-name", f"'name' has a leading, trailing or double hyphen: {name[:80]}", "name")
    if not all(char.isalnum() or char == "-" for char in name):
        _say(notes, "spec-name", f"'name' may hold letters, digits and hyphens only: {name[:80]}", "name")
    if unicodedata.normalize("NFKC", dir_name) != name:
        _say(
            notes,
            "spec-name",
            f"'name' must equal its folder '{dir_name}', not '{name[:80]}'",
            "name",
            "Rename the folder or the skill",
        )
    return None


def _check_text(value: Any, key: str, limit: int, notes: DiagnosticCollector, *, required: bool = False) -> None:
    if value is None and not required:
        return
    if not isinstance(value, str) or not value.strip():
        _say(notes, f"spec-{key}", f"'{key}' must be a text that is not empty", key)
    elif limit and len(value) > limit:
        _say(notes, f"spec-{key}", f"'{key}' has {len(value)} characters; {limit} is the limit", key)


def _find_place(key: Any) -> str:
    """Return the hint where to write what the spec has no field for, so that it loads everywhere and is still read."""
    field = KEYS.get(key) if isinstance(key, str) else None
    name = field.name if field else ""
    if field and name in _TEXTS:
        return f"Write it as metadata.{field.key}, a text"
    if field and (name in _REQUIRED or key in BLOCK_KEYS):
        return f"Write it as metadata.{_CLIENT}.{_REQUIRED.get(name, field.key)}. Run: weft help needs"
    return f"Allowed: {', '.join(FIELDS)}"


def _check_metadata(value: Any, notes: DiagnosticCollector) -> None:
    if not isinstance(value, dict):
        return _say(notes, "spec-metadata", "'metadata' must be a mapping", "metadata")
    blocks = [name for name in NAMESPACES if isinstance(value.get(name), dict)]
    if any(not isinstance(item, str) for pair in value.items() if pair[0] not in blocks for item in pair):
        hint = f"Quote the values; what is no text belongs into the block of a client: metadata.{_CLIENT}"
        return _say(notes, "spec-metadata", "'metadata' must map texts to texts", "metadata", hint)
    if blocks:  # all who check skills let them pass
        message = f"'metadata.{blocks[0]}' is the block of a client; the spec has texts there"
        notes.add("spec-metadata", "note", message, key="metadata", hint="Who does not know it passes it over")
    return None


_MAX_ROUNDS = 20
_FORM = frozenset({"yaml-unquoted", "yaml-stray-line", "duplicate-key"})  # fixed first: only then is the rest certain


class FixedText(Struct, frozen=True):
    """The text before and after, the bytes to write, and the diagnostics that were fixed."""

    before: str
    after: str
    data: bytes
    applied: tuple[Diagnostic, ...]


def fix_skill_md(data: bytes, dir_name: str, path: str = "SKILL.md") -> FixedText:
    """Fix everything that has a certain fix. Raises: Unreadable when the file cannot be written back as it was."""
    decoded = decode_text(data, path)
    applied = [found for found in decoded.diagnostics if found.fix]
    text = decoded.text
    for _ in range(_MAX_ROUNDS):
        fixable = [found for found in _diagnose(text, dir_name, path) if found.fix]
        form = [found for found in fixable if found.code in _FORM]
        mended, done = _apply(text, form or fixable)
        if mended == text:
            break
        text = mended
        applied += done
    changed = text != decoded.text or bool(applied)
    recoded = any(found.fix for found in decoded.diagnostics)
    if changed and not recoded and encode_text(decoded.text, crlf=decoded.crlf) != data:
        message = "The file holds bytes that are not UTF-8, or mixed line ends: mending would change more than is shown"
        raise Unreadable("not-mendable", message, path=path, hint="Save it as UTF-8 with one kind of line end first")
    return FixedText(decoded.text, text, encode_text(text, crlf=decoded.crlf) if changed else data, tuple(applied))


def _diagnose(text: str, dir_name: str, path: str) -> tuple[Diagnostic, ...]:
    try:
        return parse_skill_md(text, dir_name, path=path).diagnostics
    except ClawftError as error:
        return (error.diagnostic,)


def _apply(text: str, fixable: list[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text with all edits that do not touch one another; the others wait for the next round."""
    done: list[Diagnostic] = []
    parts: list[str] = []
    position, last = 0, -1
    for found in sorted(fixable, key=lambda one: one.fix[0].start):
        if found.fix[0].start <= last:
            continue
        done.append(found)
        for edit in found.fix:
            parts += (text[position : edit.start], edit.text)
            position = last = edit.end
    return "".join((*parts, text[position:])), done
