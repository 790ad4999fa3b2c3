"""What is written down of plugins, and told: that each was started, what it got, and what goes wrong with it."""

from collections.abc import Mapping
from typing import Any

from clawft.config.plugins import PluginsSettings
from clawft.errors import ClawftError, Diagnostic
from clawft.plugins.given import note_given
from clawft.plugins.log import PluginLog, log_path
from clawft.plugins.running import Around
from clawft.trust.plugins import PluginStanding

__all__ = ["Notes"]


class Notes:
    """Lines of the audit log and of the plugins' own, and news for people: each thing once."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._news: list[Diagnostic] = []
        self._told: set[tuple[str, str]] = set()

    def take(self) -> list[Diagnostic]:
        """The news since this was last asked."""
        news, self._news = self._news, []
        return news

    def start(
        self,
        standing: PluginStanding,
        settings: PluginsSettings,
        given: tuple[Mapping[str, Any], Mapping[str, str]],
    ) -> None:
        """Before a plugin is started with these settings and variables. Raises: Refused if it cannot be written."""
        grant = standing.grant
        assert grant is not None
        detail = {"version": grant.version, "place": grant.folder, "permissions": _describe(standing)}
        self._around.audit.write(
            "plugin", standing.id, decision="allow", rule="granted", digest=grant.digest, detail=detail
        )
        note_given(standing, settings, given, self._around.secrets, self._around.audit)

    def fail(self, standing: PluginStanding, error: ClawftError) -> None:
        """People hear of each kind of failure once, the logs of all."""
        digest = standing.grant.digest if standing.grant else ""
        detail = {"message": str(error)[:500]}
        self._around.audit.tell("plugin", standing.id, decision="failed", rule=error.code, digest=digest, detail=detail)
        place = self._around.workspace
        path = log_path(place.user_dir, standing.id)
        PluginLog(path, self._around.secrets.mask).say(f"{error.code}: {error}")
        self.announce(standing, error.code, str(error), error.hint or f"See {place.shorten(path)}")

    def announce(self, standing: PluginStanding, code: str, message: str, hint: str = "") -> None:
        """Tell people something of a plugin, if it is new."""
        if (standing.id, code) not in self._told:
            self._told.add((standing.id, code))
            said = f"The plugin '{standing.id}': {message}"
            self._news.append(Diagnostic(code, "warning", said, standing.found.file, 0, hint))


def _describe(standing: PluginStanding) -> dict[str, Any]:
    one = standing.permissions
    named = {"filesystem": one.filesystem, "network": one.network, "env_vars": one.env_vars}
    return {**{name: list(value) for name, value in named.items() if value}, "shell": one.shell}
