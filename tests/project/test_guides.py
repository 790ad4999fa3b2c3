"""Guides are run: every command of one, in order, with an empty home; and what is shown of it is what it says."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "@@ step @@"


def read_steps(page: str, heading: str) -> list[tuple[str, list[str]]]:
    """The commands below a heading, each with the lines that are shown of its output."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    part = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    steps: list[tuple[str, list[str]]] = []
    for kind, content in _BLOCK.findall(part):
        if kind == "sh":
            steps.append((content, []))
        else:
            steps[-1][1].extend(content.splitlines())
    return steps


def test_a_plugin_is_written_in_ten_minutes(tmp_path: Path, child_env: dict[str, str]) -> None:
    steps = read_steps("plugins.md", "Write a plugin in ten minutes")
    script = "exec 2>&1\nset -e\n" + "".join(f"{commands}echo '{_MARK}'\n" for commands, _ in steps)
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=child_env, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stdout
    said = done.stdout.split(_MARK)
    assert len(steps) >= 8
    for (commands, shown), output in zip(steps, said, strict=False):
        for line in shown:
            assert line.rstrip() in output, f"{line!r} is not what this says:\n{commands}\n{output}"
    (session,) = Path(child_env["HOME"], ".clawft", "sessions").glob("*.jsonl")
    assert "3 words, the longest is three" in session.read_text()  # the model got it from the plugin
