"""The section `[sandbox]`: how commands are confined, and what they may use."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.load import Config, own_section

__all__ = ["SandboxSettings", "Section", "own_sandbox"]

_Megabytes = Annotated[int, Meta(ge=16, le=1 << 20)]


class SandboxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[sandbox]`."""

    #: `bubblewrap` or `landlock`; `auto` takes the first that works here. `off` runs commands with all your rights.
    mode: Literal["auto", "bubblewrap", "landlock", "off"] = "auto"
    #: Where none works: `ask` a person about each command, or `refuse` them all. `--yes` does not answer.
    if_unavailable: Literal["ask", "refuse"] = "ask"
    #: Further folders that commands may change; the project always is one.
    writable: tuple[str, ...] = ()
    #: Further files and folders that commands may read, such as a tool chain in your home folder.
    readable: tuple[str, ...] = ()
    #: How much memory one process of a command may take, and all of them together, in megabytes.
    memory_mb: _Megabytes = 4096
    #: How many processes and threads one command may have at a time.
    max_processes: Annotated[int, Meta(ge=8, le=100_000)] = 512
    #: How long a file may be that a command writes, in megabytes.
    max_file_mb: _Megabytes = 1024
    #: How much a command may write to its private /tmp and home folder, each, in megabytes.
    tmp_mb: _Megabytes = 1024


def own_sandbox(config: Config, user_dir: str) -> SandboxSettings:
    """What the user says of the sandbox. A project's file says nothing of it: its commands are those confined."""
    section: SandboxSettings = own_section(config, user_dir, "sandbox", {})
    return section


Section = SandboxSettings
