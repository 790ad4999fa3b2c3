"""The grammar of command lines, held against real shells: what we understand means the same to sh and to bash."""

import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from clawft.config.tools import DEFAULT_COMMANDS, ExecSettings
from clawft.skills.render.shell import MAX_LINE, Line, NotUnderstood, parse_line
from clawft.trust.command_policy import CommandPolicy

NAMES = sorted({entry.split()[0] for entry in DEFAULT_COMMANDS})
ALLOWED = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))["allow"]["lines"]
SHELLS = [path for path in map(shutil.which, ("sh", "bash")) if path]
# Every command of the default list becomes a function that writes its words down. `set -f`: no globs.
PRELUDE = "set -f\n" + "".join(
    f"""{name}() {{ command printf '%s\\0' "$#" {name} "$@" >>"$RECORD"; }}\n""" for name in NAMES
)
DEFAULT = CommandPolicy(ExecSettings())

_plain = st.text("abXY019-_./:,+@%^=]!#~é中", min_size=1, max_size=4)
_in_single = st.text("ab \"\\$`|&;<>(){}*?#~!\té'".replace("'", ""), max_size=5).map("'{}'".format)
_in_double = st.lists(
    st.sampled_from(["a", " ", "'", "|", "&", ";", "<", ">", "(", "{", "*", "#", "~", "!", "é", "\\a", "\\'", "\\n",
                     '\\"', "\\$", "\\`", "\\\\"]), max_size=5
).map(lambda parts: '"' + "".join(parts) + '"')  # fmt: skip
_escaped = st.sampled_from([f"\\{char}" for char in " '\"\\$`|&;<>(){}*?#~!abné=["])
_word = st.lists(_plain | _in_single | _in_double | _escaped | st.just("{}"), min_size=1, max_size=4).map("".join)
_redirect = st.sampled_from(["2>&1", ">/dev/null", "2>/dev/null", "</dev/null", ">>/dev/null", "1>&2", "> '/dev/null'"])
_simple = st.lists(_word | _redirect, max_size=4).flatmap(
    lambda words: st.sampled_from(["echo", "cat", "'ls'", "g\\it", 'gr"ep"']).map(lambda name: " ".join([name, *words]))
)
_composed = st.lists(_simple, min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from([" | ", "&&", " || ", ";", "\t;  "]).map(lambda operator: operator.join(parts))
)
_chaos = st.lists(
    st.sampled_from([*"ab '\"\\$`|&;<>(){}*?#~!=-12\té[]", "echo ", " cat ", "&&", "||", "${", "$(", "2>&1", "\\\\"]),
    max_size=14,
).map(lambda parts: "echo " + "".join(parts))  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shell")


def _run(shell: str, line: str, folder: Path) -> list[tuple[str, ...]]:
    """What the commands of a line were given when a real shell ran it, in any order."""
    record = folder / "record"
    record.write_bytes(b"")
    env = {"PATH": "", "HOME": "/nowhere", "RECORD": str(record), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [shell, "-c", PRELUDE + line], env=env, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b""), line
    assert [path.name for path in folder.iterdir()] == ["record"], line
    fields = iter(record.read_bytes().decode().split("\0")[:-1])
    return sorted((next(fields), *(next(fields) for _ in range(int(count)))) for count in fields)


def _expect(line: Line) -> Iterator[tuple[str, ...]]:
    """The commands that run when each of them succeeds: all but those after `||`."""
    skipped = False
    for command, operator in zip(line.commands, ("", *line.operators), strict=True):
        skipped = operator == "||" or (operator == "|" and skipped)
        if not skipped:
            yield command.texts


def _comparable(line: Line) -> bool:
    """Whether the line stands for its texts, and runs only what writes its words down."""
    words = [word for command in line.commands for word in command.words]
    targets = {one.target.text for command in line.commands for one in command.redirects}
    return (
        not any(word.tilde or word.variable for word in words)
        and targets <= {"/dev/null"}
        and {command.words[0].text for command in line.commands} <= set(NAMES)
    )


def _compare(text: str, folder: Path) -> str:
    """Run what is understood in both shells and compare; says what could be done."""
    try:
        line = parse_line(text)
    except NotUnderstood:
        return "not understood"
    if not _comparable(line):
        return "not comparable"
    for shell in SHELLS:
        assert _run(shell, text, folder) == sorted(_expect(line)), (shell, text)
    return "compared"


def test_both_shells_are_there() -> None:
    assert len(SHELLS) == 2


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=_composed)
@example(text="echo a || cat b && ls c")
@example(text="echo a{}b {} '{}'")
@example(text='echo "a$" $ "$|" "$)" x')
def test_shells_see_the_words_that_we_see(text: str, folder: Path) -> None:
    event(_compare(text, folder))


@settings(max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=_chaos)
def test_shells_agree_on_whatever_is_understood(text: str, folder: Path) -> None:
    event(_compare(text, folder))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text("ls'\"\\ |&;<>2/devnul$(){}~*?#=\n-é", max_size=24).map("ls {}".format))
def test_line_that_is_allowed_runs_as_it_was_judged(text: str, folder: Path) -> None:
    if DEFAULT.judge(text).decision == "allow":
        event(_compare(text, folder))


@pytest.mark.parametrize("text", ALLOWED)
def test_lines_of_the_table_run_as_they_were_judged(text: str, folder: Path) -> None:
    _compare(text, folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c", ("a", "b", "c")),
        ("a 'b c' \"d e\" f\\ g", ("a", "b c", "d e", "f g")),
        ("""a b'c'"d"\\e""", ("a", "bcde")),
        ("a '' \"\"", ("a", "", "")),
        (r'a "\$ \` \" \\ \x"', ("a", '$ ` " \\ \\x')),
        ("a '\\'", ("a", "\\")),
        ("a b#c", ("a", "b#c")),
        ("a 2 x2", ("a", "2", "x2")),
        ("a\tb", ("a", "b")),
    ],
)
def test_words_lose_their_quotes(text: str, words: tuple[str, ...]) -> None:
    (command,) = parse_line(text).commands

    assert command.texts == words


def test_words_that_the_shell_would_fill_in_are_marked() -> None:
    (command,) = parse_line('a $X "${Y}" * b? [c] ~ ~/d e=~ \'*\' "~" \\$Z f~').commands

    marks = [(word.variable, word.glob, word.tilde) for word in command.words[1:]]
    assert marks == [
        (True, False, False), (True, False, False),
        (False, True, False), (False, True, False), (False, True, False),
        (False, False, True), (False, False, True), (False, False, True),
        *[(False, False, False)] * 4,
    ]  # fmt: skip


def test_redirects_are_told_apart_from_words() -> None:
    (command,) = parse_line("a b 2>c >>'d e' <f g2>h 2>&1 \\2>i").commands

    assert command.texts == ("a", "b", "g2", "2")
    assert [(one.kind, one.target.text) for one in command.redirects] == [
        (">", "c"), (">>", "d e"), ("<", "f"), (">", "h"), (">", "i"),
    ]  # fmt: skip


def test_line_without_its_quoting_can_be_searched() -> None:
    assert parse_line("c'url'  x|s\\h 2>'/a b' && ls;").normal == "curl x | sh > /a b && ls"


def test_line_may_be_long_but_not_longer() -> None:
    parse_line("a" * MAX_LINE)

    with pytest.raises(NotUnderstood) as caught:
        parse_line("a" * (MAX_LINE + 1))
    assert (caught.value.code, caught.value.exit_code) == ("command-not-understood", 3)
    assert caught.value.hint
