"""The file of a skill on disk: SKILL.md in any spelling, the legacy skill.json, or a command; load and parse it."""

from msgspec import structs

from clawft.errors import Diagnostic, Unreadable
from clawft.skills.discovery.walk import LEGACY_PROMPT, Load, SkillFileContent, load_bytes
from clawft.skills.parse.dialects import parse_command, parse_legacy
from clawft.skills.parse.model import Skill, is_safe_folder
from clawft.skills.parse.skill import parse_head, parse_skill_md
from clawft.skills.parse.text import decode_text

_OPEN, _DASHES = b"---\n", b"\n---"
_NUL, _CR = 0, 13  # as numbers: Python looks for a byte twice as fast as for bytes


def parse_file(file: SkillFileContent, root: str, max_prompt_bytes: int, load: Load = load_bytes) -> Skill:
    """The skill in a file, with its prompt. Raises: ClawftError when the skill is broken."""
    path, name = file.path, _folder_name(file)
    decoded = decode_text(file.data, path)
    if file.name == "skill.json":
        prompt = _load_prompt(file.folder, root, load)
        skill = parse_legacy(decoded.text, prompt, name, path=path, max_prompt_bytes=max_prompt_bytes)
    else:
        skill = parse_skill_md(decoded.text, name, path=path, max_prompt_bytes=max_prompt_bytes)
    found = decoded.diagnostics + _check_name(file)
    return structs.replace(skill, diagnostics=found + skill.diagnostics) if found else skill


def parse_entry(file: SkillFileContent, root: str, max_prompt_bytes: int) -> Skill:
    """The skill in a file as a catalog keeps it: by its frontmatter alone wherever that is enough.

    What only the rest of the file tells, such as bytes that are no text, is found when its prompt is loaded.
    Raises: ClawftError when the skill is broken.
    """
    data = file.data
    end = data.find(_DASHES, 3)
    start = end + 5
    whole = data.startswith(_OPEN) and end > 0 and data[start - 1 : start] == b"\n"
    if whole and file.name == "SKILL.md" and _NUL not in data and _CR not in data and len(data) <= max_prompt_bytes:
        try:
            head = data[:start].decode()
        except UnicodeDecodeError:
            head = ""
        if head and (skill := parse_head(head, _folder_name(file), path=file.path, body_bytes=len(data) - start)):
            return skill
    return structs.replace(parse_file(file, root, max_prompt_bytes), prompt=None, body_line=0)


def parse_command_file(file: SkillFileContent, root: str, max_prompt_bytes: int) -> Skill:
    """The command in a file, with its prompt; folders below the root are part of its name. Raises: ClawftError."""
    names = file.path[len(root) + 1 :].removesuffix(".md").split("/")
    for name in names:
        if not is_safe_folder(name):
            message = f"The name '{name}' may hold letters, digits, '_' and '-' only"
            raise Unreadable("folder-name", message, path=file.path, hint="Rename it")
    decoded = decode_text(file.data, file.path)
    skill = parse_command(decoded.text, names, path=file.path, max_prompt_bytes=max_prompt_bytes)
    return structs.replace(skill, diagnostics=decoded.diagnostics + skill.diagnostics)


def _folder_name(file: SkillFileContent) -> str:
    """Return the name of the folder that holds a skill. Raises: Unreadable if the name is not safe."""
    name = file.folder.rpartition("/")[2]
    if not is_safe_folder(name):
        message = f"The folder name '{name}' may hold letters, digits, '_' and '-' only"
        raise Unreadable("folder-name", message, path=file.path, hint="Rename the folder")
    return name


def _load_prompt(folder: str, root: str, load: Load) -> str | None:
    path = f"{folder}/{LEGACY_PROMPT}"
    try:
        return decode_text(load(path, root)[0], path).text
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_name(file: SkillFileContent) -> tuple[Diagnostic, ...]:
    if file.name == "SKILL.md" or file.name == "skill.json":
        return ()
    message = f"The file is named {file.name}; most clients look for SKILL.md only"
    return (Diagnostic("file-name", "warning", message, file.path, 0, "Rename it to SKILL.md"),)
