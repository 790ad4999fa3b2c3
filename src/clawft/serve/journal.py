"""What happens in the daemon, as lines of its log: reloads, work, questions. Never what anybody said."""

from clawft.protocol.base import Answer
from clawft.protocol.changes import SkillChange, SkillsChanged
from clawft.protocol.running import ExecutionFinished, ExecutionStarted, QuestionAsked, QuestionClosed
from clawft.web.visit import Log

__all__ = ["Journal"]

_NAMED = 5  # skills that a line for people names


class Journal:
    """Writes a line for each thing that is told to subscribers, whether there are any or not."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def note(self, message: Answer) -> None:
        match message:
            case SkillsChanged():
                self._note_reload(message)
            case ExecutionStarted(execution=entry):
                fields = {"execution": entry.execution, "skill": entry.skill, "session": entry.session}
                what = f"skill {entry.skill}" if entry.skill else "message"
                words = f"{entry.caller} started {what} in {entry.session}"
                self._log(words, {"event": "execution-started", **fields, "owner": entry.caller})
            case ExecutionFinished():
                self._note_end(message)
            case QuestionAsked(question=asked):
                fields = {"question": asked.question, "execution": asked.execution, "session": asked.session}
                words = f"{asked.tool} asks in {asked.session}: question {asked.question}"
                self._log(words, {"event": "question-asked", **fields, "tool": asked.tool, "owner": asked.caller})
            case QuestionClosed(question=question, answer=answer, by=by):
                words = f"question {question}: {answer}{f', by {by}' if by else ''}"
                self._log(words, {"event": "question-closed", "question": question, "answer": answer, "by": by})

    def _note_reload(self, change: SkillsChanged) -> None:
        about: dict[str, object] = {"generation": change.generation, "ms": round(change.took_ms)}
        if change.failed is not None:
            why = change.failed
            words = f"not reloaded, what was read before still counts: {why.message} ({why.path})"
            self._log(words, {"event": "reload-failed", **about, "code": why.code, "path": why.path})
            return
        kinds = {"added": change.added, "removed": change.removed, "changed": change.changed}
        words = "; ".join(f"{kind} {_name(which)}" for kind, which in kinds.items() if which)
        words = "; ".join(filter(None, (words, f"also {', '.join(change.also)}" if change.also else "")))
        about |= {kind: [one.name for one in which] for kind, which in kinds.items()}
        text = f"reloaded, generation {change.generation}: {words or 'all can be read again'}"
        self._log(text, {"event": "reloaded", **about, "also": list(change.also)})

    def _note_end(self, message: ExecutionFinished) -> None:
        what = f"skill {message.skill}" if message.skill else "message"
        more = f", {message.error}" if message.error else ""
        more += f", {message.refused} refused" if message.refused else ""
        words = f"{message.caller} {what} in {message.session}: {message.status}{more}, {message.ms} ms"
        about = {"execution": message.execution, "skill": message.skill, "session": message.session}
        about |= {"owner": message.caller, "status": message.status, "error": message.error}
        self._log(words, {"event": "execution-finished", **about, "refused": message.refused, "ms": message.ms})


def _name(changes: tuple[SkillChange, ...]) -> str:
    names = ", ".join(one.name for one in changes[:_NAMED])
    return names + (f" and {len(changes) - _NAMED} more" if len(changes) > _NAMED else "")
