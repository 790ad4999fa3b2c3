"""What a run is asked to do, by value: any worker can do it, today or after a reboot."""

from typing import Any, Literal

from msgspec import Struct

from clawft.run.lineage import Lineage

__all__ = ["Kind", "RunRequest"]

Kind = Literal["agent", "skill", "fork", "cron", "scan"]


class RunRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run. With `skill`, that is started, and `text` are its arguments; `words` are the same, split by a shell."""

    kind: Kind
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
    trusted: dict[str, str] = {}  # strangers' skills that were approved for this run: digests by folder
    deadline_s: float | None = None
    parent: str = ""  # the run that asks for it
    lineage: Lineage | None = None  # what a fork inherits
    task: dict[str, Any] = {}  # of a run without an agent: what to scan
