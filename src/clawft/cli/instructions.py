"""`weft agent --show-prompt` and `--trust-instructions`: show the prompt, and review the files that go into it."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio
import click
import msgspec
from msgspec import Struct

from clawft.agent.conversation import preview_turn
from clawft.agent.model_call import estimate_tokens
from clawft.agent.providers.request import ModelRequest
from clawft.agent.run_request import TurnRequest
from clawft.agent.runtime import Turn
from clawft.app.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import CommandResult, clean, one_line, print_result, say, say_lines
from clawft.cli.prompts import confirm
from clawft.cli.review import agent_lines, text_lines
from clawft.errors import Refused
from clawft.files import is_within
from clawft.messages import Event, Noticed
from clawft.server.protocol.base import diagnostic_json
from clawft.trust.status import SkillStatus

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
        say_lines(file.lines)
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
        refuse = partial(app.audit.tell, "approval", f"instructions {file.path}", decision="deny")
        yield _Waiting(file.path, lines, partial(app.approve_instructions, [file]), refuse)


def _find_agents(app: App) -> Iterator[_Waiting]:
    for agent in app.agents:
        if agent.found.scope == "project" and agent.state == "untrusted":
            review = app.reviewer.review_agent(agent.found)
            lines, approve = agent_lines(review, app.workspace.shorten), partial(app.reviewer.approve, [review])
            yield _Waiting(agent.found.file, lines, approve, partial(app.reviewer.refuse, review))


def print_prompt(app: App, options: TurnOptions, request: TurnRequest) -> int:
    """Print the prompt. Nothing is sent, and no session is written."""
    return print_result(anyio.run(_preview, app, options, request), options.output)


async def _preview(app: App, options: TurnOptions, request: TurnRequest) -> CommandResult:
    events: list[Event] = []
    async with app.open_runtime() as runtime:
        turn, sent = await preview_turn(
            runtime, app.choose_agent(options.agent), options.session, request, events.append
        )
        skills = [_explain(status, turn) for status in turn.skills.statuses]
        notes = [event for event in events if isinstance(event, Noticed)]
    document = {
        "model": turn.route.model,
        "tokens": estimate_tokens(sent),
        "request": msgspec.to_builtins(sent),
        "skills": skills,
        "catalog": msgspec.to_builtins(turn.prompt.catalog),
        "notices": [msgspec.to_builtins(note) for note in notes],
    }
    return CommandResult("clawft.agent.prompt.v1", document, lambda: _print(turn, sent, skills, notes))


def _explain(status: SkillStatus, turn: Turn) -> dict[str, Any]:
    """Return how one skill is presented to the model, and why."""
    shown = "left out"
    if not status.offered:
        shown = "not offered"
    elif status.name in turn.prompt.catalog.described:
        shown = "described"
    elif status.name in turn.prompt.catalog.named:
        shown = "named"
    reasons = [diagnostic_json(reason) for reason in status.reasons]
    return {"name": status.name, "state": status.state, "shown": shown, "reasons": reasons}


_WHY = {
    "described": "in the catalog, with its description",
    "named": "in the catalog by name: the budget left no room for its description",
    "left out": "not in the catalog: the budget is full; skill_search finds it",
}


def _print(turn: Turn, sent: ModelRequest, skills: list[dict[str, Any]], notes: list[Noticed]) -> None:
    for message in sent.messages:
        click.echo(f"=== {message.role}")
        click.echo(clean(message.content or ""))
        for call in message.tool_calls:
            click.echo(f"→ {one_line(call.name)} {one_line(str(call.arguments))}")
    click.echo(f"=== tools ({len(sent.tools)})")
    for tool in sent.tools:
        click.echo(f"--- {tool.name}\n{clean(tool.description)}")
        click.echo(clean(msgspec.json.encode(tool.parameters).decode()))
    catalog = turn.prompt.catalog
    click.echo(f"=== skills: {catalog.characters} of {catalog.budget} characters")
    for skill in skills:
        reason = skill["reasons"][0]["message"] if skill["reasons"] else ""
        why = _WHY.get(skill["shown"]) or f"{skill['state']}: {reason}"
        click.echo(f"{one_line(skill['name'])}: {one_line(why)}")
    for note in notes:
        click.echo(f"{note.severity}[{note.code}]: {one_line(note.message)}")
    click.echo(f"=== {turn.route.model}: about {estimate_tokens(sent)} tokens")
