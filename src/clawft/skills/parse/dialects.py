"""Other forms of a skill: Claude's command files and the legacy skill.json."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from clawft.errors import YamlParse
from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.model import Skill, slugify
from clawft.skills.parse.skill import MAX_PROMPT_BYTES, build_skill, load_mapping
from clawft.skills.parse.text import first_paragraph, split_frontmatter

_KEYS = ("description", "argument-hint", "allowed-tools", "model", "disable-model-invocation")


def parse_command(text: str, names: Sequence[str], *, path: str, max_prompt_bytes: int = MAX_PROMPT_BYTES) -> Skill:
    """Read a command; `names` are its folders and its own, `git/commit.md` is `git-commit`.

    Raises: MissingFrontmatter, YamlParse.
    """
    name = slugify("-".join(names)) or "-".join(names)
    front = split_frontmatter(text, path, f"command/{name}")
    if front is None:
        notes, raw, body_start = DiagnosticCollector(path), {}, 0
    else:
        notes = DiagnosticCollector(path, front.yaml, front.yaml_start, text.count("\n", 0, front.yaml_start) + 1)
        raw, body_start = load_mapping(front.yaml, notes, f"command/{name}", enough=_KEYS), front.body_start
    body = text[body_start:]
    skill = build_skill(_complete(raw, name, body, notes), body, name, notes, max_prompt_bytes)
    first = body_start + len(body) - len(body.lstrip())
    shown = ":".join(names)  # as Claude writes it
    return structs.replace(
        skill,
        format="command",
        display_name=shown if shown != name else "",
        body_line=text.count("\n", 0, first) + 1,
        diagnostics=tuple(
            structs.replace(diagnostic, fix=()) for diagnostic in skill.diagnostics
        ),  # edits are for SKILL.md
    )


def _complete(raw: dict[Any, Any], name: str, body: str, notes: DiagnosticCollector) -> dict[Any, Any]:
    """The frontmatter under the name of the file; without a description it is for people only, as in Claude."""
    fields = {key: value for key, value in raw.items() if key != "name"}
    if not fields.get("description") and (first := first_paragraph(body)):
        message = "There is no description, so no model is offered the command; its first paragraph is shown"
        notes.add("description-missing", "note", message, line=notes.first_line, hint="Add a description")
        fields |= {"description": first, "disable-model-invocation": True}
    return {"name": name, **fields}


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
    notes = DiagnosticCollector(path)
    if prompt is None:
        notes.add(
            "prompt-missing",
            "warning",
            "There is no prompt.md; the skill has no instructions",
            line=1,
            hint="Add prompt.md beside skill.json",
        )
    skill = build_skill(raw, prompt or "", dir_name, notes, max_prompt_bytes)
    diagnostics = tuple(
        msgspec.structs.replace(found, line=1, fix=()) for found in skill.diagnostics
    )  # edits are for YAML
    return msgspec.structs.replace(skill, format="legacy", diagnostics=diagnostics)
