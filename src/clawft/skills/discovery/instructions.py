"""AGENTS.md and CLAUDE.md: what people tell every agent that works in a folder. Outermost first."""

import os
from collections.abc import Sequence

from msgspec import Struct

from clawft.errors import Diagnostic, Unreadable
from clawft.files import is_within_any, read_files, real_paths
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
    own = [os.path.join(workspace.user_dir, "AGENTS.md"), os.path.join(workspace.home, ".claude", "CLAUDE.md")]
    others = [os.path.join(folder, name) for folder in _list_folders(workspace) for name in NAMES]
    leaving = _find_leaving(others, workspace.project)
    problems = [_tell_leaving(path) for path in others if path in leaving]
    found: dict[bytes, Instructions] = {}
    wanted = [*own, *(path for path in others if path not in leaving)]
    for path, content in read_files(wanted, MAX_BYTES, follow=True).items():
        if isinstance(content, Unreadable):
            problems.append(content.diagnostic)
        elif content.strip() and content not in found:
            found[content] = Instructions(path, content, path in own)
    return tuple(found.values()), tuple(problems)


def _find_leaving(paths: Sequence[str], project: str) -> set[str]:
    """Find what is neither a plain file nor a link to a Markdown file below its folder or the project: an untrusted
    link must not bring in a key or a private document of the user."""
    real_project, *reals = real_paths((project, *paths))
    folders = real_paths(map(os.path.dirname, paths))
    return {
        path
        for path, real, folder in zip(paths, reals, folders, strict=True)
        if real != os.path.join(folder, os.path.basename(path))
        and not (real.lower().endswith(".md") and is_within_any(real, (folder, real_project)))
    }


def _tell_leaving(path: str) -> Diagnostic:
    message = "It is a link to something that is no text of this folder or project, and is not read"
    return Unreadable("link-leaves-root", message, path=path, hint="Put a copy of the file here").diagnostic


def _list_folders(workspace: Workspace) -> list[str]:
    """List the folders from the root of the disk, or the folder below home, down to the current folder."""
    folders = [workspace.cwd]
    while (parent := os.path.dirname(folders[-1])) != folders[-1]:
        folders.append(parent)
    home, *above = real_paths((workspace.home, *folders[1:]))
    if home in above:
        folders = folders[: above.index(home) + 1]
    if workspace.project not in folders:
        folders.append(workspace.project)
    return folders[::-1]
