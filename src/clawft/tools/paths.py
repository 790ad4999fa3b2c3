"""Where file tools may go: inside the project, and nowhere that holds secrets or gives power.

A path is judged by what it says and by where its links lead. `beneath` then opens exactly that place.
"""

import os
import unicodedata
from collections.abc import Callable, Iterable

from clawft.files import real_path
from clawft.tools.tool import ToolContext, ToolError
from clawft.workspace import resolve_path

__all__ = ["base_folder", "is_private", "is_within", "reading_filter", "resolve_inside", "show_path"]

_MAX_PATH = 4096
_MAX_NAME = 255
_SYSTEM = ("/proc", "/sys", "/dev")

# What is written here runs, or speaks to an agent, without anybody being asked again.
_POWER_FOLDERS = frozenset({
    ".git", ".hg", ".svn", ".github", ".husky", ".clawft", ".claude", ".agents", ".codex", ".gemini", ".opencode",
    ".cursor", ".goose", ".openclaw", ".omniagent", ".wundr", ".windsurf", ".continue", ".roo", ".kiro", ".vscode",
    ".idea", ".devcontainer", ".direnv", ".config", ".local", "launchagents",
})  # fmt: skip
_POWER_FILES = frozenset({
    "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", ".cursorrules", ".windsurfrules",
    ".clinerules", ".mcp.json", ".envrc", ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
    ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
    ".inputrc", ".vimrc", ".exrc", ".nvimrc", ".gitconfig", ".gitmodules", ".pre-commit-config.yaml", ".yarnrc",
    ".yarnrc.yml", ".crontab",
})  # fmt: skip
# What is read here is a secret that was given to nobody (DESIGN.md, "Power").
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"})
_SECRET_FILES = frozenset({
    ".env", ".netrc", "_netrc", ".git-credentials", ".pgpass", ".pypirc", ".npmrc", "id_rsa", "id_dsa", "id_ecdsa",
    "id_ed25519",
})  # fmt: skip
_ENV_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults")


def resolve_inside(context: ToolContext, path: str, *, write: bool = False) -> str:
    """The real, absolute path that a tool may use, all links resolved; whether it exists is not looked at.

    Raises: ToolError.
    """
    written = _check_text(path)
    project = real_path(context.workspace.project)
    full = resolve_path(written, base_folder(context), context.workspace.home)
    real = real_path(full)
    if not real or not project:
        raise ToolError("PERMISSION_DENIED", f"The links of '{path}' lead nowhere")
    if not write and any(is_within(real, root) for root in _reading_roots(context)):
        return real
    if not is_within(real, project):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is outside the project",
            hint=f"Files may be {'written' if write else 'read'} inside {context.workspace.project} only",
        )
    relatives = [os.path.relpath(one, project) for one in {full, real} if is_within(one, project)]
    _check_rules(context, path, real)
    _check_private(path, relatives)
    if write:
        _check_power(path, relatives)
    return real


def base_folder(context: ToolContext) -> str:
    """The folder relative paths start at: the current one, if it is inside the project."""
    project, cwd = real_path(context.workspace.project), real_path(context.workspace.cwd)
    return cwd if is_within(cwd, project) else project


def is_within(path: str, root: str) -> bool:
    return bool(root) and (path == root or path.startswith(root.rstrip("/") + "/"))


def is_private(relative: str) -> bool:
    """Whether a path below the project names a place for keys and passwords."""
    names = [_fold(name) for name in relative.split("/")]
    in_folder = not _SECRET_FOLDERS.isdisjoint(names) or "/.config/gcloud/" in "/" + "/".join(names) + "/"
    return in_folder or _is_secret_name(names[-1])


def reading_filter(context: ToolContext, root: str) -> Callable[[str], bool]:
    """Tells, for walks below a folder that may be read, which real paths are left out of them."""
    if any(is_within(root, one) for one in _reading_roots(context)):
        return lambda _: True
    project = real_path(context.workspace.project)
    closed = {root for root, _ in _closed_roots(context)}
    return lambda path: path not in closed and not is_private(os.path.relpath(path, project))


def show_path(context: ToolContext, real: str) -> str:
    """A path as a tool says it, so that a tool understands it again: relative to where relative paths start."""
    base = base_folder(context)
    return os.path.relpath(real, base) if is_within(real, base) else real


def _reading_roots(context: ToolContext) -> Iterable[str]:
    return (real_path(root) for root in (context.spill_dir, *context.read_roots))


def _check_text(path: str) -> str:
    if not path.strip():
        raise ToolError("INVALID_PARAM", "The path is empty")
    if "\0" in path:
        raise ToolError("INVALID_PARAM", "The path has a NUL character")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ToolError("INVALID_PARAM", "The path has characters that no file name can have") from error
    if len(encoded) > _MAX_PATH or any(len(name) > _MAX_NAME for name in encoded.split(b"/")):
        raise ToolError("INVALID_PARAM", f"The path is too long: {_MAX_PATH} bytes, {_MAX_NAME} for each name")
    return path


def _check_rules(context: ToolContext, path: str, real: str) -> None:
    """What is refused inside the project too, which may be the home folder or even `/`."""
    for root, reason in _closed_roots(context):
        if is_within(real, root):
            raise ToolError("PERMISSION_DENIED", f"'{path}' {reason}")


def _closed_roots(context: ToolContext) -> list[tuple[str, str]]:
    project, user_dir = real_path(context.workspace.project), real_path(context.workspace.user_dir)
    closed = [(root, "belongs to the system, not to the project") for root in _SYSTEM]
    closed.append((user_dir, "holds this program's own settings and records"))
    return [(root, reason) for root, reason in closed if not is_within(project, root)]


def _check_private(path: str, relatives: Iterable[str]) -> None:
    if any(is_private(relative) for relative in relatives):
        raise ToolError(
            "PERMISSION_DENIED",
            f"'{path}' is a place for keys and passwords, which file tools leave alone",
            hint="A person can do this by hand",
        )


def _check_power(path: str, relatives: Iterable[str]) -> None:
    for relative in relatives:
        names = [_fold(name) for name in relative.split("/")]
        if names[-1] in _POWER_FILES or not _POWER_FOLDERS.isdisjoint(names):
            raise ToolError(
                "PERMISSION_DENIED",
                f"'{path}' steers programs or agents; tools do not write there",
                hint="Show the person the change, to be made by hand",
            )


def _is_secret_name(name: str) -> bool:
    return name in _SECRET_FILES or (name.startswith(".env.") and not name.endswith(_ENV_EXAMPLES))


def _fold(name: str) -> str:
    """A name as file systems that are lax about case, width and invisible characters compare it."""
    if name.isascii():
        return name.lower().rstrip(". ")
    visible = (char for char in unicodedata.normalize("NFKC", name) if unicodedata.category(char) != "Cf")
    return "".join(visible).casefold().rstrip(". ")
