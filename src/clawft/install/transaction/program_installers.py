"""The programs that a skill needs, and the installers it names for them, as exact words: nothing is run here."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from clawft.discovery.installing import install_words
from clawft.discovery.requirements import Host
from clawft.format.model import Install, Skill

__all__ = ["Installer", "Program", "list_installers", "list_programs"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_RUN = ("brew", "apt", "node", "npm", "go", "uv")

State = Literal["ready", "there", "unfit", "shown"]


class Program(Struct, frozen=True):
    """A program that a skill needs; `any_of` are those one of which is enough."""

    name: str
    there: bool
    any_of: tuple[str, ...] = ()


class Installer(Struct, frozen=True):
    """One way to get what is missing. `ready`: it can be run; `there`: what it brings is there already; `unfit`: not on
    this machine, or it is not named properly; `shown`: a person has to do that."""

    id: str
    kind: str
    label: str
    state: State
    words: tuple[str, ...] = ()
    why: str = ""
    bins: tuple[str, ...] = ()
    url: str = ""


def list_programs(skill: Skill, host: Host) -> list[Program]:
    """What the skill requires of programs, and whether it is there."""
    some = skill.requires.any_bins
    found = [Program(name, host.has_program(name)) for name in skill.requires.bins]
    return found + ([Program(" or ".join(some), any(map(host.has_program, some)), some)] if some else [])


def list_installers(skill: Skill, host: Host, *, root: bool) -> list[Installer]:
    """Every installer that the skill names, in its order, each under a name of its own."""
    taken: set[str] = set()
    found = []
    for number, one in enumerate(skill.install, 1):
        wanted = one.id if _ID.fullmatch(one.id) and one.id not in taken else ""
        name = wanted or f"{one.kind if one.kind.isalpha() else 'installer'}-{number}"
        taken.add(name)
        found.append(_describe(one, name, host, root))
    return found


def _describe(one: Install, name: str, host: Host, root: bool) -> Installer:
    label = one.label or one.formula or one.cask or one.package or one.module or one.url or one.kind
    made = Installer(name, one.kind or "other", label, "shown", bins=one.bins, url=one.url)
    if one.kind == "download":
        return _with(made, "shown", (), "Fetch it yourself, and check what it is")
    words, why = _words(one, root)
    if not words:
        return _with(made, "shown" if not why else "unfit", (), why or "weft does not run installers of this kind")
    if one.os and host.system not in one.os:
        return _with(made, "unfit", words, f"It is for {', '.join(one.os)}")
    if one.bins and all(map(host.has_program, one.bins)):
        return _with(made, "there", words, f"{', '.join(one.bins)} is there")
    if not host.has_program(words[0]):
        return _with(made, "unfit", words, f"{words[0]} is not installed")
    return _with(made, "ready", words, "")


def _with(made: Installer, state: State, words: Sequence[str], why: str) -> Installer:
    return Installer(made.id, made.kind, made.label, state, tuple(words), why, made.bins, made.url)


def _words(one: Install, root: bool) -> tuple[tuple[str, ...], str]:
    """The words of the command; none, and why, for one that is not a plain name."""
    if one.kind not in _RUN:
        return (), ""
    words, why = install_words(one)
    if one.kind == "apt" and words:  # nobody is there to answer it
        words = (*(() if root else ("sudo",)), "apt-get", "install", "-y", words[-1])
    return words, why
