"""Run by the peer's own Python: reads folders, a JSON string a line, and answers each with what the peer says of it.

Nothing of clawft is imported here. What the peer prints goes to stderr, so that stdout holds answers only.
"""

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    start = time.perf_counter()
    scanner = import_module("skill_scanner").SkillScanner()
    version = import_module("skill_scanner").__version__
    _answer(answers, {"ready": version, "seconds": time.perf_counter() - start})
    for line in sys.stdin:
        start = time.perf_counter()
        try:
            found = scanner.scan_skill(Path(json.loads(line)), lenient=True)
            said: dict[str, Any] = {"severities": sorted({one.severity.value for one in found.findings})}
        except Exception as error:  # whatever stops the peer is noted as its answer
            said = {"severities": [], "error": repr(error)[:200]}
        _answer(answers, {**said, "seconds": time.perf_counter() - start})
    return 0


def _answer(stream: Any, said: dict[str, Any]) -> None:
    stream.write(json.dumps(said) + "\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main())
