"""The hosts that the program behind one proxy may reach: each request is checked, every decision recorded."""

from collections.abc import Awaitable, Callable

import anyio

from clawft.errors import Refused
from clawft.sandbox.addresses import Resolve, resolve_host
from clawft.sandbox.confinement import HOST_HINT
from clawft.trust.network import WEB_PORTS, HostGrant, PolicyViolation, UrlPolicy, UrlTarget, find_grant

Record = Callable[[str, str, str, str], None]  # (kind, subject, decision, rule)
AskHost = Callable[[UrlTarget], Awaitable[tuple[str, ...]]]  # the hosts that a person agreed to, none for a no
_MAX_QUESTIONS = 20  # in the life of one program
_MAX_DECISIONS = 1000  # different ones, in the life of one program


class HostDenied(Refused):
    """A host that may not be reached. `rule` is what refused it."""

    def __init__(self, rule: str, message: str, *, hint: str = "") -> None:
        super().__init__("host-refused", message, hint=hint)
        self.rule = rule


class HostAccess:
    """The hosts that one program was granted, in front of the URL policy.

    A decision is recorded when it is first made: a program that repeats itself does not fill the log.
    """

    def __init__(
        self,
        hosts: tuple[str, ...],
        policy: UrlPolicy,
        record: Record = lambda *_: None,
        *,
        resolve: Resolve = resolve_host,
        hint: str = HOST_HINT,
        tls_ports: frozenset[int] = WEB_PORTS,
        ask: AskHost | None = None,
    ) -> None:
        """`ask` puts a host that was not granted to a person; without it such a host is refused at once."""
        self._hosts = hosts
        self._ask = ask
        self._agreed: tuple[str, ...] = ()
        self._asked: set[str] = set()
        self._asking = anyio.Lock()
        self._record = record
        self._hint = hint
        self._reported: set[tuple[str, str, str]] = set()
        self.policy = policy
        self.resolve = resolve
        self.tls_ports = tls_ports  # where a tunnel carries TLS and nothing else

    @property
    def has_grants(self) -> bool:
        """Return whether any host was granted from the start."""
        return bool(self._hosts)

    async def admit_or_ask(self, target: UrlTarget) -> HostGrant:
        """Return the grant as `admit` does, after a question where there is none yet. Raises: HostDenied."""
        try:
            return self.admit(target)
        except HostDenied as denied:
            if denied.rule != "not-granted" or self._ask is None:
                raise
            try:
                self.policy.read_allowed(target.url)
            except PolicyViolation as error:
                raise deny(error) from error
            if grant := await self._find_agreed(target, self._ask):
                return grant
            raise

    async def _find_agreed(self, target: UrlTarget, ask: AskHost) -> HostGrant | None:
        """Find the grant that a person gave, who is asked once about a host."""
        host, port, subject = target.host, target.connect_port, subject_of(target)
        if grant := find_grant(host, port, self._agreed):
            return grant
        async with self._asking:
            if subject not in self._asked and len(self._asked) < _MAX_QUESTIONS:
                if grant := find_grant(host, port, self._agreed):
                    return grant
                self._asked.add(subject)
                self._agreed += await ask(target)
            return find_grant(host, port, self._agreed)

    def admit(self, target: UrlTarget) -> HostGrant:
        """The grant under which a host may be reached, as far as its name tells. Raises: Denied."""
        if len(self._reported) >= _MAX_DECISIONS:
            raise HostDenied("too-many-hosts", f"This program asked for more than {_MAX_DECISIONS} hosts")
        grant = find_grant(target.host, target.connect_port, self._hosts)
        if grant is None:
            message = "The host is not among those that this program may reach"
            raise HostDenied("not-granted", message, hint=self._hint.replace("{host}", _grant_of(target)))
        try:
            self.policy.read_allowed(target.url)
        except PolicyViolation as error:
            raise deny(error) from error
        return grant

    def note(self, subject: str, decision: str, rule: str) -> None:
        """Record a decision, if it is a new one; when there are too many, that all others are refused."""
        if (subject, decision, rule) in self._reported or len(self._reported) > _MAX_DECISIONS:
            return
        if len(self._reported) == _MAX_DECISIONS:
            subject, decision, rule = "all further hosts", "deny", "too-many-hosts"
        self._reported.add((subject, decision, rule))
        self._record("url", subject, decision, rule)


def deny(refused: Refused) -> HostDenied:
    """Return a refusal by the URL policy or the audit log as a HostDenied."""
    return HostDenied(refused.code, str(refused), hint=refused.hint)


def subject_of(target: UrlTarget) -> str:
    """Return the host and port that a record names."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"{host}:{target.connect_port}"


def _grant_of(target: UrlTarget) -> str:
    """Return the grant that a target would need."""
    return target.host if target.connect_port in WEB_PORTS and ":" not in target.host else subject_of(target)
