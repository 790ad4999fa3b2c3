"""`weft config trust`: review what the project's config would change, and approve it as it is now."""

import json

import click
from msgspec import UNSET

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.options import format_option, open_here
from clawft.cli.output import clean, one_line, print_json, say
from clawft.trust.config_review import ConfigReview, ReviewedSetting

__all__ = ["command"]


@click.command("trust")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def command(output: str, *, yes: bool) -> int:
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
        for line in _lines(app, reviews) if output == "table" else ():
            say(clean(line).replace("\n", "\\n"))
        refused = not yes and not _ask(app, [one.path for one in reviews])
        if refused:
            say("Nothing was approved")
        return not refused

    approved = app.approve_config(agree)
    if output == "json":
        print_json("clawft.config.trust.v1", approved=list(approved), reviews=list(map(_to_json, reviewed)))
    for path in approved if output == "table" else ():
        click.echo(one_line(f"Approved {app.workspace.shorten(path)}"))
    return int(refused)


def _lines(app: App, reviews: list[ConfigReview]) -> list[str]:
    """All that the files set; last, just above the question, what follows from it."""
    lines = []
    for review in reviews:
        since = f", compared with the version of {review.approved_at[:10]}" if review.approved_at else ""
        lines.append(f"{app.workspace.shorten(review.path)} sets{since}:")
        lines += [f"  {_line(one)}" for one in review.settings if one.followed]
        lines += [f"  - {one.key} = {_written(one.value)}" for one in review.gone]
        ignored = [f"  {_line(one)}" for one in review.settings if not one.followed]
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
        "settings": [_setting_json(one) for one in review.settings],
        "gone": [{"key": one.key, "value": one.value} for one in review.gone],
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
    """Whether a person agrees; a no is written down. Raises: Refused where there is nobody to ask."""
    agreed = False
    try:
        question = f"Approve {', '.join(map(app.workspace.shorten, paths))}?"
        agreed = confirm(question, "To approve a project's config", "Look at it, then: weft config trust --yes")
    finally:
        for path in paths if not agreed else ():
            app.audit.tell("approval", f"config {path}", decision="denied")
    return agreed
