"""The table of slash commands, in the order of `/help`. The modules of this folder run them, by subject."""

from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from clawft.agent.run_request import TurnRequest
    from clawft.cli.repl.context import ReplContext


class SlashCommand(Struct, frozen=True):
    """One command. `runner` and `completer` are functions in modules of this folder, which are loaded at first use."""

    name: str
    usage: str
    description: str
    runner: str
    help: str
    completer: str = ""
    aliases: tuple[str, ...] = ()

    def run(self, repl: "ReplContext", rest: str) -> "Awaitable[TurnRequest | None]":
        """Run it with what follows its name; what it returns, if anything, is run as a turn."""
        run: Callable[[ReplContext, str], Awaitable[TurnRequest | None]] = _load(self.runner)
        return run(repl, rest)

    def complete(self, repl: "ReplContext", partial: str) -> Iterable[str]:
        """Return the words that may follow, for what is typed after the name."""
        if not self.completer:
            return ()
        complete: Callable[[ReplContext, str], Iterable[str]] = _load(self.completer)
        return complete(repl, partial)


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)


def find_command(name: str) -> SlashCommand | None:
    return next((command for command in COMMANDS if name == command.name or name in command.aliases), None)


COMMANDS = (
    SlashCommand(
        "help",
        "/help [topic]",
        "Show help (topics: skills, agents, commands, config)",
        "help:run_help",
        "Without a topic it lists the commands. `/help /NAME` explains the command, where a topic has the same name.",
        completer="help:complete_help",
    ),
    SlashCommand(
        "skills",
        "/skills",
        "List available skills",
        "skills:run_skills",
        "`/skills NAME` shows one of them whole. `/why NAME` tells why it is, or is not, offered to the model.",
        completer="skills:complete_skills",
    ),
    SlashCommand(
        "skill",
        "/skill <name> [args]",
        "Invoke a skill",
        "skills:run_skill",
        """\
What follows the name are its arguments; quotes hold words together. `/NAME args` does the same, unless a command has
that name. Several skills can stand at the start of a message: `/a /b do it`. A shadowed skill is started as
SCOPE:NAME.""",
        completer="skills:complete_skill",
    ),
    SlashCommand(
        "why",
        "/why <name>",
        "Tell why a skill is offered or not",
        "skills:run_why",
        "Every skill of the name is shown, also those that another one hides; `SCOPE:NAME` names one of them.",
        completer="skills:complete_skills",
    ),
    SlashCommand(
        "trust",
        "/trust [name]",
        "Approve skills that are not your own",
        "skills:run_trust",
        """\
What came with the project, a plugin or an installer is not used until you approve it as it is. Without a name, what
waits is listed; `/trust --all` goes through all of it. You are shown what each skill could do, and what changed since
you last approved it. `weft skills trust --list` tells what is approved, and `--revoke` takes it back.""",
        completer="skills:complete_trust",
    ),
    SlashCommand(
        "agents",
        "/agents",
        "List available agents",
        "agent:run_agents",
        "Those that cannot be read, or that another one hides, are listed too, with the reason.",
    ),
    SlashCommand(
        "agent",
        "/agent <name>",
        "Switch to a named agent",
        "agent:run_agent",
        """\
The conversation goes on; the agent's prompt, model, tools and skills count from the next message on. `/agent default`
brings all of them back. A model that you chose with /model or --model stays; `/model default` gives it up.""",
        completer="agent:complete_agents",
    ),
    SlashCommand(
        "hooks",
        "/hooks",
        "List available hooks",
        "settings:run_hooks",
        "`/hooks NAME` shows one of them whole. To turn one on or off: `weft hooks enable` and `weft hooks disable`.",
        completer="settings:complete_hooks",
    ),
    SlashCommand(
        "plugins",
        "/plugins",
        "List available plugins",
        "settings:run_plugins",
        "`/plugins ID` shows one of them whole. To put one into use, or take it out: `weft plugins enable` and "
        "`weft plugins disable`. What is taken out counts at once; what is new joins when weft is started anew.",
        completer="settings:complete_plugins",
    ),
    SlashCommand(
        "tools",
        "/tools",
        "List available tools",
        "agent:run_tools",
        "The agent's `tools` narrow the list, and a loaded skill's `allowed-tools` narrow it until your next message.",
    ),
    SlashCommand(
        "memory",
        "/memory",
        "Show memory summary",
        "workspace:run_memory",
        "`/memory search QUERY` finds facts, your own notes, and what happened, best first.",
        completer="workspace:complete_memory",
    ),
    SlashCommand(
        "config",
        "/config",
        "Show current configuration",
        "settings:run_config",
        """\
`/config KEY` shows one value, such as `/config agents.defaults.model`, or a whole section with its defaults. Secrets
stay hidden. `weft config set` changes a value, and /reload takes it up.""",
        completer="settings:complete_config",
    ),
    SlashCommand(
        "model",
        "/model <name>",
        "Switch model",
        "agent:run_model",
        """\
NAME is `provider/model`, or `offline`. Without a name it tells which one answers now. `/model default` leaves the
choice to the agent and the config again.""",
        completer="agent:complete_model",
    ),
    SlashCommand(
        "mode",
        "/mode <name>",
        "Switch how much is done unasked",
        "agent:run_mode",
        """\
`plan` only looks; `ask` asks before everything that acts; `auto-edit` edits files of the project and runs commands in
the sandbox unasked, and asks for what leaves it; `full` asks only about what is dangerous. What a policy or a rule
forbids stays forbidden in each of them.
It holds for this conversation; `agents.defaults.mode` sets the first one.""",
        completer="agent:complete_mode",
    ),
    SlashCommand(
        "permissions",
        "/permissions",
        "List what is allowed, asked for and denied",
        "agent:run_permissions",
        """\
Deny beats ask, and ask beats allow. `weft permissions allow|ask|deny PATTERN` adds a rule and `remove` takes it away;
`/reload` then sees it. `weft help permissions` tells how patterns are written.""",
    ),
    SlashCommand(
        "session",
        "/session",
        "Show session info",
        "session:run_session",
        "Tokens are what the turns of this session used; /cost tells of today, too.",
    ),
    SlashCommand(
        "cost",
        "/cost",
        "Show tokens and cost",
        "session:run_cost",
        """\
Dollars count the models whose price the config knows: input_usd_per_mtok and output_usd_per_mtok of
[providers.NAME.models.MODEL]. Limits are set in [agents.budget].""",
    ),
    SlashCommand(
        "runs",
        "/runs [ID]",
        "See, watch, answer and end background runs",
        "runs:run_runs",
        """\
`/runs` lists the runs of this project, those that wait for you first; `/runs ID` shows one with its timeline. The start
of an ID is enough. `/runs watch ID` follows it, and Ctrl-C leaves it: it goes on. `/runs answer ID [KEY] ANSWER` says
what it waits for, and `/runs cancel ID` ends it. `weft agent --background` starts one; `weft help runs` tells more.""",
        completer="runs:complete_runs",
    ),
    SlashCommand(
        "processes",
        "/processes [N]",
        "List what runs in the background",
        "processes:run_processes",
        """\
The agent starts them with `background: true` of exec_shell, a dev server for example. `/processes N` shows the end of
what one wrote, and `/processes end N` ends it. All of them end with this conversation.""",
        completer="processes:complete_processes",
    ),
    SlashCommand(
        "workspace",
        "/workspace",
        "Show workspace info",
        "workspace:run_workspace",
        "The project is what CLAWFT_PROJECT names, else the nearest folder upwards with a .clawft/, else this folder.",
    ),
    SlashCommand(
        "reload",
        "/reload",
        "Read config, skills and agents again",
        "settings:run_reload",
        "The conversation goes on. Where the config or the agent cannot be read, all stays as it was.",
    ),
    SlashCommand(
        "compact",
        "/compact",
        "Summarise older turns to make room",
        "session:run_compact",
        """\
All but the last turn is summarised by the model, which makes room and saves tokens. Skills that were loaded stay whole,
and nothing is lost on disk. It happens by itself when the window fills.""",
    ),
    SlashCommand(
        "resume",
        "/resume [key]",
        "Go on with another session",
        "session:run_resume",
        """\
Without a key it lists the newest sessions of this project. The start of a key is enough where only one session begins
so. `weft sessions list` has all of them.""",
        completer="session:complete_resume",
    ),
    SlashCommand(
        "export",
        "/export [file]",
        "Write the session to a file",
        "session:run_export",
        """\
Markdown, or a page for browsers where FILE ends in .html, or the lines as they are on disk where it ends in .jsonl.
Without FILE it is named after the session, in this folder. A file that is there is not overwritten.""",
    ),
    SlashCommand(
        "undo",
        "/undo",
        "Take back the last turn and what it changed",
        "undo:run_undo",
        """\
Each /undo takes back one more turn: what was said, and what edits and commands changed in the project; /redo brings the
last one back. It shows what it would do and asks; `--yes` does not ask, and leaves alone what you changed since.""",
        completer="undo:complete_undo",
    ),
    SlashCommand(
        "redo",
        "/redo",
        "Bring back what /undo took back",
        "undo:run_redo",
        "It shows what it would do and asks. Once you go on with another message there is nothing left to bring back.",
    ),
    SlashCommand(
        "clear",
        "/clear",
        "Clear session history",
        "session:run_clear",
        "The next message begins a new session. What was said so far stays on disk, and /resume goes on with it.",
        aliases=("new",),
    ),
    SlashCommand(
        "reset",
        "/reset",
        "Clear session history, as a reset",
        "session:run_reset",
        """\
The next message begins a new session. What was said so far stays on disk, and /resume goes on with it.

The same as /clear, but hooks hear of a reset (command:reset), and not of a new session (command:new).""",
    ),
    SlashCommand(
        "exit",
        "/exit",
        "Exit the session",
        "session:run_exit",
        "The session is kept: /resume, or `weft agent --continue`, goes on with it. Ctrl-D leaves too.",
        aliases=("quit",),
    ),
)
