"""A grant that is narrower than what a plugin asks for is all that it has, wherever links lead."""

import pytest

from clawft.contracts import Permissions, PluginError
from clawft.plugins.host import Plugins
from yard import ID, Yard

pytestmark = pytest.mark.anyio

ATTEMPT = """
try:
    return repr(eval(arguments["code"]))
except Exception as error:
    return f"{type(error).__name__}: {error}"
"""


async def attempt(plugins: Plugins, code: str) -> str:
    output = await plugins.call(ID, "execute_tool", name="try_it", arguments={"code": code})
    return str(output.content)


async def test_a_plugin_reaches_the_part_that_was_granted_and_nothing_around_it(yard: Yard) -> None:
    work, other = yard.home / "Mail" / "work", yard.home / "Mail" / "other"
    for folder in (work, other):
        folder.mkdir(parents=True)
        (folder / "mail").write_text("mail")
    grant = Permissions(("~/Mail/work:ro",), ("127.0.0.1:9",))
    yard.add_tool(ATTEMPT, grant=grant, permissions={"filesystem": ["~/Mail"], "network": ["*:9", "*:10"]})
    async with yard.open() as plugins:
        assert await attempt(plugins, f"open({str(work / 'mail')!r}).read()") == "'mail'"
        assert "Error" in await attempt(plugins, f"open({str(work / 'mail')!r}, 'w').write('changed')")
        assert "Error" in await attempt(plugins, f"open({str(other / 'mail')!r}).read()")
        assert "not among those" not in await attempt(plugins, "self.host.connect('127.0.0.1', 9)")  # nobody listens
        for place in ("'localhost', 9", "'127.0.0.1', 10"):
            assert "not among those" in await attempt(plugins, f"self.host.connect({place})")
    assert (work / "mail").read_text() == "mail"


@pytest.mark.parametrize("leads", ["../secret", "Mail/.ssh", ".clawft", "."])
async def test_a_part_that_is_a_link_to_something_else_is_not_opened(yard: Yard, leads: str) -> None:
    for folder in ("Mail/.ssh", "secret"):
        (yard.home / folder).mkdir(parents=True)
    (yard.home / "Mail" / "work").symlink_to((yard.home / leads).resolve())
    yard.add_tool(ATTEMPT, grant=Permissions(("~/Mail/work",)), permissions={"filesystem": ["~/Mail"]})
    async with yard.open() as plugins:
        with pytest.raises(PluginError) as failed:
            await attempt(plugins, "1")
    assert failed.value.code == "plugin-permissions"


async def test_a_part_of_home_that_steers_programs_is_not_opened_by_another_name_of_home(yard: Yard) -> None:
    (yard.home / ".rbenv").mkdir()
    asked, part = str(yard.home), f"{yard.home}/.rbenv"
    yard.add_tool(ATTEMPT, grant=Permissions((part,)), permissions={"filesystem": [asked]})
    async with yard.open() as plugins:
        with pytest.raises(PluginError) as failed:
            await attempt(plugins, "1")
    assert failed.value.code == "plugin-permissions"


@pytest.mark.parametrize(
    ("asked", "link", "leads"),
    [
        (["docs:ro"], "project/docs", "home/papers"),
        (["./out"], "project/out", "project/.git/hooks"),
        (["~/notes:ro"], "home/notes", "home/.ssh"),
        (["~/Mail", "~/Mail/old:ro"], "home/Mail/old", "home/papers"),
        (["/proc:ro"], "", ""),
    ],
)
async def test_no_link_makes_more_of_a_path_than_what_was_shown(
    yard: Yard, asked: list[str], link: str, leads: str
) -> None:
    base = yard.home.parent
    for folder in ("home/papers", "home/.ssh", "home/Mail", "project/.git/hooks"):
        (base / folder).mkdir(parents=True)
    if link:
        (base / link).symlink_to(base / leads)
    yard.add_tool(ATTEMPT, permissions={"filesystem": asked})
    async with yard.open() as plugins:
        with pytest.raises(PluginError) as failed:
            await attempt(plugins, "1")
    assert failed.value.code == "plugin-permissions"


async def test_a_link_of_the_users_own_is_followed(yard: Yard) -> None:
    (yard.home.parent / "disk").mkdir()
    (yard.home.parent / "disk" / "note").write_text("note")
    (yard.home / "notes").symlink_to(yard.home.parent / "disk")
    yard.add_tool(ATTEMPT, permissions={"filesystem": ["~/notes:ro"]})
    async with yard.open() as plugins:
        assert await attempt(plugins, f"open({str(yard.home.parent / 'disk' / 'note')!r}).read()") == "'note'"
