"""Permission for one tool call: collect what bears on it, have `trust` judge it, ask the person, write the audit
log.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

from msgspec import Struct, structs

from clawft.agent.hooks.events import EventOutcome, HookText
from clawft.agent.runtime import Conversation, Turn
from clawft.agent.text_limits import list_prompted, list_text_limits, restrict_hosts
from clawft.agent.tools.file_access import base_folder
from clawft.agent.tools.steps import STAYS
from clawft.agent.tools.tool import (
    AskPerson,
    CallFiles,
    CallPermission,
    ChooseAnswer,
    HostGrants,
    RecordDecision,
    Tool,
    ToolContext,
    ToolError,
    shorten,
)
from clawft.agent.turn_hooks import escape_marks
from clawft.messages import Answer, ApprovalAnswer, ApprovalNeeded, ToolCall
from clawft.skills.parse.model import escape_invisible
from clawft.trust.approvals import hash_bytes
from clawft.trust.audit.log import observe_questions
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import CheckedCall, PatternRoots, ToolTraits
from clawft.trust.patterns import PATH_TOOLS, pattern_folders
from clawft.trust.permissions import (
    ActiveSkill,
    CallAuthority,
    ToolDecision,
    ToolLimit,
    decide_call,
    find_denied_paths,
    limit_read_text,
    limit_servers,
    make_limit,
)
from clawft.trust.programs import show_all

_MAX_SHOWN = 300  # characters of an argument that a question shows
_ENDINGS = {"cancelled": "the run was cancelled", "deadline": "the time of the run was over"}
_BY: dict[Answer, str] = {"flag": "--yes", "nobody": "nobody to ask"}


def authority_of(conversation: Conversation) -> CallAuthority:
    """Return everything that limits the calls of a conversation now: it changes when a skill is loaded, or the mode."""
    runtime = conversation.runtime
    limits = [
        make_limit(f"the agent '{agent.name}'", agent.tools, agent.disallowed_tools) for agent in conversation.agents
    ]
    limits += list_skill_limits(conversation)
    prompted = list_prompted(conversation)
    limits += [limit_servers(f"the skill '{skill.name}'", skill.allowed_tools) for skill in prompted]
    text_limits = tuple(
        limit_read_text(limit.who, limit.hosts, limit.tools) for limit in list_text_limits(conversation)
    )
    return CallAuthority(conversation.effective_mode, runtime.rules, tuple(limits), text_limits)


def list_active(conversation: Conversation) -> tuple[ActiveSkill, ...]:
    """Return the active skills: those of the parent conversations, then its own."""
    own = (activation.at_work for activation in conversation.skills.active)
    return restrict_hosts((*conversation.lineage.active, *own), conversation)


def list_skill_limits(conversation: Conversation) -> list[ToolLimit]:
    """List the limits of the active skills."""
    return [_limit_of(skill, conversation) for skill in list_active(conversation)]


def _limit_of(active: ActiveSkill, conversation: Conversation) -> ToolLimit:
    limit = make_limit(
        f"the skill '{active.name}'",
        active.allowed_tools or None,
        active.disallowed_tools,
        folders=pattern_folders(conversation.lineage.project, active.folder),
        untrusted=active.is_untrusted,
        own=conversation.skills.brought.get(active.name, frozenset()),
    )
    reads = tuple(filter(None, (conversation.lineage.project, active.folder)))
    return structs.replace(limit, hosts=active.hosts if active.is_untrusted else None, reads=reads)


def make_context(turn: Turn, tool: Tool | None, call: ToolCall, name: str, at: int) -> ToolContext:
    """Make the context of a call before it is judged: its places, and what checks its own actions."""
    runtime, conversation = turn.runtime, turn.conversation
    spill_dir, record = runtime.spill_dir(turn.session.key), make_audit_recorder(conversation)
    # What a delegated agent changes belongs to the turn of the person, who may want it back.
    keep_dir, step = runtime.spill_dir(conversation.account), conversation.steps.name(str(at))
    files = CallFiles(spill_dir, keep_dir, runtime.secrets.mask, conversation.turn, step)
    authority, active = authority_of(conversation), list_active(conversation)
    context = ToolContext(
        runtime.workspace,
        runtime.environ,
        runtime.sandbox,
        files,
        make_asker(turn, tool, ToolCall(call.id, name, {}), record, ToolDecision("pass")),
        turn.emit,
        record=record,
        choose=_make_chooser(turn, call.id, name, record),
        tool=name,
        hosts=HostGrants(
            authority.rules,
            tuple(skill.hosts for skill in active if skill.is_untrusted),
            tuple(dict.fromkeys(skill.name for skill in active)),
        ),
        ask_host=make_asker(turn, tool, ToolCall(call.id, name, {}), record, ToolDecision("pass")),
        read_roots=tuple(turn.skills.loaded.values()),
        take_shell_env=lambda: runtime.skills.variables.take_alone(
            [activation.usable for activation in turn.skills.active],
            [skill.name for skill in conversation.lineage.active],
            turn.session.key,
        ),
        commands=runtime.commands.get(conversation.account),
    )
    return structs.replace(context, permission=_make_permission(turn, authority, _where(context)))


def _make_permission(turn: Turn, authority: CallAuthority, where: PatternRoots) -> CallPermission:
    denied = find_denied_paths(authority, where)

    def judge(tool: str, arguments: Mapping[str, Any]) -> ToolDecision:
        known = turn.prompt.tools.find(tool)
        traits = known.traits() if known else ToolTraits()
        return decide_call(CheckedCall(tool, arguments, where, traits), authority_of(turn.conversation))

    return CallPermission(authority.mode, decide=judge, denied=denied)


def make_audit_recorder(conversation: Conversation) -> RecordDecision:
    """Writes what was decided into the audit log: with the session, and the skills that are at work."""
    audit = conversation.runtime.audit

    def record(
        kind: str, subject: str, decision: str, rule: str = "", *, detail: Mapping[str, Any] | None = None
    ) -> None:
        active = list_active(conversation)
        audit.record(
            kind,
            subject,
            decision=decision,
            rule=rule,
            skill=", ".join(skill.name for skill in active),
            digest=", ".join(skill.digest for skill in active),
            session=conversation.session.key,
            detail=detail,
        )

    return record


async def permit(
    turn: Turn, tool: Tool, call: ToolCall, context: ToolContext, hooked: EventOutcome | None = None
) -> ToolContext:
    """Judge one call, ask where that is due, and return the context that it may be made in.

    Hooks can refuse what the rules allow, and have a person asked; they allow nothing. So nobody is asked about what a
    hook refuses. Raises: ToolError for what is refused, Refused if the audit log cannot be written.
    """
    decision = judge_call(turn, tool, call, context)
    if hooked is not None and hooked.blocked is not None:
        message = f"Not allowed: the hook '{hooked.blocked.hook}': {escape_marks(hooked.blocked.text)}"
        raise ToolError("PERMISSION_DENIED", message)
    asks = explain_asking_hook(hooked.asks) if hooked is not None and hooked.asks is not None else ""
    if decision.decision == "allow" and context.permission.mode is not Mode.FULL and _is_brought(turn, tool.name):
        decision = ToolDecision("ask", f"{decision.rule} does not say which skill's tool it means")
    if asks and decision.decision != "ask":
        decision = ToolDecision("ask", asks)
    permission = context.permission
    if tool.name in PATH_TOOLS:
        permission = structs.replace(permission, check_path=lambda real: _check_path(turn, tool, real, context))
    if decision.decision == "ask" and tool.asks:
        # It asks by itself, after its policy has judged what is to be done.
        permission = structs.replace(permission, must_ask=decision.rule)
    elif decision.decision == "ask":
        ask = make_asker(turn, tool, call, context.record, permission.granted, asks)
        if not await ask(_question(tool, call), decision.rule):
            raise ToolError("PERMISSION_DENIED", f"It was not approved ({decision.rule})")
        decision = ToolDecision("pass", f"approved ({decision.rule})")
    ask = make_asker(turn, tool, call, context.record, decision, asks)
    return structs.replace(context, ask=ask, permission=structs.replace(permission, granted=decision))


def _check_path(turn: Turn, tool: Tool, real: str, context: ToolContext) -> None:
    """Judge the very file that a tool is about to open. Raises: ToolError."""
    judge_call(turn, tool, ToolCall("", tool.name, {"path": real}), context)


def _is_brought(turn: Turn, name: str) -> bool:
    """Return whether a skill brought the tool: any other could bring one of its name, so no rule by name allows it."""
    return any(name in brought for brought in turn.skills.brought.values())


def explain_asking_hook(asks: HookText) -> str:
    """Return the reason to show when a hook asks for approval."""
    return f"the hook '{asks.hook}': {escape_marks(asks.text)}"


def is_denied(turn: Turn, tool: Tool, call: ToolCall, context: ToolContext) -> bool:
    """Return whether the rules refuse a call, whatever a person or a hook may say."""
    try:
        judge_call(turn, tool, call, context)
    except ToolError:
        return True
    return False


def judge_call(turn: Turn, tool: Tool, call: ToolCall, context: ToolContext) -> ToolDecision:
    """Judge a call by the rules and limits that hold now. Raises: ToolError for what is refused."""
    server = bool(tool.plugin) or any(tool is server_tool for server_tool in turn.runtime.server_tools)
    asked = CheckedCall(tool.name, call.arguments, _where(context), tool.traits(server=server))
    decision = decide_call(asked, authority_of(turn.conversation))
    if decision.decision == "deny":
        raise ToolError("PERMISSION_DENIED", f"Not allowed: {decision.rule}", hint=decision.hint)
    return decision


def make_asker(
    turn: Turn, tool: Tool | None, call: ToolCall, record: RecordDecision, granted: ToolDecision, hook: str = ""
) -> AskPerson:
    """Make the callback with which a tool asks. Where a hook wants the question, the person reads so, whatever else is
    the reason."""
    name = tool.name if tool else call.name

    async def ask(question: str, reason: str, *, dangerous: bool = False) -> bool:
        why = reason if hook in reason else f"{reason}; {hook}"
        shown = escape_invisible(question), escape_invisible(why)  # whichever front end puts it to a person
        event = ApprovalNeeded(call=call.id, tool=name, question=shown[0], reason=shown[1], dangerous=dangerous)
        return await _answer_question(_ToolQuestion(turn, tool, event, granted, record))

    return ask


def _make_chooser(turn: Turn, call: str, tool: str, record: RecordDecision) -> ChooseAnswer:
    """Make the callback with which a tool puts questions of the model to the person."""
    numbers = count(1)

    async def choose(question: str, options: tuple[str, ...]) -> ApprovalAnswer:
        shown = tuple(escape_invisible(option) for option in options)
        reason = f"the model asks; likely answers: {'; '.join(shown)}" if shown else "the model asks"
        event = ApprovalNeeded(
            call=f"{call}.{next(numbers)}", tool=tool, question=escape_invisible(question), reason=reason, options=shown
        )
        turn.emit(event)
        answer = await turn.conversation.ask(event)
        answered = (
            answer if isinstance(answer, ApprovalAnswer) else ApprovalAnswer(answer, _BY.get(answer, "the person"))
        )
        is_answered = answered.answer not in ("no", "nobody")
        record("approval", event.question, "allow" if is_answered else "deny", answered.by, detail=_about(event))
        return answered

    return choose


async def ask_about_command(conversation: Conversation, command: str, reason: str) -> bool:
    """Ask the person whether a command in the text of a skill may run; a no in mode plan, which asks nothing."""
    turn = conversation.current_turn
    call = ToolCall(f"skill_{hash_bytes(command.encode('utf-8', 'replace'))[7:31]}", "exec_shell")
    ask = make_asker(turn, None, call, make_audit_recorder(conversation), ToolDecision("pass"))
    try:
        return await ask(command, reason)
    except ToolError:
        return False


class _ToolQuestion(Struct, frozen=True):
    """A question of a tool, with what was decided about its call."""

    turn: Turn
    tool: Tool | None
    event: ApprovalNeeded
    granted: ToolDecision
    record: RecordDecision


async def _answer_question(asked: _ToolQuestion) -> bool:
    """Answer a tool's question: by the mode or a rule, by an earlier answer, or by the person who started the turn.

    If nobody is there or answers, it is a no. Raises: ToolError in plan mode, which only reads.
    """
    event = asked.event
    if asked.turn.conversation.effective_mode is Mode.PLAN:
        raise ToolError("PERMISSION_DENIED", f"Not allowed: mode plan only looks ({event.reason or event.question})")
    answered = await _find_answer(asked)
    detail = {"answer": answered.answer, "by": answered.by, **_about(event)}
    is_yes = answered.answer not in ("no", "nobody")
    asked.record("approval", event.question, "allow" if is_yes else "deny", answered.by, detail=detail)
    return is_yes


def _about(event: ApprovalNeeded) -> dict[str, Any]:
    """Return the fields that audit entries about one question share with each other and with those about its call."""
    return {"tool": event.tool, "grave": event.dangerous, "call": event.call}


async def _find_answer(asked: _ToolQuestion) -> ApprovalAnswer:
    turn, event, granted = asked.turn, asked.event, asked.granted
    conversation, approvals = turn.conversation, turn.runtime.approvals
    place = f"{turn.runtime.workspace.project}#{event.tool}#{event.question}"
    if not event.dangerous:
        # What answers a call does not answer for another host that it is led to.
        if granted.decision == "allow" and not (asked.tool and asked.tool.fetches):
            return ApprovalAnswer("once", granted.rule)
        if name_question(event) in conversation.approved:
            return ApprovalAnswer("session", "an answer for this session")
        if approvals.has("tool", place, _meant(turn, event.question)):
            return ApprovalAnswer("always", "a lasting answer")
    turn.emit(event)
    answered = await _ask(asked)
    if answered.answer == "session" and not event.dangerous:
        conversation.approved.add(name_question(event))
    elif answered.answer == "always" and not event.dangerous:
        approvals.add("tool", {place: _meant(turn, event.question)})
    return answered


async def _ask(question: _ToolQuestion) -> ApprovalAnswer:
    """Ask the person who started the turn. The audit log records the question, and also if it is withdrawn."""
    conversation, event, record = question.turn.conversation, question.event, question.record
    asked = False

    def note(again: bool) -> None:
        nonlocal asked
        if not again and not asked:
            record("approval", event.question, "ask", event.reason, detail=_about(event))
        asked = True

    try:
        with observe_questions(note):
            answer = await conversation.ask(event)
    except BaseException:
        ending = conversation.ending or conversation.reason_if_left
        if asked and ending not in STAYS:
            why = _ENDINGS.get(ending, ending)
            record("approval", event.question, "withdrawn", why, detail=_about(event))
        raise
    return answer if isinstance(answer, ApprovalAnswer) else ApprovalAnswer(answer, _BY.get(answer, "the person"))


def name_question(event: ApprovalNeeded) -> str:
    """Return the key under which an answer for the session is stored: a hash, since the question may hold text that
    must not be stored."""
    return hash_bytes(f"{event.tool}\0{event.question}".encode("utf-8", "surrogatepass"))


def _meant(turn: Turn, question: str) -> bytes:
    """Return what a lasting approval is bound to: the question itself and the digests of the active skills."""
    return "\n".join([question, *(skill.digest for skill in list_active(turn.conversation))]).encode("utf-8", "replace")


def _where(context: ToolContext) -> PatternRoots:
    return PatternRoots(context.workspace.project, base_folder(context), context.workspace.home)


def _question(tool: Tool, call: ToolCall) -> str:
    """Render the question that a person reads before a tool runs that does not ask by itself."""
    shown, is_sure = [], True
    for name, value in call.arguments.items():
        text = show_all(value if isinstance(value, str) else repr(value))
        cut = shorten(text, _MAX_SHOWN)
        shown.append(f"{show_all(name)}: {cut}")
        is_sure = is_sure and cut is text and "\n" not in name + text
    # An answer for the session, or for good, must not fit another call that is shown with the same words.
    bound = "" if is_sure else f" ({hash_bytes(repr(call.arguments).encode('utf-8', 'replace'))[7:39]})"
    return "\n".join([f"Run {tool.name}?{bound}", *shown])
