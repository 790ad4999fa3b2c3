"""The line of `weft skills install`: a hundred skills from a hub on loopback, as a command."""

import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clawft.hub.store import HubStore
from hub_world import ServedHub
from measure import Timed, best_ms
from report import Line

TIMEOUT_S = 120
LIMIT = 2.0
_WORDS = ("add", "sort", "count", "list", "join", "split", "name", "value", "table", "report", "field", "check", "line")
_PARTS = ("references/guide.md", "scripts/run.py", "README.md")
# What somebody would write who wants the files and asks nothing: one connection, one request for each, unpacked.
_BARE = """
import io, sys, zipfile, httpx2
url, folder, *slugs = sys.argv[1:]
with httpx2.Client(trust_env=False) as client:
    for slug in slugs:
        got = client.get(f"{url}/api/v1/download", params={"slug": slug, "version": "1.0.0"})
        got.raise_for_status()
        zipfile.ZipFile(io.BytesIO(got.content)).extractall(f"{folder}/{slug}")
"""


def measure_install(folder: Path, skills: int, rounds: int) -> Line:
    """Ours resolves, checks every digest, scans, reviews, locks and approves them too. `folder` is made."""
    home = folder / "home"
    slugs = fill_hub(folder / "hub", skills)
    (home / ".clawft").mkdir(parents=True)
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")
    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}

    def run(*words: str) -> None:
        subprocess.run(words, env=environ, cwd=home, check=True, timeout=TIMEOUT_S, capture_output=True)

    def install() -> None:
        run(weft, "skills", "install", "--yes", *slugs)

    def bare() -> None:
        run(sys.executable, "-c", _BARE, url, str(folder / "bare"), *slugs)

    def clear() -> None:
        for name in os.listdir(home / ".clawft"):
            if name != "config.toml":
                place = home / ".clawft" / name
                shutil.rmtree(place) if place.is_dir() else place.unlink()
        shutil.rmtree(folder / "bare", ignore_errors=True)

    with serve(folder / "hub", environ) as url:
        (home / ".clawft" / "config.toml").write_text(f'[registries.hub]\nurl = "{url}"\ndefault = true\n')
        ours, theirs = best_ms(rounds, Timed(install, before=clear), Timed(bare, before=clear))
    what = f"`weft skills install` of {skills} skills from a hub on loopback, as a process: checked, scanned and locked"
    return Line(
        "install", what, "httpx2 and zipfile download and unpack the same, as a process", ours, theirs, "ms", LIMIT
    )


def fill_hub(folder: Path, skills: int) -> list[str]:
    """Skills of some texts and a script, as most are; their slugs."""
    draw = random.Random(0)
    folder.mkdir(parents=True)
    store = HubStore.open_folder(str(folder))
    hub = ServedHub("", store, folder.parent)
    slugs = [f"skill-{number:03}" for number in range(skills)]
    for number, slug in enumerate(slugs):
        files = {path: _write(draw, path) for path in _PARTS[: number % 4]}
        hub.put(f"alice/{slug}", files=files)
    store.close()
    return slugs


def _write(draw: random.Random, path: str) -> str:
    lines = [" ".join(draw.choices(_WORDS, k=12)) for _ in range(draw.randint(20, 120))]
    return "\n".join(f"# {line}" for line in lines) + "\nprint('done')\n" if path.endswith(".py") else "\n".join(lines)


@contextmanager
def serve(folder: Path, environ: dict[str, str]) -> Iterator[str]:
    """`weft hub serve` of a folder, in a process of its own; its address."""
    weft = os.path.join(sysconfig.get_path("scripts"), "weft")
    words = [weft, "hub", "serve", "--folder", str(folder), "--port", "0", "--format", "json", "--quiet"]
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield str(json.loads(server.stdout.readline())["url"])
        finally:
            server.terminate()
            server.wait(20)
