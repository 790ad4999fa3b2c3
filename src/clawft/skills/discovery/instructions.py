"""AGENTS.md and CLAUDE.md: what people tell every agent that works in a folder. Outermost first."""

import os

from msgspec import Struct

from clawft.errors import Diagnostic, Unreadable
from clawft.files import is_within, read_regular, real_path
from clawft.workspace import Workspace

NAMES = ("AGENTS.md", "CLAUDE.md")
MAX_BYTES = 64 * 1024


class Instructions(Struct, frozen=True):
    """One file. What stands in the user's own folders is the user's own word; any other needs an approval."""

    path: str
    content: bytes
    own: bool = False
    hook: str = ""  # which wrote the text: it is then no file of anybody's, whatever its path says

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", errors="replace").strip()


def load_instructions(workspace: Workspace) -> tuple[tuple[Instructions, ...], tuple[Diagnostic, ...]]:
    """Every instructions file that counts here, each content once; and what could not be read."""
    found: dict[bytes, Instructions] = {}
    problems: list[Diagnostic] = []
    for path, own in _candidates(workspace):
        try:
            if not own and not _stays(path, workspace.project):
                message = "It is a link to something that is no text of this folder or project, and is not read"
                raise Unreadable("link-leaves-root", message, path=path, hint="Put a copy of the file here")
            data, _ = read_regular(path, MAX_BYTES, follow=True)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except Unreadable as error:
            problems.append(error.diagnostic)
            continue
        if data.strip() and data not in found:
            found[data] = Instructions(path, data, own)
    return tuple(found.values()), tuple(problems)


def _stays(path: str, project: str) -> bool:
    """Return whether a file is a regular one, or a link to a Markdown file below its folder or the project: an
    untrusted link must not bring in a key or a private document of the user."""
    real, folder = real_path(path), real_path(os.path.dirname(path))
    if real == os.path.join(folder, os.path.basename(path)):
        return True
    return real.lower().endswith(".md") and (is_within(real, folder) or is_within(real, real_path(project)))


def _candidates(workspace: Workspace) -> list[tuple[str, bool]]:
    own = [os.path.join(workspace.user_dir, "AGENTS.md"), os.path.join(workspace.home, ".claude", "CLAUDE.md")]
    paths = [(path, True) for path in own]
    for folder in _folders(workspace):
        paths += [(os.path.join(folder, name), False) for name in NAMES]
    return paths


def _folders(workspace: Workspace) -> list[str]:
    """From the root of the disk, or the folder below home, down to the current folder."""
    folders = []
    current = workspace.cwd
    while True:
        folders.append(current)
        parent = os.path.dirname(current)
        if parent == current or real_path(parent) == real_path(workspace.home):
            break
        current = parent
    if workspace.project not in folders:
        folders.append(workspace.project)
    return folders[::-1]
