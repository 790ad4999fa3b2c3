"""The skills of one conversation: which may be loaded, which were, and what they restrict and bring along."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from html import escape

from msgspec import Struct

from clawft.agent.tools.dynamic import DynamicContext, render_dynamic
from clawft.agent.tools.tool import ToolError
from clawft.errors import ClawftError, Diagnostic, Refused, find_close
from clawft.messages import By, Event, Noticed, SkillActivated
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.discovery.digest import list_files
from clawft.skills.discovery.locations import Location
from clawft.skills.discovery.mcp_copies import find_origin
from clawft.skills.parse.model import Skill
from clawft.skills.render.prompt import RenderedPrompt, render_skill
from clawft.skills.render.template import PromptArguments, TemplateVariables
from clawft.trust.permissions import ActiveSkill, UsableSkill
from clawft.trust.status import STATES, SkillStatus

MAX_LISTED_FILES = 100
_LOOK = "Look at it, then send a message: what is there then counts"
_WRAPPER = re.compile(r"<\s*(/)\s*skill_content", re.IGNORECASE)


class Activation(Struct, frozen=True):
    """A skill whose text reached the model."""

    skill_status: SkillStatus
    usable: UsableSkill
    text: str
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def skill(self) -> Skill:
        return self.usable.skill

    @property
    def name(self) -> str:
        return self.skill.name

    @property
    def digest(self) -> str:
        """The digest of the folder that the text is from."""
        return self.usable.digest

    @property
    def at_work(self) -> ActiveSkill:
        """The part of it that limits the calls of its conversation and of forks below."""
        return self.usable.at_work(self.skill_status.found.base_dir)


class LoadedSkill(Struct, frozen=True):
    """A loaded skill that may bring programs along: where it is, and its usable form."""

    name: str
    folder: str
    usable: UsableSkill
    location: Location | None = None


class Skillset:
    """Skills as one conversation sees them. `load` gives every skill with its state, as it is on disk now."""

    def __init__(
        self,
        load: Callable[[], Sequence[SkillStatus]],
        load_usable: Callable[[DiscoveredSkill], UsableSkill],
        dynamic: DynamicContext,
        *,
        session_id: str,
        refresh_on_call: bool = True,
        statuses: Sequence[SkillStatus] | None = None,
        activated: Iterable[str] = (),
    ) -> None:
        """`statuses` are those of a fork's parent; `activated` the names that were loaded earlier in the session."""
        self._load = load
        self._load_usable = load_usable
        # Whether a skill in a folder, as it is now, is one whose limits the conversation has.
        self.is_bound: Callable[[str, UsableSkill], bool] = lambda _folder, _usable: True
        self._dynamic = dynamic
        self.session_id = session_id
        self.refresh_on_call = refresh_on_call
        self._statuses = None if statuses is None else tuple(statuses)
        self._activated = tuple(activated)
        self.active: list[Activation] = []  # since the last user message: these restrict tools
        self.prompted: list[Activation] = []  # those whose text is in the system prompt of this turn
        self._usable: dict[str, UsableSkill] = {}  # loaded ones, as they were when this turn began or they were loaded
        self._unusable: set[str] = set()  # loaded ones whose programs are not offered in this turn
        self.brought: dict[str, frozenset[str]] = {}  # skill -> the tools that it brought along
        self._problems: dict[Diagnostic, bool] = {}  # what keeps programs from being offered -> whether it was reported

    @property
    def statuses(self) -> tuple[SkillStatus, ...]:
        """Every skill with its state, as it was when the turn began."""
        if self._statuses is None:
            self._statuses = tuple(self._load())
        return self._statuses

    @cached_property
    def loaded(self) -> dict[str, str]:
        """The folders of the skills that were loaded in the whole conversation, by name."""
        folders = {status.name: status.found.folder for status in self.statuses if status.usable}
        return {name: folders[name] for name in self._activated if name in folders}

    @cached_property
    def offered(self) -> tuple[SkillStatus, ...]:
        return tuple(status for status in self.statuses if status.offered)

    def start_turn(self) -> None:
        """A new message of the person: restrictions end, and edits on disk are seen."""
        self.active, self.prompted = [], []
        self._usable, self._unusable = {}, set()
        self.reload()

    def reload(self) -> None:
        """See what changed on disk, or was decided, since the turn began."""
        self._statuses = tuple(self._load())
        vars(self).pop("offered", None)

    def get_offered(self, name: str) -> SkillStatus:
        """A skill that a model may load. Raises: ToolError."""
        offered = {skill_status.name: skill_status for skill_status in self.offered}
        if name in offered:
            return offered[name]
        known = next((status for status in self.statuses if status.name == name), None)
        if known is not None:
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' is {known.state}: {STATES[known.state]}")
        close = find_close(name, offered)
        hint = f"Did you mean '{close}'?" if close else "Use skill_search to find one"
        raise ToolError("NOT_FOUND", f"There is no skill '{name}'", hint=hint)

    async def read(
        self, status: SkillStatus, arguments: PromptArguments, emit: Callable[[Event], None], digest: str = ""
    ) -> Activation:
        """A skill's text as a model gets it, read from disk now, with the files and commands that it asks for.

        With `digest`, it must be the same as then. Raises: ClawftError.
        """
        found = status.found
        usable = self._load_usable(found)
        if digest and usable.digest != digest:
            message = f"The skill '{status.name}' changed since the fork was asked for"
            raise Refused("fork-changed", message, hint="Look at it, then start it again")

        def tell(message: str) -> None:
            emit(Noticed(code="dynamic-context", message=message))

        rendered = await render_dynamic(self._dynamic, found, usable, arguments, self._variables(found), tell)
        return _activate(status, usable, rendered)

    def look_at(self, status: SkillStatus) -> Activation:
        """A skill as it is on disk now, without its text. Raises: ClawftError."""
        return Activation(status, self._load_usable(status.found), "")

    def read_unfilled(self, status: SkillStatus) -> Activation:
        """A skill's text without arguments, in which commands and files stay as they are written.

        Raises: ClawftError.
        """
        found = status.found
        usable = self._load_usable(found)
        prefixes = self._dynamic.prefixes
        rendered = render_skill(usable.skill, PromptArguments(), self._variables(found), found.file, prefixes)
        return _activate(status, usable, rendered)

    def _variables(self, found: DiscoveredSkill) -> TemplateVariables:
        project, numbered = self._dynamic.workspace.project, found.location.claude
        return TemplateVariables(self.session_id, found.base_dir, project, numbered=numbered)

    def list_loaded(self) -> list[LoadedSkill]:
        """List the loaded skills that have programs, in the order they were loaded: their text is in the context, so
        what it mentions stays usable after their restrictions ended.

        A skill that may not be used as it is now is left out, and the reason is among the problems.
        """
        found = []
        for name, folder in self.loaded.items():
            if name not in self._usable and name not in self._unusable and self._has_programs(folder):
                try:
                    self._usable[name] = self.get_usable(name).usable
                except ToolError as error:
                    self._unusable.add(name)
                    self.add_problem(Diagnostic("skill-programs", "warning", f"{error}", folder, 0, error.hint))
            if name in self._usable:
                status = self._find_status(folder)
                found.append(LoadedSkill(name, folder, self._usable[name], status.found.location if status else None))
        return found

    def add_problem(self, problem: Diagnostic) -> None:
        """Add a problem that keeps a program of a skill from being offered, to be reported once."""
        self._problems.setdefault(problem, False)

    def take_problems(self) -> list[Diagnostic]:
        """The problems that were not told yet."""
        new = [problem for problem, is_reported in self._problems.items() if not is_reported]
        self._problems = dict.fromkeys(self._problems, True)
        return new

    def get_unchanged(self, name: str) -> LoadedSkill:
        """A loaded skill that is, and may be used, as it was when its programs were offered. Raises: ToolError."""
        now = self.get_usable(name)
        then = self._usable.setdefault(name, now.usable)
        if not now.usable.digest:
            message = f"There is no digest of the skill '{name}', so its programs cannot be run"
            raise ToolError("PERMISSION_DENIED", message, hint="Put plain files in the place of links")
        if then.digest != now.usable.digest:
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' changed since it was loaded", hint=_LOOK)
        return now

    def _has_programs(self, folder: str) -> bool:
        status = self._find_status(folder)
        skill = status.found.skill if status else None
        return bool(skill and skill.provided_tools) or os.path.isdir(os.path.join(folder, "scripts"))

    def _find_status(self, folder: str) -> SkillStatus | None:
        return next((status for status in self.statuses if status.found.folder == folder), None)

    def get_usable(self, name: str) -> LoadedSkill:
        """Return a skill that was loaded and may still be used as it is now. Raises: ToolError."""
        folder = self.loaded.get(name)
        if folder is None:
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' is not loaded", hint="Load it with Skill")
        status = self._find_status(folder)
        if status is None:
            raise ToolError("NOT_FOUND", f"The skill '{name}' was removed")
        if status.state in ("blocked", "untrusted", "disabled"):
            why = STATES[status.state]
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' is {status.state}: {why}")
        try:
            usable = self._load_usable(status.found)
        except ClawftError as error:
            raise load_failure(error) from error
        if not self.is_bound(folder, usable):
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' is not what was loaded", hint="Load it again")
        return LoadedSkill(name, folder, usable, status.found.location)

    def activate(self, activation: Activation) -> None:
        """From now on the skill counts as loaded, and restricts tools until the next message."""
        self.note_loaded(activation)
        again = [
            earlier for earlier in self.active if (earlier.name, earlier.digest) == (activation.name, activation.digest)
        ]
        self.active = [*(earlier for earlier in self.active if earlier not in again), activation]

    def note_loaded(self, activation: Activation) -> None:
        """The skill's text is in the context from now on."""
        self.loaded[activation.name] = activation.skill_status.found.folder
        self._usable[activation.name] = activation.usable

    def event(self, activation: Activation, by: By) -> SkillActivated:
        return SkillActivated(
            name=activation.name,
            scope=activation.skill_status.found.location.scope,
            digest=activation.digest,
            by=by,
            tools=activation.skill.allowed_tools or None,
        )


def _activate(status: SkillStatus, usable: UsableSkill, rendered: RenderedPrompt) -> Activation:
    skill = usable.skill
    text = _wrap(skill.name, status.found, rendered.text)
    diagnostics = tuple(diagnostic for diagnostic in skill.diagnostics if diagnostic.code == "body-truncated")
    return Activation(status, usable, text, (*diagnostics, *rendered.diagnostics))


def _wrap(name: str, found: DiscoveredSkill, body: str) -> str:
    """Wrap a skill's text: the base directory first, if there is one, then the body, then the files. Nothing inside can
    end the wrapper early.

    The wrapper of a skill from an MCP server names that server.
    """
    folder = found.base_dir
    files = list_files(folder) if folder else ()
    shown = "".join(f"\n- {' '.join(file.split())}" for file in files[:MAX_LISTED_FILES])
    more = f"\n- … and {len(files) - MAX_LISTED_FILES} more" if len(files) > MAX_LISTED_FILES else ""
    listed = f"\n\nFiles of this skill (read them with skill_read):{shown}{more}" if files else ""
    base = f"Base directory for this skill: {folder}\n\n" if folder else ""
    inner = f"{base}{body}{listed}"
    safe = _WRAPPER.sub(r"<\\\1skill_content", inner)
    origin = f' origin="{escape(find_origin(found))}"' if found.location.scope == "mcp" else ""
    return f'<skill_content name="{name}"{origin}>\n{safe}\n</skill_content>'


def load_failure(error: ClawftError) -> ToolError:
    """Convert the error of a skill that cannot be read, or was blocked meanwhile, to a tool error for the model."""
    message = f"The skill cannot be loaded: {error}"
    if isinstance(error, Refused):
        return ToolError("PERMISSION_DENIED", message, hint=error.hint)
    return ToolError("INTERNAL_ERROR", message, hint=error.hint)
