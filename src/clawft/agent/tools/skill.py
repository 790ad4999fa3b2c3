"""The tools that bring skills to a model: `Skill` loads one, `skill_search` finds others, `skill_read` opens a file."""

import math
import os
from collections.abc import Mapping
from typing import Annotated, Any, Protocol

from msgspec import Meta, Struct, structs

from clawft.discovery.digest import compute_digest, hash_content, list_files
from clawft.discovery.ranking import match_context
from clawft.discovery.served import describe_origin
from clawft.errors import ClawftError
from clawft.messages import Noticed
from clawft.render import Arguments, split_arguments
from clawft.tools.read_file import read_path
from clawft.tools.skillset import Activation, Skillset, load_failure
from clawft.tools.tool import Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.trust import Standing

__all__ = ["Forker", "Texts", "describe_skill_tool", "skill_tools", "wants_fork"]

MAX_SKILL_CHARS = 2 << 20  # `skills.max_skill_prompt_bytes` bounds a body; what it lets through arrives whole
_SKILL = """Load a skill: proven instructions for one kind of task, with scripts and references beside them.
Usage: load a skill when the user names it, or when its description clearly matches the task, before you start on
the task yourself. Its text then tells you what to do, and stays in the conversation: load it again only to take it up
again in a later turn, or with other arguments.
Some skills do their work in a conversation of their own: then you get its result, and `args` must say all it needs.
Example: {"name": "review-diff", "args": "HEAD~3"}"""
_SEARCH = "Find skills for a task by what they are for. Searches all skills, also those that are not in the list."
_READ = "Read a file that belongs to a skill which was loaded: a reference, a template or a script."


class SkillArguments(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="Name of the skill", min_length=1)]
    args: Annotated[str, Meta(description="Arguments for the skill, as one line")] = ""


class SearchArguments(Struct, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="What the skill should be able to do")]
    limit: Annotated[int, Meta(description="How many to return", ge=1, le=50)] = 8


class ReadArguments(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="Name of a loaded skill")]
    path: Annotated[str, Meta(description="Path of the file, relative to the skill's base directory")]
    offset: Annotated[int, Meta(description="First line to read, from 1", ge=1)] = 1
    limit: Annotated[int, Meta(description="How many lines to read", ge=1)] = 2000


class Forker(Protocol):
    """Runs skills with `context: fork` in conversations of their own."""

    def has_room(self) -> bool: ...

    async def fork(self, standing: Standing, args: str) -> ToolResult | None: ...


class Texts(Protocol):
    """Which texts of skills stand in a conversation."""

    def find(self, activation: Activation, arguments: Arguments) -> str: ...

    def note(self, activation: Activation, arguments: Arguments) -> None: ...


def skill_tools(skills: Skillset, forker: Forker, texts: Texts) -> tuple[Tool, ...]:
    """The three tools, for the skills of one conversation."""

    async def load(arguments: SkillArguments, context: ToolContext) -> ToolResult:
        skills.refresh()
        standing = skills.get_offered(_bare(arguments.name))
        forked = await forker.fork(standing, arguments.args) if wants_fork(standing) else None
        return forked or await _load(skills, texts, standing, arguments, context)

    def forks(arguments: Mapping[str, Any]) -> bool:
        name = _bare(str(arguments.get("name")))
        return forker.has_room() and any(one.name == name and wants_fork(one) for one in skills.offered)

    async def search(arguments: SearchArguments, _context: ToolContext) -> ToolResult:
        return _search(skills, arguments)

    async def read(arguments: ReadArguments, _context: ToolContext) -> ToolResult:
        return await _read(skills, arguments)

    loading = define_tool("Skill", _SKILL, SkillArguments, load)
    # What takes time in it, forks and commands, has limits of its own; in a run that survives, steps of its own, too.
    whole = structs.replace(
        loading, max_chars=MAX_SKILL_CHARS, timeout_s=math.inf, beside=forks, repeatable=lambda _: True
    )
    return (
        whole,
        define_tool("skill_search", _SEARCH, SearchArguments, search, read_only=True),
        define_tool("skill_read", _READ, ReadArguments, read, read_only=True),
    )


def describe_skill_tool(tool: Tool, catalog: str, names: tuple[str, ...]) -> Tool:
    """The tool `Skill` with the catalog in its description and the listed names as its values (R65, D25)."""
    properties: Mapping[str, Any] = tool.parameters["properties"]
    name = {**properties["name"], "enum": list(names)} if names else properties["name"]
    parameters = {**tool.parameters, "properties": {**properties, "name": name}}
    listed = f"{tool.description}\n\nAvailable skills:\n{catalog}" if catalog else tool.description
    return structs.replace(tool, description=listed, parameters=parameters)


def _bare(name: str) -> str:
    return name.removeprefix("$").removeprefix("/")


def wants_fork(standing: Standing) -> bool:
    """Whether a skill asks for a conversation of its own."""
    return standing.found.skill is not None and standing.found.skill.context == "fork"


async def _load(
    skills: Skillset, texts: Texts, standing: Standing, arguments: SkillArguments, context: ToolContext
) -> ToolResult:
    """Load a skill. Its limits hold from now on; its text is sent unless it stands there already (D63)."""
    name, folder, given = standing.name, standing.found.folder, split_arguments(arguments.args)
    try:
        known = skills.look_at(standing) if name in skills.loaded else None
        where = texts.find(known, given) if known else ""
        activation = known if known and where else await skills.read(standing, given, context.emit)
    except ClawftError as error:
        raise load_failure(error) from error
    if not where:
        texts.note(activation, given)
    skills.activate(activation)
    context.emit(skills.event(activation, "model"))
    if where:
        text = f"The skill '{name}' is already loaded: its text stands {where}. Follow it; its limits hold again."
        return ToolResult(text, data={"name": name, "base_dir": folder, "already_loaded": True})
    for one in activation.diagnostics:
        if one.severity != "note":
            context.emit(Noticed(code=one.code, message=one.message, severity="warning", hint=one.hint))
    data = {
        "name": name,
        "scope": standing.found.location.scope,
        "base_dir": folder,
        "content": activation.text,
        "digest": activation.digest,
    }
    return ToolResult(activation.text, data=data, path_resolved=standing.found.file)


def _search(skills: Skillset, arguments: SearchArguments) -> ToolResult:
    offered = [one.found.skill for one in skills.offered if one.found.skill is not None]
    ranked = match_context(arguments.query, offered, arguments.limit)
    if not ranked:
        return ToolResult(f"No skill matches; there are {len(offered)} skills.", data={"results": []})
    origins = {one.name: describe_origin(one.found) for one in skills.offered}
    told = [(one.skill.name, " ".join(one.skill.description.split())[:300]) for one in ranked]
    lines = [f"- {name}: {origins[name]}{description}" for name, description in told]
    results = [{"name": one.skill.name, "score": one.score} for one in ranked]
    return ToolResult("\n".join(["Skills that match, best first:", *lines]), data={"results": results})


async def _read(skills: Skillset, arguments: ReadArguments) -> ToolResult:
    loaded = skills.get_cleared(arguments.name)
    folder, path = loaded.folder, os.path.normpath(arguments.path)
    if path != "SKILL.md" and path not in list_files(folder):  # so it is no link, and nothing a digest leaves out
        raise ToolError("NOT_FOUND", f"The skill has no file '{arguments.path}'", hint="Its text lists its files")
    real = os.path.join(folder, path)

    def check(raw: bytes) -> None:
        """What is shown must be what was approved, also if it was swapped since."""
        digest = compute_digest(folder, {real: hash_content(raw)}).value
        if loaded.cleared.stranger and digest != loaded.cleared.digest:
            raise ToolError("PERMISSION_DENIED", f"The skill '{arguments.name}' changed since it was approved")

    return await read_path(real, check, shown=arguments.path, offset=arguments.offset, limit=arguments.limit)
