"""A pytest plugin: while thousands of tests are collected, nothing of them is garbage, so it is not looked for.

Nor afterwards: what was collected stays to the end.
"""

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
