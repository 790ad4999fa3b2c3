"""The environment of a command: what settings let through, what keeps programs quiet, and a skill's own variables."""

import os
from collections.abc import Iterable, Mapping

from clawft.config.tools import ExecSettings
from clawft.programs import Launcher, find_program
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


def find_planted(commands: Iterable[tuple[str, ...]], env: Mapping[str, str], launcher: Launcher) -> str:
    """Return why a command that is known to only look may do something else: the program that would be started lies
    where commands can write. Nothing if all are what they seem."""
    for name in dict.fromkeys(words[0] for words in commands if find_read_only(words)):
        found = find_program(name, env.get("PATH", os.defpath))
        if found and launcher.is_writable(found):
            return f"'{name}' would be {found}, which commands can write"
    return ""
