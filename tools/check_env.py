"""Fails on tests that change this process's environment outside the `environ` fixture.

Most code takes its environment as an argument, so that tests need not change it. Reads the syntax tree only;
it does not follow values through function calls.
"""

import ast
import sys
from pathlib import Path

CHANGING_METHODS = {"update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__"}
CHANGING_OS_FUNCTIONS = {"putenv", "unsetenv"}
CHANGING_ANYWHERE = {"setenv", "delenv"}  # monkeypatch, under any name
PATCHING = {"dict", "setitem", "delitem"}  # patch.dict, monkeypatch.setitem and delitem
MAPPINGS = {"environ", "environb"}
ADVICE = "pass the environment as an argument, or use the `environ` fixture"


def check_source(source: str, name: str, *, is_conftest: bool = False) -> list[str]:
    """Return one finding (`file:line: ...`) for each change of the environment in a module's text."""
    visitor = _Visitor(allow_fixture=is_conftest)
    visitor.visit(ast.parse(source, name))
    return [f"{name}:{line}: changes os.environ; {ADVICE}" for line in sorted(visitor.lines)]


class _Visitor(ast.NodeVisitor):
    def __init__(self, *, allow_fixture: bool) -> None:
        self.lines: set[int] = set()
        self._allow_fixture = allow_fixture
        self._modules = {"os"}
        self._names: dict[str, str] = {}  # local name -> its name in os

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if not (self._allow_fixture and node.name == "environ" and node.col_offset == 0):
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self._modules |= {alias.asname or alias.name for alias in node.names if alias.name == "os"}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "os":
            self._names |= {alias.asname or alias.name: alias.name for alias in node.names}

    def visit_Assign(self, node: ast.Assign) -> None:
        # A second name for os.environ would hide what is done to it.
        if any(map(self._is_target, node.targets)) or self._is_environ(node.value):
            self.lines.add(node.lineno)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if self._is_target(node.target):
            self.lines.add(node.lineno)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        if any(map(self._is_target, node.targets)):
            self.lines.add(node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        if self._is_changing_call(node):
            self.lines.add(node.lineno)
        self.generic_visit(node)

    def _is_changing_call(self, node: ast.Call) -> bool:
        if any(isinstance(arg, ast.Constant) and arg.value == "os.environ" for arg in node.args):
            return True  # patch("os.environ"), patch.dict("os.environ"), setattr("os.environ", ...)
        if self._os_name(node.func) in CHANGING_OS_FUNCTIONS:
            return True
        if not isinstance(node.func, ast.Attribute):
            return False
        method = node.func.attr
        return (
            method in CHANGING_ANYWHERE
            or (method in CHANGING_METHODS and self._is_environ(node.func.value))
            or (method in PATCHING and bool(node.args) and self._is_environ(node.args[0]))
            or (method == "setattr" and [_constant(arg) for arg in node.args[1:2]] == ["environ"])
        )

    def _is_target(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple | ast.List):
            return any(map(self._is_target, node.elts))
        if isinstance(node, ast.Subscript):
            return self._is_environ(node.value)
        return isinstance(node, ast.Attribute) and self._is_environ(node)

    def _is_environ(self, node: ast.expr) -> bool:
        return self._os_name(node) in MAPPINGS

    def _os_name(self, node: ast.expr) -> str | None:
        """The name inside `os` that an expression refers to, if it does."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr if node.value.id in self._modules else None
        return None


def _constant(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def main(folder: str) -> int:
    root = Path(folder)
    findings: list[str] = []
    for path in sorted(root.rglob("*.py")):
        is_conftest = path == root / "conftest.py"
        findings += check_source(path.read_text("utf-8"), str(path), is_conftest=is_conftest)
    print("\n".join(findings) or "no test changes os.environ")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
