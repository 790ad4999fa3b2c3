"""What people told every agent of this folder, AGENTS.md and CLAUDE.md, and what hooks make of it.

A text that a hook wrote is marked as the hook's, whatever file it says it is: only what was approved counts as a file.
"""

from collections.abc import Sequence

import msgspec

from clawft.discovery.instructions import Instructions
from clawft.hooks.events import BootstrapFile
from clawft.messages import Noticed
from clawft.run.hooks import fire
from clawft.run.turn import Turn

__all__ = ["bootstrap"]

MAX_WRITTEN = 60_000  # characters that hooks may write into the prompt
_Files = tuple[BootstrapFile, ...]


async def bootstrap(turn: Turn) -> None:
    """Hooks may change what the system prompt holds of AGENTS.md and CLAUDE.md, or add to it."""
    turn.instructions = files = turn.runtime.instructions(turn.emit)
    session = turn.session.key
    given = [BootstrapFile(one.path, one.text, one.path.rpartition("/")[2]) for one in files]
    context = {"bootstrapFiles": msgspec.to_builtins(given), "sessionKey": session, "sessionId": session}
    outcome = await fire(turn, "agent:bootstrap", context)
    if outcome is None or not outcome.versions:
        return
    versions = [(one.hook, _read(one.context)) for one in outcome.versions]
    by_path = {one.path: one for one in files}
    known = {(one.path, one.text) for one in files}
    turn.instructions = [
        by_path[one.path]
        if (one.path, one.content.strip()) in known
        else Instructions(one.path, one.content.encode("utf-8", "replace"), hook=_find_author(one, versions))
        for one in {(one.path, one.content.strip()): one for one in versions[-1][1]}.values()  # each once
        if one.content.strip()
    ]
    _bound(turn)
    _tell_changes(turn, files, versions)


def _read(context: dict[str, object]) -> _Files:
    return msgspec.convert(context["bootstrapFiles"], _Files)


def _find_author(file: BootstrapFile, versions: Sequence[tuple[str, _Files]]) -> str:
    """The hook that was the first to give a file this text."""
    return next(hook for hook, files in versions if any(_is_same(one, file) for one in files))


def _is_same(one: BootstrapFile, other: BootstrapFile) -> bool:
    return (one.path, one.content) == (other.path, other.content)


def _bound(turn: Turn) -> None:
    """Cut what hooks wrote where it is too much for a prompt."""
    room, kept = MAX_WRITTEN, []
    for one in turn.instructions:
        if one.hook and len(one.text) > room:
            message = f"The prompt holds {room} of {len(one.text)} characters of the hook '{one.hook}'"
            _tell(turn, "hook-cut", message)
            one = msgspec.structs.replace(one, content=one.text[:room].encode("utf-8", "replace"))
        room -= len(one.text) if one.hook else 0
        if one.text:
            kept.append(one)
    turn.instructions = kept


def _tell_changes(turn: Turn, files: Sequence[Instructions], versions: Sequence[tuple[str, _Files]]) -> None:
    """Say which of the files do not reach the model as people wrote them, and what is there beside them."""
    shorten = turn.runtime.workspace.shorten
    before = {one.path: one.text for one in files}
    for hook, after in versions:
        texts = {one.path: one.content.strip() for one in after}
        for path, text in before.items():
            if path in {one.path for one in files} and texts.get(path, "") != text:
                what = "changed what the prompt holds of" if texts.get(path) else "took out of the prompt:"
                _tell(turn, "hook-instructions", f"The hook '{hook}' {what} {shorten(path)}", "warning")
        new = [path for path in texts if path not in before and texts[path]]
        for path in new:
            _tell(turn, "hook-added", f"The hook '{hook}' added {path} to the prompt")
        before = texts


def _tell(turn: Turn, code: str, message: str, severity: str = "note") -> None:
    """Once a conversation: hooks do the same at every turn."""
    if message not in turn.conversation.told:
        turn.conversation.told.add(message)
        turn.notice(Noticed(code=code, message=message, severity="warning" if severity == "warning" else "note"))
