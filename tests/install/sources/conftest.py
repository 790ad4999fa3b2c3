"""What tests of sources share: a server of this machine that answers as it is told to, and a registry on it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from clawft.config.registries import RegistrySettings
from clawft.config.tools import WebSettings
from clawft.install.sources.selection import SkillSources
from clawft.trust.programs import HostPrograms
from scripted_site import ScriptedRegistry, ScriptedSite


@pytest.fixture
def hostile() -> Iterator[ScriptedSite]:
    """A server that does as each test says."""
    with ScriptedSite() as site:
        yield site


@pytest.fixture
def registry(hostile: ScriptedSite) -> ScriptedRegistry:
    """A registry that has nothing yet."""
    return ScriptedRegistry(hostile)


@pytest.fixture
async def sources(hostile: ScriptedSite) -> AsyncIterator[SkillSources]:
    """The server as the registry `hub`, asked with a token, and as one of each other kind."""
    known = {
        "hub": RegistrySettings(hostile.url),
        "plain": RegistrySettings(f"{hostile.url}/plain", kind="contract"),
        "listed": RegistrySettings(f"{hostile.url}/site", kind="well-known"),
    }
    async with SkillSources(known, WebSettings(timeout_s=5), HostPrograms({})) as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty folder, for what is downloaded."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder
