"""The composition root: from an environment to the objects that commands work with. The only wiring."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from clawft.config import Config, Layer, config_files, load_config, parse_config, read_config
from clawft.discovery import (
    Catalog,
    Found,
    Host,
    Location,
    agent_locations,
    explicit_locations,
    load_catalog,
    load_prompt,
    skill_locations,
)
from clawft.discovery.agents import FoundAgent, load_agents
from clawft.discovery.sidecars import apply_sidecars
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.format.model import Agent, Skill
from clawft.placing import find_served_places, load_plugin_places
from clawft.trust import AgentStanding, Standing, check_tools, judge_agents, judge_skills, known_tool_names
from clawft.trust.agents import STRANGE_AGENTS, distrust_agent, tell_passed_over, tell_untrusted
from clawft.trust.origin import Origins
from clawft.trust.revoked import Revocations
from clawft.trust.strangers import RunTrust, Strangers
from clawft.workspace import Workspace, find_workspace

if TYPE_CHECKING:
    from clawft.config.edit import Change, Changes, Edited, Scope
    from clawft.config.masking import Secrets
    from clawft.discovery.instructions import Instructions
    from clawft.discovery.plugin_cache import Places
    from clawft.programs import Launcher
    from clawft.run import Runtime
    from clawft.sandbox.sandbox import Sandbox
    from clawft.scan.findings import Report
    from clawft.scan.gate import Tell
    from clawft.scan.screening import Screening
    from clawft.sessions import SessionStore
    from clawft.trust.approvals import Approvals
    from clawft.trust.audit import Audit
    from clawft.trust.blocking import Scanned
    from clawft.trust.cleared import Cleared
    from clawft.trust.config_review import ConfigReview
    from clawft.trust.desk import Desk
    from clawft.trust.kept import Kept
    from clawft.trust.overrides import Overrides
    from clawft.trust.seal import Seal

__all__ = ["App", "open_app"]


class App:
    """One view of the world: made once for a command, and read as far as the command needs it."""

    def __init__(self, workspace: Workspace, environ: Mapping[str, str], dirs: Sequence[str] = ()) -> None:
        self.workspace = workspace
        self.environ = environ
        self.dirs = tuple(dirs)
        self.tell_scan: Tell | None = None  # told how many skills are scanned, where somebody waits for it
        self.run_trust = RunTrust()
        self._good: Config | None = None  # settings from before, for when those on disk cannot be read
        self.failure: Diagnostic | None = None  # why they are used

    @cached_property
    def config(self) -> Config:
        try:
            return load_config(self.workspace, self.environ, self._is_approved_config)
        except ClawftError as error:
            if self._good is None:
                raise
            self.failure = error.diagnostic
            return self._good

    @cached_property
    def approvals(self) -> "Approvals":
        from clawft.trust.approvals import Approvals  # not needed where there is nothing to approve

        return Approvals(os.path.join(self.workspace.user_dir, "approvals.json"), self.seal)

    @cached_property
    def seal(self) -> "Seal":
        from clawft.trust.seal import KEY_NAME, Seal

        return Seal(os.path.join(self.workspace.user_dir, KEY_NAME))

    @cached_property
    def kept(self) -> "Kept":
        from clawft.trust.kept import Kept

        return Kept(os.path.join(self.workspace.user_dir, "approved"))

    @cached_property
    def desk(self) -> "Desk":
        """Where a person decides about what strangers brought."""
        from clawft.trust.desk import Desk, Stores

        stores = Stores(self.approvals, self.kept, self.audit, self.run_trust)
        return Desk(stores, self.load_report, self.config.skills.max_skill_prompt_bytes)

    @cached_property
    def strangers(self) -> Strangers:
        origins, revocations = Origins(self.workspace, self.locations), Revocations(self.workspace)
        return Strangers(origins, lambda: self.approvals, self.run_trust, revocations)

    @cached_property
    def secrets(self) -> "Secrets":
        """What no text may hold. Raises: ClawftError for a store of keys that must not be used."""
        from clawft.config.masking import Secrets

        return Secrets.of(self.config, self.environ, self.plugin_schemas)

    @cached_property
    def plugin_schemas(self) -> dict[str, dict[str, Any]]:
        """What the manifests of plugins say of those settings that the config has, by the plugins' ids."""
        with suppress(ClawftError):  # what is wrong with the config is said where it is used
            if any(entry.config for entry in self.config.plugins.entries.values()):
                from clawft.plugging import load_found

                manifests = [found.manifest for found in reversed(load_found(self)) if found.manifest]
                return {one.id: one.config_schema for one in manifests if one.config_schema}  # of two the first found
        return {}

    @cached_property
    def audit(self) -> "Audit":
        """The log of what is decided and done."""
        from clawft.trust.audit import LOG_NAME, Audit

        path = os.path.join(self.workspace.user_dir, LOG_NAME)
        return Audit(path, self.seal, self._mask)

    def _mask(self, text: str) -> str:
        """A text without secrets; those of a config that cannot be read are in no text either."""
        from clawft.config.masking import Secrets

        try:
            return self.secrets.mask(text)
        except ClawftError:
            return Secrets.of(Config(), self.environ).mask(text)

    @cached_property
    def overrides(self) -> "Overrides":
        from clawft.trust.overrides import Overrides

        return Overrides(os.path.join(self.workspace.user_dir, "overrides.json"), self.seal)

    def _is_approved_config(self, path: str, content: bytes) -> bool:
        return self.approvals.has("config", path, content)

    def approve_config(self, agree: "Callable[[list[ConfigReview]], bool] | None" = None) -> dict[str, bytes]:
        """Approve the project's config as it is now, if somebody agrees who saw the reviews of its files; what was
        approved. Raises: ClawftError; Refused for what cannot be shown.
        """
        found = self._project_configs()
        layers = [parse_config(path, content, self.environ) for path, content in found.items()]
        agreed = bool(found) if agree is None else agree([self._review_config(layer) for layer in layers])
        for content in found.values() if agreed else ():
            self.kept.keep_file(content)
        from clawft.trust.audit import Entry

        lines = [Entry("approval", f"config {path}", "allowed", {}) for path in found]
        with self.audit.last_step(lines) as commit:
            self.approvals.add("config", found if agreed else {}, commit=commit)
        for name in ("config", "secrets", "plugin_schemas"):  # read anew: what was approved counts from now on
            vars(self).pop(name, None)
        return found if agreed else {}

    def _review_config(self, layer: Layer) -> "ConfigReview":
        from clawft.trust.config_review import review_config

        own = load_config(self.workspace, self.environ, lambda *_: False)
        known = self.approvals.find("config", layer.source)
        content = self.kept.find_file(known.digest) if known else None
        approved = None
        with suppress(ClawftError):  # what it set may be no setting any more
            approved = parse_config(layer.source, content, self.environ) if content is not None else None
        return review_config(layer, own, self.workspace.user_dir, self.environ, approved, known.at if known else "")

    def edit_config(
        self, scope: "Scope", changes: "Changes", *, header: str = "", commit: Callable[[], object] | None = None
    ) -> "Edited":
        """Change settings; what was approved, or is new, is approved after: the user asked.

        Each that gets another value is a line of the audit log; with `commit` the caller writes them by that, when only
        the last step is left. A new file starts with the header. Raises: ClawftError.
        """
        from clawft.config.edit import edit_config
        from clawft.trust.audit.settings import list_replaced

        def record(replaced: "Sequence[tuple[Change, Any]]") -> AbstractContextManager[Callable[[], object]]:
            if commit is not None:
                return nullcontext(commit)
            return self.audit.last_step(list_replaced(scope, replaced, self.environ))

        around = self._stay_approved() if scope == "project" else None
        return edit_config(self.workspace, scope, changes, self.environ, header=header, around=around, record=record)

    @contextmanager
    def _stay_approved(self) -> Iterator[None]:
        ours = all(self._is_approved_config(*one) for one in self._project_configs().items())
        yield
        if not ours:
            return
        try:
            self.approve_config()
        except (ClawftError, OSError) as error:
            message = f"The project's config was changed, but not approved, so it does not count: {error}"
            raise ClawftError("config-unapproved", message, hint="Repair that, then run: weft config trust") from error

    def _project_configs(self) -> dict[str, bytes]:
        paths = [path for path in config_files(self.workspace) if os.path.dirname(path) != self.workspace.user_dir]
        return {path: content for path in paths if (content := read_config(path)) is not None}

    @property
    def cache_dir(self) -> str | None:
        """Where what was parsed is kept; nowhere if the folder above the user's is not there: no home is made."""
        user_dir = self.workspace.user_dir
        return os.path.join(user_dir, "cache") if os.path.isdir(os.path.dirname(user_dir)) else None

    @cached_property
    def locations(self) -> tuple[Location, ...]:
        """Where skills are looked for: only the `--dir` folders when there are any."""
        if self.dirs:
            return explicit_locations(self.dirs, self.workspace)
        brought = self.plugin_places.skills if self.plugin_places else ()
        return skill_locations(self.workspace, self.config.skills, brought, find_served_places(self))

    @cached_property
    def plugin_places(self) -> "Places | None":
        """Where plugins have skills, commands, agents and hooks; None where there are no plugins."""
        return load_plugin_places(self)

    @cached_property
    def catalog(self) -> Catalog:
        """Every skill found."""
        limit = self.config.skills.max_skill_prompt_bytes
        return apply_sidecars(load_catalog(self.locations, max_prompt_bytes=limit, cache_dir=self.cache_dir))

    @cached_property
    def host(self) -> Host:
        system = "win32" if sys.platform == "cygwin" else sys.platform
        return Host(system, self.environ, self.config.values, known_tool_names(), lambda: self.catalog.versions)

    @cached_property
    def skills(self) -> tuple[Standing, ...]:
        """Every skill with its state, in order of precedence."""
        scanned = self.screen(self.catalog.found)
        return judge_skills(self.catalog, self.config.skills, self.host, scanned, self.strangers.check)

    @property
    def scan_dir(self) -> str | None:
        """Where reports of scans are kept."""
        return os.path.join(self.cache_dir, "scan") if self.cache_dir else None

    def is_first_scan(self) -> bool:
        """Whether loading the skills may take a while, since some folder of them was never scanned."""
        from clawft.scan.gate import is_first_scan

        wanted = self.config.skills.security.scan_on_load and self.config.skills.enabled
        return wanted and is_first_scan(self.locations, self.scan_dir)

    def screen(self, found: Sequence[Found], *, by_content: bool = False) -> "Scanned | None":
        """What the scanner says of skills; None where the config does not ask it."""
        security = self.config.skills.security
        if not security.scan_on_load or not self.config.skills.enabled:
            return None
        from clawft.scan.gate import screen_skills  # light while nothing changed: the scanner itself is not loaded

        return self.weigh(screen_skills(found, self.scan_dir, self.tell_scan, by_content=by_content))

    def weigh(self, screenings: "Sequence[Screening | None]") -> "Scanned | None":
        """Screenings with what the user allowed; None where all skills are clean."""
        if not any(screenings):
            return None
        from clawft.trust.blocking import Scanned

        blocks = self.config.skills.security.block_critical
        try:
            return Scanned(tuple(screenings), self.overrides.load(), blocks)
        except ClawftError as error:
            return Scanned(tuple(screenings), (), blocks, error.diagnostic)

    @cached_property
    def agents(self) -> tuple[AgentStanding, ...]:
        """Every agent with its state, in order of precedence."""
        locations = agent_locations(self.workspace, self.plugin_places.agents if self.plugin_places else ())
        return judge_agents(load_agents(locations), self._distrust_agent)

    def get_skill(self, reference: str) -> Standing:
        """The skill of a name, or of `scope:name` or `plugin:name`. Raises: NotFound with the close match."""
        scope, colon, bare = reference.rpartition(":")
        named = [one for one in self.skills if one.name == bare and (not colon or one.found.location.goes_by(scope))]
        if not named:
            raise _not_found("skill", reference, (one.name for one in self.skills))
        return next((one for one in named if one.usable), named[0])

    def get_agent(self, name: str) -> AgentStanding:
        """The agent of a name, or of `plugin:name`. Raises: NotFound with the close match."""
        named = [one for one in self.agents if one.found.goes_by(name)]
        if not named:
            raise _not_found("agent", name, (one.found.name for one in self.agents))
        return next((one for one in named if one.state == "ready"), named[0])

    def diagnose(self, found: Found) -> tuple[Diagnostic, ...]:
        """All there is to say about a skill's file, read now and whole."""
        from clawft.format.command_hooks import check_commands
        from clawft.plugging import check_skill_tools
        from clawft.render import check_dynamic  # a list of skills needs no rendering

        try:
            skill = self.load_prompt(found)
        except ClawftError as error:
            return (error.diagnostic,)
        said = (*skill.diagnostics, *check_tools(skill, found.file), *check_commands(skill, found.file))
        said += check_dynamic(skill, found.file, self.config.skills.security.allowed_command_prefixes)
        return tuple(sorted((*said, *check_skill_tools(self, skill, found)[1]), key=lambda one: one.line))

    def load_skills(self, only: str = "") -> tuple[Standing, ...]:
        """Every skill, or those of one name, with their state, as it is on disk now."""
        return tuple(one for one in self.reopen().skills if not only or one.name == only)

    def reopen(self) -> "App":
        """The same app, with everything as it is on disk now; settings that cannot be read stay as they were."""
        app = App(self.workspace, self.environ, self.dirs)
        app.tell_scan, app.run_trust = self.tell_scan, self.run_trust
        app._good = vars(self).get("config", self._good)
        return app

    def choose_agent(self, name: str = "") -> Agent:
        """The agent of a name, or the default one; a project's own only if it was approved.

        Raises: NotFound; Refused; ClawftError for one that is broken.
        """
        wanted = name or self.config.agents.defaults.agent
        self.get_agent(wanted)
        named = [one.found for one in self.agents if one.found.goes_by(wanted)]
        trusted = [one for one in named if self._distrust_agent(one) is None]
        agent = next((one.agent for one in trusted if one.agent), None)
        if agent is not None:
            return agent
        if not trusted:
            said = tell_untrusted(named[0])
            raise Refused(said.code, said.message, path=said.path, hint=said.hint)
        raise ClawftError("agent-broken", f"The agent '{wanted}' cannot be read", path=trusted[0].file)

    def check_agent(self, name: str = "") -> tuple[Diagnostic, ...]:
        """A project's agents of this name that were passed over, since nobody approved them; and what of the chosen
        one is not honoured. Raises: ClawftError, as `choose_agent` does.
        """
        wanted = name or self.config.agents.defaults.agent
        strange = [one.found for one in self.agents if one.found.goes_by(wanted) and self._distrust_agent(one.found)]
        said = self.choose_agent(wanted).diagnostics
        lost = [one for one in said if one.code == "agent-not-honoured" and one.severity == "warning"]
        return (*map(tell_passed_over, strange), *lost)

    def _distrust_agent(self, found: FoundAgent) -> Diagnostic | None:
        """Why an agent may not answer; None if it may."""
        own = found.scope not in STRANGE_AGENTS or (found.scope == "project" and self.run_trust.project)
        return None if own else distrust_agent(found, self.approvals)

    @property
    def sessions(self) -> "SessionStore":
        """The conversations of this user."""
        from clawft.sessions import SessionStore  # a list of skills needs no sessions

        return SessionStore(os.path.join(self.workspace.user_dir, "sessions"))

    def trust_project(self) -> None:
        """Use the project's skills and agents as they are, for as long as this process runs. Raises: Refused."""
        subject, rule = f"skills and agents of {self.workspace.project}", "--trust-project-skills"
        self.audit.write("approval", subject, decision="allowed once", rule=rule)
        self.run_trust.project = True

    def find_waiting_instructions(self) -> "list[Instructions]":
        """Every AGENTS.md and CLAUDE.md that is not the user's own and is not approved as it is now."""
        from clawft.discovery.instructions import load_instructions

        found = load_instructions(self.workspace)[0]
        return [one for one in found if not one.own and not self.approvals.has("instructions", one.path, one.content)]

    def approve_instructions(self, seen: "Iterable[Instructions]") -> None:
        """Approve files with the content that a person saw. Raises: ClawftError."""
        from clawft.trust.audit import Entry

        files = {one.path: one.content for one in seen}
        lines = [Entry("approval", f"instructions {path}", "allowed", {}) for path in files]
        with self.audit.last_step(lines) as commit:
            self.approvals.add("instructions", files, commit=commit)

    def user_file(self, name: str) -> str:
        """A file of the user's folder, which is made if it is not there."""
        os.makedirs(self.workspace.user_dir, mode=0o700, exist_ok=True)
        return os.path.join(self.workspace.user_dir, name)

    def open_sandbox(self) -> "Sandbox":
        """Where programs run. Raises: ClawftError."""
        from clawft.config.sandbox import own_sandbox
        from clawft.sandbox.sandbox import Sandbox

        settings = own_sandbox(self.config, self.workspace.user_dir)
        return Sandbox(settings, self.workspace, self.environ, self.config.tools.web, self.launcher)

    @cached_property
    def launcher(self) -> "Launcher":
        """What prepares programs that run outside the sandbox. Raises: ClawftError."""
        from clawft.config.hooks import own_hooks
        from clawft.config.sandbox import own_sandbox
        from clawft.programs import make_launcher

        user_dir = self.workspace.user_dir
        hooks = own_hooks(self.config, user_dir, self.environ).entries.values()
        writable = [*own_sandbox(self.config, user_dir).writable]
        writable += (path for one in self.config.mcp.servers.values() for path in one.writable)
        writable += (path for one in hooks if one.permissions for path in one.permissions.write)
        return make_launcher(self.workspace, self.environ, writable)

    def open_runtime(self, only: str = "") -> "AbstractAsyncContextManager[Runtime]":
        """Everything that turns need; ended, with all it started, on leaving. `only` is the one skill there is.

        Raises: ClawftError.
        """
        from clawft.wiring import open_runtime  # a list of skills needs none of it

        return open_runtime(self, only)

    def load_report(self, found: Found) -> "Report":
        """All that the scanner says of a skill, from before if it has not changed."""
        from clawft.scan.rescan import load_or_scan

        return load_or_scan(found, self.scan_dir)

    def load_cleared(self, found: Found) -> "Cleared":
        """The skill with its prompt, for use: what was edited meanwhile is scanned and judged first.

        The text is of the very bytes that the digest was taken of. Raises: ClawftError.
        """
        from clawft.discovery.snapshot import Reading
        from clawft.trust.cleared import Cleared

        reading = Reading(found.folder)
        skill = load_prompt(found, self.config.skills.max_skill_prompt_bytes, reading.load)
        digest = reading.digest()
        alone = Catalog((structs.replace(found, seen=None),))
        now = judge_skills(alone, self.config.skills, self.host, self.screen(alone.found, by_content=True))[0]
        if now.state == "blocked":
            message = f"The skill '{found.name}' is blocked: {now.reasons[0].message}"
            raise Refused("skill-blocked", message, path=found.file, hint=f"Run: weft skills why {found.name}")
        approval = self.reopen().strangers.clear(found, digest, reading.linked)  # as approved or taken back by now
        if approval is None:
            return Cleared(skill, digest.value)
        return Cleared(skill, digest.value, stranger=True, granted=approval.power)

    def load_prompt(self, found: Found) -> Skill:
        """The skill with its prompt, read now. Raises: ClawftError."""
        return load_prompt(found, self.config.skills.max_skill_prompt_bytes)


def open_app(environ: Mapping[str, str], cwd: str, dirs: Sequence[str] = ()) -> App:
    """The app for an environment and a current folder."""
    return App(find_workspace(environ, cwd), environ, dirs)


def _not_found(kind: str, name: str, known: Iterable[str]) -> NotFound:
    close = find_close(name.rpartition(":")[2], known)
    hint = (f"did you mean '{close}'? " if close else "") + f"Run: weft {kind}s list"
    return NotFound(f"{kind}-not-found", f"No {kind} '{name}'", hint=hint)
