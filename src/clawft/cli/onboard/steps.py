"""The conversation of `weft onboard`, step by step, and the one place that writes what came of it."""

import msgspec
from msgspec import Struct

from clawft.app.app import App, open_app
from clawft.cli.onboard.clients import ImportableServer
from clawft.cli.onboard.model import DetectedSetup, ModelSelection, choose_model, detect_setup, print_setup
from clawft.cli.onboard.servers import ModelTrial
from clawft.cli.output import CommandResult, one_line, say
from clawft.cli.prompts import OnboardPrompts
from clawft.config import join_path
from clawft.config.changes import EditedConfig, SettingChange
from clawft.config.keystore import open_keystore

HEADER = """\
# Settings of weft, begun by `weft onboard`. Change them here or with `weft config set KEY VALUE`.
# `weft config show --all` lists every setting; `weft doctor` tells whether all is in order.
# Keys do not belong here: name a variable, { env = "NAME" }, or a stored key, { keystore = "NAME" }.
"""


class _Answers(Struct, frozen=True):
    picked: ModelSelection | None
    trial: ModelTrial | None
    imports: tuple[ImportableServer, ...]


def run_steps(app: App, asker: OnboardPrompts, model: str) -> CommandResult:
    """Look around, ask, try, write; tell of it meanwhile. Raises: ClawftError."""
    if not asker.yes:
        say("Enter takes what stands in [ ]. Nothing is written before the end; Ctrl-C leaves all as it is.\n")
    say("1/3 What is here")
    found = detect_setup(app)
    print_setup(found, app)
    say("\n2/3 What answers you")
    picked, trial = choose_model(asker, app, found, model)
    if asker.yes and trial is None:  # nothing was asked or tried, so nothing was said
        say(f"  · {one_line(picked.model if picked else app.config.agents.defaults.model)}")
    say("\n3/3 MCP servers of other clients: tools that a model may ask to use")
    answers = _Answers(picked, trial, tuple(_choose_imports(asker, app, found)))
    edited = _write(asker, app, answers)
    _tell_next(app, found, answers, edited)
    failed = asker.yes and trial is not None and trial.error is not None
    return CommandResult("clawft.onboard.v1", _to_json(app, found, answers, edited), lambda: None, int(failed))


def _choose_imports(asker: OnboardPrompts, app: App, found: DetectedSetup) -> list[ImportableServer]:
    """Choose the servers to import.

    A server from a project's file, or one that lacks a variable, is imported only if the user says so.
    """
    there = app.config.mcp.servers
    offers = [offer for offer in found.offers if not offer.problem and offer.name not in there]
    if not offers:
        say("  · none to import")
    taken = []
    for offer in offers:
        say(f"  {one_line(offer.name)}: {one_line(offer.summary)}")
        if offer.missing:
            say(f"      needs {', '.join(offer.missing)} in the environment; a key is not copied")
        if not offer.own:
            say("      named by the project, not by you")
        if asker.confirm(f"  Import {one_line(offer.name)}?", default=offer.own and not offer.missing):
            taken.append(offer)
        elif asker.yes:
            say("      left out; it is imported only where somebody is asked")
    return taken


def _write(asker: OnboardPrompts, app: App, answers: _Answers) -> EditedConfig | None:
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


def _changes(app: App, answers: _Answers) -> list[SettingChange]:
    changes = answers.picked.changes() if answers.picked else []
    now = app.config.agents.defaults.model
    changes = [change for change in changes if not (change.path[-1] == "model" and change.value == now)]
    for server in answers.imports:
        section = ("mcp", "servers", server.name)
        first = one_line(f"imported from {app.workspace.shorten(server.source)}")
        for key, value in server.settings.items():
            changes.append(SettingChange((*section, key), value, first if key in ("command", "url") else ""))
    return changes


def _to_json(app: App, found: DetectedSetup, answers: _Answers, edited: EditedConfig | None) -> dict[str, object]:
    trial, picked = answers.trial, answers.picked
    error = trial.error if trial else None
    return {
        "found": found.to_json(),
        "model": picked.model if picked else app.config.agents.defaults.model,
        "key": picked.provider if picked and picked.key and edited else None,
        "test": trial and {"ok": error is None, "seconds": round(trial.seconds, 3), "error": error and error.code},
        "imported": [server.name for server in answers.imports] if edited else [],
        "path": edited.file if edited else None,
        "changed": bool(edited and edited.changed),
    }


def _tell_next(app: App, found: DetectedSetup, answers: _Answers, edited: EditedConfig | None) -> None:
    now = open_app(app.environ, app.workspace.cwd).config.agents.defaults.model
    if edited and answers.picked and answers.picked.model != now:
        say(f"note: another file or variable sets the model to {one_line(now)}, and wins. Run: weft config show agents")
    for server in answers.imports if edited else ():
        for variable in server.missing:
            say(f"note: {one_line(server.name)} starts only with the variable {variable} set")
    if now == "offline" and found.keys:
        say(f"Keys are there. Choose a model: weft onboard --model {next(iter(found.keys))}/MODEL")
    elif now == "offline":
        say("No language model is set up. Run weft onboard again when you have a key or a server.")
    first = "weft demo" if now == "offline" else "weft agent"
    say(f"Next:\n  {first}\n  weft skills list\n  weft doctor")
