"""Plugins: which may be used, what keeps the others from it, and what they need."""

from collections.abc import Iterator, Sequence

from clawft.app import App
from clawft.cli.doctor.check import Check, quote
from clawft.trust.plugins import PluginStanding

__all__ = ["check_plugins"]

_NAME = "plugins"


def check_plugins(app: App) -> Iterator[Check]:
    """What is ready, broken, waits, or lacks an optional part. Without any there is nothing to say."""
    from clawft.plugging import load_missing, load_plugin_standings, plugin_settings

    standings = load_plugin_standings(app)
    for missing in load_missing(app, standings, plugin_settings(app)):
        message = f"{missing.plugin} cannot be asked: {missing.why}"
        why = f"no turn goes on without its stage {', '.join(missing.stages)}"
        yield Check(_NAME, "problem", message, why=why, fix=f"weft plugins disable {quote(missing.plugin)}")
    ready = [one for one in standings if one.state == "ready"]
    if ready:
        yield Check(_NAME, "ok", f"{len(ready)} ready")
        yield from _check_variables(app, ready)
    lacking = [one for one in standings if one.reasons and one.reasons[0].code == "wasm-missing"]
    yield from _tell_lacking(lacking)
    for one in standings:
        if one.state in ("broken", "ineligible") and one not in lacking:
            said = one.reasons[0].message if one.reasons else one.state
            message = f"{one.id} is {one.state}: {said}"
            fix = f"weft plugins show {quote(one.id)}"
            yield Check(_NAME, "note", message, why="nothing of it is used", fix=fix)
    waiting = [one for one in standings if one.state == "untrusted"]
    changed = [one for one in waiting if one.reasons and "was granted" in one.reasons[0].message]
    yield from _tell_waiting([one for one in waiting if one not in changed], "wait", "to be granted something")
    yield from _tell_waiting(changed, "changed", "since granted")


def _tell_waiting(standings: Sequence[PluginStanding], verb: str, what: str) -> Iterator[Check]:
    if not standings:
        return
    some = ", ".join(one.id for one in standings[:3]) + (" and more" if len(standings) > 3 else "")
    one = len(standings) == 1
    said = f"{verb}{'s' * (one and verb == 'wait')}"
    message = f"{len(standings)} plugin{'s' * (not one)} {said} {what}: {some}"
    why = "nothing of a plugin is used until somebody looked at it as it is"
    yield Check(_NAME, "note", message, why=why, fix=f"weft plugins enable {quote(standings[0].id)}")


def _check_variables(app: App, ready: Sequence[PluginStanding]) -> Iterator[Check]:
    """Whether there is a value for each variable that was granted."""
    from clawft.cli.plugins._variables import find_missing, find_owner

    for one in ready:
        missing = find_missing(app, one)
        if missing:
            message = (
                f"{one.id} was granted {', '.join(missing)}, which {'has' if len(missing) == 1 else 'have'} no value"
            )
            yield Check(_NAME, "note", message, why="it may need it", fix=find_owner(one).command(missing[0]))


def _tell_lacking(standings: Sequence[PluginStanding]) -> Iterator[Check]:
    """Plugins in WebAssembly, where that cannot be run."""
    if standings:
        why = f"{len(standings)} plugin{'s are' if len(standings) != 1 else ' is'} not used"
        message = "The optional part 'wasm' is not installed"
        yield Check(_NAME, "note", message, why=why, fix="pip install 'clawft[wasm]'")
