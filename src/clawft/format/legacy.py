"""The legacy form: `skill.json` with `prompt.md` beside it (R1, R15)."""

from typing import Any

import msgspec

from clawft.errors import YamlParse
from clawft.format.model import Skill
from clawft.format.notes import Notes
from clawft.format.skill import MAX_PROMPT_BYTES, build_skill

__all__ = ["parse_legacy"]


def parse_legacy(
    manifest: str,
    prompt: str | None,
    dir_name: str,
    *,
    path: str = "skill.json",
    max_prompt_bytes: int = MAX_PROMPT_BYTES,
) -> Skill:
    """Read a `skill.json` and the text of its `prompt.md`, if there is one. Raises: YamlParse."""
    try:
        raw: Any = msgspec.json.decode(manifest)
    except (msgspec.DecodeError, RecursionError) as error:
        raise YamlParse(
            "json-invalid", f"skill/{dir_name}: skill.json is not valid JSON: {error}", path=path, line=1
        ) from error
    if not isinstance(raw, dict):
        raise YamlParse("json-invalid", f"skill/{dir_name}: skill.json is not a JSON object", path=path, line=1)
    notes = Notes(path)
    if prompt is None:
        notes.add(
            "prompt-missing",
            "warning",
            "There is no prompt.md; the skill has no instructions",
            line=1,
            hint="Add prompt.md beside skill.json",
        )
    skill = build_skill(raw, prompt or "", dir_name, notes, max_prompt_bytes)
    said = tuple(msgspec.structs.replace(found, line=1, fix=()) for found in skill.diagnostics)  # edits are for YAML
    return msgspec.structs.replace(skill, format="legacy", diagnostics=said)
