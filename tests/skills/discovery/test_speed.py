"""Discovery of 100 skills takes less than 100 ms, of agents less than 50 ms."""

from pathlib import Path

from clawft.skills.discovery import Location, load_catalog
from clawft.skills.discovery.agents import load_agents
from effort import measure


def test_a_hundred_skills_are_found_within_100_ms(tmp_path: Path) -> None:
    for number in range(100):
        folder = tmp_path / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(
            f"---\nname: skill-{number}\ndescription: Does thing number {number}. Use when it is needed.\n"
            'metadata: {"openclaw": {"emoji": "x", "requires": {"bins": ["git"]}}}\n'
            f"allowed-tools: Read, Bash(git:*)\n---\n\n" + "A line of instructions.\n" * 100
        )
    locations = [Location("project", "skills", str(tmp_path / "skills"))]
    cache = str(tmp_path / "cache")
    assert len(load_catalog(locations, max_prompt_bytes=32768).found) == 100

    assert measure(lambda: load_catalog(locations, max_prompt_bytes=32768)) < 0.1
    assert measure(lambda: load_catalog(locations, max_prompt_bytes=32768, cache_dir=cache)) < 0.1


def test_agents_are_loaded_within_50_ms(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"agent-{number}.md").write_text(
            f"---\nname: agent-{number}\ndescription: Agent {number}\ntools: [read_file]\n---\n\n" + "Be kind.\n" * 50
        )
    locations = [Location("user", "agents", str(tmp_path))]
    assert len(load_agents(locations)) == 24

    assert measure(lambda: load_agents(locations)) < 0.05
