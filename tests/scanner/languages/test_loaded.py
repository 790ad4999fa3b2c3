"""Commands that run when a skill is loaded."""

import pytest

from clawft.scanner.facts import Document, Kind
from clawft.scanner.languages import analyse
from effort import within


def loaded(text: str) -> list[tuple[str, int]]:
    facts = analyse(Document("SKILL.md", text, "markdown")).facts
    return [(fact.via, fact.line) for fact in facts if fact.kind is Kind.HOOK and fact.target == "claude:load"]


def test_inline_code_after_an_exclamation_mark_runs() -> None:
    assert loaded("# A\n\nState: !`git status` and !`date`\n") == [("git status", 3), ("date", 3)]


def test_a_fence_marked_to_run_runs() -> None:
    assert loaded("# A\n\n```!\ngit status\n```\n") == [("git status", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "Hello!`git status`\n",
        "```\nState: !`git status`\n```\n",
        "![a](b)\n",
        "Wow! `git status`\n",
        "```bash\necho\n```\n",
    ],
)
def test_everything_else_does_not_run(text: str) -> None:
    assert loaded(text) == []


def test_many_marks_take_linear_time() -> None:
    with within(3):
        loaded("!`" * 50_000)
