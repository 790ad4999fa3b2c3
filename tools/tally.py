"""A pytest plugin: count tests that passed, failed and were skipped; `make test` ends with .cache/tests.txt.

Under xdist it works in the controller, where all reports arrive.
"""

from contextlib import suppress

import pytest


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
