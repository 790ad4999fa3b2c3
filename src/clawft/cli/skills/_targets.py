"""What `validate` and `fix` work on: names, skill folders, SKILL.md files, or everything that is searched."""

import os

from clawft.app import App, open_app
from clawft.discovery import Found
from clawft.errors import NotFound

__all__ = ["find_targets"]

_FILES = frozenset({"skill.md", "skill.json", "prompt.md"})


def find_targets(app: App, named: tuple[str, ...]) -> list[Found]:
    """The skill files that were named, each once. Raises: NotFound for what is neither a path nor a skill."""
    if not named:
        return list(app.catalog.found)
    found: dict[str, Found] = {}
    for name in named:
        for one in _find(app, name):
            found.setdefault(one.file, one)
    return list(found.values())


def _find(app: App, name: str) -> list[Found]:
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
