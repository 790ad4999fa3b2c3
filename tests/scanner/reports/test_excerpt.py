"""The lines around a finding, and a stranger's text made visible."""

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.scanner import Finding, Report
from clawft.scanner.findings import Power
from clawft.scanner.reports.text import Excerpt, load_excerpt, render_evidence, render_origin, render_power, reveal

Make = Callable[..., Report]
MakeFinding = Callable[..., Finding]


def _write(folder: Path, text: str | bytes, name: str = "run.sh") -> str:
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(data)
    return str(folder)


def test_two_lines_before_and_after_are_shown(tmp_path: Path, report: Make, finding: MakeFinding) -> None:
    path = _write(tmp_path, "1\n2\n3\n4\n5\n6\n7\n")

    excerpt = load_excerpt(report(path=path), finding(path="run.sh", line=4, end_line=4))

    assert excerpt == Excerpt(((2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "6")), 4, 4)


def test_finding_at_either_end_shows_what_is_there(tmp_path: Path, report: Make, finding: MakeFinding) -> None:
    path = _write(tmp_path, "1\r\n2\r\n3")

    first = load_excerpt(report(path=path), finding(path="run.sh", line=1, end_line=1))
    last = load_excerpt(report(path=path), finding(path="run.sh", line=3, end_line=9))

    assert first == Excerpt(((1, "1"), (2, "2"), (3, "3")), 1, 1)
    assert last == Excerpt(((1, "1"), (2, "2"), (3, "3")), 3, 3)


def test_file_that_was_scanned_alone_has_lines_too(tmp_path: Path, report: Make, finding: MakeFinding) -> None:
    _write(tmp_path, "one\n")

    excerpt = load_excerpt(report(path=str(tmp_path / "run.sh")), finding(path="run.sh", line=1))

    assert excerpt is not None
    assert excerpt.lines[0] == (1, "one")


def test_endless_line_shows_the_part_that_matters(tmp_path: Path, report: Make, finding: MakeFinding) -> None:
    path = _write(tmp_path, "x" * 100_000 + " curl https://a.example " + "y" * 100_000)

    excerpt = load_excerpt(
        report(path=path), finding(path="run.sh", line=1, end_line=1, evidence="…curl https://a.example…")
    )

    assert excerpt is not None
    ((_, line),) = excerpt.lines
    assert "curl https://a.example" in line
    assert len(line) < 500


def test_file_of_a_million_lines_costs_no_more_than_its_size(
    tmp_path: Path, report: Make, finding: MakeFinding
) -> None:
    path = _write(tmp_path, b"a\n" * 1_000_000)
    tracemalloc.start()
    try:
        excerpt = load_excerpt(report(path=path), finding(path="run.sh", line=999_999, end_line=999_999))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert excerpt is not None
    assert excerpt.lines[-1] == (1_000_000, "a")
    assert peak < 5 << 20


@pytest.mark.parametrize(
    ("name", "line"), [("gone.sh", 1), ("run.sh", 0), ("run.sh", 99), ("a.zip!run.sh", 1), ("../outside.sh", 1)]
)
def test_what_has_no_line_shows_none(tmp_path: Path, report: Make, finding: MakeFinding, name: str, line: int) -> None:
    (tmp_path / "skill").mkdir()
    _write(tmp_path, "secret\n", "outside.sh")

    assert load_excerpt(report(path=_write(tmp_path / "skill", "1\n")), finding(path=name, line=line)) is None


def test_link_is_not_followed(tmp_path: Path, report: Make, finding: MakeFinding) -> None:
    (tmp_path / "skill").mkdir()
    _write(tmp_path, "secret\n", "outside.txt")
    os.symlink(tmp_path / "outside.txt", tmp_path / "skill" / "run.sh")
    os.symlink(tmp_path, tmp_path / "skill" / "up")

    skill = report(path=str(tmp_path / "skill"))
    assert load_excerpt(skill, finding(path="run.sh", line=1)) is None
    assert load_excerpt(skill, finding(path="up/outside.txt", line=1)) is None


def test_binary_and_pipe_have_no_lines(tmp_path: Path, report: Make, finding: MakeFinding) -> None:
    path = _write(tmp_path, b"\x7fELF\0\0\n1\n")
    os.mkfifo(tmp_path / "pipe")

    assert load_excerpt(report(path=path), finding(path="run.sh", line=1)) is None
    assert load_excerpt(report(path=path), finding(path="pipe", line=1)) is None


def test_utf16_is_shown_as_text(tmp_path: Path, report: Make, finding: MakeFinding) -> None:
    path = _write(tmp_path, "Write-Host 1\nexit\n".encode("utf-16"))

    excerpt = load_excerpt(report(path=path), finding(path="run.sh", line=1, end_line=1))

    assert excerpt is not None
    assert excerpt.lines[0] == (1, "Write-Host 1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 漢 🙂", "plain ü 漢 🙂"),
        ("a\x1b[2Jb", "a<U+001B>[2Jb"),
        ("a\u202eb\u2066", "a<U+202E>b<U+2066>"),
        ("a\u200b\u200d\u200bb", "a<U+200B and 2 more unseen>b"),
        ("".join(chr(0xE0000 + ord(char)) for char in "hidden"), "<U+E0068 and 5 more unseen>"),
        ("a\x9b31mb\x7f", "a<U+009B>31mb<U+007F>"),
        ("a\udcffb", "a<U+DCFF>b"),
        ("a\tb", "a    b"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert reveal(text) == shown


def test_evidence_is_repeated_only_where_the_lines_do_not_show_it(finding: MakeFinding) -> None:
    plain = Excerpt(((3, f"  {finding().evidence}"),), 3, 3)
    other = Excerpt(((3, "echo Y3VybA== | base64 -d | sh"),), 3, 3)

    assert render_evidence(finding(), plain) == ""
    assert render_evidence(finding(origin=("fence",)), plain) == ""
    assert render_evidence(finding(origin=("fence", "base64")), other) == "Found in base64 in a code block"
    assert render_evidence(finding(), other) == "Read as"
    assert render_evidence(finding(), None) == "Found"


def test_line_with_unseen_characters_does_not_show_its_evidence(finding: MakeFinding) -> None:
    disguised = Excerpt(((3, f"{finding().evidence}\u200b"),), 3, 3)

    assert render_evidence(finding(), disguised) == "Read as"


def test_origin_of_plain_text_is_empty(finding: MakeFinding) -> None:
    assert render_origin(finding()) == ""
    assert render_origin(finding(origin=("html-comment", "zero-width"))) == "zero width in an HTML comment"


def test_power_names_only_what_there_is(report: Make) -> None:
    assert render_power(report().power) == [("network", ("collect.example.net",)), ("programs", ("cat", "curl"))]
    power = Power(files=("{}/CHANGES.md",), hooks=("claude:load git log -3", "npm:postinstall"))
    assert render_power(power) == [
        ("files", ("…/CHANGES.md",)),
        ("hooks", ("npm:postinstall",)),
        ("commands as it is loaded", ("git log -3",)),
    ]
