"""The tools of the MCP server: run a skill, list skills, search them, and scan one.

A model reads their output. So a skill that may not be used appears only by its name and state, never in its own words.
"""

from typing import Any

import msgspec
from mcp.server.context import HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from msgspec import Struct, structs

from clawft.agent.mcp.skills_server import TTL_MS
from clawft.errors import ClawftError
from clawft.files import replace_surrogates
from clawft.server.callers import DaemonCall, DaemonCaller
from clawft.server.daemon import Daemon
from clawft.server.mcp.execution import ExecuteTool
from clawft.server.mcp.requests import (
    CallerOf,
    Context,
    ExecuteArguments,
    ExecuteOutput,
    FindingLine,
    FoundLine,
    ListArguments,
    ListOutput,
    ScanArguments,
    ScanOutput,
    SearchArguments,
    SearchOutput,
    SkillLine,
    Which,
    fail_tool,
    read_arguments,
    schema_of,
)
from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, TokenScope, copy_fields, to_problem
from clawft.server.protocol.skills import (
    ListSkills,
    ScanResult,
    ScanSkill,
    SearchSkills,
    SkillsFound,
    SkillsList,
    SkillSummary,
)
from clawft.skills.discovery.mcp_copies import render_mcp_origin, tell_server
from clawft.skills.parse.model import is_canonical, is_safe_folder
from clawft.trust.status import STATES

_USABLE = frozenset({"ready", "manual", "ineligible"})
_OFFERED = _USABLE - {"manual"}  # what a model may start; the others are for people
_RANKED = 1_000  # of which those that may not be used are left out
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)


class _Offer(Struct, frozen=True):
    """A tool, and who may use it."""

    tool: Tool
    scope: TokenScope


def _offer(name: str, description: str, arguments_type: type[Struct], gives: type[Struct], scope: TokenScope) -> _Offer:
    tool = Tool(
        name=name,
        title=name.replace("-", " ").capitalize(),
        description=description,
        input_schema=schema_of(arguments_type),
        output_schema=schema_of(gives),
        annotations=_ACTS if scope == "run" else _READS,
    )
    return _Offer(tool, scope)


_OFFERS = (
    _offer(
        "skill-execute",
        "Run one of the user's skills by its name, with arguments, and get what it answers. An agent with tools of its"
        " own does the work. Give the session of a result to go on in it.",
        ExecuteArguments,
        ExecuteOutput,
        "run",
    ),
    _offer(
        "skill-list",
        "The user's skills, with what each is for. Only those that can be used, unless another state is asked for.",
        ListArguments,
        ListOutput,
        "read",
    ),
    _offer(
        "skill-search",
        "The skills that fit a request best: quicker than reading the whole list.",
        SearchArguments,
        SearchOutput,
        "read",
    ),
    _offer(
        "skill-scan",
        "What the security scanner says of a skill: a verdict, and each finding with its place.",
        ScanArguments,
        ScanOutput,
        "read",
    ),
)
_TOOLS = {offer.tool.name: offer for offer in _OFFERS}


class SkillTools:
    """The handlers of tools. Each caller is shown those that it may use."""

    def __init__(self, daemon: Daemon, caller_of: CallerOf, execute: ExecuteTool) -> None:
        self._daemon = daemon
        self._caller_of = caller_of
        self._execute = execute
        self._listed: tuple[SkillsList, Which, dict[str, Any]] | None = None

    @staticmethod
    def schema(name: str) -> dict[str, Any] | None:
        found = _TOOLS.get(name)
        return found.tool.input_schema if found else None

    async def list(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        caller = self._caller_of(context)
        tools = [offer.tool for offer in _OFFERS if caller.may(offer.scope)]
        return ListToolsResult(tools=tools, ttl_ms=TTL_MS, cache_scope="private")

    async def call(self, context: Context, params: CallToolRequestParams) -> HandlerResult:
        if params.name not in _TOOLS:
            raise MCPError(INVALID_PARAMS, f"There is no tool '{params.name[:100]}'")
        caller = self._caller_of(context)
        try:
            if params.name == "skill-execute":
                return await self._execute(context, caller, params)
            if params.name == "skill-list":
                return await self._list_skills(caller, read_arguments(params.arguments, ListArguments))
            if params.name == "skill-search":
                return await self._search(caller, read_arguments(params.arguments, SearchArguments))
            return await self._scan(caller, read_arguments(params.arguments, ScanArguments))
        except ClawftError as error:
            return fail_tool(to_problem(error.diagnostic))

    async def _ask(self, caller: DaemonCaller, request: DaemonRequest) -> DaemonAnswer:
        """Raises: ClawftError."""
        return await self._daemon.answer(DaemonCall(caller, lambda _: None), request)

    async def _list_skills(self, caller: DaemonCaller, arguments: ListArguments) -> dict[str, Any]:
        """As it goes out: made once for each generation, since it may be large."""
        answer = await self._ask(caller, ListSkills())
        assert isinstance(answer, SkillsList)
        known = self._listed
        if known is not None and known[0] is answer and known[1] == arguments.state:
            return known[2]
        skills = tuple(_describe(skill) for skill in answer.skills if _is_meant(skill, arguments.state))
        lines = [f"{skill.name} ({skill.state}): {skill.description or skill.why}" for skill in skills]
        made = _give(ListOutput(generation=answer.generation, skills=skills), lines, "There are none")
        encoded = made.model_dump(by_alias=True, mode="json", exclude_none=True)
        self._listed = (answer, arguments.state, encoded)
        return encoded

    async def _search(self, caller: DaemonCaller, arguments: SearchArguments) -> CallToolResult:
        answer = await self._ask(caller, SearchSkills(query=arguments.query, limit=_RANKED))
        assert isinstance(answer, SkillsFound)
        origins = {skill.name: render_mcp_origin(skill.found) for skill in self._daemon.app.skills if skill.usable}
        results = tuple(
            copy_fields(FoundLine, result, description=origins.get(result.name, "") + result.description)
            for result in answer.results
            if result.state in _OFFERED
        )[: arguments.limit]
        lines = [f"{result.name}: {result.description}" for result in results]
        return _give(SearchOutput(query=answer.query, results=results), lines, "No skill fits")

    async def _scan(self, caller: DaemonCaller, arguments: ScanArguments) -> CallToolResult:
        answer = await self._ask(caller, ScanSkill(name=arguments.name))
        assert isinstance(answer, ScanResult)
        found = [raw_finding for result in answer.results for raw_finding in result["findings"]]
        fields = FindingLine.__struct_fields__
        findings = tuple(FindingLine(**{key: raw_finding[key] for key in fields}) for raw_finding in found)
        if not self._daemon.app.get_skill(
            arguments.name
        ).usable:  # names of files, and what is quoted, are its own words
            findings = tuple(structs.replace(finding, path="", message=finding.why) for finding in findings)
        lines = [_tell_finding(finding) for finding in findings]
        output = ScanOutput(name=arguments.name, verdict=answer.verdict, findings=findings)
        return _give(output, [f"{arguments.name}: {answer.verdict}", *lines])


def _tell_finding(one: FindingLine) -> str:
    at = f"at {one.path}:{one.line}" if one.path else f"at line {one.line}"
    return f"{one.severity} {one.rule} {at}: {one.message}"


def _is_meant(skill: SkillSummary, state: Which) -> bool:
    if skill.state in _USABLE:
        return state in ("all", skill.state) or (state == "usable" and skill.state in _OFFERED)
    return state in ("all", skill.state) and (is_canonical(skill.name) or is_safe_folder(skill.name))  # not a sentence


def _describe(skill: SkillSummary) -> SkillLine:
    """Summarize a skill, without its own words unless it may be used: an untrusted description must not reach a
    model."""
    is_usable = skill.state in _USABLE
    origin = tell_server(skill.layer) if skill.scope == "mcp" else ""
    reason = skill.reasons[0].message if skill.reasons and is_usable else STATES[skill.state]
    return copy_fields(
        SkillLine,
        skill,
        description=origin + skill.description if is_usable else "",
        version=skill.version if is_usable else "",
        why=reason if skill.state != "ready" else "",
    )


def _give(output: Struct, lines: list[str], otherwise: str = "") -> CallToolResult:
    structured: dict[str, Any] = replace_surrogates(msgspec.to_builtins(output))
    text = replace_surrogates("\n".join(lines) or otherwise)
    return CallToolResult(content=[TextContent(text=text)], structured_content=structured)
