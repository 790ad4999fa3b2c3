"""What a person reads before they grant a plugin something."""

import os
from collections.abc import Callable
from typing import Any

from clawft.app import App
from clawft.cli.output import one_line
from clawft.cli.plugins._json import permissions_json
from clawft.cli.plugins._words import brought_lines, kind_line, nothing_line, permission_lines
from clawft.cli.skills._review import review_lines
from clawft.contracts import Permissions
from clawft.describe.reviews import review_json
from clawft.discovery.plugin_contents import PluginContents
from clawft.plugging import plugin_settings
from clawft.trust.covering import find_held
from clawft.trust.plugin_review import PluginReview
from clawft.trust.rules import load_rules

__all__ = ["ask_lines", "finds_lines", "plugin_review_json", "plugin_review_lines"]

_SAME = "What its files would use: "  # what it asks for is said apart


def plugin_review_lines(review: PluginReview, contents: PluginContents, shorten: Callable[[str], str]) -> list[str]:
    """What it is, brings and asks for, what the scanner says of it, and what is new since it was last granted."""
    found, manifest = review.found, review.found.manifest
    assert manifest is not None
    head, *rest = (line for line in review_lines(review.whole, shorten) if not line.startswith("Would use: nothing"))
    rest = [_SAME + line.removeprefix("Power: ") if line.startswith("Power: ") else line for line in rest]
    about = [rest.pop(0)] if manifest.description else []
    before = review.previous.version if review.previous else ""
    version = f"{before} → {manifest.version}" if before not in ("", manifest.version) else manifest.version
    author = [f"By: {one_line(manifest.author)}, as it says"] if manifest.author else []
    return [
        head,
        *about,
        f"Version: {one_line(version)}",
        *author,
        f"Runs: {kind_line(found)}",
        *brought_lines(manifest, contents),
        *ask_lines(review),
        *rest,
    ]


def finds_lines(app: App, review: PluginReview) -> list[str]:
    """What it is handed that was there before it: of another plugin of its id, maybe, that somebody else wrote."""
    entry = plugin_settings(app).entries.get(review.found.id)
    data = os.path.join(app.workspace.user_dir, "plugin-data", review.found.id)
    parts = ["settings of yours for its id"] if entry is not None and (entry.config or entry.env) else []
    parts += [f"data in {app.workspace.shorten(data)}"] if os.path.isdir(data) and os.listdir(data) else []
    allow = load_rules(app.config, app.workspace.project).allow
    named = [one.name for one in review.found.manifest.tools] if review.found.manifest else []
    allowed = [name for name in named if any(rule.pattern.names(name) for rule in allow)]
    parts += [f"rules of yours that let it run {', '.join(allowed)} unasked"] if allowed else []
    return [one_line(f"Finds: {', and '.join(parts)}")] if parts and review.previous is None else []


def ask_lines(review: PluginReview) -> list[str]:
    """What it asks for, in plain words, and what of that is new."""
    asked = review.asked
    if asked == Permissions():
        return [nothing_line(review.found.manifest)] if review.found.manifest else []

    def mark(key: tuple[str, str]) -> str:
        if review.previous is None:
            return ""
        if _has(review.withheld, key):
            held = ", ".join(find_held(*key, review.kept))
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
    """The same for other programs."""
    return review_json(review.whole) | {
        "id": review.found.id,
        "version": review.found.manifest.version if review.found.manifest else None,
        "previous_version": review.previous.version if review.previous else None,
        "asked": permissions_json(review.asked),
        "new": permissions_json(review.fresh) if review.previous else None,
        "withheld": permissions_json(review.withheld),
    }
