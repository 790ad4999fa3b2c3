"""The settings that git gets in the sandbox: the user's name and harmless preferences, never their config itself.

It is read by git with the user's rights, from the user's own files alone: no repository takes part, and to read
settings starts nothing. What git shall do elsewhere, with which programs and keys, stays out.
"""

import os
import re
import subprocess

from clawft.errors import ClawftError
from clawft.files import replace_file
from clawft.trust.programs import HostPrograms

GIT_CONFIG = "/run/clawft/gitconfig"
_READ_S = 10.0
_MAX_BYTES = 1 << 20
_FILES = (".gitconfig", ".config/git/config")
_NEUTRAL = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "LANG": "C.UTF-8"}
_KEYS = frozenset(
    [
        "user.name",
        "user.email",
        "user.useconfigonly",
        "author.name",
        "author.email",
        "committer.name",
        "committer.email",
        "init.defaultbranch",
        "core.autocrlf",
        "core.eol",
        "core.safecrlf",
        "core.quotepath",
        "core.ignorecase",
        "core.precomposeunicode",
        "pull.rebase",
        "pull.ff",
        "push.default",
        "push.autosetupremote",
        "merge.conflictstyle",
        "merge.ff",
        "rebase.autosquash",
        "rebase.autostash",
        "rebase.updaterefs",
        "branch.autosetupmerge",
        "branch.autosetuprebase",
        "diff.algorithm",
        "diff.renames",
        "log.date",
        "fetch.prune",
        "tag.sort",
        "branch.sort",
        "column.ui",
        "stash.showpatch",
    ]
)
_ALIAS = re.compile(r"alias\.[a-z][a-z0-9-]*")
_VALUE = re.compile(r"[^\x00-\x1f\x7f]{0,1000}")
# The system's own settings hold as before. What only tidies up would work on a copy that is thrown away.
_BASE = "[include]\n\tpath = /etc/gitconfig\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"


class GitDefaults:
    """Writes them into a file of weft's own, anew when the user's files have changed."""

    def __init__(self, host_programs: HostPrograms, home: str) -> None:
        self._host_programs = host_programs
        self._home = home
        self._known: tuple[object, str] = (None, "")

    def write(self, folder: str) -> str:
        """The file, in an existing folder of weft's own. Raises: OSError."""
        place = os.path.join(folder, "gitconfig")
        marks = [_find_mark(os.path.join(self._home, name)) for name in _FILES]
        if self._known != (marks, place):
            replace_file(place, render_settings(self._read()).encode("utf-8", "surrogateescape"), 0o600)
            self._known = marks, place
        return place

    def _read(self) -> str:
        """The user's settings as git lists them; '' where there is no git."""
        env = {**_NEUTRAL, "HOME": self._home, "PATH": self._host_programs.environ.get("PATH", os.defpath)}
        try:
            program = self._host_programs.prepare(("git", "config", "--global", "--includes", "--list", "-z"), env)
            done = subprocess.run(
                program.words, cwd=program.cwd, env=dict(program.env), capture_output=True, timeout=_READ_S, check=False
            )
        except (ClawftError, OSError, subprocess.TimeoutExpired):
            return ""
        return os.fsdecode(done.stdout[:_MAX_BYTES])


def render_settings(listed: str) -> str:
    """The config of what `git config --list -z` says, without all that is not known to be harmless."""
    lines = [_BASE]
    for setting in listed.split("\0"):
        key, _, value = setting.partition("\n")
        is_alias = _ALIAS.fullmatch(key) is not None and not value.lstrip().startswith(("!", "-"))
        if (key in _KEYS or is_alias) and _VALUE.fullmatch(value):
            section, _, name = key.rpartition(".")
            quoted = value.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'[{section}]\n\t{name} = "{quoted}"\n')
    return "".join(lines)


def _find_mark(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
