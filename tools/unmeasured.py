"""A pytest plugin: where coverage costs much and tells nothing new, it is left out.

Child processes are measured for one test in eight: a line needs to be seen once, and most children do less than it
costs to measure them. Tests marked `unmeasured`, and those that try many examples, run the same lines a million times.
Coverage has no way of its own to stop in a worker process, where two of it are at work, one inside the other.
"""

import os
from collections.abc import Generator
from zlib import crc32

import pytest
from coverage.collector import Collector

ONE_IN = 8


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "unmeasured: long for its own sake; runs without coverage.")
    config.addinivalue_line("markers", "soak: too long for `make test`; `make soak` runs it.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if crc32(item.nodeid.encode()) % ONE_IN == 0:
        return (yield)
    hidden = {name: os.environ.pop(name) for name in tuple(os.environ) if name.startswith("COVERAGE_")}
    try:
        return (yield)
    finally:
        os.environ.update(hidden)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if not Collector._collectors or not _is_long(item):
        return (yield)
    running = Collector._collectors[-1]
    running.pause()
    try:
        return (yield)
    finally:
        running.resume()


def _is_long(item: pytest.Item) -> bool:
    tries_many = getattr(getattr(item, "function", None), "is_hypothesis_test", False)
    return bool(tries_many or item.get_closest_marker("unmeasured"))
