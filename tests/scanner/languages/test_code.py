"""Program text to facts: every language, every disguise of a name or a constant, and no text that breaks it."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawft.scanner.facts import Analysis, Document, Kind, trace
from clawft.scanner.languages.code import EFFECTS, analyse
from clawft.scanner.languages.code.syntax import SYNTAXES
from clawft.scanner.languages.code.tables import find_names
from effort import within

# One program per language: it runs `uname -a`, reads APP_TOKEN and PATH, and sends both to HOST, all by other names.
PROGRAMS = {one.stem: one.read_text() for one in sorted((Path(__file__).parent / "programs").glob("*.txt"))}
HOST = "https://drop.example/in"
PATH = "~/.config/app.json"


def _look(text: str, language: str) -> Analysis:
    return analyse(Document("program", text, language))


def _facts(analysis: Analysis) -> set[tuple[Kind, str]]:
    return {(one.kind, one.target) for one in analysis.facts}


@pytest.mark.parametrize("language", PROGRAMS)
def test_each_language_shows_what_it_runs_reads_and_sends_through_other_names(language: str) -> None:
    analysis = _look(PROGRAMS[language], language)
    assert any(one.kind is Kind.EXEC and "uname -a" in one.target for one in analysis.facts)
    assert {(Kind.ENV, "APP_TOKEN"), (Kind.READ, PATH)} <= _facts(analysis)
    sent = [trace(one) for one in analysis.facts if one.kind is Kind.SEND and one.target == HOST]
    flows = {(one.kind, one.target) for sources in sent for one in sources}
    assert {(Kind.ENV, "APP_TOKEN"), (Kind.READ, PATH)} <= flows


def test_every_code_language_has_a_program_and_a_table() -> None:
    assert set(PROGRAMS) == set(SYNTAXES)
    for language in SYNTAXES:
        assert {effect for effect, _ in find_names(language).values()} <= {*EFFECTS, "environment"}


def test_an_answer_does_not_carry_what_was_asked_with() -> None:
    text = "import os, requests\nr = requests.get(A, headers={'k': os.environ['KEY']})\nrequests.post(B, json=r.json())"
    post = [one for one in _look(text, "python").facts if one.kind is Kind.SEND]
    assert [one.kind for one in trace(post[-1])] == [Kind.FETCH]


def test_facts_stand_on_the_line_that_shows_them() -> None:
    facts = _look("import os\n\n\nos.system('id')\n", "python").facts
    assert [(one.kind, one.line) for one in facts] == [(Kind.EXEC, 4)]


@pytest.mark.parametrize("language", SYNTAXES)
@pytest.mark.parametrize(
    "piece", ["(", "[", "{", "f(", "x = {", "'", '"', "`", "${", "#{", "<<A\n", "if x:\n ", "a.", "!", "def f(", "do "]
)
@pytest.mark.unmeasured
def test_deep_and_broken_text_ends_soon(language: str, piece: str) -> None:
    with within(5):
        _look(piece * 2000, language)


def test_a_long_text_is_analysed_around_what_matters_and_says_so() -> None:
    text = "x = 1\n" * 90_000 + "import os\nos.system('id')\n" + "y = 2\n" * 90_000
    analysis = _look(text, "python")
    assert [(one.kind, one.target, one.line) for one in analysis.facts] == [(Kind.EXEC, "id", 90_002)]
    assert analysis.gaps


_WORDS = """x y os eval exec open ( ) [ ] { } , ; : . = + == => -> :: 'a' "b" `c` ${x} #{y} def f return for in if else
end do function import from require lambda class 1 0x1F <<A A % & * | / // # $x @y ~ ! ? r' f"{x}" '''"""
_PIECES = st.sampled_from([*_WORDS.split(), "\n", "\n\n", "\t"])


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(SYNTAXES)), st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=60).map(" ".join))
)
def test_no_text_breaks_the_analysis(language: str, text: str) -> None:
    _look(text, language)


def test_a_loop_over_what_a_folder_holds_deletes_by_its_pattern() -> None:
    text = "from pathlib import Path\nn = 0\nfor f in (Path.home() / 'x').glob('y*'):\n    f.unlink()\n    n += 1\n"
    assert _facts(_look(text, "python")) == {(Kind.DELETE, "~/x/y*")}


def test_a_letter_of_a_text_is_no_path() -> None:
    text = "import os\nn = 0\nfor f in 'ab/~':\n    os.remove(f)\n    n += 1\n"
    assert _facts(_look(text, "python")) == {(Kind.DELETE, "")}


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ('spawnSync(["ab", "c d"].join(""), {shell: true})', "abc d"),
        ('spawnSync("ab", {shell: true})', "ab"),
        ('spawnSync("ab", ["-c", name], {cwd: where})', "ab -c {}"),
        ('spawnSync("ab", [name])', "ab {}"),
    ],
)
def test_options_are_no_part_of_a_command_and_names_are(call: str, line: str) -> None:
    analysis = _look(f'const {{ spawnSync }} = require("child_process");\n{call};\n', "javascript")
    assert [one.target for one in analysis.facts if one.kind is Kind.EXEC] == [line]
