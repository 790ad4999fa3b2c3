"""The lines about the hub: many clients at once, and installing from it."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hub_load import time_clients
from hub_world import ServedHub
from lines import TIMEOUT_S
from make_skills import wait_until_settled
from measure import Timed, best_ms
from report import Line

CLIENTS = 200
_LIMIT_CLIENTS = 3
_LIMIT_INSTALL = 2
_WEFT = os.path.join(sysconfig.get_path("scripts"), "weft")
_OPEN = "[hub.quota]\nreads_per_minute = 10000000\nwrites_per_minute = 10000000\n"
# What somebody would write who only wants the files: one client, one zip after the other, no check of anything.
_BARE_INSTALL = """
import io, json, sys, zipfile
from pathlib import Path
import httpx2
url, folder, slugs = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
with httpx2.Client(base_url=url, trust_env=False) as client:
    for slug in slugs:
        answer = client.get("/api/v1/download", params={"slug": slug})
        answer.raise_for_status()
        zipfile.ZipFile(io.BytesIO(answer.content)).extractall(folder / slug)
"""


def measure_hub(folder: Path, skills: int, rounds: int) -> list[Line]:
    """Both, on one hub that runs as a process of its own."""
    home = folder / "home"
    (home / ".clawft").mkdir(parents=True)
    (home / ".clawft" / "config.toml").write_text(_OPEN)
    slugs = [f"skill-{number}" for number in range(skills)]
    fill_hub(home, slugs)
    wait_until_settled()
    with _serve(home) as url:
        return [_measure_clients(home, url, slugs, rounds), _measure_install(folder, url, slugs, rounds)]


def fill_hub(home: Path, slugs: list[str]) -> None:
    from clawft.server.hub.store import HubStore

    store = HubStore.open_folder(str(home / ".clawft" / "hub"))
    hub = ServedHub("", store, home)
    steps = "\n".join(f"{number}. Look at part {number}, and write down what you see there." for number in range(40))
    for slug in slugs:
        text = (
            f"---\nname: {slug}\ndescription: Does {slug}, when somebody asks for {slug}.\n---\n\n# {slug}\n\n{steps}\n"
        )
        script = f"import json\n\n\ndef main() -> None:\n    print(json.dumps({{'skill': '{slug}'}}))\n\n\nmain()\n"
        files = {"SKILL.md": text, "scripts/run.py": script, "references/more.md": steps, "LICENSE": "MIT\n"}
        hub.put(f"bench/{slug}", files=files)
    store.close()


def _measure_clients(home: Path, url: str, slugs: list[str], rounds: int) -> Line:
    each = 5 if len(slugs) < 100 else 25
    paths = [f"/api/v1/skills/{slug}" for slug in slugs]
    with _bare(home / ".clawft" / "hub" / "hub.sqlite") as bare:
        for one in (url, bare):
            time_clients(one, paths, 10, 10)
        took, took_bare = best_ms(
            rounds,
            Timed(lambda: time_clients(url, paths, CLIENTS, each)),
            Timed(lambda: time_clients(bare, paths, CLIENTS, each)),
        )
    what = f"{CLIENTS} clients at once ask the hub on SQLite for {CLIENTS * each} skills, without an error"
    baseline = "a bare starlette endpoint that reads the same rows, on the same server"
    return Line("hub-200", what, baseline, took, took_bare, "ms", _LIMIT_CLIENTS)


def _measure_install(folder: Path, url: str, slugs: list[str], rounds: int) -> Line:
    user, target = folder / "user", folder / "unpacked"

    def fresh() -> None:
        shutil.rmtree(user, ignore_errors=True)
        (user / ".clawft").mkdir(parents=True)
        (user / ".clawft" / "config.toml").write_text(f'[registries.hub]\nurl = "{url}"\n')
        shutil.rmtree(target, ignore_errors=True)

    def install() -> None:
        _run(user, [_WEFT, "skills", "install", "--yes", "--format", "json", *(f"hub:{slug}" for slug in slugs)])

    def unpack() -> None:
        _run(user, [sys.executable, "-c", _BARE_INSTALL, url, str(target), json.dumps(slugs)])

    took, took_bare = best_ms(rounds, Timed(install, fresh), Timed(unpack, fresh))
    what = f"`weft skills install` of {len(slugs)} skills from the hub: digests, scan, lock and all"
    return Line("install-100", what, "httpx2 and zipfile for the same", took, took_bare, "ms", _LIMIT_INSTALL)


def _run(home: Path, words: list[str]) -> None:
    done = subprocess.run(words, env=_environ(home), cwd=home, timeout=TIMEOUT_S, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"error: {words[:4]} failed: {done.stderr[-2000:]}")


@contextmanager
def _serve(home: Path) -> Iterator[str]:
    words = [_WEFT, "hub", "serve", "--port", "0", "--quiet", "--format", "json"]
    with subprocess.Popen(words, env=_environ(home), cwd=home, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline() if process.stdout else "")["url"]
        finally:
            process.terminate()


@contextmanager
def _bare(database: Path) -> Iterator[str]:
    words = [sys.executable, str(Path(__file__).with_name("hub_bare.py")), str(database)]
    with subprocess.Popen(words, env=_environ(database.parent), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline() if process.stdout else '')}"
        finally:
            process.terminate()


def _environ(home: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
