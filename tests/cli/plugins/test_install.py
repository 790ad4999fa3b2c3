"""`weft plugins install` and `remove`: whole or not at all, and nothing outside the folder."""

import io
import json
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.install.archive.target import ArchiveLimits

Weft = Callable[..., subprocess.CompletedProcess[str]]
Plugin = Callable[..., Path]
States = Callable[[], dict[str, str]]


def pack_tar(folder: Path, target: Path) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        archive.add(folder, arcname=folder.name)
    return target


def pack_zip(folder: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return target


@pytest.mark.parametrize("pack", [pack_tar, pack_zip, lambda folder, _: folder], ids=["tar", "zip", "folder"])
def test_a_plugin_is_installed_and_waits(
    weft: Weft, plugin: Plugin, states: States, tmp_path: Path, pack: Callable[[Path, Path], Path]
) -> None:
    source = pack(plugin(of=str(tmp_path / "made")), tmp_path / "archive")
    tried = weft("plugins", "install", source, "--dry-run")
    assert (tried.stdout, states()) == ("Would be installed: org.example.weather 1.0.0\n", {})
    done = weft("plugins", "install", source)

    assert (done.returncode, done.stdout) == (0, "Installed: org.example.weather 1.0.0\n")
    assert done.stderr.endswith("Look at it, then: weft plugins enable org.example.weather\n")
    assert states() == {"org.example.weather": "untrusted"}


def test_an_upgrade_takes_the_place_of_the_old_one_and_tells_the_difference(
    weft: Weft, plugin: Plugin, states: States, user_dir: Path, tmp_path: Path
) -> None:
    plugin(permissions={"shell": True})
    weft("plugins", "enable", "weather", "--yes")
    new = plugin(of=str(tmp_path / "made"), version="2.0.0", permissions={"network": ["b.example"]})
    asked = weft("plugins", "install", new)

    assert asked.returncode == 3
    for line in ("org.example.weather 1.0.0 → 2.0.0", "  may reach b.example  NEW", "No longer: may start programs"):
        assert line in asked.stderr
    assert states() == {"org.example.weather": "ready"}
    done = json.loads(weft("plugins", "install", new, "--yes", "--format", "json").stdout)
    assert (done["installed"], done["previous_version"], done["new"]["network"]) == (True, "1.0.0", ["b.example"])
    assert states() == {"org.example.weather": "untrusted"}
    assert os.listdir(user_dir / "plugins") == ["weather"]  # where the old one was, and nothing is left beside it


def test_the_same_version_again_is_no_change_of_version(weft: Weft, plugin: Plugin, tmp_path: Path) -> None:
    plugin()
    done = weft("plugins", "install", plugin(of=str(tmp_path / "made")), "--dry-run")

    assert "org.example.weather 1.0.0, to " in done.stderr
    assert "→" not in done.stderr


def test_a_version_that_cannot_be_used_leaves_the_old_one_in_place(
    weft: Weft, plugin: Plugin, states: States, tmp_path: Path
) -> None:
    plugin()
    weft("plugins", "enable", "weather", "--yes")
    (plugin(of=str(tmp_path / "made")) / "clawft.plugin.json").write_text('{"id": "org.example.weather"}')
    done = weft("plugins", "install", pack_tar(tmp_path / "made" / "weather", tmp_path / "new.tar.gz"), "--yes")

    assert (done.returncode, "error[plugin-broken]" in done.stderr) == (1, True)
    assert states() == {"org.example.weather": "ready"}


def test_a_terminal_goes_on_to_look_at_it(
    weft: Weft, plugin: Plugin, states: States, tmp_path: Path, answer: Callable[..., None]
) -> None:
    answer("y", "y")
    assert weft("plugins", "install", plugin(of=str(tmp_path / "made"))).returncode == 0
    assert states() == {"org.example.weather": "ready"}


def _tar(target: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(target, "w:gz") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target


def _info(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ([(_info("../out.txt"), b"x")], "error[archive-path]: '../out.txt' is no path below a folder"),
        ([(_info("/out.txt"), b"x")], "error[archive-path]"),
        ([(_info("a\\..\\..\\out.txt"), b"x")], "error[archive-path]"),
        ([(_info("a", tarfile.SYMTYPE, "/etc"), b""), (_info("a/out.txt"), b"x")], "[archive-link]: 'a' is a link"),
        ([(_info("a", tarfile.LNKTYPE, "/etc/passwd"), b"")], "error[archive-link]"),
        ([(_info("a", tarfile.FIFOTYPE), b"")], "error[archive-device]: 'a' is no file"),
        ([(_info("a"), b"x"), (_info("a"), b"y")], "error[archive-duplicate]: It has 'a' twice"),
        ([(_info("a"), b"x"), (_info("a/b"), b"y")], "error[archive-collision]: 'a' is a file and a folder"),
        ([(_info(f"f{number}"), b"") for number in range(51)], "error[archive-too-many]: It has more than 50 files"),
    ],
    ids=["above", "absolute", "backslashes", "link", "hard-link", "pipe", "twice", "file-as-folder", "many"],
)
def test_an_archive_that_means_harm_is_refused_whole(
    weft: Weft,
    tmp_path: Path,
    user_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    members: list[tuple[tarfile.TarInfo, bytes]],
    said: str,
) -> None:
    monkeypatch.setattr("clawft.plugins.folder.PLUGIN", ArchiveLimits(50, 1 << 20, 1 << 20))
    done = weft("plugins", "install", _tar(tmp_path / "a.tar.gz", *members))

    assert done.returncode == 3
    assert said in done.stderr
    assert os.listdir(user_dir / "plugins") == []
    assert not list(tmp_path.rglob("out.txt"))


def test_an_archive_that_unpacks_for_ever_is_refused(weft: Weft, tmp_path: Path, user_dir: Path) -> None:
    bomb = tarfile.TarInfo("name")
    bomb.type, bomb.size = b"L", 1 << 40  # a long name: read whole before anything is told of it
    import gzip

    with gzip.open(tmp_path / "a.tar.gz", "wb", compresslevel=1) as file:
        file.write(bomb.tobuf(tarfile.GNU_FORMAT))
        for _ in range(24):
            file.write(bytes(1 << 20))
    done = weft("plugins", "install", tmp_path / "a.tar.gz")

    assert done.returncode == 3
    assert "error[archive-bomb]: Its headers are larger than any name" in done.stderr
    assert os.listdir(user_dir / "plugins") == []


def test_a_folder_with_a_link_or_without_a_manifest_is_not_installed(
    weft: Weft, plugin: Plugin, tmp_path: Path, user_dir: Path
) -> None:
    folder = plugin(of=str(tmp_path / "made"))
    (folder / "key").symlink_to("/etc/passwd")
    assert "error[archive-link]: 'key' is a link" in weft("plugins", "install", folder).stderr
    (tmp_path / "empty").mkdir()
    done = weft("plugins", "install", tmp_path / "empty")
    assert (done.returncode, "error[plugin-broken]" in done.stderr) == (1, True)
    (tmp_path / "text").write_text("no archive")
    for source, code in ((tmp_path / "nothing.zip", "missing"), (tmp_path / "text", "unknown")):
        done = weft("plugins", "install", source)
        assert (done.returncode, f"error[archive-{code}]" in done.stderr) == (1, True)
    assert os.listdir(user_dir / "plugins") == []


def test_a_folder_that_holds_all_plugins_is_not_copied_into_itself(weft: Weft, plugin: Plugin, user_dir: Path) -> None:
    plugin(of=str(user_dir.parent.parent), called="home")
    done = weft("plugins", "install", user_dir.parent)

    assert (done.returncode, "The folder holds that of all plugins" in done.stderr) == (3, True)
    assert os.listdir(user_dir / "plugins") == []


def test_an_id_that_leads_elsewhere_is_not_installed(weft: Weft, tmp_path: Path, user_dir: Path) -> None:
    folder = tmp_path / "made" / ".claude-plugin"
    folder.mkdir(parents=True)
    (folder / "plugin.json").write_text(json.dumps({"name": "../../evil", "version": "1.0.0"}))

    assert weft("plugins", "install", folder.parent).returncode == 1
    assert os.listdir(user_dir / "plugins") == []


def test_what_no_digest_covers_is_left_behind(weft: Weft, plugin: Plugin, tmp_path: Path, user_dir: Path) -> None:
    folder = plugin(of=str(tmp_path / "made"))
    for name in (".git", "__pycache__"):
        (folder / name).mkdir()
        (folder / name / "x").write_text("x")
    weft("plugins", "install", folder)

    installed = user_dir / "plugins" / "org.example.weather"
    assert sorted(os.listdir(installed)) == ["clawft.plugin.json", "plugin.py"]


def test_remove_takes_the_folder_and_the_grant_and_leaves_the_data(
    weft: Weft, plugin: Plugin, states: States, user_dir: Path
) -> None:
    folder = plugin()
    data = user_dir / "plugin-data" / "org.example.weather"
    data.mkdir(parents=True)
    weft("plugins", "enable", "weather", "--yes")
    tried = weft("plugins", "remove", "weather", "--dry-run")
    assert tried.stderr == ("Goes: ~/.clawft/plugins/weather\nStays: ~/.clawft/plugin-data/org.example.weather\n")
    assert weft("plugins", "remove", "weather").returncode == 3
    assert states() == {"org.example.weather": "ready"}
    assert weft("plugins", "remove", "weather", "--yes").returncode == 0
    assert (folder.exists(), data.exists(), states()) == (False, True, {})
    plugin()
    assert states() == {"org.example.weather": "untrusted"}  # the same again is asked for again
    assert weft("plugins", "remove", "weather", "--data", "--yes").returncode == 0
    assert not data.exists()


def test_data_that_is_nested_deeper_than_any_path_goes_too(weft: Weft, plugin: Plugin, user_dir: Path) -> None:
    plugin()
    data = user_dir / "plugin-data" / "org.example.weather"
    data.mkdir(parents=True)
    folder = os.open(data, os.O_RDONLY)
    for _ in range(1100):  # as a plugin can do that goes down step by step
        os.mkdir("deep", dir_fd=folder)
        inner = os.open("deep", os.O_RDONLY, dir_fd=folder)
        os.symlink(user_dir, "link", dir_fd=inner)
        os.close(folder)
        folder = inner
    os.close(folder)
    assert weft("plugins", "remove", "weather", "--data", "--yes").returncode == 0
    assert os.listdir(user_dir / "plugin-data") == os.listdir(user_dir / "plugins") == []


def test_a_plugin_of_folders_without_end_is_refused(weft: Weft, plugin: Plugin) -> None:
    folder = plugin()
    os.makedirs(folder / "/".join("d" * 70))
    done = weft("plugins", "enable", "weather", "--yes")
    assert done.returncode == 3
    assert "more than 64 levels deep" in done.stderr


def test_what_is_not_the_users_is_not_removed(weft: Weft, plugin: Plugin, tmp_path: Path, user_dir: Path) -> None:
    folder = plugin(of="project")
    done = weft("plugins", "remove", "weather", "--yes")

    assert done.returncode == 3
    assert "hint: It belongs to the project. To leave it out: weft plugins disable org.example.weather" in done.stderr
    assert folder.exists()
    elsewhere = plugin("mine", of=str(tmp_path / "elsewhere"))
    (user_dir / "plugins").mkdir()
    (user_dir / "plugins" / "mine").symlink_to(elsewhere)
    assert weft("plugins", "remove", "mine", "--yes").returncode == 0
    assert (elsewhere.exists(), (user_dir / "plugins" / "mine").is_symlink()) == (True, False)


def test_a_plugin_of_a_python_package_is_granted_and_left_to_pip(
    weft: Weft, plugin: Plugin, states: States, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    plugin(of=str(packages))
    (packages / "weather-1.0.0.dist-info").mkdir()
    entry = "[clawft.plugins]\nweather = weather.plugin:Plugin\n"
    (packages / "weather-1.0.0.dist-info" / "entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(packages)

    assert states() == {"org.example.weather": "untrusted"}
    assert weft("plugins", "enable", "weather", "--yes").returncode == 0
    assert states() == {"org.example.weather": "ready"}
    done = weft("plugins", "remove", "weather", "--yes")
    assert (done.returncode, "hint: Run: pip uninstall" in done.stderr) == (3, True)
    assert states() == {"org.example.weather": "ready"}
