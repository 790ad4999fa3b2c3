"""What holds for all code: files stay small, few modules start processes, and no test is always true."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unmeasured  # it reads all code, and runs none of it
ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 620
# One grammar, which is read best in two pieces: what gives a value, and statements.
PARSER = {ROOT / "src/clawft/scanner/languages/code" / name for name in ("expressions.py", "parser.py")}


def test_no_source_file_grows_for_ever() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "bench").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
        if (lines := len(path.read_text("utf-8").splitlines())) > MAX_LINES and path not in PARSER
    }
    assert long == {}


def test_no_assertion_is_always_true() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Assert) and _is_always_true(node.test)
    ]
    assert found == []


# Who starts processes, and as what. All else prepares them with `clawft.trust.programs` and starts them by one of
# these.
STARTERS = {
    "cli/demo.py": "weft itself, in the folder of the demo",
    "trust/programs.py": "what outlives this process",
    "sandbox/bubblewrap.py": "nsenter, which sets a limit of the kernel",
    "sandbox/landlock_launcher.py": "the program under Landlock",
    "sandbox/git_defaults.py": "git, which tells the person's name and settings",
    "sandbox/process.py": "all that is run to its end",
    "sandbox/room.py": "our own Python, isolated, which holds the namespaces of a session",
    "sandbox/room_server.py": "bubblewrap in these namespaces",
    "sandbox/wasm/compiler.py": "our own Python, isolated, which compiles",
    "scanner/processes.py": "scanners of our own",
    "trust/signing/keys.py": "ssh-keygen, which asks on the terminal",
    "install/transaction/scanning.py": "scanners of our own",
    "install/transaction/verification.py": "a copy of this process that holds a lock",
}
_STARTS = re.compile(
    r"^(subprocess|multiprocessing|webbrowser|pty)(\..*)?$"
    r"|^(os\.(system|popen|exec\w+|spawn\w+|posix_spawn\w*|fork\w*)|anyio\.(open|run)_process|asyncio\.create_subprocess\w+)$"
)
# Who runs a program to its end without a sandbox, and the sandbox itself.
RUNNERS = {
    "cli/skills/deps.py", "agent/delegate.py", "install/sources/git_program.py",
    "agent/tools/exec_shell.py", "agent/tools/web.py",
    "sandbox/sandbox.py", "sandbox/probe.py", "sandbox/listener.py",
}  # fmt: skip


def test_nothing_is_started_but_by_the_few_modules_that_do_it() -> None:
    found, runners = set(), set()
    for path in (ROOT / "src/clawft").rglob("*.py"):
        name = str(path.relative_to(ROOT / "src/clawft"))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if any(map(_STARTS.match, _names_of(node))):
                found.add(name)
            if isinstance(node, ast.ImportFrom) and any(
                one.name in ("run_process", "run_launch") for one in node.names
            ):
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
