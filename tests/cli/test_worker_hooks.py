"""A worker tells hooks that it starts and stops, and what they do keeps it from neither."""

import json
from pathlib import Path

from warm import run_warm
from world import World


def test_hooks_hear_that_a_worker_starts_and_stops_whatever_they_do(tmp_path: Path, child_env: dict[str, str]) -> None:
    world = World(tmp_path)
    (world.user_dir / "config.toml").write_text("[hooks.entries.hangs]\ntimeout_s = 0.5\n")
    world.add_hook("ears", "gateway", "event.messages.push(JSON.stringify([event.action, context]));")
    world.add_hook("hangs", "gateway:startup", "while (true) {}")
    world.add_hook("throws", "gateway:shutdown", "throw new Error('oh dear');")
    words = ["weft", "worker", "--until-idle", "--format", "json"]
    env = child_env | {"HOME": str(world.home)}
    done = run_warm(words, env=env, cwd=world.project, check=True)
    said = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    shared = f'"workspaceDir":"{world.project}","agentId":"","cfg":{{}}'
    assert [line for line in said if not line.startswith("worker ")] == [
        f'» ears: ["startup",{{{shared},"reason":"start"}}]',
        "hook-timeout: The hook 'hangs' failed at gateway:startup: It took longer than 0.5 seconds and was ended",
        f'» ears: ["shutdown",{{{shared},"reason":"idle"}}]',
        "hook-failed: The hook 'throws' failed at gateway:shutdown: oh dear (handler.js:3)",
        "stopped",
    ]
