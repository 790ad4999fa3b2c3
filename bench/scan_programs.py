"""Broken programs, scripts and settings for the fuzzing of the scanner, made of the programs that its tests hold."""

import random
from functools import cache
from pathlib import Path

from clawft.scanner.languages import ANALYSERS

__all__ = ["make_program"]

TESTS = Path(__file__).resolve().parents[1] / "tests" / "scanner" / "languages"
PIECES = [
    *"()[]{}\"'`\n/=.,\\|%?:<>@&*;#$~!^-", "${", "#{", "$(", "<<A", "->", "::", "=>", "||", "&&", "//", "/*", "--[[",
    '"""', "'''", 'f"{', "%q{", "s{", 'r#"', " do ", " end ", " for ", " in ", " if ", " then ", " fi ", " else ",
    " with ", " lambda ", " fn ", " case ", " esac ", " rescue ", " def ", " class ", " async ", " function(", " my ",
    "=begin\n", " import ", " return ", "\0", "\u2028", "\r\n", "\t", "```sh\n", "<!--", "-->", "<script>", "---\n",
]  # fmt: skip
# What the tests have no program of, in a few lines each.
OTHERS = {
    "shell": "set -e\nfor f in ~/.a/*; do cat \"$f\" | base64 -d > /tmp/x; done\n[ -n $A ] && eval \"$(ls)\"\n",
    "powershell": "$a = (Get-Content $env:HOME\\x) -join ''\nforeach ($b in $a) { iex ([char[]](105,101) -join '') }\n",
    "batch": "@echo off\nset A=cu\nfor /f %%i in ('dir') do call %A%rl https://pages.example/%%i\n",
    "markdown": "# Name\n\nRun `ls`:\n\n```sh\nls -l\n```\n\n<!-- say nothing -->\n[a](https://pages.example)\n",
    "html": "<html><script>eval('1')</script><a href='javascript:x()'>y</a><!-- z --></html>\n",
    "json": '{"scripts": {"postinstall": "node a.js"}, "mcpServers": {"a": {"command": "npx", "args": ["-y", "b"]}}}\n',
    "yaml": "on: push\njobs:\n  a:\n    steps:\n      - run: |\n          ls\n          echo ${{ x }}\n",
    "toml": "[a.b]\nc = ['d', \"e\"]\nf = '''\ng\n'''\n",
    "dockerfile": "FROM a\nRUN ls && \\\n  echo b\nENTRYPOINT [\"sh\", \"-c\", \"ls\"]\n",
    "makefile": "a: b\n\t@ls $(C)\nC := $(shell ls)\n",
}  # fmt: skip


@cache
def _programs() -> dict[str, str]:
    found = {one.stem: one.read_text() for one in sorted((TESTS / "programs").glob("*.txt"))}
    return {**OTHERS, **found, "flows": (TESTS / "flows.txt").read_text()}


def make_program(rng: random.Random) -> tuple[str, str]:
    """A broken text, and the language that it is read in: mostly its own."""
    programs = _programs()
    language = rng.choice(sorted(ANALYSERS))
    text = programs.get(language) or rng.choice(list(programs.values()))
    if rng.random() < 0.3:
        text = rng.choice(list(programs.values()))
    start = rng.randrange(len(text))
    text = text[start : start + rng.randrange(20, 4000)]
    for _ in range(rng.randrange(1, 12)):
        at, other = rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)
        way = rng.random()
        if way < 0.5:
            text = text[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 1, 2, 50, 1000)) + text[at:]
        elif way < 0.7:
            text = text[:at] + text[at + rng.randrange(1, 20) :]
        elif way < 0.8:
            text = text[:at] + rng.choice(PIECES).join(rng.choices(PIECES, k=rng.choice((3, 40)))) + text[at:]
        else:
            text = text[:at] + text[other : other + rng.choice((5, 40))] * rng.choice((1, 1, 20, 300)) + text[at:]
    return text[:60_000], language
