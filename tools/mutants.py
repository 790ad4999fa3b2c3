"""Measures what the tests pin: changes one thing at a time in modules that decide, recover or re-check, and runs the
tests of that module. A change that no test notices is a survivor.

Which changes are tried hangs on the seed and the text of the line alone, so an edit elsewhere does not choose others.
The working tree is never changed: each job has a copy of it with a `.venv` of its own, so that processes that tests
start, `weft` too, import the changed module. Changes that cannot matter are in `tools/mutants.toml` with the reason;
they are listed and not counted.
"""

import argparse
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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mutations import Mutant, choose_mutants, find_mutants

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/clawft"
NEEDED_PERCENT = 95
PER_MODULE = 22
# The tests that pin each module, the quickest first: a run ends with the first that fails.
TESTS: Mapping[str, tuple[str, ...]] = {
    "config/redaction.py": ("tests/config/test_masking.py",),
    "install/lockfile/compare.py": ("tests/install/lockfile/test_compare.py", "tests/cli/test_verify.py"),
    "install/archive/unpack.py": (
        "tests/install/archive/test_unzip.py",
        "tests/install/archive/test_unpack.py",
        "tests/attacks/test_archives.py",
    ),
    "skills/render/template.py": ("tests/skills/render/test_template.py", "tests/skills/render/test_dynamic.py"),
    "agent/tool_permission.py": (
        "tests/agent/test_tool_permission.py",
        "tests/agent/test_modes.py",
        "tests/agent/test_enforced.py",
        "tests/attacks/test_talked_into.py",
        "tests/agent/test_lineage.py",
        "tests/agent/test_hook_calls.py",
        "tests/agent/test_skill_tools.py",
        "tests/agent/test_text_limits.py",
        "tests/agent/test_decided.py",
    ),
    "sandbox/guard.py": ("tests/sandbox/test_guards.py", "tests/sandbox/test_guard.py"),
    "sandbox/visible_files.py": (
        "tests/sandbox/test_visible_files.py",
        "tests/sandbox/test_guard.py",
        "tests/sandbox/test_sandbox.py",
    ),
    "scanner/findings.py": ("tests/scanner/test_verdict.py", "tests/scanner/test_findings.py"),
    "agent/sessions/store.py": ("tests/agent/sessions/test_store.py", "tests/agent/sessions/test_session.py"),
    "install/transaction/apply.py": (
        "tests/install/transaction/test_transaction.py",
        "tests/cli/test_install.py",
        "tests/install/transaction",
    ),
    "trust/approvals.py": ("tests/trust/test_approvals.py", "tests/trust/test_records.py"),
    "trust/command_policy.py": ("tests/trust/test_command_policy.py",),
    "trust/permissions.py": (
        "tests/trust/test_host_grants.py",
        "tests/trust/test_permission_decisions.py",
        "tests/trust/test_permissions.py",
    ),
    "trust/status.py": ("tests/trust/test_status.py",),
}
_NOT_COPIED = frozenset({".git", ".venv", ".cache", ".hypothesis", "build", "dist"})  # at the top


class Result(NamedTuple):
    """What became of the changes of one module."""

    module: str
    made: int
    survivors: tuple[Mutant, ...]
    killed: frozenset[tuple[str, str, str]]


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
