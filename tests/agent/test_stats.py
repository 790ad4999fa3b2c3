"""How skills are used is counted, and the catalog is ranked by it."""

from datetime import datetime
from pathlib import Path

from clawft.agent.records import SkillStats, SkillUse, UsageDatabase


def test_offered_and_loaded_are_counted_with_the_mean_score(tmp_path: Path) -> None:
    stats = SkillStats(UsageDatabase(str(tmp_path / "usage.sqlite")), lambda: datetime(2026, 1, 2, 3, 4, 5))
    stats.record(["a", "b"], ["a"], 1.0)
    stats.record(["a", "b"], ["a"], 0.5)
    assert stats.load() == {
        "a": SkillUse("a", 2, 2, 0.75, "2026-01-02T03:04:05"),
        "b": SkillUse("b", 2, 0, 0.0, ""),
    }
    stats.database.close()
