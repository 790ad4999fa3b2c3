"""The commands of shell texts, beside what bash really runs: that is read, or it is said that not all is."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clawft.trust.command_patterns import explain_doubt
from clawft.trust.path_patterns import CheckedCall, PatternRoots
from clawft.trust.patterns import allows, find_touching, parse_patterns
from clawft.trust.shell_text import MAX_TEXT, read_shell_text

PROGRAMS = ("aa", "bb", "cc")
SHAPES = [
    # loops and conditions
    "for x in 1 2; do aa $x; done",
    "for x in $(aa); do :; done",
    "for ((i=$(aa;echo 0); i<1; i++)); do bb; done",
    "while aa; do break; done",
    "until false; do aa; break; done",
    "set 1; for x do aa; done",
    "for x in a; { aa; }",
    "while read l; do aa; done < <(bb)",
    "select x in 1; do aa; done <<< 1",
    "if false; then bb; elif cc; then aa; fi",
    "case x in x) aa;; *) bb;; esac",
    "case a in (a)aa;;esac",
    "case $(aa) in *) bb ;& x) cc;; esac",
    "if true;then aa;fi",
    # functions, groups, pipes
    "f() { aa; }; f",
    "function f { bb; }; f",
    "f() ( aa ); f",
    "f() for x in 1; do aa; done; f",
    "f(){ aa;};f",
    "function f() { aa; } >/dev/null; f",
    "f() { g() { aa; }; g; }; f",
    "cd() { aa; }; cd x",
    "aa() { bb; }; aa",
    "{ aa; }",
    "( aa; (bb) )",
    "(aa)|(bb)",
    "aa | bb |& cc",
    "aa && bb || cc",
    "aa&bb; wait",
    "! aa",
    "! ! aa",
    "! { aa; }",
    "time aa",
    "time -p bb",
    "time { aa; }",
    "coproc aa; wait",
    "coproc N { bb; }; wait",
    # redirects and here-documents
    ": <<E\n$(aa) `bb`\nE",
    ": <<'E'\n$(aa)\nE",
    ": <<-E\n\t$(aa)\n\tE",
    ": <<E | aa\nx\nE",
    ": <<A <<B\n$(aa)\nA\n$(bb)\nB",
    ": <<E\\F\n$(bb)\nEF\naa",
    ": <<E\n${x:-$(aa)} $((1+$(bb;echo 1)))\nE",
    ": <<E\n\\`aa\\` \\$(bb)\nE",
    ": <<E\n$(aa)",
    ': <<<"$(aa)"',
    ": <<<`aa`",
    "<<E aa\nx\nE",
    ">f aa",
    "2>/dev/null aa",
    "aa >$(bb)",
    "aa &>f",
    "{fd}>f aa",
    "echo a <> f; aa",
    "aa < <(bb) > >(cc); wait",
    "exec 3< <(aa); wait",
    # words
    "\\aa",
    '"a"a',
    "a''a",
    "'aa'",
    "$'\\x61a'",
    "a\\\na",
    "aa \\\n bb",
    "{aa,bb}",
    "x=aa; $x",
    "${x:-aa}",
    '"$(echo aa)"',
    "`echo aa`",
    "echo ${x:-$(aa)}",
    "echo ${x:-`bb`}",
    'echo "${x:-"$(aa)"}"',
    "echo $(( $(aa; echo 1) ))",
    "echo $[ $(aa; echo 1) ]",
    "echo ${x/$(aa)/b} ${x:$(bb;echo 0):1}",
    'echo "`aa`"',
    "echo `echo \\`aa\\``",
    "echo '$(aa)' \"\\$(bb)\"",
    "echo {1..$(aa;echo 2)}",
    'x=(1 $(aa) 2); bb "${x[@]}"',
    "x[$(aa;echo 0)]=1",
    "[[ -n $(aa) && ( x =~ $(bb) ) ]]",
    "(( $(aa; echo 1) + 1 )) && bb",
    "shopt -s extglob; echo @($(aa)|b)",
    "aa # bb",
    "aa;#bb",
    "echo a#b $(aa)",
    'echo "it\'s" $(aa)',
    "echo $'a\\'b' $(aa)",
    # assignments, and what the shell runs later
    "X=1 aa",
    "X=$(bb) aa",
    "a=1 b=2 aa",
    "export X=$(aa)",
    "declare -a x=($(aa))",
    "readonly X=`aa`",
    "let x=$(aa;echo 1)",
    "x='a[$(aa)]'; ((x))",
    "declare -i n='b[$(aa)0]'",
    "printf -v 'x[$(aa)0]' y",
    'test -v "x[\\$(aa)0]"',
    "x='$(aa)'; echo \"${x@P}\"",
    "command aa",
    "exec aa",
    "builtin eval aa",
    "eval 'aa; bb'",
    'eval "a""a"',
    "eval aa\\;bb",
    "x='$(aa)'; eval $x",
    "trap 'aa' EXIT",
    "trap 'aa;bb' 0",
    "shopt -s expand_aliases\nalias zz=aa\nzz",
    "source <(echo aa)",
    ". /dev/stdin <<< aa",
    "/bin/sh -c 'aa|bb'",
    "PS4='$(aa)'; set -x; :",
    "hash -p $PATH/aa zz; zz",
    "complete -C aa zz; compgen -C aa z",
    "mapfile -C aa -c 1 x <<< y",
    "aa() { :; }; command aa",
    "aa() { :; }; unset -f aa; aa",
    "if false; then aa() { :; }; fi; aa",
    "(aa() { :; }); aa",
    "aa; aa() { :; }",
    # no shell, or not all of it
    "aa <name>",
    "<name>; aa",
    "aa;;\nbb",
    "( aa",
    '"aa',
    "if aa",
    "aa\nfi\nbb",
    "aa\r\nbb",
    "aa\x0bbb",
    "a\u00a0a; bb",
    "aa ...\nbb",
    "",
]


@pytest.fixture(scope="module")
def recorders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs that write down their names, and do nothing else."""
    folder = tmp_path_factory.mktemp("recorders")
    for name in PROGRAMS:
        (folder / name).write_text(f'#!/bin/sh\necho {name} >> "$RECORD"\n')
        (folder / name).chmod(0o755)
    return folder


def run_in_bash(text: str, recorders: Path, folder: Path) -> set[str]:
    """The programs that bash starts for a text."""
    record = folder / "record"
    record.write_text("")
    (folder / "cwd").mkdir(exist_ok=True)
    env = {"PATH": str(recorders), "RECORD": str(record)}
    subprocess.run(
        ["/bin/bash", "-c", text],
        cwd=folder / "cwd",
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    return set(record.read_text().split())


def find_unseen(text: str, ran: set[str]) -> set[str]:
    """Return the programs that a rule against them would not see, though nothing says that there may be others."""
    shell = read_shell_text(text)
    where = PatternRoots("/project", "/project", "/home/user")
    call = CheckedCall("exec_shell", {"command": text}, where)
    if explain_doubt(shell):
        return set()
    return {name for name in ran if find_touching(parse_patterns([f"Bash({name}:*)"]), call) is None}


def find_uncovered(text: str, ran: set[str]) -> set[str]:
    """Return the programs that run although a list allows only others."""
    where = PatternRoots("/project", "/project", "/home/user")
    call = CheckedCall("exec_shell", {"command": text}, where)
    lists = {name: [f"Bash({other}:*)" for other in (*PROGRAMS, "f", "g") if other != name] for name in ran}
    return {name for name in ran if allows(parse_patterns(lists[name]), call)}


@pytest.mark.parametrize("text", SHAPES)
def test_whatever_bash_runs_is_seen_by_rules_or_doubted(text: str, recorders: Path, tmp_path: Path) -> None:
    ran = run_in_bash(text, recorders, tmp_path)

    assert find_unseen(text, ran) == set()
    assert find_uncovered(text, ran) == set()


_ENDS = {"(": "\n)", "{": "\n}", "e": "\n)", "i": "\nthen cc; fi", "f": "\n}; f"}
_words = st.sampled_from(
    [
        "aa",
        "bb",
        "'cc'",
        '"a"a',
        "\\bb",
        "x",
        "$x",
        "$(aa)",
        "`bb`",
        '"$(cc)"',
        "'$(aa)'",
        "<(bb)",
        "X=1",
        "!",
        "time",
        "command",
        "{a,b}",
        "#",
        "\\",
        "$((1))",
        "${x:-$(cc)}",
        "for",
        "in",
        "do",
        "done",
        "if",
        "then",
        "fi",
        "case",
        "esac",
        "[[",
    ]
)
_joints = st.sampled_from(
    [
        " ",
        " ",
        " ",
        ";",
        "; ",
        "|",
        "&&",
        "||",
        "\n",
        "(",
        ")",
        "{ ",
        "; }",
        ">f ",
        "<<E\n",
        "\nE\n",
        "'",
        '"',
        "`",
        "\\\n",
        "& ",
        ";; ",
    ]
)
_fragments = st.sampled_from([text for text in SHAPES if text and "select" not in text and "coproc" not in text])
_random = st.lists(st.tuples(_words, _joints), max_size=9).map(
    lambda pairs: "".join(part for pair in pairs for part in pair)
)
_nested = st.recursive(
    _fragments,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([";", "\n", " | ", " && ", " & "]), inner).map("".join),
        st.tuples(st.sampled_from(["( ", "{ ", "echo $(", "if ", "f() { "]), inner).map(
            lambda pair: (
                pair[0]
                + pair[1]
                + {"(": "\n)", "{": "\n}", "e": "\n)", "i": "\nthen cc; fi", "f": "\n}; f"}[pair[0][0]]
            )
        ),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=_random | _nested)
def test_whatever_bash_runs_of_random_texts_is_seen_or_doubted(text: str, recorders: Path, tmp_path: Path) -> None:
    ran = run_in_bash(text, recorders, tmp_path)

    assert find_unseen(text, ran) == set()
    assert find_uncovered(text, ran) == set()


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("a" * (MAX_TEXT + 1), "longer than"),
        ("a;" * 10_000, "more than 5000 commands"),
        ("(" * 20_000, "not all of it is shell"),
        ("a\0b", "characters that do not show"),
        ("rm \u202ex", "characters that do not show"),
        ("a\ud800b", "characters that do not show"),
    ],
)
def test_what_is_too_much_or_no_text_is_said(text: str, unread: str) -> None:
    assert unread in read_shell_text(text).unread


@pytest.mark.parametrize("text", ["$(" * 3_000 + "aa" + ")" * 3_000, "if a; then " * 2_000 + "aa" + "; fi" * 2_000])
def test_deep_texts_are_read_without_end_of_the_stack(text: str) -> None:
    shell = read_shell_text(text)

    assert shell.unread or any(command.words[0].text == "aa" for command in shell.commands)


def test_functions_count_only_where_they_surely_are_defined() -> None:
    assert read_shell_text("f() { aa; }; f").functions == {"f"}
    for text in ("f; f() { aa; }", "if x; then f() { aa; }; fi; f", "(f() { aa; }); f", "f() { aa; }; unset -f f; f"):
        assert read_shell_text(text).functions == frozenset(), text


def test_reading_runs_and_opens_nothing(tmp_path: Path) -> None:
    read_shell_text(f"touch {tmp_path}/made; echo $(touch {tmp_path}/made) > {tmp_path}/made")

    assert os.listdir(tmp_path) == []
