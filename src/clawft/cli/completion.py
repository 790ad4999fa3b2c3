"""Shell completion: the script of `weft completion`, and the names that a shell offers for an argument."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING

import click

from clawft.errors import ClawftError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from clawft.app.app import App


Completion = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]  # as click calls it
MAX_OFFERED = 1000
_MAX_HELP = 60
# A name is put into a command line as it is: one that a shell would take apart, expand or run is not offered.
_SAFE = re.compile(r"\w[\w.:@+/-]*")


def _completes(find: Callable[[click.Context, str], Iterable[tuple[str, str]]]) -> Completion:
    """Offer what a function finds: names, each with a few words on it."""

    @wraps(find)
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
        return _offer(find(ctx, incomplete), incomplete)

    return complete


@_completes
def complete_skills(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    for found in _app(ctx).catalog.found:
        yield found.name, found.skill.description if found.skill else ""


@_completes
def complete_installed(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Complete the names of skills that are in the lock file of the scope given on the same line."""
    from clawft.install.lockfile.file import load_lock
    from clawft.install.transaction.targets import find_site

    site = find_site(_app(ctx).workspace, "project" if ctx.params.get("scope") == "project" else "user")
    for skill in load_lock(site.lock).values():
        yield skill.name, skill.version


@_completes
def complete_served(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Skills of MCP servers that were approved."""
    from clawft.skills.discovery.mcp_copies import list_served

    for skill in list_served(_app(ctx).workspace.user_dir):
        yield f"{skill.origin.server}:{skill.name}", skill.origin.uri


@_completes
def complete_servers(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    for name, server in _app(ctx).config.mcp.servers.items():
        yield name, server.url or server.command


@_completes
def complete_agents(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    for agent in _app(ctx).agents:
        yield agent.found.name, agent.found.agent.description if agent.found.agent else ""


@_completes
def complete_hooks(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Complete the names of hooks. Hooks in folders are read only for their names: completion does not check trust."""
    from clawft.cli.hooks.list import find_hook_names

    yield from find_hook_names(_app(ctx))


@_completes
def complete_hub_skills(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Names of the hub that mean one skill by themselves."""
    from clawft.cli.hub import get_store

    with get_store(_app(ctx), ctx.params.get("folder")) as store:
        for skill in store.list_names(incomplete, MAX_OFFERED):
            yield skill.slug, skill.summary


@_completes
def complete_hub_versions(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.cli.hub import get_store

    with get_store(_app(ctx), ctx.params.get("folder")) as store:
        for skill in store.list_names(incomplete.partition("@")[0], MAX_OFFERED):
            for version in store.versions(skill.id):
                yield f"{skill.slug}@{version.version}", "yanked" if version.yanked else skill.summary


@_completes
def complete_hub_tokens(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.cli.hub import get_store
    from clawft.server.hub.tokens import HubTokens

    with get_store(_app(ctx), ctx.params.get("folder")) as store:
        for token, _ in HubTokens(store).list():
            yield token.id, f"{token.owner} {token.label}"


@_completes
def complete_serve_tokens(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.server.tokens import ServeTokens

    for token in ServeTokens(_app(ctx).workspace.user_dir).all():
        yield token.name, f"{' '.join(token.scopes)} {token.label}"


@_completes
def complete_plugins(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """By their manifests alone: nothing is judged in the middle of a line."""
    from clawft.app.plugins import load_found

    for plugin in load_found(_app(ctx)):
        yield plugin.id, (plugin.manifest.description or "") if plugin.manifest else ""


@_completes
def complete_plugin_variables(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Those that the plugin on the same line asks for."""
    from clawft.app.plugins import find_plugin, load_plugin_statuses

    statuses = load_plugin_statuses(_app(ctx), by_digest=False)
    manifest = find_plugin(statuses, str(ctx.params.get("plugin_id") or "")).found.manifest
    yield from ((name, "") for name in (manifest.permissions.env_vars if manifest else ()))


@_completes
def complete_sessions(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.agent.sessions.keys import SUFFIX, decode_key

    # Only names: the store would open each file, and rename those written by older versions.
    files = os.listdir(os.path.join(_app(ctx).workspace.user_dir, "sessions"))
    keys = (decode_key(name.removesuffix(SUFFIX)) for name in files if name.endswith(SUFFIX))
    yield from ((key, "") for key in keys if key)


@_completes
def complete_models(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.agent.providers.endpoint import PRESETS

    config = _app(ctx).config
    yield config.agents.defaults.model, "the default"
    yield "offline", "built in, no language model"
    yield from ((tier.model, "") for tier in config.agents.routing.tiers)
    for name, provider in config.providers.items():
        yield from ((f"{name}/{model}", "") for model in provider.models)
        if provider.default_model:
            yield f"{name}/{provider.default_model}", ""
    yield from ((f"{name}/", "") for name in (*config.providers, *PRESETS))


@_completes
def complete_registries(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.config.registries import list_registries

    app = _app(ctx)
    for name, registry in list_registries(app.own_config.registries).items():
        yield name, registry.url


@_completes
def complete_runs(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Complete the IDs of runs that are stored in a file. A database server is not asked: completion must not wait."""
    from clawft.jobs import is_installed
    from clawft.jobs.recent_runs import load_recent_runs_of_file

    app = _app(ctx)
    if is_installed() and not app.own_config.runs.database:
        seen = load_recent_runs_of_file(app.workspace.user_dir, MAX_OFFERED)
        yield from ((run.id, f"{run.status}: {run.title}") for run in seen)


@_completes
def complete_keys(ctx: click.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.config.schema import walk_sections

    typed = incomplete.split(".")
    for path, kind in walk_sections():
        section = _name_parts(path, typed)
        yield from ((f"{section}.{field}", "") for field in kind.__struct_fields__)
    with suppress(ClawftError):
        yield from ((".".join(path), "") for path in _paths(_app(ctx).config.values))


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


@_completes
def complete_help(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.cli.help_topics import get_topic_summary, list_topics

    context = ctx.find_root()
    words: tuple[str, ...] = ctx.params.get("words") or ()
    if not words:
        yield from ((name, get_topic_summary(name)) for name in list_topics())
    for word in words:
        below = context.command.get_command(context, word) if isinstance(context.command, click.Group) else None
        if below is None:
            return
        context = click.Context(below, info_name=word, parent=context)
    if isinstance(context.command, click.Group):
        yield from ((name, "") for name in context.command.list_commands(context))


def _app(ctx: click.Context) -> "App":
    from clawft.cli.options import open_here

    return open_here(tuple(ctx.params.get("dirs") or ()))


def _offer(names: Iterable[tuple[str, str]], incomplete: str) -> "list[CompletionItem[str]]":
    """Return the completions that start with `incomplete`, each once. Errors are ignored and give fewer completions."""
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


# Not click's own script for bash: that one breaks on keys with a `:`, which bash takes for a word of its own, and on
# quoted arguments before. What fish sends, the line up to the cursor and its last word, can be had from bash too.
_BASH = """\
_weft_completion() {
    local line=${COMP_LINE:0:COMP_POINT} type value at
    local word=${line##*[[:space:]]}
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            plain) COMPREPLY+=("${value%%$'\\t'*}") ;;
        esac
    done < <(COMP_WORDS=$line COMP_CWORD=$word _WEFT_COMPLETE=fish_complete "$1" 2>/dev/null)
    word=${word#--*=}
    if [[ $word == *:* && $COMP_WORDBREAKS == *:* ]]; then
        for at in "${!COMPREPLY[@]}"; do
            COMPREPLY[at]=${COMPREPLY[at]#"${word%"${word##*:}"}"}
        done
    fi
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o nosort -F _weft_completion weft 2>/dev/null || complete -F _weft_completion weft
"""
_INSTALL = {
    "bash": """\
# Completion of weft for bash. To install it, either write it where bash-completion looks:
#   weft completion bash > ~/.local/share/bash-completion/completions/weft
# or put this line into ~/.bashrc:
#   eval "$(weft completion bash)"
""",
    "zsh": """\
# Completion of weft for zsh. To install it, write it to a folder of $fpath:
#   mkdir -p ~/.zfunc && weft completion zsh > ~/.zfunc/_weft
# and have this in ~/.zshrc:
#   fpath+=(~/.zfunc); autoload -Uz compinit; compinit
""",
    "fish": """\
# Completion of weft for fish. To install it:
#   weft completion fish > ~/.config/fish/completions/weft.fish
""",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a shell complete.

    Its first lines tell how to install it.
    """
    if shell == "bash":
        click.echo(_INSTALL[shell] + _BASH, nl=False)
        return
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "weft", "_WEFT_COMPLETE").source()
    first, rest = script.split("\n", 1) if script.startswith("#compdef") else ("", script)  # zsh wants it on line 1
    click.echo(f"{first}\n{_INSTALL[shell]}{rest}".lstrip("\n"), nl=False)
