"""The Agent Skills specification to the letter, and beside its reference implementation."""

from pathlib import Path

import pytest
from skills_ref import validate  # type: ignore[import-untyped]

from clawft.skills.parse.skill import parse_skill_md
from clawft.skills.parse.validation import check_spec

OK = "---\nname: pdf\ndescription: d\n---\nBody\n"

ACCEPTED = {
    "minimal": OK,
    "every field": (
        "---\nname: pdf\ndescription: Reads PDFs. Use for PDFs.\nlicense: MIT\ncompatibility: Needs poppler\n"
        'metadata:\n  author: me\n  version: "1.0"\nallowed-tools: Bash(pdf:*) Read\n---\nBody\n'
    ),
    "no body": "---\nname: pdf\ndescription: d\n---\n",
    "comments": "---\n# about\nname: pdf # yes\ndescription: d\n---\n",
    "folded description": "---\nname: pdf\ndescription: >-\n  one\n  two\n---\n",
    "description of 1024": f"---\nname: pdf\ndescription: {'x' * 1024}\n---\n",
    "compatibility of 500": f"---\nname: pdf\ndescription: d\ncompatibility: {'x' * 500}\n---\n",
    "quoted values": "---\nname: 'pdf'\ndescription: \"a: b\"\n---\n",
}
# code, line, text
REJECTED = {
    "no frontmatter": ("spec-frontmatter", 1, "Body\n"),
    "blank line first": ("spec-frontmatter", 1, "\n" + OK),
    "no end": ("frontmatter-unterminated", 1, "---\nname: pdf\ndescription: d\n"),
    "a list": ("spec-yaml", 2, "---\n- name\n---\n"),
    "broken yaml": ("spec-yaml", 2, "---\nname: pdf\ndescription: a: b\n---\n"),
    "no name": ("spec-name", 2, "---\ndescription: d\n---\n"),
    "other folder": ("spec-name", 3, "---\ndescription: d\nname: docx\n---\n"),
    "double hyphen": ("spec-name", 2, "---\nname: pdf--x\ndescription: d\n---\n"),
    "uppercase": ("spec-name", 2, "---\nname: PDF\ndescription: d\n---\n"),
    "underscore": ("spec-name", 2, "---\nname: pdf_x\ndescription: d\n---\n"),
    "long name": ("spec-name", 2, f"---\nname: {'x' * 65}\ndescription: d\n---\n"),
    "no description": ("spec-description", 2, "---\nname: pdf\n---\n"),
    "empty description": ("spec-description", 3, '---\nname: pdf\ndescription: ""\n---\n'),
    "description of 1025": ("spec-description", 3, f"---\nname: pdf\ndescription: {'x' * 1025}\n---\n"),
    "compatibility of 501": (
        "spec-compatibility",
        4,
        f"---\nname: pdf\ndescription: d\ncompatibility: {'x' * 501}\n---\n",
    ),
    "unknown field": ("spec-field", 4, "---\nname: pdf\ndescription: d\nversion: 1.0.0\n---\n"),
}
# What the spec's text forbids and its reference does not see, with the reason.
STRICTER = {
    "nested metadata: the spec maps texts to texts": (
        "spec-metadata",
        4,
        "---\nname: pdf\ndescription: d\nmetadata:\n  openclaw:\n    emoji: x\n---\n",
    ),
    "number in metadata: the reference reads every scalar as a text": (
        "spec-metadata",
        4,
        "---\nname: pdf\ndescription: d\nmetadata:\n  version: 1.0\n---\n",
    ),
    "metadata that is no mapping: the reference does not look": (
        "spec-metadata",
        4,
        "---\nname: pdf\ndescription: d\nmetadata: text\n---\n",
    ),
    "allowed-tools as a list: the spec has one text": (
        "spec-allowed-tools",
        5,
        "---\nname: pdf\ndescription: d\nlicense: MIT\nallowed-tools:\n  - Read\n---\n",
    ),
    "empty license: the reference does not look": (
        "spec-license",
        4,
        '---\nname: pdf\ndescription: d\nlicense: ""\n---\n',
    ),
    "name that YAML reads as a number: the reference reads every scalar as a text": (
        "spec-name",
        2,
        "---\nname: 123\ndescription: d\n---\n",
    ),
}


def _reference(folder: Path, text: str) -> list[str]:
    folder.mkdir()
    (folder / "SKILL.md").write_text(text, "utf-8")
    errors: list[str] = validate(folder)
    return errors


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_the_reference_accepts_is_accepted(case: str, tmp_path: Path) -> None:
    assert _reference(tmp_path / "pdf", ACCEPTED[case]) == []
    assert check_spec(ACCEPTED[case], "pdf", "p") == ()


@pytest.mark.parametrize("case", REJECTED)
def test_what_the_reference_rejects_is_rejected_with_its_line(case: str, tmp_path: Path) -> None:
    code, line, text = REJECTED[case]
    assert _reference(tmp_path / "pdf", text) != []
    found = check_spec(text, "pdf", "p")
    assert (code, "error", f"p:{line}") in [(one.code, one.severity, one.where) for one in found]


@pytest.mark.parametrize("case", STRICTER)
def test_what_only_the_text_of_the_spec_forbids_is_rejected(case: str, tmp_path: Path) -> None:
    code, line, text = STRICTER[case]
    folder = "123" if "123" in text else "pdf"
    assert _reference(tmp_path / folder, text) == []
    assert [(one.code, one.line) for one in check_spec(text, folder, "p")] == [(code, line)]


def test_name_in_another_script_is_accepted_by_both(tmp_path: Path) -> None:
    text = "---\nname: übersicht\ndescription: d\n---\n"
    assert _reference(tmp_path / "übersicht", text) == []
    assert check_spec(text, "übersicht", "p") == ()


def test_every_violation_is_reported_and_not_the_first_alone() -> None:
    text = f"---\nname: A_\ndescription: {'x' * 1025}\nfoo: 1\nbar: 2\n---\n"
    assert sorted({found.code for found in check_spec(text, "a", "p")}) == [
        "spec-description",
        "spec-field",
        "spec-name",
    ]
    assert len([found for found in check_spec(text, "a", "p") if found.code == "spec-field"]) == 2


BLOCK = """---
name: pdf
description: d
metadata:
  version: "1.0.0"
  openclaw:
    requires:
      bins:
        - jq
      skills:
        - calendar
    install:
      - kind: brew
        formula: jq
        bins:
          - jq
---
"""


def test_what_a_skill_needs_stands_in_the_block_of_a_client_where_it_is_read_and_no_error(
    tmp_path: Path,
) -> None:
    assert _reference(tmp_path / "pdf", BLOCK) == []
    assert [(one.code, one.severity, one.line) for one in check_spec(BLOCK, "pdf", "p")] == [
        ("spec-metadata", "note", 4)
    ]
    skill = parse_skill_md(BLOCK, "pdf")
    assert (skill.requires.bins, skill.requires.skills, skill.install[0].formula) == (("jq",), ("calendar",), "jq")
    other = BLOCK.replace("  openclaw:", "  others:")
    assert [one.severity for one in check_spec(other, "pdf", "p")] == ["error"]


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("version: 1.0.0", "Write it as metadata.version, a text"),
        ("requires: {bins: [jq]}", "Write it as metadata.openclaw.requires. Run: weft help needs"),
        ("bins: [jq]", "Write it as metadata.openclaw.requires.bins. Run: weft help needs"),
        ("depends-on: [calendar]", "Write it as metadata.openclaw.requires.skills. Run: weft help needs"),
        ("install: []", "Write it as metadata.openclaw.install. Run: weft help needs"),
        ("context: fork", "Allowed: name, description, license, compatibility, metadata, allowed-tools"),
    ],
)
def test_a_field_that_the_spec_does_not_have_is_told_its_place(field: str, place: str) -> None:
    (found,) = check_spec(f"---\nname: pdf\ndescription: d\n{field}\n---\n", "pdf", "p")
    assert (found.code, found.hint) == ("spec-field", place)
