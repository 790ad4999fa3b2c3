"""What one hook may reach, all decided: for Deno's own permissions, and for the sandbox around it."""

from collections.abc import Mapping

from msgspec import Struct

__all__ = ["Grants", "HookJob"]


class Grants(Struct, frozen=True):
    """Beside its own folder and the project, which it reads. Paths are absolute; `env` are all variables it gets."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    net: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class HookJob(Struct, frozen=True):
    """A hook that may run as it is now. `root` is the folder that `digest` was taken of; with a digest it runs on a
    copy of what that covers. `handler` is a path below `root`."""

    name: str
    root: str
    handler: str
    digest: str = ""
    export: str = "default"
    grants: Grants = Grants()
    timeout_s: float = 10
    memory_mb: int = 256
    max_bytes: int = 1 << 20
    persistent: bool = False
