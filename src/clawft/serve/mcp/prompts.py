"""Every skill that a person may start, as a prompt of MCP: rendered as a turn would, by the same rules."""

from anyio import to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)
from msgspec import structs

from clawft.app import App
from clawft.discovery.served import describe_origin, find_origin
from clawft.errors import ClawftError, NotFound
from clawft.format.model import Skill
from clawft.mcp.skills_server import TTL_MS
from clawft.protocol.base import to_problem
from clawft.protocol.encoding import tellable
from clawft.render import Arguments, Rendered, Variables, render_skill, split_arguments
from clawft.run import Runtime
from clawft.serve.caller import Caller
from clawft.serve.daemon import Daemon
from clawft.serve.mcp.asking import NAMESPACE, CallerOf, Context, need, refuse
from clawft.tools.dynamic import render_dynamic
from clawft.trust import Standing
from clawft.trust.decide import Authority

__all__ = ["SkillPrompts"]

PAGE = 200
MAX_ARGUMENTS = 500_000
ALL = "arguments"  # the one argument of a skill that names none


class SkillPrompts:
    """The handlers of prompts. Those of a stranger that nobody approved are not among them."""

    def __init__(self, daemon: Daemon, caller_of: CallerOf) -> None:
        self._daemon = daemon
        self._caller_of = caller_of

    async def list_page(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        offered = await self._offer(context)
        names = [one.name for one in offered]
        cursor = (params and params.cursor) or ""
        if cursor and cursor not in names:
            raise MCPError(INVALID_PARAMS, "That place in the list is not there any more: begin again")
        start = names.index(cursor) + 1 if cursor else 0
        part = offered[start : start + PAGE]
        following = part[-1].name if start + PAGE < len(offered) else None
        return ListPromptsResult(
            prompts=[_describe(one) for one in part], next_cursor=following, ttl_ms=TTL_MS, cache_scope="private"
        )

    async def get(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """The prompt with its arguments. A caller who may run skills has its commands run, as a turn does."""
        offered = await self._offer(context)
        standing = next((one for one in offered if one.name == params.name), None)
        if standing is None or standing.found.skill is None:
            error = NotFound("skill-not-found", f"There is no prompt '{params.name[:100]}'", hint="List them again")
            raise refuse(error)
        arguments = _read_arguments(standing.found.skill, params.arguments or {})
        try:
            rendered = await self._render(self._caller_of(context), standing, arguments)
        except ClawftError as error:
            raise refuse(error) from error
        said = tellable([structs.asdict(to_problem(one)) for one in rendered.diagnostics])
        text = tellable(_tell_origin(standing) + rendered.text)
        return GetPromptResult(
            description=_say_of(standing) or None,
            messages=[PromptMessage(role="user", content=TextContent(text=text))],
            _meta={f"{NAMESPACE}/diagnostics": said} if said else None,
        )

    async def _offer(self, context: Context) -> list[Standing]:
        """Raises: MCPError."""
        need(self._caller_of(context), "read")
        app = (await self._daemon.registry.live.refresh()).app
        return sorted((one for one in app.skills if one.usable and one.user_may_invoke), key=lambda one: one.name)

    async def _render(self, caller: Caller, standing: Standing, arguments: Arguments) -> Rendered:
        """Raises: ClawftError."""
        app = self._daemon.app
        variables = Variables(caller.session_key("prompt"), standing.found.base_dir, app.workspace.project)
        if caller.may("run"):
            async with self._daemon.runtimes.use() as runtime:
                return await _render_whole(runtime, standing, arguments, variables)
        return await to_thread.run_sync(_render_text, app, standing, arguments, variables)


def _describe(standing: Standing) -> Prompt:
    skill = standing.found.skill or Skill(name=standing.name)
    return Prompt(
        name=skill.name,
        title=skill.display_name or None,
        description=_say_of(standing) or None,
        arguments=[PromptArgument(name=one, required=False) for one in _names(skill)]
        or [PromptArgument(name=ALL, description=skill.argument_hint or "What follows its name", required=False)],
    )


def _say_of(standing: Standing) -> str:
    return f"{describe_origin(standing.found)}{standing.found.skill.description}" if standing.found.skill else ""


def _tell_origin(standing: Standing) -> str:
    """What an MCP server served says so, wherever a model reads it."""
    return f"({find_origin(standing.found)})\n\n" if standing.found.location.scope == "mcp" else ""


def _names(skill: Skill) -> tuple[str, ...]:
    return skill.arguments or skill.variables


def _read_arguments(skill: Skill, given: dict[str, str]) -> Arguments:
    """Raises: MCPError for what it does not take."""
    names = _names(skill) or (ALL,)
    unknown = [one for one in given if one not in names]
    if unknown or sum(map(len, given.values())) > MAX_ARGUMENTS:
        why = f"it has no argument '{unknown[0][:100]}'" if unknown else f"more than {MAX_ARGUMENTS} characters"
        raise MCPError(INVALID_PARAMS, f"The prompt '{skill.name}' cannot be given that: {why}")
    if names == (ALL,) and not _names(skill):
        return split_arguments(given.get(ALL, ""))
    words = [given.get(one, "") for one in names]
    while words and not words[-1]:
        words.pop()
    return Arguments(" ".join(words), tuple(words))


async def _render_whole(runtime: Runtime, standing: Standing, arguments: Arguments, variables: Variables) -> Rendered:
    """As in a turn: files are read, and commands run as far as the user allows it. Raises: ClawftError."""
    dynamic = runtime.dynamic(lambda: Authority(runtime.default_mode, runtime.rules))
    cleared = await to_thread.run_sync(runtime.clear, standing.found)
    return await render_dynamic(dynamic, standing.found, cleared, arguments, variables)


def _render_text(app: App, standing: Standing, arguments: Arguments, variables: Variables) -> Rendered:
    """The text alone: nothing in it is run or read. Raises: ClawftError."""
    skill = app.load_cleared(standing.found).skill
    prefixes = app.config.skills.security.allowed_command_prefixes
    return render_skill(skill, arguments, variables, standing.found.file, prefixes)
