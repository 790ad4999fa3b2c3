"""Skills with `execution: native`: the plugin that brings one does its tools, and nobody else's are done."""

import json
from pathlib import Path

import pytest

from clawft.app.app import open_app
from clawft.app.plugin_grants import grant_plugin, open_plugin_review
from clawft.app.plugins import find_plugin, load_plugin_statuses
from clawft.messages import Noticed
from programs import Person, audited, results, tool_names
from wasm_guests import ECHO, make_guest
from wire import call, say
from world import World, only

pytestmark = pytest.mark.anyio
ID = "org.example.atlas"
LOAD = call("Skill", {"name": "maps"})
CODE = """
class Maps:
    metadata = SkillMetadata(name="maps", description="d", execution="native")
    prompt_text = ""

    def tool_schemas(self):
        return []

    def execute_tool(self, name, arguments):
        if arguments.get("city") == "nowhere":
            raise PluginError("There is no such city")
        return {"tool": name, **arguments}


class Plugin(Plugin):
    def parts(self):
        return (self, Maps())

    def execute_tool(self, name, arguments):
        return "of the plugin"
"""
SKILL = """---
name: {name}
description: Knows places.
execution: native
tools:
  - name: locate
    parameters: {{properties: {{city: {{type: string}}}}}}
---

Use locate.
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.config = "[skills.security]\nscan_on_load = false\n"
    return world


def add_plugin(world: World, *skills: str, component: str = "") -> None:
    """A plugin that brings skills, looked at and granted: in Python, or a component."""
    folder = world.user_dir / "plugins" / ID
    for name in skills:
        (folder / "skills" / name).mkdir(parents=True)
        (folder / "skills" / name / "SKILL.md").write_text(SKILL.format(name=name))
    told = {"id": ID, "name": "Atlas", "version": "1.0.0", "capabilities": ["skill"], "skill_dirs": ["skills"]}
    code = {"wasm_module": "atlas.wat"} if component else {"python": "plugin:Plugin"}
    (folder / "clawft.plugin.json").write_text(json.dumps(told | code))
    name, text = ("atlas.wat", component) if component else ("plugin.py", f"from clawft.contracts import *\n{CODE}")
    (folder / name).write_text(text)
    app = open_app(world.environ, str(world.project))
    review = open_plugin_review(app).review(find_plugin(load_plugin_statuses(app), ID).found)
    assert grant_plugin(app, review, review.asked) == ()


async def test_its_plugin_does_the_tools_of_a_skill_once_a_person_agrees(world: World) -> None:
    add_plugin(world, "maps")
    world.replies = [LOAD, call("locate", {"city": "Oslo"}), call("locate", {"city": "nowhere"}), say("x")]
    person = Person()
    done, failed = results(await world.run(approve=person), "locate")
    assert json.loads(done["text"]) == {"tool": "locate", "city": "Oslo"}
    assert failed["error"] == {"code": "EXECUTION_ERROR", "message": "There is no such city"}
    question, reason = person.asked[0]
    assert question.startswith(
        f"Run the tool 'locate' (plugin:{ID} locate) of the skill 'maps' (by the plugin '{ID}'; "
    )
    assert reason == 'it is given {"city": "Oslo"}'
    first, _ = audited(world)
    assert (first["subject"], first["decision"], first["skill"]) == (f"plugin:{ID} locate", "allowed", "maps")


async def test_a_component_does_the_tools_of_its_skills_by_name(world: World) -> None:
    add_plugin(world, "maps", component=make_guest(ECHO, id=ID))
    world.replies = [LOAD, call("locate", {"city": "Oslo"}), say("x")]
    (done,) = results(await world.run(approve=Person()), "locate")
    assert json.loads(done["text"]) == {"city": "Oslo"}


async def test_without_a_yes_the_plugin_is_not_even_started(world: World) -> None:
    add_plugin(world, "maps")
    world.replies = [LOAD, call("locate", {"city": "Oslo"}), say("x")]
    (result,) = results(await world.run(approve=Person("no")), "locate")
    assert result["error"]["code"] == "PERMISSION_DENIED"
    assert audited(world, "plugin") == []


async def test_a_skill_that_the_plugins_code_does_not_know_has_nobody_to_do_its_tools(world: World) -> None:
    add_plugin(world, "other")
    world.replies = [call("Skill", {"name": "other"}), call("locate", {}), say("x")]
    (result,) = results(await world.run(approve=Person()), "locate")
    assert "Nothing does the tool 'locate' of the skill 'other'" in result["error"]["message"]


async def test_no_other_skill_has_a_plugin_do_its_tools(world: World) -> None:
    add_plugin(world, "maps")
    head = SKILL.format(name="maps").split("\n", 3)[3].rpartition("---")[0]
    world.add_skill("maps", head=head)  # one of the user's own, which comes before the plugin's
    world.replies = [LOAD, say("x")]
    said = [one.message for one in only(await world.run(), Noticed) if one.code == "tool-execution"]
    assert "only a plugin's skill has such tools" in said[0]
    assert "locate" not in tool_names(world.sent())
