"""Which model answers: the choice, its key, its name, and a call that shows whether it works."""

from collections.abc import Mapping
from functools import partial

import anyio
from msgspec import Struct
from msgspec.structs import replace

from clawft.app import App
from clawft.cli.onboard.ask import Asker
from clawft.cli.onboard.found import HOSTED, Found
from clawft.cli.onboard.servers import fetch_models
from clawft.cli.onboard.trial import TRIAL_S, Trial, run_trial
from clawft.cli.output import one_line, say, show_diagnostic
from clawft.config.edit import Change
from clawft.config.keys import find_by_path
from clawft.config.providers import ProviderSettings
from clawft.config.secret import SecretRef, is_key_name
from clawft.errors import ClawftError
from clawft.providers.endpoint import PRESETS, build_endpoint
from clawft.providers.select import OFFLINE, parse_model

__all__ = ["Picked", "choose_model"]

MODEL = ("agents", "defaults", "model")
SHOWN_MODELS = 20
OTHER = "other"


class Picked(Struct, frozen=True):
    """A model, where its provider is, and a key that was typed and is in no file yet."""

    model: str
    base_url: str = ""
    key_env: str = ""
    key: str = ""

    @property
    def provider(self) -> str:
        return parse_model(self.model).provider

    def __repr__(self) -> str:
        return f"Picked({self.model!r})"  # the key is a secret

    def settings(self, before: ProviderSettings | None) -> ProviderSettings:
        """The provider as it would be configured, with the key itself in place of a reference."""
        own = before or ProviderSettings()
        if self.key or self.key_env:
            own = replace(own, api_key=SecretRef(literal=self.key) if self.key else SecretRef(env=self.key_env))
        return replace(own, base_url=self.base_url or own.base_url)

    def changes(self) -> list[Change]:
        """What the config is to say. The key is named, and stands elsewhere."""
        section = ("providers", self.provider)
        changes = [Change(MODEL, self.model, "what answers; `weft agent --model` takes another for once")]
        if self.base_url:
            changes.append(Change((*section, "base_url"), self.base_url, "speaks the wire of OpenAI"))
        if self.key:
            reference = {"keystore": self.provider}
            changes.append(
                Change((*section, "api_key"), reference, "the name of a stored key; `weft onboard` asks anew")
            )
        elif self.key_env:
            changes.append(Change((*section, "api_key"), {"env": self.key_env}, "the variable that holds the key"))
        return changes


def choose_model(asker: Asker, app: App, found: Found, wanted: str = "") -> tuple[Picked | None, Trial | None]:
    """What shall answer, and how a call of it went. None to leave all as it is. Raises: ClawftError."""
    while True:
        picked = _complete(asker, app, wanted) if wanted else _ask(asker, app, found)
        if picked is None or picked.model == OFFLINE:
            return picked, None
        trial = _try(picked, app)
        if trial.error is None or asker.yes:
            return (picked if trial.error is None or wanted else None), trial
        say("  a: try again   k: keep it anyway   s: leave the model as it was")
        answer = asker.choose("  What now?", ["a", "k", "s"], "a")
        if answer != "a":
            return (picked if answer == "k" else None), trial
        wanted = ""


def _complete(asker: Asker, app: App, wanted: str) -> Picked:
    """A model that was named, with what is known of its provider; its key is asked for if it is missing."""
    name = parse_model(wanted).provider
    hosted, configured = HOSTED.get(name), app.config.providers.get(name)
    known = name in PRESETS or configured is not None
    picked = Picked(wanted) if known or hosted is None else Picked(wanted, hosted.base_url, hosted.key_env)
    named = hosted is not None or bool(configured and configured.api_key)
    return replace(picked, key=_ask_key(asker, name)) if named and not _has_key(picked, app) else picked


def _ask_key(asker: Asker, provider: str) -> str:
    return asker.ask_secret(f"  Key for {provider} (not shown; Enter for none)")


def _ask(asker: Asker, app: App, found: Found) -> Picked | None:
    choices = _list_choices(app, found)
    names = list(choices)
    for number, (name, text) in enumerate(choices.items() if not asker.yes else (), 1):
        say(f"  {number:>2}  {one_line(name)}: {one_line(text)}")
    name = asker.choose("  Which one?", names, _default(app, found, yes=asker.yes))
    if name == app.config.agents.defaults.model or name == OFFLINE:
        return Picked(name)
    return _ask_other(asker, app) if name == OTHER else _ask_provider(asker, app, found, name)


def _list_choices(app: App, found: Found) -> dict[str, str]:
    now = app.config.agents.defaults.model
    choices = {now: "as it is now"} if now != OFFLINE else {}
    for server in found.servers:
        choices[server.name] = "answers on this machine"
    for name, variable in found.keys.items():
        choices.setdefault(name, f"key in {variable}")
    for name, one in app.config.providers.items():
        if one.wire != "scripted":
            choices.setdefault(name, "configured")
    for name in PRESETS:
        if name in HOSTED:
            choices.setdefault(name, "asks for a key")
    return {**choices, OTHER: "a server at another address", OFFLINE: "needs nothing, and is no language model"}


def _default(app: App, found: Found, *, yes: bool) -> str:
    """What is set; else a server of this machine; else who has a key, unless nobody is asked: their models cost."""
    if find_by_path(app.config.values, ".".join(MODEL)):
        return app.config.agents.defaults.model
    hosted = [] if yes else list(found.keys)
    return [*(one.name for one in found.servers if one.models), *hosted, OFFLINE][0]


def _ask_provider(asker: Asker, app: App, found: Found, name: str) -> Picked | None:
    """The key and the model of a provider that is known by name."""
    server = next((one for one in found.servers if one.name == name), None)
    configured = app.config.providers.get(name)
    hosted, preset = HOSTED.get(name), PRESETS.get(name)
    picked = Picked(f"{name}/-")
    if configured is None or not configured.base_url:
        base_url = server.base_url if server else hosted.base_url if hosted else ""
        picked = replace(picked, base_url="" if preset and preset.base_url == base_url else base_url)
    if hosted and not preset and configured is None and found.keys.get(name):
        picked = replace(picked, key_env=hosted.key_env)
    named = hosted is not None or bool(configured and configured.api_key)
    wants_key = server.wants_key if server else named
    return _finish(asker, app, picked, wants_key=wants_key and not _has_key(picked, app))


def _ask_other(asker: Asker, app: App) -> Picked | None:
    base_url = asker.ask("  Its address, such as http://127.0.0.1:8000/v1").rstrip("/")
    name = asker.ask("  A name for it", "work") if base_url else ""
    if not is_key_name(name) or name in (OFFLINE, OTHER):
        say("  · a name has letters, digits, '_', '.' and '-'")
        return None
    return _finish(asker, app, Picked(f"{name}/-", base_url), wants_key=True)


def _finish(asker: Asker, app: App, picked: Picked, *, wants_key: bool) -> Picked | None:
    """Ask for the key, then for one of the models that the server lists with it."""
    if wants_key:
        picked = replace(picked, key=_ask_key(asker, picked.provider))
    models, refused = _list_models(picked, app)
    if refused and picked.key:
        return _finish(asker, app, picked, wants_key=True)
    shown = () if asker.yes else models[:SHOWN_MODELS]
    for number, model in enumerate(shown, 1):
        say(f"  {number:>2}  {one_line(model)}")
    if shown and len(models) > SHOWN_MODELS:
        say(f"      and {len(models) - SHOWN_MODELS} more")
    model = asker.choose("  Which model?", models, models[0] if len(models) == 1 or asker.yes else "", other=True)
    return replace(picked, model=f"{picked.provider}/{model}") if model else None


def _providers(picked: Picked, app: App) -> Mapping[str, ProviderSettings]:
    before = app.config.providers
    return {**before, picked.provider: picked.settings(before.get(picked.provider))}


def _has_key(picked: Picked, app: App) -> bool:
    try:
        endpoint = build_endpoint(picked.provider, _providers(picked, app)[picked.provider], app.environ)
    except ClawftError:
        return False
    return endpoint.api_key is not None and endpoint.api_key.is_configured(app.environ)


def _list_models(picked: Picked, app: App) -> tuple[tuple[str, ...], bool]:
    """The models of a server, and whether it refused the key."""
    try:
        endpoint = build_endpoint(picked.provider, _providers(picked, app)[picked.provider], app.environ)
        return anyio.run(partial(fetch_models, endpoint, app.environ, TRIAL_S)), False
    except ClawftError as error:
        say(f"  · no list of models: {one_line(str(error))}")
        return (), error.code == "provider-refused"


def _try(picked: Picked, app: App) -> Trial:
    say(f"  Asking {one_line(picked.model)} for one word …")
    trial = anyio.run(partial(run_trial, picked.model, _providers(picked, app), app.environ, app.workspace.cwd))
    if trial.error is None:
        say(f"  ✓ it answered after {trial.seconds:.1f} s")
    else:
        show_diagnostic(trial.error.diagnostic, where="")
    return trial
