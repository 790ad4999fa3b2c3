"""Programs that a skill requires, and the installers that it names for them."""

import re
from typing import Literal

from msgspec import Struct, structs

from clawft.skills.discovery.requirements import LocalMachine
from clawft.skills.parse.dependencies import install_words
from clawft.skills.parse.model import Skill, SkillInstaller

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}")
_RUN = ("brew", "apt", "node", "npm", "go", "uv")

InstallerState = Literal["ready", "there", "unfit", "shown"]


class RequiredProgram(Struct, frozen=True):
    """A program that a skill needs; `any_of` are those one of which is enough."""

    name: str
    there: bool
    any_of: tuple[str, ...] = ()


class ProgramInstaller(Struct, frozen=True):
    """One way to get what is missing. `ready`: it can be run; `there`: what it brings is there already; `unfit`: not on
    this machine, or it is not named properly; `shown`: a person has to do that."""

    id: str
    kind: str
    label: str
    state: InstallerState
    words: tuple[str, ...] = ()
    why: str = ""
    bins: tuple[str, ...] = ()
    url: str = ""


def list_programs(skill: Skill, host: LocalMachine) -> list[RequiredProgram]:
    """List the programs that the skill requires, and whether each is installed."""
    some = skill.requires.any_bins
    found = [RequiredProgram(name, host.has_program(name)) for name in skill.requires.bins]
    return found + ([RequiredProgram(" or ".join(some), any(map(host.has_program, some)), some)] if some else [])


def list_installers(skill: Skill, host: LocalMachine, *, root: bool) -> list[ProgramInstaller]:
    """Every installer that the skill names, in its order, each under a name of its own."""
    taken: set[str] = set()
    found = []
    for number, installer in enumerate(skill.install, 1):
        wanted = installer.id if _ID.fullmatch(installer.id) and installer.id not in taken else ""
        name = wanted or f"{installer.kind if installer.kind.isalpha() else 'installer'}-{number}"
        taken.add(name)
        found.append(_describe(installer, name, host, root))
    return found


def _describe(one: SkillInstaller, name: str, host: LocalMachine, root: bool) -> ProgramInstaller:
    label = one.label or one.formula or one.cask or one.package or one.module or one.url or one.kind
    made = ProgramInstaller(name, one.kind or "other", label, "shown", bins=one.bins, url=one.url)
    if one.kind == "download":
        return structs.replace(made, why="Fetch it yourself, and check what it is")
    words, why = _words(one, root)
    if not words:
        return structs.replace(
            made, state="shown" if not why else "unfit", why=why or "weft does not run installers of this kind"
        )
    if one.os and host.system not in one.os:
        return structs.replace(made, state="unfit", words=words, why=f"It is for {', '.join(one.os)}")
    if one.bins and all(map(host.has_program, one.bins)):
        return structs.replace(made, state="there", words=words, why=f"{', '.join(one.bins)} is there")
    if not host.has_program(words[0]):
        return structs.replace(made, state="unfit", words=words, why=f"{words[0]} is not installed")
    return structs.replace(made, state="ready", words=words)


def _words(one: SkillInstaller, root: bool) -> tuple[tuple[str, ...], str]:
    """The words of the command; none, and why, for one that is not a plain name."""
    if one.kind not in _RUN:
        return (), ""
    words, why = install_words(one)
    if one.kind == "apt" and words:  # nobody is there to answer it
        words = (*(() if root else ("sudo",)), "apt-get", "install", "-y", words[-1])
    return words, why
