"""Measures what the tests pin: changes one thing at a time in modules that decide, recover or re-check, and runs the
tests of that module. A change that no test notices is a survivor.

Which changes are tried hangs on the seed and the text of the line alone, so an edit elsewhere does not choose others.
The working tree is never changed: each job has a copy of it with a `.venv` of its own, so that processes that tests
start, `weft` too, import the changed module. Changes that cannot matter are in `tools/mutants.toml` with the reason;
they are listed and not counted.
"""

import argparse
import ast
import copy
import hashlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/clawft"
NEEDED_PERCENT = 95
PER_MODULE = 22
# The tests that pin each module, the quickest first: a run ends with the first that fails.
TESTS: Mapping[str, tuple[str, ...]] = {
    "config/masking.py": ("tests/config/test_masking.py",),
    "locks/compare.py": ("tests/locks/test_compare.py", "tests/cli/test_verify.py"),
    "packing/unzip.py": ("tests/packing/test_unzip.py", "tests/attacks/test_archives.py"),
    "render/template.py": ("tests/render/test_template.py", "tests/render/test_dynamic.py"),
    "run/permit.py": (
        "tests/run/test_permit.py",
        "tests/run/test_modes.py",
        "tests/run/test_enforced.py",
        "tests/attacks/test_talked_into.py",
        "tests/run/test_lineage.py",
        "tests/run/test_hook_calls.py",
        "tests/run/test_skill_tools.py",
    ),
    "sandbox/guard.py": ("tests/sandbox/test_guards.py", "tests/sandbox/test_guard.py"),
    "sandbox/view.py": ("tests/sandbox/test_view.py", "tests/sandbox/test_guard.py", "tests/sandbox/test_sandbox.py"),
    "scan/verdict.py": ("tests/scan/test_verdict.py",),
    "sessions/store.py": ("tests/sessions/test_store.py", "tests/sessions/test_session.py"),
    "supply/apply.py": ("tests/supply/test_transaction.py", "tests/cli/test_install.py", "tests/supply"),
    "trust/approvals.py": ("tests/trust/test_approvals.py", "tests/trust/test_records.py"),
    "trust/commands.py": ("tests/trust/test_commands.py",),
    "trust/decide.py": ("tests/trust/test_decide.py",),
    "trust/state.py": ("tests/trust/test_state.py",),
}
_NOT_COPIED = frozenset({".git", ".venv", ".cache", ".hypothesis", "build", "dist"})  # at the top
_MAX_NUMBER = 100  # a larger one is the size of a bound: tests pin that there is one, not which
_BITS = (ast.BitAnd, ast.BitOr, ast.LShift, ast.RShift)
_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_TWINS = {"any": "all", "all": "any", "min": "max", "max": "min"}


class Mutant(NamedTuple):
    """One change: `text` is the line it is in, `change` what becomes what."""

    module: str
    line: int
    text: str
    change: str
    make: Callable[[], str]

    @property
    def source(self) -> str:
        """The whole module, changed."""
        return self.make()

    @property
    def key(self) -> tuple[str, str, str]:
        return self.module, self.text, self.change


class Result(NamedTuple):
    """What became of the changes of one module."""

    module: str
    made: int
    survivors: tuple[Mutant, ...]
    killed: frozenset[tuple[str, str, str]]


# the changes


def find_mutants(source: str, module: str) -> list[Mutant]:
    """List every change that can be made to a module."""
    lines = source.splitlines()
    tree = ast.parse(source)
    conditions = set(map(id, _list_conditions(tree)))
    found: list[Mutant] = []
    alike: Counter[tuple[str, str]] = Counter()
    for node in _list_nodes(tree):
        for other in _change(node, is_condition=id(node) in conditions):
            change = f"{_show(node)} -> {_show(other)}"
            text = lines[node.lineno - 1].strip()
            alike[text, change] += 1
            if alike[text, change] > 1:
                change += f" ({alike[text, change]})"  # the same again in such a line
            found.append(Mutant(module, node.lineno, text, change, partial(_replace, tree, node, other)))
    return found


def choose_mutants(found: Sequence[Mutant], seed: int, limit: int) -> list[Mutant]:
    """Choose some, by their words: the same ones as long as their lines stay."""

    def draw(mutant: Mutant) -> bytes:
        return hashlib.sha256("\0".join((str(seed), *mutant.key)).encode()).digest()

    return sorted(sorted(found, key=draw)[:limit], key=lambda mutant: mutant.line)


def _list_nodes(tree: ast.AST) -> Iterator[ast.stmt | ast.expr | ast.ExceptHandler]:
    """List what may be changed, in the order of the text. Annotations, texts for people, bits, and what a class or
    function is made with are left alone."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(tree, ast.Call):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom) or _is_for_types(node):
                continue
            if isinstance(node, ast.Constant) and isinstance(tree, ast.BinOp) and isinstance(tree.op, _BITS):
                continue
            if isinstance(node, ast.stmt | ast.expr | ast.ExceptHandler):
                yield node
            if isinstance(node, ast.AST):
                yield from _list_nodes(node)


def _is_for_types(node: object) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _list_conditions(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def _change(node: ast.AST, *, is_condition: bool) -> Iterator[ast.AST]:
    """List what a node may become."""
    if isinstance(node, ast.expr):
        yield from _change_expression(node)
        negatable = not isinstance(node, ast.UnaryOp) and not (isinstance(node, ast.Compare) and len(node.ops) == 1)
        if is_condition and negatable:  # else that is one of the changes above
            yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(node, ast.ExceptHandler):
        yield ast.ExceptHandler(node.type, node.name, [ast.Raise()])
    elif _is_removable(node):
        yield ast.Pass()
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))


def _is_removable(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Raise | ast.AugAssign | ast.Delete)


def _change_expression(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                yield ast.Compare(node.left, [*node.ops[:at], other(), *node.ops[at + 1 :]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for at in range(len(node.values)):
            left = [*node.values[:at], *node.values[at + 1 :]]
            yield ast.BoolOp(node.op, left) if len(left) > 1 else left[0]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TWINS:
        yield ast.Call(ast.Name(_TWINS[node.func.id]), node.args, node.keywords)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _change_value(node.value))


def _change_value(value: object) -> list[bool | int | float | str]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value < _MAX_NUMBER else []
    if isinstance(value, float):
        return [value / 2]
    return ["mutant"] if value == "" else []


def _show(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node))
    return " ".join(text.split())


def _replace(tree: ast.AST, node: ast.AST, other: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(tree, {id(node): other})))


# the runs


class Workshop:
    """A copy of the repository with a `.venv` of its own, whose programs import the copied source."""

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self.root = folder / "repository"
        self._temporary = folder / "tmp"
        shutil.copytree(
            root,
            self.root,
            symlinks=True,
            ignore=lambda place, _: _NOT_COPIED if Path(place) == root else {"node_modules"},
        )
        self._make_venv(Path(sys.prefix))
        self._written = time.time() + 10
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def python(self) -> str:
        return str(self.root / ".venv/bin/python")

    def write(self, module: str, source: str) -> None:
        """Put a module in place, with a time that no compiled file of an earlier one has."""
        path = self.root / PACKAGE / module
        path.write_text(source, "utf-8")
        self._written += 10
        os.utime(path, (self._written, self._written))

    def run_tests(self, tests: Sequence[str], timeout_s: float) -> bool:
        """Run tests until one fails; whether none did. One that hangs has failed."""
        words = [self.python, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", *tests]
        self._temporary.mkdir()
        env = {**os.environ, "TMPDIR": str(self._temporary)}
        with open(self.root / "tests.log", "wb") as log:
            self._process = subprocess.Popen(
                words, cwd=self.root, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            try:
                return self._process.wait(timeout_s) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                self.stop()
                self._process.wait()
                shutil.rmtree(self._temporary, ignore_errors=True)

    def stop(self) -> None:
        """End the tests that run, with what they started."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def read_log(self) -> str:
        """Return what the last tests printed."""
        return (self.root / "tests.log").read_text("utf-8", "replace")

    def _make_venv(self, original: Path) -> None:
        """Make an environment with the packages of another, but for the path to its source."""
        own = self.root / ".venv"
        venv.create(own, symlinks=True, with_pip=False)
        (packages,), (own_packages,) = (list(one.glob("lib/python*/site-packages")) for one in (original, own))
        for entry in packages.iterdir():
            if entry.suffix == ".pth" and "clawft" in entry.name:
                (own_packages / entry.name).write_text(str(self.root / "src"))
            else:
                (own_packages / entry.name).symlink_to(entry)
        for script in (original / "bin").iterdir():
            if script.is_file() and not (own / "bin" / script.name).exists():
                _copy_script(script, own / "bin" / script.name, original, own)


def _copy_script(script: Path, copied: Path, original: Path, own: Path) -> None:
    content = script.read_bytes()
    if not content.startswith(b"#!"):
        copied.symlink_to(script)
        return
    copied.write_bytes(content.replace(os.fsencode(original), os.fsencode(own)))
    copied.chmod(0o755)


class Measure:
    """Runs the tests of modules against their changes, as many at a time as there are workshops."""

    def __init__(self, workshops: Sequence[Workshop], tests: Mapping[str, tuple[str, ...]]) -> None:
        self._tests = tests
        self._workshops = workshops
        self._free: queue.SimpleQueue[Workshop] = queue.SimpleQueue()
        for workshop in workshops:
            self._free.put(workshop)
        self._pool = ThreadPoolExecutor(len(workshops))

    def close(self) -> None:
        """Try no more changes."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for workshop in self._workshops:
            workshop.stop()
        self._pool.shutdown()

    def run(self, module: str, source: str, mutants: Sequence[Mutant]) -> Result:
        """Try the changes of one module. Exits where its tests fail without one, or do not import it."""
        began = time.monotonic()
        if not self._try(module, source, source, 600):
            sys.exit(f"{module}: its tests fail without any change")
        timeout_s = 30 + 10 * (time.monotonic() - began)
        if self._try(module, source, "raise ImportError('this is the changed source')", timeout_s):
            sys.exit(f"{module}: its tests pass without it")
        passed = list(self._pool.map(lambda one: self._try(module, source, one.source, timeout_s), mutants))
        survivors = tuple(mutant for mutant, survives in zip(mutants, passed, strict=True) if survives)
        killed = frozenset(mutant.key for mutant, survives in zip(mutants, passed, strict=True) if not survives)
        return Result(module, len(mutants), survivors, killed)

    def _try(self, module: str, source: str, changed: str, timeout_s: float) -> bool:
        """Return whether the tests pass with a changed module."""
        workshop = self._free.get()
        try:
            workshop.write(module, changed)
            passed = workshop.run_tests(self._tests[module], timeout_s)
            if not passed and changed is source:
                print(workshop.read_log())
            return passed
        finally:
            workshop.write(module, source)
            self._free.put(workshop)


# the reasons, and the report


def load_reasons(path: Path, sources: Mapping[str, str]) -> dict[tuple[str, str, str], str]:
    """Load why changes cannot matter. Exits for an entry that fits no change: its line is another by now."""
    reasons = {}
    known = {module: {mutant.key for mutant in find_mutants(source, module)} for module, source in sources.items()}
    for entry in tomllib.loads(path.read_text("utf-8")).get("equivalent", []):
        key = entry["module"], entry["line"], entry["change"]
        if key[0] in known and key not in known[key[0]]:
            sys.exit(f"{path.name}: no such change of {key[0]}: {key[1]!r}, {key[2]!r}")
        reasons[key] = entry["reason"]
    return reasons


def list_survivors(result: Result, reasons: Mapping[tuple[str, str, str], str]) -> Iterator[str]:
    """Tell what survived in a module, with its reason, and which reason is none."""
    for mutant in result.survivors:
        yield f"{PACKAGE}/{mutant.module}:{mutant.line}  {mutant.change}"
        if mutant.key in reasons:
            yield f"    {reasons[mutant.key]}"
    for key in sorted(result.killed.intersection(reasons)):
        yield f"tools/mutants.toml: a test fails with this change, so it matters: {key}"


def report(results: Sequence[Result], reasons: Mapping[tuple[str, str, str], str]) -> int:
    """Print the figures; 0 if enough was killed, and every reason still holds."""
    total: Counter[str] = Counter()
    print(f"{'module':24}{'made':>6}{'killed':>8}{'survived':>10}{'cannot matter':>15}")
    for result in results:
        excused = sum(mutant.key in reasons for mutant in result.survivors)
        survived = len(result.survivors) - excused
        killed = result.made - len(result.survivors)
        print(f"{result.module:24}{result.made:6}{killed:8}{survived:10}{excused:15}")
        total.update(made=result.made, killed=killed, survived=survived, excused=excused)
    counted = total["killed"] + total["survived"]
    percent = 100 * total["killed"] / max(1, counted)
    print(f"{'all':24}{total['made']:6}{total['killed']:8}{total['survived']:10}{total['excused']:15}")
    print(f"{percent:.1f} % of {counted} killed ({NEEDED_PERCENT} % needed)")
    is_untrue = any(result.killed.intersection(reasons) for result in results)
    return 1 if percent < NEEDED_PERCENT or is_untrue else 0


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", nargs="*", default=[], choices=[*TESTS], help="only these")
    parser.add_argument("--seed", type=int, default=1, help="which changes are tried")
    parser.add_argument("--limit", type=int, default=PER_MODULE, help="how many of each module")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    given = parser.parse_args(words)
    sources = {module: (ROOT / PACKAGE / module).read_text("utf-8") for module in given.module or TESTS}
    reasons = load_reasons(ROOT / "tools/mutants.toml", sources)
    results = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        measure = Measure([Workshop(Path(folder, str(number))) for number in range(given.jobs)], TESTS)
        try:
            for module, source in sources.items():
                began = time.monotonic()
                mutants = choose_mutants(find_mutants(source, module), given.seed, given.limit)
                results.append(measure.run(module, source, mutants))
                print(f"{module}: {len(mutants)} changes in {time.monotonic() - began:.0f} s", flush=True)
                print("\n".join(list_survivors(results[-1], reasons)) or "none survived", flush=True)
        finally:
            measure.close()
    return report(results, reasons)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
