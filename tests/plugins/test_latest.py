"""What the user decided meanwhile is heard of, also where it could not be read at first."""

from pathlib import Path

import pytest

from clawft.config.extensions import PluginsSettings
from clawft.errors import ClawftError
from clawft.plugins.host import Decided, PluginGrantWatch


def test_a_change_that_could_not_be_read_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "grants.json"
    answers: list[Decided | ClawftError] = [((), PluginsSettings()), ClawftError("config-damaged", "Not now")]

    def load() -> Decided:
        answer = answers.pop()
        if isinstance(answer, ClawftError):
            raise answer
        return answer

    latest = PluginGrantWatch((str(path),), load)
    assert latest.look() is None
    path.write_text("revoked")
    with pytest.raises(ClawftError):
        latest.look()
    assert latest.look() == ((), PluginsSettings())  # what was taken back is not in use for ever
    assert latest.look() is None
