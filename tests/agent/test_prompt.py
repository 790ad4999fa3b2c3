"""The system prompt, and omniagent's mode of injecting whole skills."""

from pathlib import Path

from clawft.agent.prompt import inject_skills, render_system
from clawft.config.skills import PromptSettings
from clawft.skills.discovery.instructions import Instructions
from clawft.skills.parse.model import Agent, Skill
from clawft.workspace import Workspace

HERE = Workspace("/home/me", "/home/me/.clawft", "/work/sub", "/work")


def test_without_skills_the_prompt_is_unchanged() -> None:
    assert inject_skills("You are.", [], PromptSettings()) == "You are."


def test_skills_are_injected_in_omniagents_form() -> None:
    skills = [Skill(name="github", emoji="🐙", prompt="Use gh."), Skill(name="plain", prompt="Do it.")]
    assert inject_skills("You are.", skills, PromptSettings()) == (
        "You are.\n\n# Available Skills\n\n## 🐙 github\n\nUse gh.\n\n---\n\n## plain\n\nDo it.\n\n---\n\n"
    )


def test_at_most_max_skills_are_injected_and_zero_means_all() -> None:
    skills = [Skill(name=f"s{number}", prompt="x") for number in range(30)]
    assert inject_skills("", skills, PromptSettings()).count("## s") == 20
    assert inject_skills("", skills, PromptSettings(max_skills=0)).count("## s") == 30
    assert inject_skills("", skills, PromptSettings(max_skills=2, separator="|")).endswith("## s1\n\nx|")


def test_the_prompt_tells_when_to_load_a_skill_only_if_there_are_any() -> None:
    text = render_system(Agent(name="default"), HERE, has_skills=True)
    assert "Load a skill when the user names it" in text
    assert "Never load all skills up front" in text
    assert "# Skills" not in render_system(Agent(name="default"), HERE, has_skills=False)


def test_an_agents_own_prompt_takes_the_place_of_ours() -> None:
    text = render_system(Agent(name="poet", system_prompt="You rhyme."), HERE, has_skills=False)
    assert text.startswith("You rhyme.")


def test_instructions_and_preloaded_skills_are_part_of_it() -> None:
    told = Instructions("/work/AGENTS.md", b"Use tabs.\n")
    text = render_system(
        Agent(name="a"), HERE, has_skills=False, instructions=[told], preloaded=["<skill>"], extra=["# Memory\nx"]
    )
    assert '<instructions file="/work/AGENTS.md">\nUse tabs.\n</instructions>' in text
    assert "# Loaded skills\n\n<skill>" in text
    assert "# Memory\nx" in text
    assert "Current folder: /work/sub" in text


def test_the_prompt_names_the_git_branch_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    here = Workspace("/home/me", "/home/me/.clawft", str(tmp_path), str(tmp_path))

    assert "\nGit branch: topic\n" in render_system(Agent(name="a"), here, has_skills=False)
    assert "Git branch" not in render_system(Agent(name="a"), HERE, has_skills=False)
