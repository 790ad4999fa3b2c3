"""Hooks called by real Deno: what a handler may look like, what it gets, and what is made of its answer."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import structs

from clawft.agent.hooks.events import HookFailed
from clawft.errors import ClawftError, Refused
from clawft.skills.discovery.digest import compute_digest
from hook_stage import Stage

pytestmark = pytest.mark.anyio

TELL = "event.messages.push('heard')"
FORMS = {
    "handler.ts": f"import type {{ HookHandler }} from 'openclaw/hooks';\nenum Kind {{ A = 'a' }}\n"
    f"const run: HookHandler = async (event) => {{ Kind.A satisfies string; {TELL}; }};\nexport default run;",
    "index.ts": "export default function (event: unknown) { (event as any).messages.push('heard'); }",
    "handler.js": f"const path = require('path');\nmodule.exports = (event) => {{ path.join('a'); {TELL}; }};",
    "index.js": f"exports.default = async function (event) {{ {TELL}; }};",
    "sub/handler.js": f"'use strict';\nObject.defineProperty(exports, '__esModule', {{value: true}});\n"
    f"exports.default = async (event) => {{ {TELL}; }};",
    "sub/index.ts": f"import {{ runHook }} from 'openclaw/hooks';\nawait runHook(async (event) => {{ {TELL}; }});",
    "sub/index.js": "import { runHook } from 'openclaw/hooks';\n"
    "const tell = (event) => { event.messages.push('he' + event.context.rest); };\n"
    "const heard = await runHook(tell, {context: {rest: 'ard'}});\n"
    "export default (event) => { event.messages.push(...heard.messages); };",
    "sub/handler.ts": "import { say } from './say.ts';\nimport { lib } from '../../lib/it.js';\n"
    "import os from 'os';\nimport { readFile } from 'fs/promises';\n"
    "export default (event) => { os.EOL; readFile; event.messages.push(say() + lib); };",
}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path)
    if stage.sandbox.status().kind != "bubblewrap":
        stage = Stage(tmp_path / "again", "landlock")
    return stage


@pytest.mark.parametrize("file", FORMS)
async def test_a_handler_may_be_written_in_any_of_the_usual_forms(stage: Stage, file: str) -> None:
    (stage.hook / "hooks/sub").mkdir(parents=True)
    (stage.hook / "hooks/sub/say.ts").write_text("export const say = (): string => 'he';")
    (stage.hook / "lib").mkdir()
    (stage.hook / "lib/it.js").write_text("export const lib = 'ard';")
    assert await stage.say(FORMS[file], f"hooks/{file}") == "heard"


async def test_another_export_is_called_where_the_hook_names_one(stage: Stage) -> None:
    code = f"export const onTool = (event) => {{ {TELL}; }};\nexport default () => {{ throw new Error('no'); }};"
    assert await stage.say(code, export="onTool") == "heard"
    assert await stage.say(f"exports.onTool = (event) => {{ {TELL}; }};", "x.js", export="onTool") == "heard"
    assert await stage.say(code, export="onMessage") == "hook-failed: It exports no function 'onMessage'"
    assert await stage.say("export default 5") == "hook-failed: It exports no function 'default'"


async def test_a_handler_gets_exactly_its_event(stage: Stage) -> None:
    code = """export default (event) => event.messages.push(JSON.stringify([
      Object.keys(event), event.timestamp instanceof Date, event.timestamp.toISOString(), Array.isArray(event.messages),
      event.messages.length, event.type, event.action, event.sessionKey, event.context,
      Deno.args, Deno.cwd(), globalThis.event, typeof globalThis.mark,
    ]))"""
    context = {"workspaceDir": str(stage.project), "toolName": "read_file", "params": {"path": "x"}}
    keys = ["type", "action", "sessionKey", "timestamp", "messages", "context"]
    told = [keys, True, "2026-01-02T03:04:05.678Z", True, 0, "tool", "before", "cli:1", context]
    assert json.loads(await stage.say(code)) == [*told, [], str(stage.project), None, "undefined"]


async def test_a_handler_decides_by_its_event_or_by_what_it_returns(stage: Stage) -> None:
    changed = "async (e) => { e.context.block = true; e.context.blockReason = ' not today '; return 'ignored'; }"
    assert (await stage.run(f"export default {changed}")).blocked == "not today"
    returned = "async (e) => ({block: true})"
    assert (await stage.run(f"export default {returned}")).blocked == "it gave no reason"
    assert (await stage.run("export default () => [{block: true}]")).blocked is None


async def test_what_a_handler_prints_is_no_answer_and_is_kept_apart(stage: Stage) -> None:
    reply = await stage.run("export default (e) => { console.log('one'); console.error('two'); e.messages.push('3'); }")
    assert (reply.printed, reply.messages) == ("one\ntwo", ("3",))


async def test_a_mistake_in_a_handler_is_told_with_its_line(stage: Stage) -> None:
    with pytest.raises(HookFailed) as failed:
        await stage.run("export default (e) => {\n  let x = ;\n}")
    said = failed.value.diagnostic
    assert (said.code, said.message) == ("hook-failed", "SyntaxError: Expression expected")
    assert said.where == f"{stage.hook}/handler.ts:2"


async def test_what_is_denied_is_told_with_the_way_to_allow_it(stage: Stage) -> None:
    with pytest.raises(HookFailed) as failed:
        await stage.run("import t from '/etc/hosts' with {type: 'text'};\nexport default (e) => e.messages.push(t)")
    said = failed.value.diagnostic
    assert (said.code, said.message) == ("hook-denied", 'Requires read access to "/etc/hosts"')
    assert said.hint == (
        'To allow it: permissions = { read = ["/etc/hosts"] } in [hooks.entries.it] of your config, '
        "beside all else that it needs"
    )


@pytest.mark.parametrize(
    ("code", "said", "line", "hint"),
    [
        ("export default () => {\n  null.x;\n}", "TypeError: Cannot read properties of null", 2, ""),
        ("export default async () => {\n\n  throw new Error('no');\n}", "no", 3, ""),
        ("export const other = 1;", "It exports no function 'default'", 0, "Write `export default`"),
        ("import x from 'lodash';\nexport default () => x;", 'Import "lodash"', 1, "A hook imports its own files"),
        ("export default () => Deno.mkdirSync('x');", 'Requires write access to "x"', 1, "To allow it: perm"),
        (
            "import { execSync } from 'child_process';\nexport default () => {\n  execSync('ls');\n}",
            "Command failed: ls",
            3,
            "A hook cannot start programs",
        ),
    ],
)
async def test_what_goes_wrong_is_told_with_its_line_and_what_to_do(
    stage: Stage, code: str, said: str, line: int, hint: str
) -> None:
    with pytest.raises(HookFailed) as failed:
        await stage.run(code)
    told = failed.value.diagnostic
    assert told.message.startswith(said)
    assert told.where == f"{stage.hook}/handler.ts" + (f":{line}" if line else "")
    assert told.hint.startswith(hint)
    assert bool(told.hint) is bool(hint)


async def test_a_package_of_denos_name_is_not_deno(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deno", ModuleType("deno"))
    with pytest.raises(ClawftError, match="need Deno, which is not installed"):
        await stage.run("export default 1")


async def test_who_is_given_home_may_ask_node_for_it_and_for_nothing_else_of_the_system(stage: Stage) -> None:
    code = "import os from 'os';\nexport default (e) => { e.messages.push(os.homedir()); os.hostname(); }"
    with pytest.raises(HookFailed) as failed:
        await stage.run(code)
    assert failed.value.hint == "To allow it: give it the variable HOME in [hooks.entries.it] of your config"
    said = await stage.say(code, env={"HOME": "/home/me"})
    assert said == 'hook-denied: Requires sys access to "hostname"'
    assert await stage.say(code.replace("os.hostname();", ""), env={"HOME": "/home/me"}) == "/home/me"


async def test_a_handler_that_is_not_there_is_told(stage: Stage) -> None:
    job = stage.job("export default 1")
    (stage.hook / "handler.ts").unlink()
    with pytest.raises(HookFailed, match="Module not found"):
        await stage.deno.call(job, stage.event())


@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
async def test_a_strangers_hook_runs_on_what_was_approved(tmp_path: Path, kind: str) -> None:
    stage = Stage(tmp_path, kind)
    if stage.sandbox.status().kind != kind:
        pytest.skip(f"there is no {kind} here")
    (stage.hook / "lib.ts").write_text("export const word = 'approved';")
    code = "import { word } from './lib.ts';\nexport default (e) => { e.messages.push(word); }"
    stage.job(code)
    digest = compute_digest(str(stage.hook)).value
    assert await stage.say(code, digest=digest) == "approved"
    (stage.hook / "lib.ts").write_text("export const word = 'changed';")
    with pytest.raises(Refused) as refused:
        await stage.run(code, digest=digest)
    assert refused.value.code == "skill-changed"
    assert not list((stage.home / ".clawft/cache/programs").iterdir())


async def test_without_a_sandbox_denos_permissions_still_hold(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "off")
    assert await stage.say(f"export default (event) => {{ {TELL}; }}") == "heard"
    said = await stage.say("import t from '/etc/hosts' with {type: 'text'};\nexport default () => t;")
    assert said == 'hook-denied: Requires read access to "/etc/hosts"'
    other = structs.replace(stage.job("export default (event) => { event.messages.push(localStorage.a ?? 'none'); }"))
    await stage.run("export default () => { localStorage.a = 'mine'; }", "first.ts")
    elsewhere = stage.home / "another"
    elsewhere.mkdir()
    (elsewhere / "handler.ts").write_text((stage.hook / "handler.ts").read_text())
    reply = await stage.deno.call(structs.replace(other, root=str(elsewhere)), stage.event())
    assert reply.messages == ("none",)  # what one hook stores is not another's


async def test_where_there_is_no_sandbox_no_hook_is_run(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "bubblewrap", path=str(tmp_path))
    with pytest.raises(Refused) as refused:
        await stage.run("export default () => {}")
    assert refused.value.code == "sandbox-unavailable"
