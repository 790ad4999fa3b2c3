"""What a shell offers for an argument: names that are there now. Quick, silent, and never what a shell would act on."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from clawft.errors import ClawftError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from clawft.app import App

__all__ = [
    "complete_agents",
    "complete_folders",
    "complete_help",
    "complete_hooks",
    "complete_hub_skills",
    "complete_hub_tokens",
    "complete_hub_versions",
    "complete_installed",
    "complete_keys",
    "complete_models",
    "complete_plugin_variables",
    "complete_plugins",
    "complete_registries",
    "complete_runs",
    "complete_serve_tokens",
    "complete_served",
    "complete_servers",
    "complete_sessions",
    "complete_skills",
    "complete_values",
]

MAX_OFFERED = 1000
_MAX_HELP = 60
# A name is put into a command line as it is: one that a shell would take apart, expand or run is not offered.
_SAFE = re.compile(r"\w[\w.:@+/-]*")


def complete_skills(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        for found in _app(ctx).catalog.found:
            yield found.name, found.skill.description if found.skill else ""

    return _offer(names(), incomplete)


def complete_installed(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """What the lock of the scope on the same line names."""

    def names() -> Iterator[tuple[str, str]]:
        from clawft.locks.file import load_lock
        from clawft.supply.targets import find_site

        site = find_site(_app(ctx).workspace, "project" if ctx.params.get("scope") == "project" else "user")
        for one in load_lock(site.lock).values():
            yield one.name, one.version

    return _offer(names(), incomplete)


def complete_served(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Skills of MCP servers that were approved."""

    def names() -> Iterator[tuple[str, str]]:
        from clawft.discovery.served import list_served

        for one in list_served(_app(ctx).workspace.user_dir):
            yield f"{one.origin.server}:{one.name}", one.origin.uri

    return _offer(names(), incomplete)


def complete_servers(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        for name, one in _app(ctx).config.mcp.servers.items():
            yield name, one.url or one.command

    return _offer(names(), incomplete)


def complete_agents(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        for one in _app(ctx).agents:
            yield one.found.name, one.found.agent.description if one.found.agent else ""

    return _offer(names(), incomplete)


def complete_hooks(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Of folders only as they are named: whether one may run is not asked in the middle of a line."""

    def names() -> Iterator[tuple[str, str]]:
        from clawft.cli.hooks._names import find_names

        yield from find_names(_app(ctx))

    return _offer(names(), incomplete)


def complete_hub_skills(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Names of the hub that mean one skill by themselves."""

    def names() -> Iterator[tuple[str, str]]:
        from clawft.cli.hub._open import need_store

        with need_store(_app(ctx), ctx.params.get("folder")) as store:
            for skill in store.list_names(incomplete, MAX_OFFERED):
                yield skill.slug, skill.summary

    return _offer(names(), incomplete)


def complete_hub_versions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.cli.hub._open import need_store

        with need_store(_app(ctx), ctx.params.get("folder")) as store:
            for skill in store.list_names(incomplete.partition("@")[0], MAX_OFFERED):
                for one in store.versions(skill.id):
                    yield f"{skill.slug}@{one.version}", "yanked" if one.yanked else skill.summary

    return _offer(names(), incomplete)


def complete_hub_tokens(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.cli.hub._open import need_store
        from clawft.hub.tokens import HubTokens

        with need_store(_app(ctx), ctx.params.get("folder")) as store:
            for one, _ in HubTokens(store).list():
                yield one.id, f"{one.owner} {one.label}"

    return _offer(names(), incomplete)


def complete_serve_tokens(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.serve.tokens import ServeTokens

        for one in ServeTokens(_app(ctx).workspace.user_dir).all():
            yield one.name, f"{' '.join(one.scopes)} {one.label}"

    return _offer(names(), incomplete)


def complete_plugins(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """By their manifests alone: nothing is judged in the middle of a line."""

    def names() -> Iterator[tuple[str, str]]:
        from clawft.plugging import load_found

        for one in load_found(_app(ctx)):
            yield one.id, (one.manifest.description or "") if one.manifest else ""

    return _offer(names(), incomplete)


def complete_plugin_variables(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> "list[CompletionItem[str]]":
    """Those that the plugin on the same line asks for."""

    def names() -> Iterator[tuple[str, str]]:
        from clawft.plugging import find_plugin, load_plugin_standings

        standings = load_plugin_standings(_app(ctx), by_digest=False)
        manifest = find_plugin(standings, str(ctx.params.get("plugin_id") or "")).found.manifest
        yield from ((name, "") for name in (manifest.permissions.env_vars if manifest else ()))

    return _offer(names(), incomplete)


def complete_sessions(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.sessions.keys import SUFFIX, decode_key

        # Only names: the store would look at each file, and mend the names of older programs.
        files = os.listdir(os.path.join(_app(ctx).workspace.user_dir, "sessions"))
        keys = (decode_key(name.removesuffix(SUFFIX)) for name in files if name.endswith(SUFFIX))
        yield from ((key, "") for key in keys if key)

    return _offer(names(), incomplete)


def complete_models(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.providers.endpoint import PRESETS

        config = _app(ctx).config
        yield config.agents.defaults.model, "the default"
        yield "offline", "built in, no language model"
        yield from ((tier.model, "") for tier in config.agents.routing.tiers)
        for name, provider in config.providers.items():
            yield from ((f"{name}/{model}", "") for model in provider.models)
            if provider.default_model:
                yield f"{name}/{provider.default_model}", ""
        yield from ((f"{name}/", "") for name in (*config.providers, *PRESETS))

    return _offer(names(), incomplete)


def complete_registries(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.config.registries import own_registries

        app = _app(ctx)
        for name, one in own_registries(app.config, app.workspace.user_dir, app.environ).items():
            yield name, one.url

    return _offer(names(), incomplete)


def complete_runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """Of a file only: a server would be waited for in the middle of a line."""

    def names() -> Iterator[tuple[str, str]]:
        from clawft.config.runs import own_runs
        from clawft.run.durable import is_installed
        from clawft.run.durable.glance import glance_file

        app = _app(ctx)
        if is_installed() and not own_runs(app.config, app.workspace.user_dir, app.environ).database:
            seen = glance_file(app.workspace.user_dir, MAX_OFFERED)
            yield from ((one.id, f"{one.status}: {one.title}") for one in seen)

    return _offer(names(), incomplete)


def complete_keys(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.config.schema import walk_sections

        typed = incomplete.split(".")
        for path, kind in walk_sections():
            section = _name_parts(path, typed)
            yield from ((f"{section}.{field}", "") for field in kind.__struct_fields__)
        with suppress(ClawftError):
            yield from ((".".join(one), "") for one in _paths(_app(ctx).config.values))

    return _offer(names(), incomplete)


def complete_values(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    """The values that a setting may have, where they can be listed."""
    from clawft.config.schema import choices_of, find_kind, plain

    key = str(ctx.params.get("key") or "")
    if key == "agents.defaults.model":
        return complete_models(ctx, _param, incomplete)
    kind = find_kind(key.split(".")) if key else None
    values = ("true", "false") if plain(kind) is bool else choices_of(kind)
    return _offer(((str(value), "") for value in values), incomplete)


def complete_folders(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def complete_help(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    def names() -> Iterator[tuple[str, str]]:
        from clawft.topics import list_topics, summary

        context = ctx.find_root()
        words: tuple[str, ...] = ctx.params.get("words") or ()
        if not words:
            yield from ((name, summary(name)) for name in list_topics())
        for word in words:
            below = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
            if below is None:
                return
            context = click.Context(below, info_name=word, parent=context)
        if isinstance(context.command, click.Group):
            yield from ((name, "") for name in context.command.list_commands(context))

    return _offer(names(), incomplete)


def _app(ctx: click.Context) -> "App":
    from clawft.cli.options import open_here

    return open_here(tuple(ctx.params.get("dirs") or ()))


def _offer(names: Iterable[tuple[str, str]], incomplete: str) -> "list[CompletionItem[str]]":
    """What begins so, each once. What goes wrong meanwhile is not for the middle of a line: then less is offered."""
    from click.shell_completion import CompletionItem

    from clawft.cli.output import one_line

    offered: dict[str, str] = {}
    with suppress(ClawftError, click.ClickException, OSError):
        for name, text in names:
            if name.startswith(incomplete) and len(offered) < MAX_OFFERED and _SAFE.fullmatch(name):
                offered.setdefault(name, text)
    return [CompletionItem(name, help=one_line(text)[:_MAX_HELP] or None) for name, text in sorted(offered.items())]


def _name_parts(path: str, typed: list[str]) -> str:
    """A section with the names that were typed in place of NAME and MODEL; `<NAME>` is no key and not offered."""
    parts = path.split(".")
    return ".".join(
        (typed[at] if at < len(typed) - 1 and typed[at] else f"<{part}>") if part in ("NAME", "MODEL") else part
        for at, part in enumerate(parts)
    )


def _paths(values: dict[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))
        else:
            yield *above, key
