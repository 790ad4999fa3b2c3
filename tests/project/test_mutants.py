"""The tool that changes a module line by line: it finds what no test pins, and leaves the working tree alone."""

import os
import subprocess
from pathlib import Path

import pytest

import mutants
import mutations

MODULE = "limits.py"
SOURCE = '''\
"""Two bounds: one is tested."""

MAX_ITEMS = 5_000


def is_full(count: int) -> bool:
    return count >= 10


def is_late(seconds: int) -> bool:
    return seconds > 60


def read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
'''
TEST = """\
from clawft.limits import is_full, is_late


def test_it() -> None:
    assert [is_full(count) for count in (9, 10, 11)] == [False, True, True]
    assert is_late(1000)
"""
TESTS = {MODULE: ("tests/test_limits.py",)}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A package with one module, a test, and no more."""
    root = tmp_path / "repository"
    (root / "src/clawft").mkdir(parents=True)
    (root / "src/clawft/__init__.py").write_text("")
    (root / "src/clawft" / MODULE).write_text(SOURCE)
    (root / "tests").mkdir()
    (root / "tests/test_limits.py").write_text(TEST)
    return root


@pytest.fixture
def workshop(tmp_path: Path, repository: Path) -> mutants.Workshop:
    return mutants.Workshop(tmp_path / "workshop", repository)


def changes(source: str = SOURCE) -> set[str]:
    return {mutant.change for mutant in mutations.find_mutants(source, MODULE)}


def test_changes_are_of_conditions_numbers_and_what_is_done_and_of_no_text_for_people() -> None:
    assert changes() == {
        "count >= 10 -> count > 10",
        "count >= 10 -> count < 10",
        "10 -> 11",
        "10 -> 9",
        "return count >= 10 -> return None",
        "seconds > 60 -> seconds >= 60",
        "seconds > 60 -> seconds <= 60",
        "60 -> 61",
        "60 -> 59",
        "return seconds > 60 -> return None",
        "return file.read() -> return None",
        "except OSError: return '' -> except OSError: raise",
        "'' -> 'mutant'",
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1, 1", {"1 -> 2", "1 -> 0", "1 -> 2 (2)", "1 -> 0 (2)"}),
        ("x = a and b", {"a and b -> a or b", "a and b -> b", "a and b -> a"}),
        ("if a:\n    raise b", {"a -> not a", "raise b -> pass"}),
        ("x = not a", {"not a -> a"}),
        ("for a in b:\n    break", {"break -> continue"}),
        ("x: int | None = max(a)", {"max(a) -> min(a)"}),
        ("x = a & 7", {"a & 7 -> a | 7"}),
        ("a.b = c", {"a.b = c -> pass"}),
        ("x = [a for a in b if a.c]", {"a.c -> not a.c"}),
        ("x = f'{a + 1}'", set()),
        ("@a(1)\nclass B(c=True): ...", set()),
        ("if TYPE_CHECKING:\n    a(1)", set()),
    ],
)
def test_each_kind_of_change_is_made(source: str, expected: set[str]) -> None:
    found = mutations.find_mutants(source, MODULE)
    assert {mutant.change for mutant in found} == expected
    for mutant in found:
        compile(mutant.source, MODULE, "exec")
        assert mutant.source != source


def test_the_same_are_chosen_as_long_as_their_lines_stay() -> None:
    found = mutations.find_mutants(SOURCE, MODULE)
    chosen = mutations.choose_mutants(found, 1, 6)
    assert len({mutant.key for mutant in chosen}) == 6
    assert [mutant.line for mutant in chosen] == sorted(mutant.line for mutant in chosen)
    moved = mutations.find_mutants(f"import os\n\n{SOURCE}", MODULE)
    assert [mutant.key for mutant in mutations.choose_mutants(moved, 1, 6)] == [mutant.key for mutant in chosen]
    others = [{mutant.key for mutant in mutations.choose_mutants(found, seed, 6)} for seed in range(2, 12)]
    assert any(keys != {mutant.key for mutant in chosen} for keys in others)


def test_what_is_pinned_is_killed_and_what_is_not_survives(
    workshop: mutants.Workshop, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = ("count >= 10 -> count > 10", "count >= 10 -> count < 10", "60 -> 61", "return seconds > 60 -> return None")
    measured = [mutant for mutant in mutations.find_mutants(SOURCE, MODULE) if mutant.change in tried]
    result = mutants.Measure([workshop], TESTS).run(MODULE, SOURCE, measured)
    assert [(mutant.line, mutant.change) for mutant in result.survivors] == [(11, "60 -> 61")]
    assert result.made == 4
    assert (repository / "src/clawft" / MODULE).read_text() == SOURCE

    assert mutants.report([result], {}) == 1
    told = capsys.readouterr().out
    assert "limits.py                    4       3         1              0" in told
    assert list(mutants.list_survivors(result, {})) == ["src/clawft/limits.py:11  60 -> 61"]
    assert "75.0 % of 4 killed (95 % needed)" in told

    reasons = {mutant.key: "Nobody waits that exactly" for mutant in result.survivors}
    assert mutants.report([result], reasons) == 0
    told = capsys.readouterr().out
    assert list(mutants.list_survivors(result, reasons))[1:] == ["    Nobody waits that exactly"]
    assert "100.0 % of 3 killed" in told

    untrue = next(iter(result.killed))
    assert mutants.report([result], {**reasons, untrue: "It cannot matter"}) == 1
    assert "so it matters" in list(mutants.list_survivors(result, {untrue: "It cannot matter"}))[-1]


def test_a_change_that_makes_tests_hang_is_killed(workshop: mutants.Workshop) -> None:
    workshop.write(MODULE, SOURCE.replace("return count >= 10", "while True: pass"))
    assert not workshop.run_tests(TESTS[MODULE], 3)


@pytest.mark.parametrize(
    ("test", "words"),
    [("def test_it() -> None:\n    assert False\n", "its tests fail without any change"),
     ("def test_it() -> None: ...\n", "its tests pass without it")],
)  # fmt: skip
def test_tests_that_fail_anyway_or_do_not_use_the_module_are_an_error(
    tmp_path: Path, repository: Path, test: str, words: str
) -> None:
    (repository / "tests/test_limits.py").write_text(test)
    with pytest.raises(SystemExit, match=words):
        mutants.Measure([mutants.Workshop(tmp_path / "workshop", repository)], TESTS).run(MODULE, SOURCE, [])


def test_a_reason_for_a_change_that_cannot_be_made_any_more_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "mutants.toml"
    entry = '[[equivalent]]\nmodule = "limits.py"\nline = "{}"\nchange = "60 -> 61"\nreason = "r"\n'
    path.write_text(entry.format("return seconds > 60"))
    key = (MODULE, "return seconds > 60", "60 -> 61")
    assert mutants.load_reasons(path, {MODULE: SOURCE}) == {key: "r"}
    path.write_text(entry.format("return seconds > 90"))
    with pytest.raises(SystemExit, match=r"no such change of limits\.py: 'return seconds > 90'"):
        mutants.load_reasons(path, {MODULE: SOURCE})


def test_every_module_and_test_in_the_table_is_there_and_every_reason_fits() -> None:
    for module, tests in mutants.TESTS.items():
        assert (mutants.ROOT / mutants.PACKAGE / module).is_file()
        assert [test for test in tests if not (mutants.ROOT / test).exists()] == []
    sources = {module: (mutants.ROOT / mutants.PACKAGE / module).read_text("utf-8") for module in mutants.TESTS}
    for module, _, _ in mutants.load_reasons(mutants.ROOT / "tools/mutants.toml", sources):
        assert module in mutants.TESTS


def test_weft_in_a_workshop_is_the_changed_one_by_whatever_way_it_is_started(tmp_path: Path) -> None:
    workshop = mutants.Workshop(tmp_path / "workshop")
    workshop.write("__main__.py", 'print("changed")\n')
    workshop.write("cli/__init__.py", 'def main() -> None:\n    print("changed")\n')
    program = workshop.root / ".venv/bin/weft"
    warm = (
        f"from warm import WarmPopen, run_warm\nWarmPopen.is_on = True\n"
        f"print(run_warm([{str(program)!r}], env={{'PATH': {str(program.parent)!r}}}).stdout, end='')"
    )
    env = {"PATH": os.defpath, "PYTHONPATH": str(workshop.root / "bench")}
    for words in ([str(program)], [workshop.python, "-m", "clawft"], [workshop.python, "-c", warm]):
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr) == ("changed\n", ""), words
