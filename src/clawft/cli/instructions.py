"""`weft agent --show-prompt`: exactly what would be sent to the model, and why each skill is in or out."""

from functools import partial
from typing import Any

import anyio
import click
import msgspec

from clawft.app import App
from clawft.cli.options import TurnOptions
from clawft.cli.output import clean, one_line, print_json
from clawft.describe.diagnostics import to_json
from clawft.messages import Event, Noticed
from clawft.providers.request import Request
from clawft.run import Turn, TurnRequest
from clawft.run.ask import estimate_tokens
from clawft.run.preview import preview_turn
from clawft.trust import Standing

__all__ = ["show_prompt_here"]


def show_prompt_here(app: App, options: TurnOptions, request: TurnRequest) -> int:
    """Print the prompt. Nothing is sent, and no session is written."""
    return anyio.run(partial(_show, app, options, request))


async def _show(app: App, options: TurnOptions, request: TurnRequest) -> int:
    events: list[Event] = []
    async with app.open_runtime() as runtime:
        turn, sent = await preview_turn(
            runtime, app.choose_agent(options.agent), options.session, request, events.append
        )
        skills = [_explain(one, turn) for one in turn.skills.standings]
        notes = [one for one in events if isinstance(one, Noticed)]
        if options.output == "json":
            print_json(
                "clawft.agent.prompt.v1",
                model=turn.model,
                tokens=estimate_tokens(sent),
                request=msgspec.to_builtins(sent),
                skills=skills,
                catalog=msgspec.to_builtins(turn.catalog),
                notices=[msgspec.to_builtins(one) for one in notes],
            )
        else:
            _print(turn, sent, skills, notes)
    return 0


def _explain(standing: Standing, turn: Turn) -> dict[str, Any]:
    """One skill: how the model is told of it, and why so."""
    shown = "left out"
    if not standing.offered:
        shown = "not offered"
    elif standing.name in turn.catalog.described:
        shown = "described"
    elif standing.name in turn.catalog.named:
        shown = "named"
    reasons = [to_json(one) for one in standing.reasons]
    return {"name": standing.name, "state": standing.state, "shown": shown, "reasons": reasons}


_WHY = {
    "described": "in the catalog, with its description",
    "named": "in the catalog by name: the budget left no room for its description",
    "left out": "not in the catalog: the budget is full; skill_search finds it",
}


def _print(turn: Turn, sent: Request, skills: list[dict[str, Any]], notes: list[Noticed]) -> None:
    for message in sent.messages:
        click.echo(f"=== {message.role}")
        click.echo(clean(message.content or ""))
        for call in message.tool_calls:
            click.echo(f"→ {one_line(call.name)} {one_line(str(call.arguments))}")
    click.echo(f"=== tools ({len(sent.tools)})")
    for tool in sent.tools:
        click.echo(f"--- {tool.name}\n{clean(tool.description)}")
        click.echo(clean(msgspec.json.encode(tool.parameters).decode()))
    catalog = turn.catalog
    click.echo(f"=== skills: {catalog.characters} of {catalog.budget} characters")
    for skill in skills:
        reason = skill["reasons"][0]["message"] if skill["reasons"] else ""
        why = _WHY.get(skill["shown"]) or f"{skill['state']}: {reason}"
        click.echo(f"{one_line(skill['name'])}: {one_line(why)}")
    for note in notes:
        click.echo(f"{note.severity}[{note.code}]: {one_line(note.message)}")
    click.echo(f"=== {turn.model}: about {estimate_tokens(sent)} tokens")
