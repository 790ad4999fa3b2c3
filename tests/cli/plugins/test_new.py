"""`weft plugins new`: what it makes passes its own tests, and can be put into use at once."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import clawft.plugins.folder
from clawft.plugins.folder import KINDS

Weft = Callable[..., subprocess.CompletedProcess[str]]
States = Callable[[], dict[str, str]]


def test_new_plugins_of_every_kind_pass_their_own_tests(weft: Weft, project: Path, child_env: dict[str, str]) -> None:
    for kind in KINDS:
        made = json.loads(weft("plugins", "new", f"my-{kind}", "--kind", kind, "--format", "json").stdout)
        assert (made["id"], made["path"]) == (f"local.my-{kind}", str(project / f"my-{kind}"))
    folders = [f"my-{kind}" for kind in KINDS]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *folders]
    done = subprocess.run(command, cwd=project, env=child_env, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_is_clean_and_can_be_put_into_use(weft: Weft, states: States, kind: str) -> None:
    assert weft("plugins", "new", "mine", "--kind", kind, "--id", "org.example.mine").returncode == 0
    assert weft("plugins", "install", "mine").returncode == 0
    done = weft("plugins", "enable", "mine", "--yes")

    assert "Verdict: clean" in done.stderr
    assert "Asks for: nothing beside its own folder" in done.stderr
    assert states() == {"org.example.mine": "ready"}
    shown = weft("plugins", "show", "mine").stdout
    assert ("Component: plugin.wat, " in shown) == (kind == "wasm")


def test_nothing_is_written_over_and_no_name_leads_elsewhere(weft: Weft, project: Path) -> None:
    (project / "mine").mkdir()
    assert weft("plugins", "new", "mine").returncode == 3
    for name in ("../out", "/tmp/out", "Mine", "a--b", "-a", "a_b", ""):
        assert weft("plugins", "new", "--", name).returncode == 1
    bad = weft("plugins", "new", "other", "--id", "no-dots")
    assert (bad.returncode, "error[plugin-broken]" in bad.stderr) == (1, True)
    assert [one.name for one in project.iterdir()] == ["mine"]


def test_the_component_of_the_template_was_built_from_its_source() -> None:
    source = Path(clawft.plugins.folder.__file__).parent / "templates" / "wasm" / "src" / "plugin.c"

    built = "d7bc9de88136a685da68a84922a0a1b9397266aff30e6ace0bf91aed50236133"
    assert hashlib.sha256(source.read_bytes()).hexdigest() == built, "Build plugin.wat anew, then write its digest here"
