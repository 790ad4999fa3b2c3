"""Rewind a session: which turns a person may take back or bring back, and how the conversation goes on after that."""

import re
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from clawft.agent.checkpoints.restore import run_rewind
from clawft.agent.checkpoints.rewind import RewindPlan, plan_rewind
from clawft.agent.checkpoints.snapshot import show_bytes
from clawft.agent.checkpoints.store import has_store
from clawft.agent.sessions import MessageRecord, RewindRecord, Session, Transcript
from clawft.agent.sessions.record import TurnLine
from clawft.agent.sessions.transcript import select_branch
from clawft.errors import NotFound
from clawft.workspace import Workspace

_MAX_NAMED = 20
# A name that can be put before a model as the person's word; others may have been chosen to be read as more.
_PLAIN = re.compile(r"[A-Za-z0-9_.+@/-]{1,120}")


class SessionRewind(Struct, frozen=True):
    """The turns that a rewind takes back, or with `redo` brings back, and its effects on files."""

    turns: tuple[int, ...]
    plan: RewindPlan

    @property
    def title(self) -> str:
        """Say which turns it concerns."""
        turns = f"turn {self.turns[0]}" if len(self.turns) == 1 else f"turns {self.turns[0]} to {self.turns[-1]}"
        return f"{'Redo' if self.plan.redo else 'Undo'} {turns}"


def find_rewind(at: Workspace, transcript: Transcript, to: int | None = None, *, redo: bool = False) -> SessionRewind:
    """Find what taking the last turn back would do, or all turns after turn `to`; with `redo`, bringing back what was
    taken back last. Raises: ClawftError; NotFound where there is nothing.
    """
    turns = _list_turns(transcript.branch)
    if redo:
        if not transcript.redoable:
            raise NotFound("nothing-to-rewind", "There is nothing to redo: no turn was just taken back")
        head = transcript.redoable[-1]
        ahead = select_branch((*transcript.records, RewindRecord(turn=head, to=head, head=head)))
        back = tuple(turn for turn in _list_turns(ahead) if turn not in turns)
        return SessionRewind(back, plan_rewind(at.user_dir, at.project, transcript.key, (), head, head, redo=True))
    if not turns:
        raise NotFound("nothing-to-rewind", "There is nothing to undo: this session has no turn")
    target = (turns[-2] if len(turns) > 1 else 0) if to is None else to
    back = tuple(turn for turn in turns if turn > target)
    if target not in (0, *turns) or not back:
        known = ", ".join(map(str, (0, *turns[:-1][-_MAX_NAMED:])))
        message = f"The session cannot go back to the end of turn {target}"
        raise NotFound("nothing-to-rewind", message, hint=f"It can go back to: {known}")
    plan = plan_rewind(at.user_dir, at.project, transcript.key, back, target, turns[-1])
    return SessionRewind(back, plan)


def _list_turns(branch: Iterable[TurnLine]) -> list[int]:
    return list(dict.fromkeys(line.turn for line in branch if isinstance(line, MessageRecord) and line.turn))


def apply_rewind(
    at: Workspace, session: Session, rewind: SessionRewind, paths: Collection[bytes]
) -> Mapping[bytes, str]:
    """Restore the chosen paths, then have the conversation go on from there; by path, '' or why it stayed.

    Broken off, it can be run again: the conversation goes back only once the files are. Raises: ClawftError.
    """
    plan = rewind.plan
    results = (
        run_rewind(at.user_dir, at.project, plan, paths)
        if plan.steps or (plan.redo and has_store(at.user_dir, at.project))
        else {}
    )
    session.rewind(plan.to, plan.head, _render_note(rewind, results), redo=plan.redo)
    return results


def _render_note(rewind: SessionRewind, results: Mapping[bytes, str]) -> str:
    """Tell the model, which no longer sees these turns, or sees them again."""
    did = "took back what was said and done since" if not rewind.plan.redo else "brought back what had been taken back"
    done = [show_bytes(path) for path, problem in results.items() if not problem]
    named = [path for path in done if _PLAIN.fullmatch(path)][:_MAX_NAMED]
    more = [f"{len(done) - len(named)} {'more' if named else 'of them'}"] if len(done) > len(named) else []
    files = f" Files that changed by that: {', '.join((*named, *more))}." if done else " No file changed by that."
    return f"[The person {did}.{files} Read files again before you rely on them.]"
