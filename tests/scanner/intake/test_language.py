"""A file is what it holds: its first line and its structure count before its name."""

from pathlib import Path

import pytest

from scan_material import SCRIPT, languages, marks, take


@pytest.mark.parametrize(
    ("name", "content", "language"),
    [
        ("SKILL.md", "---\nname: a\n---\n# A\n", "markdown"),
        ("run", SCRIPT, "shell"),
        ("notes.txt", SCRIPT, "shell"),
        ("notes.txt", "Some words that are only prose, and nothing more than that.\n", "markdown"),
        ("data.dat", "import os\nos.system('ls')\n", "python"),
        ("data", "const a = require('fs');\nconsole.log(a)\n", "javascript"),
        ("page.md", "<!doctype html>\n<html><body>hi</body></html>", "html"),
        ("x.log", "<?php system('ls'); ?>\n", "php"),
        ("tool.py", "#!/usr/bin/env node\nconsole.log(1)\n", "javascript"),
        ("tool", "#!/usr/bin/env -S python3 -u\nprint(1)\n", "python"),
        ("book.json", '{"nbformat": 4, "cells": []}', "notebook"),
        ("Dockerfile", "FROM alpine\nRUN ls\n", "dockerfile"),
        ("Dockerfile.dev", "FROM alpine\n", "dockerfile"),
        ("Makefile", "all:\n\tls\n", "makefile"),
        ("package.json", '{"name": "a"}', "json"),
        (".env", "A=1\n", "ini"),
        (".bashrc", "alias a=b\n", "shell"),
        (".git/hooks/pre-commit", "ls\n", "shell"),
        ("logo.svg", "<svg/>", "html"),
        ("a.ps1", "Get-Item .\n", "powershell"),
        ("a.unknown", "$x = New-Object Net.WebClient\n$x.DownloadString('u')\n", "powershell"),
        ("requirements.txt", "httpx==1\n", "ini"),
    ],
)
def test_the_language_of_a_file(tmp_path: Path, name: str, content: str, language: str) -> None:
    assert languages(take(tmp_path, {name: content})) == {name: language}


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-8-sig", "latin-1"]
)
def test_a_script_is_read_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    files = take(tmp_path, {"run.sh": (SCRIPT + "# caf\u00e9\n").encode(encoding)})
    assert [one.text.startswith("#!/bin/sh\ncurl -s") for one in files.documents] == [True]


def test_nul_bytes_between_letters_are_removed_and_noted(tmp_path: Path) -> None:
    files = take(tmp_path, {"run.sh": b"\0\0".join(SCRIPT.encode()[at : at + 1] for at in range(len(SCRIPT)))})
    assert [one.text for one in files.documents] == [SCRIPT]
    assert ("hidden", "nul-padding") in marks(files)


def test_line_ends_of_every_system_are_lines(tmp_path: Path) -> None:
    files = take(tmp_path, {"a.sh": "one\r\ntwo\r\n", "b.sh": "one\rtwo\r"})
    assert [one.text for one in files.documents] == ["one\ntwo\n", "one\ntwo\n"]


def test_a_script_under_the_name_of_a_picture_is_noted_and_read(tmp_path: Path) -> None:
    files = take(tmp_path, {"logo.png": SCRIPT})
    assert [(one.language, one.origin) for one in files.documents] == [("shell", ("wrong-type",))]
    assert marks(files) == {("hidden", "wrong-type")}
