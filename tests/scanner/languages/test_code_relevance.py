"""What is not read at all must be sure to do nothing: names that are made at run time are looked into."""

import pytest

from clawft.scanner.facts import Document, Kind
from clawft.scanner.languages.code import analyse
from clawft.scanner.languages.code.relevance import may_act


@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("javascript", 'globalThis["ev" + "al"]("1")', Kind.EVAL),
        ("javascript", 'const g = globalThis; const k = "ev" + "al"; g[k]("1")', Kind.EVAL),
        ("javascript", 'require("child_" + "process").exec("ls")', Kind.EXEC),
        ("javascript", 'const c = require("child_process"); c["ex" + "ec"]("ls")', Kind.EXEC),
        ("javascript", 'const c = require("child_process"); c["e\\x78ec"]("ls")', Kind.EXEC),
        ("javascript", '[].constructor.constructor("return 1")()', Kind.EVAL),
        ("python", 'getattr(__import__("o" + "s"), "sys" + "tem")("ls")', Kind.EXEC),
        ("python", 'from os import system as s\ns("ls")', Kind.EXEC),
        ("python", 'globals()["ev" + "al"]("1")', Kind.EVAL),
        ("python", 'def f(s):\n    return s.get("https://pages.example/" + "a")', Kind.FETCH),
        ("python", 'def f(s, base):\n    return s.get(f"{base}/a")', Kind.FETCH),
        ("python", 'def f(s, u, k):\n    return s.post(u, json=k)', Kind.SEND),
    ],
)  # fmt: skip
def test_names_made_at_run_time_are_found(language: str, text: str, kind: Kind) -> None:
    assert kind in {one.kind for one in analyse(Document("program", text, language)).facts}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "import os\nfrom typing import (Any)\n\ndef f(a):\n    return os.path.join(a['b'], a.get('c'))\n"),
        ("javascript", "import { a } from './a';\nconst f = (x) => { console.log(a[0]); return [x].map(String) };\n"),
        ("javascript", "class A { constructor() { this.x = require('./b') } }\n"),
    ],
)  # fmt: skip
def test_what_only_computes_is_not_read(language: str, text: str) -> None:
    assert not may_act([text], language)
    assert analyse(Document("program", text, language)).facts == []


def test_programs_that_use_each_other_are_looked_at_together() -> None:
    assert may_act(["from b import run\nrun('ls')\n", "import os\nrun = os.system\n"], "python")


@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("python", "import os\nprint(f'{os.environ}')\n", Kind.ENV),
        ("python", "import os\nprint(os.popen('ls').read())\n", Kind.EXEC),
        ("python", "import os\nprint(f'{os.popen(chr(108) + chr(115)).read()}')\n", Kind.EXEC),
        ("python", "import os\nprint((os.popen)('ls'))\n", Kind.EXEC),
        ("javascript", "console.log(process.env.TOKEN);\n", Kind.ENV),
        ("javascript", "console.log(`${require('child_process').execSync('ls')}`);\n", Kind.EXEC),
        ("javascript", "console.log([1].map(x => eval('2')));\n", Kind.EVAL),
    ],
)
def test_what_is_done_on_the_way_to_a_print_is_found(language: str, text: str, kind: Kind) -> None:
    assert kind in {one.kind for one in analyse(Document("program", text, language)).facts}
