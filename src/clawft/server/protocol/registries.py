"""Places that skills come from: which there are, what they have, what would be installed, and installing it."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, Name, Problem
from clawft.server.protocol.skills import SkillSummary

_Registry = Annotated[str, Meta(max_length=256)]


class ListRegistries(DaemonRequest, frozen=True, tag="list_registries"):
    """The registries that are asked, the default one first. Nothing is sent to them."""


class RegistryEntry(Struct, frozen=True, kw_only=True):
    """One registry: an object of `clawft.registries.list.v1`. `token` tells where its token is, never what it is."""

    name: str
    url: str
    kind: str
    token: str | None
    default: bool


class RegistriesList(DaemonAnswer, frozen=True, kw_only=True, tag="registries_list"):
    registries: tuple[RegistryEntry, ...]


class SearchRegistry(DaemonRequest, frozen=True, tag="search_registry"):
    """Search one registry or all of them; the best results come first."""

    query: Annotated[str, Meta(min_length=1, max_length=500)]
    registry: _Registry = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class RegistryVerdict(Struct, frozen=True, kw_only=True):
    """The verdict of a registry on a skill."""

    status: str
    reasons: tuple[str, ...]
    summary: str


class RegistryHit(Struct, frozen=True, kw_only=True):
    """One result: an object of `clawft.skills.search.hub.v1`. `reference` is what to install."""

    reference: str
    name: str
    owner: str | None
    registry: str
    summary: str
    version: str | None
    downloads: int
    score: float
    verdict: RegistryVerdict | None


class FailedRegistry(Struct, frozen=True, kw_only=True):
    """One that did not answer, and why."""

    registry: str
    problem: Problem


class RegistryFound(DaemonAnswer, frozen=True, kw_only=True, tag="registry_found"):
    query: str
    results: tuple[RegistryHit, ...]
    failed: tuple[FailedRegistry, ...] = ()


class PlanInstall(DaemonRequest, frozen=True, tag="plan_install"):
    """Plan the installation of a skill: it is downloaded, checked and scanned, and nothing is installed.

    `reference` is what `weft skills install` takes. Progress comes as it happens, then the plan.
    """

    reference: Name
    scope: Literal["user", "project"] = "user"


class InstallProgress(DaemonAnswer, frozen=True, kw_only=True, tag="install_progress"):
    """The number of skills that are downloaded and scanned, of those that are known of so far."""

    done: int
    total: int


class InstallPlan(DaemonAnswer, frozen=True, kw_only=True, tag="install_plan"):
    """A plan of an installation: `skills` as `weft skills install --dry-run --format json` prints them, with their
    dependencies; each with the scanner's report (`scan`) and its text (`body`).

    `plan` identifies exactly these skills and places; pass it to `install_skill`. `refused` lists the objections: with
    any, nothing can be installed from here.
    """

    reference: str
    scope: str
    plan: str
    skills: tuple[dict[str, Any], ...]
    refused: tuple[Problem, ...] = ()


class InstallSkill(DaemonRequest, frozen=True, tag="install_skill"):
    """Install what was planned, and approve it. Where it would come to something else by now, nothing is installed."""

    reference: Name
    plan: Annotated[str, Meta(min_length=1, max_length=200)]
    scope: Literal["user", "project"] = "user"


class SkillInstalled(DaemonAnswer, frozen=True, kw_only=True, tag="skill_installed"):
    """The skills as they stand now."""

    skills: tuple[SkillSummary, ...]
    generation: int
    diagnostics: tuple[Problem, ...] = ()
