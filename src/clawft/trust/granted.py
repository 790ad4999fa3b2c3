"""Which hosts a program may reach: those that the user's rules allow, and those that skills were approved with."""

from collections.abc import Iterable, Sequence

from clawft.errors import ClawftError
from clawft.trust.hosts import find_grant, parse_grant
from clawft.trust.patterns import Hosts, Pattern
from clawft.trust.rules import Rule, Rules

__all__ = ["granted_hosts"]

_TOOL = "web_fetch"


def granted_hosts(rules: Rules, approved: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Grants for the proxy. `approved` has what each active skill of a stranger was approved with: where several are
    at work, a host must be among those of each. What a rule denies, or wants asked, is taken away: nobody is asked.
    """
    allowed = [*_written(rules.allow), *_shared(approved)]
    taken = [f"!{one}" for one in _written((*rules.deny, *rules.ask))]
    return (*taken, *dict.fromkeys(allowed)) if allowed else ()


def _written(rules: Iterable[Rule]) -> list[str]:
    return [text for one in rules if (text := _host_of(one.pattern, certain=one.kind == "allow"))]


def _host_of(pattern: Pattern, *, certain: bool) -> str:
    """The host that a pattern speaks of; `*` for all, which is also what a prohibition nobody understands means."""
    if not pattern.names(_TOOL):
        return ""
    if pattern.problem:
        return "" if certain else "*"
    return pattern.matcher.grant.text if isinstance(pattern.matcher, Hosts) else "*"


def _shared(approved: Sequence[Sequence[str]]) -> list[str]:
    if not approved:
        return []
    first, *others = approved
    return [host for host in first if _is_exact(host) and all(_covers(one, host) for one in others)]


def _is_exact(text: str) -> bool:
    try:
        return not parse_grant(text).subdomains
    except ClawftError:
        return False


def _covers(hosts: Sequence[str], text: str) -> bool:
    grant = parse_grant(text)
    return find_grant(grant.host, grant.port or 443, hosts) is not None
