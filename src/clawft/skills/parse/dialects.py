"""Claude's command files to Skill: a prompt that a person starts by its name, with or without frontmatter."""

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from clawft.format.frontmatter import split_frontmatter
from clawft.format.model import Skill
from clawft.format.names import slugify
from clawft.format.notes import Notes
from clawft.format.prose import first_paragraph
from clawft.format.skill import MAX_PROMPT_BYTES, build_skill, load_mapping

__all__ = ["parse_command"]

_KEYS = ("description", "argument-hint", "allowed-tools", "model", "disable-model-invocation")


def parse_command(text: str, names: Sequence[str], *, path: str, max_prompt_bytes: int = MAX_PROMPT_BYTES) -> Skill:
    """Read a command; `names` are its folders and its own, `git/commit.md` is `git-commit`.

    Raises: MissingFrontmatter, YamlParse.
    """
    name = slugify("-".join(names)) or "-".join(names)
    front = split_frontmatter(text, path, f"command/{name}")
    if front is None:
        notes, raw, body_start = Notes(path), {}, 0
    else:
        notes = Notes(path, front.yaml, front.yaml_start, text.count("\n", 0, front.yaml_start) + 1)
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
        diagnostics=tuple(structs.replace(one, fix=()) for one in skill.diagnostics),  # edits are for SKILL.md
    )


def _complete(raw: dict[Any, Any], name: str, body: str, notes: Notes) -> dict[Any, Any]:
    """The frontmatter under the name of the file; without a description it is for people only, as in Claude."""
    fields = {key: value for key, value in raw.items() if key != "name"}
    if not fields.get("description") and (first := first_paragraph(body)):
        message = "There is no description, so no model is offered the command; its first paragraph is shown"
        notes.add("description-missing", "note", message, line=notes.first_line, hint="Add a description")
        fields |= {"description": first, "disable-model-invocation": True}
    return {"name": name, **fields}
