"""The doctor's look from inside: what a sandbox holds, and that the look finds holes where there is no sandbox."""

import os
from pathlib import Path
from typing import Any

import pytest

from clawft.sandbox.selftest import HOLES, run_self_test
from clawft.trust.programs import make_host_programs
from clawft.workspace import Workspace

pytestmark = pytest.mark.anyio
Box = Any


async def test_no_known_way_out_is_open_in_a_sandbox(box: Box) -> None:
    found = await run_self_test(box.kind, make_host_programs(box.workspace, os.environ))
    assert (found.reason, found.open) == ("", ())


async def test_ways_out_are_found_where_there_is_no_sandbox(tmp_path: Path) -> None:
    folder = str(tmp_path)
    workspace = Workspace(folder, folder, folder, folder)
    found = await run_self_test("off", make_host_programs(workspace, os.environ))
    needs_root = {"kernel", "devices", "namespaces"}
    assert set(found.open) | needs_root == set(HOLES)
