"""`--trust-instructions`: each file that would speak to a model is shown whole, and approved if a person agrees."""

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct

from clawft.app import App
from clawft.cli._confirm import confirm
from clawft.cli.output import one_line, say
from clawft.cli.skills._review import agent_lines, text_lines
from clawft.errors import Refused
from clawft.files import is_within

__all__ = ["review_instructions"]

_HINT = "Read them, then: weft agent --trust-instructions --yes --show-prompt"


class _Waiting(Struct, frozen=True):
    """One file that waits for an approval: what a person sees of it, and what comes of their yes or no."""

    path: str
    lines: list[str]
    approve: Callable[[], object]
    refuse: Callable[[], object]


def review_instructions(app: App, *, yes: bool) -> None:
    """Show every AGENTS.md, CLAUDE.md and agent of the project that is not approved, and approve those agreed to.

    What is approved is the content that was shown. Raises: Refused where nobody can answer, after showing all of them;
    ClawftError.
    """
    refusal: Refused | None = None
    for file in [*_find_files(app), *_find_agents(app)]:
        shown = one_line(app.workspace.shorten(file.path))
        for line in file.lines:
            say(line)
        try:
            agreed = yes or confirm(f"Approve {shown}?", "To approve what a model is told", _HINT)
        except Refused as error:
            refusal, agreed = error, False
        (file.approve if agreed else file.refuse)()
        say(f"{'approved' if agreed else 'not approved:'} {shown}")
    if refusal is not None:
        raise refusal


def _find_files(app: App) -> Iterator[_Waiting]:
    for file in app.find_waiting_instructions():
        outside = "" if is_within(file.path, app.workspace.project) else " (outside this project)"
        lines = [one_line(f"{app.workspace.shorten(file.path)}{outside}:"), *text_lines(file.content)]
        refuse = partial(app.audit.tell, "approval", f"instructions {file.path}", decision="denied")
        yield _Waiting(file.path, lines, partial(app.approve_instructions, [file]), refuse)


def _find_agents(app: App) -> Iterator[_Waiting]:
    for agent in app.agents:
        if agent.found.scope == "project" and agent.state == "untrusted":
            review = app.desk.review_agent(agent.found)
            lines, approve = agent_lines(review, app.workspace.shorten), partial(app.desk.approve_agents, [review])
            yield _Waiting(agent.found.file, lines, approve, partial(app.desk.refuse, review))
