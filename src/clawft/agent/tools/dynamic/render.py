"""The prompt of a skill with dynamic context: judge the commands in its text, run them in the sandbox, fill in their
output.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

import anyio
from anyio import to_thread
from msgspec import Struct, structs

from clawft.agent.tools.command import CommandPlaces, decode_output, make_command_result
from clawft.agent.tools.dynamic.context import (
    DynamicContext,
    SkillUseContext,
    TellPerson,
    get_skill_authority,
    make_reading_context,
    read_files,
)
from clawft.agent.tools.environment import command_env, find_planted
from clawft.agent.tools.steps import TurnStep
from clawft.config.tools import CommandPolicyMode, ExecSettings
from clawft.errors import ClawftError, Diagnostic, Refused
from clawft.files import is_within, real_path
from clawft.git import find_unsafe_git_setting
from clawft.sandbox.confinement import Confinement
from clawft.skills.discovery.catalog import DiscoveredSkill
from clawft.skills.render.prefixes import SETTING, suggest_setting
from clawft.skills.render.prompt import (
    DynamicPlace,
    DynamicResults,
    FilledCommand,
    RenderedPrompt,
    complete_variables,
    fill_command,
    find_dynamic,
    render_skill,
)
from clawft.skills.render.template import PromptArguments, TemplateVariables
from clawft.trust.command_policy import CommandJudge, CommandPolicy, CommandVerdict
from clawft.trust.modes import Mode
from clawft.trust.path_patterns import CheckedCall, PatternRoots, ToolTraits
from clawft.trust.permissions import ToolDecision, UsableSkill, decide_call, list_granted_hosts
from clawft.trust.run_copies import open_skill_copy
from clawft.trust.shell_text import read_shell_text

_READING = CommandPolicy(ExecSettings())


class JudgedLine(Struct, frozen=True):
    """A command line with the decision on it. `words` are those of its last command, by which its exit code is read."""

    text: str
    words: tuple[str, ...]
    decision: ToolDecision


class JudgedPlace(Struct, frozen=True):
    """A place with its lines; `why_not` says why they do not run, so that the place stays as text."""

    place: DynamicPlace
    lines: tuple[JudgedLine, ...]
    why_not: str = ""


def judge_commands(
    context: DynamicContext, places: Sequence[DynamicPlace], use: SkillUseContext, where: tuple[str, str]
) -> list[JudgedPlace]:
    """Judge the lines of each place. `where` is the folder they run in, and the one that git looks at.

    Raises: Refused for the first that a list of commands does not allow; that is recorded.
    """
    judge = _Judge(context, use, *where)
    return [JudgedPlace(place, tuple(judge.check(place, command) for command in place.commands)) for place in places]


class _Judge:
    """Judges by the user's list of commands, or, without one, as if the model asked for the command in the session's
    mode."""

    def __init__(self, context: DynamicContext, use: SkillUseContext, cwd: str, repository: str) -> None:
        self._context = context
        self._use = use
        self._cwd = cwd
        self._repository = repository
        self._authority = get_skill_authority(context, use)
        self._policy = self._make_policy()
        own = (cwd,) if use.folder else ()
        self._places = CommandPlaces(cwd, make_reading_context(context, own))
        variables = structs.replace(use.variables, skill_dir=cwd) if use.folder else use.variables
        self._variables = complete_variables(use.skill, variables)

    def _make_policy(self) -> Callable[[str, CommandPlaces], CommandVerdict]:
        settings = self._context.config.tools.exec
        if not self._context.prefixes:
            judge, kind = CommandJudge(settings, CommandPolicy(settings)), self._context.sandbox.status().kind
            return lambda line, places: judge.judge(line, places, self._authority.mode, kind)
        mode, prefixes = CommandPolicyMode.ALLOWLIST, self._context.prefixes
        listed = structs.replace(settings, mode=mode, allowed_commands=prefixes, also_allowed=())
        return CommandPolicy(listed, SETTING).judge

    def check(self, place: DynamicPlace, command: str) -> JudgedLine:
        """A command with its arguments, and whether it may run. Raises: Refused."""
        filled = fill_command(command, self._use.arguments, self._variables)
        verdict = self._policy(filled.judged, self._places)
        decision = self._decide(filled, verdict)
        if decision.decision == "deny" or (self._context.prefixes and decision.decision != "allow"):
            self._use.record(self._context.audit, "denial", filled.line, "deny", decision.rule)
        if self._context.prefixes and decision.decision != "allow":
            setting = suggest_setting([filled.judged], self._context.prefixes)
            hint = f"To allow it: {setting}" if setting else "The skill has to be changed, or given other arguments"
            shown, reason = self._context.show(filled.line), decision.rule
            raise self._use.refuse(place, f"The skill '{self._use.skill.name}' may not run `{shown}`: {reason}", hint)
        return JudgedLine(filled.line, verdict.commands[-1] if verdict.commands else ("",), decision)

    def _decide(self, filled: FilledCommand, verdict: CommandVerdict) -> ToolDecision:
        """Decide about a command: it runs, a person is asked, or it does not run."""
        if verdict.decision == "deny" or (self._context.prefixes and verdict.decision != "allow"):
            return ToolDecision("deny", verdict.reason)
        home, project = self._context.workspace.home, self._context.workspace.project
        where, traits = PatternRoots(project, self._cwd, home), ToolTraits(judges_itself=True)
        call = CheckedCall("exec_shell", {"command": filled.judged, "cwd": self._cwd}, where, traits)
        decision = decide_call(call, self._authority)
        if decision.decision in ("deny", "ask"):
            return decision
        if suspicion := self._suspect(filled, verdict):
            return ToolDecision("ask", suspicion)
        if verdict.decision == "ask" and decision.decision != "allow":
            return ToolDecision("ask", verdict.reason)
        return ToolDecision("allow", SETTING if self._context.prefixes else f"mode {self._authority.mode}")

    def _suspect(self, filled: FilledCommand, verdict: CommandVerdict) -> str:
        """Return why a command may do more here than its words say, '' if it does not."""
        if any(command.words[0].quoted for command in read_shell_text(filled.judged).commands):
            return "its name is not plain text"  # it may be an argument, which never chooses what runs
        env = command_env(self._context.config.tools.exec, self._context.environ, {})
        if planted := find_planted(verdict.commands, env, self._context.sandbox.host_programs):
            return planted
        # The list that a user wrote may hold more than what reads.
        if self._authority.mode is Mode.PLAN and _READING.judge(filled.judged, self._places).decision != "allow":
            return "mode plan only looks"
        if any(words[0] == "git" for words in verdict.commands) and (
            program := find_unsafe_git_setting(self._repository)
        ):
            return f"what this repository says may start a program, or lead elsewhere ({program})"
        return ""


async def ask_about_commands(
    context: DynamicContext, judged: Sequence[JudgedPlace], use: SkillUseContext
) -> list[JudgedPlace]:
    """Put the lines that need it to the person; a place with a line that may not run stays as text."""
    settled = []
    for judged_place in judged:
        denied = next((line.decision.rule for line in judged_place.lines if line.decision.decision == "deny"), "")
        why_not = denied or await _ask_about(context, judged_place.lines, use)
        settled.append(structs.replace(judged_place, why_not=why_not))
    return settled


async def _ask_about(context: DynamicContext, lines: Sequence[JudgedLine], use: SkillUseContext) -> str:
    """Return why one of the lines does not run, '' if all do."""
    for line in lines:
        if line.decision.decision == "ask":
            question = f"Run for the skill '{use.skill.name}': {context.show(line.text)}"
            if context.ask is None or not await context.ask(question, line.decision.rule):
                return f"it was not approved ({line.decision.rule})"
    return ""


TIMEOUT_S = 30
MAX_BYTES = 64 * 1024
MAX_PARALLEL = 8
_LISTED, _ANNOUNCED = 5, 80  # commands that are named before they run, and characters of each
_SHOWN = 2_000  # characters of a failed command's output that are said
# They end with 1 to say that there is no match, or a difference.
_ONE_IS_FINE = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "diff", "cmp", "pgrep", "test", "["})
_ONE_IS_FINE_IN_GIT = (("git", "diff"), ("git", "grep"))


class _Setting(Struct, frozen=True):
    """The folder, environment and sandbox limits that commands run with."""

    cwd: str
    env: Mapping[str, str]
    confinement: Confinement


async def run_commands(context: DynamicContext, places: Sequence[DynamicPlace], use: SkillUseContext) -> DynamicResults:
    """Run the commands and return the text that replaces each place, and a word on those that stay. Raises: Refused,
    before any of them runs; ClawftError for one that failed."""
    # Programs see files where they really are, whatever links lead there.
    project, folder = real_path(context.workspace.project), real_path(use.folder) if use.folder else ""
    async with _copy(context, use, folder) as copy:
        status = await to_thread.run_sync(context.sandbox.status)
        if not context.prefixes and status.kind not in ("bubblewrap", "landlock"):
            return DynamicResults(diagnostics=(_tell_off(places, use, "no sandbox works here"),))
        # Where a sandbox cannot show files in another place, commands work in the copy itself.
        is_mounted = status.kind == "bubblewrap"
        cwd = (folder if is_mounted else copy) or project
        repository = _find_repository(project, folder)
        judged = await to_thread.run_sync(judge_commands, context, places, use, (cwd, repository or cwd))
        judged = await ask_about_commands(context, judged, use)
        left = [settled for settled in judged if settled.why_not]
        notes = (_tell_off([settled.place for settled in left], use, left[0].why_not),) if left else ()
        running = [settled for settled in judged if not settled.why_not]
        if not running:
            return DynamicResults(diagnostics=notes)
        mounts = ((copy, folder),) if copy and is_mounted else ()
        whole = (copy,) if copy and not is_mounted else ()
        own = await to_thread.run_sync(context.supplies.take, use.usable, use.variables.session_id)
        env = {**command_env(context.config.tools.exec, context.environ, own), **_git_env(repository)}
        confinement = Confinement(
            readable=(project,),
            whole={"approved": whole},
            mounts=mounts,
            hosts=_hosts(context, use),
            denied=make_reading_context(context).permission.denied,
        )
        setting = _Setting(cwd, env, confinement)
        use.tell(_announce(context, [line for settled in running for line in settled.lines], use))
        return DynamicResults(await _run_all(context, running, use, setting), diagnostics=notes)


def _copy(context: DynamicContext, use: SkillUseContext, folder: str) -> AbstractAsyncContextManager[str]:
    """Open the copy that the commands run on; a Claude command has no folder, so there is nothing to copy."""
    if not folder:
        return nullcontext("")
    return open_skill_copy(context.workspace.user_dir, folder, use.usable.digest)


def _hosts(context: DynamicContext, use: SkillUseContext) -> tuple[str, ...]:
    """Return the hosts that the commands may reach: those of the user's rules, and those that all untrusted skills were
    approved with."""
    authority = context.authority()
    approved = [limit.hosts for limit in authority.limits if limit.hosts is not None]
    if use.usable.is_untrusted:
        approved.append(use.usable.granted.network if use.usable.granted else ())
    return list_granted_hosts(authority.rules, approved)


def _announce(context: DynamicContext, lines: Sequence[JudgedLine], use: SkillUseContext) -> str:
    shown = [f"`{context.show(line.text)[:_ANNOUNCED]}`" for line in lines[:_LISTED]]
    more = f" and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
    return f"The skill '{use.skill.name}' runs {', '.join(shown)}{more}"


def _find_repository(project: str, folder: str) -> str:
    """The project, if it is a git repository and the skill lies elsewhere: what skills ask git is about the project."""
    elsewhere = bool(folder) and not is_within(folder, project)
    return project if elsewhere and os.path.isdir(os.path.join(project, ".git")) else ""


def _git_env(repository: str) -> dict[str, str]:
    return {"GIT_DIR": os.path.join(repository, ".git"), "GIT_WORK_TREE": repository} if repository else {}


async def _run_all(
    context: DynamicContext,
    judged: Sequence[JudgedPlace],
    use: SkillUseContext,
    setting: _Setting,
) -> dict[int, str]:
    """All at once, as far as there is room; the first that fails ends the others."""
    results: dict[int, str] = {}
    failures: list[ClawftError] = []
    limiter = anyio.CapacityLimiter(MAX_PARALLEL)

    async def run(place: DynamicPlace, lines: tuple[JudgedLine, ...]) -> None:
        try:
            async with limiter:
                outputs = [await _run_line(context, line, place, use, setting) for line in lines]
        except ClawftError as error:
            failures.append(error)
            group.cancel_scope.cancel()
        else:
            results[place.start] = "\n".join(filter(None, outputs))

    async with anyio.create_task_group() as group:
        for settled in judged:
            group.start_soon(run, settled.place, settled.lines)
    if failures:
        raise failures[0]
    return results


async def _run_line(
    context: DynamicContext, line: JudgedLine, place: DynamicPlace, use: SkillUseContext, setting: _Setting
) -> str:
    """The output of one command. Raises: ClawftError if it did not do its work."""
    use.record(context.audit, "command", line.text, "allow", line.decision.rule)
    how: dict[str, object] = {"status": "cancelled"}
    try:
        finished = await context.sandbox.run(
            line.text,
            cwd=setting.cwd,
            env=setting.env,
            timeout_s=TIMEOUT_S,
            max_bytes=MAX_BYTES,
            confinement=setting.confinement,
            record=partial(use.record, context.audit),
        )
        how = {"exit_code": finished.code}
    except (OSError, ClawftError) as error:
        how = {"status": "error"}
        if isinstance(error, ClawftError):
            raise
        raise use.fail(place, f"`{context.show(line.text)}` cannot be started: {error.strerror}") from error
    finally:
        use.record(context.audit, "command", line.text, "finished", detail=how)
    fine = finished.code == 0 or (finished.code == 1 and _is_fine_with_one(line.words))
    if fine and not finished.timed_out and not finished.flooded:
        return context.clean(decode_output(finished, f"{MAX_BYTES} is the limit")).rstrip("\n")
    output = context.clean(make_command_result(finished, setting.cwd).text)
    excerpt = output if len(output) <= _SHOWN else f"[…] {output[-_SHOWN:]}"
    message = f"A command of the skill '{use.skill.name}' failed: `{context.show(line.text)}`\n{excerpt}"
    if context.prefixes:
        raise use.fail(place, message)
    use.tell(message)
    return excerpt  # the model reads what went wrong, with the exit code


def _is_fine_with_one(words: tuple[str, ...]) -> bool:
    return words[0] in _ONE_IS_FINE or words[:2] in _ONE_IS_FINE_IN_GIT


MAX_PLACES = 100


class _CachedRendering(Struct, frozen=True):
    """The fetched content as a step stores it, for one version of the skill. JSON keys can only be strings."""

    digest: str
    texts: dict[str, str]
    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


async def render_dynamic(
    context: DynamicContext,
    found: DiscoveredSkill,
    usable: UsableSkill,
    arguments: PromptArguments,
    variables: TemplateVariables,
    tell: TellPerson = lambda _: None,
) -> RenderedPrompt:
    """Render the prompt of a skill that may be used. `tell` is called with what is about to run.

    Raises: Refused for what may not be run or read; ClawftError for what failed. Then nothing of it is used.
    """
    places = find_dynamic(usable.skill.prompt or "")
    use = SkillUseContext(found, usable, arguments, variables, tell)
    try:
        fetched = await _fetch_once(context, places, use) if places else DynamicResults()
    except Refused as error:
        if error.code != "command-refused":  # which is written down where the command is known
            use.record(context.audit, "denial", f"use the skill {use.skill.name}", "deny", str(error))
        raise
    return render_skill(usable.skill, arguments, variables, found.file, fetched=fetched)


async def _fetch_once(
    context: DynamicContext, places: tuple[DynamicPlace, ...], use: SkillUseContext
) -> DynamicResults:
    """Fetch what the places ask for; a resumed run returns what it fetched before. Fetching changes nothing that
    lasts."""

    async def work() -> _CachedRendering:
        now = await _fetch(context, places, use)
        texts = {str(start): text for start, text in now.texts.items()}
        return _CachedRendering(use.usable.digest, texts, now.files, now.diagnostics)

    step = TurnStep("command", use.skill.name, summary=_summarise(context, places))
    stored = await context.steps().run(step, work, _CachedRendering)
    if stored.digest != use.usable.digest:  # places are counted in the text of the skill, and that is another one now
        stored = await work()
    return DynamicResults({int(start): text for start, text in stored.texts.items()}, stored.files, stored.diagnostics)


async def _fetch(context: DynamicContext, places: tuple[DynamicPlace, ...], use: SkillUseContext) -> DynamicResults:
    asked = [place for place in places if place.kind != "file"]
    if len(asked) > MAX_PLACES:
        message = f"The skill '{use.skill.name}' asks for {len(asked)} commands and files; {MAX_PLACES} is the limit"
        raise Refused("too-many-commands", message, path=use.found.file, line=use.line_of(asked[MAX_PLACES]))
    commands = [place for place in places if place.kind == "command"]
    files = await to_thread.run_sync(read_files, context, [place for place in places if place.kind != "command"], use)
    if not commands:
        return files
    if use.found.location.scope == "mcp":
        off = _tell_off(commands, use, "it came from an MCP server")
        return DynamicResults(files.texts, files.files, (off, *files.diagnostics))
    ran = await run_commands(context, commands, use)
    return DynamicResults({**files.texts, **ran.texts}, files.files, (*ran.diagnostics, *files.diagnostics))


def _summarise(context: DynamicContext, places: tuple[DynamicPlace, ...]) -> str:
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{context.show(places[0].head)}{more}"


def _tell_off(commands: Sequence[DynamicPlace], use: SkillUseContext, why: str) -> Diagnostic:
    """Build the notice for the user that commands stay as text."""
    what = f"{len(commands)} commands, which stay" if len(commands) > 1 else f"`{commands[0].head}`, which stays"
    message = f"The skill '{use.skill.name}' would run {what} as text: {why}"
    is_ours = use.found.location.scope != "mcp"
    setting = suggest_setting([line for command in commands for line in command.commands], ()) if is_ours else ""
    hint = f"To allow it: {setting}" if setting else ""
    return Diagnostic("dynamic-context-off", "warning", message, use.found.file, use.line_of(commands[0]), hint)
