"""The daemon's usable skills over MCP: as resources (the Skills extension) and as prompts."""

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

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

from clawft.agent.mcp.skills_extension import (
    ENTRY_FILE,
    MAX_BYTES,
    MAX_FILES,
    SCHEME,
    ServedFile,
    ServedSkill,
    can_serve,
    read_front,
)
from clawft.agent.mcp.skills_server import TTL_MS
from clawft.agent.runtime import Runtime
from clawft.agent.tools.dynamic import render_dynamic
from clawft.app.app import App
from clawft.errors import ClawftError, NotFound, Refused
from clawft.files import read_regular, replace_surrogates
from clawft.server.callers import DaemonCaller
from clawft.server.daemon import Daemon
from clawft.server.mcp.requests import NAMESPACE, CallerOf, Context, require_scope, to_mcp_error
from clawft.server.protocol.base import to_problem
from clawft.server.protocol.subscriptions import SkillsChanged
from clawft.skills.discovery import DiscoveredSkill
from clawft.skills.discovery.digest import hash_content, join_digest, list_covered
from clawft.skills.discovery.locations import SCOPES, Location
from clawft.skills.discovery.mcp_copies import find_origin, render_mcp_origin
from clawft.skills.parse.model import Skill
from clawft.skills.render.prompt import RenderedPrompt, render_skill
from clawft.skills.render.template import PromptArguments, TemplateVariables, split_arguments
from clawft.trust.permissions import CallAuthority
from clawft.trust.status import SkillStatus

_Seen = tuple[tuple[bytes, int, int, int, int], ...]


class CatalogServedSkill(ServedSkill, frozen=True):
    """A skill of the catalog that can be served, and how it stands."""

    skill_status: SkillStatus


class CatalogResources:
    """The MCP resources of the current generation. Within it, files are read again only where they changed."""

    def __init__(self, daemon: Daemon, caller_of: CallerOf) -> None:
        self._daemon = daemon
        self._caller_of = caller_of
        self._app: App | None = None  # that what is known belongs to
        self._known: dict[str, tuple[_Seen, CatalogServedSkill | None]] = {}

    async def list(self, context: Context, limit: int, cursor: str) -> tuple[Sequence[CatalogServedSkill], str]:
        app = await self._open(context)
        usable = sorted(_usable(app), key=lambda one: one.name)
        start = 0
        if cursor:
            start = next((at + 1 for at, skill in enumerate(usable) if skill.name == cursor), -1)
        if start < 0:
            raise MCPError(INVALID_PARAMS, "That place in the list is not there any more: begin again")
        part = usable[start : start + limit]
        served = await to_thread.run_sync(self._serve_all, app, part)
        return served, part[-1].name if start + limit < len(usable) else ""

    async def find(self, context: Context, address: str) -> tuple[CatalogServedSkill, str] | None:
        app = await self._open(context)
        prefix, _, rest = address.removeprefix(SCHEME).partition("/")
        name, _, path = rest.partition("/")
        if not address.startswith(SCHEME):
            return None
        wanted = (unquote(prefix), unquote(name))
        found = next((skill for skill in _usable(app) if (_prefix(skill.found.location), skill.name) == wanted), None)
        served = await to_thread.run_sync(self._serve_all, app, (found,)) if found else ()
        return (served[0], unquote(path)) if served else None

    async def read(self, _context: Context, served: CatalogServedSkill, file: ServedFile) -> bytes:
        return await to_thread.run_sync(_read, served, file)

    def describe(self, served: CatalogServedSkill) -> dict[str, Any]:
        found = served.skill_status.found
        return {
            f"{NAMESPACE}/scope": found.location.scope,
            f"{NAMESPACE}/version": found.skill.version if found.skill else "",
            f"{NAMESPACE}/state": served.skill_status.state,
        }

    def list_changed(self, change: SkillsChanged) -> tuple[str, ...]:
        """The addresses of what was listed of skills that are not what they were."""
        names = {skill.name for skill in (*change.changed, *change.removed)}
        seen = tuple(self._known.values())  # at once: threads add to it
        known = [served for _, served in seen if served is not None and served.skill_status.name in names]
        return tuple(served.address(file.path) for served in known for file in served.files)

    async def _open(self, context: Context) -> App:
        """Raises: MCPError."""
        require_scope(self._caller_of(context), "read")
        app = (await self._daemon.registry.live.refresh()).app
        if app is not self._app:
            self._app, self._known = app, {}
        return app

    def _serve_all(self, app: App, statuses: Sequence[SkillStatus]) -> tuple[CatalogServedSkill, ...]:
        found = [self._serve(app, status) for status in statuses]
        return tuple(served for served in found if served is not None)

    def _serve(self, app: App, skill_status: SkillStatus) -> CatalogServedSkill | None:
        """None for what no host would take, and for what is not what was approved."""
        folder = skill_status.found.folder
        covered = list_covered(folder)
        seen = tuple(
            (name, file_status.st_mtime_ns, file_status.st_size, file_status.st_ino, file_status.st_mode)
            for name, _, file_status in covered
        )
        known = self._known.get(folder)
        if known is not None and known[0] == seen:
            return known[1]
        try:
            served = _load(app, skill_status)
        except (ClawftError, OSError):  # it changes just now, or was taken back: then it is not there
            served = None
        self._known[folder] = (seen, served)
        return served


def _usable(app: App) -> list[SkillStatus]:
    """Skills with a folder of their own: a command is a prompt and nothing else."""
    return [skill for skill in app.skills if skill.usable and skill.found.base_dir]


def _prefix(location: Location) -> str:
    """Return the origin of a skill as its address has it; a server that is called `user` cannot pass for the user."""
    own = location.scope != "mcp" or location.layer not in SCOPES
    return location.prefix if own else f"mcp.{location.layer}"


def _load(app: App, skill_status: SkillStatus) -> CatalogServedSkill | None:
    """Raises: ClawftError for what may not be used; OSError."""
    found = skill_status.found
    covered = list_covered(found.folder)
    if len(covered) > MAX_FILES or sum(status.st_size for _, _, status in covered) > MAX_BYTES:
        return None
    files: list[ServedFile] = []
    hashed = []
    front = None
    for name, path, status in covered:
        data, _ = read_regular(path, MAX_BYTES)
        digest, size = hash_content(data)
        hashed.append((name, bool(status.st_mode & 0o111), (digest, size)))
        files.append(ServedFile(os.fsdecode(name), digest.decode(), size))
        if name == ENTRY_FILE.encode():
            front = read_front(data)
    if front is None or front.get("name") != skill_status.name or not can_serve(front, files) or not _are_texts(files):
        return None
    _check_same(app, found, join_digest(hashed))
    root = f"{SCHEME}{quote(_prefix(found.location))}/{quote(skill_status.name)}"
    return CatalogServedSkill(root, front, tuple(files), skill_status)


def _are_texts(files: Sequence[ServedFile]) -> bool:
    """Return whether every name can be said in JSON."""
    return all(file.path.isprintable() for file in files)


def _check_same(app: App, found: DiscoveredSkill, digest: str) -> None:
    """Check that the bytes to serve are those that may be used now. Raises: ClawftError."""
    if app.load_usable(found).digest != digest:
        raise Refused("skill-changed", "The skill changed while it was read", path=found.folder)


def _read(served: CatalogServedSkill, file: ServedFile) -> bytes:
    """The bytes that were listed. Raises: MCPError for others."""
    path = os.path.join(served.skill_status.found.folder, file.path)
    try:
        data, _ = read_regular(path, MAX_BYTES)
    except (ClawftError, OSError):
        data = b""
    if (len(data), sha256(data).hexdigest()) != (file.size, file.sha256):
        message = f"The file '{file.path}' of the skill changed since it was listed"
        raise to_mcp_error(Refused("skill-changed", message, hint="List the skill again: skills/get"))
    return data


PAGE = 200
MAX_ARGUMENTS = 500_000
ALL = "arguments"  # the one argument of a skill that names none


class SkillPrompts:
    """The handlers of prompts. Unapproved skills of untrusted origin are not offered."""

    def __init__(self, daemon: Daemon, caller_of: CallerOf) -> None:
        self._daemon = daemon
        self._caller_of = caller_of

    async def list_page(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        offered = await self._offer(context)
        names = [skill.name for skill in offered]
        cursor = (params and params.cursor) or ""
        if cursor and cursor not in names:
            raise MCPError(INVALID_PARAMS, "That place in the list is not there any more: begin again")
        start = names.index(cursor) + 1 if cursor else 0
        part = offered[start : start + PAGE]
        following = part[-1].name if start + PAGE < len(offered) else None
        return ListPromptsResult(
            prompts=[_describe(skill) for skill in part], next_cursor=following, ttl_ms=TTL_MS, cache_scope="private"
        )

    async def get(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """The prompt with its arguments. A caller who may run skills has its commands run, as a turn does."""
        offered = await self._offer(context)
        status = next((skill for skill in offered if skill.name == params.name), None)
        if status is None or status.found.skill is None:
            error = NotFound("skill-not-found", f"There is no prompt '{params.name[:100]}'", hint="List them again")
            raise to_mcp_error(error)
        arguments = _read_arguments(status.found.skill, params.arguments or {})
        try:
            rendered = await self._render(self._caller_of(context), status, arguments)
        except ClawftError as error:
            raise to_mcp_error(error) from error
        diagnostics = replace_surrogates(
            [structs.asdict(to_problem(diagnostic)) for diagnostic in rendered.diagnostics]
        )
        text = replace_surrogates(_tell_origin(status) + rendered.text)
        return GetPromptResult(
            description=_say_of(status) or None,
            messages=[PromptMessage(role="user", content=TextContent(text=text))],
            _meta={f"{NAMESPACE}/diagnostics": diagnostics} if diagnostics else None,
        )

    async def _offer(self, context: Context) -> list[SkillStatus]:
        """Raises: MCPError."""
        require_scope(self._caller_of(context), "read")
        app = (await self._daemon.registry.live.refresh()).app
        return sorted(
            (skill for skill in app.skills if skill.usable and skill.user_may_invoke), key=lambda one: one.name
        )

    async def _render(self, caller: DaemonCaller, status: SkillStatus, arguments: PromptArguments) -> RenderedPrompt:
        """Raises: ClawftError."""
        app = self._daemon.app
        found, key = status.found, caller.session_key("prompt")
        variables = TemplateVariables(key, found.base_dir, app.workspace.project, numbered=found.location.claude)
        if caller.may("run"):
            async with self._daemon.runtimes.use() as runtime:
                return await _render_whole(runtime, status, arguments, variables)
        return await to_thread.run_sync(_render_text, app, status, arguments, variables)


def _describe(status: SkillStatus) -> Prompt:
    skill = status.found.skill or Skill(name=status.name)
    return Prompt(
        name=skill.name,
        title=skill.display_name or None,
        description=_say_of(status) or None,
        arguments=[PromptArgument(name=name, required=False) for name in _names(skill)]
        or [PromptArgument(name=ALL, description=skill.argument_hint or "What follows its name", required=False)],
    )


def _say_of(status: SkillStatus) -> str:
    return f"{render_mcp_origin(status.found)}{status.found.skill.description}" if status.found.skill else ""


def _tell_origin(status: SkillStatus) -> str:
    """Return a line that names the MCP server a skill came from, wherever a model reads it; '' for other skills."""
    return f"({find_origin(status.found)})\n\n" if status.found.location.scope == "mcp" else ""


def _names(skill: Skill) -> tuple[str, ...]:
    return skill.arguments or skill.variables


def _read_arguments(skill: Skill, arguments: dict[str, str]) -> PromptArguments:
    """Raises: MCPError for what it does not take."""
    names = _names(skill) or (ALL,)
    unknown = [argument for argument in arguments if argument not in names]
    if unknown or sum(map(len, arguments.values())) > MAX_ARGUMENTS:
        why = f"it has no argument '{unknown[0][:100]}'" if unknown else f"more than {MAX_ARGUMENTS} characters"
        raise MCPError(INVALID_PARAMS, f"The prompt '{skill.name}' cannot be given that: {why}")
    if names == (ALL,) and not _names(skill):
        return split_arguments(arguments.get(ALL, ""))
    words = [arguments.get(name, "") for name in names]
    while words and not words[-1]:
        words.pop()
    return PromptArguments(" ".join(words), tuple(words))


async def _render_whole(
    runtime: Runtime, status: SkillStatus, arguments: PromptArguments, variables: TemplateVariables
) -> RenderedPrompt:
    """As in a turn: files are read, and commands run as far as the user allows it. Raises: ClawftError."""
    dynamic = runtime.dynamic(lambda: CallAuthority(runtime.default_mode, runtime.rules))
    usable = await to_thread.run_sync(runtime.skills.load_usable, status.found)
    return await render_dynamic(dynamic, status.found, usable, arguments, variables)


def _render_text(
    app: App, status: SkillStatus, arguments: PromptArguments, variables: TemplateVariables
) -> RenderedPrompt:
    """The text alone: nothing in it is run or read. Raises: ClawftError."""
    skill = app.load_usable(status.found).skill
    prefixes = app.config.skills.security.allowed_command_prefixes
    return render_skill(skill, arguments, variables, status.found.file, prefixes)
