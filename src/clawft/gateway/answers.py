"""What the sender of a message is told, in words: the answer, or honestly that there is none."""

from clawft.gateway.inbox import Answer, Ended

__all__ = ["REPEAT", "make_answer"]

REPEAT = "(possibly a repeat)"
_MAX_CHARS = 100_000


def make_answer(ended: Ended) -> Answer:
    """What comes of a run that is over, or waits."""
    run = ended.message.run
    owner = f"Its owner sees it with: weft runs show {run}"
    if ended.status == "waiting":
        text = f"This waits for a yes of the agent's owner, and is answered after that.\n(weft runs answer {run})"
        return Answer(ended, "waiting", text, "running")
    if ended.status == "done":
        text = "\n\n".join(filter(None, (one.strip() for one in (*ended.said, ended.result))))
        text = text or f"This was done, and there is no text to answer with. {owner}"
        return Answer(ended, "answer", _bound(text), "answered")
    # What went wrong may name files and hosts of the owner's, which are none of the sender's business.
    why = f" ({ended.problem.code})" if ended.problem else ""
    text = f"This could not be answered{why}. {owner}"
    if ended.status == "cancelled":
        text = f"This was cancelled, and is not answered. {owner}"
    if not ended.status:
        text = "This could not be answered: what was done about it is not there any more."
    return Answer(ended, "failure", text, "failed")


def _bound(text: str) -> str:
    if len(text) <= _MAX_CHARS:
        return text
    return f"{text[:_MAX_CHARS]}\n… ({len(text) - _MAX_CHARS} characters more were left out)"
