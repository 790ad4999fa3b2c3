"""What attacks share: an arena in each of the sandboxes."""

import os
from pathlib import Path
from typing import Any

import pytest

from arena import Arena
from clawft.config.tools import SandboxSettings
from clawft.sandbox.sandbox import Sandbox
from clawft.workspace import Workspace

_missing: dict[str, str] = {}


def _why_missing(kind: Any, home: str) -> str:
    """Why there is no such sandbox here; found out once."""
    if kind not in _missing:
        workspace = Workspace(home, home, home, home)
        status = Sandbox(SandboxSettings(mode=kind), workspace, {"PATH": os.defpath}).status()
        _missing[kind] = "" if status.kind == kind else status.reason
    return _missing[kind]


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandboxed(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The kind of sandbox that an attack is run in."""
    why = _why_missing(request.param, str(tmp_path))
    if why:
        pytest.skip(f"there is no {request.param} here: {why}")
    return str(request.param)


@pytest.fixture
def arena(sandboxed: str, tmp_path: Path) -> Arena:
    return Arena(tmp_path, sandboxed)
