"""What tests of components share: a yard to put them in."""

from pathlib import Path

import pytest

from wasm_yard import WasmYard


@pytest.fixture
def yard(tmp_path: Path) -> WasmYard:
    return WasmYard(tmp_path)
