"""Permission for a tool call: the user's rules, the limits of agents and skills, and the decision from all of them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from clawft.config import Config
from clawft.config.tools import KINDS, RuleKind
from clawft.errors import ClawftError, Diagnostic
from clawft.files import is_within, real_path
from clawft.git import find_git_root, list_tracked
from clawft.scanner.findings import Power
from clawft.skills.parse.model import Skill
from clawft.trust.command_patterns import CommandPatterns, explain_doubt, find_shown
from clawft.trust.modes import Mode
from clawft.trust.network import find_grant, parse_grant
from clawft.trust.path_patterns import CheckedCall, DeniedPaths, PathPattern, PatternRoots
from clawft.trust.patterns import (
    READERS,
    HostPattern,
    ToolPattern,
    allows,
    find_touching,
    parse_pattern,
    parse_patterns,
    pattern_folders,
)
from clawft.workspace import Workspace


class ActiveSkill(Struct, frozen=True, forbid_unknown_fields=True):
    """A skill whose text a model follows, reduced to what affects permissions: its tool patterns as they are written,
    the folder that they refer to, and the hosts that an untrusted skill was approved with.

    It is a value without the skill: it limits a fork in another process as it does here.
    """

    name: str
    digest: str
    folder: str  # '' for a command, which has no files of its own
    allowed_tools: tuple[str, ...]
    disallowed_tools: tuple[str, ...]
    is_untrusted: bool = field(name="stranger")
    hosts: tuple[str, ...]


class UsableSkill(Struct, frozen=True):
    """A skill that may be used. `granted` is the access that the user saw when they approved an untrusted skill; None
    for one of their own."""

    skill: Skill
    digest: str
    is_untrusted: bool = False
    granted: Power | None = None

    def at_work(self, folder: str) -> ActiveSkill:
        """Return the skill's effect on calls while its text is followed."""
        skill, hosts = self.skill, self.granted.network if self.granted else ()
        return ActiveSkill(
            skill.name, self.digest, folder, skill.allowed_tools, skill.disallowed_tools, self.is_untrusted, hosts
        )


class PermissionRule(Struct, frozen=True):
    kind: RuleKind
    pattern: ToolPattern
    source: str = ""

    @property
    def name(self) -> str:
        """The rule as a refusal and the audit log name it."""
        return f"rule {self.kind} {self.pattern.text} in [permissions]"


class PermissionRules(Struct, frozen=True):
    """All rules of a session."""

    deny: tuple[PermissionRule, ...] = ()
    ask: tuple[PermissionRule, ...] = ()
    allow: tuple[PermissionRule, ...] = ()

    @property
    def all(self) -> tuple[PermissionRule, ...]:
        """Every rule, the strongest first."""
        return (*self.deny, *self.ask, *self.allow)

    def find(self, call: CheckedCall) -> PermissionRule | None:
        """The rule that decides about a call; None if none does."""
        for rule in (*self.deny, *self.ask):
            if rule.pattern.touches(call):
                return rule
        if allows((allow_rule.pattern for allow_rule in self.allow), call):
            return next((allow_rule for allow_rule in self.allow if allow_rule.pattern.touches(call)), None)
        return None

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Rules that are not understood, and what becomes of them."""
        effects = {
            "allow": "it allows nothing",
            "ask": "the whole tool is asked for",
            "deny": "the whole tool is denied",
        }
        return tuple(
            Diagnostic(
                "tool-pattern",
                "warning",
                f"permissions.{rule.kind}: '{rule.pattern.text}' is not understood: {rule.pattern.problem};"
                f" {effects[rule.kind]}",
                rule.source,
            )
            for rule in self.all
            if rule.pattern.problem
        )


def load_rules(config: Config, project: str) -> PermissionRules:
    """The rules of a config, ready to judge."""
    folders = pattern_folders(project)
    return PermissionRules(
        *(
            tuple(PermissionRule(kind, parse_pattern(text, folders), source) for text, source in _list(config, kind))
            for kind in KINDS
        )
    )


def _list(config: Config, kind: RuleKind) -> Iterator[tuple[str, str]]:
    """Yield every rule with where it stands: files do not replace each other's, they add to them."""
    for layer in config.layers:
        section = layer.values.get("permissions", {})
        texts = section.get(kind, ()) if isinstance(section, dict) else ()
        for text in texts if isinstance(texts, list | tuple) else ():
            yield str(text), layer.source


def check_tracked(rules: Iterable[PermissionRule], workspace: Workspace) -> Iterator[Diagnostic]:
    """Name the rules that deny to read what git tracks: its objects hold that too, and no sandbox can hide it there."""
    closed = [(rule, rule.pattern.matcher) for rule in rules if rule.kind == "deny" and rule.pattern.names("read_file")]
    closed = [(rule, paths) for rule, paths in closed if isinstance(paths, PathPattern)]
    root = find_git_root(workspace.project) if closed else None
    tracked = [os.path.join(root, entry.path) for entry in list_tracked(root)] if root else []
    where = PatternRoots(workspace.project, workspace.project, workspace.home)
    for rule, paths in closed:
        meant = [path for path in tracked if isinstance(paths, PathPattern) and paths.forbids(path, where)]
        if meant:
            first = os.path.relpath(meant[0], workspace.project)
            some = first if len(meant) == 1 else f"{first} and {len(meant) - 1} more"
            count = f"{len(meant)} file{'s' * (len(meant) > 1)}"
            yield Diagnostic(
                "rule-tracked",
                "warning",
                f"{rule.pattern.text} denies to read {count} that git tracks: {some}. Commands can read tracked files "
                "from git's objects",
                rule.source,
                hint="Git commands that may show them ask first. To hide a file, take it out of git's history",
            )


_TOOL = "web_fetch"


def list_granted_hosts(rules: PermissionRules, approved: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """List the grants for the proxy. `approved` has what each active untrusted skill was approved with: where several
    are active, a host must be among those of each. What a rule denies, or wants asked, is taken away: nobody is asked.
    """
    allowed = [*_written(rules.allow), *_shared(approved)]
    taken = [f"!{host}" for host in _written((*rules.deny, *rules.ask))]
    return (*taken, *dict.fromkeys(allowed)) if allowed else ()


def _written(rules: Iterable[PermissionRule]) -> list[str]:
    return [text for rule in rules if (text := _host_of(rule.pattern, certain=rule.kind == "allow"))]


def _host_of(pattern: ToolPattern, *, certain: bool) -> str:
    """The host that a pattern speaks of; `*` for all, which is also what a prohibition nobody understands means."""
    if not pattern.names(_TOOL):
        return ""
    if pattern.problem:
        return "" if certain else "*"
    return pattern.matcher.grant.text if isinstance(pattern.matcher, HostPattern) else "*"


def _shared(approved: Sequence[Sequence[str]]) -> list[str]:
    if not approved:
        return []
    first, *others = approved
    return [host for host in first if _is_exact(host) and all(_covers(other, host) for other in others)]


def _is_exact(text: str) -> bool:
    try:
        return not parse_grant(text).subdomains
    except ClawftError:
        return False


def _covers(hosts: Sequence[str], text: str) -> bool:
    grant = parse_grant(text)
    return find_grant(grant.host, grant.port or 443, hosts) is not None


class ToolDecision(Struct, frozen=True):
    """`rule` names exactly what decided. `pass` leaves it to the tool; `allow` also answers what the tool asks."""

    decision: Literal["allow", "ask", "deny", "pass"]
    rule: str = ""
    hint: str = ""


class ToolLimit(Struct, frozen=True):
    """A limit that an agent or a skill puts on the session's tools. `allowed` None allows all."""

    who: str  # the skill 'x'
    allowed: tuple[ToolPattern, ...] | None = None
    denied: tuple[ToolPattern, ...] = ()
    is_untrusted: bool = False  # gets tools of MCP servers and plugins only if it names them
    named: tuple[ToolPattern, ...] = ()  # what it names of them
    own: frozenset[str] = frozenset()  # tools that it brought along itself
    reads: tuple[str, ...] = ()  # folders that may be read where the list of allowed tools says nothing of reading
    hosts: tuple[str, ...] | None = None  # those that an untrusted skill was approved with; None for the user's own

    @property
    def until(self) -> str:
        """The duration of a limit, as text: a skill's list holds until the person's next message; an agent's for as
        long as it is active, which is ''."""
        return "; this holds until the person's next message" if self.who.startswith("the skill") else ""


class CallAuthority(Struct, frozen=True):
    """Everything that decides about a call: the session's mode and rules, and the limits of the agents and skills
    active in it."""

    mode: Mode = Mode.AUTO_EDIT
    rules: PermissionRules = PermissionRules()
    limits: tuple[ToolLimit, ...] = ()
    # Of texts that the model has read and that are not the user's own: they ask about more than was granted.
    read_limits: tuple[ToolLimit, ...] = ()


def make_limit(
    who: str,
    allowed: Sequence[str] | None,
    denied: Sequence[str] = (),
    *,
    folders: Mapping[str, str] | None = None,
    untrusted: bool = False,
    own: frozenset[str] = frozenset(),
) -> ToolLimit:
    """Make a limit from patterns as they are written; `folders` are the values of their variables."""
    parsed = None if allowed is None else parse_patterns(allowed, folders)
    return ToolLimit(who, parsed, parse_patterns(denied, folders), untrusted, parsed or (), own)


def limit_servers(who: str, allowed: Sequence[str]) -> ToolLimit:
    """Return the limit of an untrusted skill whose text is in the prompt from the start: it binds MCP tools alone."""
    return ToolLimit(who, is_untrusted=True, named=parse_patterns(allowed))


def limit_read_text(who: str, hosts: Sequence[str], tools: Sequence[str] | None) -> ToolLimit:
    """The limit of a text that was read before: it forbids nothing. `tools` None leaves all tools of servers."""
    return ToolLimit(who, is_untrusted=tools is not None, named=parse_patterns(tools or ()), hosts=tuple(hosts))


def decide_call(call: CheckedCall, authority: CallAuthority) -> ToolDecision:
    """Judge a call by all that bears on it; the first that refuses is named."""
    doubt = ""
    for limit in authority.limits:
        if objection := _object(limit, call):
            if not _is_unread(limit, call):
                return ToolDecision("deny", objection, f"Do without it{limit.until}")
            doubt = doubt or f"{objection}: {call.shell.unread}"
    rule = authority.rules.find(call)
    if rule is not None and rule.kind == "deny":
        return ToolDecision("deny", rule.name, f"See: weft permissions list ({rule.source})" if rule.source else "")
    by_mode = _judge_by_mode(call, authority.mode)
    if by_mode.decision == "deny":
        return by_mode
    if call.tool == "exec_shell" and (shown := find_shown(find_closed(authority), call)):
        return ToolDecision("ask", f"'{shown}' may show from git's objects what a rule denies to read")
    if call.tool == "exec_shell" and (doubt := doubt or _find_doubt(call, authority)):
        return ToolDecision("ask", doubt)
    limits = (*authority.limits, *authority.read_limits)
    if (rule is None or rule.kind == "ask") and (unapproved := _find_unapproved(call, limits)):
        return ToolDecision("ask", unapproved)
    if rule is not None and rule.kind == "ask" and authority.mode is not Mode.FULL:
        return ToolDecision("ask", rule.name)
    if rule is not None and rule.kind == "allow":
        return ToolDecision("allow", rule.name)
    return by_mode


def _is_unread(limit: ToolLimit, call: CheckedCall) -> bool:
    """Return whether nobody can tell if the commands of a text are those that an agent or a skill may run."""
    may_run = limit.allowed is None or any(pattern.names("exec_shell") for pattern in limit.allowed)
    is_shell = call.tool == "exec_shell" and bool(call.shell.unread)
    return is_shell and may_run and find_touching(limit.denied, call) is None


def _find_doubt(call: CheckedCall, authority: CallAuthority) -> str:
    """Return why a person is asked about a text of which nobody can tell whether something that forbids applies to
    it."""
    rules = authority.rules.deny if authority.mode is Mode.FULL else (*authority.rules.deny, *authority.rules.ask)
    patterns = [*(rule.pattern for rule in rules), *(pattern for limit in authority.limits for pattern in limit.denied)]
    pattern = next((candidate for candidate in patterns if isinstance(candidate.matcher, CommandPatterns)), None)
    doubt = explain_doubt(call.shell) if pattern is not None else ""
    return f"{doubt}, so nobody can tell whether '{pattern.text}' applies" if pattern is not None and doubt else ""


def find_closed(authority: CallAuthority, tool: str = "read_file") -> list[PathPattern]:
    """The paths that a rule, an agent or a skill forbids to read, or to a tool that writes."""
    denied = [rule.pattern for rule in authority.rules.deny]
    denied += [pattern for limit in authority.limits for pattern in limit.denied]
    return [pattern.matcher for pattern in denied if isinstance(pattern.matcher, PathPattern) and pattern.names(tool)]


def find_denied_paths(authority: CallAuthority, where: PatternRoots) -> DeniedPaths:
    """Find the paths that are closed to tools and commands alike."""
    return DeniedPaths(find_closed(authority), find_closed(authority, "write_file"), where)


def _judge_by_mode(call: CheckedCall, mode: Mode) -> ToolDecision:
    name, looks = f"mode {mode}", call.traits.read_only or call.traits.judges_itself
    if mode is Mode.PLAN and not looks:
        return ToolDecision("deny", name, "A person can choose another: /mode, or --mode")
    if mode is Mode.ASK and (not looks or call.traits.fetches):
        return ToolDecision("ask", name)
    return ToolDecision("allow", name) if mode is Mode.FULL else ToolDecision("pass", name)


def _find_unapproved(call: CheckedCall, limits: Sequence[ToolLimit]) -> str:
    """Return why a person is asked, in every mode; '' if they are not. The model has read a text that is not the user's
    own, and that was not approved for the host of a fetch, does not name the tool of a server, or would be part of
    every later conversation."""
    target = call.target if call.traits.fetches else None
    for limit in limits:
        if limit.hosts is not None and call.traits.lasts:
            return f"every later conversation would hear it, and {limit.who} is a stranger's"
        if target and limit.hosts is not None and not find_grant(target.host, target.connect_port, limit.hosts):
            return f"{limit.who} was not approved for the host '{target.host}'"
        if _keeps_from_servers(limit, call):
            return f"{limit.who} does not name {call.tool}, and its text is in this conversation"
    return ""


def _keeps_from_servers(limit: ToolLimit, call: CheckedCall) -> bool:
    """Return whether a tool of a server or a plugin is none that a skill names which is not the user's own."""
    return (
        call.traits.server
        and limit.is_untrusted
        and not any(_names_server(pattern, call.tool) for pattern in limit.named)
    )


def _object(limit: ToolLimit, call: CheckedCall) -> str:
    """Return why an agent or a skill may not make a call, or ''. A skill that says nothing of reading may read the
    project and its own folder."""
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
    meant = [pattern.text for pattern in limit.allowed if pattern.names(call.tool)]
    if not meant and _reads_within(call, limit.reads):
        return ""
    if meant:
        return f"{limit.who} allows {call.tool} only for {', '.join(meant)}"
    return f"{limit.who} does not allow the tool '{call.tool}'"


def _reads_within(call: CheckedCall, folders: Sequence[str]) -> bool:
    """Return whether a call only reads, and only in one of the folders."""
    real = call.path[1] if call.tool in READERS else ""
    return bool(real) and any(is_within(real, real_path(folder)) for folder in folders)


def may_offer(limit: ToolLimit, tool: str) -> bool:
    """Return whether a limit leaves anything of a tool, so that a model is offered it."""
    if tool == "skill_read":
        return True
    if any(pattern.names(tool) and (pattern.problem or pattern.matcher is None) for pattern in limit.denied):
        return False
    if limit.allowed is None or tool in limit.own or (limit.reads and tool in READERS):
        return True
    return any(pattern.names(tool) and not pattern.problem for pattern in limit.allowed)


def _names_server(pattern: ToolPattern, tool: str) -> bool:
    """Return whether a pattern means an MCP tool by the tool's own name, or by that of its server."""
    plain = pattern.name.removeprefix("mcp__")
    if "*" in plain.removesuffix("__*") or not plain.removesuffix("__*"):
        return False
    whole = plain.endswith("__*") or (plain != pattern.name and "__" not in plain)
    return tool == plain or (whole and tool.startswith(f"{plain.removesuffix('__*')}__"))
