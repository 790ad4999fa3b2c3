"""A pytest plugin: count tests that passed, failed and were skipped; `make test` ends with .cache/tests.txt.

A run of many tests tells its progress in lines, in place of thousands of dots. Under xdist all of it happens in the
controller, where the reports arrive.
"""

from collections.abc import Generator
from contextlib import suppress

import pytest

MANY_TESTS = 1000
LINES = 10


class Progress:
    """Lines such as `tests: 3050 of 15240 done, 0 failed`, and each failure as it happens."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._total = self._done = self._failed = 0

    def _write(self, line: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._total = self._total or len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._total = len(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self) -> Generator[None, tuple[str, str, str], object]:
        category, letter, word = yield
        return (category, letter, word) if self._total < MANY_TESTS else (category, "", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._total < MANY_TESTS:
            return
        if report.failed:
            self._failed += 1
            self._write(f"FAILED {report.nodeid} ({report.when})")
        if report.when == "teardown":
            self._done += 1
            if self._done * LINES // self._total > (self._done - 1) * LINES // self._total:
                self._write(f"tests: {self._done} of {self._total} done, {self._failed} failed")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "progress")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.collectonly:
        return

    def count(*outcomes: str) -> int:
        return sum(len(terminalreporter.getreports(outcome)) for outcome in outcomes)

    passed, failed, skipped = count("passed", "xpassed"), count("failed", "error"), count("skipped", "xfailed")
    path = config.rootpath / ".cache" / "tests.txt"
    path.parent.mkdir(exist_ok=True)
    with suppress(PermissionError):  # of another user's run, which `make soak` starts
        path.write_text(f"tests: {passed} passed, {failed} failed, {skipped} skipped\n", "utf-8")
