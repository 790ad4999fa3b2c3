"""The skills of one conversation: which may be loaded, which were, and what they restrict and bring along."""

import os
import re
from collections.abc import Callable, Sequence
from html import escape

from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.discovery.digest import list_files
from clawft.discovery.locations import Location
from clawft.discovery.served import find_origin
from clawft.errors import ClawftError, Diagnostic, Refused, find_close
from clawft.format.model import Skill
from clawft.messages import By, Event, Noticed, SkillActivated
from clawft.render import Arguments, Rendered, Variables, render_skill
from clawft.tools.dynamic import DynamicContext, render_dynamic
from clawft.tools.tool import ToolError
from clawft.trust import STATES, Standing
from clawft.trust.cleared import AtWork, Cleared

__all__ = ["Activation", "Loaded", "Skillset"]

MAX_LISTED_FILES = 100
_LOOK = "Look at it, then send a message: what is there then counts"
_WRAPPER = re.compile(r"<\s*(/)\s*skill_content", re.IGNORECASE)


class Activation(Struct, frozen=True):
    """A skill whose text reached the model."""

    standing: Standing
    cleared: Cleared
    text: str
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def skill(self) -> Skill:
        return self.cleared.skill

    @property
    def name(self) -> str:
        return self.skill.name

    @property
    def digest(self) -> str:
        """Of the folder whose text this is."""
        return self.cleared.digest

    @property
    def at_work(self) -> AtWork:
        """What of it bears on the calls of its conversation, and of those below."""
        return self.cleared.at_work(self.standing.found.base_dir)


class Loaded(Struct, frozen=True):
    """A loaded skill that may bring programs along: where it is, and what was cleared."""

    name: str
    folder: str
    cleared: Cleared
    location: Location | None = None


class Skillset:
    """Skills as one conversation sees them. `load` gives every skill with its state, as it is on disk now."""

    def __init__(
        self,
        load: Callable[[], Sequence[Standing]],
        clear: Callable[[Found], Cleared],
        dynamic: DynamicContext,
        *,
        session_id: str,
        refresh_on_call: bool = True,
        standings: Sequence[Standing] | None = None,
    ) -> None:
        self._load = load
        self._clear = clear
        self._dynamic = dynamic
        self.session_id = session_id
        self.refresh_on_call = refresh_on_call
        self.standings = tuple(load() if standings is None else standings)
        self.loaded: dict[str, str] = {}  # name -> folder, over the whole conversation
        self.active: list[Activation] = []  # since the last message of the person: these restrict tools (D54)
        self.prompted: list[Activation] = []  # those whose text is in the system prompt of this turn
        self._cleared: dict[str, Cleared] = {}  # loaded ones, as they were when this turn began or they were loaded
        self._unusable: set[str] = set()  # loaded ones whose programs are not offered in this turn
        self.brought: dict[str, frozenset[str]] = {}  # skill -> the tools that it brought along
        self._problems: dict[Diagnostic, bool] = {}  # what keeps programs from being offered -> whether it was told

    @property
    def offered(self) -> tuple[Standing, ...]:
        return tuple(one for one in self.standings if one.offered)

    def start_turn(self) -> None:
        """A new message of the person: restrictions end, and edits on disk are seen."""
        self.active, self.prompted = [], []
        self._cleared, self._unusable = {}, set()
        self.standings = tuple(self._load())

    def refresh(self) -> None:
        """R68: what changed on disk since the turn began is seen when the model asks for a skill."""
        if self.refresh_on_call:
            self.standings = tuple(self._load())

    def reload(self) -> None:
        """See what was decided meanwhile, whatever the settings say of edits."""
        self.standings = tuple(self._load())

    def get_offered(self, name: str) -> Standing:
        """A skill that a model may load. Raises: ToolError."""
        offered = {one.name: one for one in self.offered}
        if name in offered:
            return offered[name]
        known = next((one for one in self.standings if one.name == name), None)
        if known is not None:
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' is {known.state}: {STATES[known.state]}")
        close = find_close(name, offered)
        hint = f"Did you mean '{close}'?" if close else "Use skill_search to find one"
        raise ToolError("NOT_FOUND", f"There is no skill '{name}'", hint=hint)

    async def read(
        self, standing: Standing, arguments: Arguments, emit: Callable[[Event], None], digest: str = ""
    ) -> Activation:
        """A skill's text as a model gets it, read from disk now, with the files and commands that it asks for.

        With `digest`, it must be the same as then. Raises: ClawftError.
        """
        found = standing.found
        cleared = self._clear(found)
        if digest and cleared.digest != digest:
            message = f"The skill '{standing.name}' changed since the fork was asked for"
            raise Refused("fork-changed", message, hint="Look at it, then start it again")

        def tell(message: str) -> None:
            emit(Noticed(code="dynamic-context", message=message))

        rendered = await render_dynamic(self._dynamic, found, cleared, arguments, self._variables(found), tell)
        return _activate(standing, cleared, rendered)

    def look_at(self, standing: Standing) -> Activation:
        """A skill as it is on disk now, without its text. Raises: ClawftError."""
        return Activation(standing, self._clear(standing.found), "")

    def read_still(self, standing: Standing) -> Activation:
        """A skill's text without arguments, in which commands and files stay as they are written.

        Raises: ClawftError.
        """
        found = standing.found
        cleared = self._clear(found)
        prefixes = self._dynamic.prefixes
        rendered = render_skill(cleared.skill, Arguments(), self._variables(found), found.file, prefixes)
        return _activate(standing, cleared, rendered)

    def _variables(self, found: Found) -> Variables:
        return Variables(self.session_id, found.base_dir, self._dynamic.workspace.project)

    def get_loaded(self, name: str) -> str:
        """The folder of a skill that was loaded and may still be used as it is now. Raises: ToolError."""
        return self._clear_loaded(name).folder

    def get_cleared(self, name: str) -> Loaded:
        """The same with what was cleared. Raises: ToolError."""
        return self._clear_loaded(name)

    def list_loaded(self) -> list[Loaded]:
        """Skills that were loaded and have programs, in the order they were loaded: their text is in the context, so
        what it speaks of stays usable after their restrictions ended (D54).

        One that may not be used as it is now is left out, and why is among the problems.
        """
        found = []
        for name, folder in self.loaded.items():
            if name not in self._cleared and name not in self._unusable and self._has_programs(folder):
                try:
                    self._cleared[name] = self._clear_loaded(name).cleared
                except ToolError as error:
                    self._unusable.add(name)
                    self.add_problem(Diagnostic("skill-programs", "warning", f"{error}", folder, 0, error.hint))
            if name in self._cleared:
                standing = self._find_standing(folder)
                found.append(Loaded(name, folder, self._cleared[name], standing.found.location if standing else None))
        return found

    def add_problem(self, problem: Diagnostic) -> None:
        """Something that keeps a program of a skill from being offered, to be told once."""
        self._problems.setdefault(problem, False)

    def take_problems(self) -> list[Diagnostic]:
        """The problems that were not told yet."""
        new = [one for one, told in self._problems.items() if not told]
        self._problems = dict.fromkeys(self._problems, True)
        return new

    def get_unchanged(self, name: str) -> Loaded:
        """A loaded skill that is, and may be used, as it was when its programs were offered. Raises: ToolError."""
        now = self._clear_loaded(name)
        then = self._cleared.setdefault(name, now.cleared)
        if not now.cleared.digest:
            said = f"There is no digest of the skill '{name}', so its programs cannot be run"
            raise ToolError("PERMISSION_DENIED", said, hint="Put plain files in the place of links")
        if then.digest != now.cleared.digest:
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' changed since it was loaded", hint=_LOOK)
        return now

    def _has_programs(self, folder: str) -> bool:
        standing = self._find_standing(folder)
        skill = standing.found.skill if standing else None
        return bool(skill and skill.provided_tools) or os.path.isdir(os.path.join(folder, "scripts"))

    def _find_standing(self, folder: str) -> Standing | None:
        return next((one for one in self.standings if one.found.folder == folder), None)

    def _clear_loaded(self, name: str) -> Loaded:
        folder = self.loaded.get(name)
        if folder is None:
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' is not loaded", hint="Load it with Skill")
        standing = self._find_standing(folder)
        if standing is None:
            raise ToolError("NOT_FOUND", f"The skill '{name}' was removed")
        if standing.state in ("blocked", "untrusted", "disabled"):
            why = STATES[standing.state]
            raise ToolError("PERMISSION_DENIED", f"The skill '{name}' is {standing.state}: {why}")
        try:
            return Loaded(name, folder, self._clear(standing.found), standing.found.location)
        except ClawftError as error:
            raise load_failure(error) from error

    def activate(self, activation: Activation) -> None:
        """From now on the skill counts as loaded, and restricts tools until the next message."""
        self.note_loaded(activation)
        again = [one for one in self.active if (one.name, one.digest) == (activation.name, activation.digest)]
        self.active = [*(one for one in self.active if one not in again), activation]

    def note_loaded(self, activation: Activation) -> None:
        """The skill's text is in the context from now on."""
        self.loaded[activation.name] = activation.standing.found.folder
        self._cleared[activation.name] = activation.cleared

    def event(self, activation: Activation, by: By) -> SkillActivated:
        return SkillActivated(
            name=activation.name,
            scope=activation.standing.found.location.scope,
            digest=activation.digest,
            by=by,
            tools=activation.skill.allowed_tools or None,
        )


def _activate(standing: Standing, cleared: Cleared, rendered: Rendered) -> Activation:
    skill = cleared.skill
    text = _wrap(skill.name, standing.found, rendered.text)
    said = tuple(one for one in skill.diagnostics if one.code == "body-truncated")
    return Activation(standing, cleared, text, (*said, *rendered.diagnostics))


def _wrap(name: str, found: Found, body: str) -> str:
    """D55: the base directory first, if there is one, then the body, then the files. Nothing ends the wrapper early.

    What an MCP server served says so, and who it is there (SEP-2640).
    """
    folder = found.base_dir
    files = list_files(folder) if folder else ()
    shown = "".join(f"\n- {' '.join(one.split())}" for one in files[:MAX_LISTED_FILES])
    more = f"\n- … and {len(files) - MAX_LISTED_FILES} more" if len(files) > MAX_LISTED_FILES else ""
    listed = f"\n\nFiles of this skill (read them with skill_read):{shown}{more}" if files else ""
    base = f"Base directory for this skill: {folder}\n\n" if folder else ""
    inner = f"{base}{body}{listed}"
    safe = _WRAPPER.sub(r"<\\\1skill_content", inner)
    origin = f' origin="{escape(find_origin(found))}"' if found.location.scope == "mcp" else ""
    return f'<skill_content name="{name}"{origin}>\n{safe}\n</skill_content>'


def load_failure(error: ClawftError) -> ToolError:
    """R64: what a skill that cannot be read, or was blocked meanwhile, is for the model."""
    message = f"The skill cannot be loaded: {error}"
    if isinstance(error, Refused):
        return ToolError("PERMISSION_DENIED", message, hint=error.hint)
    return ToolError("INTERNAL_ERROR", message, hint=error.hint)
