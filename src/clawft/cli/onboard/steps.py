"""The conversation of `weft onboard`, step by step, and the one place that writes what came of it."""

import msgspec
from msgspec import Struct

from clawft.app import App, open_app
from clawft.cli.onboard.ask import Asker
from clawft.cli.onboard.clients import Offer
from clawft.cli.onboard.found import Found, look_around, show_found
from clawft.cli.onboard.model import Picked, choose_model
from clawft.cli.onboard.trial import Trial
from clawft.cli.output import one_line, print_json, say
from clawft.config import join_path
from clawft.config.edit import Change, Edited
from clawft.config.keystore import open_keystore

__all__ = ["run_steps"]

HEADER = """\
# Settings of weft, begun by `weft onboard`. Change them here or with `weft config set KEY VALUE`.
# `weft config show --all` lists every setting; `weft doctor` tells whether all is in order.
# Keys do not belong here: name a variable, { env = "NAME" }, or a stored key, { keystore = "NAME" }.
"""


class _Answers(Struct, frozen=True):
    picked: Picked | None
    trial: Trial | None
    imports: tuple[Offer, ...]


def run_steps(app: App, asker: Asker, model: str, *, as_json: bool) -> int:
    """Look around, ask, try, write. The exit code. Raises: ClawftError."""
    if not asker.yes:
        say("Enter takes what stands in [ ]. Nothing is written before the end; Ctrl-C leaves all as it is.\n")
    say("1/3 What is here")
    found = look_around(app)
    show_found(found, app)
    say("\n2/3 What answers you")
    picked, trial = choose_model(asker, app, found, model)
    if asker.yes and trial is None:  # nothing was asked or tried, so nothing was said
        say(f"  · {one_line(picked.model if picked else app.config.agents.defaults.model)}")
    say("\n3/3 MCP servers of other clients: tools that a model may ask to use")
    answers = _Answers(picked, trial, tuple(_choose_imports(asker, app, found)))
    edited = _write(asker, app, answers)
    if as_json:
        _print(app, found, answers, edited)
    _tell_next(app, found, answers, edited)
    return 1 if asker.yes and trial is not None and trial.error is not None else 0


def _choose_imports(asker: Asker, app: App, found: Found) -> list[Offer]:
    """Those to import. What a project brings, or what lacks a variable, is imported only where somebody says so."""
    there = app.config.mcp.servers
    offers = [one for one in found.offers if not one.problem and one.name not in there]
    if not offers:
        say("  · none to import")
    taken = []
    for one in offers:
        say(f"  {one_line(one.name)}: {one_line(one.summary)}")
        if one.missing:
            say(f"      needs {', '.join(one.missing)} in the environment; a key is not copied")
        if not one.own:
            say("      named by the project, not by you")
        if asker.confirm(f"  Import {one_line(one.name)}?", default=one.own and not one.missing):
            taken.append(one)
        elif asker.yes:
            say("      left out; it is imported only where somebody is asked")
    return taken


def _write(asker: Asker, app: App, answers: _Answers) -> Edited | None:
    """Store the key, then change the config; None where there is nothing to change, or a no. Raises: ClawftError."""
    changes = _changes(app, answers)
    say()
    if not changes:
        say("Nothing to change.")
        return None
    for change in changes:
        say(f"  {one_line(join_path(change.path))} = {one_line(msgspec.json.encode(change.value).decode())}")
    if not asker.confirm("Write this to your config?", default=True):
        say("Nothing was written.")
        return None
    picked = answers.picked
    if picked and picked.key:
        place = open_keystore(app.environ).store(picked.provider, picked.key)
        where = "the system's keyring" if place == "keyring" else "keys.json, which only you can read"
        say(f"✓ the key '{one_line(picked.provider)}' is in {where}")
    edited = app.edit_config("user", changes, header=HEADER)
    say(f"✓ {app.workspace.shorten(edited.file)}{'' if edited.changed else ' said so already'}")
    return edited


def _changes(app: App, answers: _Answers) -> list[Change]:
    changes = answers.picked.changes() if answers.picked else []
    now = app.config.agents.defaults.model
    changes = [one for one in changes if not (one.path[-1] == "model" and one.value == now)]
    for one in answers.imports:
        section = ("mcp", "servers", one.name)
        first = one_line(f"imported from {app.workspace.shorten(one.source)}")
        for key, value in one.settings.items():
            changes.append(Change((*section, key), value, first if key in ("command", "url") else ""))
    return changes


def _print(app: App, found: Found, answers: _Answers, edited: Edited | None) -> None:
    trial, picked = answers.trial, answers.picked
    error = trial.error if trial else None
    print_json(
        "clawft.onboard.v1",
        found=found.to_json(),
        model=picked.model if picked else app.config.agents.defaults.model,
        key=picked.provider if picked and picked.key and edited else None,
        test=trial and {"ok": error is None, "seconds": round(trial.seconds, 3), "error": error and error.code},
        imported=[one.name for one in answers.imports] if edited else [],
        path=edited.file if edited else None,
        changed=bool(edited and edited.changed),
    )


def _tell_next(app: App, found: Found, answers: _Answers, edited: Edited | None) -> None:
    now = open_app(app.environ, app.workspace.cwd).config.agents.defaults.model
    if edited and answers.picked and answers.picked.model != now:
        say(f"note: another file or variable sets the model to {one_line(now)}, and wins. Run: weft config show agents")
    for one in answers.imports if edited else ():
        for variable in one.missing:
            say(f"note: {one_line(one.name)} starts only with the variable {variable} set")
    if now == "offline" and found.keys:
        say(f"Keys are there. Choose a model: weft onboard --model {next(iter(found.keys))}/MODEL")
    elif now == "offline":
        say("No language model is set up. Run weft onboard again when you have a key or a server.")
    first = "weft demo" if now == "offline" else "weft agent"
    say(f"Next:\n  {first}\n  weft skills list\n  weft doctor")
