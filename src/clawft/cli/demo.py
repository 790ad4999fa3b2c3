"""`weft demo`: a small project with good, broken, shadowed and ineligible skills, and the commands that tell.

Everything is laid out in a temporary folder and shown by the real command, run as a real process.
"""

import os
import subprocess
import sys
import tempfile
from shutil import which

import click

__all__ = ["command"]

_FILES = {
    "home/.clawft/skills/release-notes/SKILL.md": """\
---
name: release-notes
description: Write release notes from the commits since a tag. Use when a release is being prepared.
argument-hint: "[from-tag] [to-tag]"
arguments: [from, to]
---

# Release notes

Read `git log $from..$to` and write notes for users, not for developers.
Group them as Added, Changed and Fixed. Follow {baseDir}/style.md.
""",
    "home/.clawft/skills/release-notes/style.md": "Short sentences. Present tense. No ticket numbers.\n",
    "home/.claude/skills/deploy/SKILL.md": """\
---
name: deploy
description: Deploy the way I always do.
---

Deploy by hand.
""",
    "project/.clawft/skills/deploy/SKILL.md": """\
---
name: deploy
description: Deploy this project to staging. Use after the tests have passed.
disable-model-invocation: true
---

Run `make deploy-staging`, then report the URL.
""",
    "project/.claude/skills/invoice-reader/SKILL.md": """\
---
name: Invoice Reader
description: Read invoices: totals, dates and line items. Use when a PDF looks like a bill.
allowed_tools: Read, Bash(pdftotext:*)
---

Extract the totals with pdftotext and check the sum.
""",
    "project/skills/satellite/SKILL.md": """\
---
name: satellite
description: Point the dish and read telemetry.
metadata: {"clawdbot": {"emoji": "📡", "requires": {"bins": ["dishctl"], "env": ["DISH_KEY"]},
  "install": [{"kind": "brew", "formula": "dishctl", "bins": ["dishctl"]}]}}
---

Run `dishctl align`.
""",
    "project/skills/half-written/SKILL.md": """\
---
name: half-written
description: Somebody forgot to end the frontmatter.

Do the thing.
""",
}

_STEPS = (
    ("Every skill is listed: the broken, the hidden and the unusable ones too, each with its reason.", ("list",)),
    ("Why is one of them not offered to a model?", ("why", "satellite")),
    ("What is odd about the files, and where?", ("validate", "-q", ".claude/skills", "skills")),
    ("What would mend them? Nothing is changed without --write.", ("fix", "invoice-reader", "half-written")),
    ("And exactly what would a model be told?", ("render", "release-notes", "v1.4", "v1.5")),
)


@click.command("demo")
def command() -> int:
    """See in ten seconds what weft does, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as folder:
        for name, text in _FILES.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        for title, arguments in _STEPS:
            click.echo(click.style(f"# {title}", bold=True))
            click.echo(f"$ weft skills {' '.join(arguments)}")
            _run(folder, arguments)
            click.echo()
    weft = "weft" if which("weft") else os.path.join(os.path.relpath(os.path.dirname(sys.executable)), "weft")
    click.echo(
        f"Now try it on your own: {weft} skills list, or {weft} skills list --dir PATH for any folder of skills."
    )
    return 0


def _run(folder: str, arguments: tuple[str, ...]) -> None:
    """Run the real command in the project of the demo, in its own home."""
    sys.stdout.flush()
    own = {name: value for name, value in os.environ.items() if not name.startswith("CLAWFT_")}
    environ = {**own, "HOME": os.path.join(folder, "home"), "PYTHONUTF8": "1"}
    project = os.path.join(folder, "project")
    subprocess.run(
        [sys.executable, "-m", "clawft", "skills", *arguments],
        cwd=project,
        env=environ,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )
