"""What tests of skills' programs share: skills that bring tools and scripts, and a person who is asked."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clawft.app.app import open_app
from clawft.messages import Answer, ApprovalNeeded, Event, ToolFinished
from world import World, only

ECHO = """\
import json, os, sys
given = {name: value for name, value in os.environ.items() if name.startswith("ARG_")}
seen = {"stdin": sys.stdin.read(), "variables": given, "words": sys.argv[1:]}
seen |= {"cwd": os.getcwd(), "folder": os.environ["CLAUDE_SKILL_DIR"]}
print(json.dumps(seen))
"""
MARK = 'echo ran >> "$CLAUDE_PROJECT_DIR/out/mark"\n'  # the effect that must not happen


class Person:
    """Answers what is asked, and remembers it; may do something while asked."""

    def __init__(self, answer: Answer = "once", meanwhile: Callable[[], Any] | None = None) -> None:
        self.answer = answer
        self.meanwhile = meanwhile
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, event: ApprovalNeeded) -> Answer:
        self.asked.append((event.question, event.reason))
        if self.meanwhile:
            self.meanwhile()
        return self.answer


def add_tool(world: World, skill: str = "maker", tool: str = "make", script: str = MARK, **how: Any) -> Path:
    """A skill that declares one tool whose program is a shell script; `head` adds to its frontmatter."""
    head = f"execution: shell\n{how.pop('head', '')}tools:\n  - name: {tool}\n{how.pop('more', '')}"
    folder = world.add_skill(skill, head=head, **how)
    return add_script(folder, f"{tool}.sh", script)


def add_script(folder: Path, name: str, text: str) -> Path:
    (folder / "scripts").mkdir(exist_ok=True)
    (folder / "scripts" / name).write_text(text)
    return folder


def trust(world: World, skill: str) -> None:
    """Approve a skill of the project as it is now."""
    app = open_app(world.environ, str(world.project))
    app.reviewer.approve([app.reviewer.review(app.get_skill(skill).found)])


def results(events: list[Event], tool: str = "") -> list[dict[str, Any]]:
    return [one.result for one in only(events, ToolFinished) if not tool or one.tool == tool]


def output(result: dict[str, Any]) -> str:
    """What a program wrote, without the note on one that took its time."""
    return re.sub(r"\n\[after [0-9.]+ s\]$", "", str(result["text"]))


def audited(world: World, kind: str = "command") -> list[dict[str, Any]]:
    lines = (world.user_dir / "audit.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["kind"] == kind]


def has_run(world: World) -> bool:
    return (world.project / "out/mark").exists()


def confine(world: World, sandbox: str) -> World:
    """A world with a folder for effects, whose programs run in one of the sandboxes; the scanner has its own tests."""
    world.config = f'[skills.security]\nscan_on_load = false\n[sandbox]\nmode = "{sandbox}"\n'
    (world.project / "out").mkdir(exist_ok=True)
    world.environ["PATH"] = os.defpath  # what every sandbox shows
    return world


def tool_names(body: dict[str, Any]) -> list[str]:
    return [one["function"]["name"] for one in body["tools"]]
