"""The context of a skill's use: what it may be used with, and the files that its text names."""

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct, structs

from clawft.agent.tools.environment import SkillVariables
from clawft.agent.tools.file_access import read_file_at, resolve_inside
from clawft.agent.tools.steps import TurnSteps
from clawft.agent.tools.tool import CallFiles, CallPermission, ToolContext, ToolError
from clawft.config import Config
from clawft.config.redaction import Secrets
from clawft.errors import ClawftError, Diagnostic, Refused, Severity
from clawft.files import is_within
from clawft.sandbox.sandbox import Sandbox
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.digest import SnapshotReader, list_files
from clawft.skills.parse.model import Skill
from clawft.skills.render.prompt import DynamicPlace, DynamicResults, complete_variables
from clawft.skills.render.template import PromptArguments, TemplateVariables, fill_in, wrap_file
from clawft.trust.audit import AuditLog
from clawft.trust.audit.log import AuditFields
from clawft.trust.path_patterns import CheckedCall, PatternRoots, ToolTraits
from clawft.trust.permissions import CallAuthority, UsableSkill, decide_call, find_denied_paths, make_limit
from clawft.workspace import Workspace

# What moves the cursor, colours, and the titles and links of terminals.
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
# Control characters but tab and line end, marks that turn text around, and what no reader sees but a model does.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e0fff]")
TellPerson = Callable[[str], None]  # says something to the person
_LONGEST = 500  # characters of a command that are said


@dataclass(frozen=True)
class DynamicContext:
    """The context in which the skills of one process are rendered."""

    workspace: Workspace
    environ: Mapping[str, str]
    config: Config
    secrets: Secrets
    audit: AuditLog
    sandbox: Sandbox
    supplies: SkillVariables
    authority: Callable[[], CallAuthority]  # all that bears on what is run now
    steps: Callable[[], TurnSteps] = TurnSteps  # those of the conversation
    ask: Callable[[str, str], Awaitable[bool]] | None = (
        None  # puts a command and a reason to the person, if one is there
    )

    @property
    def prefixes(self) -> tuple[str, ...]:
        return self.config.skills.security.allowed_command_prefixes

    def clean(self, text: str) -> str:
        """Clean text from outside, so that it may be shown and sent."""
        return clean_output(self.secrets.mask(text))

    def show(self, command: str) -> str:
        """A command on one line, to be quoted."""
        return self.clean(command.replace("\n", "\\n"))[:_LONGEST]


class SkillUseContext(Struct, frozen=True):
    """One use of a skill: which it is, and what it was given."""

    found: DiscoveredSkill
    usable: UsableSkill
    arguments: PromptArguments
    variables: TemplateVariables
    tell: TellPerson

    @property
    def skill(self) -> Skill:
        return self.usable.skill

    @property
    def folder(self) -> str:
        """The skill's own; a command has none."""
        return self.found.base_dir

    def line_of(self, place: DynamicPlace) -> int:
        """The line of a place in the skill's file."""
        return max(self.skill.body_line, 1) + place.line - 1

    def refuse(self, place: DynamicPlace, message: str, hint: str = "") -> Refused:
        """Return the error that keeps the skill from being used."""
        return Refused("command-refused", message, path=self.found.file, line=self.line_of(place), hint=hint)

    def fail(self, place: DynamicPlace, message: str) -> ClawftError:
        hint = "Nothing of the skill was used"
        return ClawftError("command-failed", message, path=self.found.file, line=self.line_of(place), hint=hint)

    def record(
        self,
        audit: AuditLog,
        kind: str,
        subject: str,
        decision: str,
        rule: str = "",
        detail: Mapping[str, object] | None = None,
    ) -> None:
        """One line about what this skill does. Raises: Refused if what is to be allowed cannot be noted."""
        about: AuditFields = {
            "skill": self.skill.name,
            "digest": self.usable.digest,
            "session": self.variables.session_id,
        }
        about |= {"rule": rule, "detail": detail}
        audit.record(kind, subject, decision=decision, **about)


async def _refuse(question: str, reason: str, *, dangerous: bool = False) -> bool:  # noqa: ARG001
    return False


def get_skill_authority(context: DynamicContext, use: SkillUseContext) -> CallAuthority:
    """Return the authority of a skill: what limits the conversation already, and what the skill disallows itself. A
    skill's own text never grants it anything."""
    authority = context.authority()
    itself = make_limit(f"the skill '{use.skill.name}'", None, use.skill.disallowed_tools)
    return structs.replace(authority, limits=(*authority.limits, itself))


def make_reading_context(context: DynamicContext, roots: tuple[str, ...] = ()) -> ToolContext:
    """Build a tool context that judges paths as file tools do, with additional readable folders and nobody to ask."""
    nowhere = f"{context.workspace.user_dir}/run/none"  # nothing is spilled
    where = PatternRoots(context.workspace.project, home=context.workspace.home)
    return ToolContext(
        context.workspace,
        context.environ,
        context.sandbox,
        CallFiles(nowhere, nowhere),
        _refuse,
        lambda _: None,
        permission=CallPermission(denied=find_denied_paths(context.authority(), where)),
        read_roots=roots,
    )


def clean_output(text: str) -> str:
    """A text without what a terminal would act on, or what nobody can see."""
    lines = _SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", lines)


MAX_CHARS = 64 * 1024
MAX_ATTACHED = 20
MAX_FILE_BYTES = 5 << 20
_RULE = "paths of file tools"


def read_files(context: DynamicContext, places: Sequence[DynamicPlace], use: SkillUseContext) -> DynamicResults:
    """Read the files that places name, and return the replaced texts and the attachments. Raises: Refused, ClawftError
    for a `!read` that is not possible."""
    return _Reader(context, use).read(places) if places else DynamicResults()


class _Reader:
    def __init__(self, context: DynamicContext, use: SkillUseContext) -> None:
        self._context = context
        self._use = use
        self._reading = SnapshotReader(use.folder)
        self._looking = make_reading_context(context)
        self._authority = get_skill_authority(context, use)
        self._own = frozenset((*list_files(use.folder), "SKILL.md")) if use.folder else frozenset()
        self._read_own = False

    def read(self, places: Sequence[DynamicPlace]) -> DynamicResults:
        texts: dict[int, str] = {}
        files: dict[str, str] = {}
        notes: list[Diagnostic] = []
        for place in places:
            if place.kind == "read":
                texts[place.start] = self._bring(place)
            elif len(files) == MAX_ATTACHED:
                notes.append(self._note(place, "note", f"{MAX_ATTACHED} files are the limit"))
            elif place.command not in files and (text := self._attach(place, notes)) is not None:
                files[place.command] = wrap_file(place.command, text, MAX_CHARS)
        self._check_unchanged()
        return DynamicResults(texts, tuple(files.values()), tuple(notes))

    def _bring(self, place: DynamicPlace) -> str:
        """The text of a `!read`. Raises: Refused, ClawftError."""
        path = self._fill(place.command, self._use.arguments)
        if not path:
            raise self._use.fail(place, "`!read` names no file")
        shown = self._context.show(f"!read {path}")
        try:
            text = self._load(path)
        except (ToolError, Refused) as error:
            if isinstance(error, ToolError) and error.error_code != "PERMISSION_DENIED":
                raise self._use.fail(place, f"`{shown}`: {error}") from error
            self._use.record(self._context.audit, "denial", f"!read {path}", "deny", f"{_RULE}: {error}")
            raise self._use.refuse(place, f"`{shown}`: {error}", error.hint) from error
        except (ClawftError, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise self._use.fail(place, f"`{shown}` failed: {why}") from error
        if len(text) > MAX_CHARS:
            text = (
                f"{text[:MAX_CHARS]}\n[cut: {len(text) - MAX_CHARS} characters are left out; {MAX_CHARS} is the limit]"
            )
        return text.rstrip("\n")

    def _attach(self, place: DynamicPlace, notes: list[Diagnostic]) -> str | None:
        """The text of a file that is mentioned; None where it is none that may be read, which is said."""
        path = self._fill(place.command, PromptArguments())
        try:
            return self._load(path)
        except (ClawftError, OSError) as error:
            denied = isinstance(error, ToolError) and error.error_code == "PERMISSION_DENIED"
            if denied:
                self._use.record(self._context.audit, "denial", f"@{path}", "deny", f"{_RULE}: {error}")
            if denied or place.is_certainly_a_file:
                is_missing = isinstance(error, FileNotFoundError | NotADirectoryError)
                why = "there is no such file" if is_missing else str(error)
                notes.append(self._note(place, "warning" if denied else "note", why))
            return None

    def _note(self, place: DynamicPlace, severity: Severity, why: str) -> Diagnostic:
        file, line = self._use.found.file, self._use.line_of(place)
        return Diagnostic("dynamic-context", severity, f"@{place.head} stays as text: {why}", file, line)

    def _fill(self, path: str, arguments: PromptArguments) -> str:
        """Fill the tokens of a path."""
        known = complete_variables(self._use.skill, self._use.variables)
        return fill_in(path, arguments, known)

    def _load(self, path: str) -> str:
        """The text of a file: of the skill if it has it, else of the project. Raises: ClawftError, OSError."""
        folder = self._use.folder
        relative = os.path.relpath(path, folder) if folder and is_within(path, folder) else os.path.normpath(path)
        if relative in self._own:
            data, _ = self._reading.load(os.path.join(folder, relative), folder)
            self._read_own = True
            subject = f"read {relative} of the skill"
        else:
            real = resolve_inside(self._looking, path)
            if folder and is_within(real, os.path.realpath(folder)):
                raise ToolError("PERMISSION_DENIED", f"'{path}' is no file that belongs to the skill")
            self._check(path, real)
            data, _ = read_file_at(real, MAX_FILE_BYTES)
            subject = f"read {real}"
        if b"\0" in data[:4096]:
            raise ToolError("INVALID_PARAM", "It is no text")
        self._use.record(self._context.audit, "command", subject, "allow", _RULE)
        return self._context.clean(data.decode("utf-8", "replace"))

    def _check(self, path: str, real: str) -> None:
        """Judge a file of the project as if a model asked for it; nobody is asked here. Raises: ToolError."""
        where = PatternRoots(self._context.workspace.project, home=self._context.workspace.home)
        decision = decide_call(
            CheckedCall("read_file", {"path": real}, where, ToolTraits(read_only=True)), self._authority
        )
        if decision.decision in ("deny", "ask"):
            raise ToolError("PERMISSION_DENIED", f"'{path}' is not read: {decision.rule}", hint=decision.hint)

    def _check_unchanged(self) -> None:
        """Check that what was read of the skill is what was approved. Raises: Refused."""
        if self._read_own and self._reading.digest().value != self._use.usable.digest:
            hint = "Look at it again: weft skills trust"
            raise Refused("skill-changed", "The skill changed while it was read", path=self._use.folder, hint=hint)
