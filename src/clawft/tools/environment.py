"""The environment of a command: what settings let through, what keeps programs quiet, and a skill's own variables."""

import os
import shutil
from collections.abc import Iterable, Mapping

from clawft.config.tools import ExecSettings
from clawft.files import is_within, real_path
from clawft.trust.readonly import find_read_only

__all__ = ["command_env", "find_planted"]

# Nothing waits for a person, and git neither takes a folder of files for a repository nor runs what its settings
# name as a monitor: a tool could have written both.
_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
}


def command_env(settings: ExecSettings, environ: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Everything a command gets of the environment; `own` is what its skill was configured to get."""
    chosen = {name: environ[name] for name in settings.env if name in environ}
    if "PATH" in chosen:  # a relative folder of it would make a file of the project a listed command
        chosen["PATH"] = os.pathsep.join(one for one in chosen["PATH"].split(os.pathsep) if os.path.isabs(one))
    return {**_QUIET, **chosen, **own}


def find_planted(commands: Iterable[tuple[str, ...]], env: Mapping[str, str], project: str) -> str:
    """The first command that is known to only look, but whose program lies in the project, where a tool could have put
    it: no list means that one."""
    root = real_path(project)
    for name in dict.fromkeys(words[0] for words in commands if find_read_only(words)):
        found = shutil.which(name, path=env.get("PATH", os.defpath))
        if found and is_within(real_path(found), root):
            return name
    return ""
