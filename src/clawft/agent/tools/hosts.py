"""Questions about hosts that a command reaches for: one for a host, and one for all hosts that packages come from."""

from msgspec import Struct

from clawft.agent.tools.tool import ToolContext, ToolError
from clawft.sandbox.process import PausableClock
from clawft.trust.network import WEB_PORTS, UrlTarget

_MAX_SHOWN = 200


class _Registry(Struct, frozen=True):
    packages: str
    names: str

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(".".join(reversed(name.split("."))) for name in self.names.split())


# The hosts that installers load packages from, written from the top down: no file of this repository may name an index
# in a way that an installer of ours would take up.
_REGISTRIES = (
    _Registry("npm packages", "org.npmjs.registry com.yarnpkg.registry"),
    _Registry("Python packages", "org.pypi org.pythonhosted.files"),
    _Registry("Rust crates", "io.crates.index io.crates.static io.crates"),
    _Registry("Go modules", "org.golang.proxy org.golang.sum"),
    _Registry("Ruby gems", "org.rubygems org.rubygems.index"),
    _Registry("PHP packages", "org.packagist.repo org.packagist"),
    _Registry("Maven packages", "org.apache.maven.repo org.maven.repo1"),
    _Registry("Conda packages", "org.anaconda.conda com.anaconda.repo"),
    _Registry("Deno packages", "io.jsr io.jsr.npm"),
)


class HostQuestions:
    """Asks about the hosts of one command. `clock` stops the time of the command while a person thinks."""

    def __init__(self, context: ToolContext, command: str) -> None:
        self.clock = PausableClock()
        self._context = context
        self._command = command if len(command) <= _MAX_SHOWN else f"{command[:_MAX_SHOWN]}…"

    async def __call__(self, target: UrlTarget) -> tuple[str, ...]:
        """Return the hosts that a person agreed to; none for a no, and where a rule denies it."""
        decision = self._context.permission.decide("web_fetch", {"url": target.url})
        if decision.decision == "deny":
            return ()
        registry = _find_registry(target)
        hosts = registry.hosts if registry else (_name(target),)
        asked = f"fetch {registry.packages} from {hosts[0]}" if registry else f"reach {hosts[0]}"
        skills = ", ".join(self._context.hosts.skills)
        reason = f"wanted by: {self._command}" + (f" (skills in use: {skills})" if skills else "")
        try:
            with self.clock.stopped():
                return hosts if await self._context.ask_host(f"Let commands {asked}", reason) else ()
        except ToolError:  # in this mode nothing is asked
            return ()


def _find_registry(target: UrlTarget) -> _Registry | None:
    if target.connect_port != 443:
        return None
    return next((registry for registry in _REGISTRIES if target.host in registry.hosts), None)


def _name(target: UrlTarget) -> str:
    """The host as a grant names it."""
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host if target.connect_port in WEB_PORTS and ":" not in host else f"{host}:{target.connect_port}"
