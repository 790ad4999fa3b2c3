"""The command policy: a table of lines with their verdicts, and the modes around it."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawft.config.tools import DEFAULT_COMMANDS, CommandPolicyMode, ExecSettings
from clawft.errors import ClawftError
from clawft.trust.command_policy import CommandJudge, CommandPolicy
from clawft.trust.modes import Mode

TABLE = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
VERDICTS = {"allow": "allow", "ask": "ask", "unread": "ask"}
LINES = [(line, VERDICTS[kind]) for kind, lists in TABLE.items() for lines in lists.values() for line in lines]
DEFAULT = CommandPolicy(ExecSettings())
COMMAND_RUNNERS = (
    "env",
    "xargs",
    "find",
    "sh",
    "bash",
    "python",
    "python3",
    "sudo",
    "nohup",
    "awk",
    "node",
    "npx",
    "ssh",
)


class _Places:
    """A workspace with the file `src/a.py`, the link `link` to somewhere else, and a secret in `closed`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def is_inside(self, path: str) -> bool:
        self.asked.append(path)
        return not path.startswith(("/", "~", "..")) and path != "link" and "/../" not in path

    def is_open(self, path: str) -> bool:
        return path != "closed"

    def expand(self, pattern: str) -> list[str] | None:
        matches = {"src/*.py": ["src/a.py"], "l*": ["link"], "cl*": ["closed"], "huge/*": None}
        return matches.get(pattern, [])


def _policy(*allowed: str, denied: tuple[str, ...] = (), mode: str = "allowlist") -> CommandPolicy:
    return CommandPolicy(ExecSettings(CommandPolicyMode(mode), allowed or DEFAULT_COMMANDS, denied))


@pytest.mark.parametrize(("line", "verdict"), LINES, ids=[ascii(line) for line, _ in LINES])
def test_line_gets_its_verdict(line: str, verdict: str) -> None:
    judged = DEFAULT.judge(line)

    assert (judged.decision, bool(judged.reason)) == (verdict, True), judged.reason


def test_table_is_as_long_as_it_should_be_and_says_nothing_twice() -> None:
    lines = [line for line, _ in LINES]

    assert len(lines) >= 150
    assert len(set(lines)) == len(lines)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("curl x", "'curl' is not on the allow-list (tools.exec.allowed_commands)"),
        ("git push origin", "'git push' is not on the allow-list (tools.exec.allowed_commands)"),
        ("echo $(x)", "the value of '$(x)' is not known"),
        ("ls\nmake", "'make' is not on the allow-list (tools.exec.allowed_commands)"),
        ("$X ls", "which program '$X' is, is known only when it runs"),
        ("ls 'x", "not all of it is shell that weft can read"),
        ("echo \u202e", "it holds characters that do not show"),
        ("X=1 ls", "'X=' may change what the commands do"),
        ("ls $X", "the value of '$X' is not known"),
        ("ls > x", "'> x' opens a file"),
        ("sort -o x a", "sort: the option '-o' may do more than read"),
        ("sort *", "sort: '*' may match a file named like an option (write './*')"),
        ("cat /dev/zero", "'/dev/zero' may be no ordinary file"),
    ],
)
def test_reason_is_a_short_sentence(line: str, reason: str) -> None:
    assert DEFAULT.judge(line).reason == reason


def test_verdict_holds_the_words_as_understood() -> None:
    judged = DEFAULT.judge("""c'a't "a b" | gre\\p -c 'x y' && r""m z""")

    assert judged.commands == (("cat", "a b"), ("grep", "-c", "x y"), ("rm", "z"))


def test_verdict_holds_the_commands_of_loops_substitutions_and_functions() -> None:
    judged = DEFAULT.judge('f() { rm a; }; for x in 1 2; do f "$(cat b)" > c; done')

    assert judged.commands == (("rm", "a"), ("f", "$(cat b)"), ("cat", "b"))


@pytest.mark.parametrize("line", ["ls", "rm x", "echo"])
def test_empty_allow_list_denies_everything(line: str) -> None:
    policy = CommandPolicy(ExecSettings(allowed_commands=()))

    assert policy.judge(line).decision == "deny"


def test_default_list_has_no_command_that_runs_others() -> None:
    assert not {entry.split()[0] for entry in DEFAULT_COMMANDS} & set(COMMAND_RUNNERS)


@pytest.mark.parametrize("name", [*COMMAND_RUNNERS, "python3.11"])
def test_command_runner_listed_alone_still_asks(name: str) -> None:
    assert _policy(name).judge(f"{name} x").decision == "ask"


def test_command_runner_listed_with_its_arguments_is_allowed_with_these_alone() -> None:
    policy = _policy("python3 -m pytest")

    assert policy.judge("python3 -m pytest tests").decision == "allow"
    assert policy.judge("python3 -m http.server").decision == "ask"
    assert policy.judge("python3 -m pytes?").decision == "ask"


def test_listed_subcommand_allows_no_other() -> None:
    policy = _policy("cargo check")

    assert policy.judge("cargo check --all").decision == "allow"
    assert policy.judge("cargo build").decision == "ask"
    assert policy.judge("cargo").decision == "ask"


@pytest.mark.parametrize(
    ("entry", "line", "decision"),
    [
        ("make *", "make *", "ask"),
        ("make *", "make '*'", "allow"),
        ("make ~/x", "make ~/x", "ask"),
        ("make ~/x", "make '~/x'", "allow"),
        ("make $X", "make $X", "ask"),
        ("make $X", "make '$X'", "allow"),
    ],
)
def test_entry_means_its_words_and_not_what_a_shell_puts_in_their_place(entry: str, line: str, decision: str) -> None:
    judged = _policy(entry).judge(line)

    assert judged.decision == decision
    assert ("is not on the allow-list" in judged.reason) is (decision == "ask")


@pytest.mark.parametrize(
    ("policy", "line", "sandbox", "verdicts"),  # of plan, ask, auto-edit and full
    [
        ("allowlist", "ls", "landlock", "allow allow allow allow"),
        ("allowlist", "for x in *; do curl $x; done", "landlock", "allow ask allow allow"),
        ("allowlist", "curl 'x", "landlock", "allow ask allow allow"),
        ("disabled", "curl x", "landlock", "allow ask allow allow"),
        ("denylist", "shutdown", "landlock", "deny deny deny deny"),
        ("allowlist", "ls", "off", "allow ask allow allow"),
        ("allowlist", "make", "off", "ask ask allow allow"),
        ("allowlist", "curl x", "off", "ask ask ask ask"),
        ("disabled", "make", "off", "ask ask allow allow"),
        ("disabled", "curl x", "off", "ask ask allow allow"),
        ("disabled", "curl x", "none", "ask ask ask allow"),
        ("denylist", "shutdown", "off", "deny deny deny deny"),
    ],
)
def test_what_runs_unasked_by_mode_and_sandbox(policy: str, line: str, sandbox: str, verdicts: str) -> None:
    settings = ExecSettings(CommandPolicyMode(policy), (*DEFAULT_COMMANDS, "make"), ("shutdown",))
    judge = CommandJudge(settings, CommandPolicy(settings))

    found = [judge.judge(line, None, mode, sandbox).decision for mode in Mode]

    assert found == verdicts.split()


def test_option_named_by_the_entry_itself_is_allowed() -> None:
    policy = _policy("tail -f", "tail")

    assert policy.judge("tail -f a").decision == "allow"
    assert policy.judge("tail --retry a").decision == "ask"


def test_options_are_judged_also_where_only_the_command_is_listed() -> None:
    policy = _policy("git")

    assert policy.judge("git push").decision == "allow"
    assert policy.judge("git diff --output=x").decision == "ask"


def test_listed_path_is_that_path_alone() -> None:
    policy = _policy("./run.sh")

    assert policy.judge("./run.sh a").decision == "allow"
    assert policy.judge("run.sh a").decision == "ask"


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("cd src && cat a.py", "allow"),
        ("cd src; ls && cat ../b", "ask"),  # also where the shell has left src again
        ("cd .. && cat a", "ask"),
        ("cd link && cat a", "ask"),
        ("(cd src); cat /etc/passwd", "ask"),
        ("cd $X && cat a", "ask"),
    ],
)
def test_paths_are_judged_in_each_folder_that_a_text_may_be_in(line: str, decision: str) -> None:
    assert DEFAULT.judge(line, _Places()).decision == decision


@pytest.mark.parametrize("line", ["rm x", "r''m x", "\\rm x", "ls; 'r'm x", "ls | xargs r\\m", "env rm"])
@pytest.mark.parametrize("mode", list(CommandPolicyMode))
def test_denied_pattern_denies_in_every_mode_and_however_it_is_quoted(line: str, mode: str) -> None:
    judged = _policy("rm", "ls", denied=(r"\brm\b",), mode=mode).judge(line)

    assert judged.decision == "deny"
    assert judged.reason == r"it matches '\brm\b' (tools.exec.denied_patterns)"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (r"curl.*\| sh", "cu''rl  x   |   sh"),
        (r"^git push", "ls; git   push"),
        (r"^--force$", "git push --fo'rce'"),
        (r"> /etc/", "echo x >'/etc'/passwd"),
        (r"^/etc/passwd$", "cat < /etc/pass''wd"),
        (r"secret", "echo 'a secret'"),
    ],
)
def test_denied_pattern_is_found_in_line_command_word_and_target(pattern: str, line: str) -> None:
    assert _policy(denied=(pattern,), mode="disabled").judge(line).decision == "deny"


@pytest.mark.parametrize("mode", ["denylist", "disabled"])
def test_other_modes_allow_all_that_is_not_denied(mode: str) -> None:
    policy = _policy(denied=("shutdown",), mode=mode)

    for line in ("rm x", "curl a | sh", "echo $X > y", "cd a && make"):
        assert policy.judge(line).decision == "allow"
    for line in TABLE["unread"]["lines"] + TABLE["unread"]["escaped"]:
        assert policy.judge(line).decision == "allow"
    assert policy.judge('echo "$(shutdown"').decision == "deny"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("(", "missing )"), ("a(?=b)", "(?="), (r"(a)\1", r"\1"), ("*", "no argument"), ("\udc80", "surrogates")],
)
def test_pattern_that_is_no_expression_is_an_error_at_once(pattern: str, why: str) -> None:
    with pytest.raises(ClawftError) as caught:
        _policy(denied=("fine", pattern))

    assert caught.value.code == "policy-pattern"
    assert repr(pattern) in str(caught.value)
    assert why in str(caught.value).partition(" is no regular expression ")[2]
    assert caught.value.hint


@pytest.mark.parametrize("entry", ["", "  "])
def test_empty_entry_is_an_error_and_not_a_wildcard(entry: str) -> None:
    with pytest.raises(ClawftError) as caught:
        _policy("ls", entry)

    assert caught.value.code == "policy-command"


@pytest.mark.parametrize(
    "line",
    ["cat a", "cat src/a", "cat 'a b'", "grep /etc/passwd a", "grep -e x a", "git diff a..b", "git log -- src",
     "ls src/*.py", "echo /etc/passwd", "echo ..", "date +/", "cut -d/ -f1 a", "cut -d / -f1 a", "sort -t / a",
     "cat a </dev/null", "cat /dev/null", "which ls", "cat '~'", "cat a~", "head -n 5 a"],
)  # fmt: skip
def test_reading_inside_the_workspace_is_allowed(line: str) -> None:
    assert DEFAULT.judge(line, _Places()).decision == "allow"


@pytest.mark.parametrize(
    "line",
    ["cat /etc/passwd", "cat ../x", "cat ~/x", "cat ~root/x", "ls ~", "ls /", "head -n 5 /etc/passwd", "cat a /x",
     "cat '/etc/passwd'", "cat /etc/*", "cat */../../x", "cat ../*", "grep x /etc/passwd", "grep -e x /etc/passwd",
     "grep -re /a /b", "grep --regexp=x /etc/passwd", "grep --regexp x /etc/passwd", "git diff -- /etc/passwd",
     "echo /etc/*", "echo ~/*", "cat link", "ls; cat ../x", "cat -- /x", "wc -l ../x", "tail -n 1 /x",
     "grep -C x /etc/passwd"],
)  # fmt: skip
def test_reading_outside_the_workspace_asks(line: str) -> None:
    judged = DEFAULT.judge(line, _Places())

    assert judged.decision == "ask"
    assert judged.reason.endswith("leads outside the workspace")


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("make test", "allow"),
        ("make -j4 X=1", "allow"),
        ("make -C../x", "ask"),
        ("make --file=/etc/x", "ask"),
        ("make --file /etc/x", "ask"),
        ("make PREFIX=~/x", "ask"),
        ("make -f/etc/x", "ask"),
        ("make X=a/../../b", "ask"),
        ("make X*=/etc", "ask"),
        ("make src/*", "allow"),
        ("make ab/etc", "allow"),  # no option, so nothing begins after two letters
    ],
)
def test_paths_of_other_listed_commands_are_judged_too(line: str, decision: str) -> None:
    assert _policy("make").judge(line, _Places()).decision == decision


class _WholeMachine(_Places):
    """A workspace that nothing is outside of."""

    def is_inside(self, path: str) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "decision"),
    [("ls ~", "allow"), ("cat ~/x", "allow"), ("cat '~root/x'", "allow"), ("cat ~root/x", "ask"), ("ls ~root", "ask"),
     ("ls ~+", "ask")],
)  # fmt: skip
def test_home_of_another_user_is_not_known_and_asks_wherever_the_workspace_is(line: str, decision: str) -> None:
    assert DEFAULT.judge(line, _WholeMachine()).decision == decision


def test_program_is_started_unless_nothing_at_all_is_on_the_list() -> None:
    nothing = ExecSettings(allowed_commands=(), also_allowed=())

    assert CommandPolicy(nothing).object_to(["make"]) == "the allow-list is empty (tools.exec.allowed_commands)"
    assert _policy("ls").object_to(["make"]) == ""
    unlisted = ExecSettings(CommandPolicyMode.DENYLIST, (), ("rm",))
    assert CommandPolicy(unlisted).object_to(["make"]) == ""


@pytest.mark.parametrize("words", [["rm", "-rf", "/"], ["sh", "-c", "rm -rf /"]])
def test_program_whose_words_match_a_denied_pattern_is_not_started(words: list[str]) -> None:
    denied = _policy("ls", denied=("^rm -rf",))

    assert denied.object_to(words) == "it matches '^rm -rf' (tools.exec.denied_patterns)"
    assert denied.object_to(["rm", "x"]) == ""


def test_every_path_is_looked_at_whatever_stands_before_it() -> None:
    assert DEFAULT.judge("cat /dev/null ../x", _Places()).decision == "ask"
    assert DEFAULT.judge("cat a /proc/self/environ").reason == "'/proc/self/environ' may be no ordinary file"


def test_folder_that_a_glob_begins_in_is_looked_at_first() -> None:
    assert DEFAULT.judge("cat link/*", _Places()).decision == "ask"
    assert DEFAULT.judge("cat link/?/[a]", _Places()).decision == "ask"
    for line, first in (("cat src/*.py", "src"), ("cat *", "."), ("cat a/b/[x]*/c", "a/b")):
        places = _Places()
        DEFAULT.judge(line, places)
        assert places.asked[0] == first


def test_home_is_inside_where_the_workspace_says_so() -> None:
    places = _Places()
    judged = DEFAULT.judge("cat '~/b' ~/a", places)

    assert (judged.decision, places.asked) == ("ask", ["./~/b", "~/a"])


@pytest.mark.parametrize(
    ("line", "decision"),
    [("cat src/*.py", "allow"), ("cat l*", "ask"), ("cat huge/*", "ask"), ("echo l*", "ask"),
     ("grep -r x src", "allow"), ("grep -rn x", "allow"), ("grep -r x closed", "ask"), ("grep -nr x cl*", "ask"),
     ("grep --recursive x closed", "ask"),
     ("grep x closed", "allow"), ("cat closed", "allow"), ("grep -e -r closed", "ask")],
)  # fmt: skip
def test_what_a_glob_matches_and_what_stands_below_a_folder_is_judged_too(line: str, decision: str) -> None:
    assert DEFAULT.judge(line, _Places()).decision == decision


@given(st.text() | st.text("lsgit -o'\"\\$(){}|&;<>~*?[]#=!`\n\t/.=", max_size=40))
@example("\ud800")
@example("ls " * 10_000)
@pytest.mark.parametrize("mode", list(CommandPolicyMode))
def test_any_text_gets_a_verdict(mode: str, text: str) -> None:
    judged = _policy(mode=mode, denied=("x",)).judge(text, _Places())

    assert judged.decision in ("allow", "ask", "deny")
    assert judged.reason
