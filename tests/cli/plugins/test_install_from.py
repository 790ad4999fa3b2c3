"""`weft plugins install` from repositories and addresses: as from a folder, and what came is told exactly."""

import hashlib
import json
import os
import subprocess
import tarfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from repositories import File, Repository, serving

Weft = Callable[..., subprocess.CompletedProcess[str]]
Plugin = Callable[..., Path]
States = Callable[[], dict[str, str]]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def files(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder that is served, and its address."""
    (tmp_path / "served").mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path / "served")))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield tmp_path / "served", f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def commit(folder: Path, tmp_path: Path, below: str = "") -> tuple[Repository, str]:
    repository = Repository(tmp_path / "repo")
    found: dict[str, File] = {
        f"{below}{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    return repository, repository.commit({**found, "README.md": b"hi"})


def test_a_plugin_in_a_folder_of_a_repository_is_installed_at_a_commit(
    weft: Weft, plugin: Plugin, states: States, tmp_path: Path, user_dir: Path
) -> None:
    repository, at = commit(plugin(of=str(tmp_path / "made")), tmp_path, "plugins/weather/")
    source = f"git+{repository.url}#main:plugins/weather"
    tried = weft("plugins", "install", source, "--dry-run")
    assert (tried.returncode, states()) == (0, {})
    assert f"From: {repository.url}, commit {at}" in tried.stderr

    done = json.loads(weft("plugins", "install", source, "--format", "json").stdout)
    assert done["from"] == {"url": repository.url, "commit": at, "sha256": ""}
    assert states() == {"org.example.weather": "untrusted"}
    assert os.listdir(user_dir / "plugins") == ["org.example.weather"]
    assert "README.md" not in os.listdir(user_dir / "plugins" / "org.example.weather")


def test_a_plugin_that_is_a_repository_on_a_server_is_installed(
    weft: Weft, plugin: Plugin, states: States, tmp_path: Path
) -> None:
    commit(plugin(of=str(tmp_path / "made")), tmp_path)
    with serving(tmp_path) as address:
        done = weft("plugins", "install", f"git+{address}/repo")
    assert (done.returncode, done.stdout) == (0, "Installed: org.example.weather 1.0.0\n"), done.stderr
    assert states() == {"org.example.weather": "untrusted"}


def test_a_plugin_in_an_archive_at_an_address_is_installed(
    weft: Weft, plugin: Plugin, states: States, tmp_path: Path, files: tuple[Path, str]
) -> None:
    folder, address = files
    with tarfile.open(folder / "weather.tar.gz", "w:gz") as archive:
        archive.add(plugin(of=str(tmp_path / "made")), arcname="weather-1.0")
    done = json.loads(weft("plugins", "install", f"{address}/weather.tar.gz", "--format", "json").stdout)
    sha256 = hashlib.sha256((folder / "weather.tar.gz").read_bytes()).hexdigest()
    assert done["from"] == {"url": f"{address}/weather.tar.gz", "commit": "", "sha256": sha256}
    assert states() == {"org.example.weather": "untrusted"}


def test_an_unsafe_archive_at_an_address_is_refused_and_leaves_nothing(
    weft: Weft, tmp_path: Path, user_dir: Path, files: tuple[Path, str]
) -> None:
    folder, address = files
    with tarfile.open(folder / "weather.tar.gz", "w:gz") as archive:
        link = tarfile.TarInfo("secret")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    done = weft("plugins", "install", f"{address}/weather.tar.gz")
    assert (done.returncode, "error[archive-link]" in done.stderr) == (3, True)
    assert f"{address}/weather.tar.gz" in done.stderr
    assert os.listdir(user_dir / "plugins") == []
    assert weft("plugins", "install", f"{address}/none.zip").returncode == 1


def test_a_repository_without_a_plugin_or_with_a_link_is_refused(weft: Weft, tmp_path: Path, user_dir: Path) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit({"README.md": b"hi"})
    done = weft("plugins", "install", f"git+{repository.url}")
    assert done.returncode == 1
    assert repository.url in done.stderr
    repository.commit({"clawft.plugin.json": b"{}", "x": ("120000", b"/etc")})
    done = weft("plugins", "install", f"git+{repository.url}")
    assert (done.returncode, "error[archive-link]" in done.stderr) == (3, True)
    assert os.listdir(user_dir / "plugins") == []


@pytest.mark.parametrize("source", ["word-count", "examples/plugins/word-cuont", "./x", "/nowhere/x", "~/x.zip"])
def test_what_could_be_a_path_is_not_looked_for_elsewhere(source: str, weft: Weft, project: Path) -> None:
    (project / "examples").mkdir()
    done = weft("plugins", "install", source)
    assert done.returncode == 1
    assert "There is no such folder or archive" in done.stderr


@pytest.mark.parametrize(
    ("source", "code", "exit_code"),
    [
        ("ext::sh -c x", "archive-missing", 1),
        ("git+ext::sh://x", "reference-unsafe", 3),
        ("https://example.org/somewhere", "plugin-source", 1),
        ("https://user:word@example.org/x.zip", "reference-credentials", 3),
        ("git@-oProxyCommand=x:y", "reference-unsafe", 3),
        ("nobody/repo#--upload-pack=x", "reference-unsafe", 3),
    ],
)
def test_an_address_that_is_none_of_a_plugin_is_refused(source: str, code: str, exit_code: int, weft: Weft) -> None:
    done = weft("plugins", "install", source)
    assert (done.returncode, f"error[{code}]" in done.stderr) == (exit_code, True), done.stderr
