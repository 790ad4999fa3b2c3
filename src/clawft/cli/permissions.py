"""`weft permissions`: list, add, remove and import permission rules."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click
from msgspec import UNSET

from clawft.app.app import App
from clawft.cli.options import format_option, open_here, target_option
from clawft.cli.output import CommandResult, is_json_asked, one_line, print_table, say, show_diagnostics
from clawft.cli.prompts import confirm
from clawft.config.changes import ConfigScope, EditedConfig, SettingChange
from clawft.config.tools import KINDS, RuleKind
from clawft.errors import ClawftError, NotFound, find_close
from clawft.server.protocol.base import diagnostic_json
from clawft.skills.render.shell import is_command_runner
from clawft.trust.audit.log import AuditEntry
from clawft.trust.claude_settings import ImportedPermission, load_settings, settings_files
from clawft.trust.modes import MODES, default_mode, find_unfollowed
from clawft.trust.patterns import ToolPattern, parse_pattern
from clawft.trust.permissions import PermissionRule, check_tracked, load_rules
from clawft.trust.tools import matches_any_tool

Lists = dict[RuleKind, tuple[str, ...]]


def change_lists(app: App, scope: ConfigScope, change: Callable[[Lists], Lists]) -> tuple[EditedConfig, Lists]:
    """Put what `change` makes of the rules of the user's or the project's own file in their place: the edit, and the
    rules before it. Each change is a line of the audit log first; no other writer comes in between.

    Raises: ClawftError.
    """
    before: Lists = {}
    lines: list[AuditEntry] = []

    def plan(values: dict[str, Any]) -> list[SettingChange]:
        section = values.get("permissions", {})
        before.update({kind: tuple(section.get(kind, ())) for kind in KINDS})
        after = change(before)
        changed = [kind for kind in KINDS if before[kind] != after[kind]]
        lines[:] = _list_changes(scope, before, after)
        return [SettingChange(("permissions", kind), list(after[kind]) or UNSET) for kind in changed]

    with app.audit.last_step(lines) as commit:
        return app.edit_config(scope, plan, commit=commit), before


def _list_changes(scope: ConfigScope, before: Lists, after: Lists) -> Iterator[AuditEntry]:
    for kind in KINDS:
        for text in (*before[kind], *after[kind]):
            if (text in before[kind]) != (text in after[kind]):
                done = "revoked" if text in before[kind] else "allow"
                yield AuditEntry("approval", f"rule {kind} {text}", done, {"rule": f"[permissions] of the {scope}"})


def warn_about(pattern: ToolPattern, kind: RuleKind, servers: Mapping[str, object]) -> Iterable[str]:
    """Yield warnings about a rule that the user adds."""
    if not matches_any_tool(pattern.name, tuple(servers)):
        yield f"'{pattern.name}' is no tool that is known here"
    words = pattern.text.partition("(")[2].split()
    name = words[0].rstrip(")*").rstrip(":") if words else ""
    if kind == "allow" and name and is_command_runner(name) and len(words) == 1:
        yield f"'{name}' runs other commands or code: this allows whatever it is given"


def add_command(kind: RuleKind, text: str) -> click.Command:
    """The command that adds rules of a kind."""

    @click.command(kind, help=text)
    @click.argument("patterns", nargs=-1, required=True, metavar="PATTERN…")
    @target_option
    @format_option
    def command(patterns: tuple[str, ...], scope: ConfigScope) -> CommandResult:
        app = open_here()
        parsed = [_get_pattern(text) for text in patterns]
        texts = tuple(pattern.text for pattern in parsed)

        def add(rules: Lists) -> Lists:
            others = {name: tuple(rule for rule in rules[name] if rule not in texts) for name in KINDS}
            return others | {kind: tuple(dict.fromkeys((*rules[kind], *texts)))}

        edited, before = change_lists(app, scope, add)
        tracked = list(check_tracked([PermissionRule(kind, pattern) for pattern in parsed], app.workspace))

        def show() -> None:
            where = app.workspace.shorten(edited.file)
            for pattern in parsed:
                there = "" if pattern.text not in before[kind] else " (it was there)"
                click.echo(one_line(f"{kind} {pattern.text} in {where}{there}"))
                for warning in warn_about(pattern, kind, app.config.mcp.servers):
                    say(f"{click.style('warning[tool-pattern]', fg='yellow')}: {one_line(warning)}")
            show_diagnostics(tracked)

        changed = {"kind": kind, "patterns": list(texts), "path": edited.file, "changed": edited.changed}
        diagnostics = [diagnostic_json(problem) for problem in tracked]
        return CommandResult("clawft.permissions.change.v1", {**changed, "diagnostics": diagnostics}, show)

    return command


def _get_pattern(text: str) -> ToolPattern:
    """Raises: ClawftError for one that is not understood."""
    pattern = parse_pattern(text, {"CLAUDE_PROJECT_DIR": "/project"})
    if pattern.problem:
        message = f"'{text[:80]}' is not understood: {pattern.problem}"
        raise ClawftError("tool-pattern", message, hint="Run: weft help permissions")
    return pattern


allow_command = add_command(
    "allow", "Do what PATTERN means without a question. What a policy refuses, or a rule denies, stays so."
)


ask_command = add_command("ask", "Ask before what PATTERN means is done, also where the mode would not.")


deny_command = add_command("deny", "Never do what PATTERN means. This beats every other rule, of any file.")


@click.command("list")
@format_option
def list_command() -> CommandResult:
    """List what is allowed, asked for and denied. Deny beats ask, ask beats allow; all files add up."""
    app = open_here()
    workspace = app.workspace
    rules, mode = load_rules(app.config, workspace.project), default_mode(app.config, workspace.user_dir)
    waiting = [diagnostic for diagnostic in app.config.diagnostics if diagnostic.code == "config-untrusted"]
    diagnostics = (
        *rules.diagnostics(),
        *check_tracked(rules.deny, workspace),
        *waiting,
        *find_unfollowed(app.config, workspace.user_dir),
    )
    listed = [
        {"kind": rule.kind, "pattern": rule.pattern.text, "source": rule.source, "problem": rule.pattern.problem}
        for rule in rules.all
    ]

    def show() -> None:
        rows = [(rule.kind, rule.pattern.text, workspace.shorten(rule.source)) for rule in rules.all]
        if rows:
            print_table(("RULE", "PATTERN", "FROM"), rows, wide=1)
        else:
            say("No rules. Add one: weft permissions allow 'Bash(make test)'")
        say(f"mode {mode}: {MODES[mode]}")
        show_diagnostics(diagnostics, workspace.shorten)

    return CommandResult(
        "clawft.permissions.list.v1",
        {
            "mode": mode.value,
            "rules": listed,
            "diagnostics": [diagnostic_json(diagnostic) for diagnostic in diagnostics],
        },
        show,
    )


@click.command("remove")
@click.argument("pattern")
@target_option
@format_option
def remove_command(pattern: str, scope: ConfigScope) -> CommandResult:
    """Take PATTERN out of the rules, of whatever kind it is."""
    app = open_here()

    def remove(rules: Lists) -> Lists:
        if not any(pattern in rules[kind] for kind in KINDS):
            close = find_close(pattern, [text for kind in KINDS for text in rules[kind]])
            hint = f"did you mean '{close}'?" if close else "Run: weft permissions list"
            raise NotFound("rule-not-found", f"The {scope}'s config has no rule '{pattern[:80]}'", hint=hint)
        return {kind: tuple(rule for rule in rules[kind] if rule != pattern) for kind in KINDS}

    edited, before = change_lists(app, scope, remove)
    kinds = [kind for kind in KINDS if pattern in before[kind]]
    changed = {"patterns": [pattern], "path": edited.file, "changed": edited.changed, "was": kinds}
    return CommandResult(
        "clawft.permissions.change.v1",
        {"kind": "remove", **changed},
        one_line(f"Removed {', '.join(kinds)} {pattern} from {app.workspace.shorten(edited.file)}"),
    )


@click.command("import")
@click.argument("path", required=False)
@target_option
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@format_option
def import_command(path: str | None, scope: ConfigScope, dry_run: bool, yes: bool) -> CommandResult:
    """Take over permissions of Claude Code: from PATH, or from .claude/settings.json, settings.local.json and those of
    your home folder. What has no meaning here is said, and left out."""
    app = open_here()
    found = [
        setting for file in settings_files(app.workspace, path) for setting in load_settings(file, app.workspace, scope)
    ]
    if not found:
        hint = "Name a file: weft permissions import PATH"
        raise NotFound("settings-not-found", "No settings of Claude Code with permissions were found", hint=hint)
    if not is_json_asked():
        _show(app, found)
    edited = None if dry_run or not any(rule.becomes for rule in found) else _write(app, found, scope, yes=yes)
    rules = [_to_json(rule) for rule in found]
    if edited is None:
        document = {"rules": rules, "written": False, "path": None}
        return CommandResult("clawft.permissions.import.v1", document, lambda: say("Nothing was written"))
    document = {"rules": rules, "written": edited.changed, "path": edited.file}
    text = one_line(f"Written to {app.workspace.shorten(edited.file)}")
    return CommandResult("clawft.permissions.import.v1", document, text)


def _show(app: App, found: list[ImportedPermission]) -> None:
    rows = [(rule.kind, rule.text, rule.becomes or "(left out)", app.workspace.shorten(rule.file)) for rule in found]
    print_table(("RULE", "THEIRS", "BECOMES", "FROM"), rows, wide=1, after=[rule.note for rule in found])


def _to_json(one: ImportedPermission) -> dict[str, object]:
    return {"kind": one.kind, "text": one.text, "becomes": one.becomes or None, "note": one.note, "source": one.file}


def _write(app: App, found: list[ImportedPermission], scope: ConfigScope, *, yes: bool) -> EditedConfig | None:
    if not yes and not _agrees(sum(bool(rule.becomes) for rule in found), scope):
        return None

    def add(rules: Lists) -> Lists:
        return {
            kind: tuple(
                dict.fromkeys((*rules[kind], *(rule.becomes for rule in found if rule.kind == kind and rule.becomes)))
            )
            for kind in KINDS
        }

    edited, _ = change_lists(app, scope, add)
    mode = next((rule.becomes for rule in found if rule.kind == "mode" and rule.becomes), "")
    if mode:
        edited = app.edit_config(scope, [SettingChange(("agents", "defaults", "mode"), mode)])
    return edited


def _agrees(count: int, scope: ConfigScope) -> bool:
    """Raises: Refused where there is nobody to ask."""
    hint = "Look at them with --dry-run, then pass --yes"
    return confirm(f"Write {count} to the {scope}'s config?", "To import rules", hint)
