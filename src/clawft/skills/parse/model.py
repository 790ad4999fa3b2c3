"""The values that parsing makes (Skill, Agent and their parts), their names, and invisible characters made visible."""

import re
import unicodedata
from typing import Any, Literal

from msgspec import Struct

from clawft.errors import Diagnostic

MAX_NAME = 64
LEFT_OUT = frozenset({".git", "__pycache__", ".clawhub", ".clawft"})  # no part of a skill: nothing is read there
LEFT_OUT_FILES = frozenset({".clawft-signature", ".DS_Store"})
# The blocks of clients, an earlier one winning.
NAMESPACES = ("clawft", "openclaw", "wundr", "clawdbot", "clawdis", "moltbot", "nanobot", "clawdhub")
_CANONICAL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SAFE_FOLDER = re.compile(r"[A-Za-z0-9_-]+")


def is_canonical(name: str) -> bool:
    """Return whether a name is canonical: lowercase letters and digits of any script, joined by single hyphens, at most
    64."""
    if len(name) > MAX_NAME:
        return False
    if _CANONICAL.fullmatch(name):
        return True
    folded = unicodedata.normalize("NFKC", name).lower()  # so that no look-alike of a name is a name of its own
    return bool(name) and name == folded and all(part.isalnum() for part in name.split("-"))


def slugify(name: str) -> str:
    """The canonical name nearest to a text; empty when nothing of it can be kept."""
    folded = unicodedata.normalize("NFKC", name).lower()
    words = "".join(char if char.isalnum() and char == char.lower() else " " for char in folded).split()
    return "-".join(words)[:MAX_NAME].strip("-")


def is_safe_folder(name: str) -> bool:
    """Return whether a folder name is safe for a skill: letters, digits, `_` and `-` only."""
    return _SAFE_FOLDER.fullmatch(name) is not None


SkillContext = Literal["inline", "fork"]
SkillFormat = Literal["skill.md", "legacy", "command"]


class SkillRequirements(Struct, frozen=True, omit_defaults=True):
    """The requirements of a skill: what must be present for it to work."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


class SkillInstaller(Struct, frozen=True, omit_defaults=True):
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
    """A tool that the skill itself brings: an item of `tools:` that is a mapping."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}
    command: tuple[str, ...] = ()  # the words of its program; without them it is a file of `scripts/`
    execution: str = ""  # in the place of the skill's
    repeatable: bool = False  # a second run with the same arguments does no more than the first


class SkillInterface(Struct, frozen=True, omit_defaults=True):
    """The presentation of a skill in a client: Codex's `agents/openai.yaml`."""

    short_description: str = ""
    icon_small: str = ""
    icon_large: str = ""
    brand_color: str = ""
    default_prompt: str = ""


class Skill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A skill as text says it: the union of the frontmatter of every client, normalised."""

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
    requires: SkillRequirements = SkillRequirements()
    install: tuple[SkillInstaller, ...] = ()
    primary_env: str = ""
    skill_key: str = ""
    dependencies: tuple[str, ...] = ()
    # What was written and is not interpreted here
    metadata: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    interface: SkillInterface = SkillInterface()
    # Where it comes from; the prompt, which begins at `body_line`, is read with the body and never stored
    format: SkillFormat = "skill.md"
    body_bytes: int = 0
    body_line: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    prompt: str | None = None


class Agent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A named persona: model, prompt, tools and skills. `tools` None means all, () means none."""

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


# Zero-width and direction characters, fillers, tags, runs of variation selectors. A joiner counts beside plain ASCII
# only, since emoji and several scripts need it. The console has the same list in `dom.js`.
_INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]|(?<=[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?=[\x00-\x7f])"
    "|[\ufe00-\ufe0f]{2,}"
)
_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
HIDDEN = re.compile(f"{_CONTROL}|{_INVISIBLE}")
_RUN = re.compile(f"(?:{_INVISIBLE})+")


def escape_invisible(text: str) -> str:
    """A text in which each run of invisible characters is named: `<U+200B>`, `<U+E0041 and 12 more>`."""
    return text if text.isascii() else _RUN.sub(_name_run, text)


def find_hidden(text: str) -> str:
    """The name of the first control or invisible character of a text, `U+202E`; '' if there is none.

    Tabs and line ends are neither.
    """
    found = HIDDEN.search(text)
    return f"U+{ord(found[0][0]):04X}" if found else ""


def _name_run(run: re.Match[str]) -> str:
    more = f" and {len(run[0]) - 1} more" if len(run[0]) > 1 else ""
    return f"<U+{ord(run[0][0]):04X}{more}>"
