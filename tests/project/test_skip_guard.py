"""The skip guard, in runs of pytest on small projects."""

import subprocess
import sys
from pathlib import Path

import pytest

import skip_guard

TOOLS = Path(skip_guard.__file__).parent
TESTS = """
import pytest

def test_runs(): pass

@pytest.mark.skip(reason="no")
def test_marked(): pass

def test_inside(): pytest.skip("no")

@pytest.mark.parametrize("n", [1])
@pytest.mark.xfail(reason="no")
def test_expected_to_fail(n): assert False
"""
MODULE = 'import pytest\npytest.skip("no", allow_module_level=True)\n'


def run_project(folder: Path, env: dict[str, str], skips: str, *args: str) -> tuple[int, list[str]]:
    """Run pytest on the sample tests; return the exit status and what the guard said."""
    tests = folder / "tests"
    tests.mkdir()
    settings = f"[tool.pytest]\ntestpaths = ['tests']\npythonpath = ['{TOOLS}']\n"
    (folder / "pyproject.toml").write_text(settings)
    (tests / "conftest.py").write_text('pytest_plugins = ["skip_guard"]\n')
    (tests / "skips.toml").write_text(skips)
    (tests / "test_some.py").write_text(TESTS)
    (tests / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    env = {**env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=240)
    return done.returncode, [line for line in done.stdout.splitlines() if "listed" in line]


def allow(*tests: str) -> str:
    return "".join(f'[[skip]]\ntest = "{test}"\nreason = "because"\n' for test in tests)


@pytest.mark.parametrize("args", [[], ["-p", "xdist", "-n", "1"]], ids=["one process", "xdist"])
def test_every_kind_of_unlisted_skip_fails_the_run_and_is_named(
    tmp_path: Path, child_env: dict[str, str], args: list[str]
) -> None:
    status, said = run_project(tmp_path, child_env, "", *args)
    assert status == 1
    assert said == [
        "skipped but not listed: tests/test_module.py",
        "skipped but not listed: tests/test_some.py::test_expected_to_fail[1]",
        "skipped but not listed: tests/test_some.py::test_inside",
        "skipped but not listed: tests/test_some.py::test_marked",
    ]


def test_listed_skips_pass(tmp_path: Path, child_env: dict[str, str]) -> None:
    skips = allow("tests/test_module.py", "tests/*::test_[im]*", "tests/test_some.py::test_expected_to_fail")
    assert run_project(tmp_path, child_env, skips) == (0, [])


def test_stale_entry_fails_a_full_run(tmp_path: Path, child_env: dict[str, str]) -> None:
    skips = allow("tests/test_module.py", "tests/test_some.py", "tests/test_gone.py")
    assert run_project(tmp_path, child_env, skips) == (1, ["listed but no such test: tests/test_gone.py"])


def test_stale_entry_is_no_matter_in_a_partial_run(tmp_path: Path, child_env: dict[str, str]) -> None:
    skips = allow("tests/test_some.py", "tests/test_gone.py")
    assert run_project(tmp_path, child_env, skips, "tests/test_some.py") == (0, [])


def test_entry_without_a_reason_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "skips.toml"
    path.write_text('[[skip]]\ntest = "tests/test_some.py"\n')
    with pytest.raises(pytest.UsageError, match="needs a test and a reason"):
        skip_guard.load_allowed(path)


def test_entry_does_not_cover_a_test_whose_name_only_begins_alike() -> None:
    assert not skip_guard.matches("tests/test_a.py::test_b", "tests/test_a.py::test_b_too")
