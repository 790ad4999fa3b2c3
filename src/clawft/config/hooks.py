"""The section `[hooks]`: which hooks run, and what each may reach."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from clawft.config.load import Config, own_section
from clawft.config.secret import EnvValue

__all__ = ["HookEntry", "HooksSettings", "Permissions", "Section", "own_hooks"]

_Seconds = Annotated[float, Meta(gt=0, le=600)]


class Permissions(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks.entries.NAME.permissions]`: what a hook may reach beside its own folder and the project, which it reads.

    Also what a HOOK.md asks for.
    """

    #: Further files and folders that it may read.
    read: tuple[str, ...] = ()
    #: Files and folders that it may change.
    write: tuple[str, ...] = ()
    #: Hosts that it may reach, such as `api.example.com` or `*.example.com`.
    net: tuple[str, ...] = ()
    #: Variables that it is given.
    env: tuple[str, ...] = ()


class HookEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks.entries.NAME]`: settings of one hook."""

    #: false takes the hook out of use.
    enabled: bool = True
    #: Variables for the hook, and for no other. Each is a text or a reference to a secret: `{ keystore = "NAME" }` or
    #: `{ env = "NAME" }`.
    env: dict[str, EnvValue] = {}
    #: What it may reach; absent means what its HOOK.md asks for.
    permissions: Permissions | None = None
    #: How long one call may take, in seconds; absent means `hooks.timeout_s`.
    timeout_s: _Seconds | None = None
    #: What becomes of a tool call whose hook fails: it is made (`ignore`) or refused (`deny`).
    on_failure: Literal["ignore", "deny"] = "ignore"
    #: Keep its process between calls; absent means `hooks.persistent`.
    persistent: bool | None = None


class HookLoad(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks.load]`."""

    #: Further folders of hooks. `~` and paths relative to the project are understood.
    extra_dirs: tuple[str, ...] = ()


class HooksSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks]`. What a project's config says here is not followed."""

    #: false takes all hooks out of use.
    enabled: bool = True
    #: Run the hooks of Claude Code's `settings.json` and of skills' frontmatter, too.
    claude: bool = True
    #: How long one call of a hook may take, in seconds.
    timeout_s: _Seconds = 10
    #: How much memory one hook may take, in megabytes.
    memory_mb: Annotated[int, Meta(ge=64, le=65_536)] = 256
    #: How much one call may print and return, in bytes.
    max_output_bytes: Annotated[int, Meta(ge=1024, le=16 << 20)] = 1 << 20
    #: Keep the process of a hook between calls, for events that come often: tool calls and messages.
    persistent: bool = False
    load: HookLoad = HookLoad()
    entries: dict[str, HookEntry] = {}


def own_hooks(config: Config, user_dir: str, environ: Mapping[str, str]) -> HooksSettings:
    """What the user says of hooks. A project's file says nothing of them: it could let its own run."""
    section: HooksSettings = own_section(config, user_dir, "hooks", environ)
    return section


Section = HooksSettings
