"""The section `[skills]` (R173): what is loaded, and from where."""

from typing import Annotated

from msgspec import Meta, Struct

from clawft.config.secret import SecretRef

__all__ = ["OTHER_CLIENTS", "LoadSettings", "SecuritySettings", "SkillEntry", "SkillsSettings"]

OTHER_CLIENTS = (".codex", ".gemini", ".opencode", ".cursor", ".github", ".goose")


class LoadSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills.load]`."""

    #: Further folders of skills, searched last. `~` and paths relative to the project are understood.
    extra_dirs: tuple[str, ...] = ()
    #: Folders of other clients whose `skills/` is read too, in the project and in the home folder.
    clients: tuple[str, ...] = OTHER_CLIENTS
    #: Notice edits while a session or the daemon runs. Accepted, without effect yet.
    watch: bool = True
    #: How long edits must rest before they are read again, in milliseconds. Accepted, without effect yet.
    watch_debounce_ms: Annotated[int, Meta(ge=0, le=60_000)] = 250


class SkillEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills.entries.NAME]`: settings of one skill."""

    #: false takes the skill out of use.
    enabled: bool = True
    #: Environment variables the skill gets while it runs; they satisfy its `requires.env`.
    env: dict[str, str] = {}
    #: The value for the variable the skill names as its `primaryEnv`.
    api_key: SecretRef | None = None


class SecuritySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills.security]`."""

    #: Scan a skill before it is offered. Accepted, without effect yet.
    scan_on_load: bool = True
    #: Keep a skill with a critical finding from being offered or run. Accepted, without effect yet.
    block_critical: bool = True
    #: The starts of command lines that a skill's own text may run; empty runs nothing. Accepted, without effect yet.
    allowed_command_prefixes: tuple[str, ...] = ()


class SkillsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills]`."""

    #: false takes all skills out of use.
    enabled: bool = True
    #: Which bundled skills may be used; absent means all.
    allow_bundled: tuple[str, ...] | None = None
    #: How much of a skill's body reaches a model; the rest is cut off with a warning.
    max_skill_prompt_bytes: Annotated[int, Meta(ge=1, le=1 << 20)] = 32 * 1024
    load: LoadSettings = LoadSettings()
    entries: dict[str, SkillEntry] = {}
    security: SecuritySettings = SecuritySettings()
