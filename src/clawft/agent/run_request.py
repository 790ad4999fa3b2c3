"""The requests of turns and of runs, by value: any worker can do a run, today or after a reboot."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from clawft.agent.lineage import Lineage
from clawft.messages import Image

_SECTIONS = ("AGENTS", "MEMORY", "PERMISSIONS", "SANDBOX", "SKILLS", "TOOLS")
RunKind = Literal["agent", "skill", "fork", "cron", "scan", "gateway"]


class MessageSource(Struct, frozen=True):
    """The origin of a message from a channel: the channel, and what it says of the message."""

    channel: str
    sender: str
    conversation: str
    message: str


class TurnRequest(Struct, frozen=True):
    """The request of a person, a job or a program. With `skill`, that skill is started, and `text` are its arguments;
    `words` are the same, where a shell has split them already."""

    text: str
    images: tuple[Image, ...] = ()
    model: str = ""
    skill: str = ""
    words: tuple[str, ...] = ()
    more_skills: tuple[str, ...] = ()  # started with it, without arguments
    added: str = ""  # what hooks wrote beside it, marked as theirs
    source: MessageSource | None = None


class RunRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run. With `skill`, that is started, and `text` are its arguments; `words` are the same, split by a shell."""

    kind: RunKind
    cwd: str  # the folder it was asked for in; its project is worked on
    project: str = ""
    text: str = ""
    skill: str = ""
    words: tuple[str, ...] = ()
    only: bool = False  # the skill is the only one there is
    dirs: tuple[str, ...] = ()  # folders that alone are searched for skills
    agent: str = ""
    model: str = ""
    mode: str = ""
    session: str = ""  # the session to go on with; '' for one of its own
    yes: bool = False  # tools may do what they ask for
    trusted: dict[str, str] = {}  # untrusted skills that were approved for this run: digests by folder
    deadline_s: float | None = None
    parent: str = ""  # the run that asks for it
    lineage: Lineage | None = None  # what a fork inherits
    task: dict[str, Any] = {}  # of a run without an agent: what to scan
    source: MessageSource | None = None  # of a message that a channel brought
    by: str = ""  # the token of a program that asked the daemon for it
    settings: dict[str, str] = {}  # variables of the requester that limit how much may be done


def settings_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a run takes along, since the worker has other variables, or those of another request.

    Variables that may hold a secret are left out, since they would be stored.
    """
    return {name: value for name, value in environ.items() if _goes_along(name, value)}


def _goes_along(name: str, value: str) -> bool:
    section, _, rest = name.removeprefix("CLAWFT_").partition("__")
    is_setting = name.startswith("CLAWFT_") and section in _SECTIONS and bool(rest)
    may_be_secret = value.startswith("{") or rest.endswith("API_KEY") or rest.startswith(("ENTRIES", "CONFIG"))
    return is_setting and not may_be_secret
