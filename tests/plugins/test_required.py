"""A stage that no turn goes on without is missed, whoever has the id of its plugin now."""

from clawft.config.extensions import PluginsSettings
from clawft.contracts import Phase
from clawft.errors import Diagnostic
from clawft.plugins.notices import find_missing_stages
from clawft.skills.discovery.plugins import DiscoveredPlugin
from clawft.skills.parse.plugin import PluginManifest, StageSpec
from clawft.trust.plugins import PluginGrant, PluginStatus

ID = "org.example.redaction"
GRANT = PluginGrant(ID, "/user/redaction", "1.0.0", "sha256:1", "2026-01-01", stages=("redact",))


def other(*stages: StageSpec) -> PluginStatus:
    """A plugin of a project with the same id, which somebody granted, too."""
    manifest = PluginManifest(id=ID, name="Other", stages=stages)
    return PluginStatus(DiscoveredPlugin("project", "/project/other", manifest=manifest), "ready")


def test_another_plugin_of_its_id_stands_in_for_it_only_with_the_same_stages() -> None:
    problem = Diagnostic("plugin-manifest", "error", "The manifest cannot be read", "/user/redaction")
    broken = PluginStatus(DiscoveredPlugin("user", "/user/redaction", problem=problem), "broken", (problem,))
    same, laxer = (StageSpec("redact", Phase.PRE_TRANSPORT, on_failure) for on_failure in ("stop", "ignore"))
    for stages, missed in (((), True), ((laxer,), True), ((same,), False)):
        found = find_missing_stages([broken, other(*stages)], PluginsSettings(), lambda: [GRANT], ["/user"])
        assert [one.stages for one in found] == ([("redact",)] if missed else [])
