"""A pytest plugin: where coverage costs much and tells nothing new, it is left out.

A line needs to be seen once, and what is measured takes nearly twice as long. So one test in two is measured, but all
tests of areas that have a minimum of their own (tools/check_coverage.py); what is told is less than what is tested.
Child processes are measured for one test in eight: most do less than it costs to measure them. Of a test with many
cases the first are measured; of processes that all import the same modules, the first. Tests marked `unmeasured`, and
those that try many examples, run the same lines a million times.
"""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from zlib import crc32

import pytest

ONE_CHILD_IN = 8
ONE_TEST_IN = 2
ALL_OF = tuple(f"tests/{area}/" for area in ("cli", "config", "skills", "trust"))
BUT = ("tests/cli/repl/",)  # of terminals, which cost most and run the same lines
MANY_CASES = 16


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "unmeasured: long for its own sake; runs without coverage.")
    config.addinivalue_line("markers", "soak: too long for `make test`; `make soak` runs it.")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    worker = getattr(session.config, "workerinput", {}).get("workerid", "gw0")
    if worker == "gw0":
        return (yield)
    with _untraced():
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with _children_alone(item):
        if not _tells_nothing_new(item):
            return (yield)
        with _untraced():
            return (yield)


@contextmanager
def _children_alone(item: pytest.Item) -> Iterator[None]:
    hidden = {}
    if crc32(item.nodeid.encode()) % ONE_CHILD_IN or item.get_closest_marker("unmeasured"):
        hidden = {name: os.environ.pop(name) for name in tuple(os.environ) if name.startswith("COVERAGE_")}
    try:
        yield
    finally:
        os.environ.update(hidden)


@contextmanager
def _untraced() -> Iterator[None]:
    """Coverage leaves this thread alone."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


def _tells_nothing_new(item: pytest.Item) -> bool:
    tries_many = getattr(getattr(item, "function", None), "is_hypothesis_test", False)
    cases = getattr(item, "callspec", None)
    one_of_many = cases is not None and max(cases.indices.values(), default=0) >= MANY_CASES
    return bool(tries_many or one_of_many or _is_left_out(item.nodeid) or item.get_closest_marker("unmeasured"))


def _is_left_out(nodeid: str) -> bool:
    """By a part of the number that the choice of children leaves alone."""
    is_measured = nodeid.startswith(ALL_OF) and not nodeid.startswith(BUT)
    return not is_measured and (crc32(nodeid.encode()) >> 8) % ONE_TEST_IN != 0
