"""A labelled folder of skills: `labels.csv` beside `malicious/` and `benign/`, and its two halves.

One half is for tuning, the other is held out. Whole groups (a campaign, an author, a repository) go to one half, so
that what was learnt from one sample is not measured on its sibling.
"""

import csv
import os
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

Half = Literal["A", "B"]


@dataclass(frozen=True)
class Labelled:
    """One skill of the folder, and what is known of it."""

    name: str
    path: str
    malicious: bool
    tier: str
    category: str
    half: Half


def load_labels(folder: str) -> list[Labelled]:
    """Every skill that `labels.csv` lists, in its order.

    Raises: SystemExit, when the list or a folder it names is missing.
    """
    try:
        with open(os.path.join(folder, "labels.csv"), encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        split = split_halves([(row["name"], row["tier"], row["group"]) for row in rows])
        found = [_read(folder, row, split[row["name"]]) for row in rows]
    except (OSError, KeyError) as error:
        raise SystemExit(f"error: {folder} is no labelled folder: {error}") from error
    if missing := [one.name for one in found if not os.path.isdir(one.path)]:
        raise SystemExit(f"error: {len(missing)} of {len(found)} listed skills have no folder below {folder}")
    return found


def split_halves(rows: list[tuple[str, str, str]]) -> dict[str, Half]:
    """The half of each (name, tier, group), by a hash of its group.

    A group that holds a whole tier is split by name: else one half would have none of that tier.
    """
    tiers = Counter(tier for _, tier, _ in rows)
    together = Counter((tier, group) for _, tier, group in rows)
    whole = {group for (tier, group), count in together.items() if count == tiers[tier]}
    return {name: _half(name if group in whole else group) for name, _, group in rows}


def _half(key: str) -> Half:
    return "B" if sha256(f"weft{key}".encode()).digest()[0] % 2 else "A"


def _read(folder: str, row: dict[str, str], half: Half) -> Labelled:
    return Labelled(
        name=row["name"],
        path=os.path.join(folder, row["label"], row["name"]),
        malicious=row["label"] == "malicious",
        tier=row["tier"],
        category=row["category"],
        half=half,
    )
