"""The files that the text of a skill names: its own, with the bytes that were approved, or the project's (R57).

`!read path` must be there; what `@path` names is attached where it is a file, and is only text where it is not.
"""

import os
from collections.abc import Sequence

from clawft.discovery.digest import list_files
from clawft.discovery.snapshot import Reading
from clawft.errors import ClawftError, Diagnostic, Refused, Severity
from clawft.files import is_within
from clawft.render import Arguments, Dynamic, Fetched, complete_variables
from clawft.render.attach import wrap_file
from clawft.render.template import fill_in
from clawft.tools.beneath import read_file_at
from clawft.tools.dynamic.use import DynamicContext, Use, authority_over, looking_context
from clawft.tools.paths import resolve_inside
from clawft.tools.tool import ToolError
from clawft.trust.call import Call, Where
from clawft.trust.decide import decide

__all__ = ["read_files"]

MAX_CHARS = 64 * 1024
MAX_ATTACHED = 20
MAX_FILE_BYTES = 5 << 20
_RULE = "paths of file tools"


def read_files(context: DynamicContext, places: Sequence[Dynamic], use: Use) -> Fetched:
    """What the places become, and what is attached. Raises: Refused, ClawftError for a `!read` that cannot be."""
    return _Reader(context, use).read(places) if places else Fetched()


class _Reader:
    def __init__(self, context: DynamicContext, use: Use) -> None:
        self._context = context
        self._use = use
        self._reading = Reading(use.folder)
        self._looking = looking_context(context)
        self._authority = authority_over(context, use)
        self._own = frozenset((*list_files(use.folder), "SKILL.md")) if use.folder else frozenset()
        self._read_own = False

    def read(self, places: Sequence[Dynamic]) -> Fetched:
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
        return Fetched(texts, tuple(files.values()), tuple(notes))

    def _bring(self, place: Dynamic) -> str:
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

    def _attach(self, place: Dynamic, notes: list[Diagnostic]) -> str | None:
        """The text of a file that is mentioned; None where it is none that may be read, which is said."""
        path = self._fill(place.command, Arguments())
        try:
            return self._load(path)
        except (ClawftError, OSError) as error:
            denied = isinstance(error, ToolError) and error.error_code == "PERMISSION_DENIED"
            if denied:
                self._use.record(self._context.audit, "denial", f"@{path}", "deny", f"{_RULE}: {error}")
            if denied or place.is_surely_a_file:
                gone = isinstance(error, FileNotFoundError | NotADirectoryError)
                why = "there is no such file" if gone else str(error)
                notes.append(self._note(place, "warning" if denied else "note", why))
            return None

    def _note(self, place: Dynamic, severity: Severity, why: str) -> Diagnostic:
        file, line = self._use.found.file, self._use.line_of(place)
        return Diagnostic("dynamic-context", severity, f"@{place.head} stays as text: {why}", file, line)

    def _fill(self, path: str, arguments: Arguments) -> str:
        """A path with what its tokens stand for."""
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
        where = Where(self._context.workspace.project, home=self._context.workspace.home)
        decision = decide(Call("read_file", {"path": real}, where, read_only=True), self._authority)
        if decision.decision in ("deny", "ask"):
            raise ToolError("PERMISSION_DENIED", f"'{path}' is not read: {decision.rule}", hint=decision.hint)

    def _check_unchanged(self) -> None:
        """Whether what was read of the skill is what was approved. Raises: Refused."""
        if self._read_own and self._reading.digest().value != self._use.cleared.digest:
            hint = "Look at it again: weft skills trust"
            raise Refused("skill-changed", "The skill changed while it was read", path=self._use.folder, hint=hint)
