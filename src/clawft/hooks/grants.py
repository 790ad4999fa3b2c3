"""What one hook may reach, all decided: for Deno's own permissions, and for the sandbox around it."""

import os
import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from clawft.errors import ClawftError
from clawft.trust.hosts import Grant, parse_grant

__all__ = ["Grants", "HookJob", "allow_flags", "check_grants", "find_tellable"]

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEERS = ("DENO_", "LD_")  # these would be told to Deno itself, or to the loader, before any permission counts


class Grants(Struct, frozen=True):
    """Beside its own folder and the project, which it reads. Paths are absolute; `env` are all variables it gets."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    net: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class HookJob(Struct, frozen=True):
    """A hook that may run as it is now. `root` is the folder that `digest` was taken of; with a digest it runs on a
    copy of what that covers. `handler` is a path below `root`. `version` changes when a file of it does;
    `secret` are those of its variables that nobody else may see."""

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
    version: str = ""
    secret: tuple[str, ...] = ()


def check_grants(grants: Grants) -> None:
    """Refuse what Deno would take for something else than it is.

    Raises: ClawftError with code `hook-permissions`, or `host-invalid`.
    """
    for name in grants.env:
        if not _VARIABLE.fullmatch(name):  # `*` stands for every variable
            raise _refuse(f"{name[:80]!a} is no name of a variable")
        if name.upper().startswith(_STEERS):
            raise _refuse(f"The variable {name} cannot be given to a hook: it steers Deno itself")
    for host in grants.net:
        parse_grant(host)
    _check_paths((*grants.read, *grants.write))


def allow_flags(read: Iterable[str], grants: Grants) -> list[str]:
    """Deno's flags for what a hook may reach; it also reads `read`. Raises: ClawftError."""
    paths = {"read": (*read, *grants.read, *grants.write), "write": grants.write}
    _check_paths((*paths["read"], *paths["write"]))
    flags = [f"--allow-{what}={','.join(dict.fromkeys(names))}" for what, names in paths.items() if names]
    hosts = [parse_grant(one) for one in grants.net]
    if any(not one.host for one in hosts):  # every host: Deno has no word for it but none; the sandbox knows the port
        flags.append("--allow-net")
    elif hosts:
        flags.append(f"--allow-net={','.join(dict.fromkeys(map(_host, hosts)))}")
    if grants.env:
        flags.append(f"--allow-env={','.join(grants.env)}")
    if "HOME" in grants.env:  # `os.homedir()` says the same, and many ask it
        flags.append("--allow-sys=homedir")
    return flags


def _host(grant: Grant) -> str:
    """A host in Deno's words. Without a port Deno means all; the sandbox around it lets only those of the web pass."""
    name = f"[{grant.host}]" if ":" in grant.host else grant.host
    return f"{'*.' if grant.subdomains else ''}{name}{f':{grant.port}' if grant.port else ''}"


def find_tellable(path: str) -> str:
    """A folder, or the nearest one above it that a flag of Deno's can name; itself where there is none."""
    above = path
    while not _is_tellable(above):
        above = os.path.dirname(above)
    return path if above == "/" else above


def _is_tellable(path: str) -> bool:
    return "," not in path and "\0" not in path and path.encode("utf-8", "ignore").decode() == path


def _check_paths(paths: Iterable[str]) -> None:
    for path in paths:
        if not _is_tellable(path):
            what = "a comma" if "," in path else "what is no UTF-8"
            raise _refuse(f"Deno cannot be told of a path with {what} in it: {path[:200]!a}")


def _refuse(message: str) -> ClawftError:
    return ClawftError("hook-permissions", message, hint="See permissions and env in [hooks.entries] of your config")
