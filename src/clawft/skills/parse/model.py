"""The values this package makes: one union of what all clients write into a skill or an agent file.

Defined once and frozen. Nothing here knows about YAML or the disk; `fields.py` maps spellings to these names.
"""

from typing import Any, Literal

from msgspec import Struct

from clawft.errors import Diagnostic

__all__ = ["Agent", "Install", "Interface", "Requires", "Skill", "SkillContext", "SkillFormat", "ToolDefinition"]

SkillContext = Literal["inline", "fork"]
SkillFormat = Literal["skill.md", "legacy", "command"]


class Requires(Struct, frozen=True, omit_defaults=True):
    """What must be present for the skill to work."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


class Install(Struct, frozen=True, omit_defaults=True):
    """One way to install what a skill requires. Shown to the user; never run by loading."""

    kind: str = ""
    id: str = ""
    label: str = ""
    formula: str = ""
    cask: str = ""
    package: str = ""
    module: str = ""
    url: str = ""
    bins: tuple[str, ...] = ()
    os: tuple[str, ...] = ()


class ToolDefinition(Struct, frozen=True, omit_defaults=True):
    """A tool that the skill itself brings (`tools:` items that are mappings, D14)."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    command: tuple[str, ...] = ()  # the words of its program; without them it is a file of `scripts/`
    execution: str = ""  # in the place of the skill's
    repeatable: bool = False  # a second run with the same arguments does no more than the first


class Interface(Struct, frozen=True, omit_defaults=True):
    """How a client presents the skill: Codex's `agents/openai.yaml`."""

    short_description: str = ""
    icon_small: str = ""
    icon_large: str = ""
    brand_color: str = ""
    default_prompt: str = ""


class Skill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A skill as text says it: the union of the frontmatter of every client (INTEROP 1.6), normalised."""

    # What it is
    name: str
    display_name: str = ""
    description: str = ""
    when_to_use: str = ""
    version: str = "0.1.0"
    license: str = ""
    compatibility: str = ""
    homepage: str = ""
    author: str = ""
    emoji: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    # Who may start it, and with which arguments
    disable_model_invocation: bool = False
    user_invocable: bool = True
    always: bool = False
    internal: bool = False
    argument_hint: str = ""
    arguments: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    # How it runs
    context: SkillContext = "inline"
    agent: str = ""
    background: bool | None = None
    model: str = ""
    effort: str = ""
    shell: str = ""
    execution: str = "prompt"
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    provided_tools: tuple[ToolDefinition, ...] = ()
    permissions: tuple[str, ...] = ()
    hooks: dict[str, Any] = {}
    hook_before: str = ""
    hook_after: str = ""
    command_dispatch: str = ""
    command_tool: str = ""
    command_arg_mode: str = ""
    # What it needs
    requires: Requires = Requires()
    install: tuple[Install, ...] = ()
    primary_env: str = ""
    skill_key: str = ""
    dependencies: tuple[str, ...] = ()
    # What was written and is not interpreted here
    metadata: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    interface: Interface = Interface()
    # Where it comes from; the prompt, which begins at `body_line`, is read with the body and never stored (R12)
    format: SkillFormat = "skill.md"
    body_bytes: int = 0
    body_line: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    prompt: str | None = None


class Agent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named persona: model, prompt, tools and skills (R77). `tools` None means all, () means none (D16)."""

    name: str
    description: str = ""
    model: str = ""
    system_prompt: str = ""
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    max_tool_iterations: int | None = None
    temperature: float | None = None
    context_window: int | None = None
    permission_mode: str = ""  # Claude's word for it; it may only lower the session's
    extra: dict[str, Any] = {}
    diagnostics: tuple[Diagnostic, ...] = ()
