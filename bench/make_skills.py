"""Writes a folder of skills in the shapes that are met in the wild: the same folder for the same number, always.

Sizes follow measured percentiles and each trait falls on its exact share, so that a small folder and a large one
cost the same per skill.
"""

import json
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from pathlib import Path

# (share of skills, characters): between two points the logarithm of the size grows evenly
BODY_CHARS = ((0.0, 300), (0.5, 3_000), (0.9, 11_000), (0.99, 28_000), (1.0, 45_000))
DESCRIPTION_CHARS = ((0.0, 30), (0.5, 157), (0.9, 363), (0.99, 700), (1.0, 1_000))

SHARES = {
    "no frontmatter": 0.05,
    "CRLF": 0.02,
    "not ASCII": 0.50,
    "other name": 0.20,
    "flow metadata": 0.36,
    "block metadata": 0.03,
    "unquoted colon": 0.02,
    "quoted description": 0.08,
    "block description": 0.04,
    "homepage": 0.15,
    "allowed-tools": 0.03,
}
# Of two traits in one group a skill has at most one.
GROUPS = ({"flow metadata", "block metadata"}, {"unquoted colon", "quoted description", "block description"})

DAY_S = 86_400
SETTLE_S = 1.1

_NOUNS = (
    "invoice", "calendar", "image", "commit", "report", "branch", "ticket", "recipe", "garden", "weather", "payment",
    "lecture", "folder", "queue", "budget", "photo", "meeting", "playlist", "podcast", "server", "backup", "contract",
)  # fmt: skip
_VERBS = ("summarise", "convert", "check", "collect", "compare", "rename", "publish", "translate", "archive", "plan")
_ENDS = ("when the user asks for it", "before anything is written", "in one pass", "with a note on what changed")
_FOREIGN = ("café", "naïve", "Übersicht", "piñata", "résumé", "—", "…", "“as is”", "→", "✅", "🚀", "📦")
_TOOLS = ("Read", "Write", "Bash(git:*)", "Grep", "WebFetch")
_BINS = ("jq", "curl", "git", "ffmpeg", "python3", "node")
_NAMESPACES = ("clawdbot",) * 7 + ("openclaw", "openclaw", "moltbot")


@dataclass(frozen=True)
class Shape:
    """What one skill is to look like."""

    number: int
    body_chars: int
    description_chars: int
    traits: frozenset[str]


def plan_skills(count: int, seed: int = 1) -> list[Shape]:
    """The shapes of `count` skills."""
    rng = random.Random(f"shapes {seed}")
    bodies = _spread(BODY_CHARS, count, rng)
    descriptions = _spread(DESCRIPTION_CHARS, count, rng)
    traits: list[set[str]] = [set() for _ in range(count)]
    for trait, share in SHARES.items():
        barred = {"no frontmatter"}.union(*(group for group in GROUPS if trait in group))
        if trait in ("CRLF", "not ASCII"):
            barred = set()
        able = [number for number in range(count) if not traits[number] & barred]
        for number in rng.sample(able, round(share * count)):
            traits[number].add(trait)
    return [Shape(i, bodies[i], descriptions[i], frozenset(traits[i])) for i in range(count)]


def write_skills(folder: Path, count: int, seed: int = 1) -> list[str]:
    """Write `count` skills below `folder` as if a day ago; returns the paths of their files."""
    pool = _Pool(random.Random(f"text {seed}"))
    then = time.time() - DAY_S
    paths = []
    for shape in plan_skills(count, seed):
        rng = random.Random(f"skill {seed} {shape.number}")
        name = f"{rng.choice(_VERBS)}-{rng.choice(_NOUNS)}-{shape.number}"
        path = folder / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_bytes(render_skill_md(shape, name, pool, rng).encode())
        os.utime(path, (then, then))
        paths.append(str(path))
    return paths


def wait_until_settled(seconds: float = SETTLE_S) -> None:
    """The cache keeps no file that changed within the last moments, and the change time cannot be set."""
    time.sleep(seconds)


def render_skill_md(shape: Shape, name: str, pool: "_Pool", rng: random.Random) -> str:
    """The text of one SKILL.md."""
    foreign = "not ASCII" in shape.traits
    body = pool.body(shape.body_chars, f"# {name.replace('-', ' ').title()}", rng, foreign=foreign)
    text = body if "no frontmatter" in shape.traits else _frontmatter(shape, name, pool, rng) + body
    return text.replace("\n", "\r\n") if "CRLF" in shape.traits else text


def _frontmatter(shape: Shape, name: str, pool: "_Pool", rng: random.Random) -> str:
    traits = shape.traits
    shown = name
    if "other name" in traits:
        shown = rng.choice((name.replace("-", " ").title(), name.rpartition("-")[0], f"{name}-skill"))
    description = pool.prose(shape.description_chars, rng)
    if "not ASCII" in traits and rng.random() < 0.5:
        description = f"{rng.choice(_FOREIGN[:4])} {description}"
    lines = [f"name: {shown}", f"description: {_as_yaml(description, traits)}"]
    if "homepage" in traits:
        lines += [f"homepage: https://{name}.example", "version: 1.2.0", "author: someone"]
    if "allowed-tools" in traits:
        tools = rng.sample(_TOOLS, 3)
        lines += [f"allowed-tools: {' '.join(tools)}"] if rng.random() < 0.5 else ["allowed-tools:", *_items(tools)]
    emoji = rng.choice(_FOREIGN[-3:]) if "not ASCII" in traits else ""
    if "flow metadata" in traits:
        lines.append("metadata: " + json.dumps(_metadata(name, emoji, rng), ensure_ascii=False))
    elif "block metadata" in traits:
        lines += ["metadata:", "  openclaw:", "    requires:", "      bins:", *_items(rng.sample(_BINS, 2), 8)]
    return "\n".join(("---", *lines, "---", "", ""))


def _as_yaml(description: str, traits: frozenset[str]) -> str:
    if "unquoted colon" in traits:
        return f"Use when: {description}"
    if "quoted description" in traits:
        return json.dumps(description, ensure_ascii=False)
    if "block description" in traits:
        return f"|\n  {description}"
    return description


def _items(words: Sequence[str], indent: int = 2) -> list[str]:
    return [f"{' ' * indent}- {word}" for word in words]


def _metadata(name: str, emoji: str, rng: random.Random) -> dict[str, object]:
    bins = rng.sample(_BINS, rng.randint(1, 2))
    block: dict[str, object] = {"emoji": emoji} if emoji else {}
    block["requires"] = {"bins": bins}
    if rng.random() < 0.4:
        key = name.replace("-", "_").upper() + "_KEY"
        block |= {"requires": {"bins": bins, "env": [key]}, "primaryEnv": key}
    if rng.random() < 0.3:
        block["install"] = [{"id": "brew", "kind": "brew", "formula": bins[0], "bins": bins[:1], "label": "Install it"}]
    return {rng.choice(_NAMESPACES): block}


class _Pool:
    """Sentences and blocks of Markdown, made once and put together anew for each skill."""

    def __init__(self, rng: random.Random) -> None:
        self.sentences = [
            f"{rng.choice(_VERBS).capitalize()} the {rng.choice(_NOUNS)} and {rng.choice(_VERBS)} every "
            f"{rng.choice(_NOUNS)} {rng.choice(_ENDS)}."
            for _ in range(300)
        ]
        self.blocks = [self._block(rng) for _ in range(200)]

    def prose(self, chars: int, rng: random.Random) -> str:
        """Sentences of about `chars` characters, cut after a word."""
        words = " ".join(rng.choice(self.sentences) for _ in range(chars // 50 + 1))[: chars + 1]
        return words.rpartition(" ")[0]

    def body(self, chars: int, heading: str, rng: random.Random, *, foreign: bool) -> str:
        """Markdown of `chars` characters below a heading."""
        parts = [heading, " ".join(rng.sample(_FOREIGN, 5))] if foreign else [heading]
        size = 0
        while size <= chars:
            parts.append(rng.choice(self.blocks))
            size += len(parts[-1])
        return "\n\n".join(parts)[: chars - 1] + "\n"

    def _block(self, rng: random.Random) -> str:
        kind = rng.randrange(10)
        if kind < 5:
            return " ".join(rng.choice(self.sentences) for _ in range(rng.randint(1, 5)))
        if kind < 7:
            return "\n".join(f"- {rng.choice(self.sentences)}" for _ in range(rng.randint(3, 8)))
        if kind == 7:
            return f"## {rng.choice(_NOUNS).title()}\n\nTake care: this one cannot be undone!"
        if kind == 8:
            rows = [f"| {rng.choice(_NOUNS)} | {rng.choice(_VERBS)} |" for _ in range(5)]
            return "\n".join(("| what | how |", "| --- | --- |", *rows))
        lines = [f"{rng.choice(_BINS)} --{rng.choice(_NOUNS)} '{rng.choice(_NOUNS)}.json'" for _ in range(6)]
        return "\n".join(("```bash", *lines, "```"))


def make_body(chars: int, seed: int = 1) -> str:
    """Markdown of `chars` characters, for what needs no skill around it."""
    rng = random.Random(f"body {seed}")
    return _Pool(rng).body(chars, "# A body", rng, foreign=True)


def _spread(points: Sequence[tuple[float, int]], count: int, rng: random.Random) -> list[int]:
    """`count` sizes that have the given percentiles, in random order."""
    sizes = [_size_at(points, (i + 0.5) / count) for i in range(count)]
    rng.shuffle(sizes)
    return sizes


def _size_at(points: Sequence[tuple[float, int]], share: float) -> int:
    for (low, low_size), (high, high_size) in pairwise(points):
        if share <= high:
            part = (share - low) / (high - low)
            return round(exp(log(low_size) + part * (log(high_size) - log(low_size))))
    return points[-1][1]
