"""May this tool be used so? Session ∩ agent ∩ every active skill (R114): a value in, a decision out.

Nothing a skill says gives power: its patterns only take away. What is decided here is decided again for every call,
when it is executed; what a tool asks or refuses by itself, as the command policy does, comes after.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from clawft.trust.call import Call
from clawft.trust.command_patterns import find_shown
from clawft.trust.hosts import find_grant
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import Paths
from clawft.trust.patterns import Pattern, allows, find_touching, parse_patterns
from clawft.trust.rules import Rules

__all__ = ["Authority", "Decision", "Limit", "decide", "find_closed", "limit_read_text", "limit_servers", "make_limit"]

# They judge for themselves what they are about to do, or do nothing but talk.
_JUDGE_THEMSELVES = frozenset({"exec_shell", "delegate", "Skill", "message"})
_FETCHES = frozenset({"web_fetch"})
_LASTS = frozenset({"memory_write"})


class Decision(Struct, frozen=True):
    """`rule` names exactly what decided. `pass` leaves it to the tool; `allow` also answers what the tool asks."""

    decision: Literal["allow", "ask", "deny", "pass"]
    rule: str = ""
    hint: str = ""


class Limit(Struct, frozen=True):
    """What an agent or a skill leaves of the session's tools. `allowed` None leaves all."""

    who: str  # the skill 'x'
    allowed: tuple[Pattern, ...] | None = None
    denied: tuple[Pattern, ...] = ()
    stranger: bool = False  # R118: gets tools of MCP servers and plugins only if it names them
    named: tuple[Pattern, ...] = ()  # what it names of them
    own: frozenset[str] = frozenset()  # tools that it brought along itself
    hosts: tuple[str, ...] | None = None  # those that a stranger's skill was approved with; None for one's own

    @property
    def until(self) -> str:
        """How long a skill's list holds; an agent's holds as long as it is at work (D54)."""
        return "; this holds until the person's next message" if self.who.startswith("the skill") else ""


class Authority(Struct, frozen=True):
    """All that bears on a call: the session's mode and rules, and the limits of whoever is at work in it."""

    mode: Mode = Mode.AUTO_EDIT
    rules: Rules = Rules()
    limits: tuple[Limit, ...] = ()
    heard: tuple[Limit, ...] = ()  # what the model has read and is not the user's own: asks about more than it granted


def make_limit(
    who: str,
    allowed: Sequence[str] | None,
    denied: Sequence[str] = (),
    *,
    folders: Mapping[str, str] | None = None,
    stranger: bool = False,
    own: frozenset[str] = frozenset(),
) -> Limit:
    """A limit from patterns as they are written; `folders` are what their variables stand for."""
    parsed = None if allowed is None else parse_patterns(allowed, folders)
    return Limit(who, parsed, parse_patterns(denied, folders), stranger, parsed or (), own)


def limit_servers(who: str, allowed: Sequence[str]) -> Limit:
    """The limit of a stranger's skill whose text is in the prompt from the start: it binds MCP tools alone."""
    return Limit(who, stranger=True, named=parse_patterns(allowed))


def limit_read_text(who: str, hosts: Sequence[str], tools: Sequence[str] | None) -> Limit:
    """The limit of a text that was read before: it forbids nothing. `tools` None leaves all tools of servers."""
    return Limit(who, stranger=tools is not None, named=parse_patterns(tools or ()), hosts=tuple(hosts))


def decide(call: Call, authority: Authority) -> Decision:
    """Judge a call by all that bears on it; the first that refuses is named."""
    for limit in authority.limits:
        if objection := _object(limit, call):
            return Decision("deny", objection, f"Do without it{limit.until}")
    # A line that is not understood is refused by the command policy, in its own words.
    rule = None if call.is_obscure else authority.rules.find(call)
    if rule is not None and rule.kind == "deny":
        return Decision("deny", rule.name, f"See: weft permissions list ({rule.source})" if rule.source else "")
    by_mode = _judge_by_mode(call, authority.mode)
    if by_mode.decision == "deny":
        return by_mode
    if call.tool == "exec_shell" and (shown := find_shown(find_closed(authority), call)):
        return Decision("ask", f"'{shown}' may show from git's objects what a rule denies to read")
    strangers = (*authority.limits, *authority.heard)
    if (rule is None or rule.kind == "ask") and (unapproved := _find_unapproved(call, strangers)):
        return Decision("ask", unapproved)
    if rule is not None and rule.kind == "ask" and authority.mode is not Mode.FULL:
        return Decision("ask", rule.name)
    if rule is not None and rule.kind == "allow":
        return Decision("allow", rule.name)
    return by_mode


def find_closed(authority: Authority) -> list[Paths]:
    """The paths that a rule, an agent or a skill forbids to read."""
    denied = [rule.pattern for rule in authority.rules.deny]
    denied += [one for limit in authority.limits for one in limit.denied]
    return [one.matcher for one in denied if isinstance(one.matcher, Paths) and one.names("read_file")]


def _judge_by_mode(call: Call, mode: Mode) -> Decision:
    name, looks = f"mode {mode}", call.read_only or call.tool in _JUDGE_THEMSELVES
    if mode is Mode.PLAN and not looks:
        return Decision("deny", name, "A person can choose another: /mode, or --mode")
    if mode is Mode.ASK and (not looks or call.tool in _FETCHES):
        return Decision("ask", name)
    return Decision("allow", name) if mode is Mode.FULL else Decision("pass", name)


def _find_unapproved(call: Call, limits: Sequence[Limit]) -> str:
    """Why a person is asked, in every mode: a text that is not the user's own and that the model has read was not
    approved for the host of a fetch, does not name the tool of a server, or would be heard in every later conversation.
    """
    target = call.target if call.tool in _FETCHES else None
    for limit in limits:
        if limit.hosts is not None and call.tool in _LASTS:
            return f"every later conversation would hear it, and {limit.who} is a stranger's"
        if target and limit.hosts is not None and not find_grant(target.host, target.connect_port, limit.hosts):
            return f"{limit.who} was not approved for the host '{target.host}'"
        if _keeps_from_servers(limit, call):
            return f"{limit.who} does not name {call.tool}, and its text is in this conversation"
    return ""


def _keeps_from_servers(limit: Limit, call: Call) -> bool:
    """Whether a tool of a server or a plugin is none that a skill names which is not the user's own."""
    return call.server and limit.stranger and not any(_names_server(one, call.tool) for one in limit.named)


def _object(limit: Limit, call: Call) -> str:
    """Why an agent or a skill may not make a call, or nothing. To read its own folder is always a skill's (D54)."""
    if call.tool == "skill_read":
        return ""
    denied = find_touching(limit.denied, call)
    if denied is not None:
        return f"{limit.who} disallows {denied.text}"
    if _keeps_from_servers(limit, call):
        rule = "a stranger's skill gets only those tools of servers and plugins that it names"
        return f"{limit.who} does not name {call.tool}: {rule}"
    if limit.allowed is None or call.tool in limit.own or allows(limit.allowed, call):
        return ""
    meant = [one.text for one in limit.allowed if one.names(call.tool)]
    if meant:
        return f"{limit.who} allows {call.tool} only for {', '.join(meant)}"
    return f"{limit.who} does not allow the tool '{call.tool}'"


def _names_server(pattern: Pattern, tool: str) -> bool:
    """R118: whether an MCP tool is meant by its own name, or by that of its server."""
    plain = pattern.name.removeprefix("mcp__")
    if "*" in plain.removesuffix("__*") or not plain.removesuffix("__*"):
        return False
    whole = plain.endswith("__*") or (plain != pattern.name and "__" not in plain)
    return tool == plain or (whole and tool.startswith(f"{plain.removesuffix('__*')}__"))
