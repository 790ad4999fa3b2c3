"""The audit log as the daemon tells of it: filtered, in pages, and whether it is whole."""

import anyio
import pytest

from clawft.app.app import open_app
from clawft.errors import ClawftError, Refused
from clawft.server.callers import Listener
from clawft.server.protocol.executions import AnswerQuestion, Chat
from clawft.server.protocol.records import ListAudit, VerifyAudit
from serve_world import Client, ServeWorld

pytestmark = pytest.mark.anyio


def write(world: ServeWorld, count: int) -> None:
    app = open_app(world.environ, str(world.project))
    for number in range(count):
        kind, decision = ("command", "denied") if number % 2 else ("url", "allowed")
        app.audit.write(kind, f"subject {number}", decision=decision, skill="one, two" if number < 3 else "")


async def test_lines_come_newest_first_and_go_on_where_a_list_ended(world: ServeWorld) -> None:
    write(world, 7)
    async with world.open_daemon() as daemon:
        subjects: list[str] = []
        before = 0
        while True:
            page = await Client(daemon).ask(ListAudit(limit=3, before=before))
            subjects += [one.subject for one in page.lines]
            before = page.next
            if not before:
                break
        assert subjects == [f"subject {number}" for number in range(6, -1, -1)]


async def test_lines_are_kept_by_kind_skill_decision_text_and_time(world: ServeWorld) -> None:
    write(world, 6)
    async with world.open_daemon() as daemon:

        async def count(**wanted: str) -> int:
            return len((await Client(daemon).ask(ListAudit(**wanted))).lines)  # type: ignore[arg-type]

        assert await count(kind="command") == await count(decision="denied") == 3
        assert (await count(skill="two"), await count(text="SUBJECT 4"), await count(session="none")) == (3, 1, 0)
        assert (await count(since="2001-01-01"), await count(since="2999-01-01T00:00:00Z")) == (6, 0)
        with pytest.raises(ClawftError, match="`since` is a date"):
            await count(since="yesterday")


async def test_who_answered_what_a_tool_asked_is_in_the_log(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say([{"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch made"}}]}, {"text": "Done"}])
    async with world.open_daemon() as daemon, anyio.create_task_group() as group:
        worker, boss = Client(daemon, "run", name="worker"), Client(daemon, "approve", name="boss")
        daemon.topics.add("approvals", Listener(boss.caller, lambda _: None))
        group.start_soon(worker.ask, Chat(text="go"))
        with anyio.fail_after(20):
            while not daemon.questions.waiting:
                await anyio.sleep(0.01)
        await boss.ask(AnswerQuestion(question=daemon.questions.waiting[0].question, answer="once"))
        (line,) = (await Client(daemon).ask(ListAudit(kind="serve"))).lines
        assert (line.detail["by"], line.detail["tool"]) == ("boss", "exec_shell")
        assert line.subject.startswith("answer once: ")
        assert "worker:" in line.session


async def test_a_log_that_somebody_changed_is_told_to_be_broken(world: ServeWorld) -> None:
    write(world, 3)
    log = world.user_dir / "audit.jsonl"
    async with world.open_daemon() as daemon:
        whole = await Client(daemon).ask(VerifyAudit())
        assert (whole.intact, whole.lines, whole.broken) == (True, 3, None)
        log.write_text(log.read_text().replace("subject 1", "subject 9"))
        broken = await Client(daemon).ask(VerifyAudit())
        assert (broken.intact, broken.broken.line) == (False, 2)
        log.write_bytes(b"\xff\xfe nothing\n" + log.read_bytes())
        assert (await Client(daemon).ask(ListAudit())).unreadable == 1


async def test_the_log_is_for_who_may_do_all(world: ServeWorld) -> None:
    async with world.open_daemon() as daemon:
        assert (await Client(daemon).ask(ListAudit())).lines == ()
        assert (await Client(daemon).ask(VerifyAudit())).intact
        for request in (ListAudit(), VerifyAudit()):
            with pytest.raises(Refused, match="lacks the scope admin"):
                await Client(daemon, "approve").ask(request)
