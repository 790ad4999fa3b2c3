"""What holds for all code: files stay small, and no test is always true."""

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.unmeasured  # it reads all code, and runs none of it
ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 500


def test_no_source_file_grows_for_ever() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
        if (lines := len(path.read_text("utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_no_assertion_is_always_true() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Assert) and _is_always_true(node.test)
    ]
    assert found == []  # 001 §15.6


def _is_always_true(test: ast.expr) -> bool:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Tuple):
        return bool(test.elts)
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and any(map(_is_always_true, test.values))
