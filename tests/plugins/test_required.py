"""A stage that no turn goes on without is missed, whoever has the id of its plugin now."""

from clawft.config.plugins import PluginsSettings
from clawft.contracts import Phase
from clawft.discovery.plugins import FoundPlugin
from clawft.errors import Diagnostic
from clawft.format.plugin import PluginManifest, StageSpec
from clawft.plugins.required import find_missing
from clawft.trust.plugins import PluginGrant, PluginStanding

ID = "org.example.redaction"
GRANT = PluginGrant(ID, "/user/redaction", "1.0.0", "sha256:1", "2026-01-01", stages=("redact",))


def other(*stages: StageSpec) -> PluginStanding:
    """A plugin of a project with the same id, which somebody granted, too."""
    manifest = PluginManifest(id=ID, name="Other", stages=stages)
    return PluginStanding(FoundPlugin("project", "/project/other", manifest=manifest), "ready")


def test_another_plugin_of_its_id_stands_in_for_it_only_with_the_same_stages() -> None:
    problem = Diagnostic("plugin-manifest", "error", "The manifest cannot be read", "/user/redaction")
    broken = PluginStanding(FoundPlugin("user", "/user/redaction", problem=problem), "broken", (problem,))
    same, laxer = (StageSpec("redact", Phase.PRE_TRANSPORT, on_failure) for on_failure in ("stop", "ignore"))
    for stages, missed in (((), True), ((laxer,), True), ((same,), False)):
        found = find_missing([broken, other(*stages)], PluginsSettings(), lambda: [GRANT], ["/user"])
        assert [one.stages for one in found] == ([("redact",)] if missed else [])
