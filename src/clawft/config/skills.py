"""The section `[skills]`: what is loaded, and from where."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from clawft.config.secret import EnvValue, SecretRef

OTHER_CLIENTS = (".codex", ".gemini", ".opencode", ".cursor", ".github", ".goose")


class LoadSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills.load]`."""

    #: Further folders of skills, searched last. `~` and paths relative to the project are understood.
    extra_dirs: tuple[str, ...] = ()
    #: Folders of other clients whose `skills/` is read too, in the project and in the home folder.
    clients: tuple[str, ...] = OTHER_CLIENTS
    #: Notice edits as they happen, while the daemon or a session in the terminal runs. false looks every few seconds in
    #: the daemon, and tells nothing at the prompt; a new turn sees edits all the same.
    watch: bool = True
    #: How long edits must rest before they are read again, in milliseconds: so many that belong together are one.
    watch_debounce_ms: Annotated[int, Meta(ge=0, le=60_000)] = 250


class SkillEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills.entries.NAME]`: settings of one skill."""

    #: false takes the skill out of use.
    enabled: bool = True
    #: true describes the skill to a model before all others.
    pinned: bool = False
    #: Environment variables for programs of the skill, and for no others; they satisfy its `requires.env`. Each is a
    #: text or a reference to a secret, as `weft skills env` writes it: `{ keystore = "NAME" }` or `{ env = "NAME" }`.
    env: dict[str, EnvValue] = {}
    #: The value for the variable the skill names as its `primaryEnv`.
    api_key: SecretRef | None = None


class PromptSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills.prompt]`: how a model learns of skills."""

    #: `catalog` lists names and descriptions and lets the model load one; `full` gives it every body at once.
    inject: Literal["catalog", "full"] = "catalog"
    #: Characters the catalog may take, or 2 % of the model's window if that is less. SKILLS_PROMPT_CHAR_BUDGET wins.
    char_budget: Annotated[int, Meta(ge=0)] = 12_000
    #: How many skills `full` gives; 0 means all.
    max_skills: Annotated[int, Meta(ge=0)] = 20
    #: `full` gives skills with unmet requirements too.
    include_disabled: bool = False
    #: What stands between two skills that `full` gives.
    separator: str = "\n\n---\n\n"
    #: Look for changed skills each time the model asks for one. SKILLS_REFRESH_ON_CALL wins.
    refresh_on_call: bool = True


class SecuritySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills.security]`."""

    #: Scan a skill before it is offered. What did not change since is not scanned again.
    scan_on_load: bool = True
    #: Keep a skill with a critical finding, or one that could not be scanned, from being offered or run.
    block_critical: bool = True
    #: The starts of command lines that a skill's own text may run, word by word; empty runs nothing.
    allowed_command_prefixes: tuple[str, ...] = ()
    #: Install only what is signed by a publisher you trust (`weft publishers`). What a project's config says of this
    #: is not followed.
    require_signature: bool = False


class SkillsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[skills]`."""

    #: false takes all skills out of use.
    enabled: bool = True
    #: Which bundled skills may be used; absent means all.
    allow_bundled: tuple[str, ...] | None = None
    #: How much of a skill's body reaches a model; the rest is cut off with a warning.
    max_skill_prompt_bytes: Annotated[int, Meta(ge=1, le=1 << 20)] = 32 * 1024
    load: LoadSettings = LoadSettings()
    prompt: PromptSettings = PromptSettings()
    entries: dict[str, SkillEntry] = {}
    #: Settings of other clients that skills ask for with `requires.config`: `channels.slack` is looked up here too.
    config: dict[str, Any] = {}
    security: SecuritySettings = SecuritySettings()
