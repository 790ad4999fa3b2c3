"""The composition root: `App` turns an environment into the objects that commands work with."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import structs

from clawft.config import Config, SkillEntry, load_config, parse_config, read_configs
from clawft.config.loader import own_values
from clawft.errors import ClawftError, Diagnostic, NotFound, Refused, find_close
from clawft.install.origins import Origins
from clawft.install.revocations import Revocations
from clawft.skills.discovery import (
    Catalog,
    DiscoveredSkill,
    LocalMachine,
    Location,
    agent_locations,
    explicit_locations,
    load_catalog,
    load_prompt,
    skill_locations,
)
from clawft.skills.discovery.agents import DiscoveredAgent, load_agents
from clawft.skills.discovery.catalog import apply_sidecars
from clawft.skills.discovery.mcp_copies import served_locations
from clawft.skills.discovery.plugin_folders import has_plugins, load_places
from clawft.skills.parse.model import Agent, Skill
from clawft.trust.policy import (
    UNTRUSTED_AGENT_ORIGINS,
    RunApprovals,
    TrustPolicy,
    check_agent_approval,
    make_skipped_agent_diagnostic,
    make_untrusted_agent_diagnostic,
)
from clawft.trust.status import AgentStatus, SkillStatus, find_skill, judge_agents, judge_skills
from clawft.trust.tools import check_tools, known_tool_names
from clawft.workspace import Workspace, find_workspace

if TYPE_CHECKING:
    from clawft.agent.runtime import Runtime
    from clawft.agent.sessions import SessionStore
    from clawft.config.changes import Changes, ConfigScope, EditedConfig, SettingChange
    from clawft.config.redaction import Secrets
    from clawft.messages import ReportProgress
    from clawft.sandbox.sandbox import Sandbox
    from clawft.scanner.findings import Report
    from clawft.scanner.screening import Screening
    from clawft.skills.discovery.catalog import ReviewSubject
    from clawft.skills.discovery.instructions import Instructions
    from clawft.skills.discovery.locations import Location
    from clawft.skills.discovery.plugin_folders import PluginPlaces
    from clawft.trust.approvals import Approvals
    from clawft.trust.approved_copies import ApprovedCopies
    from clawft.trust.audit import AuditLog
    from clawft.trust.config_review import ConfigReview
    from clawft.trust.folders import FolderAnswers
    from clawft.trust.overrides import Overrides, ScreenedSkills
    from clawft.trust.own_edits import OwnEdits
    from clawft.trust.permissions import UsableSkill
    from clawft.trust.programs import HostPrograms
    from clawft.trust.records import Seal
    from clawft.trust.review import Reviewer


# What `refresh` keeps: the settings, which it compares with their files; the secrets, and the log that masks them.
_UNCHANGED = ("config", "secrets", "audit")


class App:
    """Settings, skills, agents and stores of one environment and folder, each loaded at first use."""

    def __init__(self, workspace: Workspace, environ: Mapping[str, str], dirs: Sequence[str] = ()) -> None:
        self.workspace = workspace
        self.environ = environ
        self.dirs = tuple(dirs)
        self.tell_scan: ReportProgress | None = (
            None  # called with the number of skills scanned so far, while the user waits
        )
        self.run_trust = RunApprovals()
        self.failure: Diagnostic | None = None  # why older settings are still used: those on disk cannot be read

    @cached_property
    def config(self) -> Config:
        return load_config(self.workspace, self.environ, self._is_approved_config)

    @cached_property
    def own_config(self) -> Config:
        """The config without what the project's file says."""
        return self.config.own(self.workspace.user_dir, self.environ)

    @cached_property
    def approvals(self) -> "Approvals":
        from clawft.trust.approvals import Approvals  # not needed where there is nothing to approve

        path = os.path.join(self.workspace.user_dir, "approvals.json")
        return Approvals(path, self.seal, lambda known: self.own_edits.adopt(known))

    @cached_property
    def seal(self) -> "Seal":
        from clawft.trust.records import KEY_NAME, Seal

        return Seal(os.path.join(self.workspace.user_dir, KEY_NAME))

    @cached_property
    def approved_copies(self) -> "ApprovedCopies":
        from clawft.trust.approved_copies import ApprovedCopies

        return ApprovedCopies(os.path.join(self.workspace.user_dir, "approved"))

    @cached_property
    def reviewer(self) -> "Reviewer":
        """The reviewer with which the user approves skills, agents and hooks from elsewhere."""
        from clawft.trust.review import Reviewer, ReviewStores

        stores = ReviewStores(self.approvals, self.approved_copies, self.audit, self.run_trust)
        return Reviewer(stores, self.load_report, self.config.skills.max_skill_prompt_bytes)

    @cached_property
    def trust_policy(self) -> TrustPolicy:
        return self._open_trust_policy()

    def _open_trust_policy(self) -> TrustPolicy:
        origins, revocations = Origins(self.workspace, self.locations), Revocations(self.workspace)
        return TrustPolicy(origins.why_untrusted, lambda: self.approvals, self.run_trust, revocations.check)

    @cached_property
    def secrets(self) -> "Secrets":
        """The secrets that no text may contain. Raises: ClawftError for a key store that must not be used."""
        from clawft.config.redaction import Secrets

        return Secrets.of(self.config, self.environ, self.plugin_schemas)

    @cached_property
    def plugin_schemas(self) -> dict[str, dict[str, Any]]:
        """The config schemas from the manifests of plugins that have settings in the config, by plugin id."""
        with suppress(ClawftError):  # errors in the config are reported where it is used
            if any(entry.config for entry in self.config.plugins.entries.values()):
                from clawft.app.plugins import load_found

                manifests = [found.manifest for found in reversed(load_found(self)) if found.manifest]
                return {
                    manifest.id: manifest.config_schema for manifest in manifests if manifest.config_schema
                }  # of two the first found
        return {}

    @cached_property
    def audit(self) -> "AuditLog":
        """The log of what is decided and done."""
        from clawft.trust.audit import LOG_NAME, AuditLog

        path = os.path.join(self.workspace.user_dir, LOG_NAME)
        return AuditLog(path, self.seal, self._mask)

    def _mask(self, value: Any) -> Any:
        """Mask the secrets in a value; where the config cannot be read, those of the environment."""
        from clawft.config.redaction import Secrets

        try:
            return self.secrets.mask_value(value)
        except ClawftError:
            return Secrets.of(Config(), self.environ).mask_value(value)

    @cached_property
    def overrides(self) -> "Overrides":
        from clawft.trust.overrides import Overrides

        return Overrides(os.path.join(self.workspace.user_dir, "overrides.json"), self.seal)

    @cached_property
    def folders(self) -> "FolderAnswers":
        from clawft.trust.folders import FolderAnswers

        return FolderAnswers(os.path.join(self.workspace.user_dir, "folders.json"), self.seal)

    @cached_property
    def own_edits(self) -> "OwnEdits":
        """The judge that tells the person's own edits in trusted folders from all other changes."""
        from clawft.trust.own_edits import EditStores, OwnEdits

        stores = EditStores(self.approvals, self.approved_copies, self.audit, self.folders)
        return OwnEdits(
            stores,
            self.workspace.project,
            os.path.join(self.workspace.user_dir, "turns"),
            lambda: self.own_config.trust.strict,
        )

    def watch_turn(self) -> AbstractContextManager[None]:
        """Watch a turn in trusted folders; where there are none, nothing is loaded for it."""
        if not os.path.lexists(self.folders.path):
            return nullcontext()
        return self.own_edits.watch_turn(self.own_config.sandbox.writable)

    def _is_approved_config(self, path: str, content: bytes) -> bool:
        return self.approvals.has("config", path, content)

    def approve_config(self, agree: "Callable[[list[ConfigReview]], bool] | None" = None) -> dict[str, bytes]:
        """Approve the project's config as it is now, if the user agrees after seeing the reviews of its files; return
        what was approved. Raises: ClawftError; Refused for what cannot be shown."""
        found = self.project_configs()
        agreed = bool(found) if agree is None else agree([self.review_config(*file) for file in found.items()])
        for content in found.values() if agreed else ():
            self.approved_copies.keep_file(content)
        self._approve_files("config", found if agreed else {})
        self.refresh()  # what was approved counts from now on
        return found if agreed else {}

    def review_config(self, path: str, data: bytes) -> "ConfigReview":
        """Review a config file of the project with this content. Raises: ClawftError; Refused for what cannot be
        shown."""
        from clawft.trust.config_review import review_config

        layer = parse_config(path, data, self.environ)
        own = load_config(self.workspace, self.environ, lambda *_: False)
        known = self.approvals.find("config", layer.source)
        content = self.approved_copies.find_file(known.digest) if known else None
        approved = None
        with suppress(ClawftError):  # what it set may be no setting any more
            approved = parse_config(layer.source, content, self.environ) if content is not None else None
        return review_config(layer, own, self.workspace.user_dir, self.environ, approved, known.at if known else "")

    def edit_config(
        self, scope: "ConfigScope", changes: "Changes", *, header: str = "", commit: Callable[[], object] | None = None
    ) -> "EditedConfig":
        """Change settings in the config file of a scope. Raises: ClawftError.

        A project's config that was approved before, or is new, is approved again, since the user asked for the change.
        Each changed value is a line of the audit log; a caller that passes `commit` writes these lines itself, when
        `commit` is called as the last step. A new file starts with the header.
        """
        from clawft.config.editor import edit_config
        from clawft.trust.config_review import list_replaced

        def record(replaced: "Sequence[tuple[SettingChange, Any]]") -> AbstractContextManager[Callable[[], object]]:
            if commit is not None:
                return nullcontext(commit)
            return self.audit.last_step(list_replaced(scope, replaced, self.environ))

        around = self._stay_approved() if scope == "project" else None
        return edit_config(self.workspace, scope, changes, self.environ, header=header, around=around, record=record)

    @contextmanager
    def _stay_approved(self) -> Iterator[None]:
        ours = all(self._is_approved_config(*item) for item in self.project_configs().items())
        yield
        if not ours:
            return
        try:
            self.approve_config()
        except (ClawftError, OSError) as error:
            message = f"The project's config was changed, but not approved, so it does not count: {error}"
            raise ClawftError("config-unapproved", message, hint="Repair that, then run: weft config trust") from error

    def project_configs(self) -> dict[str, bytes]:
        """The config files of the project, approved or not, with what is in them now."""
        return self._of_project(read_configs(self.workspace))

    def _of_project(self, configs: Mapping[str, bytes]) -> dict[str, bytes]:
        return {path: data for path, data in configs.items() if os.path.dirname(path) != self.workspace.user_dir}

    @property
    def cache_dir(self) -> str | None:
        """The folder for cached parse results; None if the parent of the user's folder does not exist: weft creates no
        home."""
        user_dir = self.workspace.user_dir
        return os.path.join(user_dir, "cache") if os.path.isdir(os.path.dirname(user_dir)) else None

    @cached_property
    def locations(self) -> tuple[Location, ...]:
        """The folders in which weft looks for skills: only the `--dir` folders when there are any."""
        if self.dirs:
            return explicit_locations(self.dirs, self.workspace)
        brought = self.plugin_places.skills if self.plugin_places else ()
        served = served_locations(self.workspace.user_dir, self._has_server)
        return skill_locations(self.workspace, self.config.skills, brought, served)

    def _has_server(self, name: str) -> bool:
        """Return whether the config, or a plugin, has an MCP server of this name."""
        own = self.config.mcp.servers.get(name)
        if own is not None:
            return own.enabled
        from clawft.app.mcp_skills.servers import has_plugin_server  # few plugins bring servers that serve skills

        return has_plugin_server(self, name)

    @cached_property
    def plugin_places(self) -> "PluginPlaces | None":
        """The folders in which plugins have skills, commands, agents and hooks; None where there are no plugins."""
        if not has_plugins(self.workspace, self._plugin_values, self.cache_dir):
            return None  # most users have none, and load no code for them
        return load_places(self.workspace, self._plugin_values(), self.environ, self.cache_dir, self._find_places)

    def _plugin_values(self) -> Mapping[str, Any]:
        plugins: Mapping[str, Any] = own_values(self.config, self.workspace.user_dir).get("plugins", {})
        return plugins

    def _find_places(self) -> "PluginPlaces":
        from clawft.app.plugins import find_places

        return find_places(self)

    @cached_property
    def catalog(self) -> Catalog:
        """All skills that were found."""
        limit = self.config.skills.max_skill_prompt_bytes
        return apply_sidecars(load_catalog(self.locations, max_prompt_bytes=limit, cache_dir=self.cache_dir))

    @cached_property
    def host(self) -> LocalMachine:
        system = "win32" if sys.platform == "cygwin" else sys.platform
        return LocalMachine(system, self.environ, self.config.values, known_tool_names(), lambda: self.catalog.versions)

    @cached_property
    def skills(self) -> tuple[SkillStatus, ...]:
        """Every skill with its state, in order of precedence."""
        scanned = self.screen(self.catalog.found)
        return judge_skills(self.catalog, self.config.skills, self.host, scanned, self.trust_policy.check)

    @property
    def scan_dir(self) -> str | None:
        """The folder in which scan reports are cached; None without a cache."""
        return os.path.join(self.cache_dir, "scan") if self.cache_dir else None

    def is_first_scan(self) -> bool:
        """Return whether loading the skills may take a while, since some folder of them was never scanned."""
        from clawft.scanner.gate import is_first_scan

        wanted = self.config.skills.security.scan_on_load and self.config.skills.enabled
        return wanted and is_first_scan(self.locations, self.scan_dir)

    def screen(self, found: "Sequence[ReviewSubject]", *, by_content: bool = False) -> "ScreenedSkills | None":
        """Return the scanner's verdicts on skills; None where the config turns scanning on load off."""
        security = self.config.skills.security
        if not security.scan_on_load or not self.config.skills.enabled:
            return None
        from clawft.scanner.gate import screen_skills  # light while nothing changed: the scanner itself is not loaded

        return self.weigh(screen_skills(found, self.scan_dir, self.tell_scan, by_content=by_content))

    def weigh(self, screenings: "Sequence[Screening | None]") -> "ScreenedSkills | None":
        """Combine screenings with the findings that the user allowed; None where all skills are clean."""
        if not any(screenings):
            return None
        from clawft.trust.overrides import ScreenedSkills

        blocks = self.config.skills.security.block_critical
        try:
            return ScreenedSkills(tuple(screenings), self.overrides.load(), blocks)
        except ClawftError as error:
            return ScreenedSkills(tuple(screenings), (), blocks, error.diagnostic)

    @cached_property
    def agents(self) -> tuple[AgentStatus, ...]:
        """Every agent with its state, in order of precedence."""
        locations = agent_locations(self.workspace, self.plugin_places.agents if self.plugin_places else ())
        return judge_agents(load_agents(locations), self._distrust_agent)

    def get_skill(self, reference: str) -> SkillStatus:
        """Get the skill of a name, `scope:name` or `plugin:name`. Raises: NotFound with the close match."""
        skill = find_skill(self.skills, reference)
        if skill is None:
            raise _not_found("skill", reference, (skill.name for skill in self.skills))
        return skill

    def get_agent(self, name: str) -> AgentStatus:
        """Get the agent of a name or `plugin:name`. Raises: NotFound with the close match."""
        named = self._list_agents(name)
        return next((candidate for candidate in named if candidate.state == "ready"), named[0])

    def _list_agents(self, name: str) -> list[AgentStatus]:
        """List the agents of a name or `plugin:name`. Raises: NotFound with the close match."""
        named = [agent for agent in self.agents if agent.found.matches_reference(name)]
        if not named:
            raise _not_found("agent", name, (agent.name for agent in self.agents))
        return named

    def diagnose(self, found: DiscoveredSkill) -> tuple[Diagnostic, ...]:
        """Return every diagnostic of a skill's file, read now and whole."""
        from clawft.app.plugins import check_skill_tools
        from clawft.skills.parse.hooks import check_commands
        from clawft.skills.render.prompt import check_dynamic, check_numbers  # a list of skills needs no rendering

        try:
            skill = self.load_prompt(found)
        except ClawftError as error:
            return (error.diagnostic,)
        diagnostics = (*skill.diagnostics, *check_tools(skill, found.file), *check_commands(skill, found.file))
        diagnostics += check_dynamic(skill, found.file, self.config.skills.security.allowed_command_prefixes)
        diagnostics += () if found.location.claude else check_numbers(skill, found.file)
        return tuple(sorted((*diagnostics, *check_skill_tools(self, skill, found)[1]), key=lambda one: one.line))

    def load_skills(self, only: str = "") -> tuple[SkillStatus, ...]:
        """Every skill, or those of one name, with their state, as it is on disk now."""
        return tuple(skill for skill in self.refresh().skills if not only or skill.name == only)

    def refresh(self) -> "App":
        """Forget what was loaded, so that it is read from disk when it is next used; return this app.

        Settings are loaded again at once where one of their files, or its approval, changed. If they cannot be read,
        the old ones stay.
        """
        if "config" in vars(self):
            self.refresh_config()
        for name, attribute in vars(App).items():
            if isinstance(attribute, cached_property) and name not in _UNCHANGED:
                vars(self).pop(name, None)
        return self

    def refresh_config(self) -> Config:
        """Return the settings as they are on disk now, or as they were where they cannot be read. Raises: ClawftError
        where none could be read before."""
        known = vars(self).get("config")
        if known is None:
            return self.config
        try:
            if self._has_new_settings(known):
                known = load_config(self.workspace, self.environ, self._is_approved_config)
                vars(self)["config"] = known
                vars(self).pop("own_config", None)
                self._add_secrets(known)
            self.failure = None
        except ClawftError as error:
            self.failure = error.diagnostic
        return known

    def _has_new_settings(self, known: Config) -> bool:
        """Return whether the approved config files differ from those that were loaded."""
        loaded = {layer.source: layer.data for layer in known.layers if layer.source in known.files}
        counting = read_configs(self.workspace)
        for path, data in self._of_project(counting).items():
            if not self._is_approved_config(path, data):
                del counting[path]
        return counting != loaded

    def _add_secrets(self, config: Config) -> None:
        """Add the secrets of new settings to those that are masked; known ones stay masked."""
        if "secrets" in vars(self):
            vars(self).pop("plugin_schemas", None)
            with suppress(ClawftError):  # a secret that cannot be read is used by nothing
                self.secrets.update(config, self.environ, self.plugin_schemas)

    def copy(self) -> "App":
        """Return an app that has read the same, and sees on its own what changes."""
        app = App(self.workspace, self.environ, self.dirs)
        vars(app).update(vars(self))
        return app

    def choose_agent(self, name: str = "") -> Agent:
        """Choose the agent of a name, or the default one. A project's agent must be approved.

        Raises: NotFound; Refused; ClawftError for one that is broken.
        """
        wanted = name or self.config.agents.defaults.agent
        named = [agent.found for agent in self._list_agents(wanted)]
        trusted = [candidate for candidate in named if self._distrust_agent(candidate) is None]
        agent = next((candidate.agent for candidate in trusted if candidate.agent), None)
        if agent is not None:
            return agent
        if not trusted:
            diagnostic = make_untrusted_agent_diagnostic(named[0])
            raise Refused(diagnostic.code, diagnostic.message, path=diagnostic.path, hint=diagnostic.hint)
        raise ClawftError("agent-broken", f"The agent '{wanted}' cannot be read", path=trusted[0].file)

    def check_agent(self, chosen: Agent, name: str = "") -> tuple[Diagnostic, ...]:
        """Return warnings about the agent of a name: unapproved agents of the project that were skipped, and fields of
        the chosen one that have no effect. Raises: NotFound.
        """
        named = self._list_agents(name or self.config.agents.defaults.agent)
        untrusted = [agent.found for agent in named if self._distrust_agent(agent.found)]
        lost = [
            diagnostic
            for diagnostic in chosen.diagnostics
            if diagnostic.code == "agent-not-honoured" and diagnostic.severity == "warning"
        ]
        return (*map(make_skipped_agent_diagnostic, untrusted), *lost)

    def _distrust_agent(self, found: DiscoveredAgent) -> Diagnostic | None:
        """Return the reason why an agent may not answer; None if it may."""
        own = found.scope not in UNTRUSTED_AGENT_ORIGINS or (found.scope == "project" and self.run_trust.project)
        return None if own else check_agent_approval(found, self.approvals)

    @property
    def sessions(self) -> "SessionStore":
        """The conversations of this user."""
        from clawft.agent.sessions import SessionStore  # a list of skills needs no sessions

        return SessionStore(os.path.join(self.workspace.user_dir, "sessions"))

    def trust_project(self) -> None:
        """Use the project's skills and agents as they are, for as long as this process runs. Raises: Refused."""
        subject, rule = f"skills and agents of {self.workspace.project}", "--trust-project-skills"
        self.audit.write("approval", subject, decision="allowed once", rule=rule)
        self.run_trust.project = True

    def find_waiting_instructions(self) -> "list[Instructions]":
        """Every AGENTS.md and CLAUDE.md that is not the user's own and is not approved as it is now."""
        from clawft.skills.discovery.instructions import load_instructions

        found = load_instructions(self.workspace)[0]
        return [
            file for file in found if not file.own and not self.approvals.has("instructions", file.path, file.content)
        ]

    def approve_instructions(self, seen: "Iterable[Instructions]") -> None:
        """Approve files with the content that a person saw. Raises: ClawftError."""
        self._approve_files("instructions", {file.path: file.content for file in seen})

    def _approve_files(self, kind: str, files: Mapping[str, bytes]) -> None:
        from clawft.trust.audit import AuditEntry

        lines = [AuditEntry("approval", f"{kind} {path}", "allow", {}) for path in files]
        with self.audit.last_step(lines) as commit:
            self.approvals.add(kind, files, commit=commit)

    def user_file(self, name: str) -> str:
        """Return the path of a file in the user's folder, and create the folder if there is none."""
        os.makedirs(self.workspace.user_dir, mode=0o700, exist_ok=True)
        return os.path.join(self.workspace.user_dir, name)

    def open_sandbox(self) -> "Sandbox":
        """Open the sandbox in which programs run. Raises: ClawftError."""
        from clawft.sandbox.sandbox import Sandbox

        settings = self.own_config.sandbox
        return Sandbox(settings, self.workspace, self.environ, self.config.tools.web, self.host_programs)

    @cached_property
    def host_programs(self) -> "HostPrograms":
        """The programs of this machine, as they are started outside the sandbox. Raises: ClawftError."""
        from clawft.trust.programs import make_host_programs

        hooks = self.own_config.hooks.entries.values()
        writable = [*self.own_config.sandbox.writable]
        writable += (path for server in self.config.mcp.servers.values() for path in server.writable)
        writable += (path for hook in hooks if hook.permissions for path in hook.permissions.write)
        return make_host_programs(self.workspace, self.environ, writable)

    def open_runtime(self, only: str = "") -> "AbstractAsyncContextManager[Runtime]":
        """Open everything that turns need; on leaving, end it with all it started. `only` restricts it to one skill.

        Raises: ClawftError.
        """
        from clawft.app.runtime import open_runtime  # a list of skills needs none of it

        return open_runtime(self, only)

    def load_report(self, found: "ReviewSubject") -> "Report":
        """Load the scanner's full report on a skill, a hook or a plugin, from the cache if it has not changed."""
        from clawft.scanner.rescan import load_or_scan

        return load_or_scan(found, self.scan_dir)

    def load_usable(self, found: DiscoveredSkill) -> "UsableSkill":
        """Load a skill with its prompt for use, scanned and judged as it is now. Raises: ClawftError.

        Text and digest are taken of the same bytes, so that it cannot change in between.
        """
        from clawft.skills.discovery.digest import SnapshotReader
        from clawft.trust.permissions import UsableSkill

        reading = SnapshotReader(found.folder)
        skill = load_prompt(found, self.config.skills.max_skill_prompt_bytes, reading.load)
        digest = reading.digest()
        alone = Catalog((structs.replace(found, seen=None),))
        now = judge_skills(alone, self.config.skills, self.host, self.screen(alone.found, by_content=True))[0]
        if now.state == "blocked":
            message = f"The skill '{found.name}' is blocked: {now.reasons[0].message}"
            raise Refused("skill-blocked", message, path=found.file, hint=f"Run: weft skills why {found.name}")
        approval = self._open_trust_policy().get_approval(found, digest, reading.linked)
        if approval is None:
            return UsableSkill(skill, digest.value)
        return UsableSkill(skill, digest.value, is_untrusted=True, granted=approval.power)

    def load_prompt(self, found: DiscoveredSkill) -> Skill:
        """Load a skill with its prompt from disk. Raises: ClawftError."""
        return load_prompt(found, self.config.skills.max_skill_prompt_bytes)


def open_app(environ: Mapping[str, str], cwd: str, dirs: Sequence[str] = ()) -> App:
    """Open the app for an environment and a current folder."""
    return App(find_workspace(environ, cwd), environ, dirs)


def _not_found(kind: str, name: str, known: Iterable[str]) -> NotFound:
    close = find_close(name.rpartition(":")[2], known)
    hint = (f"did you mean '{close}'? " if close else "") + f"Run: weft {kind}s list"
    return NotFound(f"{kind}-not-found", f"No {kind} '{name}'", hint=hint)


def entry_name(app: App, status: SkillStatus) -> str:
    """Return the name of the config entry of a skill: its own name, or its `skillKey`."""
    key = status.found.skill.skill_key if status.found.skill else ""
    entries = app.config.skills.entries
    return key if key in entries and status.name not in entries else status.name


def entry_of(app: App, status: SkillStatus) -> SkillEntry:
    """Return the config's entry for a skill."""
    return app.config.skills.entries.get(entry_name(app, status), SkillEntry())
