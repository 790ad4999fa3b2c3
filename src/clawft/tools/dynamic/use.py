"""The values of dynamic context: one use of a skill, and what it may be used with."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import Struct, structs

from clawft.config import Config
from clawft.config.masking import Secrets
from clawft.discovery.catalog import Found
from clawft.errors import ClawftError, Refused
from clawft.format.model import Skill
from clawft.render import Arguments, Dynamic, Variables
from clawft.sandbox.sandbox import Sandbox
from clawft.tools.skill_env import Supplies
from clawft.tools.steps import Steps
from clawft.tools.tool import ToolContext
from clawft.trust.audit import Audit
from clawft.trust.audit.log import More
from clawft.trust.call import Where
from clawft.trust.cleared import Cleared
from clawft.trust.decide import Authority, find_closed, make_limit
from clawft.workspace import Workspace

__all__ = ["DynamicContext", "Tell", "Use", "authority_over", "clean_output", "looking_context"]

# What moves the cursor, colours, and the titles and links of terminals.
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
# Control characters but tab and line end, marks that turn text around, and what no reader sees but a model does.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e0fff]")
Tell = Callable[[str], None]  # says something to the person
_LONGEST = 500  # characters of a command that are said


@dataclass(frozen=True)
class DynamicContext:
    """What the skills of one process may be used with."""

    workspace: Workspace
    environ: Mapping[str, str]
    config: Config
    secrets: Secrets
    audit: Audit
    sandbox: Sandbox
    supplies: Supplies
    authority: Callable[[], Authority]  # all that bears on what is run now
    steps: Callable[[], Steps] = Steps  # those of the conversation

    @property
    def prefixes(self) -> tuple[str, ...]:
        return self.config.skills.security.allowed_command_prefixes

    def clean(self, text: str) -> str:
        """What came from outside, as it may be shown and sent."""
        return clean_output(self.secrets.mask(text))

    def show(self, command: str) -> str:
        """A command on one line, to be quoted."""
        return self.clean(command.replace("\n", "\\n"))[:_LONGEST]


class Use(Struct, frozen=True):
    """One use of a skill: which it is, and what it was given."""

    found: Found
    cleared: Cleared
    arguments: Arguments
    variables: Variables
    tell: Tell

    @property
    def skill(self) -> Skill:
        return self.cleared.skill

    @property
    def folder(self) -> str:
        """The skill's own; a command has none."""
        return self.found.base_dir

    def line_of(self, place: Dynamic) -> int:
        """The line of a place in the skill's file."""
        return max(self.skill.body_line, 1) + place.line - 1

    def refuse(self, place: Dynamic, message: str, hint: str = "") -> Refused:
        """What keeps the skill from being used."""
        return Refused("command-refused", message, path=self.found.file, line=self.line_of(place), hint=hint)

    def fail(self, place: Dynamic, message: str) -> ClawftError:
        hint = "Nothing of the skill was used"
        return ClawftError("command-failed", message, path=self.found.file, line=self.line_of(place), hint=hint)

    def record(
        self,
        audit: Audit,
        kind: str,
        subject: str,
        decision: str,
        rule: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> None:
        """One line about what this skill does. Raises: Refused if what is to be allowed cannot be noted."""
        write = audit.write if decision == "allow" else audit.tell
        about: More = {"skill": self.skill.name, "digest": self.cleared.digest, "session": self.variables.session_id}
        about |= {"rule": rule, "detail": detail}
        write(kind, subject, decision=decision, **about)


async def _refuse(question: str, reason: str, *, grave: bool = False) -> bool:  # noqa: ARG001
    return False


def authority_over(context: DynamicContext, use: Use) -> Authority:
    """What is at work already limits a skill, and so does what it says of itself: nothing it says gives it power."""
    authority = context.authority()
    itself = make_limit(f"the skill '{use.skill.name}'", None, use.skill.disallowed_tools)
    return structs.replace(authority, limits=(*authority.limits, itself))


def looking_context(context: DynamicContext, roots: tuple[str, ...] = ()) -> ToolContext:
    """What judges paths as file tools do, with folders that may be read as well; there is nobody to ask."""
    nowhere = f"{context.workspace.user_dir}/run/none"  # nothing is spilled
    looking = ToolContext(context.workspace, context.environ, spill_dir=nowhere, ask=_refuse, emit=lambda _: None)
    looking.read_roots = roots
    closed = find_closed(context.authority())
    where = Where(context.workspace.project, home=context.workspace.home)
    looking.may_read = lambda path: not any(one.forbids(path, where) for one in closed)
    return looking


def clean_output(text: str) -> str:
    """A text without what a terminal would act on, or what nobody can see."""
    lines = _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", lines)
