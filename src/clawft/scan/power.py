"""The power of a skill: its facts in short, for the report, the approval and the comparison of two versions."""

import re
from collections.abc import Iterable

from clawft.format.model import Skill
from clawft.scan.facts import Fact, Kind
from clawft.scan.findings import ON_LOAD, Power
from clawft.scan.subject import Subject
from clawft.scan.vocabulary.hosts import host_of

__all__ = ["summarise_power"]

# Languages whose facts name the program that they start; others name the call that starts it.
_COMMANDS = frozenset({"shell", "fish", "powershell", "batch", "makefile", "dockerfile"})
_PLACES = frozenset({"CLAUDE_SKILL_DIR", "CLAUDE_PROJECT_DIR"})
_NAME = re.compile(r"[\w.+-]{1,64}")
_MAX_COMMAND = 200


def summarise_power(subject: Subject) -> Power:
    """What the skill would use when all it holds ran, sorted, each once. What is only mentioned counts for nothing."""
    given = _given(subject.skill)
    return Power(
        network=_list(host_of(one.target) for one in _used(subject, Kind.FETCH, Kind.SEND, Kind.CONNECT)),
        exec=_list(_program(one) for one in subject.facts if not one.document.mention),
        files=_list(_path(one) for one in _used(subject, Kind.READ, Kind.WRITE, Kind.DELETE, Kind.PERMIT)),
        env=_list(one.target for one in _used(subject, Kind.ENV) if one.target not in given),
        persistence=_list(one.target for one in _used(subject, Kind.PERSIST)),
        hooks=_list(map(_hook, _used(subject, Kind.HOOK))),
        tools=_list(subject.skill.allowed_tools if subject.skill else ()),
    )


def _used(subject: Subject, *kinds: Kind) -> list[Fact]:
    return [fact for fact in subject.of(*kinds) if not fact.document.mention]


def _given(skill: Skill | None) -> frozenset[str]:
    """Variables that a program of a skill is given by us: where it is, and the arguments of the tools it declares."""
    tools = skill.provided_tools if skill else ()
    named = [name for tool in tools for name in _names(tool.parameters.get("properties"))]
    return _PLACES.union(f"ARG_{name.upper()}" for name in named)


def _names(properties: object) -> Iterable[str]:
    return properties if isinstance(properties, dict) else ()


def _program(fact: Fact) -> str:
    """The program behind a fact: one that a command line starts, or that installs something."""
    if fact.kind is Kind.INSTALL:
        manager = fact.target.partition(":")[0]
        return manager if manager != "download" else ""  # that is left to a person
    if fact.document.language in _COMMANDS and fact.via:
        words = fact.via.split()
    else:
        words = fact.target.split() if fact.kind is Kind.EXEC else []
    name = words[0].rpartition("/")[2] if words else ""
    return name if _NAME.fullmatch(name) else ""


def _hook(fact: Fact) -> str:
    """What starts by itself; with its words where it is a command in a text, which runs as that is loaded."""
    return f"{fact.target} {' '.join(fact.via.split())[:_MAX_COMMAND]}" if fact.target == ON_LOAD else fact.target


def _path(fact: Fact) -> str:
    return fact.target.split()[-1] if fact.kind is Kind.PERMIT and fact.target.split() else fact.target


def _list(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))
