"""`/workspace`: the folders that count here, and what is in them."""

from typing import TYPE_CHECKING

from clawft.cli.output import one_line
from clawft.repl.command import SlashCommand
from clawft.repl.commands._lines import print_facts

if TYPE_CHECKING:
    from clawft.repl.repl import Repl

__all__ = ["WORKSPACE"]

_HELP = "The project is what CLAWFT_PROJECT names, else the nearest folder upwards with a .clawft/, else this folder."


async def _run(repl: "Repl", _rest: str) -> None:
    from clawft.cli.skills.list import count_skills
    from clawft.config import config_files, read_config
    from clawft.git import current_branch

    app, at = repl.app, repl.app.workspace
    configs = [path for path in config_files(at) if read_config(path) is not None]
    marked = "" if at.marked else " (no .clawft/ folder marks one, so this folder is it)"
    ready = sum(one.state == "ready" for one in app.agents)
    facts = [
        ("Project", at.project + marked),
        ("Folder", at.cwd if at.cwd != at.project else ""),
        ("Branch", current_branch(at.project) or ""),
        ("Your folder", at.shorten(at.user_dir)),
        ("Config", ", ".join(map(at.shorten, configs)) or "none"),
        ("Skills", count_skills(app.skills)),
        ("Agents", f"{len(app.agents)} agent{'s' * (len(app.agents) != 1)}: {ready} ready"),
    ]
    print_facts(repl, [(label, one_line(value)) for label, value in facts])


WORKSPACE = SlashCommand("workspace", "/workspace", "Show workspace info", _run, _HELP)
