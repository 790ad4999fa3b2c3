"""What holds for all code: files stay small, few modules start processes, and no test is always true."""

import ast
import re
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


# Who starts processes, and as what. All else prepares them with `clawft.programs` and starts them by one of these.
STARTERS = {
    "cli/demo.py": "weft itself, in the folder of the demo",
    "programs.py": "what outlives this process",
    "sandbox/kept.py": "what is kept and spoken with",
    "sandbox/launcher.py": "the program under Landlock",
    "sandbox/process.py": "all that is run to its end",
    "sandbox/wasm/apart.py": "our own Python, isolated, which compiles",
    "scan/apart.py": "a scanner of our own",
    "scan/workers.py": "scanners of our own",
    "signing/ssh_keygen.py": "ssh-keygen, which asks on the terminal",
    "supply/scanning.py": "scanners of our own",
    "supply/share.py": "a copy of this process that holds a lock",
}
_STARTS = re.compile(
    r"^(subprocess|multiprocessing|webbrowser|pty)(\..*)?$"
    r"|^(os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*)|anyio\.(open|run)_process|asyncio\.create_subprocess\w+)$"
)
# Who runs a program to its end without a sandbox.
RUNNERS = {
    "cli/skills/deps.py", "run/delegate.py", "sandbox/numbers.py", "sandbox/sandbox.py", "sources/git_program.py",
    "tools/exec_shell.py", "tools/web_fetch.py",
}  # fmt: skip


def test_nothing_is_started_but_by_the_few_modules_that_do_it() -> None:
    found, runners = set(), set()
    for path in (ROOT / "src/clawft").rglob("*.py"):
        name = str(path.relative_to(ROOT / "src/clawft"))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if any(map(_STARTS.match, _names_of(node))):
                found.add(name)
            if isinstance(node, ast.ImportFrom) and any(one.name == "run_process" for one in node.names):
                runners.add(name)
    assert (found, runners) == (set(STARTERS), RUNNERS)


def _names_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{one.name}" for one in node.names)]
    return [ast.unparse(node)] if isinstance(node, ast.Attribute) else []


def _is_always_true(test: ast.expr) -> bool:
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Tuple):
        return bool(test.elts)
    return isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and any(map(_is_always_true, test.values))
