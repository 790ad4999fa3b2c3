"""What hooks say during `weft agent`, for programs that read its events."""

import json
import signal
import subprocess
from pathlib import Path

from world import World


def test_hooks_hear_of_ctrl_c_and_what_they_say_is_an_event(tmp_path: Path, child_env: dict[str, str]) -> None:
    world = World(tmp_path / "world")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [{"text": "slow", "delay_ms": 60_000}]}))
    (world.user_dir / "config.toml").write_text(
        f'[agents.defaults]\nmodel = "s/x"\n[providers.s]\nwire = "scripted"\nscript = "{script}"\n'
    )
    world.add_hook("memo", "command:stop message:received", "event.messages.push(event.action);")
    words = ["weft", "agent", "-m", "hi", "--session", "kept", "--format", "json"]
    env = child_env | {"HOME": str(world.home)}
    with subprocess.Popen(words, cwd=world.project, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        lines += map(json.loads, process.stdout)
        assert process.wait(timeout=60) == 130
    said = [line for line in lines if line["event"] == "MessageSent"]
    assert [(one["hook"], one["text"], one["session"]) for one in said] == [
        ("memo", "received", "kept"), ("memo", "stop", "kept"),
    ]  # fmt: skip
    assert all(one["at"].endswith("Z") for one in said)
