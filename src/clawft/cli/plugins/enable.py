"""`weft plugins enable ID`: a plugin is looked at, granted what it asks for, and put into use."""

import click

from clawft.app import App
from clawft.cli._complete import complete_plugins
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import say, show_diagnostic
from clawft.cli.plugins._asking import ask_each, from_keys
from clawft.cli.plugins._entries import judge_enabled, tell, write_enabled
from clawft.cli.plugins._json import permissions_json
from clawft.cli.plugins._review import finds_lines, plugin_review_json, plugin_review_lines
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic
from clawft.plugging import find_plugin, grant_plugin, load_plugin_contents, load_plugin_standings, open_plugin_desk
from clawft.trust.plugin_fit import check_fit
from clawft.trust.plugin_review import PluginReview, broken
from clawft.trust.plugins import PluginStanding

__all__ = ["command", "enable_plugins"]


@click.command("enable")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", shell_complete=complete_plugins)
@click.option("--yes", "-y", is_flag=True, help="Grant what it asks for without being asked.")
@click.option("--choose", is_flag=True, help="Be asked about each thing that it asks for; less can be granted.")
@format_option
def command(ids: tuple[str, ...], yes: bool, choose: bool, output: str) -> int:
    """Look at plugins, grant them what they ask for, and put them into use.

    You are shown what each brings, what it asks for, what the scanner says of all its files, and what changed since
    you last granted it something. It is bound to the version and to every file: a plugin that changes waits again.
    """
    if yes and choose:
        raise click.UsageError("Say one of: --yes, --choose")
    app = open_here()
    standings = load_plugin_standings(app)
    return enable_plugins(app, [find_plugin(standings, one) for one in ids], yes=yes, choose=choose, output=output)


def enable_plugins(app: App, chosen: list[PluginStanding], *, yes: bool, choose: bool = False, output: str) -> int:
    """Have a person look at plugins and say yes to them; the exit code. Raises: ClawftError."""
    as_if = judge_enabled(app, chosen)  # what else stands in the way is looked at before anything is written
    for one in as_if:
        _check(one)
    desk = open_plugin_desk(app)
    reviews = {one.found.folder: desk.review(one.found) for one in as_if if one.state == "untrusted"}
    refused = {place for place, one in reviews.items() if not _agree(app, one, yes=yes, choose=choose, output=output)}
    taken = [one for one in as_if if one.found.folder not in refused]
    granted = [reviews[one.found.folder] for one in taken if one.found.folder in reviews]
    told = []
    for review in granted:
        picked = _choose(app, review) if choose else review.offered
        for problem in grant_plugin(app, review, picked):
            show_diagnostic(problem, where=app.workspace.shorten(problem.where))
        told.append(plugin_review_json(review) | {"granted": permissions_json(picked)})
    if not taken:
        say("Nothing was granted")
        return 1
    edited = write_enabled(app, [one.id for one in taken], enabled=True)
    now = tell(taken, edited, output, granted=told)
    return 1 if refused or any(one.state != "ready" for one in now) else 0


def _check(standing: PluginStanding) -> None:
    """Raises: ClawftError for a plugin that cannot be put into use."""
    if standing.state == "broken":
        raise broken(standing.found)
    if standing.state == "shadowed":
        why = f": {standing.reasons[0].message}" if standing.reasons else ""
        raise ClawftError("plugin-shadowed", f"The plugin '{standing.id}' is shadowed{why}", path=standing.found.folder)


def _choose(app: App, review: PluginReview) -> Permissions:
    """What a person grants of what it asks for."""
    if review.asked == Permissions():
        return review.asked
    return from_keys(ask_each(review.found.id, review.asked, review.offered, app.workspace))


def _check_review(app: App, review: PluginReview) -> list[Diagnostic]:
    """What a person is to know before they say yes: what its manifest says in vain, and what it would lack here."""
    assert review.found.manifest is not None
    fit = check_fit(review.found, review.offered, app.workspace, app.config.tools.web)
    return [*review.found.manifest.diagnostics, *fit]


def _agree(app: App, review: PluginReview, *, yes: bool, choose: bool, output: str) -> bool:
    """Show it, and ask; what somebody, or nobody, said no to is written down. Raises: Refused."""
    if output == "table" or not yes:  # nobody is asked about what they did not see
        lines = plugin_review_lines(review, load_plugin_contents(app, review.found), app.workspace.shorten)
        for line in (*lines, *finds_lines(app, review)):
            say(line)
        for problem in _check_review(app, review):
            show_diagnostic(problem, where="")
    agreed = yes
    try:
        what = "some of what" if choose else "what"
        question = f"Grant {review.found.id} {what} it asks for, and put it into use?"
        agreed = yes or confirm(question, "To grant a plugin something", "Look at it, then pass --yes")
    finally:
        if not agreed:
            open_plugin_desk(app).refuse(review)
    return agreed
