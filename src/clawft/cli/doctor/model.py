"""Whether the model that would answer can: it is known, its key is there, its server is up, and it answers."""

from collections.abc import Iterator
from functools import partial

import anyio

from clawft.app import App
from clawft.cli.doctor.check import Check, from_error
from clawft.errors import ClawftError
from clawft.providers.endpoint import Endpoint, build_endpoint
from clawft.providers.select import OFFLINE, check_model, parse_model

__all__ = ["check_answering"]

_WHY = "no turn is answered"
_PROBE_S = 2.0
_START = {
    "ollama": "ollama serve",
    "vllm": "vllm serve MODEL",
    "llamacpp": "llama-server -m FILE",
    "lmstudio": "lms server start",
}


def check_answering(app: App, *, online: bool) -> Iterator[Check]:
    """The default model, and those that simpler requests go to. `online` makes a call."""
    config = app.config
    model = config.agents.defaults.model
    try:
        check_model(model, config.providers, app.environ)
    except ClawftError as error:
        yield _unusable("model", error, app, why=_WHY)
    else:
        yield from _check_usable(model, app, online=online)
    for tier in config.agents.routing.tiers:
        try:
            check_model(tier.model, config.providers, app.environ)
        except ClawftError as error:
            yield _unusable("routing", error, app, why=f"what goes to {tier.model} is not answered")


def _unusable(name: str, error: ClawftError, app: App, *, why: str) -> Check:
    command = error.hint.removeprefix("Run: ") if error.hint.startswith("Run: ") else "weft onboard"
    return from_error(name, error, app.workspace, why=why, fix=command)


def _check_usable(model: str, app: App, *, online: bool) -> Iterator[Check]:
    name, own = parse_model(model)
    settings = app.config.providers.get(name)
    if name == OFFLINE:
        why = "it follows skills by their words, and writes no answer of its own"
        yield Check("model", "note", "offline, which is no language model", why=why, fix="weft onboard")
        return
    if settings is not None and settings.wire == "scripted":
        yield Check("model", "ok", f"{model}, from a script")
        return
    endpoint = build_endpoint(name, settings, app.environ)
    found = _check_local(endpoint, own or endpoint.default_model, app) if endpoint.is_local else []
    yield from found
    if not any(one.status == "problem" for one in found):
        yield _call(model, app) if online else Check("model", "ok", f"{model} at {endpoint.host}{_key_text(endpoint)}")


def _key_text(endpoint: Endpoint) -> str:
    return f", key {endpoint.api_key}" if endpoint.api_key else ""


def _check_local(endpoint: Endpoint, model: str, app: App) -> list[Check]:
    """Whether a server of this machine is up, and has the model."""
    from clawft.cli.onboard.servers import fetch_models

    try:
        models = anyio.run(partial(fetch_models, endpoint, app.environ, _PROBE_S))
    except ClawftError as error:
        if error.code not in ("provider-unreachable", "provider-timeout"):
            return []  # it is up, and lists nothing
        start = _START.get(endpoint.name, "weft onboard")
        message = f"The server of '{endpoint.name}' does not answer at {endpoint.base_url}"
        return [Check("model", "problem", message, why=_WHY, fix=start)]
    if not models or model in models or f"{model}:latest" in models:
        return []
    fix = f"ollama pull {model}" if endpoint.name == "ollama" else "weft onboard"
    return [Check("model", "note", f"'{endpoint.name}' does not list {model}", why="it may refuse it", fix=fix)]


def _call(model: str, app: App) -> Check:
    from clawft.cli.onboard.trial import run_trial

    trial = anyio.run(partial(run_trial, model, app.config.providers, app.environ, app.workspace.cwd))
    if trial.error is None:
        return Check("model", "ok", f"{model} answered after {trial.seconds:.1f} s")
    return _unusable("model", trial.error, app, why=_WHY)
