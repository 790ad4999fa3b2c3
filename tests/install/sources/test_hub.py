"""Our own hub, asked in every way it can be: the real server on loopback."""

import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from clawft.config.registries import HubSettings, RegistrySettings
from clawft.config.secret import SecretRef
from clawft.config.tools import WebSettings
from clawft.errors import ClawftError, NotFound
from clawft.install.lockfile.model import SkillOrigin, SourceKind
from clawft.install.sources.http import SourceConnection
from clawft.install.sources.model import AvailableVersion, ResolvedSkill, SkillReference
from clawft.install.sources.selection import SkillSources, search_registries
from clawft.sandbox.addresses import FetchError
from clawft.skills.discovery.digest import compute_digest
from clawft.trust.programs import HostPrograms
from hub_world import OPEN, ServedHub, serve_hub

pytestmark = pytest.mark.anyio
SCRIPT = {"scripts/run.sh": "#!/bin/sh\necho hi\n"}
KINDS: tuple[SourceKind, ...] = ("clawhub", "well-known", "contract")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[ServedHub]:
    with serve_hub(tmp_path / "served") as served:
        yield served


def known(hub: ServedHub, token: str = "") -> dict[str, RegistrySettings]:
    secret = SecretRef(env="TOKEN") if token else None
    return {
        "clawhub": RegistrySettings(hub.url, token=secret),
        "well-known": RegistrySettings(hub.url, kind="well-known", token=secret),
        "contract": RegistrySettings(f"{hub.url}/api/v1", kind="contract", token=secret),
    }


async def resolve(sources: SkillSources, kind: SourceKind, **asked: str) -> ResolvedSkill:
    reference = SkillReference("", kind, registry=kind, slug="notes", **asked)
    return (await sources.find(reference).resolve(reference))[0]


async def test_every_way_brings_the_same_skill(hub: ServedHub, tmp_path: Path) -> None:
    hub.put("ann/notes", "1.0.0", SCRIPT)
    newest = hub.put("ann/notes", "1.1.0", SCRIPT | {"more.md": "More.\n"})

    async with SkillSources(known(hub), WebSettings(), HostPrograms({})) as sources:
        for kind in KINDS:
            found = await resolve(sources, kind)
            place = tmp_path / kind
            place.mkdir()
            await sources.registry(kind).download(found, str(place))
            assert (found.version, compute_digest(str(place)).value) == ("1.1.0", newest.digest)


async def test_a_version_is_had_exactly_and_the_newest_is_known(hub: ServedHub, tmp_path: Path) -> None:
    first = hub.put("ann/notes", "1.0.0", SCRIPT)
    hub.put("ann/notes", "2.0.0")
    place = tmp_path / "place"
    place.mkdir()
    installed = AvailableVersion(SkillOrigin("clawhub", hub.url, "ann", "notes"), "1.0.0", digest=first.digest)

    async with SkillSources(known(hub), WebSettings(), HostPrograms({})) as sources:
        source = sources.find(installed.origin)
        exact = await source.renew(installed, exact=True)
        await source.download(exact, str(place))
        assert (await source.renew(installed)).version == "2.0.0"

    assert (place / "scripts/run.sh").read_text() == SCRIPT["scripts/run.sh"]
    assert exact.archive


async def test_a_name_that_two_have_lists_them(hub: ServedHub) -> None:
    hub.put("ann/notes")
    hub.put("bob/notes")

    async with SkillSources(known(hub), WebSettings(), HostPrograms({})) as sources:
        for kind, before in (("clawhub", ""), ("contract", "contract:")):
            with pytest.raises(ClawftError) as caught:
                await resolve(sources, kind)  # type: ignore[arg-type]
            assert caught.value.code == "source-ambiguous"
            assert caught.value.hint == f"Name one of them: {before}@ann/notes, {before}@bob/notes"
        assert (await resolve(sources, "clawhub", owner="bob")).origin.owner == "bob"


async def test_verdicts_come_with_a_search_and_again_later(hub: ServedHub) -> None:
    hub.put("ann/notes", verdict="suspicious", reason="suspicious.dangerous_exec")

    async with SkillSources(known(hub), WebSettings(), HostPrograms({})) as sources:
        searched = await search_registries(sources, KINDS, "notes", 10)
        found = await resolve(sources, "clawhub")
        said = await sources.registry("clawhub").check([AvailableVersion(found.origin, found.version)])

    assert searched.failed == {}
    assert {one.registry for one in searched.hits} == set(KINDS)
    assert [one.verdict.status for one in searched.hits if one.verdict] == ["suspicious"]
    assert [one.status if one else None for one in said] == ["suspicious"]
    assert found.verdict is not None
    assert found.verdict.status == "suspicious"


async def test_a_hub_that_is_not_public_wants_a_token(tmp_path: Path) -> None:
    with serve_hub(tmp_path / "served", HubSettings(public_read=False, quota=OPEN)) as hub:
        hub.put("ann/notes")
        token = hub.token("ann", "read")
        async with SkillSources(known(hub), WebSettings(), HostPrograms({})) as sources:
            with pytest.raises(ClawftError) as caught:
                await resolve(sources, "clawhub")
        async with SkillSources(known(hub, token), WebSettings(), HostPrograms({"TOKEN": token})) as sources:
            found = [(await resolve(sources, kind)).version for kind in KINDS]

    assert (caught.value.code, caught.value.hint) == (
        "source-denied",
        "Give it one: weft registries token clawhub",
    )
    assert found == ["1.0.0", "1.0.0", "1.0.0"]


async def test_a_version_that_was_taken_back_is_given_only_to_who_names_it_and_said_so(hub: ServedHub) -> None:
    hub.put("ann/notes", "1.0.0")
    kept = hub.put("ann/notes", "2.0.0")
    hub.store.yank(kept.skill, kept.version, "it\x1b[2J leaks")

    async with SkillSources(known(hub), WebSettings(), HostPrograms({})) as sources:
        newest = await resolve(sources, "clawhub")
        named = await resolve(sources, "clawhub", version="2.0.0")

    assert (newest.version, newest.notes) == ("1.0.0", ())
    assert [one.code for one in named.notes] == ["source-yanked"]
    assert "it [2J leaks" in named.notes[0].message


async def test_a_version_that_is_not_there_is_told_with_those_that_are(hub: ServedHub) -> None:
    hub.put("ann/notes", "1.0.0")
    hub.put("ann/notes", "1.1.0", SCRIPT)

    async with SkillSources(known(hub), WebSettings(), HostPrograms({})) as sources:
        with pytest.raises(NotFound, match=r"has .@ann/notes., but not its version 9\.9\.9") as caught:
            await resolve(sources, "clawhub", owner="ann", version="9.9.9")

    assert caught.value.hint == "There are: 1.1.0, 1.0.0"


async def test_a_registry_that_is_down_is_named_with_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"

    async with SkillSources({"team": RegistrySettings(url)}, WebSettings(), HostPrograms({})) as sources:
        reference = SkillReference("", "clawhub", registry="team", slug="notes")
        with pytest.raises(ClawftError, match=f"'team' \\({url}\\) does not answer") as caught:
            await sources.find(reference).resolve(reference)

    assert (caught.value.code, "weft registries list" in caught.value.hint) == ("fetch-failed", True)


async def test_a_name_without_an_address_asks_for_a_network() -> None:
    async def nowhere(host: str, port: int) -> tuple[str, ...]:
        raise FetchError("fetch-unresolved", f"The host '{host}' has no address")

    fetching = SourceConnection("https://clawhub.ai", WebSettings(), name="clawhub", resolve=nowhere)
    with pytest.raises(ClawftError) as caught:
        await fetching.read("https://clawhub.ai/x")
    await fetching.aclose()

    assert caught.value.hint.startswith("Is there a network?")
    assert caught.value.hint.endswith("weft registries remove clawhub")


async def test_what_is_not_there_is_told_with_its_address(hub: ServedHub) -> None:
    fetching = SourceConnection(hub.url, WebSettings())
    with pytest.raises(NotFound) as caught:
        await fetching.read(f"{hub.url}/api/v1/nothing")
    await fetching.aclose()

    assert caught.value.diagnostic.path == f"{hub.url}/api/v1/nothing"


async def test_many_are_asked_for_in_few_requests_and_each_is_told_as_if_it_were_alone(tmp_path: Path) -> None:
    lines: list[str] = []
    with serve_hub(tmp_path / "served", log=lambda line, _: lines.append(line)) as served:
        names = [f"notes-{number}" for number in range(30)]
        for name in names:
            served.put(f"ann/{name}")
        served.put("bob/notes-3")
        found: dict[str, ResolvedSkill] = {}
        told: dict[str, ClawftError] = {}

        async def look(sources: SkillSources, name: str) -> None:
            reference = SkillReference("", "clawhub", registry="clawhub", slug=name)
            try:
                (found[name],) = await sources.find(reference).resolve(reference)
            except ClawftError as error:
                told[name] = error

        async with (
            SkillSources(known(served), WebSettings(), HostPrograms({})) as sources,
            anyio.create_task_group() as group,
        ):
            for name in (*names, "nowhere"):
                group.start_soon(look, sources, name)
    assert {name: one.origin.slug for name, one in found.items()} == {name: name for name in names if name != "notes-3"}
    assert all(one.archive and one.files for one in found.values())
    assert {name: one.code for name, one in told.items()} == {
        "notes-3": "source-ambiguous",
        "nowhere": "source-not-found",
    }
    assert sum("/verify" in line for line in lines) < 8, lines
