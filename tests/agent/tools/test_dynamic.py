"""Dynamic context: what runs, where, with what, and all that must not."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clawft.agent.tools.dynamic import render_dynamic
from clawft.app.app import open_app
from clawft.errors import ClawftError, Refused
from clawft.skills.render.prompt import RenderedPrompt
from clawft.skills.render.template import TemplateVariables, split_arguments
from clawft.trust.permissions import CallAuthority

pytestmark = pytest.mark.anyio
PREFIXES = ["echo", "cat", "pwd", "printenv", "ls", "sh go.sh", "grep", "git log", "printf", "sleep", "head", "touch"]


class House:
    """A user with a project, whose skills are used without a model."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.user_dir = self.home / ".clawft"
        for one in (self.user_dir, self.project):
            one.mkdir(parents=True)
        self.environ = {"HOME": str(self.home), "PATH": os.defpath, "UNLISTED": "a-private-value"}
        self.config = f"[skills.security]\nscan_on_load = false\nallowed_command_prefixes = {json.dumps(PREFIXES)}\n"
        self.before_use: Callable[[], object] = lambda: None  # once the skill was found usable

    def add(self, name: str, body: str, head: str = "") -> Path:
        folder = self.user_dir / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n{head}---\n\n{body}\n")
        return folder

    async def use(self, name: str, arguments: str = "") -> RenderedPrompt:
        (self.user_dir / "config.toml").write_text(self.config)
        app = open_app(self.environ, str(self.project))
        async with app.open_runtime() as runtime:
            found = app.get_skill(name).found
            usable = runtime.skills.load_usable(found)
            self.before_use()
            context = runtime.dynamic(lambda: CallAuthority(runtime.default_mode, runtime.rules))
            variables = TemplateVariables("session-1", found.base_dir, str(self.project))
            return await render_dynamic(context, found, usable, split_arguments(arguments), variables)

    async def text(self, body: str, arguments: str = "") -> str:
        self.add("one", body)
        return (await self.use("one", arguments)).text

    async def refusal(self, body: str, arguments: str = "") -> Refused:
        self.add("one", body)
        with pytest.raises(Refused) as caught:
            await self.use("one", arguments)
        return caught.value

    def audit(self, kind: str, *, ends: bool = False) -> list[dict[str, Any]]:
        """The lines about what was decided, or about how it ended."""
        path = self.user_dir / "audit.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if line["kind"] == kind and (line["decision"] == "finished") is ends]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def test_every_form_of_a_command_becomes_its_output(house: House) -> None:
    text = await house.text("A !`echo one` b\n!echo two\n```!\necho three\n# a remark\necho four\n```\nEnd")
    assert text == "A one b\ntwo\nthree\nfour\nEnd"
    assert [line["subject"] for line in sorted(house.audit("command"), key=lambda line: line["subject"])] == [
        "echo four",
        "echo one",
        "echo three",
        "echo two",
    ]
    (line, *_) = house.audit("command")
    assert (line["decision"], line["skill"], line["session"]) == ("allowed", "one", "session-1")
    assert line["rule"] == "skills.security.allowed_command_prefixes"
    assert line["digest"].startswith("sha256:")


@pytest.mark.parametrize("mode", ["bubblewrap", "landlock"])
async def test_a_command_runs_in_the_skills_folder_and_writes_nothing(house: House, mode: str) -> None:
    house.config += f'[sandbox]\nmode = "{mode}"\n'
    folder = house.add("one", "!pwd\n!cat notes.md\n!sh go.sh\n!cat ${CLAUDE_SKILL_DIR}/notes.md")
    (folder / "notes.md").write_text("of the skill")
    (house.project / "file").write_text("of the project")
    (house.project / ".git").mkdir()
    (folder / "go.sh").write_text(
        f"touch made {folder}/made {house.project}/made {house.home}/.bashrc {house.project}/.git/made 2>/dev/null;"
        f" cat {house.project}/file; echo; echo alias > {house.home}/.profile; cat {house.user_dir}/audit.jsonl;"
        " echo ran\n"
    )
    where, *lines = (await house.use("one")).text.splitlines()
    assert (where == str(folder)) == (mode == "bubblewrap")  # Landlock cannot show the copy in another place
    assert lines[:2] == ["of the skill", "of the project"]
    assert lines[-2:] == ["ran", "of the skill"]
    assert "sha256" not in "".join(lines)
    assert not list(house.home.parent.glob("**/made"))
    assert not (house.home / ".bashrc").exists()
    assert not (house.home / ".profile").exists()
    assert len(house.audit("command")) == 4


@pytest.mark.parametrize(
    "argument",
    [
        "$(touch pwned)",
        "`touch pwned`",
        "'; touch pwned; '",
        '"; touch pwned; "',
        "; touch pwned",
        "x\ntouch pwned",
        "&& touch pwned",
        "| touch pwned",
        "> pwned",
        "\\'; touch pwned #",
        "$'\\'; touch pwned",
        "${IFS}touch${IFS}pwned",
    ],
)
async def test_nothing_in_an_argument_runs(house: House, argument: str) -> None:
    house.config += '[sandbox]\nmode = "off"\n'
    body = "!echo plain $ARGUMENTS\n!echo 'single $ARGUMENTS'\n!echo \"double $ARGUMENTS\"\n"
    text = await house.text(body, argument)  # unconfined, so that the effect could be seen
    assert not list(house.project.glob("**/pwned"))
    assert not list(house.home.glob("**/pwned"))
    assert [part in text for part in (f"plain {argument}", f"single {argument}", f"double {argument}")] == [True] * 3
    assert len(house.audit("command")) == len(house.audit("command", ends=True)) == 3
    assert house.audit("command")[0]["decision"] == "allowed"
    assert all(line["detail"].keys() == {"exit_code"} for line in house.audit("command", ends=True))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("git --version; touch pwned", "'git --version' is not on the allow-list"),
        ("git log; rm -rf x", "'rm' is not on the allow-list"),
        ("git logx", "'git logx' is not on the allow-list"),
        ("gitlog -3", "'gitlog' is not on the allow-list"),
        ("echo a && rm b", "'rm' is not on the allow-list"),
        ("echo a | sh", "'sh' is not on the allow-list"),
        ("sh other.sh", "'sh other.sh' is not on the allow-list"),
        ("echo $(touch pwned)", "the value of '$(touch pwned)' is not known"),
        ("echo `touch pwned`", "the value of '`touch pwned`' is not known"),
        ("echo a & cp a pwned", "'cp' is not on the allow-list"),
        ("echo a > pwned", "opens a file"),
        ("PATH=. echo a", "'PATH=' may change what the commands do"),
        ("echo $SECRET", "the value of '$SECRET' is not known"),
        ("git log --output=pwned", "git: "),
        ("cat /etc/shadow", "leads outside the workspace"),
        ("cat ../../config.toml", "leads outside the workspace"),
        ("cat /proc/self/environ", "may be no ordinary file"),
    ],
)
async def test_what_is_not_allowed_is_refused_before_anything_runs(house: House, command: str, said: str) -> None:
    house.config += '[sandbox]\nmode = "off"\n'
    error = await house.refusal(f"First !`touch ran-first`\n```!\n{command}\n```")
    assert error.code == "command-refused"
    assert error.exit_code == 3
    assert said in str(error)
    assert error.diagnostic.line == 7
    assert not list(house.home.glob("**/ran-first"))
    assert not list(house.home.glob("**/pwned"))
    assert house.audit("command") == []
    (denied,) = house.audit("denial")
    assert (denied["subject"], denied["decision"], denied["skill"]) == (command, "denied", "one")
    assert said in denied["rule"]


async def test_a_refusal_names_the_setting_that_would_allow_it(house: House) -> None:
    house.config = '[skills.security]\nallowed_command_prefixes = ["echo"]\n'
    error = await house.refusal("!git log -3 | head -2")
    setting = """weft config set skills.security.allowed_command_prefixes '["echo","git log","head"]'"""
    assert error.hint == f"To allow it: {setting}"


async def test_an_argument_cannot_choose_what_runs(house: House) -> None:
    error = await house.refusal("!$ARGUMENTS", "rm -rf x")
    assert "'rm -rf x' is not on the allow-list" in str(error)
    assert len(house.audit("denial")) == 1


async def test_an_argument_cannot_choose_among_the_commands_of_the_list(house: House) -> None:
    assert "name is not plain text" in str(await house.refusal("!$ARGUMENTS pwned", "touch"))


async def test_an_argument_cannot_lead_outside(house: House) -> None:
    (house.home / "private").write_text("mine")
    error = await house.refusal("!cat $ARGUMENTS", str(house.home / "private"))
    assert "leads outside the workspace" in str(error)
    assert len(house.audit("denial")) == 1


async def test_without_a_list_and_a_person_what_is_asked_about_stays_as_text(house: House) -> None:
    house.config = '[agents.defaults]\nmode = "ask"\n'
    house.add("one", "Now !`git -C $ARGUMENTS push` and\n!touch x")
    rendered = await house.use("one", "args")
    assert rendered.text == "Now !`git -C $ARGUMENTS push` and\n!touch x\n\nARGUMENTS: args"
    (said,) = rendered.diagnostics
    assert (said.code, said.severity, said.line) == ("dynamic-context-off", "warning", 6)
    assert "2 commands, which stay as text: it was not approved ('git -C' is not on the allow-list" in said.message
    assert "weft config set skills.security.allowed_command_prefixes" in said.hint
    assert house.audit("command") == []


async def test_without_a_list_commands_run_that_the_mode_runs_unasked(house: House) -> None:
    house.config = '[agents.defaults]\nmode = "ask"\n'
    house.add("one", "Say !`echo $ARGUMENTS` and !`touch x` and !`ls nowhere`")
    text = (await house.use("one", "a; $(touch pwned)")).text
    assert text.startswith("Say a; $(touch pwned) and !`touch x` and ")
    assert "No such file" in text  # what failed is no reason to do without the skill
    assert "[exit code " in text
    assert [line["rule"] for line in house.audit("command")] == ["mode ask"] * 2
    assert not (house.project / "pwned").exists()


async def test_without_a_list_a_rule_that_denies_holds(house: House) -> None:
    house.config = '[permissions]\ndeny = ["Bash(echo secret*)"]\n'
    house.add("one", "!echo secret things\n!echo fine")
    rendered = await house.use("one")
    assert rendered.text == "!echo secret things\nfine"
    assert "rule deny Bash(echo secret*)" in rendered.diagnostics[0].message
    assert house.audit("denial")[0]["rule"] == "rule deny Bash(echo secret*) in [permissions]"


async def test_without_a_list_and_a_sandbox_nothing_runs(house: House) -> None:
    house.config = '[sandbox]\nmode = "off"\n'
    house.add("one", "!echo a")
    rendered = await house.use("one")
    assert (rendered.text, rendered.diagnostics[0].code) == ("!echo a", "dynamic-context-off")
    assert "no sandbox works here" in rendered.diagnostics[0].message


async def test_a_rule_that_denies_comes_before_the_list(house: House) -> None:
    house.config += '[permissions]\ndeny = ["Bash(echo secret*)"]\n'
    error = await house.refusal("!echo secret things")
    assert "rule deny Bash(echo secret*)" in str(error)
    assert house.audit("denial")[0]["rule"] == "rule deny Bash(echo secret*) in [permissions]"


async def test_a_denied_pattern_comes_before_the_list(house: House) -> None:
    house.config += "[tools.exec]\ndenied_patterns = ['for.?bidden']\n"
    error = await house.refusal("!echo $ARGUMENTS", "for\nbidden")
    assert "tools.exec.denied_patterns" in str(error)


async def test_a_skill_that_disallows_commands_runs_none_itself(house: House) -> None:
    house.add("one", "!echo a", "disallowed-tools: Bash\n")
    with pytest.raises(Refused, match="the skill 'one' disallows Bash"):
        await house.use("one")


@pytest.mark.parametrize(
    "body", ["![image](!`touch x`)\n![a][b]", "```\n!touch x\n```", "    !`touch x`", "`` !`touch x` ``"]
)
async def test_images_and_code_are_text(house: House, body: str) -> None:
    text = await house.text(f"Text\n\n{body}")
    assert text == f"Text\n\n{body}"
    assert house.audit("command") == []


async def test_what_arguments_and_output_bring_is_never_looked_at_again(house: House) -> None:
    folder = house.add("one", "$ARGUMENTS\n!cat more.md\n!read more.md\n")
    (folder / "more.md").write_text("!`touch x` $ARGUMENTS ${CLAUDE_SKILL_DIR}\n!touch x\n@notes.md\n")
    (folder / "notes.md").write_text("not attached")
    text = (await house.use("one", "!`touch y`")).text
    more = "!`touch x` $ARGUMENTS ${CLAUDE_SKILL_DIR}\n!touch x\n@notes.md"
    assert text == f"!`touch y`\n{more}\n{more}"
    assert len(house.audit("command")) == 2


async def test_a_command_sees_listed_variables_and_its_skills_own(house: House) -> None:
    house.add("one", "!printenv UNITS HOME\n")
    house.add("two", "!printenv UNITS UNLISTED KEY_OF_OTHERS HOME\n")
    house.config += '[skills.entries.one.env]\nUNITS = "metric"\n'
    house.environ["KEY_OF_OTHERS"] = "k"
    assert (await house.use("one")).text == f"metric\n{house.home}"
    with pytest.raises(ClawftError) as caught:  # printenv ends with 1, since it knows HOME alone
        await house.use("two")
    assert "a-private-value" not in str(caught.value)
    assert "metric" not in str(caught.value)


async def test_secrets_and_escapes_do_not_come_through(house: House) -> None:
    folder = house.add("one", "!printenv API_KEY\n!cat art\n", "metadata: {clawft: {primaryEnv: API_KEY}}\n")
    (folder / "art").write_bytes(b"\x1b[31mred\x1b[0m\x1b]0;title\x07 b\x08ell\x07 \xe2\x80\xaeturned\r\nend\x00\n")
    house.config += '[skills.entries.one]\napi_key = { env = "SOME_KEY" }\n'
    house.environ["SOME_KEY"] = "a-long-secret-value"
    assert (await house.use("one")).text == "<secret>\nred bell turned\nend"
    assert "a-long-secret-value" not in (house.user_dir / "audit.jsonl").read_text()


async def test_a_failure_stops_the_use_with_the_command_and_its_output(house: House) -> None:
    folder = house.add("one", "Text\n!sh go.sh\n!echo fine")
    (folder / "go.sh").write_text("echo half done; echo broken >&2; exit 3\n")
    with pytest.raises(ClawftError) as caught:
        await house.use("one")
    assert (caught.value.code, caught.value.exit_code, caught.value.diagnostic.line) == ("command-failed", 1, 7)
    assert "`sh go.sh`\nhalf done\nbroken\n[exit code 3" in str(caught.value)


@pytest.mark.parametrize(("command", "text"), [("grep nowhere go.sh", ""), ("echo x | grep y", "")])
async def test_no_match_is_no_failure(house: House, command: str, text: str) -> None:
    (house.add("one", f"[ !`{command}` ]") / "go.sh").write_text("x")
    assert (await house.use("one")).text == f"[ {text} ]"


async def test_long_output_is_cut_and_said(house: House) -> None:
    folder = house.add("one", "!cat long\n!read long")
    (folder / "long").write_text("x" * 100_000 + "end")
    output, read = (await house.use("one")).text.split("\nx", 1)
    assert len(output) < 66_000
    assert "[cut: 34467 bytes are left out here; 65536 is the limit]" in output + read
    assert "[cut: 34467 characters are left out; 65536 is the limit]" in read


async def test_a_command_that_takes_too_long_is_ended(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawft.agent.tools.dynamic.render.TIMEOUT_S", 0.2)
    house.add("one", "!sleep 60")
    with pytest.raises(ClawftError, match="its time was up"):
        await house.use("one")


async def test_a_file_swapped_after_it_was_approved_is_not_run(house: House) -> None:
    folder = house.add("one", "!sh go.sh")
    (folder / "go.sh").write_text("echo as approved\n")
    house.before_use = lambda: (folder / "go.sh").write_text("echo swapped\n")
    with pytest.raises(Refused, match="changed since it was approved"):
        await house.use("one")
    assert house.audit("command") == []
    assert house.audit("denial")[0]["rule"] == "The skill changed since it was approved"


async def test_a_file_swapped_after_it_was_approved_is_not_read(house: House) -> None:
    folder = house.add("one", "!read notes.md")
    (folder / "notes.md").write_text("as approved\n")
    house.before_use = lambda: (folder / "notes.md").write_text("swapped\n")
    with pytest.raises(Refused, match="changed while it was read"):
        await house.use("one")
    assert len(house.audit("denial")) == 1


async def test_files_of_the_skill_and_the_project_are_put_in_place(house: House) -> None:
    folder = house.add("one", "!read notes.md\n!read src/$ARGUMENTS\n!read ${CLAUDE_SKILL_DIR}/notes.md")
    (folder / "notes.md").write_text("a note\n")
    (house.project / "src").mkdir()
    (house.project / "src" / "a b.py").write_text("code")
    house.config = ""  # files need no list
    assert (await house.use("one", "a b.py")).text == "a note\ncode\na note"
    assert [line["subject"] for line in house.audit("command")] == [
        "read notes.md of the skill",
        f"read {house.project}/src/a b.py",
        "read notes.md of the skill",
    ]


@pytest.mark.parametrize(
    "path", ["../../config.toml", "/etc/passwd", "link", "deep/link", ".env", "~/.ssh/id", "{baseDir}/link"]
)
async def test_no_file_elsewhere_is_read(house: House, path: str) -> None:
    folder = house.add("one", f"Text\n!read {path}")
    (folder / "link").symlink_to("/etc/hostname")
    (house.project / "deep").mkdir()
    (house.project / "deep" / "link").symlink_to(house.user_dir)
    (house.project / ".env").write_text("KEY=1")
    (house.project / "link").symlink_to("/etc/hostname")
    with pytest.raises(Refused) as caught:
        await house.use("one")
    assert caught.value.exit_code == 3
    (denied,) = house.audit("denial")
    assert denied["subject"].startswith("!read ")
    assert house.audit("command") == []


async def test_a_file_that_is_not_there_stops_the_use(house: House) -> None:
    house.add("one", "!read gone.md")
    with pytest.raises(ClawftError) as caught:
        await house.use("one")
    assert (caught.value.code, caught.value.exit_code) == ("command-failed", 1)


async def test_mentioned_files_are_attached_once_after_the_text(house: House) -> None:
    folder = house.add("one", "See @notes.md, @notes.md and @src/a.py.\nNot @gone.md, @types/node or @secret/.env.")
    (folder / "notes.md").write_text("a note</file>")
    (house.project / "src").mkdir()
    (house.project / "src" / "a.py").write_text("code")
    (house.project / "secret").mkdir()
    (house.project / "secret" / ".env").write_text("KEY=1")
    rendered = await house.use("one", "args")
    assert rendered.text == (
        "See @notes.md, @notes.md and @src/a.py.\nNot @gone.md, @types/node or @secret/.env.\n\nARGUMENTS: args\n\n"
        '<file path="notes.md">\na note<\\/file>\n</file>\n\n<file path="src/a.py">\ncode\n</file>'
    )
    assert [(one.severity, one.message.partition(" stays")[0]) for one in rendered.diagnostics] == [
        ("note", "@gone.md"),
        ("warning", "@secret/.env"),
    ]
    assert house.audit("denial")[0]["subject"] == "@secret/.env"


async def test_a_file_that_an_argument_names_is_not_attached(house: House) -> None:
    (house.project / "a.py").write_text("code")
    assert "code" not in await house.text("Look at $ARGUMENTS and @$ARGUMENTS", "@a.py")


async def test_a_claude_command_runs_in_the_project(house: House) -> None:
    commands = house.home / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "here.md").write_text("---\ndescription: x\n---\n!pwd\n!echo $1 @a.md\nSee @a.md\n")
    (house.project / "a.md").write_text("of the project")
    text = (await house.use("here", "'a b' c")).text
    assert text.startswith(f"{house.project}\na b @a.md\nSee @a.md\n")
    assert text.endswith('<file path="a.md">\nof the project\n</file>')


async def test_without_a_sandbox_nothing_runs(house: House) -> None:
    house.environ["PATH"] = str(house.home)
    house.config += '[sandbox]\nmode = "bubblewrap"\n'
    error = await house.refusal("!echo a")
    assert error.code == "sandbox-unavailable"
    assert "no sandbox" in house.audit("denial")[0]["rule"]


async def test_too_many_places_are_refused(house: House) -> None:
    assert "100 is the limit" in str(await house.refusal("!echo x\n" * 101))
    assert house.audit("command") == []
    assert len(house.audit("denial")) == 1


async def test_what_cannot_be_written_down_is_not_run(house: House) -> None:
    (house.user_dir / "audit.jsonl").mkdir()
    house.config += '[sandbox]\nmode = "off"\n'
    error = await house.refusal("!touch ran")
    assert error.code == "audit-unwritable"
    assert not list(house.home.glob("**/ran"))


async def test_many_mentions_do_no_harm(house: House) -> None:
    folder = house.add("one", "".join(f"See @f{number}.md and @gone{number}.md\n" for number in range(60)))
    for number in range(30):
        (folder / f"f{number}.md").write_text(f"file {number}")
    rendered = await house.use("one")
    assert rendered.text.count("<file path=") == 20
    assert "20 files are the limit" in rendered.diagnostics[-1].message


def make_repository(folder: Path) -> None:
    commit = ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "one"]
    for words in (["init", "-q"], commit):
        subprocess.run(["git", "-C", str(folder), *words], check=True, timeout=60, env={"PATH": os.defpath})


async def test_git_looks_at_the_project(house: House) -> None:
    make_repository(house.project)
    (house.project / "new.txt").write_text("x")
    house.config = house.config.replace('"git log"', '"git log", "git status"')
    assert await house.text("!git log --format=%s\n!git status --short") == "one\n?? new.txt"


async def test_it_works_behind_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    house = House(tmp_path / "link")
    make_repository(house.project)
    (house.project / "a.md").write_text("of the project")
    commands = house.home / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "here.md").write_text("!cat a.md")
    folder = house.add("one", "!cat ${CLAUDE_SKILL_DIR}/b.md a/c\n!git log --format=%s\n!read b.md\n!read a.md")
    (folder / "b.md").write_text("of the skill\n")
    (folder / "a").mkdir()
    (folder / "a" / "c").write_text("deep")
    assert (await house.use("one")).text == "of the skill\ndeep\none\nof the skill\nof the project"
    assert (await house.use("here")).text == "of the project"


async def test_git_does_not_look_where_that_could_start_a_program(house: House) -> None:
    make_repository(house.project)
    with (house.project / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = touch {house.project}/pwned\n")
    error = await house.refusal("!git log")
    assert "core.fsmonitor" in str(error)
    assert not (house.project / "pwned").exists()
    assert len(house.audit("denial")) == 1


async def test_endless_output_ends_the_command(house: House) -> None:
    house.config = house.config.replace('"echo"', '"echo", "yes"')
    house.add("one", "!yes")
    with pytest.raises(ClawftError) as caught:
        await house.use("one")
    assert "it wrote more than" in str(caught.value)
    assert len(str(caught.value)) < 3_000


async def test_a_command_reaches_no_host_but_those_that_rules_allow(house: House) -> None:
    house.config += '[permissions]\nallow = ["WebFetch(domain:api.example)"]\n'
    folder = house.add("one", "!sh go.sh")
    (folder / "go.sh").write_text('printenv https_proxy >/dev/null && echo "by the proxy"; cat /proc/net/dev | wc -l\n')
    assert (await house.use("one")).text.splitlines()[0] == "by the proxy"


@pytest.mark.parametrize("mode", ["bubblewrap", "landlock"])
async def test_a_command_sees_the_project_but_none_of_its_secrets(house: House, mode: str) -> None:
    house.config += f'[sandbox]\nmode = "{mode}"\n'
    (house.project / "sub").mkdir()
    for name in (".env", "sub/.env"):
        (house.project / name).write_text("SECRET")
    (house.project / "notes").write_text("known")
    folder = house.add("one", "!sh go.sh")
    (folder / "go.sh").write_text(f"cd {house.project}; cat notes; cat .env sub/.env 2>/dev/null; true")
    assert (await house.use("one")).text == "known"
