"""A skill to its prompt, with all that its text asks for: files are read, and commands run where the user allows it.

All of it is one step: a run that is begun again sees what it saw before, whatever happened to those files since.
"""

from anyio import to_thread
from msgspec import Struct

from clawft.discovery.catalog import Found
from clawft.errors import Diagnostic, Refused
from clawft.render import Arguments, Dynamic, Fetched, Rendered, Variables, find_dynamic, render_skill
from clawft.tools.dynamic.files import read_files
from clawft.tools.dynamic.run import run_commands
from clawft.tools.dynamic.use import DynamicContext, Tell, Use
from clawft.tools.steps import Step
from clawft.trust.cleared import Cleared
from clawft.trust.prefixes import SETTING, suggest_setting

__all__ = ["render_dynamic"]

MAX_PLACES = 100


class _Kept(Struct, frozen=True):
    """What was fetched, as a step keeps it: JSON has no keys but texts. It is for one version of the skill."""

    digest: str
    texts: dict[str, str]
    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


async def render_dynamic(
    context: DynamicContext,
    found: Found,
    cleared: Cleared,
    arguments: Arguments,
    variables: Variables,
    tell: Tell = lambda _: None,
) -> Rendered:
    """The prompt of a skill that may be used. `tell` is told what is about to run.

    Raises: Refused for what may not be run or read; ClawftError for what failed. Then nothing of it is used.
    """
    places = find_dynamic(cleared.skill.prompt or "")
    use = Use(found, cleared, arguments, variables, tell)
    try:
        fetched = await _fetch_once(context, places, use) if places else Fetched()
    except Refused as error:
        if error.code != "command-refused":  # which is written down where the command is known
            use.record(context.audit, "denial", f"use the skill {use.skill.name}", "deny", str(error))
        raise
    return render_skill(cleared.skill, arguments, variables, found.file, fetched=fetched)


async def _fetch_once(context: DynamicContext, places: tuple[Dynamic, ...], use: Use) -> Fetched:
    """What the places become; or became, if this run came here before. None of it changes anything that lasts."""

    async def work() -> _Kept:
        now = await _fetch(context, places, use)
        texts = {str(start): text for start, text in now.texts.items()}
        return _Kept(use.cleared.digest, texts, now.files, now.diagnostics)

    step = Step("command", use.skill.name, summary=_summarise(context, places))
    kept = await context.steps().run(step, work, _Kept)
    if kept.digest != use.cleared.digest:  # places are counted in the text of the skill, and that is another one now
        kept = await work()
    return Fetched({int(start): text for start, text in kept.texts.items()}, kept.files, kept.diagnostics)


async def _fetch(context: DynamicContext, places: tuple[Dynamic, ...], use: Use) -> Fetched:
    asked = [one for one in places if one.kind != "file"]
    if len(asked) > MAX_PLACES:
        message = f"The skill '{use.skill.name}' asks for {len(asked)} commands and files; {MAX_PLACES} is the limit"
        raise Refused("too-many-commands", message, path=use.found.file, line=use.line_of(asked[MAX_PLACES]))
    commands = [one for one in places if one.kind == "command"]
    files = await to_thread.run_sync(read_files, context, [one for one in places if one.kind != "command"], use)
    if not commands:
        return files
    if not context.prefixes or use.found.location.scope == "mcp":
        return Fetched(files.texts, files.files, (_tell_off(commands, use), *files.diagnostics))
    texts = await run_commands(context, commands, use)
    return Fetched({**files.texts, **texts}, files.files, files.diagnostics)


def _summarise(context: DynamicContext, places: tuple[Dynamic, ...]) -> str:
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{context.show(places[0].head)}{more}"


def _tell_off(commands: list[Dynamic], use: Use) -> Diagnostic:
    """What the user is told where no command is allowed at all."""
    what = f"{len(commands)} commands, which stay" if len(commands) > 1 else f"`{commands[0].head}`, which stays"
    if use.found.location.scope == "mcp":
        message = f"The skill '{use.skill.name}' would run {what} as text: it came from an MCP server"
        return Diagnostic("dynamic-context-off", "warning", message, use.found.file, use.line_of(commands[0]))
    message = f"The skill '{use.skill.name}' would run {what} as text, since {SETTING} is empty"
    setting = suggest_setting([line for one in commands for line in one.commands], ())
    hint = f"To allow it: {setting}" if setting else "It is not understood well enough to be allowed"
    return Diagnostic("dynamic-context-off", "warning", message, use.found.file, use.line_of(commands[0]), hint)
