"""Messages about skills: list, detail, file, search, scan, review, approve, revoke, block and enable."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from clawft.server.protocol.base import DaemonAnswer, DaemonRequest, Name, Problem

SkillState = Literal["broken", "shadowed", "disabled", "blocked", "untrusted", "ineligible", "manual", "ready"]


class Requires(Struct, frozen=True, kw_only=True):
    """The requirements of a skill on the machine."""

    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


class Tokens(Struct, frozen=True, kw_only=True):
    """About what a skill costs: as a line of the catalog, and loaded."""

    catalog: int
    body: int


class SkillSummary(Struct, frozen=True, kw_only=True):
    """One skill of a list: an object of `clawft.skills.list.v1`."""

    name: str
    display_name: str
    description: str
    version: str
    scope: str
    layer: str
    format: str
    path: str
    digest: str | None
    state: SkillState
    reasons: tuple[Problem, ...]
    user_invocable: bool
    model_invocable: bool
    context: str
    allowed_tools: tuple[str, ...]
    requires: Requires
    emoji: str | None
    homepage: str | None
    tokens: Tokens


class ListSkills(DaemonRequest, frozen=True, tag="list_skills"):
    """Every skill found, usable or not, with its state and why. `state` keeps those of one state."""

    state: SkillState | Literal[""] = ""


class SkillsList(DaemonAnswer, frozen=True, kw_only=True, tag="skills_list"):
    """`generation` grows whenever something on disk changed."""

    generation: int
    skills: tuple[SkillSummary, ...]
    diagnostics: tuple[Problem, ...] = ()


class GetSkill(DaemonRequest, frozen=True, tag="get_skill"):
    """One skill: by its name, or as `scope:name` or `plugin:name`."""

    name: Name


class FileEntry(Struct, frozen=True, kw_only=True):
    """A file of a skill."""

    path: str
    size: int
    executable: bool = False


class SkillDetail(Struct, frozen=True, kw_only=True):
    """All there is to know about a skill. `model_sees` is its line of the catalog, `body` what is loaded."""

    summary: SkillSummary
    fields: dict[str, Any]
    body: str
    model_sees: str
    files: tuple[FileEntry, ...]
    scan: dict[str, Any]
    diagnostics: tuple[Problem, ...]
    requires_approval: bool = field(name="strange")  # it needs an approval, or has one
    enabled: bool
    pinned: bool


class SkillAnswer(DaemonAnswer, frozen=True, kw_only=True, tag="skill"):
    generation: int
    skill: SkillDetail


class GetSkillFile(DaemonRequest, frozen=True, tag="get_skill_file"):
    """One file of a skill, by its path in the skill's folder. With a `digest`, only of the skill that has it.

    A skill that may not be used is read by those who may approve it.
    """

    name: Name
    path: Annotated[str, Meta(min_length=1, max_length=1_000)]
    digest: Annotated[str, Meta(max_length=200)] = ""


class SkillFile(DaemonAnswer, frozen=True, kw_only=True, tag="skill_file"):
    """`text` is null for what is no text, and ends early where the file is `cut`. `digest` is the skill's."""

    name: str
    path: str
    size: int
    text: str | None
    cut: bool
    digest: str


class SearchSkills(DaemonRequest, frozen=True, tag="search_skills"):
    """Skills that fit a request, best first."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000)]
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 10


class FoundSkill(Struct, frozen=True, kw_only=True):
    name: str
    score: float
    description: str
    state: SkillState


class SkillsFound(DaemonAnswer, frozen=True, kw_only=True, tag="skills_found"):
    query: str
    results: tuple[FoundSkill, ...]


class ScanSkill(DaemonRequest, frozen=True, tag="scan_skill"):
    """Scan a skill by its name, or with the scope `admin` any folder at a `path`."""

    name: Annotated[str, Meta(max_length=256)] = ""
    path: Annotated[str, Meta(max_length=4_096)] = ""


class ScanResult(DaemonAnswer, frozen=True, kw_only=True, tag="scan_result"):
    """The worst verdict, and the results as `clawft.scan.v1` has them: one for each skill there is."""

    verdict: Literal["clean", "suspicious", "malicious"]
    results: tuple[dict[str, Any], ...]


_Digest = Annotated[str, Meta(min_length=1, max_length=200)]


class ReviewSkill(DaemonRequest, frozen=True, tag="review_skill"):
    """Review an untrusted skill before its approval: what it could do, and what changed since the last one."""

    name: Name


class SkillReview(DaemonAnswer, frozen=True, kw_only=True, tag="skill_review"):
    """`review` is as `weft skills trust --format json` gives it; its `digest` is what an approval is bound to."""

    review: dict[str, Any]


class ApproveSkill(DaemonRequest, frozen=True, tag="approve_skill"):
    """Approve a skill as it was reviewed. With another digest than it has now, nothing is approved."""

    name: Name
    digest: _Digest


class RevokeSkill(DaemonRequest, frozen=True, tag="revoke_skill"):
    """Take the approval of a skill back."""

    name: Name


class BlockSkill(DaemonRequest, frozen=True, tag="block_skill"):
    """Block a skill for everybody: disable it in the config, and revoke its approval.

    An untrusted skill that shares its name with a usable one only loses its approval: the config turns off all skills
    of a name.
    """

    name: Name


class EnableSkill(DaemonRequest, frozen=True, tag="enable_skill"):
    """Enable a skill that was disabled; an untrusted one still needs its approval."""

    name: Name


class SkillDecided(DaemonAnswer, frozen=True, kw_only=True, tag="skill_decided"):
    """The skill as it is after the decision."""

    skill: SkillSummary
