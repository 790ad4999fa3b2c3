"""The check that tests leave os.environ alone, and the fixture that may change it."""

import os
from collections.abc import Iterator, MutableMapping
from pathlib import Path

import pytest

import check_env

OFFENCES = [
    "os.environ['A'] = '1'",
    "os.environ['A'] += '1'",
    "os.environ |= {'A': '1'}",
    "os.environ = {}",
    "del os.environ['A']",
    "a, os.environ['A'] = 1, '1'",
    "os.environ.update(A='1')",
    "os.environ.setdefault('A', '1')",
    "os.environ.pop('A')",
    "os.environ.clear()",
    "os.environb[b'A'] = b'1'",
    "os.putenv('A', '1')",
    "os.unsetenv('A')",
    "monkeypatch.setenv('A', '1')",
    "monkeypatch.delenv('A')",
    "monkeypatch.setitem(os.environ, 'A', '1')",
    "monkeypatch.setattr(os, 'environ', {})",
    "monkeypatch.setattr('os.environ', {})",
    "mock.patch.dict(os.environ, {'A': '1'})",
    "patch.dict('os.environ', {'A': '1'})",
    "env = os.environ",
]


@pytest.mark.parametrize("statement", OFFENCES)
def test_change_of_the_environment_is_found_with_its_line(statement: str) -> None:
    source = f"import os\n\ndef test_it(monkeypatch):\n    {statement}\n"
    (finding,) = check_env.check_source(source, "tests/test_it.py")
    assert finding.startswith("tests/test_it.py:4: ")


@pytest.mark.parametrize(
    "source",
    [
        "import os as system\nsystem.environ['A'] = '1'",
        "from os import environ\nenviron['A'] = '1'",
        "from os import environ as e\ne.clear()",
        "from os import putenv\nputenv('A', '1')",
    ],
)
def test_change_under_another_name_is_found(source: str) -> None:
    assert check_env.check_source(source, "t.py")


@pytest.mark.parametrize(
    "source",
    [
        "import os\nenv = dict(os.environ)\nenv['A'] = '1'",
        "import os\nenv = {**os.environ, 'A': '1'}",
        "import os\nassert os.environ.get('A') == os.environ['A']",
        "def test_it(environ):\n    environ['A'] = '1'\n    del environ['A']",
        "def test_it(monkeypatch, tmp_path):\n    monkeypatch.chdir(tmp_path)",
    ],
)
def test_reading_copying_and_the_fixture_are_fine(source: str) -> None:
    assert check_env.check_source(source, "t.py") == []


def test_only_the_fixture_in_the_top_conftest_may_change_it(tmp_path: Path) -> None:
    fixture = "import os\n\ndef environ():\n    os.environ.clear()\n"
    (tmp_path / "conftest.py").write_text(fixture)
    assert check_env.main(str(tmp_path)) == 0
    (tmp_path / "test_it.py").write_text(fixture)
    assert check_env.main(str(tmp_path)) == 1


@pytest.fixture
def unchanged_afterwards() -> Iterator[None]:
    """Set up before `environ`, so torn down after it."""
    before = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    yield
    assert {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"} == before


def test_fixture_changes_the_environment_for_one_test_only(
    unchanged_afterwards: None, environ: MutableMapping[str, str]
) -> None:
    environ["CLAWFT_TEST_ONLY"] = "1"
    del environ["PATH"]
    assert os.environ["CLAWFT_TEST_ONLY"] == "1"
    assert "PATH" not in os.environ
