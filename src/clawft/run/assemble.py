"""Stage 3, assemble: what the model sees. The prompt, the catalog in its budget, the tools, and the new message."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clawft.discovery.ranking import match_context
from clawft.discovery.served import describe_origin
from clawft.errors import ClawftError
from clawft.messages import CatalogShown, Message, Noticed
from clawft.providers.request import ToolSpec
from clawft.render import find_dynamic
from clawft.run.bootstrap import bootstrap
from clawft.run.catalog import budget_for, render_catalog
from clawft.run.compact import check_fits
from clawft.run.hook_turn import preprocess
from clawft.run.prompt import inject_skills, render_system
from clawft.run.stats import SkillUse
from clawft.run.turn import Turn
from clawft.tools.registry import Registry
from clawft.tools.skill import describe_skill_tool
from clawft.tools.skillset import Activation
from clawft.tools.tool import Tool
from clawft.trust import Standing
from clawft.trust.modes import Mode

if TYPE_CHECKING:
    from clawft.run.conversation import Conversation
    from clawft.run.runtime import Runtime

__all__ = ["SKILL_TOOLS", "assemble", "build_prompt", "choose_tools", "describe_offered", "join_tools", "rank_skills"]

SKILL_TOOLS = ("Skill", "skill_search", "skill_read")
_PLAN = """The session is in mode plan: you may only look. Tools that change something, and commands that do more than
read, are refused. Find out what is needed, then say what you would do."""
_RECENT = 20  # skills that count as recently used


async def assemble(turn: Turn) -> None:
    if turn.forking:  # no model is asked here
        return
    await bootstrap(turn)
    build_prompt(turn)
    shown = turn.catalog
    if turn.skills.offered:
        turn.emit(
            CatalogShown(
                described=shown.described,
                named=shown.named,
                left_out=shown.left_out,
                characters=shown.characters,
                budget=shown.budget,
            )
        )
    said = turn.invoked.text if turn.invoked else turn.request.text
    text = "\n\n".join(filter(None, (said, turn.added)))
    await preprocess(turn, text)
    message = Message("user", text, images=turn.request.images)
    check_fits(turn, message)
    turn.append(message)


def build_prompt(turn: Turn) -> None:
    """The system prompt and the tools, from what is on disk now."""
    preloaded = _preload(turn)  # what it loads may bring tools along
    tools = choose_tools(turn.conversation)
    if tools.find("Skill") is not None:
        tools = _with_catalog(turn, tools)
    _take_tools(turn, tools)
    turn.system = render_system(
        turn.agent,
        turn.runtime.workspace,
        has_skills=tools.find("Skill") is not None,
        instructions=turn.instructions,
        preloaded=preloaded,
        extra=(*turn.extra_sections, *((_PLAN,) if turn.conversation.effective_mode is Mode.PLAN else ())),
    )
    if _injects_all(turn.runtime):
        turn.system = _inject(turn)


def choose_tools(conversation: "Conversation") -> Registry:
    """The tools of the agent's next turn: all there are, as far as the agent may use them (R78)."""
    runtime = conversation.runtime
    tools = runtime.registry_for(conversation)
    for agent in conversation.agents:  # a fork has no more than those above it
        tools = tools.view(agent.tools, agent.disallowed_tools)
    tools = tools.view(denied=tuple(rule.pattern.text for rule in runtime.rules.deny))
    needless = not conversation.skills.offered or _injects_all(runtime)
    return tools.view(denied=SKILL_TOOLS) if needless else tools


def join_tools(turn: Turn) -> None:
    """The tools that skills brought along which were loaded meanwhile: the next call of the model is told of them."""
    new = [tool for tool in choose_tools(turn.conversation) if not _is_known(turn.registry.find(tool.name), tool)]
    if new:
        _take_tools(turn, Registry((*turn.registry, *new)))
    _tell_problems(turn)  # also of a skill none of whose tools is offered


def _is_known(known: Tool | None, tool: Tool) -> bool:
    return known is not None and (not tool.asks or known.description == tool.description)


def _take_tools(turn: Turn, tools: Registry) -> None:
    turn.registry = tools
    turn.specs = tuple(ToolSpec(one.name, one.description, one.parameters) for one in tools)
    _tell_problems(turn)


def _tell_problems(turn: Turn) -> None:
    for one in turn.skills.take_problems():
        where = turn.runtime.workspace.shorten(one.path)
        turn.emit(Noticed(code=one.code, message=f"{where}: {one.message}", severity="warning", hint=one.hint))


def _injects_all(runtime: "Runtime") -> bool:
    return runtime.config.skills.prompt.inject == "full"


def _with_catalog(turn: Turn, tools: Registry) -> Registry:
    pinned = frozenset(one.name for one in turn.skills.offered if turn.runtime.is_pinned(one))
    ranked = rank_skills(turn.skills.offered, turn.request.text, turn.runtime.stats.load(), pinned)
    entries = [(one.name, describe_offered(one)) for one in ranked]
    turn.catalog = render_catalog(entries, budget_for(turn.runtime.char_budget, turn.context_window))
    return Registry(
        describe_skill_tool(tool, turn.catalog.text, turn.catalog.listed) if tool.name == "Skill" else tool
        for tool in tools
    )


def describe_offered(standing: Standing) -> str:
    skill = standing.found.skill
    return f"{describe_origin(standing.found)}{skill.description} {skill.when_to_use}".strip() if skill else ""


def rank_skills(
    offered: Sequence[Standing], request: str, use: Mapping[str, SkillUse], pinned: frozenset[str]
) -> list[Standing]:
    """Pinned ones, then those used lately, then by how well they fit the request, then by name."""
    skills = [one.found.skill for one in offered if one.found.skill is not None]
    fit = {one.skill.name: place for place, one in enumerate(match_context(request, skills, len(skills)))}
    used = sorted((one for one in use.values() if one.last_loaded), key=lambda one: one.last_loaded, reverse=True)
    recent = {one.name: place for place, one in enumerate(used[:_RECENT])}
    last = len(skills)

    def key(standing: Standing) -> tuple[bool, int, int, str]:
        name = standing.name
        return name not in pinned, recent.get(name, last), fit.get(name, last), name

    return sorted(offered, key=key)


def _preload(turn: Turn) -> list[str]:
    """The agent's own skills, whole (D24); one that is missing is said (R80)."""
    texts = []
    for name in turn.agent.skills:
        try:
            standing = next(one for one in turn.skills.standings if one.name == name and one.usable)
            activation = turn.skills.read_still(standing)
        except StopIteration:
            message = f"The agent '{turn.agent.name}' names the skill '{name}', which is not here"
            turn.emit(Noticed(code="agent-skill-missing", message=message, severity="warning"))
        except ClawftError as error:
            message = f"The agent's skill '{name}' cannot be loaded: {error}"
            turn.emit(Noticed(code="agent-skill-missing", message=message, severity="warning"))
        else:
            texts.append(activation.text)
            turn.skills.prompted.append(activation)
            if name not in turn.skills.loaded:
                turn.emit(turn.skills.event(activation, "agent"))
                _tell_still(turn, activation)
            turn.skills.note_loaded(activation)
    return texts


def _tell_still(turn: Turn, activation: Activation) -> None:
    """The system prompt is made for every turn, so commands of the skills in it stay as text."""
    if any(one.kind == "command" for one in find_dynamic(activation.skill.prompt or "")):
        message = f"The commands of the agent's skill '{activation.name}' are not run: it is part of the prompt"
        hint = f"Started by itself, /{activation.name}, it may run them"
        turn.emit(Noticed(code="dynamic-context-off", message=message, severity="warning", hint=hint))


def _inject(turn: Turn) -> str:
    """Every offered skill's body (R72, R73), but for what MCP servers served, which nobody asked for here;
    `include_disabled` adds those with unmet requirements."""
    settings = turn.runtime.config.skills.prompt
    states = ("ready", "ineligible") if settings.include_disabled else ("ready",)
    bodies = []
    for standing in turn.skills.standings:
        if standing.state in states and standing.found.skill is not None and standing.found.location.scope != "mcp":
            try:
                turn.skills.prompted.append(turn.skills.look_at(standing))
                bodies.append(turn.skills.prompted[-1].skill)
            except ClawftError as error:
                message = f"The skill '{standing.name}' cannot be loaded: {error}"
                turn.emit(Noticed(code="skill-unreadable", message=message, severity="warning"))
    return inject_skills(turn.system, bodies, settings)
