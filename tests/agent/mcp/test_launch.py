"""Settings of a server become what is started or reached, and let in nothing else."""

import pytest

from clawft.agent.mcp.launch import HttpLaunch, StdioLaunch, resolve_launch
from clawft.config.tools import ServerSettings
from clawft.errors import ClawftError
from clawft.trust.programs import HostPrograms
from clawft.workspace import Workspace

WORKSPACE = Workspace("/home/ada", "/home/ada/.clawft", "/work", "/work")
OURS = {
    "PATH": "/bin",
    "HOME": "/home/ada",
    "USER": "ada",
    "LANG": "C.UTF-8",
    "LC_TIME": "nl_BE",
    "TMPDIR": "/var/tmp",
    "SHELL": "/bin/sh",
    "OPENAI_API_KEY": "sk-other",
    "TOKEN": "tok-12345",
}


def resolve(settings: ServerSettings, name: str = "files") -> StdioLaunch | HttpLaunch:
    return resolve_launch(name, settings, WORKSPACE, HostPrograms(OURS, WORKSPACE.home))


def code_of(settings: ServerSettings, name: str = "files") -> str:
    with pytest.raises(ClawftError) as caught:
        resolve(settings, name)
    for secret in ("tok-12345", "hunter2"):
        assert secret not in f"{caught.value} {caught.value.hint}"
    return caught.value.code


def test_a_program_gets_the_allowed_variables_and_its_own() -> None:
    launch = resolve(ServerSettings(command="files", args=("-v",), env={"KEY": "Bearer ${TOKEN}", "MODE": "x"}))
    assert isinstance(launch, StdioLaunch)
    assert launch.command == ("files", "-v")
    inherited = {name: OURS[name] for name in ("PATH", "HOME", "USER", "LANG", "LC_TIME", "TMPDIR")}
    assert launch.env == inherited | {"KEY": "Bearer tok-12345", "MODE": "x"}


def test_a_program_starts_in_a_neutral_folder_unless_told_otherwise() -> None:
    assert getattr(resolve(ServerSettings(command="files")), "cwd", None) == ""
    assert getattr(resolve(ServerSettings(command="files", cwd="${PROJECT}/x")), "cwd", "") == "/work/x"
    assert getattr(resolve(ServerSettings(command="files", cwd="sub")), "cwd", "") == "/work/sub"
    assert getattr(resolve(ServerSettings(command="files", cwd="~/x")), "cwd", "") == "/home/ada/x"


def test_a_variable_that_is_not_set_keeps_the_server_from_starting() -> None:
    assert code_of(ServerSettings(command="files", env={"KEY": "${TOKEN}${NO_SUCH}"})) == "mcp-env"
    assert code_of(ServerSettings(url="https://example.com/mcp", headers={"Authorization": "${NO_SUCH}"})) == "mcp-env"


def test_no_representation_shows_a_secret() -> None:
    stdio = resolve(ServerSettings(command="files", env={"KEY": "${TOKEN}"}))
    http = resolve(ServerSettings(url="https://example.com/mcp?key=tok-12345", headers={"X-Key": "${TOKEN}"}))
    assert "tok-12345" not in f"{stdio!r} {http!r} {stdio} {http}"
    assert stdio.secrets.mask("its tok-12345") == http.secrets.mask("its tok-12345") == "its <secret>"


@pytest.mark.parametrize("name", ["", "a b", "a__b", "a_", "ä", "a/b", "x" * 65, "a\x1b[31m"])
def test_a_name_that_would_confuse_tool_names_is_refused(name: str) -> None:
    assert code_of(ServerSettings(command="files"), name) == "mcp-name"


@pytest.mark.parametrize("name", ["github", "my-files", "a_b", "_a", "9"])
def test_a_plain_name_is_taken(name: str) -> None:
    assert isinstance(resolve(ServerSettings(command="files"), name), StdioLaunch)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/mcp",
        "http://10.0.0.1/mcp",
        "http://127.0.0.1.example.com/",
        "https://user:hunter2@example.com/",
        "https://hunter2@example.com/",
        "file:///etc/passwd",
        "example.com",
        "https://",
        "https://[::1/",
        "https://example.com:99999/",
        "https://example.com/\n",
        "http://localhost@example.com/",
    ],
)
def test_an_unsafe_address_is_refused(url: str) -> None:
    assert code_of(ServerSettings(url=url)) == "mcp-url"


@pytest.mark.parametrize(
    "url", ["https://example.com/mcp", "http://localhost:1/", "http://127.0.0.2:80/mcp", "http://[::1]:8000/mcp"]
)
def test_a_safe_address_is_taken(url: str) -> None:
    launch = resolve(ServerSettings(url=url, headers={"A": "b"}))
    assert isinstance(launch, HttpLaunch)
    assert (launch.url, launch.headers) == (url, {"A": "b"})


@pytest.mark.parametrize(
    "settings",
    [
        ServerSettings(),
        ServerSettings(command="files", url="https://example.com/"),
        ServerSettings(command="fi\0les"),
        ServerSettings(command="files", env={"A=B": "c"}),
        ServerSettings(url="https://example.com/", headers={"A b": "c"}),
        ServerSettings(url="https://example.com/", headers={"A": "c\r\nHost: evil"}),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: ServerSettings) -> None:
    assert code_of(settings) == "mcp-settings"
