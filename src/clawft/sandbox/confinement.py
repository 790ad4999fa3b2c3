"""The limits of a confined program: it sees what is listed here, and nothing else."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from clawft.config.tools import SandboxSettings
from clawft.trust.path_patterns import DeniedPaths

HOST_HINT = "To allow it in permissions.allow: weft permissions allow 'WebFetch(domain:{host})'"
# Why a place is given with the secrets in it: it is a program and no folder of a person's, a copy of what was approved,
# or a place that a person named.
Reason = Literal["program", "approved", "named"]
_MB = 1024 * 1024


class ResourceLimits(Struct, frozen=True):
    """The resources that a program may use, with all it starts; time and output are bounded where it is run."""

    memory_bytes: int = 4096 * _MB
    processes: int = 512
    file_bytes: int = 1024 * _MB
    tmp_bytes: int = 1024 * _MB
    data_bytes: int = 0  # of one process, for what asks for more memory than it uses; 0: as `memory_bytes`


class Confinement(Struct, frozen=True):
    """The access that one program gets in addition to the system's own programs. Paths are absolute.

    `readable` is read, but for what is secret in it; `whole` is read with that, for a reason. `hidden` is not there,
    even where the system has it. `mounts` are pairs (source, where the program sees it), read-only. `own` are folders
    that nobody but the program uses, so that nothing in them has to be guarded from it. `hosts` is the granted network,
    reached through a proxy that judges each host; none means none. `host_hint` says how another `{host}` would be
    granted. `tmp` is the folder that is its /tmp, where it shares one; else it has an empty one of its own.
    """

    writable: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    whole: Mapping[Reason, tuple[str, ...]] = {}
    hidden: tuple[str, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    own: tuple[str, ...] = ()
    tmp: str = ""
    denied: DeniedPaths | None = None  # of what it sees: not there, or not to be changed
    hosts: tuple[str, ...] = ()
    proxy: bool = False  # there is one though no host is granted, which says what would grant it
    limits: ResourceLimits | None = None  # those of the settings
    host_hint: str = HOST_HINT
    least: bool = False  # it needs hardly anything of the system's settings, as a command of a person may
    only: bool = False  # what the settings open for every program is not for this one
    quiet_s: float = 300.0  # how long a connection is kept on which nothing moves


def limits_of(settings: SandboxSettings) -> ResourceLimits:
    """The limits that the settings name."""
    return ResourceLimits(
        settings.memory_mb * _MB, settings.max_processes, settings.max_file_mb * _MB, settings.tmp_mb * _MB
    )
