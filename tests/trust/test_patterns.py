"""Patterns of tools with arguments: what they cover, what they touch, and that nothing slips through."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.trust.path_patterns import CheckedCall, PatternRoots
from clawft.trust.patterns import (
    allows,
    check_patterns,
    list_remaining_tools,
    parse_pattern,
    parse_patterns,
    pattern_folders,
)
from clawft.trust.shell_text import read_shell_text

HERE = PatternRoots("/project", "/project", "/home/me")


def _run(line: str, **more: Any) -> CheckedCall:
    return CheckedCall("exec_shell", {"command": line, **more}, HERE)


def _covers(pattern: str, call: CheckedCall) -> bool:
    return parse_pattern(pattern, pattern_folders("/project", "/skills/x")).allows(call)


def _touches(pattern: str, call: CheckedCall) -> bool:
    return parse_pattern(pattern).touches(call)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("Bash(git:*)", "git"),
        ("Bash(git:*)", "git log --oneline"),
        ("Bash(git:*)", "git -c core.pager=cat log"),  # it begins with git; the command policy still asks
        ("Bash(git:*)", "git log 2>&1"),
        ("Bash(git:*)", "git log > /dev/null"),
        ("Bash(git log:*)", "git log -5 'a b'"),
        ("Bash(git log *)", "git log"),
        ("Bash(git status)", "git status"),
        ("Bash(git * main)", "git push origin main"),
        ("Bash(npm run *)", "npm run build -- --fast"),
        ("Bash(npm run test:unit)", "npm run test:unit"),
        ("Bash(git diff:*, git log:*)", "git diff && git log"),
        ("Bash(ls*)", "lsblk -a"),
        ("Bash(*)", "anything at all; and more"),
        ("Bash", "anything | at all"),
        ("shell", "anything"),
        ("Bash(${CLAUDE_SKILL_DIR}/scripts/x.sh:*)", "/skills/x/scripts/x.sh --flag"),
        ("Bash(python {baseDir}/run.py:*)", "python /skills/x/run.py a"),
        ("Bash(./check.sh)", "/project/check.sh"),
        ("Bash(python tools/gen.py:*)", "python tools/gen.py"),
        ("Bash(find . -name '*.py')", "find . -name '*.py'"),
    ],
)
def test_command_that_is_meant(pattern: str, line: str) -> None:
    assert _covers(pattern, _run(line))


@pytest.mark.parametrize(
    "line",
    [
        "git --version; rm -rf x",
        "git --version && rm x",
        "git --version || rm x",
        "git log | sh",
        "git log & rm x",
        "git\nrm x",
        "git\r\nrm x",
        "gitfoo",
        "git-evil",
        "git.exe",
        "git/../rm",
        "./git",
        "/tmp/git",
        "git$IFS",
        "git${IFS}log",
        "$git",
        "env git log",
        "sudo git log",
        "command git log",
        "PATH=. git log",
        "GIT_SSH_COMMAND='sh -c evil' git fetch",
        "LD_PRELOAD=./x.so git log",
        "git log $(rm x)",
        "git log `rm x`",
        'git log "$(rm x)"',
        "git log <(rm x)",
        "(git log; rm x)",
        "{ git log; rm x; }",
        "git log > ~/.bashrc",
        "git log >> x",
        "git log < /etc/passwd",
        "git log 2> x",
        "git log `",
        "exec git log",
        "eval git log",
        "GIT log",
        "export PATH=.; git log",
        "git() { rm x; }; git log",
        "for x in rm; do $x y; done",
        "cat <<EOF\n`rm x`\nEOF",
        "g\\it log; rm x",
        "\u200bgit log",
        "",
        " ",
        "git log" + " x" * 200_000,
    ],
)
def test_what_only_looks_like_the_command_is_not_covered(line: str) -> None:
    assert not _covers("Bash(git:*)", _run(line))
    assert not _covers("Bash(git log:*)", _run(line))


@pytest.mark.parametrize(
    ("pattern", "call"),
    [
        ("Bash(git status)", _run("git status -s")),
        ("Bash(git log:*)", _run("git logx")),
        ("Bash(git log:*)", _run("git 'log x'")),
        ("Bash(git log:*)", _run("git l*")),
        ("Bash(git log:*)", _run("git $A")),
        ("Bash(ls*)", _run("ls/evil")),
        ("Bash(./check.sh)", _run("./check.sh", cwd="evil")),
        ("Bash(./check.sh:*)", _run("cd evil && ./check.sh")),
        ("Bash(python tools/gen.py:*)", _run("python tools/gen.py", cwd="evil")),
        ("Bash(${CLAUDE_SKILL_DIR}/scripts/*:*)", _run("/skills/x/scripts/../../../bin/sh")),
        ("Bash(${CLAUDE_SKILL_DIR}/scripts/*:*)", _run("/skills/x/scripts/a/b.sh")),
        ("Bash(/opt/tool:*)", _run("/opt/tool/evil")),
        ("Bash(git:*)", CheckedCall("exec_shell", {"command": ["git"]}, HERE)),
        ("Bash(git:*)", CheckedCall("exec_shell", {}, HERE)),
        ("Read(src/**)", CheckedCall("read_file", {"path": 7}, HERE)),
        ("Read(src/**)", CheckedCall("read_file", {"path": "src/\0x"}, HERE)),
    ],
)
def test_near_miss_is_not_covered(pattern: str, call: CheckedCall) -> None:
    assert not _covers(pattern, call)


def test_each_command_of_a_line_may_be_meant_by_another_pattern() -> None:
    both = parse_patterns(["Bash(git log:*)", "Bash(head:*)"])
    assert allows(both, _run("git log | head -3"))
    assert not allows(both, _run("git log | tail -3"))
    assert not allows((), _run("git log"))


@pytest.mark.parametrize(
    "line",
    ["rm x", "ls; rm x", "/bin/rm x", "sudo -u me rm x", "sh -c 'rm -rf x'", "find . -exec rm {} +", "env A=1 rm x"],
)
def test_one_command_of_a_line_is_enough_to_forbid_it(line: str) -> None:
    assert _touches("Bash(rm:*)", _run(line))


@pytest.mark.parametrize("line", ["git rm x", "echo rm", "ls 'rm x'", "rmdir x"])
def test_what_is_only_mentioned_is_not_forbidden(line: str) -> None:
    assert not _touches("Bash(rm:*)", _run(line))


def _file(path: object, tool: str = "read_file") -> CheckedCall:
    return CheckedCall(tool, {} if path is None else {"path": path}, HERE)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("Read(src/**)", "src/a/b.py", True),
        ("Read(src/**)", "/project/src/a", True),
        ("Read(src/**)", "src/../secret", False),
        ("Read(src/**)", "srcs/a", False),
        ("Read(src)", "src/a", True),
        ("Read(src/*)", "src/a", True),
        ("Read(src/*)", "src/a/b", False),
        ("Read(*.md)", "docs/deep/x.md", True),
        ("Read(./x.md)", "x.md", True),
        ("Read(./x.md)", "docs/x.md", False),
        ("Read(**/test/?.py)", "a/b/test/x.py", True),
        ("Read(/etc/**)", "/etc/passwd", True),
        ("Read(//etc/**)", "/etc/passwd", True),
        ("Read(~/notes/**)", "~/notes/a", True),
        ("Read(~/notes/**)", "/home/me/notes/a", True),
        ("Read(~/notes/**)", "/home/you/notes/a", False),
        ("Read(src/**)", None, False),
        ("Read(**)", None, True),
    ],
)
def test_paths(pattern: str, path: str | None, covered: bool) -> None:
    assert _covers(pattern, _file(path)) is covered


def test_a_path_speaks_of_all_tools_of_its_kind() -> None:
    assert _covers("Read(src/**)", _file("src", "grep"))
    assert _covers("Edit(src/**)", _file("src/x", "write_file"))
    assert not _covers("Read(src/**)", _file("src/x", "write_file"))
    assert not _covers("Edit", _file("src/x", "write_file"))


def test_links_are_resolved_before_a_path_is_judged(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "private").mkdir()
    os.symlink("../private", tmp_path / "src" / "in")
    os.symlink("private", tmp_path / "shown")
    where = PatternRoots(str(tmp_path), str(tmp_path), "/home/me")

    def call(path: str) -> CheckedCall:
        return CheckedCall("read_file", {"path": path}, where)

    assert parse_pattern("Read(src/**)").allows(call("src/x"))
    assert not parse_pattern("Read(src/**)").allows(call("src/in/x"))
    assert not parse_pattern("Read(shown/**)").allows(call("private/x"))
    assert parse_pattern("Read(private/**)").touches(call("src/in/x"))
    assert parse_pattern("Read(shown/**)").touches(call("private/x"))


def test_denied_path_is_noticed_on_a_command_line() -> None:
    assert _touches("Read(secrets/**)", _run("cat ./secrets/key"))
    assert _touches("Read(secrets/**)", _run("sort < secrets/key"))
    assert _touches("Edit(docs/**)", _run("cp a --target-directory=docs"))
    assert not _touches("Read(secrets/**)", _run("cat public/key"))
    assert _touches("Read(secrets/**)", _run("cat key", cwd="secrets"))
    assert _touches("Edit(docs/**)", _run("echo x > docs/a"))
    assert not _touches("Edit(docs/**)", _run("cat docs/a < docs/b"))


def test_denied_path_is_noticed_behind_a_glob(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "key").touch()
    call = CheckedCall("exec_shell", {"command": "cat v*/k?y"}, PatternRoots(str(tmp_path), str(tmp_path), "/home/me"))
    assert _touches("Read(vault/**)", call)
    assert not _touches("Read(other/**)", call)


@pytest.mark.parametrize(
    ("pattern", "url", "covered"),
    [
        ("WebFetch(domain:docs.example.org)", "https://docs.example.org/a", True),
        ("WebFetch(domain:docs.example.org)", "https://DOCS.example.org./a", True),
        ("WebFetch(domain:docs.example.org)", "https://docs.example.org:8443/a", False),
        ("WebFetch(domain:docs.example.org)", "https://docs.example.org@evil.example/a", False),
        ("WebFetch(domain:docs.example.org)", "https://docs.example.org.evil.example/a", False),
        ("WebFetch(domain:example.org)", "https://docs.example.org/a", False),
        ("WebFetch(domain:*.example.org)", "https://docs.example.org/a", True),
        ("WebFetch(domain:docs.example.org)", "not a url", False),
        ("WebFetch", "https://anywhere.example/", True),
    ],
)
def test_hosts(pattern: str, url: str, covered: bool) -> None:
    assert _covers(pattern, CheckedCall("web_fetch", {"url": url}, HERE)) is covered


def test_names_of_skills_and_agents() -> None:
    def load(name: object) -> CheckedCall:
        return CheckedCall("Skill", {"name": name}, HERE)

    assert _covers("Skill(research)", load("research"))
    assert _covers("Skill(research:*)", load("/research"))
    assert not _covers("Skill(research)", load("research-evil"))
    assert not _covers("Skill(research)", load(None))
    assert _covers("Task(reviewer)", CheckedCall("delegate", {"agent": "reviewer", "task": "x"}, HERE))
    assert _touches("Skill(research)", load(["research"]))
    assert _covers(
        "skill_run_script(research)", CheckedCall("skill_run_script", {"name": "research", "script": "x"}, HERE)
    )


@pytest.mark.parametrize(
    ("pattern", "tool", "meant"),
    [
        ("mcp__github__get_issue", "github__get_issue", True),
        ("mcp__github", "github__get_issue", True),
        ("mcp__github__*", "github__get_issue", True),
        ("github__*", "github__get_issue", True),
        ("github__get_issue", "github__get_issue", True),
        ("mcp__git", "github__get_issue", False),
        ("*", "github__get_issue", True),
        ("!*", "read_file", False),
        ("READ", "read_file", True),
        ("MultiEdit", "edit_file", True),
        ("run_shell_command", "exec_shell", True),
        ("search_file_content", "grep", True),
    ],
)
def test_names_of_tools(pattern: str, tool: str, meant: bool) -> None:
    assert _covers(pattern, CheckedCall(tool, {}, HERE)) is meant


OBSCURE = [
    "Bash()", "Bash(git", "Bash(a && b)", "Bash(* x)", "Bash(${HOME}/x:*)", "Bash('x)", "Read(../x)", "Read(!x)",
    "Read([ab])", "Read({a,b})", "WebFetch(x)", "WebFetch(domain:)", "WebFetch(url:https://x)", "Skill(a b)",
    "web_search(x)", "mcp__s__t(x)", "memory_write(x)",
]  # fmt: skip


@pytest.mark.parametrize("pattern", OBSCURE)
def test_what_is_not_understood_allows_nothing_and_forbids_the_whole_tool(pattern: str) -> None:
    parsed = parse_pattern(pattern)
    tool = {"Bash": "exec_shell", "Read": "read_file", "WebFetch": "web_fetch", "mcp__s__t": "s__t"}.get(
        parsed.name, parsed.name
    )
    call = CheckedCall(tool, {"command": "git", "path": "x", "url": "https://x.example/", "name": "a"}, HERE)
    assert parsed.problem
    assert not parsed.allows(call)
    assert parsed.touches(call)
    (said,) = check_patterns([pattern], (), "SKILL.md")
    assert (said.code, said.severity) == ("tool-pattern", "warning")


WORDS = st.sampled_from(
    ["git", "log", "rm", "x", "-rf", ";", "&&", "|", "||", "&", "\n", "$(", ")", "`", "'", '"', ">", "<", "f", "env",
     "A=1", "$X", "\\", "/", "*", "{", "}", "#", "!", "2>&1", "/dev/null", "sh", "-c", "\t", "cd"]
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["FOO=1 git log", "! git log", "git log; # x", "(git log)", "cd src && git log",
     "for x in 1 2; do git log -n 1; done",
     "if git log; then echo yes; fi", "git log && { git status; }", "git log &", "f() { git log; }; f"],
)  # fmt: skip
def test_every_command_of_a_text_that_is_meant_is_covered(text: str) -> None:
    assert _covers("Bash(git:*)", _run(text))


@given(st.lists(WORDS, max_size=12), st.sampled_from(["", " "]))
def test_no_line_passes_that_runs_a_command_which_is_not_meant(words: list[str], glue: str) -> None:
    line = glue.join(words)
    if _covers("Bash(git:*)", _run(line)):
        commands = read_shell_text(line).commands
        assert {command.words[0].text for command in commands} <= {"git", "cd", ":"}
        assert all(one.target.text == "/dev/null" for command in commands for one in command.redirects)


@given(st.text(max_size=60))
def test_any_text_is_a_pattern_or_a_problem(text: str) -> None:
    parsed = parse_pattern(text)
    for call in (_run("git log"), _file("x"), CheckedCall("Skill", {"name": "x"}, HERE)):
        assert not (parsed.problem and parsed.allows(call))


def test_a_text_that_cannot_be_read_is_never_covered() -> None:
    assert allows(parse_patterns(["Bash(git:*)", "Bash(rm:*)"]), _run("git log; (rm x)"))
    assert not allows(parse_patterns(["Bash(git:*)", "Bash(rm:*)"]), _run("git log; (rm x"))


def test_what_two_lists_leave_is_told_with_its_limits() -> None:
    assert list_remaining_tools(["Read(src/**)", "Bash", "mcp__github", "slack__post"], ["Bash(rm:*)", "slack__*"]) == (
        "read_file (Read(src/**))",
        "list_directory (Read(src/**))",
        "glob (Read(src/**))",
        "grep (Read(src/**))",
        "exec_shell (not Bash(rm:*))",
        "github__*",
    )
    assert "write_file" not in list_remaining_tools([], ["Write"])


def test_hostile_pattern_costs_no_time() -> None:
    pattern = parse_pattern("Bash(x " + "*a" * 200 + ":*)")
    assert not pattern.allows(_run("x " + "a" * 150 + "b"))
