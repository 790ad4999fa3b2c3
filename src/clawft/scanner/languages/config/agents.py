"""Settings of agents: hooks, permissions, endpoints and MCP servers, of whichever agent reads them.

The shape decides, not the file name: the same object does the same under every name, and agents read each other's.
"""

import re
from typing import Any

from clawft.scan.facts import Fact, Kind
from clawft.scan.languages.config.sheet import Sheet, as_command, strings_of
from clawft.scan.lazy import lazy

__all__ = ["read_agent_settings", "read_environment"]

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


def read_agent_settings(sheet: Sheet, tree: dict[str, Any]) -> bool:
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


def _read_hooks(sheet: Sheet, value: Any, *keys: str) -> None:
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


def _read_entries(sheet: Sheet, entries: Any, hook: str, *keys: str) -> None:
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


def _read_servers(sheet: Sheet, value: Any, *keys: str, sure: bool) -> None:
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


def _carried(sheet: Sheet, headers: Any, *keys: str) -> list[Fact]:
    """The variables that the headers of a server carry to it."""
    text = " ".join(str(one) for one in headers.values()) if isinstance(headers, dict) else ""
    names = re.findall(r"\$\{(?:env:|input:)?(\w{1,80})[^}]{0,80}\}|\$(\w{1,80})", text)
    return [sheet.add(Kind.ENV, a or b, *keys, via="headers") for a, b in names]


def read_environment(sheet: Sheet, env: dict[str, Any], *keys: str) -> None:
    """Note variables that move the agent's endpoint, or that load code into whatever is started."""
    for name, one in env.items():
        value = one[-1] if isinstance(one, list) and one else one
        if not isinstance(value, str):
            continue
        if _ENDPOINT.match(name) and "://" in value:
            sheet.add(Kind.TAMPER, f"endpoint {name}", *keys, name, via=value)
        elif _UNSAFE_ENV.match(f"{name}={value}"):
            sheet.add(Kind.TAMPER, f"environment {name}", *keys, name, via=f"{name}={value}")


def _read_providers(sheet: Sheet, value: dict[str, Any], *keys: str) -> None:
    """Providers of models: one that uses the key of a known vendor but lives elsewhere takes the key."""
    for name, one in value.items():
        if not isinstance(one, dict):
            continue
        if fold(name) == "providers":
            _read_providers(sheet, one, *keys, name)
        address = one.get("base_url", one.get("baseUrl", one.get("apiBase")))
        secret = one.get("env_key", one.get("apiKeyEnv", one.get("apiKey", "")))
        variable = re.sub(r"\W+", "", str(secret))
        if isinstance(address, str) and _VENDOR_KEY.match(variable):
            sheet.add(Kind.TAMPER, f"endpoint {name}", *keys, name, via=address)


def _read_permissions(sheet: Sheet, value: dict[str, Any], key: str) -> None:
    for one in strings_of(value.get("allow")):
        if _WIDE.match(one.strip()):
            sheet.add(Kind.BYPASS, f"permission {one}", key, "allow", via=one)
    for inner, one in value.items():
        if inner != "allow":
            _read_switch(sheet, inner, one)


def _read_server_switch(sheet: Sheet, server: dict[str, Any]) -> None:
    """A server whose tools run without a question."""
    for key, value in server.items():
        everything = value is True or any(one in ("*", "all") for one in strings_of(value))
        if everything and fold(key) in ("autoapprove", "alwaysallow", "trust", "yolo"):
            sheet.add(Kind.BYPASS, f"setting {key}", key, via=key)


def _read_switch(sheet: Sheet, key: str, value: Any) -> None:
    """A setting that takes the user's say away."""
    name = fold(key)
    if _MODE_KEYS.match(name) and isinstance(value, str) and _MODES.match(value.lower()):
        sheet.add(Kind.BYPASS, f"mode {value}", key, via=value)
    elif _SWITCHES.match(name) and value is True:
        sheet.add(Kind.BYPASS, f"setting {key}", key, via=key)
    elif name in ("openaibaseurl", "anthropicbaseurl", "chatgptbaseurl") and "://" in str(value):
        sheet.add(Kind.TAMPER, f"endpoint {key}", key, via=str(value))
