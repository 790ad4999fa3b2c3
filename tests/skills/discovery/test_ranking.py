"""Which skills fit a request: names, descriptions and tags, whatever the request holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.skills.discovery.ranking import match_context
from clawft.skills.parse.model import Skill, SkillInterface

SKILLS = (
    Skill(name="code-review", description="Review code changes for defects."),
    Skill(name="release-notes", description="Write notes from the commits since a tag."),
    Skill(name="invoice-reader", display_name="Rechnung", description="Extract totals from bills.", tags=("pdf",)),
    Skill(name="deploy", description="Deploy to staging.", when_to_use="After the tests have passed."),
    Skill(name="übersetzer", description="Übersetzt Texte.", interface=SkillInterface(short_description="Translate")),
    Skill(name="triggered", description="Anything.", triggers=("satellite dish",), category="astronomy"),
    Skill(name="silent"),
)


def _names(request: str, limit: int = 10) -> list[str]:
    return [one.skill.name for one in match_context(request, SKILLS, limit)]


@pytest.mark.parametrize(
    ("request_text", "name"),
    [
        ("code-review", "code-review"),
        ("use the code-review skill please", "code-review"),
        ("code_review", "code-review"),
        ("$code-review", "code-review"),
        ("DEPLOY", "deploy"),
        ("extract the totals", "invoice-reader"),
        ("Rechnung", "invoice-reader"),
        ("a pdf", "invoice-reader"),
        ("did the tests pass", "deploy"),
        ("übersetzer", "übersetzer"),
        ("translate", "übersetzer"),
        ("satellite", "triggered"),
        ("astronomy", "triggered"),
    ],
)
def test_skill_is_found_by_what_it_says_of_itself(request_text: str, name: str) -> None:
    assert _names(request_text)[0] == name


@pytest.mark.parametrize("request_text", ["reviewing", "reviews", "reviewed", "defect"])
def test_other_forms_of_a_word_match(request_text: str) -> None:
    assert _names(request_text) == ["code-review"]


def test_name_counts_more_than_description() -> None:
    skills = (
        Skill(name="other", description="About a deploy, and how to deploy."),
        Skill(name="deploy", description="Something else entirely."),
    )

    assert [one.skill.name for one in match_context("deploy", skills)] == ["deploy", "other"]


def test_better_fit_comes_first_and_scores_higher() -> None:
    ranked = match_context("write release notes from commits and review", SKILLS)

    assert [one.skill.name for one in ranked] == ["release-notes", "code-review"]
    assert ranked[0].score > ranked[1].score > 0


def test_words_that_say_nothing_find_nothing_beside_words_that_do() -> None:
    assert _names("please help me to deploy the thing") == ["deploy"]


@pytest.mark.parametrize("request_text", ["", "   ", "!?…", '"', "'", "()", "\x00", "-", "*"])
def test_request_without_words_finds_nothing(request_text: str) -> None:
    assert _names(request_text) == []


@pytest.mark.parametrize(
    "request_text",
    [
        'deploy"',
        "deploy OR",
        "deploy AND NOT",
        "NEAR(deploy, 2)",
        "name:deploy",
        "deploy*",
        "^deploy",
        "-deploy",
        "'; DROP TABLE skill; -- deploy",
        '") UNION SELECT 1 -- deploy',
        "{deploy} : (",
        "deploy\x00",
        "deploy " * 5000,
    ],
)
def test_operators_quotes_and_sql_are_just_words(request_text: str) -> None:
    assert "deploy" in _names(request_text)


@given(st.text(max_size=60))
def test_any_request_is_harmless(request_text: str) -> None:
    assert len(match_context(request_text, SKILLS)) <= len(SKILLS)


def test_limit_is_kept() -> None:
    skills = [Skill(name=f"deploy-{number}", description="Deploy.") for number in range(30)]

    assert len(match_context("deploy", skills, limit=3)) == 3
    assert len(match_context("deploy", skills)) == 10


def test_equal_fits_keep_their_order() -> None:
    skills = [Skill(name="deploy", description="Deploy.", version=str(number)) for number in range(5)]

    assert [one.skill.version for one in match_context("deploy", skills)] == list("01234")


def test_no_skills_give_no_match() -> None:
    assert match_context("deploy", []) == ()
