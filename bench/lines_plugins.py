"""The line about plugins that are there and not used: what they cost every command that lists skills."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

from clawft.app.app import open_app
from clawft.app.plugin_grants import grant_plugin, open_plugin_review
from clawft.app.plugins import load_plugin_statuses
from lines import TIMEOUT_S
from make_skills import wait_until_settled
from measure import Timed, best_ms
from report import Line

LIMIT_MS = 20


def measure_plugins(folder: Path, count: int, rounds: int) -> Line:
    """`weft skills list` as a process, with so many plugins that were granted, and with none; after a first run."""
    none, many = folder / "none", folder / "many"
    for home in (none, many):
        (home / "project").mkdir(parents=True)
    write_plugins(many, count)
    wait_until_settled()
    for home in (none, many):
        _list(home)
    with_plugins, without = best_ms(rounds, Timed(lambda: _list(many)), Timed(lambda: _list(none)))
    what = f"what {count} plugins, each with a tool and a skill, add to `weft skills list`"
    return Line("plugins-50", what, "the limit", max(with_plugins - without, 0.01), LIMIT_MS, "ms", 1)


def write_plugins(home: Path, count: int) -> None:
    """Plugins in a user's folder, each granted what it asks for."""
    for number in range(count):
        plugin = home / ".clawft" / "plugins" / f"p{number}"
        skill = plugin / "skills" / f"skill-{number}"
        skill.mkdir(parents=True)
        text = f"---\nname: skill-{number}\ndescription: Does number {number}.\n---\n\nDo it.\n"
        (skill / "SKILL.md").write_text(text)
        (plugin / "plugin.py").write_text("from clawft.contracts import Plugin\n")
        tool = {"name": f"tool_{number}", "description": "Does it", "parameters": {"type": "object", "properties": {}}}
        manifest = {"id": f"org.example.p{number}", "name": f"Plugin {number}", "version": "1.0.0", "tools": [tool]}
        told = {**manifest, "capabilities": ["tool", "skill"], "skill_dirs": ["skills"]}
        (plugin / "clawft.plugin.json").write_text(json.dumps(told))
    app = open_app(_environ(home), str(home / "project"))
    desk = open_plugin_review(app)
    for one in load_plugin_statuses(app):
        review = desk.review(one.found)
        grant_plugin(app, review, review.offered)


def _list(home: Path) -> None:
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")
    words = (weft, "skills", "list")
    subprocess.run(words, env=_environ(home), cwd=home / "project", check=True, timeout=TIMEOUT_S, capture_output=True)


def _environ(home: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
