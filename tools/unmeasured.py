"""A pytest plugin: tests marked `unmeasured` run without coverage, which would more than double their time.

For tests that are long for their own sake: they run the same lines a million times. Coverage has no way of its own to
stop in a worker process, where two of it are at work, one inside the other.
"""

from collections.abc import Generator

import pytest
from coverage.collector import Collector


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "unmeasured: long for its own sake; runs without coverage.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    running = Collector._collectors[-1] if Collector._collectors and item.get_closest_marker("unmeasured") else None
    if running is None:
        return (yield)
    running.pause()
    try:
        return (yield)
    finally:
        running.resume()
