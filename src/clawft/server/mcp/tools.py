"""The tools of the server: running a skill, which there are, which fit, and what the scanner says of one.

A model reads what they give. So a skill that may not be used is told of by its name and state, never in its own words.
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

from clawft.discovery.served import describe_origin, tell_server
from clawft.errors import ClawftError
from clawft.format.names import is_canonical, is_safe_folder
from clawft.mcp.skills_server import TTL_MS
from clawft.protocol.base import Answer, Request, Scope, to_problem
from clawft.protocol.encoding import tellable
from clawft.protocol.skills import (
    ListSkills,
    ScanResult,
    ScanSkill,
    SearchSkills,
    SkillsFound,
    SkillsList,
    SkillSummary,
)
from clawft.serve.caller import Call, Caller
from clawft.serve.daemon import Daemon
from clawft.serve.mcp.asking import CallerOf, Context, fail_tool
from clawft.serve.mcp.execute import Execute
from clawft.serve.mcp.values import (
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
    read_arguments,
    schema_of,
)
from clawft.trust import STATES

__all__ = ["SkillTools"]

_USABLE = frozenset({"ready", "manual", "ineligible"})
_OFFERED = _USABLE - {"manual"}  # what a model may start; the others are for people
_RANKED = 1_000  # of which those that may not be used are left out
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True)


class _Offer(Struct, frozen=True):
    """A tool, and who may use it."""

    tool: Tool
    scope: Scope


def _offer(name: str, said: str, given: type[Struct], gives: type[Struct], scope: Scope) -> _Offer:
    tool = Tool(
        name=name,
        title=name.replace("-", " ").capitalize(),
        description=said,
        input_schema=schema_of(given),
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
_TOOLS = {one.tool.name: one for one in _OFFERS}


class SkillTools:
    """The handlers of tools. Each caller is shown those that it may use."""

    def __init__(self, daemon: Daemon, caller_of: CallerOf, execute: Execute) -> None:
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
        tools = [one.tool for one in _OFFERS if caller.may(one.scope)]
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

    async def _ask(self, caller: Caller, request: Request) -> Answer:
        """Raises: ClawftError."""
        return await self._daemon.answer(Call(caller, lambda _: None), request)

    async def _list_skills(self, caller: Caller, given: ListArguments) -> dict[str, Any]:
        """As it goes out: made once for each generation, since it may be large."""
        answer = await self._ask(caller, ListSkills())
        assert isinstance(answer, SkillsList)
        known = self._listed
        if known is not None and known[0] is answer and known[1] == given.state:
            return known[2]
        skills = tuple(_describe(one) for one in answer.skills if _is_meant(one, given.state))
        lines = [f"{one.name} ({one.state}): {one.description or one.why}" for one in skills]
        made = _give(ListOutput(generation=answer.generation, skills=skills), lines, "There are none")
        encoded = made.model_dump(by_alias=True, mode="json", exclude_none=True)
        self._listed = (answer, given.state, encoded)
        return encoded

    async def _search(self, caller: Caller, given: SearchArguments) -> CallToolResult:
        answer = await self._ask(caller, SearchSkills(query=given.query, limit=_RANKED))
        assert isinstance(answer, SkillsFound)
        origins = {one.name: describe_origin(one.found) for one in self._daemon.app.skills if one.usable}
        results = tuple(
            FoundLine(
                name=one.name,
                description=origins.get(one.name, "") + one.description,
                state=one.state,
                score=one.score,
            )
            for one in answer.results
            if one.state in _OFFERED
        )[: given.limit]
        lines = [f"{one.name}: {one.description}" for one in results]
        return _give(SearchOutput(query=answer.query, results=results), lines, "No skill fits")

    async def _scan(self, caller: Caller, given: ScanArguments) -> CallToolResult:
        answer = await self._ask(caller, ScanSkill(name=given.name))
        assert isinstance(answer, ScanResult)
        found = [one for result in answer.results for one in result["findings"]]
        fields = FindingLine.__struct_fields__
        findings = tuple(FindingLine(**{key: one[key] for key in fields}) for one in found)
        if not self._daemon.app.get_skill(given.name).usable:  # names of files, and what is quoted, are its own words
            findings = tuple(structs.replace(one, path="", message=one.why) for one in findings)
        lines = [_tell_finding(one) for one in findings]
        output = ScanOutput(name=given.name, verdict=answer.verdict, findings=findings)
        return _give(output, [f"{given.name}: {answer.verdict}", *lines])


def _tell_finding(one: FindingLine) -> str:
    at = f"at {one.path}:{one.line}" if one.path else f"at line {one.line}"
    return f"{one.severity} {one.rule} {at}: {one.message}"


def _is_meant(skill: SkillSummary, state: Which) -> bool:
    if skill.state in _USABLE:
        return state in ("all", skill.state) or (state == "usable" and skill.state in _OFFERED)
    return state in ("all", skill.state) and (is_canonical(skill.name) or is_safe_folder(skill.name))  # not a sentence


def _describe(skill: SkillSummary) -> SkillLine:
    """What strangers write of themselves stays out until somebody approved it."""
    is_usable = skill.state in _USABLE
    origin = tell_server(skill.layer) if skill.scope == "mcp" else ""
    reason = skill.reasons[0].message if skill.reasons and is_usable else STATES[skill.state]
    return SkillLine(
        name=skill.name,
        description=origin + skill.description if is_usable else "",
        state=skill.state,
        scope=skill.scope,
        version=skill.version if is_usable else "",
        why=reason if skill.state != "ready" else "",
    )


def _give(output: Struct, lines: list[str], otherwise: str = "") -> CallToolResult:
    structured: dict[str, Any] = tellable(msgspec.to_builtins(output))
    text = tellable("\n".join(lines) or otherwise)
    return CallToolResult(content=[TextContent(text=text)], structured_content=structured)
