"""`python bench/eval_shell.py FOLDER`: what becomes of the shell blocks of all skills below a folder, in the default
mode, in the sandbox, with nobody there: the shares that run, ask and are refused, and why. Nothing of them is run.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import tree_sitter_bash
from tree_sitter import Language, Parser

from clawft.config.tools import ExecSettings
from clawft.trust.command_policy import CommandJudge, CommandPolicy
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import CheckedCall, PatternRoots, ToolTraits
from clawft.trust.permissions import CallAuthority, decide_call

_BLOCK = re.compile(r"^([ \t]*)```(?:bash|sh|shell|zsh|console|shell-session)\b[^\n]*\n(.*?)^\1```", re.M | re.S)
_PROMPT = re.compile(r"^[ \t]*\$ ", re.M)
_SETTINGS = ExecSettings()
_JUDGE = CommandJudge(_SETTINGS, CommandPolicy(_SETTINGS))
_WHERE, _TRAITS = PatternRoots("/project", "/project", "/home/user"), ToolTraits(judges_itself=True)


def list_blocks(folder: Path) -> Iterator[str]:
    """Yield the shell blocks of every SKILL.md below a folder, without the prompts of sessions."""
    for path in sorted(folder.rglob("SKILL.md")):
        text = path.read_text("utf-8", "replace")
        yield from (_PROMPT.sub("", match[2]) for match in _BLOCK.finditer(text))


def split_statements(block: str) -> Iterator[str]:
    """Yield the statements of a block: each is what a person would run at once."""
    for node in Parser(Language(tree_sitter_bash.language())).parse(block.encode()).root_node.named_children:
        if node.type != "comment" and node.text:
            yield node.text.decode("utf-8", "replace")


def decide(statement: str) -> tuple[str, str]:
    """Return what becomes of a statement, as the tool decides it, and why."""
    decision = decide_call(CheckedCall("exec_shell", {"command": statement}, _WHERE, _TRAITS), CallAuthority())
    if decision.decision in ("ask", "deny"):
        return decision.decision, decision.rule
    verdict = _JUDGE.judge(statement, None, Mode.AUTO_EDIT, "bubblewrap")
    return verdict.decision, verdict.reason


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    blocks = list(list_blocks(parser.parse_args().folder))
    statements = [statement for block in blocks for statement in split_statements(block)]
    found = [decide(statement) for statement in statements]
    shares, reasons = Counter(decision for decision, _ in found), Counter(one for one in found if one[0] != "allow")
    print(f"{len(blocks)} shell blocks, {len(statements)} statements")
    for decision, name in (("allow", "run"), ("ask", "ask"), ("deny", "refused")):
        print(f"{name:8} {shares[decision]:7} {100 * shares[decision] / max(1, len(found)):6.2f} %")
    for (decision, reason), count in reasons.most_common(10):
        print(f"  {decision}: {count} {reason[:100]}")


if __name__ == "__main__":
    main()
