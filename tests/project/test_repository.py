"""What the repository as a whole may not contain."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_OURS = {".git", ".venv", ".cache", ".hypothesis", ".import_linter_cache", "__pycache__", "build", "dist"}
# Written in parts, for this file is searched too.
INDEX_HOSTS = ("pypi" + ".org", "pypi" + ".python.org", "python" + "hosted.org", "npm" + "js.org")


def files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_symlink():
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and path.name not in NOT_OURS:
            yield from files(path)


def test_no_file_names_the_host_of_a_package_index() -> None:
    found = []
    for path in files(ROOT):
        text = path.read_bytes().lower()
        found += [f"{path.relative_to(ROOT)}: {host}" for host in INDEX_HOSTS if host.encode() in text]
    assert found == []
