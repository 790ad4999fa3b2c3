"""Shell completion: the script of `weft completion`, and the names that a shell offers for an argument."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING

import click

from clawft.cli.output import one_line
from clawft.errors import ClawftError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from clawft.app.app import App


Completion = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]  # as click calls it
MAX_OFFERED = 1000
_MAX_HELP = 60
# A name is put into a command line as it is: one that a shell would take apart, expand or run is not offered.
_SAFE = re.compile(r"\w[\w.:@+/-]*")


def completes(find: Callable[[click.Context, str], Iterable[tuple[str, str]]]) -> Completion:
    """Offer what a function finds: names, each with a few words on it."""

    @wraps(find)
    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
        return offer(find(ctx, incomplete), incomplete)

    return complete


@completes
def complete_skills(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    for found in open_app_for(ctx).catalog.found:
        yield found.name, found.skill.description if found.skill else ""


@completes
def complete_installed(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """Complete the names of skills that are in the lock file of the scope given on the same line."""
    from clawft.install.lockfile.file import load_lock
    from clawft.install.transaction.targets import find_site

    site = find_site(open_app_for(ctx).workspace, "project" if ctx.params.get("scope") == "project" else "user")
    for skill in load_lock(site.lock).values():
        yield skill.name, skill.version


@completes
def complete_agents(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    for agent in open_app_for(ctx).agents:
        yield agent.found.name, agent.found.agent.description if agent.found.agent else ""


@completes
def complete_plugins(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    """By their manifests alone: nothing is judged in the middle of a line."""
    from clawft.app.plugins import load_found

    for plugin in load_found(open_app_for(ctx)):
        yield plugin.id, (plugin.manifest.description or "") if plugin.manifest else ""


@completes
def complete_sessions(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.agent.sessions.keys import SUFFIX, decode_key

    # Only names: the store would open each file, and rename those written by older versions.
    files = os.listdir(os.path.join(open_app_for(ctx).workspace.user_dir, "sessions"))
    keys = (decode_key(name.removesuffix(SUFFIX)) for name in files if name.endswith(SUFFIX))
    yield from ((key, "") for key in keys if key)


@completes
def complete_models(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.agent.providers.endpoint import PRESETS

    config = open_app_for(ctx).config
    yield config.agents.defaults.model, "the default"
    yield "offline", "built in, no language model"
    yield from ((tier.model, "") for tier in config.agents.routing.tiers)
    for name, provider in config.providers.items():
        yield from ((f"{name}/{model}", "") for model in provider.models)
        if provider.default_model:
            yield f"{name}/{provider.default_model}", ""
    yield from ((f"{name}/", "") for name in (*config.providers, *PRESETS))


@completes
def complete_registries(ctx: click.Context, _incomplete: str) -> Iterator[tuple[str, str]]:
    from clawft.config.registries import list_registries

    app = open_app_for(ctx)
    for name, registry in list_registries(app.own_config.registries).items():
        yield name, registry.url


def complete_folders(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> "list[CompletionItem[str]]":
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def open_app_for(ctx: click.Context) -> "App":
    """Open the app that the command line to be completed is about."""
    from clawft.cli.options import open_here

    return open_here(tuple(ctx.params.get("dirs") or ()))


def offer(names: Iterable[tuple[str, str]], incomplete: str) -> "list[CompletionItem[str]]":
    """Return the completions that start with `incomplete`, each once. Errors are ignored and give fewer completions."""
    from click.shell_completion import CompletionItem

    offered: dict[str, str] = {}
    with suppress(ClawftError, click.ClickException, OSError):
        for name, text in names:
            if name.startswith(incomplete) and len(offered) < MAX_OFFERED and _SAFE.fullmatch(name):
                offered.setdefault(name, text)
    return [CompletionItem(name, help=one_line(text)[:_MAX_HELP] or None) for name, text in sorted(offered.items())]


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
