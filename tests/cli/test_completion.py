"""`weft completion`: real shells complete what is there, and nothing that they would act on."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

Weft = Callable[..., subprocess.CompletedProcess[str]]
Complete = Callable[..., list[str]]

_BASH = """\
source "$2"
COMP_LINE=$1 COMP_POINT=${#1}
_weft_completion weft
[[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\\n' "${COMPREPLY[@]}"
"""
_HEAVY = {"anyio", "asyncio", "bs4", "httpx2", "mcp", "prompt_toolkit", "re2", "rich", "sqlite3", "ssl", "tomlkit"}
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x07|\x08")
_LISTING = """\
import sys
from clawft.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `weft completion bash` says: the same for everybody."""
    script = tmp_path_factory.mktemp("completion") / "weft.bash"
    with script.open("wb") as out:
        subprocess.run([sys.executable, "-m", "clawft", "completion", "bash"], stdout=out, timeout=60, check=True)
    return script


@pytest.fixture
def complete(project: Path, child_env: dict[str, str], bash_script: Path) -> Complete:
    """What bash would offer after a line; nothing may be said on the way."""

    def run(line: str, **environ: str) -> list[str]:
        command = ["bash", "--norc", "-c", _BASH, "bash", line, str(bash_script)]
        env = {**child_env, **environ}
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, timeout=60, check=True)
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


def _skill(folder: Path, description: str = "A skill.") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {folder.name}\ndescription: {description}\n---\n\nDo it.\n")


def _sessions(home: Path, *names: str) -> None:
    folder = home / ".clawft" / "sessions"
    folder.mkdir(parents=True)
    for name in names:
        (folder / f"{name}.jsonl").write_text('{"type":"session","version":1}\n')


def _config(home: Path, text: str) -> None:
    (home / ".clawft").mkdir(exist_ok=True)
    (home / ".clawft" / "config.toml").write_text(text)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_says_how_to_install_it(weft: Weft, shell: str) -> None:
    done = weft("completion", shell)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"#   {'mkdir -p ~/.zfunc && ' * (shell == 'zsh')}weft completion {shell} > ~/" in done.stdout
    assert "_WEFT_COMPLETE" in done.stdout


def test_zsh_finds_its_mark_on_the_first_line(weft: Weft) -> None:
    assert weft("completion", "zsh").stdout.startswith("#compdef weft\n# Completion of weft")


@pytest.mark.parametrize("arguments", [(), ("tcsh",)])
def test_unknown_shell_is_wrong_usage(weft: Weft, arguments: tuple[str, ...]) -> None:
    assert weft("completion", *arguments).returncode == 2


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("weft sk", ["skills"]),
        ("weft skills va", ["validate"]),
        ("weft completion ", ["bash", "zsh", "fish"]),
        ("weft agents show pl", ["planner"]),
        ("weft agent --agent ex", ["explore"]),
        ("weft agent -m 'two words' --sess", ["--session"]),
        ("weft config get agents.defaults.mo", ["agents.defaults.mode", "agents.defaults.model"]),
        ("weft config set providers.work.base", ["providers.work.base_url"]),
        ("weft config set memory.enabled ", ["false", "true"]),
        ("weft config set tools.exec.mode d", ["denylist", "disabled"]),
        ("weft config set agents.defaults.model off", ["offline"]),
        ("weft config set tools.exec.timeout_s ", []),
        ("weft config set nothing.here ", []),
        ("weft help works", ["workspace"]),
        ("weft help skills re", ["remove", "render"]),
        ("weft help doctor ", []),
        ("weft help nothing ", []),
    ],
)
def test_bash_completes_commands_options_and_names(complete: Complete, line: str, offered: list[str]) -> None:
    assert complete(line) == offered


@pytest.mark.parametrize("command", ["show", "why", "run", "render", "pin", "enable", "disable"])
def test_skills_are_completed(complete: Complete, project: Path, command: str) -> None:
    _skill(project / "skills" / "research")
    _skill(project / "skills" / "refactor")

    assert complete(f"weft skills {command} re") == ["refactor", "research", "review-diff"]
    assert complete(f"weft skills {command} res") == ["research"]


def test_skills_of_the_folder_that_was_named_are_completed(complete: Complete, project: Path) -> None:
    _skill(project / "elsewhere" / "far-away")

    assert complete("weft skills show --dir elsewhere ") == ["far-away"]


@pytest.mark.parametrize("command", ["sessions show", "sessions export", "sessions remove", "sessions fork"])
def test_sessions_are_completed(complete: Complete, tmp_path: Path, command: str) -> None:
    _sessions(tmp_path / "home", "20260101-1", "20260102-2")

    assert complete(f"weft {command} 2026") == ["20260101-1", "20260102-2"]


@pytest.mark.parametrize("before", ["weft sessions show ", "weft agent --session ", "weft agent --session="])
def test_keys_with_a_colon_are_completed_as_bash_wants_it(complete: Complete, tmp_path: Path, before: str) -> None:
    _sessions(tmp_path / "home", "cron%3Ajob-1", "cron%3Ajob-2", "other")

    assert complete(f"{before}cron:") == ["job-1", "job-2"]
    assert complete(f"{before}cr") == ["cron:job-1", "cron:job-2"]


def test_models_are_those_that_are_configured_and_the_known_providers(complete: Complete, tmp_path: Path) -> None:
    _config(
        tmp_path / "home",
        '[agents.defaults]\nmodel = "work/a"\n[providers.work]\ndefault_model = "c"\n[providers.work.models.b]\n',
    )

    assert complete("weft agent --model work") == ["work/", "work/a", "work/b", "work/c"]
    assert complete("weft agent --model oll") == ["ollama/"]


def test_settings_below_names_that_are_configured_are_completed(complete: Complete, tmp_path: Path) -> None:
    _config(tmp_path / "home", "[skills.entries.deploy]\nenabled = false\n")

    assert complete("weft config get skills.entries.") == ["skills.entries.deploy.enabled"]


def test_name_that_a_shell_would_act_on_is_not_offered(complete: Complete, tmp_path: Path) -> None:
    hostile = ["%24%28touch%20x%29", "a%3Bb", "a%20b", "a%2A", "%7E", "a%0Ab", "-rf", "a%60b", "a%5C", "ab"]
    _sessions(tmp_path / "home", *hostile)

    assert complete("weft sessions show ") == ["ab"]


def test_description_that_would_rewrite_the_screen_does_not_reach_it(weft: Weft, project: Path) -> None:
    (project / "skills" / "bad").mkdir(parents=True)
    (project / "skills" / "bad" / "SKILL.md").write_text(
        '---\nname: bad\ndescription: "a\\e[2J\\nb\\u202e"\n---\n\nDo.\n'
    )

    shown = weft(_WEFT_COMPLETE="zsh_complete", COMP_WORDS="weft skills show ba", COMP_CWORD="3").stdout

    assert shown.startswith("plain\nbad\n")
    assert len(shown.splitlines()) == 3
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_broken_config_offers_nothing_and_says_nothing(complete: Complete, tmp_path: Path) -> None:
    _config(tmp_path / "home", "[skills\n")

    assert complete("weft skills show ") == []
    assert complete("weft config get memory.en") == ["memory.enabled"]


def test_folder_that_is_not_there_offers_nothing(complete: Complete) -> None:
    assert complete("weft skills show --dir nowhere ") == []


@pytest.mark.parametrize("line", ["skills show ", "agents show ", "sessions show ", "config get ", "agent --model "])
def test_completing_loads_no_heavy_library(line: str, project: Path, child_env: dict[str, str]) -> None:
    plain = {name: value for name, value in child_env.items() if not name.startswith("COVERAGE_")}  # it loads sqlite3
    asked = {"_WEFT_COMPLETE": "fish_complete", "COMP_WORDS": f"weft {line}", "COMP_CWORD": ""}
    done = subprocess.run(
        [sys.executable, "-c", _LISTING],
        cwd=project,
        env={**plain, **asked},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "click.shell_completion" in done.stderr.split()
    assert not _HEAVY & set(done.stderr.split())


def test_tab_at_a_prompt_of_bash_completes(project: Path, child_env: dict[str, str], tmp_path: Path) -> None:
    _sessions(tmp_path / "home", "cron%3Ajob-1")
    (project / "inside").mkdir()

    with _prompt(["bash", "--norc", "-i"], project, child_env) as type_:
        type_('eval "$(weft completion bash)"; PS1="rea""dy> "\n', "ready> ")
        type_("weft sess\tsh\tcr\t", "weft sessions show cron:job-1 ")
        type_("\x15weft skills list --dir ins\t", "--dir inside/")
        type_("\x15weft agent --model olla\tx", "--model ollama/x")


def test_tab_at_a_prompt_of_zsh_completes(project: Path, child_env: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not there")
    _sessions(tmp_path / "home", "cron%3Ajob-1")

    with _prompt(["zsh", "-f", "-i"], project, child_env) as type_:
        type_("autoload -Uz compinit; compinit -u -D; source <(weft completion zsh); PS1='rea''dy> '\n", "ready> ")
        type_("weft sess\t", "sessions")
        type_("sh\t", "show")
        type_("cr\t", "cron:job-1")


def test_fish_completes(project: Path, child_env: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not there")
    _sessions(tmp_path / "home", "cron%3Ajob-1")
    script = 'weft completion fish | source; complete -C "weft sess"; complete -C "weft sessions show cr"'

    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=project,
        env=child_env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == ["sessions", "cron:job-1"]


@contextmanager
def _prompt(command: list[str], folder: Path, env: dict[str, str]) -> Iterator[Callable[[str, str], None]]:
    """A shell at a terminal: type something, and wait until something stands there."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**env, "TERM": "xterm"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)

    def type_(keys: str, wanted: str) -> None:
        got, until = "", time.monotonic() + 60
        os.write(master, keys.encode())
        while wanted not in got:
            assert select.select([master], [], [], max(0, until - time.monotonic()))[0], got
            got += os.read(master, 65536).decode()
            got = _CONTROLS.sub("", got)

    try:
        yield type_
    finally:
        process.kill()
        process.wait(timeout=60)
        os.close(master)
