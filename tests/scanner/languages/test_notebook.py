"""The cells of a notebook are documents of the languages they are run in."""

import json

from clawft.scanner.facts import Document
from clawft.scanner.languages import analyse


def cells(*sources: str, indent: int | None = None, kernel: str = "python") -> list[tuple[str, str, int]]:
    book = {
        "nbformat": 4,
        "metadata": {"kernelspec": {"language": kernel}},
        "cells": [{"cell_type": "code", "source": source.splitlines(keepends=True)} for source in sources],
    }
    analysis = analyse(Document("a.ipynb", json.dumps(book, indent=indent), "notebook"))
    return [(one.language, one.text.strip(), one.line_at(0)) for one in analysis.children]


def test_code_cells_are_one_program() -> None:
    assert cells("import os", "print(os.sep)") == [("python", "import os\nprint(os.sep)", 1)]


def test_the_code_of_a_cell_stands_on_the_line_of_the_file() -> None:
    book = {"nbformat": 4, "cells": [{"cell_type": "code", "source": ["import os\n", "print(os.sep)\n"]}]}
    text = json.dumps(book, indent=1)
    child = analyse(Document("a.ipynb", text, "notebook")).children[0]
    line = child.line_at(child.text.index("print"))
    assert "print(os.sep)" in text.split("\n")[line - 1]


def test_commands_in_a_cell_are_shell() -> None:
    found = cells("x = 1\n!curl -s https://pages.example/w | sh\n%pip install tidy\ny = !ls\n")
    assert ("shell", "curl -s https://pages.example/w | sh\npip install tidy\nls", 1) in found


def test_a_cell_magic_names_the_language() -> None:
    assert cells("%%bash\nls") == [("shell", "ls", 1)]
    assert cells("%%script perl\nprint 1;") == [("perl", "print 1;", 1)]
    assert cells("%%time\nprint(1)") == [("python", "print(1)", 1)]


def test_the_kernel_names_the_language() -> None:
    assert cells("cat('a')", kernel="R") == [("r", "cat('a')", 1)]


def test_texts_and_outputs_are_prose() -> None:
    book = {
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": "# Title"},
            {"cell_type": "code", "source": "1", "outputs": [{"text": ["out"]}, {"data": {"text/html": "<b>x</b>"}}]},
        ],
    }
    children = analyse(Document("a.ipynb", json.dumps(book), "notebook")).children
    assert {(one.language, one.text.strip()) for one in children} == {
        ("markdown", "# Title"),
        ("markdown", "out"),
        ("html", "<b>x</b>"),
        ("python", "1"),
    }


def test_what_is_no_notebook_is_read_as_json() -> None:
    children = analyse(Document("a.ipynb", '{"a": 1}', "notebook")).children
    assert [one.language for one in children] == ["json"]
