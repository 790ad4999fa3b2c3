"""A pytest plugin: a skipped or expected-to-fail test fails the run unless tests/skips.toml allows it.

Under xdist it works in the controller, where all reports arrive.
"""

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        allowed = load_allowed(config.rootpath / "tests" / "skips.toml")
        config.pluginmanager.register(SkipGuard(allowed, is_full_run(config)), "skip-guard")


def load_allowed(path: Path) -> list[str]:
    """Return the patterns of tests that may be skipped.

    Raises: pytest.UsageError for an entry without a test or a reason.
    """
    entries = tomllib.loads(path.read_text("utf-8")).get("skip", [])
    for entry in entries:
        if not (entry.get("test") and entry.get("reason")):
            raise pytest.UsageError(f"{path}: each [[skip]] needs a test and a reason: {entry}")
    return [entry["test"] for entry in entries]


def matches(pattern: str, test: str) -> bool:
    """Tell whether a pattern is a test's id, the folder, file or test function it lies in, or a glob."""
    lies_in = test.startswith(tuple(pattern + end for end in "/:["))
    return test == pattern or lies_in or fnmatchcase(test, pattern)


def is_full_run(config: pytest.Config) -> bool:
    selected = config.option.keyword or config.option.markexpr or config.option.maxfail
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not selected


class SkipGuard:
    def __init__(self, allowed: list[str], full_run: bool) -> None:
        self._allowed = allowed
        self._full_run = full_run
        self._seen: set[str] = set()
        self._skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report.nodeid, report.skipped or hasattr(report, "wasxfail"))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report.nodeid, report.skipped)  # a whole module

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._problems() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if problems := self._problems():
            terminalreporter.section("tests/skips.toml", red=True)
            for problem in problems:
                terminalreporter.line(problem)

    def _note(self, test: str, skipped: bool) -> None:
        self._seen.add(test)
        if skipped:
            self._skipped.add(test)

    def _problems(self) -> list[str]:
        unlisted = [t for t in sorted(self._skipped) if not any(matches(p, t) for p in self._allowed)]
        stale = [p for p in self._allowed if self._full_run and not any(matches(p, t) for t in self._seen)]
        return [f"skipped but not listed: {test}" for test in unlisted] + [
            f"listed but no such test: {pattern}" for pattern in stale
        ]
