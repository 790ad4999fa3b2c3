"""The tools that bring skills to a model: `Skill` loads one, `skill_search` finds others, `skill_read` opens a file."""

import math
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from clawft.agent.runtime import Conversation
from clawft.agent.text_limits import find_text, record_skill
from clawft.agent.tools.read_file import read_path
from clawft.agent.tools.skillset import Skillset, load_failure
from clawft.agent.tools.tool import ArgumentAlias, Tool, ToolContext, ToolError, ToolResult, define_tool
from clawft.errors import ClawftError
from clawft.messages import Noticed
from clawft.skills.discovery.digest import compute_digest, hash_content, list_files
from clawft.skills.discovery.mcp_copies import render_mcp_origin
from clawft.skills.discovery.ranking import match_context
from clawft.skills.render.template import split_arguments
from clawft.trust.status import SkillStatus
from clawft.trust.tools import SKILL_TOOL

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


class SkillSearchArguments(Struct, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="What the skill should be able to do")]
    limit: Annotated[int, Meta(description="How many to return", ge=1, le=50)] = 8


class SkillReadArguments(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="Name of a loaded skill")]
    path: Annotated[str, Meta(description="Path of the file, relative to the skill's base directory")]
    offset: Annotated[int, Meta(description="First line to read, from 1", ge=1)] = 1
    limit: Annotated[int, Meta(description="How many lines to read", ge=1)] = 2000


# Runs a skill with `context: fork` in a conversation of its own; None where it must be loaded here instead.
ForkSkill = Callable[[SkillStatus, str], Awaitable[ToolResult | None]]


def skill_tools(conversation: Conversation, fork: ForkSkill) -> tuple[Tool, ...]:
    """The three tools, for the skills of one conversation."""
    skills = conversation.skills

    async def load(arguments: SkillArguments, context: ToolContext) -> ToolResult:
        if skills.refresh_on_call:
            skills.reload()
        status = skills.get_offered(_bare(arguments.name))
        forked = await fork(status, arguments.args) if wants_fork(status) else None
        return forked or await _load(conversation, status, arguments, context)

    def forks(arguments: Mapping[str, Any]) -> bool:
        name = _bare(str(arguments.get("name")))
        return conversation.has_room and any(status.name == name and wants_fork(status) for status in skills.offered)

    async def search(arguments: SkillSearchArguments, _context: ToolContext) -> ToolResult:
        return _search(skills, arguments)

    async def read(arguments: SkillReadArguments, _context: ToolContext) -> ToolResult:
        return await _read(skills, arguments)

    loading = define_tool(SKILL_TOOL, _SKILL, SkillArguments, load, aliases={"skill": ArgumentAlias("name")})
    # What takes time in it, forks and commands, has limits of its own; in a run that survives, steps of its own, too.
    whole = structs.replace(
        loading,
        max_chars=MAX_SKILL_CHARS,
        timeout_s=math.inf,
        may_run_parallel=forks,
        repeatable=lambda _: True,
        judges_itself=True,
        loads_skills=True,
        changes_files=lambda _: False,  # what its commands see of the project they can only read
    )
    return (
        whole,
        define_tool("skill_search", _SEARCH, SkillSearchArguments, search, read_only=True),
        define_tool("skill_read", _READ, SkillReadArguments, read, read_only=True),
    )


def make_listed_skill_tool(tool: Tool, catalog: str, names: tuple[str, ...]) -> Tool:
    """Return the tool `Skill` with the catalog in its description and the listed names as its values."""
    properties: Mapping[str, Any] = tool.parameters["properties"]
    name = {**properties["name"], "enum": list(names)} if names else properties["name"]
    parameters = {**tool.parameters, "properties": {**properties, "name": name}}
    listed = f"{tool.description}\n\nAvailable skills:\n{catalog}" if catalog else tool.description
    return structs.replace(tool, description=listed, parameters=parameters)


def _bare(name: str) -> str:
    return name.removeprefix("$").removeprefix("/")


def wants_fork(status: SkillStatus) -> bool:
    """Return whether a skill asks for a conversation of its own."""
    return status.found.skill is not None and status.found.skill.context == "fork"


async def _load(
    conversation: Conversation, status: SkillStatus, arguments: SkillArguments, context: ToolContext
) -> ToolResult:
    """Load a skill. Its limits apply from now on; its text is sent unless the conversation already has it."""
    skills = conversation.skills
    name, folder, prompt_arguments = status.name, status.found.folder, split_arguments(arguments.args)
    try:
        known = skills.look_at(status) if name in skills.loaded else None
        where = find_text(conversation, known, prompt_arguments) if known else ""
        activation = known if known and where else await skills.read(status, prompt_arguments, context.emit)
    except ClawftError as error:
        raise load_failure(error) from error
    if not where:
        record_skill(conversation.current_turn, activation, prompt_arguments)
    skills.activate(activation)
    context.emit(skills.event(activation, "model"))
    if where:
        text = f"The skill '{name}' is already loaded: its text stands {where}. Follow it; its limits hold again."
        return ToolResult(text, data={"name": name, "base_dir": folder, "already_loaded": True})
    for diagnostic in activation.diagnostics:
        if diagnostic.severity != "note":
            context.emit(
                Noticed(code=diagnostic.code, message=diagnostic.message, severity="warning", hint=diagnostic.hint)
            )
    data = {
        "name": name,
        "scope": status.found.location.scope,
        "base_dir": folder,
        "content": activation.text,
        "digest": activation.digest,
    }
    return ToolResult(activation.text, data=data, path_resolved=status.found.file)


def _search(skills: Skillset, arguments: SkillSearchArguments) -> ToolResult:
    offered = [status.found.skill for status in skills.offered if status.found.skill is not None]
    ranked = match_context(arguments.query, offered, arguments.limit)
    if not ranked:
        return ToolResult(f"No skill matches; there are {len(offered)} skills.", data={"results": []})
    origins = {status.name: render_mcp_origin(status.found) for status in skills.offered}
    descriptions = [(scored.skill.name, " ".join(scored.skill.description.split())[:300]) for scored in ranked]
    lines = [f"- {name}: {origins[name]}{description}" for name, description in descriptions]
    results = [{"name": scored.skill.name, "score": scored.score} for scored in ranked]
    return ToolResult("\n".join(["Skills that match, best first:", *lines]), data={"results": results})


async def _read(skills: Skillset, arguments: SkillReadArguments) -> ToolResult:
    loaded = skills.get_usable(arguments.name)
    folder, path = loaded.folder, os.path.normpath(arguments.path)
    if path != "SKILL.md" and path not in list_files(folder):  # so it is no link, and nothing a digest leaves out
        raise ToolError("NOT_FOUND", f"The skill has no file '{arguments.path}'", hint="Its text lists its files")
    real = os.path.join(folder, path)

    def check(raw: bytes) -> None:
        """Check that the file to show is what was approved, even if it was swapped since. Raises: ToolError."""
        digest = compute_digest(folder, {real: hash_content(raw)}).value
        if loaded.usable.is_untrusted and digest != loaded.usable.digest:
            raise ToolError("PERMISSION_DENIED", f"The skill '{arguments.name}' changed since it was approved")

    return await read_path(real, check, shown=arguments.path, offset=arguments.offset, limit=arguments.limit)
