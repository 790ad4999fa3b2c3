"""`weft hooks run`: one hook called by hand, with real Deno."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

Weft = Callable[..., subprocess.CompletedProcess[str]]
Hook = Callable[..., Path]

BLOCK = (
    'if (event.context.params.command.includes("rm")) return { block: true, blockReason: "no rm" };'
    'console.log("looked at it"); event.messages.push("\\u001b[31mfine");'
)


def test_it_is_called_for_each_event_that_it_names_with_an_example(weft: Weft, hook: Hook) -> None:
    hook("mine", "event.messages.push(event.action + ' ' + Object.keys(event.context).sort());", events="session")
    done = weft("hooks", "run", "mine", "--format", "json")

    document = json.loads(done.stdout)
    assert (done.returncode, document["schema"]) == (0, "clawft.hooks.run.v1")
    assert [(one["event"], one["answer"]["messages"]) for one in document["calls"]] == [
        ("session:start", ["start agentId,cfg,sessionId,source,workspaceDir"]),
        ("session:compact:before", ["compact:before agentId,cfg,messageCount,tokenCount,workspaceDir"]),
        (
            "session:compact:after",
            [
                "compact:after agentId,cfg,compactedCount,messageCount,summaryLength,tokenCount,tokensAfter,"
                "tokensBefore,workspaceDir"
            ],
        ),
    ]


def test_an_event_of_a_file_is_told_and_what_comes_back_is_shown(weft: Weft, hook: Hook, tmp_path: Path) -> None:
    hook("guard", BLOCK)
    event = {
        "type": "tool",
        "action": "before",
        "context": {"toolName": "exec_shell", "params": {"command": "rm -r x"}},
    }
    (tmp_path / "event.json").write_text(json.dumps(event))
    blocked = weft("hooks", "run", "guard", "--event", tmp_path / "event.json")

    assert blocked.returncode == 0
    assert blocked.stdout.endswith("  blocks: no rm\n")
    plain = weft("hooks", "run", "guard", "--event-key", "tool:before").stdout
    assert plain.startswith("tool:before (")
    assert plain.endswith(" ms)\n  says: \ufffd[31mfine\n  prints: looked at it\n")


def test_what_changes_of_the_prompt_is_shown_file_by_file(weft: Weft, hook: Hook, tmp_path: Path) -> None:
    hook(
        "mine",
        "const files = event.context.bootstrapFiles; files.shift(); files[0].content = 'One\\nThree\\n';"
        "files.push({ path: 'MORE.md', content: '# More\\n\\nBe brief.\\n', virtual: true });"
        "files.push({ path: 'LONG.md', content: 'x\\n'.repeat(50) });"
        "files.push({ path: 'EMPTY.md' });",
        events="agent:bootstrap",
    )
    files = [{"path": "REMOVED.md", "content": "x"}, {"path": "KEPT.md", "content": "One\nTwo\n"}]
    event = {"type": "agent", "action": "bootstrap", "context": {"bootstrapFiles": files}}
    (tmp_path / "event.json").write_text(json.dumps(event))

    shown = weft("hooks", "run", "mine", "--event", tmp_path / "event.json").stdout.splitlines()
    assert shown[1:10] == [
        "  removes REMOVED.md",
        "  changes KEPT.md:",
        "    @@ -1,2 +1,2 @@",
        "     One",
        "    -Two",
        "    +Three",
        "  adds MORE.md:",
        "    # More",
        "",
    ]
    assert shown[10:13] == ["    Be brief.", "  adds LONG.md:", "    x"]
    assert shown[-2:] == ["    … (10 lines more)", "  adds EMPTY.md, which is empty"]


def test_what_is_no_text_of_the_prompt_is_shown_all_the_same(weft: Weft, hook: Hook) -> None:
    push = 'event.context.bootstrapFiles.push({ path: "MORE.md", content: "\\ud800" });'  # half a character
    hook("mine", push, events="agent:bootstrap")
    assert weft("hooks", "run", "mine").stdout.endswith(("  adds MORE.md:\n    \ufffd\n", "  adds MORE.md:\n    ?\n"))
    assert weft("hooks", "run", "mine", "--format", "json").returncode == 0
    hook("mine", "event.context.bootstrapFiles.reverse();", events="agent:bootstrap")
    assert weft("hooks", "run", "mine").stdout.endswith("  answers nothing\n")
    hook("mine", f"{push} event.context.bootstrapFiles.reverse();", events="agent:bootstrap")
    assert "  adds MORE.md:\n" in weft("hooks", "run", "mine").stdout


def test_an_event_that_it_does_not_hear_is_told_with_those_that_it_does(weft: Weft, hook: Hook) -> None:
    hook("mine")
    done = weft("hooks", "run", "mine", "--event-key", "agent:stop")
    assert (done.returncode, done.stdout) == (1, "")
    assert "The hook 'mine' does not hear agent:stop\n" in done.stderr
    assert "hint: It hears tool:before\n" in done.stderr


def test_each_command_is_told_with_what_came_of_it(weft: Weft, user_dir: Path) -> None:
    settings = user_dir.parent / ".claude" / "settings.json"
    settings.parent.mkdir()
    commands = [{"type": "command", "command": one} for one in ("echo one", "echo no >&2; exit 2")]
    hooks = {
        "PreToolUse": [{"matcher": "Bash", "hooks": commands}],
        "PostToolUse": [{"matcher": "Edit", "hooks": commands}],
    }
    settings.write_text(json.dumps({"hooks": hooks}))

    lines = re.sub(r" \(\d+ ms\)", "", weft("hooks", "run", "claude-user").stdout).splitlines()
    assert lines == ["tool:before, `echo one`", "  prints: one", "tool:before, `echo no >&2; exit 2`", "  blocks: no"]
    calls = json.loads(weft("hooks", "run", "claude-user", "--format", "json").stdout)["calls"]
    assert [one["command"] for one in calls] == ["echo one", "echo no >&2; exit 2"]
    silent = weft("hooks", "run", "claude-user", "--event-key", "tool:after").stderr
    assert "hears tool:after, but nothing of it is for this one" in silent


def test_a_failure_is_told_with_exit_1(weft: Weft, hook: Hook) -> None:
    hook("mine", 'await Deno.readTextFile("/etc/hostname");')
    done = weft("hooks", "run", "mine")

    assert done.returncode == 1
    assert "~/.clawft/hooks/mine/handler.ts:1: error[hook-denied]: " in done.stdout
    assert 'hint: To allow it: permissions = { read = ["/etc/hostname"] } in [hooks.entries.mine]' in done.stdout


def test_one_that_is_off_is_called_and_one_that_nobody_approved_is_not(weft: Weft, hook: Hook, project: Path) -> None:
    made = project / "made"
    hook("mine", 'event.messages.push("here");')
    hook(
        "theirs", f'await Deno.writeTextFile("{made}", "x");', of="project", more=f", permissions: {{write: [{made}]}}"
    )
    weft("hooks", "disable", "mine", "theirs")
    own, stranger = weft("hooks", "run", "mine"), weft("hooks", "run", "theirs")

    assert own.returncode == 0
    assert "  says: here" in own.stdout
    assert "note: mine is turned off" in own.stderr
    assert stranger.returncode == 3
    assert "error[hook-untrusted]" in stranger.stderr
    assert not made.exists()


def test_a_strangers_hook_runs_as_it_was_approved(weft: Weft, hook: Hook) -> None:
    folder = hook("theirs", 'event.messages.push((await import("./part.ts")).word);', of="project")
    (folder / "part.ts").write_text('export const word = "approved";\n')
    weft("hooks", "enable", "theirs", "--yes")

    assert "  says: approved" in weft("hooks", "run", "theirs").stdout
    (folder / "part.ts").write_text('export const word = "changed";\n')
    assert weft("hooks", "run", "theirs").returncode == 3


def test_wrong_events_are_told_with_what_was_meant(weft: Weft, hook: Hook, tmp_path: Path) -> None:
    hook("mine")
    bad = tmp_path / "bad.json"
    for text, said in (
        ("{", "The event is no JSON"),
        ("[]", "The event should be an object"),
        ("{}", "The event has no type and action"),
        ('{"type": "tool", "action": "befor"}', "There is no event 'tool:befor'"),
        ('{"type": "agent", "action": "stop"}', "does not hear agent:stop"),
    ):
        bad.write_text(text)
        done = weft("hooks", "run", "mine", "--event", bad)
        assert (done.returncode, said in done.stderr) == (1, True), text
    assert weft("hooks", "run", "mine", "--event", tmp_path / "none.json").returncode == 1
