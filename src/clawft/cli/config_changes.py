"""`weft config set` and `trust`: change a setting, and review and approve the config of a project."""

import json

import click
from msgspec import UNSET

from clawft.app.app import App
from clawft.cli.config import complete_keys, complete_values, value_text
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import CommandResult, clean, is_json_asked, one_line, say, show_diagnostic
from clawft.cli.prompts import confirm
from clawft.config import join_path
from clawft.config.changes import ConfigScope, EditedConfig, SettingChange
from clawft.config.listing import get_path, list_settings, redact
from clawft.config.schema import parse_typed
from clawft.errors import ClawftError
from clawft.trust.config_review import ConfigReview, ReviewedSetting


@click.command("set")
@click.argument("key", shell_complete=complete_keys)
@click.argument("value", required=False, shell_complete=complete_values)
@target_option
@click.option("--unset", is_flag=True, help="Take the setting out of the file.")
@click.option("--literal", is_flag=True, help="Write a secret itself into the file, in plain text.")
@format_option
def set_command(key: str, value: str | None, scope: ConfigScope, unset: bool, literal: bool) -> CommandResult:
    """Set KEY to VALUE in a config file; comments and layout stay. Lists and tables are written as JSON or TOML.

    A secret is set by the name of a variable, or of a key that `weft onboard` stored:
    weft config set providers.x.api_key env:NAME (or key:NAME)
    """
    if unset == (value is not None):
        raise click.UsageError("Give a VALUE, or --unset")
    app = open_here()
    path = get_path(key)
    new = UNSET if value is None else parse_typed(path, value, app.environ, app.plugin_schemas, literal=literal)
    edited = app.edit_config(scope, [SettingChange(path, new)])
    before = redact(path, edited.before[0], app.environ, app.plugin_schemas, free=False)
    after = redact(path, new, app.environ, app.plugin_schemas)

    def show() -> None:
        click.echo(one_line(_tell(join_path(path), before, after, app.workspace.shorten(edited.file), edited)))
        _tell_of_others(app, path, edited.file)

    return CommandResult(
        "clawft.config.set.v1",
        {"key": join_path(path), "value": after, "before": before, "path": edited.file, "changed": edited.changed},
        show,
    )


def _tell(key: str, before: object, after: object, file: str, edited: EditedConfig) -> str:
    was = "" if edited.before[0] is UNSET else f" (was {value_text(before)})"
    if after is None:
        return f"Took {key}{was} out of {file}" if edited.changed else f"{file} does not set {key}"
    done = "Set" if edited.changed else "Nothing to change:"
    return f"{done} {key} = {value_text(after)}{was if edited.changed else ''} in {file}"


def _tell_of_others(app: App, path: tuple[str, ...], file: str) -> None:
    """Say so if something else has the last word on what was changed, or keeps the config from being read."""
    try:
        settings = list_settings(app.config, app.environ, app.plugin_schemas)
    except ClawftError as error:
        return show_diagnostic(error.diagnostic, where=app.workspace.shorten(error.diagnostic.where))
    for setting in settings:
        if setting.path[: len(path)] == path and setting.source != file:
            say(one_line(f"note: {app.workspace.shorten(setting.source)} sets {setting.key} too, and wins"))
    return None


@click.command("trust")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def trust_command(*, yes: bool) -> CommandResult:
    """Show what the project's config changes, and approve it as it is now. It is ignored until then, and when it
    changes.

    It can choose models, start MCP servers, loosen the policies of tools and give skills your keys. All that it sets is
    shown; a file that cannot be shown in full is refused.
    """
    app = open_here()
    reviewed: list[ConfigReview] = []
    refused = False

    def agree(reviews: list[ConfigReview]) -> bool:
        nonlocal refused
        reviewed.extend(reviews)
        if not reviews:
            say("There is no config in this project")
            return False
        for line in () if is_json_asked() else config_review_lines(app, reviews):
            say(clean(line).replace("\n", "\\n"))
        refused = not yes and not _ask(app, [review.path for review in reviews])
        if refused:
            say("Nothing was approved")
        return not refused

    approved = app.approve_config(agree)

    def show() -> None:
        for path in approved:
            click.echo(one_line(f"Approved {app.workspace.shorten(path)}"))

    document = {"approved": list(approved), "reviews": list(map(_to_json, reviewed))}
    return CommandResult("clawft.config.trust.v1", document, show, int(refused))


def config_review_lines(app: App, reviews: list[ConfigReview]) -> list[str]:
    """Render everything that the files set; the consequences come last, just above the question."""
    lines = []
    for review in reviews:
        since = f", compared with the version of {review.approved_at[:10]}" if review.approved_at else ""
        lines.append(f"{app.workspace.shorten(review.path)} sets{since}:")
        lines += [f"  {_line(setting)}" for setting in review.settings if setting.followed]
        lines += [f"  - {setting.key} = {_written(setting.value)}" for setting in review.removed_settings]
        ignored = [f"  {_line(setting)}" for setting in review.settings if not setting.followed]
        lines += ["Not followed, since only your own config can set it:", *ignored] if ignored else []
    consequences = [f"  {text} ({key})" for review in reviews for text, key in review.consequences]
    return [*lines, "If you approve it:", *consequences] if consequences else lines


def _line(setting: ReviewedSetting) -> str:
    line = f"{'+ ' if setting.is_new else ''}{setting.key} = {_written(setting.value)}"
    if setting.was is not UNSET:
        return f"{line} (was {_written(setting.was)})"
    is_other = setting.now not in (UNSET, None, "", [], {}, setting.value)
    return f"{line} (now {_written(setting.now)})" if is_other else line


def _written(value: object) -> str:
    """A value on one line, as JSON has it."""
    return json.dumps(value, ensure_ascii=False)


def _to_json(review: ConfigReview) -> dict[str, object]:
    return {
        "path": review.path,
        "approved_at": review.approved_at or None,
        "settings": [_setting_json(setting) for setting in review.settings],
        "gone": [{"key": setting.key, "value": setting.value} for setting in review.removed_settings],
        "consequences": [{"message": text, "key": key} for text, key in review.consequences],
    }


def _setting_json(setting: ReviewedSetting) -> dict[str, object]:
    optional = {"now": setting.now, "was": setting.was}
    return {
        "key": setting.key,
        "value": setting.value,
        "new": setting.is_new,
        "followed": setting.followed,
        **{name: value for name, value in optional.items() if value is not UNSET},
    }


def _ask(app: App, paths: list[str]) -> bool:
    """Return whether a person agrees; a no is written down. Raises: Refused where there is nobody to ask."""
    agreed = False
    try:
        question = f"Approve {', '.join(map(app.workspace.shorten, paths))}?"
        agreed = confirm(question, "To approve a project's config", "Look at it, then: weft config trust --yes")
    finally:
        for path in paths if not agreed else ():
            app.audit.tell("approval", f"config {path}", decision="deny")
    return agreed
