"""No program text holds the analysis up: broken, twisted, endless or growing, it ends, and soon."""

import random
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.scanner.facts import Analysis, Document
from clawft.scanner.languages.code import analyse
from clawft.scanner.languages.code.syntax import SYNTAXES
from effort import within

FOLDER = Path(__file__).parent
PROGRAMS = {one.stem: one.read_text() for one in sorted((FOLDER / "programs").glob("*.txt"))}
FLOWS = (FOLDER / "flows.txt").read_text()
SIZE = 40_000
MAX_S = 3.0  # of processor time for a text of that size; sound text takes a fiftieth
READ = {"python": "\n# eval", "javascript": "\n// eval"}  # with a word that matters in it, a text is read at all
LANGUAGES = sorted(SYNTAXES)


def _look(text: str, language: str) -> Analysis:
    text += READ.get(language, "")
    with within(MAX_S):
        return analyse(Document("program", text, language))


# Brackets that were left open once led the parser back to where it had been.
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("kotlin", "n main(s{s{s{ in ) {\n  \n    va in l   va in l "),
        ("kotlin", "fun main(a { a { a { in ) {\n  val x = 1\n"),
        ("swift", "f(a { b { c { in ) { d"),
        ("ruby", "puts(a { b { c ) { d }\n"),
        ("groovy", "f(a { b { c -> ) { d"),
        ("javascript", "for (x of y { ( [ ) { z"),
        ("python", "with (a as b: (c\nfor x in [y, (z: pass"),
    ],
)
def test_brackets_left_open_end(language: str, text: str) -> None:
    assert _look(text, language).facts == []


ENDLESS = {
    "signs": ("elixir", "%" * SIZE),
    "declarations": ("javascript", "let " + ",".join(f"a{one}=1" for one in range(SIZE // 6))),
    "types": ("go", "x = " + "[]a{}" * (SIZE // 5)),
    "quotes that are escaped": ("python", 'x = "' + '\\"' * (SIZE // 2)),
    "patterns left open": ("javascript", "(/[" * (SIZE // 3)),
    "texts with expressions left open": ("python", 'f"{"' * (SIZE // 4)),
    "long texts with expressions left open": ("python", 'f"""{"""' * (SIZE // 8)),
    "templates left open": ("javascript", "`${" + '\\"' * (SIZE // 2)),
    "substitutions": ("perl", "s{a}{b} " * (SIZE // 8)),
    "colons in an expression": ("python", 'f"{' + ":" * SIZE + '}"'),
    "a place in a template": ("python", 'x = "{.' + ":" * SIZE + '".format(a)\nprint(x)'),
    "brackets": ("python", "(" * SIZE),
    "braces": ("javascript", "{" * SIZE),
    "functions": ("javascript", "function a(){" * (SIZE // 13)),
    "arrows": ("javascript", "a=>" * (SIZE // 3)),
    "choices": ("javascript", "a?" * (SIZE // 2)),
    "conditions": ("python", "x = a" + " if a" * (SIZE // 5)),
    "members": ("python", "a" + ".a" * (SIZE // 2)),
    "blocks": ("ruby", "a { |x| " * (SIZE // 8)),
    "heredocs": ("ruby", "\n".join(f"<<A{one}" for one in range(SIZE // 6))),
    "empty lines that are decoded": (
        "python",
        f'import base64\nexec(base64.b64decode("{b64encode(bytes([10]) * SIZE).decode()}"))',
    ),
    "doubling": ("python", 'a = "xxxxxxxx"\n' + "a = a + a\n" * (SIZE // 10)),
    "doubling in a loop": ("python", 'a = "xx"\nfor i in "' + "b" * 3000 + '":\n    a += a\n' + "    b = a + a\n" * 90),
    "bytes that double": ("python", 'a = b"xx"\n' + "a = a + a\n" * (SIZE // 10)),
    "lists that double": ("python", "a = [" + "1," * 5000 + "]\n" + "a = a + a\n" * (SIZE // 10)),
    "numbers that grow": ("python", 'z = 9\nfor i in "' + "a" * 3000 + '":\n    z = z * z\n    b += 1\n'),
    "numbers too great to add": ("python", f"z = {'9' * 250}\nz = z * z * z\nx = z + 0.5\n"),
    "keys": ("python", "a = {" + ",".join(f'"k{one}": 1' for one in range(2000)) + "}\n" + 'x = a["z"]\n' * 2000),
    "long texts made anew": ("python", 'x = "a" * 400000\n' + 'y = x.replace("a", "bb")[::-1].upper()\n' * 800),
    "commands": ("python", "import os\n" + "".join(f'os.system("ls {one}")\n' for one in range(SIZE // 20))),
    "calls of calls": (
        "python",
        "".join(f"def f{one}(a):\n" + f"    f{one + 1}(a)\n" * 4 for one in range(SIZE // 60)) + 'f0("x")\n',
    ),
    "calls of itself": ("javascript", "function f(a){ return f(a + a) + f(a) }; f('x');" * 400),
}


@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.unmeasured
def test_what_is_endless_ends(name: str) -> None:
    language, text = ENDLESS[name]
    _look(text, language)


def test_what_was_not_followed_to_the_end_is_said() -> None:
    assert _look(ENDLESS["long texts made anew"][1], "python").gaps == ["It does more than is followed to the end"]


PIECES = [
    *"()[]{}\"'`\n/=.,\\|%?:<>@&*;#$~!^", "${", "#{", "<<A", "->", "::", "=>", "||", "//", "/*", "--[[", '"""', "'''",
    'f"{', "%q{", "s{", 'r#"', " do ", " end ", " for ", " in ", " if ", " else ", " as ", " with ", " lambda ", " fn ",
    " case ", " rescue ", " def ", " class ", " async ", " function(", " my ", "=begin\n", " import ", " return ", "\0",
]  # fmt: skip


def _break(rng: random.Random, text: str) -> str:
    start = rng.randrange(len(text))
    text = text[start : start + rng.randrange(20, 1500)]
    for _ in range(rng.randrange(1, 9)):
        at, other = rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)
        way = rng.random()
        if way < 0.5:
            text = text[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 40)) + text[at:]
        elif way < 0.7:
            text = text[:at] + text[at + rng.randrange(1, 20) :]
        else:
            text = text[:at] + text[other : other + 40] * rng.choice((1, 1, 20)) + text[at:]
    return text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.unmeasured
def test_a_broken_program_ends(language: str) -> None:
    rng = random.Random(language)
    for _ in range(60):
        _look(_break(rng, rng.choice((PROGRAMS.get(language, FLOWS), FLOWS))), language)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([*PIECES, "a", "x ", "1", "os.system(", "'ls'"]), max_size=60), st.sampled_from(LANGUAGES)
)
def test_any_row_of_tokens_ends(pieces: list[str], language: str) -> None:
    _look("".join(pieces), language)
