"""What tests of `weft hooks` share: hooks to speak of."""

from collections.abc import Callable
from pathlib import Path

import pytest

Hook = Callable[..., Path]


@pytest.fixture
def user_dir(tmp_path: Path) -> Path:
    """The user's folder, whose config has no skill scanned: what is reviewed is scanned all the same."""
    folder = tmp_path / "home" / ".clawft"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("skills.security.scan_on_load = false\n")
    return folder


@pytest.fixture
def hook(user_dir: Path, project: Path) -> Hook:
    """Write a hook: the user's own, or with `of="project"` the project's."""

    def write(name: str, code: str = "", *, of: str = "user", more: str = "", events: str = "tool:before") -> Path:
        base = {"user": user_dir / "hooks", "project": project / ".clawft" / "hooks"}.get(of) or Path(of)
        folder = base / name
        folder.mkdir(parents=True, exist_ok=True)
        metadata = f"{{openclaw: {{events: [{events}]{more}}}}}"
        (folder / "HOOK.md").write_text(f"---\nname: {name}\ndescription: Does it.\nmetadata: {metadata}\n---\n")
        (folder / "handler.ts").write_text(f"export default async (event: any) => {{ {code} }};\n")
        return folder

    return write
