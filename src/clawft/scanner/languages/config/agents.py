"""Settings of agents, editors and skills: hooks, permissions, servers, tasks and install blocks."""

import re
from typing import Any

from clawft.scanner.facts import Fact, Kind
from clawft.scanner.languages.config.sheet import ConfigSheet, as_command, dict_of, list_of, strings_of
from clawft.scanner.regex import lazy

_CONTAINER = lazy(r"^(initialize|onCreate|updateContent|postCreate|postStart|postAttach)Command$")
_MOUNT = lazy(r"(?:source|src)=([^,]*(?:/\.(?:ssh|aws|gnupg|kube|claude)|docker\.sock|^/$))")
_PROGRAM = lazy(
    r"(^|\.)(git\.path|(default)?interpreterpath|pythonpath|shellpath|shell\.(linux|osx|windows)|runtime|nodepath|execpath"
    r"|executablepath|servercommand|binarypath|phpexecutablepath|gopath|toolspath|alternatetools)$",
    re.IGNORECASE,
)


def read_editor_settings(sheet: ConfigSheet, tree: dict[str, Any], path: str) -> None:
    """Note the tasks and programs that an editor starts."""
    for key, value in tree.items():
        if _CONTAINER.match(key):
            sheet.run(value, key, hook=f"devcontainer:{key}")
    _read_reach(sheet, tree)
    if isinstance(tree.get("tasks"), list) and ("version" in tree or "tasks.json" in path):
        _read_tasks(sheet, tree)
    elif isinstance(tree.get("tasks"), dict) and "tasks" in tree["tasks"]:  # a code-workspace nests them
        _read_tasks(sheet, tree["tasks"])
    for configuration in list_of(tree.get("configurations")):
        if isinstance(configuration, dict) and "request" in configuration:
            _read_launch(sheet, configuration)
    settings = tree.get("settings") if path.endswith(".code-workspace") else tree
    if isinstance(settings, dict) and (".vscode/" in path or "/user/" in path or path.endswith(".code-workspace")):
        _read_settings(sheet, settings)


def _read_reach(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    """Note what a development container may reach of the machine."""
    for argument in strings_of(tree.get("runArgs")):
        if argument in ("--privileged", "--pid=host") or argument.startswith("--cap-add="):
            sheet.add(Kind.PRIVILEGE, f"container runs with {argument}", "runArgs", via=argument)
    for mount in strings_of(tree.get("mounts")):
        if match := _MOUNT.search(mount):
            sheet.add(Kind.PRIVILEGE, f"container mounts {match[1]}", "mounts", via=mount)


def _read_tasks(sheet: ConfigSheet, tree: dict[str, Any]) -> None:
    for task in list_of(tree.get("tasks")):
        if not isinstance(task, dict):
            continue
        opened = str(dict_of(task.get("runOptions")).get("runOn", "")).lower() == "folderopen"
        hook = "vscode:folderOpen" if opened else ""
        env = dict_of(task.get("options")).get("env")
        for part in (task, *(task[key] for key in ("linux", "osx", "windows") if isinstance(task.get(key), dict))):
            command = part.get("command")
            if isinstance(command, dict):
                command = command.get("value")
            args = [word.get("value", "") if isinstance(word, dict) else word for word in list_of(part.get("args"))]
            if isinstance(command, str):
                line = f"{command} {as_command([str(argument) for argument in args])}".strip()
                sheet.run(line, "tasks", hook=hook, env=env)


def _read_launch(sheet: ConfigSheet, one: dict[str, Any]) -> None:
    program = one.get("runtimeExecutable") or one.get("program")
    if isinstance(program, str):
        words = [program, *strings_of(one.get("runtimeArgs")), *strings_of(one.get("args"))]
        sheet.run(words, "configurations", env=one.get("env"))


def _read_settings(sheet: ConfigSheet, settings: dict[str, Any]) -> None:
    for key, value in settings.items():
        if isinstance(value, str) and _PROGRAM.search(key) and ("/" in value or "\\" in value):
            if "${workspaceFolder}" in value or value.startswith(("./", "../")):
                sheet.add(Kind.HOOK, f"vscode:{key}", key, via=value)
        elif key.startswith("terminal.integrated.") and isinstance(value, dict):
            for name, profile in value.items():
                if isinstance(profile, dict) and profile.get("args"):
                    sheet.run(
                        [str(profile.get("path", "sh")), *strings_of(profile["args"])],
                        key,
                        name,
                        hook="vscode:terminal",
                    )
        elif key == "task.allowAutomaticTasks" and value == "on":
            sheet.add(Kind.BYPASS, "setting task.allowAutomaticTasks", key, via=key)


_MANAGERS = {
    **dict.fromkeys(("brew", "homebrew", "cask"), "brew"),
    **dict.fromkeys(("node", "npm", "pnpm", "yarn", "bun", "npx"), "npm"),
    **dict.fromkeys(("pip", "pip3", "python"), "pip"),
    **dict.fromkeys(("uv", "uvx"), "uv"),
    **{name: name for name in ("pipx", "go", "apt", "cargo", "gem", "winget", "choco", "scoop")},
}
_NAMES = ("package", "packages", "formula", "module", "crate", "cask", "name", "tap")
_COMMANDS = ("command", "commands", "cmd", "run", "script", "shell", "exec", "bash", "postInstall", "post_install")


def read_frontmatter(sheet: ConfigSheet, tree: dict[str, Any]) -> bool:
    """Note the programs of a skill's tools, and its install blocks; whether there were any of these."""
    _read_tools(sheet, tree.get("tools"))
    before = sheet.size
    metadata = tree.get("metadata")
    holders = [tree, metadata]
    if isinstance(metadata, dict):
        holders.extend(metadata.values())
    for holder in holders:
        if not isinstance(holder, dict):
            continue
        for key in ("install", "installer", "setup", "dependencies", "prerequisites"):
            if isinstance(block := holder.get(key), list | dict) and (holder is not tree or "description" in tree):
                _read_install(sheet, block, key)
    return sheet.size > before


def _read_tools(sheet: ConfigSheet, tools: Any) -> None:
    """Strings that look like commands are read in any case; a list of words looks like nothing."""
    for tool in list_of(tools):
        if isinstance(tool, dict) and "name" in tool:
            sheet.run(tool.get("command"), "tools", "command")


def _read_install(sheet: ConfigSheet, block: Any, *keys: str) -> None:
    for entry in block if isinstance(block, list) else [block]:
        if isinstance(entry, str):
            if " " in entry.strip():
                sheet.run(entry, *keys)
        elif isinstance(entry, dict):
            _read_entry(sheet, entry, *keys)


def _read_entry(sheet: ConfigSheet, entry: dict[str, Any], *keys: str) -> None:
    kind = str(entry.get("kind", entry.get("type", entry.get("manager", "")))).lower()
    for key in _COMMANDS:
        for line in strings_of(entry.get(key)):
            if " " in line.strip() or "/" in line:
                sheet.run(line, *keys, key)
    address = next((entry[key] for key in ("url", "download", "source", "archive") if _is_address(entry.get(key))), "")
    if kind in _MANAGERS:
        for key in _NAMES:
            for name in strings_of(entry.get(key)):
                if key != "tap" or "/" in name:
                    sheet.add(Kind.INSTALL, f"{_MANAGERS[kind]}:{name}", *keys, via=name)
    if address:
        fetched = sheet.add(Kind.FETCH, address, *keys, via=kind or "download")
        sheet.add(Kind.INSTALL, f"{_MANAGERS.get(kind, 'download')}:{address}", *keys, via=address, sources=(fetched,))


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and "://" in value


_EVENTS = lazy(
    r"^(pretooluse|posttooluse(failure)?|userpromptsubmit|session(start|end|started)|stop|subagent(stop|start)"
    r"|(pre|post)compact|notification|permissionrequest|(before|after)(shellexecution|mcpexecution|readfile|fileedit"
    r"|submitprompt|tool|agent|model|toolselection)|task(start|complete|completed)|workspaceopen|setup|teammateidle"
    r"|configchange|worktree(create|remove)|command(new|reset|stop)?|agentbootstrap|gatewaystartup|message(received|sent)?)$"
)
_WIDE = lazy(
    r"^(\*|(bash|shell|run_shell_command|shelltool|exec|terminal|execute)(\(\s*(\*|\*:\*|:\*|\*\*|\.\*|.)?\s*\))?"
    r"|mcp__\*|(write|edit|read)\(\s*(\*\*?|/+\**|~/?\**|//\*\*)\s*\))$",
    re.IGNORECASE,
)
_MODES = lazy(r"^(bypasspermissions|yolo|dontask|never|danger-?full-?access|full-auto)$")
_MODE_KEYS = lazy(r"^(defaultmode|permissionmode|approvalmode|approvalpolicy|sandboxmode|sandbox)$")
_SWITCHES = lazy(
    r"^(enableallprojectmcpservers|skipdangerousmodepermissionprompt|(dangerously)?skippermissions|chattools(global)?autoapprove|allowallbash|hastrustdialogaccepted"
    r"|bypasspermissionsmodeaccepted)$"
)
_VENDOR_KEY = lazy(r"^(ANTHROPIC|OPENAI|CLAUDE|GEMINI|GOOGLE|GITHUB|AZURE|AWS)_[A-Z_]*(KEY|TOKEN)$")
_ENDPOINT = lazy(
    r"^(anthropic|openai|claude|gemini|google_gemini|google_api|azure_openai|openrouter|codex|openclaw|clawft|llm|model)"
    r"[a-z_]*(base_?url|api_?base|endpoint|api_?url|_host|base_uri)$|^(https?_proxy|all_proxy|node_extra_ca_certs)$",
    re.IGNORECASE,
)
_UNSAFE_ENV = lazy(
    r"^(node_tls_reject_unauthorized=0|node_options=.*(--require|--import|--loader|-r[ =])|bash_env=|ld_preload="
    r"|dyld_insert_libraries=|pythonstartup=|prompt_command=|git_ssh_command=|perl5opt=|rubyopt=|zdotdir=)",
    re.IGNORECASE,
)


def read_agent_settings(sheet: ConfigSheet, tree: dict[str, Any]) -> bool:
    """Note the hooks, permissions, endpoints and servers in a settings object; whether there were any."""
    before = len(sheet.facts)
    for key, value in tree.items():
        name = fold(key)
        if name in ("hooks", "hook"):
            _read_hooks(sheet, value, key)
        elif name in ("mcpservers", "mcp_servers", "mcp", "contextservers", "servers"):
            _read_servers(sheet, value, key, sure=name not in ("mcp", "servers"))
        elif name in ("apikeyhelper", "awsauthrefresh", "awscredentialexport", "otelheadershelper", "notify"):
            sheet.run(value, key, hook=f"agent:{key}")
        elif name in ("statusline", "subagentstatusline", "filesuggestion") and isinstance(value, dict):
            sheet.run(value.get("command"), key, hook=f"claude:{key}")
        elif name in ("env", "environment", "envvars") and isinstance(value, dict):
            read_environment(sheet, value, key)
        elif name in ("modelproviders", "providers", "models") and isinstance(value, dict):
            _read_providers(sheet, value, key)
        elif name == "permissions" and isinstance(value, dict):
            _read_permissions(sheet, value, key)
        else:
            _read_switch(sheet, key, value)
    return len(sheet.facts) > before


def fold(key: str) -> str:
    """A key without the marks that differ between dialects."""
    return key.rstrip("\0").lower().replace("-", "").replace("_", "").replace(".", "")


def _read_hooks(sheet: ConfigSheet, value: Any, *keys: str) -> None:
    """Hooks as Claude Code, Cursor, Gemini, Codex and the runtimes of plugins nest them."""
    if isinstance(value, str):
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for event, entries in pairs:
        event = str(entries.get("event", "") if isinstance(entries, dict) and isinstance(event, int) else event)
        if _EVENTS.match(fold(event)):
            _read_entries(sheet, entries, f"claude:{event.rstrip(chr(0))}", *keys, event)
        elif event in ("internal", "entries") and isinstance(entries, dict):
            _read_hooks(sheet, entries, *keys, event)


def _read_entries(sheet: ConfigSheet, entries: Any, hook: str, *keys: str) -> None:
    if isinstance(entries, str):
        sheet.run(entries, *keys, hook=hook)
        return
    for entry in entries if isinstance(entries, list) else [entries]:
        if isinstance(entry, str):
            sheet.run(entry, *keys, hook=hook)
        elif isinstance(entry, dict):
            command = entry.get("command", entry.get("run", entry.get("script", entry.get("bash"))))
            args = strings_of(entry.get("args"))
            if isinstance(command, str) and args:
                command = f"{command} {as_command(args)}"
            sheet.run(command, *keys, hook=hook, env=entry.get("env"))
            if isinstance(url := entry.get("url"), str):
                asked = Fact(Kind.READ, "the session", sheet.document, sheet.document.line_at(sheet.locate(url)), hook)
                sheet.facts.append(asked)
                sheet.add(Kind.HOOK, hook, *keys, via=url)
                sheet.add(Kind.SEND, url, *keys, via=hook, sources=(asked,))
            if isinstance(prompt := entry.get("prompt"), str):
                sheet.hold(prompt, "markdown", "hook", *keys)
            for inner in ("hooks", "entries"):
                if inner in entry:
                    _read_entries(sheet, entry[inner], hook, *keys)


def _read_servers(sheet: ConfigSheet, value: Any, *keys: str, sure: bool) -> None:
    """MCP servers: a command that starts with the agent, or an address that it talks to."""
    if not isinstance(value, dict):
        return
    if not sure and isinstance(inner := value.get("servers", value.get("mcpServers")), dict):
        value, sure = inner, True
    for name, server in value.items():
        if not isinstance(server, dict):
            continue
        hook = f"mcp:{name.rstrip(chr(0))}"
        env = server.get("env", server.get("environment"))
        command, args = server.get("command", server.get("cmd")), strings_of(server.get("args"))
        if isinstance(command, str) and (args or sure or isinstance(env, dict)):
            sheet.run([*([command] if " " not in command else command.split()), *args], *keys, name, hook=hook, env=env)
        elif isinstance(command, list):
            sheet.run([*command, *args], *keys, name, hook=hook, env=env)
        address = server.get("url", server.get("serverUrl", server.get("httpUrl", server.get("endpoint"))))
        if isinstance(address, str) and (sure or "headers" in server or "type" in server or "transport" in server):
            sources = tuple(_carried(sheet, server.get("headers"), *keys, name))
            sheet.add(Kind.HOOK, hook, *keys, name, via=address)
            sheet.add(Kind.SEND, address, *keys, name, via=hook, sources=sources)
        _read_server_switch(sheet, server)
        if isinstance(env, dict):
            read_environment(sheet, env, *keys, name)


def _carried(sheet: ConfigSheet, headers: Any, *keys: str) -> list[Fact]:
    """The variables that the headers of a server carry to it."""
    text = " ".join(str(header) for header in dict_of(headers).values())
    names = re.findall(r"\$\{(?:env:|input:)?(\w{1,80})[^}]{0,80}\}|\$(\w{1,80})", text)
    return [sheet.add(Kind.ENV, a or b, *keys, via="headers") for a, b in names]


def read_environment(sheet: ConfigSheet, env: dict[str, Any], *keys: str) -> None:
    """Note variables that move the agent's endpoint, or that load code into whatever is started."""
    for name, key in env.items():
        value = key[-1] if isinstance(key, list) and key else key
        if not isinstance(value, str):
            continue
        if _ENDPOINT.match(name) and "://" in value:
            sheet.add(Kind.TAMPER, f"endpoint {name}", *keys, name, via=value)
        elif _UNSAFE_ENV.match(f"{name}={value}"):
            sheet.add(Kind.TAMPER, f"environment {name}", *keys, name, via=f"{name}={value}")


def _read_providers(sheet: ConfigSheet, value: dict[str, Any], *keys: str) -> None:
    """Providers of models: one that uses the key of a known vendor but lives elsewhere takes the key."""
    for name, key in value.items():
        if not isinstance(key, dict):
            continue
        if fold(name) == "providers":
            _read_providers(sheet, key, *keys, name)
        address = key.get("base_url", key.get("baseUrl", key.get("apiBase")))
        secret = key.get("env_key", key.get("apiKeyEnv", key.get("apiKey", "")))
        variable = re.sub(r"\W+", "", str(secret))
        if isinstance(address, str) and _VENDOR_KEY.match(variable):
            sheet.add(Kind.TAMPER, f"endpoint {name}", *keys, name, via=address)


def _read_permissions(sheet: ConfigSheet, value: dict[str, Any], key: str) -> None:
    for permission in strings_of(value.get("allow")):
        if _WIDE.match(permission.strip()):
            sheet.add(Kind.BYPASS, f"permission {permission}", key, "allow", via=permission)
    for inner, name in value.items():
        if inner != "allow":
            _read_switch(sheet, inner, name)


def _read_server_switch(sheet: ConfigSheet, server: dict[str, Any]) -> None:
    """A server whose tools run without a question."""
    for key, value in server.items():
        everything = value is True or any(text in ("*", "all") for text in strings_of(value))
        if everything and fold(key) in ("autoapprove", "alwaysallow", "trust", "yolo"):
            sheet.add(Kind.BYPASS, f"setting {key}", key, via=key)


def _read_switch(sheet: ConfigSheet, key: str, value: Any) -> None:
    """A setting that takes the user's say away."""
    name = fold(key)
    if _MODE_KEYS.match(name) and isinstance(value, str) and _MODES.match(value.lower()):
        sheet.add(Kind.BYPASS, f"mode {value}", key, via=value)
    elif _SWITCHES.match(name) and value is True:
        sheet.add(Kind.BYPASS, f"setting {key}", key, via=key)
    elif name in ("openaibaseurl", "anthropicbaseurl", "chatgptbaseurl") and "://" in str(value):
        sheet.add(Kind.TAMPER, f"endpoint {key}", key, via=str(value))
