"""Every rule keeps its word: its page is complete, its `hit` folders are found by it, its `ok` folders are not."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from clawft.scanner import scan_path
from clawft.scanner.findings import SEVERITIES
from clawft.scanner.rule import ScanRule
from clawft.scanner.rules import load_rules

CASES = Path(__file__).parent / "rules"
# The ids of the scanners before it (wundr's and OpenClaw's): each is a rule here, or the other name of one.
ALIASES = {
    "crypto-mining",
    "dangerous-exec",
    "dangerous-shell-invocation",
    "destructive-delete",
    "dynamic-code-eval",
    "dynamic-code-execution",
    "dynamic-function-constructor",
    "encoded-instructions",
    "env-harvesting",
    "hidden-command",
    "obfuscated-code",
    "obfuscated-code-base64",
    "obfuscated-code-hex",
    "path-traversal",
    "potential-exfiltration",
    "prompt-injection-ignore",
    "prompt-injection-roleplay",
    "prompt-injection-system",
    "secret-exfiltration",
    "shell-pipe-to-shell",
    "suspicious-network",
    "suspicious-require",
    "unsafe-permissions",
}
RULES = {rule.id: rule for rule in load_rules()}


def find_cases(kind: str) -> list[object]:
    cases = sorted(case.relative_to(CASES).parts for case in CASES.glob(f"*/{kind}/*") if case.is_dir())
    return [pytest.param(rule, case, id=f"{rule}/{case}") for rule, _, case in cases]


def test_ids_are_unique_and_in_kebab_case() -> None:
    ids = [rule.id for rule in load_rules()]
    assert len(ids) == len(set(ids)) == 78
    assert [one for one in ids if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one)] == []


def test_every_folder_of_cases_belongs_to_a_rule() -> None:
    assert sorted({folder.name for folder in CASES.iterdir() if folder.is_dir()} - RULES.keys()) == []


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_a_rule_has_its_whole_page(rule: ScanRule) -> None:
    for text in (rule.title, rule.category, rule.what, rule.why, rule.example, rule.counter_example, rule.fix):
        assert text.strip()
    assert rule.severity in SEVERITIES
    assert re.fullmatch(r"AST(0[1-9]|10)|", rule.owasp)
    assert re.fullmatch(r"AML\.T\d{4}(\.\d{3})?|", rule.atlas)


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
def test_the_aliases_of_a_rule_are_known_and_its_own(rule: ScanRule) -> None:
    assert set(rule.aliases) <= ALIASES
    others = [alias for other in load_rules() if other.id != rule.id for alias in other.aliases]
    assert set(rule.aliases).isdisjoint(others)


def test_a_rule_stands_in_one_file_with_its_check() -> None:
    for rule in load_rules():
        assert any(rule is value for value in vars(import_module(rule.check.__module__)).values())


def test_every_id_of_the_scanners_before_it_leads_to_a_rule() -> None:
    names = {name for rule in load_rules() for name in (rule.id, *rule.aliases)}
    assert names >= ALIASES


@pytest.mark.parametrize("rule", load_rules(), ids=lambda rule: rule.id)
@pytest.mark.parametrize("kind", ["hit", "ok"])
def test_a_rule_has_cases(rule: ScanRule, kind: str) -> None:
    cases = [case for case in (CASES / rule.id / kind).glob("*") if case.is_dir()]
    assert cases, f"write a skill in tests/scanner/rules/{rule.id}/{kind}/"


@pytest.mark.parametrize(("rule", "case"), find_cases("hit"))
def test_a_hit_is_found_with_its_line(rule: str, case: str) -> None:
    folder = CASES / rule / "hit" / case
    assert (folder / "SKILL.md").is_file()
    report = scan_path(str(folder))
    found = [one for one in report.findings if one.rule == rule]
    assert found, f"found instead: {sorted({one.rule for one in report.findings})}"
    for one in found:
        assert one.line >= 1
        assert one.evidence.strip()
        assert one.message.strip()
        assert one.path


@pytest.mark.parametrize(("rule", "case"), find_cases("ok"))
def test_an_ok_is_left_alone(rule: str, case: str) -> None:
    report = scan_path(str(CASES / rule / "ok" / case))
    assert [(one.path, one.line, one.evidence) for one in report.findings if one.rule == rule] == []
