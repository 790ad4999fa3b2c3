"""Options and arguments that name skills: scopes, folders, installed and found skills."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clawft.app.app import App, open_app
from clawft.cli.completion import complete_folders, complete_skills
from clawft.errors import ClawftError, NotFound
from clawft.install.lockfile.file import load_lock
from clawft.install.transaction.targets import CLIENTS, InstallSite, find_site
from clawft.skills.discovery import DiscoveredSkill
from clawft.workspace import resolve_path

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


_FILES = frozenset({"skill.md", "skill.json", "prompt.md"})
F = TypeVar("F", bound=Callable[..., Any])


def scope_choice(function: F) -> F:
    choice = click.Choice(["user", "project"])
    text = "For you, or for this project."
    return click.option("--scope", type=choice, default="user", show_default=True, help=text)(function)


def to_option(function: F) -> F:
    choice = click.Choice([*CLIENTS, "all"])
    text = "Whose folders of skills (repeatable)."
    return click.option("--to", multiple=True, type=choice, default=("clawft",), show_default=True, help=text)(function)


def allow_options(function: F) -> F:
    text = "A rule of the scanner that may object in vain, for 90 days (repeatable)."
    because = click.option("--because", default="", metavar="TEXT", callback=_check_reason, help="Why, with --allow.")
    return click.option("--allow", "rules", multiple=True, metavar="RULE", help=text)(because(function))


def _check_reason(context: click.Context, _option: click.Parameter, reason: str) -> str:
    if context.params.get("rules") and not reason.strip():
        raise click.UsageError('Say why: --because "…"')
    return reason


def load_other_scope(app: App, site: InstallSite) -> list[str]:
    """The names of what is installed in the other scope; none where there is none, or where its lock is broken."""
    try:
        return list(load_lock(find_site(app.workspace, "user" if site.scope == "project" else "project").lock))
    except ClawftError:
        return []


def find_targets(app: App, named: tuple[str, ...]) -> list[DiscoveredSkill]:
    """The skill files that were named, each once. Raises: NotFound for what is neither a path nor a skill."""
    if not named:
        return list(app.catalog.found)
    found: dict[str, DiscoveredSkill] = {}
    for name in named:
        for skill in _find(app, name):
            found.setdefault(skill.file, skill)
    return list(found.values())


def find_folder(app: App, named: str) -> str:
    """The folder of one skill: a path, or the name of a skill that is found. Raises: NotFound for what is neither."""
    path = resolve_path(named, app.workspace.cwd, app.workspace.home).rstrip("/") or "/"
    if os.path.basename(path).lower() == "skill.md" and os.path.isfile(path):
        return os.path.dirname(path)
    if "/" in named or os.path.lexists(path):
        return path
    return app.get_skill(named).found.folder


def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    return [*complete_skills(ctx, param, incomplete), *complete_folders(ctx, param, incomplete)]


def _find(app: App, name: str) -> list[DiscoveredSkill]:
    path = os.path.join(app.workspace.cwd, os.path.expanduser(name))
    if os.path.lexists(path) and not os.path.isdir(path):
        if os.path.basename(path).lower() not in _FILES:
            raise NotFound(
                "no-skill-here", f"'{name}' is not a skill file", path=path, hint="A skill is a folder with a SKILL.md"
            )
        path = os.path.dirname(path)
    elif not os.path.isdir(path):
        if "/" in name:
            raise NotFound("no-skill-here", f"There is no such path: {name}")
        return [app.get_skill(name).found]
    below = open_app(app.environ, app.workspace.cwd, (path,)).catalog.found
    if not below:
        raise NotFound(
            "no-skill-here", f"There is no skill in '{name}'", path=path, hint="A skill is a folder with a SKILL.md"
        )
    return list(below)
