"""The choice of a model: what is found on this machine, the key, the name, and whether it answers."""

import os
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
from msgspec import Struct
from msgspec.structs import replace

from clawft.agent.providers.endpoint import PRESETS, build_endpoint
from clawft.agent.providers.selection import OFFLINE, parse_model
from clawft.app.app import App
from clawft.cli.onboard.clients import ImportableServer, find_importable_servers
from clawft.cli.onboard.servers import (
    TRIAL_S,
    ModelServer,
    ModelTrial,
    fetch_models,
    find_servers,
    local_addresses,
    run_trial,
)
from clawft.cli.output import one_line, say, show_diagnostic
from clawft.cli.prompts import OnboardPrompts
from clawft.config.agents import ProviderSettings
from clawft.config.changes import SettingChange
from clawft.config.keys import find_by_path
from clawft.config.secret import SecretRef, is_key_name
from clawft.errors import ClawftError
from clawft.workspace import MARKER


class HostedProvider(Struct, frozen=True):
    """A provider on the internet, and the variable that its key is usually in."""

    base_url: str
    key_env: str


# Those with a preset, and others whose server speaks the same wire.
HOSTED: Mapping[str, HostedProvider] = {
    **{name: HostedProvider(preset.base_url, preset.key_env) for name, preset in PRESETS.items() if preset.key_env},
    "deepseek": HostedProvider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "gemini": HostedProvider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": HostedProvider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": HostedProvider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "together": HostedProvider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": HostedProvider("https://api.x.ai/v1", "XAI_API_KEY"),
}


class DetectedSetup(Struct, frozen=True):
    """`keys` holds the names of variables by provider, never what is in them."""

    keys: dict[str, str]
    servers: tuple[ModelServer, ...]
    skills: dict[str, int]
    offers: tuple[ImportableServer, ...]

    def to_json(self) -> dict[str, Any]:
        importable = [offer for offer in self.offers if not offer.problem]
        return {
            "keys": list(self.keys.values()),
            "servers": [
                {"name": server.name, "base_url": server.base_url, "models": len(server.models)}
                for server in self.servers
            ],
            "skills": [{"path": path, "count": count} for path, count in self.skills.items()],
            "mcp_servers": [{"name": server.name, "path": server.source} for server in importable],
        }


def detect_setup(app: App) -> DetectedSetup:
    """Look at the environment, the ports of this machine, and the files of other clients. Raises: ClawftError."""
    environ = app.environ
    addresses = local_addresses(app.config.providers, environ)
    return DetectedSetup(
        keys={name: provider.key_env for name, provider in HOSTED.items() if environ.get(provider.key_env)},
        servers=anyio.run(partial(find_servers, addresses, environ)),
        skills=_count_skills(app),
        offers=tuple(find_importable_servers(app.workspace, environ)),
    )


def _count_skills(app: App) -> dict[str, int]:
    """The folders of other clients that are searched, and how many skills are in each."""
    counts = Counter(found.location.path for found in app.catalog.found)
    ours = (MARKER, "skills", ".skills", "bundled")
    theirs = [
        location for location in app.locations if location.scope != "mcp" and location.layer.split("/")[0] not in ours
    ]
    folders = [location.path for location in theirs if os.path.isdir(location.path)]
    return {path: counts[path] for path in folders if counts[path]}


def print_setup(found: DetectedSetup, app: App) -> None:
    """Tell what was found, a line each."""
    shorten = app.workspace.shorten
    for name, variable in found.keys.items():
        say(f"  ✓ key for {name}: {variable}")
    for server in found.servers:
        what = "wants a key" if server.wants_key else f"{len(server.models)} model{'s' * (len(server.models) != 1)}"
        say(f"  ✓ server {one_line(server.name)}: {what}\n      {one_line(server.base_url)}")
    for path, count in found.skills.items():
        say(f"  ✓ {count} skill{'s' * (count != 1)} in {one_line(shorten(path))}, used as they are")
    for path in dict.fromkeys(offer.source for offer in found.offers):
        offers = [offer for offer in found.offers if offer.source == path]
        names = ", ".join(offer.name for offer in offers if not offer.problem)
        if names:
            say(f"  ✓ MCP servers in {one_line(shorten(path))}: {one_line(names)}")
        for offer in offers:
            if offer.problem:
                say(f"  · {one_line(offer.name or shorten(path))} cannot be imported: {one_line(offer.problem)}")
    if not (found.keys or found.servers or found.skills or found.offers):
        say("  · nothing: no key, no server, no other client")


MODEL = ("agents", "defaults", "model")
SHOWN_MODELS = 20
OTHER = "other"


class ModelSelection(Struct, frozen=True):
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

    def changes(self) -> list[SettingChange]:
        """The settings to write to the config. The config only names the key, which is stored elsewhere."""
        section = ("providers", self.provider)
        changes = [SettingChange(MODEL, self.model, "what answers; `weft agent --model` takes another for once")]
        if self.base_url:
            changes.append(SettingChange((*section, "base_url"), self.base_url, "speaks the wire of OpenAI"))
        if self.key:
            reference = {"keystore": self.provider}
            changes.append(
                SettingChange((*section, "api_key"), reference, "the name of a stored key; `weft onboard` asks anew")
            )
        elif self.key_env:
            changes.append(
                SettingChange((*section, "api_key"), {"env": self.key_env}, "the variable that holds the key")
            )
        return changes


def choose_model(
    asker: OnboardPrompts, app: App, found: DetectedSetup, wanted: str = ""
) -> tuple[ModelSelection | None, ModelTrial | None]:
    """Choose a model and try one call of it. Returns None to leave everything as it is. Raises: ClawftError."""
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


def _complete(asker: OnboardPrompts, app: App, wanted: str) -> ModelSelection:
    """A model that was named, with what is known of its provider; its key is asked for if it is missing."""
    name = parse_model(wanted).provider
    hosted, configured = HOSTED.get(name), app.config.providers.get(name)
    known = name in PRESETS or configured is not None
    picked = (
        ModelSelection(wanted) if known or hosted is None else ModelSelection(wanted, hosted.base_url, hosted.key_env)
    )
    named = hosted is not None or bool(configured and configured.api_key)
    return replace(picked, key=_ask_key(asker, name)) if named and not _has_key(picked, app) else picked


def _ask_key(asker: OnboardPrompts, provider: str) -> str:
    return asker.ask_secret(f"  Key for {provider} (not shown; Enter for none)")


def _ask(asker: OnboardPrompts, app: App, found: DetectedSetup) -> ModelSelection | None:
    choices = _list_choices(app, found)
    names = list(choices)
    for number, (name, text) in enumerate(choices.items() if not asker.yes else (), 1):
        say(f"  {number:>2}  {one_line(name)}: {one_line(text)}")
    name = asker.choose("  Which one?", names, _default(app, found, yes=asker.yes))
    if name == app.config.agents.defaults.model or name == OFFLINE:
        return ModelSelection(name)
    return _ask_other(asker, app) if name == OTHER else _ask_provider(asker, app, found, name)


def _list_choices(app: App, found: DetectedSetup) -> dict[str, str]:
    now = app.config.agents.defaults.model
    choices = {now: "as it is now"} if now != OFFLINE else {}
    for server in found.servers:
        choices[server.name] = "answers on this machine"
    for name, variable in found.keys.items():
        choices.setdefault(name, f"key in {variable}")
    for name, provider in app.config.providers.items():
        if provider.wire != "scripted":
            choices.setdefault(name, "configured")
    for name in PRESETS:
        if name in HOSTED:
            choices.setdefault(name, "asks for a key")
    return {**choices, OTHER: "a server at another address", OFFLINE: "needs nothing, and is no language model"}


def _default(app: App, found: DetectedSetup, *, yes: bool) -> str:
    """Return the default model or provider: what is set, else a local server, else a provider with a key.

    With `yes` no hosted provider is chosen: its models cost money.
    """
    if find_by_path(app.config.values, ".".join(MODEL)):
        return app.config.agents.defaults.model
    hosted = [] if yes else list(found.keys)
    return [*(server.name for server in found.servers if server.models), *hosted, OFFLINE][0]


def _ask_provider(asker: OnboardPrompts, app: App, found: DetectedSetup, name: str) -> ModelSelection | None:
    """The key and the model of a provider that is known by name."""
    server = next((server for server in found.servers if server.name == name), None)
    configured = app.config.providers.get(name)
    hosted, preset = HOSTED.get(name), PRESETS.get(name)
    picked = ModelSelection(f"{name}/-")
    if configured is None or not configured.base_url:
        base_url = server.base_url if server else hosted.base_url if hosted else ""
        picked = replace(picked, base_url="" if preset and preset.base_url == base_url else base_url)
    if hosted and not preset and configured is None and found.keys.get(name):
        picked = replace(picked, key_env=hosted.key_env)
    named = hosted is not None or bool(configured and configured.api_key)
    wants_key = server.wants_key if server else named
    return _finish(asker, app, picked, wants_key=wants_key and not _has_key(picked, app))


def _ask_other(asker: OnboardPrompts, app: App) -> ModelSelection | None:
    base_url = asker.ask("  Its address, such as http://127.0.0.1:8000/v1").rstrip("/")
    name = asker.ask("  A name for it", "work") if base_url else ""
    if not is_key_name(name) or name in (OFFLINE, OTHER):
        say("  · a name has letters, digits, '_', '.' and '-'")
        return None
    return _finish(asker, app, ModelSelection(f"{name}/-", base_url), wants_key=True)


def _finish(asker: OnboardPrompts, app: App, picked: ModelSelection, *, wants_key: bool) -> ModelSelection | None:
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


def _providers(picked: ModelSelection, app: App) -> Mapping[str, ProviderSettings]:
    before = app.config.providers
    return {**before, picked.provider: picked.settings(before.get(picked.provider))}


def _has_key(picked: ModelSelection, app: App) -> bool:
    try:
        endpoint = build_endpoint(picked.provider, _providers(picked, app)[picked.provider], app.environ)
    except ClawftError:
        return False
    return endpoint.api_key is not None and endpoint.api_key.is_configured(app.environ)


def _list_models(picked: ModelSelection, app: App) -> tuple[tuple[str, ...], bool]:
    """The models of a server, and whether it refused the key."""
    try:
        endpoint = build_endpoint(picked.provider, _providers(picked, app)[picked.provider], app.environ)
        return anyio.run(partial(fetch_models, endpoint, app.environ, TRIAL_S)), False
    except ClawftError as error:
        say(f"  · no list of models: {one_line(str(error))}")
        return (), error.code == "provider-refused"


def _try(picked: ModelSelection, app: App) -> ModelTrial:
    say(f"  Asking {one_line(picked.model)} for one word …")
    trial = anyio.run(partial(run_trial, picked.model, _providers(picked, app), app.environ, app.workspace.cwd))
    if trial.error is None:
        say(f"  ✓ it answered after {trial.seconds:.1f} s")
    else:
        show_diagnostic(trial.error.diagnostic, where="")
    return trial
