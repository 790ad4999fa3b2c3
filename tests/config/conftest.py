"""What tests of the config share: a user's folder and a project to put files into."""

from pathlib import Path

import pytest

from clawft.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    user, project = tmp_path / "home" / ".clawft", tmp_path / "project"
    user.mkdir(parents=True)
    (project / ".clawft").mkdir(parents=True)
    return Workspace(str(tmp_path / "home"), str(user), str(project), str(project), marked=True)
