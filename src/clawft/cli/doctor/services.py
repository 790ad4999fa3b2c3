"""Checks of the model, background runs, the daemon and the gateway."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from importlib.util import find_spec

import anyio

from clawft.agent.providers.endpoint import Endpoint, build_endpoint
from clawft.agent.providers.selection import OFFLINE, check_model, parse_model
from clawft.app.app import App
from clawft.app.jobs import open_app_runs
from clawft.cli.doctor.check import DoctorCheck, from_error, quote
from clawft.cli.doctor.files import check_pages
from clawft.cli.gateway import find_running_gateway, load_channel_choices, load_gateway_settings
from clawft.cli.onboard.servers import fetch_models, run_trial
from clawft.config.serve import own_token_file
from clawft.errors import ClawftError
from clawft.jobs import file_path, is_installed, is_used

_MODEL_WHY = "no turn is answered"
_PROBE_S = 2.0
_START = {
    "ollama": "ollama serve",
    "vllm": "vllm serve MODEL",
    "llamacpp": "llama-server -m FILE",
    "lmstudio": "lms server start",
}


def check_answering(app: App, *, online: bool) -> Iterator[DoctorCheck]:
    """The default model, and those that simpler requests go to. `online` makes a call."""
    config = app.config
    model = config.agents.defaults.model
    try:
        check_model(model, config.providers, app.environ)
    except ClawftError as error:
        yield _unusable("model", error, app, why=_MODEL_WHY)
    else:
        yield from _check_usable(model, app, online=online)
    for tier in config.agents.routing.tiers:
        try:
            check_model(tier.model, config.providers, app.environ)
        except ClawftError as error:
            yield _unusable("routing", error, app, why=f"what goes to {tier.model} is not answered")


def _unusable(name: str, error: ClawftError, app: App, *, why: str) -> DoctorCheck:
    command = error.hint.removeprefix("Run: ") if error.hint.startswith("Run: ") else "weft onboard"
    return from_error(name, error, app.workspace, why=why, fix=command)


def _check_usable(model: str, app: App, *, online: bool) -> Iterator[DoctorCheck]:
    name, own = parse_model(model)
    settings = app.config.providers.get(name)
    if name == OFFLINE:
        why = "it follows skills by their words, and writes no answer of its own"
        yield DoctorCheck("model", "note", "offline, which is no language model", why=why, fix="weft onboard")
        return
    if settings is not None and settings.wire == "scripted":
        yield DoctorCheck("model", "ok", f"{model}, from a script")
        return
    endpoint = build_endpoint(name, settings, app.environ)
    found = _check_local(endpoint, own or endpoint.default_model, app) if endpoint.is_local else []
    yield from found
    if not any(check.status == "problem" for check in found):
        yield (
            _call(model, app)
            if online
            else DoctorCheck("model", "ok", f"{model} at {endpoint.host}{_key_text(endpoint)}")
        )


def _key_text(endpoint: Endpoint) -> str:
    return f", key {endpoint.api_key}" if endpoint.api_key else ""


def _check_local(endpoint: Endpoint, model: str, app: App) -> list[DoctorCheck]:
    """Return whether a server of this machine is up, and has the model."""
    try:
        models = anyio.run(partial(fetch_models, endpoint, app.environ, _PROBE_S))
    except ClawftError as error:
        if error.code not in ("provider-unreachable", "provider-timeout"):
            return []  # it is up, and lists nothing
        start = _START.get(endpoint.name, "weft onboard")
        message = f"The server of '{endpoint.name}' does not answer at {endpoint.base_url}"
        return [DoctorCheck("model", "problem", message, why=_MODEL_WHY, fix=start)]
    if not models or model in models or f"{model}:latest" in models:
        return []
    fix = f"ollama pull {model}" if endpoint.name == "ollama" else "weft onboard"
    return [DoctorCheck("model", "note", f"'{endpoint.name}' does not list {model}", why="it may refuse it", fix=fix)]


def _call(model: str, app: App) -> DoctorCheck:
    trial = anyio.run(partial(run_trial, model, app.config.providers, app.environ, app.workspace.cwd))
    if trial.error is None:
        return DoctorCheck("model", "ok", f"{model} answered after {trial.seconds:.1f} s")
    return _unusable("model", trial.error, app, why=_MODEL_WHY)


_RUNS_NAME = "runs"
_RUNS_WHY = "nothing runs in the background"


def check_runs(app: App) -> Iterator[DoctorCheck]:
    """Their database, workers, and questions nobody answered."""
    settings, user_dir = app.own_config.runs, app.workspace.user_dir
    if not is_installed():  # which the list of optional parts says
        return
    if not is_used(settings, user_dir):
        yield DoctorCheck(_RUNS_NAME, "ok", "none yet; weft agent --background starts one")
    else:
        try:
            yield from _check_database(app)
        except ClawftError as error:
            yield from_error(_RUNS_NAME, error, app.workspace, why=_RUNS_WHY)


def _check_database(app: App) -> Iterator[DoctorCheck]:
    from clawft.jobs.database import check_tables
    from clawft.jobs.runs import is_alive

    with closing(open_app_runs(app)) as runs:
        check_tables(runs.database)
        if not runs.settings.database:
            check_pages(file_path(app.workspace.user_dir), "the runs and jobs so far")
        counts = runs.store.counts()
        workers = [worker for worker in runs.store.roster.workers() if is_alive(worker)]
        asked = len(runs.store.questions())
    under_way = counts.get("queued", 0) + counts.get("running", 0)
    where = "a database server" if runs.settings.database else "a file"
    alive = f"{len(workers)} worker{'s' * (len(workers) != 1)}"
    known = sum(counts.values())
    yield DoctorCheck(_RUNS_NAME, "ok", f"{known} in {where}, {under_way} under way, {alive}")
    if under_way and not workers:
        why = "what is queued is not done"
        yield DoctorCheck(_RUNS_NAME, "note", f"{under_way} under way, and no worker", why=why, fix="weft worker")
    if asked:
        message = f"{asked} question{'s' * (asked != 1)} of runs wait{'s' * (asked == 1)} for an answer"
        yield DoctorCheck(
            _RUNS_NAME, "note", message, why="those runs stand still", fix="weft runs list --status waiting"
        )


def check_serving(app: App) -> Iterator[DoctorCheck]:
    yield from _check_running(app)
    path = own_token_file(app.workspace.user_dir)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return  # none was made yet
    if mode & 0o077:
        why = "whoever reads it may do everything that you may, by the daemon"
        message = f"Others can get at the token in {path}"
        yield DoctorCheck("serve", "problem", message, why=why, fix=f"chmod 600 {quote(path)}")


def _check_running(app: App) -> Iterator[DoctorCheck]:
    if find_spec("websockets") is None:  # then none of them can be run from here, nor asked
        return
    from clawft.server.client.daemons import find_daemons

    for place in find_daemons(app.workspace.user_dir):
        where = place.local if place.local == place.url else f"{place.local}, as {place.url}"
        yield DoctorCheck("serve", "ok", f"a daemon at {where}, process {place.pid}, for {place.project}")


_GATEWAY_NAME = "gateway"


def check_gateway(app: App) -> Iterator[DoctorCheck]:
    """Without a channel in the config there is nothing to say."""
    settings = load_gateway_settings(app)
    if not any(channel.enabled for channel in settings.channels.values()):
        return
    ready: list[str] = []
    for choice in load_channel_choices(app, settings):
        if choice.problem is not None:
            yield from_error(
                _GATEWAY_NAME, choice.problem, app.workspace, status="note", why=f"'{choice.name}' is not run"
            )
        elif not settings.channels[choice.name].allow:
            message, hint = f"Nobody may write by '{choice.name}'", f"Name them in gateway.channels.{choice.name}.allow"
            yield DoctorCheck(_GATEWAY_NAME, "note", message, hint, "whatever comes in is refused")
        else:
            ready.append(choice.name)
    if ready:
        yield DoctorCheck(
            _GATEWAY_NAME,
            "ok",
            f"{', '.join(ready)}; the gateway {'runs' if find_running_gateway(app) else 'does not run'}",
        )
