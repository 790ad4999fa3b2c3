"""Variables of a skill: whose programs get them, and what is written about it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clawft.agent.tools.environment import SkillVariables, skill_env
from clawft.config import EnvValue, SecretRef, SkillEntry
from clawft.config.keystore import open_keystore
from clawft.config.redaction import Secrets
from clawft.errors import Refused
from clawft.messages import Answer, ApprovalNeeded, ToolFinished
from clawft.scanner.findings import Power
from clawft.skills.parse.model import Skill, SkillRequirements
from clawft.trust.audit import AuditLog
from clawft.trust.audit.lines import AuditLogLine
from clawft.trust.audit.reader import AuditQuery, select_lines
from clawft.trust.permissions import UsableSkill
from clawft.trust.records import Seal
from wire import call, say
from world import World, collect, only

pytestmark = pytest.mark.usefixtures("headless")
SECRET = "wx-secret-4711"
NO_SCAN = "[skills.security]\nscan_on_load = false\n"  # which is not what is tested here, and slow
HEAD = 'metadata: {"openclaw": {"requires": {"env": ["WEATHER_TOKEN"]}}}\n'


def clear(name: str = "weather", *, primary: str = "", key: str = "", granted: Power | None = None) -> UsableSkill:
    """One of the user's own, or with `granted` a stranger's."""
    skill = Skill(name=name, requires=SkillRequirements(env=("TOKEN",)), primary_env=primary, skill_key=key)
    return UsableSkill(skill, f"sha256:{name}", granted is not None, granted)


@pytest.fixture
def audit(tmp_path: Path) -> AuditLog:
    return AuditLog(str(tmp_path / "audit.jsonl"), Seal(str(tmp_path / "trust.key")))


@pytest.fixture
def supply(audit: AuditLog) -> Callable[[dict[str, SkillEntry]], SkillVariables]:
    return lambda entries: SkillVariables(lambda: entries, {"HERE": "from-the-environment"}, Secrets(), audit)


def test_references_are_looked_up_and_what_is_not_set_is_left_out(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "HERE": "from-the-environment"}
    open_keystore(environ).store("weather.TOKEN", SECRET)
    entry = SkillEntry(
        env={
            "TOKEN": EnvValue(keystore="weather.TOKEN"),
            "OTHER": EnvValue(env="HERE"),
            "UNITS": EnvValue(literal="HERE"),
            "REMOVED": EnvValue(env="NOT_SET"),
            "LOST": EnvValue(keystore="weather.LOST"),
        },
        api_key=SecretRef(env="HERE"),
    )
    assert skill_env(clear(primary="KEY"), {"weather": entry}, environ) == {
        "TOKEN": SECRET,
        "OTHER": "from-the-environment",
        "UNITS": "HERE",
        "KEY": "from-the-environment",
    }
    assert skill_env(clear("sky", key="weather"), {"weather": entry}, environ)["TOKEN"] == SECRET
    assert skill_env(clear("sky"), {"weather": entry}, environ) == {}


def test_a_strangers_skill_gets_only_what_it_names(tmp_path: Path) -> None:
    names = ("TOKEN", "KEY", "SEEN", "OTHER")
    entries = {"weather": SkillEntry(env={name: EnvValue(literal="x") for name in names})}
    stranger = clear(granted=Power(env=("SEEN",)), primary="KEY")
    assert set(skill_env(stranger, entries, {})) == {"TOKEN", "KEY", "SEEN"}
    assert set(skill_env(clear(), entries, {})) == set(names)


def test_each_use_of_a_secret_is_a_line_that_names_it_and_does_not_hold_it(audit: AuditLog) -> None:
    secrets = Secrets()
    env = {"PLAIN": EnvValue(literal="metric"), "MINE": EnvValue(env="HERE"), "MY_TOKEN": EnvValue(literal=SECRET)}
    supplies = SkillVariables(lambda: {"weather": SkillEntry(env=env)}, {"HERE": "environment-secret"}, secrets, audit)
    assert len(supplies.take(clear(), "s1")) == 3
    lines = select_lines(audit, 10, AuditQuery()).lines
    told = [(one.kind, one.subject, one.decision, one.skill, one.digest, one.session) for one in lines]
    assert told == [("secret", name, "used", "weather", "sha256:weather", "s1") for name in ("MINE", "MY_TOKEN")]
    written = Path(audit.path).read_text()
    assert SECRET not in written
    assert "environment-secret" not in written
    assert secrets.mask(f"{SECRET} environment-secret metric") == "<secret> <secret> metric"


def test_without_a_line_no_secret_is_given(
    audit: AuditLog, supply: Callable[[dict[str, SkillEntry]], SkillVariables]
) -> None:
    Path(audit.path).mkdir()
    with pytest.raises(Refused) as raised:
        supply({"weather": SkillEntry(env={"TOKEN": EnvValue(env="HERE")})}).take(clear(), "s1")
    assert raised.value.code == "audit-unwritable"


def test_a_command_gets_the_variables_of_the_only_active_skill(
    supply: Callable[[dict[str, SkillEntry]], SkillVariables],
) -> None:
    entries = {name: SkillEntry(env={"TOKEN": EnvValue(literal=f"of-{name}")}) for name in ("a", "b")}
    supplies = supply(entries)
    a, b, none = clear("a"), clear("b"), clear("none")
    assert supplies.take_alone([a], [], "s").env == {"TOKEN": "of-a"}
    assert supplies.take_alone([a], ["a"], "s").env == {"TOKEN": "of-a"}, "a fork in which the same skill is active"
    for active, inherited in (([a, b], []), ([a], ["b"]), ([a, none], []), ([none, a], [])):
        given = supplies.take_alone(active, inherited, "s")
        assert given.env == {}
        assert "a" in given.note.split("variables of ")[1]
    for active, inherited in (([], ["a"]), ([], []), ([none], [])):
        given = supplies.take_alone(active, inherited, "s")
        assert (given.env, given.note) == ({}, "")


async def yes(_: ApprovalNeeded) -> Answer:
    return "once"


def config(*names: str) -> str:
    return NO_SCAN + "".join(
        f'[skills.entries.{name}.env]\nWEATHER_TOKEN = {{ env = "HIDDEN_{name}" }}\n' for name in names
    )


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "world")
    world.add_skill("weather", head=HEAD)
    world.add_skill("other")
    world.config = NO_SCAN
    world.environ |= {"HIDDEN_weather": SECRET, "HIDDEN_other": "other-secret-1"}
    return world


@pytest.mark.anyio
async def test_a_secret_reaches_the_command_and_no_text(world: World) -> None:
    world.config = config("weather")
    world.replies = [
        call("exec_shell", {"command": "printenv WEATHER_TOKEN; echo before"}),
        call("Skill", {"name": "weather"}),
        call("exec_shell", {"command": 'printenv WEATHER_TOKEN | wc -c; echo "it is $WEATHER_TOKEN"'}),
        say(f"It is {SECRET}."),
    ]
    events = await world.run(approve=yes, key="talk")
    before, _, after = only(events, ToolFinished)
    assert before.result["text"].startswith("before")
    assert after.result["text"].split()[:4] == [str(len(SECRET) + 1), "it", "is", "<secret>"]
    files = [path for path in world.user_dir.rglob("*") if path.is_file() and path.name != "trust.key"]
    assert any(path.suffix == ".jsonl" and "talk" in path.name for path in files), "the session is among them"
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in str(world.sent()["messages"])
    lines = _audit(world)
    (loaded,) = [one for one in lines if one.kind == "skill"]
    assert (loaded.subject, loaded.decision, loaded.rule, loaded.session) == ("weather", "loaded", "model", "talk")
    (line,) = [one for one in lines if one.kind == "secret"]
    assert (line.subject, line.skill, line.session) == ("WEATHER_TOKEN", "weather", "talk")
    assert line.digest == loaded.digest
    assert line.digest.startswith("sha256:")


@pytest.mark.anyio
async def test_with_several_active_skills_a_command_gets_no_secret_and_is_told_so(world: World) -> None:
    world.config = config("weather", "other")
    world.replies = [
        call("Skill", {"name": "weather"}),
        call("Skill", {"name": "other"}),
        call("exec_shell", {"command": "printenv WEATHER_TOKEN; echo done"}),
        say("x"),
    ]
    *_, last = only(await world.run(approve=yes), ToolFinished)
    assert "done" in last.result["text"]
    assert "did not get the variables of weather, other" in last.result["text"]
    assert "secret-" not in last.result["text"]
    assert [one for one in _audit(world) if one.kind == "secret"] == []


@pytest.mark.anyio
async def test_what_is_stored_while_a_conversation_runs_counts_and_is_masked(world: World) -> None:
    run = call("exec_shell", {"command": 'echo "token $WEATHER_TOKEN."'})
    world.replies = [
        call("Skill", {"name": "weather"}),
        run,
        say("x"),
        call("Skill", {"name": "weather"}),
        run,
        say("x"),
    ]
    async with world.talk(approve=yes) as conversation:
        events = await collect(conversation, "first")
        assert "token .\n" in f"{only(events, ToolFinished)[-1].result['text']}\n"
        path = world.user_dir / "config.toml"
        path.write_text(path.read_text() + '[skills.entries.weather.env]\nWEATHER_TOKEN = { keystore = "w" }\n')
        open_keystore(world.environ).store("w", "stored-just-now")
        events = await collect(conversation, "second")
    assert only(events, ToolFinished)[-1].result["text"].startswith("token <secret>.")
    session = next(path for path in (world.user_dir / "sessions").rglob("*.jsonl"))
    assert "stored-just-now" not in session.read_text()


@pytest.mark.anyio
@pytest.mark.parametrize(("before", "told"), [([], "token <secret>."), (["other"], "token .")])
async def test_a_fork_gets_the_variables_of_its_own_skill_unless_another_is_above_it(
    world: World, before: list[str], told: str
) -> None:
    world.add_skill("forked", head="context: fork\n")
    world.environ["HIDDEN_forked"] = SECRET
    world.config = config("forked")
    world.replies = [
        *(call("Skill", {"name": name}) for name in before),
        call("Skill", {"name": "forked"}),
        call("exec_shell", {"command": 'echo "token $WEATHER_TOKEN."'}),
        say("Looked."),
        call("exec_shell", {"command": 'echo "after $WEATHER_TOKEN."'}),
        say("x"),
    ]
    await world.run(approve=yes)
    sent = [str(one.body["messages"]) for one in world.server.asked]
    assert any(told in one for one in sent)
    assert "after ." in sent[-1], "whoever started the fork gets none of it"
    assert SECRET not in "".join(sent)


def _audit(world: World) -> tuple[AuditLogLine, ...]:
    audit = AuditLog(str(world.user_dir / "audit.jsonl"), Seal(str(world.user_dir / "trust.key")))
    return select_lines(audit, 1000, AuditQuery()).lines
