"""`weft completion SHELL`: the script that lets a shell complete commands, options and names."""

import click

__all__ = ["command"]

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
