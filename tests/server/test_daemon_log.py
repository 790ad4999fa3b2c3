"""What the log of a daemon has beside requests: reloads, work and questions, without a word of what was said."""

import json
from typing import Any

import httpx2
import pytest

from serve_site import ask, hear_until, open_site
from serve_world import ServeWorld

pytestmark = pytest.mark.anyio
_ASKS: list[dict[str, Any]] = [
    {"tool_calls": [{"name": "exec_shell", "arguments": {"command": "touch made-by-it"}}]},
    {"text": "It was asked."},
]


async def test_reloads_work_and_questions_are_logged_without_texts(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say(_ASKS)
    world.add_skill("greet", "A secret word.")
    async with open_site(world) as site, site.connect() as socket:
        world.add_skill("fresh")
        await site.daemon.registry.live.reload()
        await ask(socket, type="execute_skill", id="1", name="greet", arguments="suppress")
        (*_, asked) = await hear_until(socket, "question_asked")
        await ask(socket, type="answer_question", id="2", question=asked["question"]["question"], answer="no")
        await hear_until(socket, "skill_result")
        by_event = {one["event"]: one for one in site.log}
        assert ["fresh"] in [one["added"] for one in site.log if one["event"] == "reloaded"]
        started, ended = by_event["execution-started"], by_event["execution-finished"]
        assert (started["skill"], started["owner"]) == ("greet", "owner")
        assert (ended["status"], ended["refused"], ended["execution"]) == ("done", 1, started["execution"])
        assert by_event["question-asked"]["tool"] == "exec_shell"
        closed = by_event["question-closed"]
        assert (closed["answer"], closed["by"]) == ("no", "owner")
        text = json.dumps(site.log)
        assert not [word for word in ("secret", "suppress", "made-by-it") if word in text]


async def test_a_question_of_work_that_is_cancelled_says_so(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say(_ASKS)
    async with open_site(world) as site, site.connect() as socket:
        await ask(socket, type="chat", id="1", text="go")
        (*_, asked) = await hear_until(socket, "question_asked")
        await ask(socket, type="cancel", id="2", execution=asked["question"]["execution"])
        (*_, closed) = await hear_until(socket, "question_closed")
        assert (closed["answer"], closed["by"]) == ("cancelled", "")


async def test_files_of_the_console_are_logged_only_where_they_are_not_there(world: ServeWorld) -> None:
    async with open_site(world) as site, httpx2.AsyncClient(base_url=site.url, trust_env=False, verify=False) as client:
        for path in ("/", "/console/app.js", "/console/nothing.js", "/healthz"):
            await client.get(path)
        assert [one["path"] for one in site.log if one["event"] == "request"] == ["/console/nothing.js", "/healthz"]


async def test_what_is_done_for_a_token_is_in_the_audit_log_under_its_name(world: ServeWorld) -> None:
    world.config = f'mode = "ask"\n{world.config}'
    world.say(_ASKS)
    world.add_skill("theirs", strangers=True)
    async with open_site(world) as site:
        token = site.tokens.create("ci", ["run", "approve", "read"])[0]
        async with site.connect(token) as socket:
            await ask(socket, type="review_skill", id="r", name="theirs")
            review = (await hear_until(socket, "skill_review"))[-1]["review"]
            await ask(socket, type="approve_skill", id="a", name="theirs", digest=review["digest"])
            await hear_until(socket, "skill_decided")
            await ask(socket, type="chat", id="1", text="go", session="notes")
            (*_, asked) = await hear_until(socket, "question_asked")
            await ask(socket, type="answer_question", id="2", question=asked["question"]["question"], answer="once")
            await hear_until(socket, "turn_result")
        lines = [json.loads(line) for line in (world.user_dir / "audit.jsonl").read_text().splitlines()]
        approved = next(one for one in lines if one["kind"] == "approval" and "theirs" in one["subject"])
        assert approved["detail"]["by"] == "ci"
        done = [one for one in lines if one["session"] == "@ci:notes"]
        assert {one["detail"]["by"] for one in done} == {"ci", "token ci"}
        assert {one["kind"] for one in done if one["detail"]["by"] == "ci"} >= {"tool", "serve"}
