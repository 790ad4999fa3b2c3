"""`weft plugins enable` and `disable`: review plugins, grant permissions, and turn them on or off."""

import os
from collections.abc import Callable
from typing import Any

import click
from msgspec import structs

from clawft.app.app import App
from clawft.app.plugin_grants import grant_plugin, open_plugin_review, revoke_plugin
from clawft.app.plugins import find_plugin, load_plugin_contents, load_plugin_statuses, open_grants
from clawft.cli.completion import complete_plugins
from clawft.cli.options import format_option, open_here
from clawft.cli.output import CommandResult, is_json_asked, one_line, say, say_lines, show_diagnostics
from clawft.cli.plugins.description import (
    permission_lines,
    permissions_json,
    render_contents,
    render_kind,
    render_no_permissions,
)
from clawft.cli.plugins.grant import ask_each, from_keys
from clawft.cli.plugins.list import load_missing_plugins
from clawft.cli.plugins.settings import load_as_enabled, report_plugin_changes, write_enabled
from clawft.cli.prompts import confirm
from clawft.cli.review import review_lines
from clawft.contracts import Permissions
from clawft.errors import ClawftError, Diagnostic, NotFound
from clawft.server.views.review import review_json
from clawft.skills.discovery.plugins import PluginContents
from clawft.trust.permissions import load_rules
from clawft.trust.plugin_review import PluginReview, make_broken_error
from clawft.trust.plugins import PluginStatus, check_fit, list_granted

_SAME = "What its files would use: "  # what it asks for is said apart


def plugin_review_lines(review: PluginReview, contents: PluginContents, shorten: Callable[[str], str]) -> list[str]:
    """Render a plugin, what it brings and asks for, the scanner's verdict, and what is new since it was last
    granted."""
    found, manifest = review.found, review.found.manifest
    assert manifest is not None
    head, *rest = (line for line in review_lines(review, shorten) if not line.startswith("Would use: nothing"))
    rest = [_SAME + line.removeprefix("Power: ") if line.startswith("Power: ") else line for line in rest]
    about = [rest.pop(0)] if manifest.description else []
    before = review.grant.version if review.grant else ""
    version = f"{before} → {manifest.version}" if before not in ("", manifest.version) else manifest.version
    author = [f"By: {one_line(manifest.author)}, as it says"] if manifest.author else []
    return [
        head,
        *about,
        f"Version: {one_line(version)}",
        *author,
        f"Runs: {render_kind(found)}",
        *render_contents(manifest, contents),
        *render_requested_permissions(review),
        *rest,
    ]


def render_existing_data(app: App, review: PluginReview) -> list[str]:
    """Render existing settings, data and rules that the plugin would get.

    They may come from another plugin with the same ID and a different author.
    """
    entry = app.own_config.plugins.entries.get(review.found.id)
    data = os.path.join(app.workspace.user_dir, "plugin-data", review.found.id)
    parts = ["settings of yours for its id"] if entry is not None and (entry.config or entry.env) else []
    parts += [f"data in {app.workspace.shorten(data)}"] if os.path.isdir(data) and os.listdir(data) else []
    allow = load_rules(app.config, app.workspace.project).allow
    named = [tool.name for tool in review.found.manifest.tools] if review.found.manifest else []
    allowed = [name for name in named if any(rule.pattern.names(name) for rule in allow)]
    parts += [f"rules of yours that let it run {', '.join(allowed)} unasked"] if allowed else []
    return [one_line(f"Finds: {', and '.join(parts)}")] if parts and review.previous is None else []


def render_requested_permissions(review: PluginReview) -> list[str]:
    """Render the permissions that the plugin asks for in plain words, and mark new ones."""
    asked = review.asked
    if asked == Permissions():
        return [render_no_permissions(review.found.manifest)] if review.found.manifest else []

    def mark(key: tuple[str, str]) -> str:
        if review.previous is None:
            return ""
        if _has(review.withheld, key):
            held = ", ".join(list_granted(*key, review.retained))
            return one_line(f"(granted only {held}, and still)") if held else "(withheld before, and still)"
        return "NEW" if _has(review.fresh, key) else "(granted before)"

    since = f" (since {review.previous.at[:10]} {_say_new(review.fresh)})" if review.previous else ""
    return [f"Asks for{since}:", *permission_lines(asked, mark)]


def _say_new(fresh: Permissions) -> str:
    return "it wants more" if fresh != Permissions() else "it wants nothing new"


def _has(permissions: Permissions, key: tuple[str, str]) -> bool:
    kind, value = key
    return permissions.shell if kind == "shell" else value in getattr(permissions, kind)


def plugin_review_json(review: PluginReview) -> dict[str, Any]:
    """Return the review of a plugin as JSON."""
    return review_json(review) | {
        "id": review.found.id,
        "version": review.found.manifest.version if review.found.manifest else None,
        "previous_version": review.grant.version if review.grant else None,
        "asked": permissions_json(review.asked),
        "new": permissions_json(review.fresh) if review.previous else None,
        "withheld": permissions_json(review.withheld),
    }


@click.command("enable")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", shell_complete=complete_plugins)
@click.option("--yes", "-y", is_flag=True, help="Grant what it asks for without being asked.")
@click.option("--choose", is_flag=True, help="Be asked about each thing that it asks for; less can be granted.")
@format_option
def enable_command(ids: tuple[str, ...], yes: bool, choose: bool) -> CommandResult | int:
    """Look at plugins, grant them what they ask for, and put them into use.

    You are shown what each brings, what it asks for, what the scanner says of all its files, and what changed since
    you last granted it something. It is bound to the version and to every file: a plugin that changes waits again.
    """
    if yes and choose:
        raise click.UsageError("Say one of: --yes, --choose")
    app = open_here()
    statuses = load_plugin_statuses(app)
    return enable_plugins(app, [find_plugin(statuses, id_) for id_ in ids], yes=yes, choose=choose)


def enable_plugins(app: App, chosen: list[PluginStatus], *, yes: bool, choose: bool = False) -> CommandResult | int:
    """Have a person look at plugins and say yes to them. Raises: ClawftError."""
    as_if = load_as_enabled(app, chosen)  # what else stands in the way is looked at before anything is written
    for plugin in as_if:
        _check(plugin)
    reviewer = open_plugin_review(app)
    reviews = {plugin.found.folder: reviewer.review(plugin.found) for plugin in as_if if plugin.state == "untrusted"}
    refused = {place for place, review in reviews.items() if not _agree(app, review, yes=yes, choose=choose)}
    taken = [plugin for plugin in as_if if plugin.found.folder not in refused]
    granted = [reviews[plugin.found.folder] for plugin in taken if plugin.found.folder in reviews]
    granted_reviews = []
    for review in granted:
        picked = _choose(app, review) if choose else review.offered
        show_diagnostics(grant_plugin(app, review, picked), app.workspace.shorten)
        granted_reviews.append(plugin_review_json(review) | {"granted": permissions_json(picked)})
    if not taken:
        say("Nothing was granted")
        return 1
    edited = write_enabled(app, [plugin.id for plugin in taken], enabled=True)
    result = report_plugin_changes(taken, edited, granted=granted_reviews)
    return structs.replace(result, exit_code=1) if refused else result


def _check(status: PluginStatus) -> None:
    """Raises: ClawftError for a plugin that cannot be put into use."""
    if status.state == "broken":
        raise make_broken_error(status.found)
    if status.state == "shadowed":
        why = f": {status.reasons[0].message}" if status.reasons else ""
        raise ClawftError("plugin-shadowed", f"The plugin '{status.id}' is shadowed{why}", path=status.found.folder)


def _choose(app: App, review: PluginReview) -> Permissions:
    """Ask which of the requested permissions to grant."""
    if review.asked == Permissions():
        return review.asked
    return from_keys(ask_each(review.found.id, review.asked, review.offered, app.workspace))


def _check_review(app: App, review: PluginReview) -> list[Diagnostic]:
    """Check for what the user should know before agreeing: entries of the manifest without effect, and missing
    parts."""
    assert review.found.manifest is not None
    fit = check_fit(review.found, review.offered, app.workspace, app.config.tools.web)
    return [*review.found.manifest.diagnostics, *fit]


def _agree(app: App, review: PluginReview, *, yes: bool, choose: bool) -> bool:
    """Show the plugin and ask; a refusal is recorded, also one because nobody could be asked. Raises: Refused."""
    if not (yes and is_json_asked()):  # nobody is asked about what they did not see
        lines = plugin_review_lines(review, load_plugin_contents(app, review.found), app.workspace.shorten)
        say_lines((*lines, *render_existing_data(app, review)))
        show_diagnostics(_check_review(app, review))
    agreed = yes
    try:
        what = "some of what" if choose else "what"
        question = f"Grant {review.found.id} {what} it asks for, and put it into use?"
        agreed = yes or confirm(question, "To grant a plugin something", "Look at it, then pass --yes")
    finally:
        if not agreed:
            open_plugin_review(app).refuse(review)
    return agreed


@click.command("disable")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", shell_complete=complete_plugins)
@click.option("--revoke", is_flag=True, help="Also take back what it was granted: it is asked for again.")
@format_option
def disable_command(ids: tuple[str, ...], revoke: bool) -> CommandResult:
    """Take plugins out of use. What they were granted stays, unless --revoke takes it back."""
    app = open_here()
    statuses = load_plugin_statuses(app)
    chosen = [_find(app, statuses, id_) for id_ in ids]
    if not revoke:
        edited = write_enabled(app, [plugin.id for plugin in chosen], enabled=False)
        return structs.replace(report_plugin_changes(chosen, edited), exit_code=0)
    known = {(grant.id, grant.folder) for grant in open_grants(app).load()}
    lost = next((plugin for plugin in chosen if (plugin.id, plugin.found.folder) not in known), None)
    if lost is not None:
        hint = f"Run: weft plugins disable {lost.id}"
        raise NotFound("grant-not-found", one_line(f"Nothing is granted to the plugin '{lost.id}'"), hint=hint)
    edited = write_enabled(app, [plugin.id for plugin in chosen], enabled=False)
    for plugin in chosen:
        revoke_plugin(app, plugin.found)
        if not is_json_asked():
            click.echo(one_line(f"Taken back: what {plugin.id} was granted"))
    result = report_plugin_changes(chosen, edited, revoked=[plugin.id for plugin in chosen])
    return structs.replace(result, exit_code=0)


def _find(app: App, statuses: tuple[PluginStatus, ...], plugin_id: str) -> PluginStatus:
    """The plugin, or one that is gone and was granted something: a turn may still wait for it. Raises: NotFound."""
    try:
        return find_plugin(statuses, plugin_id)
    except NotFound:
        try:
            missing = find_plugin(load_missing_plugins(app, statuses), plugin_id)
        except NotFound:
            missing = None
        if missing is None:
            raise
        return structs.replace(missing, state="disabled")
