"""The file of a skill to a Skill: SKILL.md in any spelling, or the legacy `skill.json` (R2)."""

from msgspec import structs

from clawft.discovery.read import SkillFile, load_bytes
from clawft.errors import Diagnostic, Unreadable
from clawft.format import Skill, decode_text, parse_legacy, parse_skill_md
from clawft.format.names import is_safe_folder

__all__ = ["parse_file"]


def parse_file(file: SkillFile, root: str, max_prompt_bytes: int, *, keep_prompt: bool) -> Skill:
    """The skill in a file, with its prompt or without. Raises: ClawftError when the skill is broken."""
    path, name = file.path, file.folder.rpartition("/")[2]
    if not is_safe_folder(name):
        message = f"The folder name '{name}' may hold letters, digits, '_' and '-' only"
        raise Unreadable("folder-name", message, path=path, hint="Rename the folder")
    decoded = decode_text(file.data, path)
    if file.name == "SKILL.md" and not keep_prompt and not decoded.diagnostics and len(file.data) <= max_prompt_bytes:
        return parse_skill_md(decoded.text, name, path=path, max_prompt_bytes=None)  # it cannot be over the limit
    if file.name == "skill.json":
        prompt = _load_prompt(file.folder, root)
        skill = parse_legacy(decoded.text, prompt, name, path=path, max_prompt_bytes=max_prompt_bytes)
    else:
        skill = parse_skill_md(decoded.text, name, path=path, max_prompt_bytes=max_prompt_bytes)
    found = decoded.diagnostics + _check_name(file) + skill.diagnostics
    return structs.replace(skill, diagnostics=found, prompt=skill.prompt if keep_prompt else None)


def _load_prompt(folder: str, root: str) -> str | None:
    path = f"{folder}/prompt.md"
    try:
        return decode_text(load_bytes(path, root)[0], path).text
    except FileNotFoundError:
        return None


def _check_name(file: SkillFile) -> tuple[Diagnostic, ...]:
    if file.name == "SKILL.md" or file.name == "skill.json":
        return ()
    message = f"The file is named {file.name}; most clients look for SKILL.md only"
    return (Diagnostic("file-name", "warning", message, file.path, 0, "Rename it to SKILL.md"),)
