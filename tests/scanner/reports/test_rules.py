"""The page of a rule, and how a rule is found by a name."""

import pytest

from clawft.errors import NotFound
from clawft.scanner.findings import SEVERITIES
from clawft.scanner.reports.rules import find_rule, render_rule, render_rules, tags_of
from clawft.scanner.rule import ScanRule
from clawft.scanner.rules import load_rules

RULE = ScanRule(
    id="door-open",
    title="A door is left open",
    severity="high",
    threat="execution AST06 AML.T0050",
    what="A port is opened.",
    why="Anyone may come in.",
    example="nc -l 4444\n\nnc -l 5555",
    counter_example="nc -z host.example 443",
    fix="Close it.",
    aliases=("OPEN_PORT", "T9"),
)


def test_page_tells_what_why_example_and_counter_example() -> None:
    page = render_rule(RULE)

    assert page.startswith("# door-open\n\nA door is left open.\n\nA port is opened.\n")
    for text in (
        "Anyone may come in.",
        "    nc -l 4444\n\n    nc -l 5555\n",
        "    nc -z host.example 443",
        "Close it.",
    ):
        assert text in page
    assert "- Severity: high (a skill with such a finding is suspicious)\n" in page
    assert "- OWASP Agentic Skills Top 10: AST06 Weak Isolation\n" in page
    assert "- Also known as: `OPEN_PORT`, `T9`\n" in page


def test_page_of_all_rules_has_each_once_and_the_gravest_first() -> None:
    heads = [line[3:] for line in render_rules(load_rules()).split("\n") if line.startswith("## ")]
    grave = {rule.id: SEVERITIES.index(rule.severity) for rule in load_rules()}

    assert sorted(heads) == sorted(grave)
    assert [grave[head] for head in heads] == sorted(grave.values())


@pytest.mark.parametrize("name", ["door-open", "OPEN_PORT", "open_port", " T9 "])
def test_rule_is_found_by_its_id_and_its_aliases(name: str) -> None:
    assert find_rule(name, [RULE]) is RULE


def test_unknown_rule_gets_the_close_match() -> None:
    with pytest.raises(NotFound, match="No rule 'dor-open'") as caught:
        find_rule("dor-open", [RULE])

    assert (caught.value.code, caught.value.hint) == (
        "rule-not-found",
        "did you mean 'door-open'? Run: weft scan rules",
    )


def test_tags_name_the_category_and_the_catalogues_of_others() -> None:
    assert tags_of(RULE) == ["security", "execution", "AST06", "AML.T0050"]


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_every_rule_has_a_whole_page(rule: ScanRule) -> None:
    texts = (rule.title, rule.what, rule.why, rule.fix, rule.example, rule.counter_example)

    assert all(text.strip() for text in texts)
    assert not rule.title.endswith(".")
    assert rule.severity in SEVERITIES
    assert not {rule.id, *rule.aliases} & {
        name for other in load_rules() if other is not rule for name in (other.id, *other.aliases)
    }
