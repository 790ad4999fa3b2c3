"""Programs that look into the system or change it for good: secrets, persistence, protections, traces; and those of
Windows.
"""

import re

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands.texts import decode_base64, run_base64
from clawft.scanner.languages.commands.world import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    find_commands,
    join_sources,
    join_words,
    sources_of,
    split_options,
    unknown,
)
from clawft.scanner.regex import words

# Settings that turn a protection off when they have this value.
_WEAK = {
    "NODE_TLS_REJECT_UNAUTHORIZED": r"^0$", "PYTHONHTTPSVERIFY": r"^0$", "GIT_SSL_NO_VERIFY": r"^(1|true|True|TRUE)$",
    "HISTFILE": r"^/dev/null$", "HISTSIZE": r"^0$", "LD_PRELOAD": r".", "DYLD_INSERT_LIBRARIES": r".", "LD_AUDIT": r".",
    "GIT_SSH_COMMAND": r"StrictHostKeyChecking[ =]no", "NODE_OPTIONS": r"--require|-r |--import", "PERL5OPT": r".",
    "BASH_ENV": r".", "PROMPT_COMMAND": r"curl|wget|nc |sh ",
}  # fmt: skip


def check_assignment(world: CommandContext, name: str, value: CommandValue, offset: int) -> None:
    """A variable that turns a protection off, or loads code into every program."""
    weak = _WEAK.get(name)
    if weak and re.search(weak, value.text):
        world.fact(Kind.PRIVILEGE, f"{name}={value.text}", offset, name, value.sources)


def _environment(world: CommandContext, call: CommandCall) -> CommandValue:
    return call.output((world.note(call, Kind.ENV, "*"),))


def run_printenv(world: CommandContext, call: CommandCall) -> CommandValue:
    names = [text for text in call.texts if not text.startswith("-")]
    if not names:
        return _environment(world, call)
    return unknown(f"${names[0]}", tuple(world.note(call, Kind.ENV, name) for name in names))


def run_set(world: CommandContext, call: CommandCall) -> CommandValue:
    if not call.args or call.texts in (["-p"], ["-x"], ["-px"], ["-xp"]):
        return _environment(world, call) if call.name in ("set", "export", "declare", "typeset", "compgen") else NOTHING
    if call.name == "set" and call.texts[:1] == ["+o"] and "history" in call.texts:
        world.note(call, Kind.PRIVILEGE, "set +o history", via="set")
    return NOTHING


def run_security(world: CommandContext, call: CommandCall) -> CommandValue:
    verb = call.texts[0] if call.args else ""
    if verb.startswith(("find-", "dump-keychain", "export", "unlock-keychain")):
        return unknown("$(security)", (world.note(call, Kind.READ, "keychain", via=f"security {verb}"),))
    if verb in ("add-trusted-cert", "authorizationdb"):
        world.note(call, Kind.PRIVILEGE, call.line, via="security")
    return NOTHING


def run_clipboard(world: CommandContext, call: CommandCall) -> CommandValue:
    texts = " ".join(call.texts)
    if call.name == "pbpaste" or call.name == "wl-paste" or re.search(r"(^| )-o|--output|-out", texts):
        return unknown("$(clipboard)", (world.note(call, Kind.READ, "clipboard"),))
    return NOTHING


def run_screen(world: CommandContext, call: CommandCall) -> CommandValue:
    fact = world.note(call, Kind.READ, "screen")
    value = unknown("$(screen)", (fact,))
    paths = [
        argument
        for argument in call.args
        if re.search(r"\.(png|jpe?g|tiff?|pdf|bmp|ppm|gif)$", argument.text)
        or (argument.text.startswith(("/", "~")) and "$" in argument.text)
    ]
    for path in paths or [arg for arg in call.args[-1:] if not arg.text.startswith("-")]:
        world.write(path, value, call)
    return value


def run_crontab(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "u")
    if options.has("-l"):
        return CommandValue("", (), known=True)
    if options.has("-e"):
        return NOTHING
    if options.has("-r"):
        world.note(call, Kind.DELETE, "crontab", via="crontab -r")
        return NOTHING
    content = call.stdin
    for operand in options.operands:
        if operand.text != "-":
            content = world.content_of(operand.text) or operand
    if call.fed or options.operands:
        world.note(call, Kind.PERSIST, "crontab", content.sources)
        if content.known or "* *" in content.text:
            for command in find_commands("user.cron", content.text):
                world.child(command, "shell", "cron", call.offset)
    return NOTHING


def run_at(world: CommandContext, call: CommandCall) -> CommandValue:
    if call.args or call.fed:
        world.note(call, Kind.PERSIST, call.line, call.stdin.sources)
        if call.fed:
            world.run_code(call.stdin, "shell", call)
    return NOTHING


def run_service(world: CommandContext, call: CommandCall) -> CommandValue:
    texts = call.texts
    verbs = {"systemctl": ("enable", "link", "edit", "preset", "reenable"), "launchctl": ("load", "bootstrap",
    "enable", "submit", "kickstart"),
             "update-rc.d": ("defaults", "enable"), "chkconfig": ("on",), "rc-update": ("add",), "pm2": ("startup",
             "save")}  # fmt: skip
    stops = ("stop", "disable", "mask", "unload", "bootout")
    if any(text in verbs.get(call.name, ()) for text in texts):
        content = [found.sources for text in texts if (found := world.content_of(text))]
        world.note(call, Kind.PERSIST, call.line, join_sources(*content))
    elif any(text in stops for text in texts) and re.search(
        r"firewall|ufw|apparmor|auditd|falcon|clamav|defender|crowdstrike|sentinel|osquery|rsyslog|little.?snitch",
        call.line,
        re.IGNORECASE,
    ):
        world.note(call, Kind.PRIVILEGE, call.line)
    return NOTHING


_PROTECTION_OFF = {
    "csrutil": r"disable|authenticated-root disable", "spctl": r"--(master|global)-disable|--add|--disable",
    "setenforce": r"\b(0|permissive)\b", "ufw": r"\bdisable\b|default allow",
    "xattr": r"-[rc]*[dc]\b.*quarantine|-[a-z]*c[a-z]*( |$)|quarantine",
    "iptables": r"-F|--flush|-P (INPUT|OUTPUT) ACCEPT", "nft": r"flush", "auditctl": r"-e 0|-D",
    "sysctl": r"randomize_va_space=0|ptrace_scope=0|kptr_restrict=0",
    "usermod": r"-[aG]+ *(sudo|wheel|root|docker|admin)|-u 0|-o", "useradd": r".", "adduser": r".", "passwd": r".",
    "chpasswd": r"", "visudo": r"", "dscl": r"-(create|append|passwd)", "gpasswd": r"-a", "tccutil": r"reset",
    "mount": r"remount|-o.*bind", "nsenter": r".", "unshare": r".", "insmod": r".", "modprobe": r".", "kextload": r".",
    "scutil": r"--set|--dns", "networksetup": r"-set.*proxy", "sqlite3": r"TCC\.db",
    "firewall-cmd": r"--panic-off|--set-default-zone=trusted", "aa-disable": r".", "aa-teardown": r"",
    "apparmor_parser": r"-R", "update-ca-certificates": r"", "profiles": r"install", "pfctl": r"-d",
}  # fmt: skip


def run_protection(world: CommandContext, call: CommandCall) -> CommandValue:
    rest = " ".join(call.texts)
    if re.search(_PROTECTION_OFF[call.name], rest, re.IGNORECASE):
        world.note(call, Kind.PRIVILEGE, call.line, call.stdin.sources)
    if call.name == "sqlite3":
        paths = split_options(call.args).operands[:1]
        return world.read(paths[0], call) if paths else NOTHING
    return NOTHING


def run_history(world: CommandContext, call: CommandCall) -> CommandValue:
    if any(re.match(r"-[a-z]*[cwd]", text) for text in call.texts):
        world.note(call, Kind.DELETE, "history", via=call.line)
        return NOTHING
    return unknown("$(history)", (world.note(call, Kind.READ, "history"),))


def run_journal(world: CommandContext, call: CommandCall) -> CommandValue:
    rest = " ".join(call.texts)
    if re.search(r"--vacuum|--rotate|erase|\bcl\b|clear|-[a-z]*C\b", rest):
        world.note(call, Kind.DELETE, "system log", via=call.line)
    return call.output(())


def run_defaults(world: CommandContext, call: CommandCall) -> CommandValue:
    rest = " ".join(call.texts)
    if re.search(r"write.*(LoginHook|LogoutHook|loginwindow)", rest):
        world.note(call, Kind.PERSIST, call.line)
    elif re.search(r"write.*(LSQuarantine|GKAutoRearm|Gatekeeper)", rest, re.IGNORECASE):
        world.note(call, Kind.PRIVILEGE, call.line)
    return NOTHING


def run_registry(world: CommandContext, call: CommandCall) -> CommandValue:
    """`reg add` of Windows."""
    texts = call.texts
    rest = " ".join(texts)
    if texts[:1] == ["add"] or texts[:1] == ["ADD"]:
        if re.search(
            r"\\currentversion\\(run|winlogon|policies\\explorer\\run)|\\active setup|image file execution"
            r"|\\services\\",
            rest,
            re.IGNORECASE,
        ):
            world.note(call, Kind.PERSIST, texts[1] if len(texts) > 1 else rest, sources_of(call.args), via="reg add")
            data = next((texts[index + 1] for index, text in enumerate(texts[:-1]) if text.lower() == "/d"), "")
            if data:
                world.child(data, "batch", "exec", call.offset)
        elif re.search(r"windows defender|disableantispyware|enablelua|\\policies\\system|amsi", rest, re.IGNORECASE):
            world.note(call, Kind.PRIVILEGE, call.line, via="reg add")
    elif texts[:1] in (["save"], ["export"]) and re.search(r"\\(sam|security|system)\b", rest, re.IGNORECASE):
        return unknown("$(reg)", (world.note(call, Kind.READ, "/etc/shadow " + rest, via="reg save"),))
    return NOTHING


def run_schtasks(world: CommandContext, call: CommandCall) -> CommandValue:
    texts = call.texts
    if any(text.lower() == "/create" for text in texts):
        world.note(call, Kind.PERSIST, call.line, sources_of(call.args))
        action = next((texts[index + 1] for index, text in enumerate(texts[:-1]) if text.lower() == "/tr"), "")
        if action:
            world.child(action, "batch", "exec", call.offset)
    return NOTHING


def run_keys(world: CommandContext, call: CommandCall) -> CommandValue:
    """`script`, `showkey`, `xinput test`, `logkeys`: what is typed is recorded."""
    rest = " ".join(call.texts)
    if call.name == "xinput" and "test" not in rest:
        return NOTHING
    fact = world.note(call, Kind.READ, "keyboard")
    value = call.output((fact,))
    if call.name == "script":
        options = split_options(call.args, "ctIOB")
        for setting in options.every("-c"):
            world.run_code(setting, "shell", call)
        for operand in options.operands[:1]:
            world.write(operand, value, call)
        if not options.has("-f", "-F", "--flush"):
            return NOTHING
    return value


def run_wallet(world: CommandContext, call: CommandCall) -> CommandValue:
    """Password managers and secret stores that print what they hold."""
    if re.search(r"\b(get|show|read|lookup|list|export|item|secrets?|search)\b", " ".join(call.texts)):
        return call.output((world.note(call, Kind.READ, "keychain"),))
    return NOTHING


def run_host_facts(world: CommandContext, call: CommandCall) -> CommandValue:
    """Simulate a program that prints who and where the user is."""
    return call.output((world.note(call, Kind.EXEC, call.line),))


SYSTEM_PROGRAMS = {
    "printenv": run_printenv, "set": run_set, "export": run_set, "declare": run_set, "typeset": run_set,
    "security": run_security,
    "pbpaste": run_clipboard, "xclip": run_clipboard, "xsel": run_clipboard, "wl-paste": run_clipboard,
    "screencapture": run_screen,
    "scrot": run_screen, "grim": run_screen, "import": run_screen, "gnome-screenshot": run_screen, "maim": run_screen,
    "imagesnap": run_screen, "crontab": run_crontab, "at": run_at, "batch": run_at, "systemctl": run_service,
    "launchctl": run_service,
    "update-rc.d": run_service, "chkconfig": run_service, "rc-update": run_service, "service": run_service,
    "pm2": run_service,
    **dict.fromkeys(_PROTECTION_OFF, run_protection), "history": run_history, "journalctl": run_journal,
    "log": run_journal,
    "wevtutil": run_journal, "dmesg": run_journal, "defaults": run_defaults, "reg": run_registry,
    "schtasks": run_schtasks,
    "script": run_keys, "showkey": run_keys, "xinput": run_keys, "logkeys": run_keys, "secret-tool": run_wallet,
    "pass": run_wallet,
    "lpass": run_wallet, "bw": run_wallet, "keyring": run_wallet,
    **dict.fromkeys(("whoami", "hostname", "id", "uname", "ifconfig", "ip", "ps", "w", "who", "last", "logname",
    "pwd", "systeminfo", "ipconfig", "sw_vers", "system_profiler"), run_host_facts),
}  # fmt: skip


# Programs of Windows that fetch, decode, start and stay; their switches begin with a slash or a dash.
_URL = re.compile(r"(?:https?|ftp|file)://[^\s'\"<>]+", re.IGNORECASE)


def run_certutil(world: CommandContext, call: CommandCall) -> CommandValue:
    low = [text.lower().lstrip("-/") for text in call.texts]
    operands = [argument for argument in call.args if not argument.text.startswith(("-", "/"))]
    if "decode" in low or "decodehex" in low:
        if len(operands) > 1:
            content = world.read(operands[0], call)
            text = content.text
            if content.known:
                inner = CommandCall(
                    "base64",
                    [CommandValue("-d")],
                    CommandValue(re.sub(r"-----[^-\n]+-----", "", text), content.sources),
                    call.offset,
                    fed=True,
                )
                world.write(operands[1], run_base64(world, inner), call)
            else:
                fact = world.note(call, Kind.DECODE, "base64", content.sources, via="certutil -decode")
                world.write(operands[1], unknown("$(certutil)", (fact, *content.sources)), call)
    elif any(word in low for word in ("urlcache", "verifyctl", "url")):
        _download(world, call, operands)
    elif "encode" in low and len(operands) > 1:
        world.write(operands[1], unknown("$(certutil)", world.read(operands[0], call).sources), call)
    return NOTHING


def _download(world: CommandContext, call: CommandCall, operands: list[CommandValue]) -> CommandValue:
    urls = [operand for operand in operands if _URL.match(operand.text) or operand.sources]
    names = [operand for operand in operands if operand not in urls]
    for url in urls:
        fact = world.note(call, Kind.FETCH, url.text, url.sources)
        received = unknown("$(download)", (world.output(fact),))
        world.write(names[-1] if names else CommandValue(url.text.rpartition("/")[2]), received, call)
    return NOTHING


def run_bitsadmin(world: CommandContext, call: CommandCall) -> CommandValue:
    texts = [text.lower() for text in call.texts]
    operands = [argument for argument in call.args if not argument.text.startswith("/")]
    if "/transfer" in texts or "/addfile" in texts:
        if "/upload" in texts and len(operands) > 2:
            world.note(call, Kind.SEND, operands[-2].text, world.read(operands[-1], call).sources)
        else:
            _download(world, call, operands)
    if "/setnotifycmdline" in texts:
        world.note(call, Kind.PERSIST, call.line)
    return NOTHING


def run_script_host(world: CommandContext, call: CommandCall) -> CommandValue:
    """`mshta`, `rundll32`, `regsvr32`, `cscript`, `wmic`, `msiexec`: code from a file, an address or the line."""
    line = " ".join(call.texts)
    sources = sources_of(call.args)
    for url in _URL.findall(line):
        sources = join_sources(sources, (world.note(call, Kind.FETCH, url),))
    for argument in call.args:
        sources = join_sources(sources, world.sources_in(argument.text))
    world.note(call, Kind.EXEC, call.line, sources)
    if match := re.search(r"(javascript|vbscript):(.+)", line, re.IGNORECASE | re.DOTALL):
        world.child(match[2], "javascript", "exec", call.offset)
    if call.name == "wmic" and (match := re.search(r"process\s+call\s+create\s+(.+)", line, re.IGNORECASE)):
        world.child(match[1].strip("'\""), "batch", "exec", call.offset)
    return NOTHING


def decode_command(text: str) -> str | None:
    """The text of `-EncodedCommand`: base64 of UTF-16."""
    data = decode_base64(text)
    if not data:
        return None
    wide = data.count(0) * 3 > len(data)
    return data.decode("utf-16-le" if wide else "utf-8", "replace")


_SWITCH_VALUES = words("hidden bypass unrestricted minimized normal remotesigned 1 text -")


def run_powershell(world: CommandContext, call: CommandCall) -> CommandValue:
    for index, arg in enumerate(call.args):
        low = arg.text.lower()
        rest = call.args[index + 1 :]
        if re.fullmatch(r"[-/]e(?:c|nc?|nco[a-z]*)?", low) and rest:
            value = rest[0]
            fact = world.note(call, Kind.DECODE, "base64", value.sources)
            text = decode_command(value.text) if value.known else None
            code = CommandValue(text or "", (fact, *value.sources), known=text is not None)
            return world.run_code(code, "powershell", call)
        if re.fullmatch(r"[-/]c(?:o[a-z]*)?", low) and rest:
            code = join_words(rest)
            return world.run_code(call.stdin if code.text == "-" else code, "powershell", call)
        if re.fullmatch(r"[-/]f(?:i[a-z]*)?", low) and rest:
            world.note(call, Kind.EXEC, call.line, join_sources(rest[0].sources, world.sources_in(rest[0].text)))
            return NOTHING
        if re.fullmatch(
            r"[-/](?:w|windowstyle|ep|ex|exec|executionpolicy|version|inputformat|outputformat|configurationname)", low
        ):
            continue
        if not low.startswith(("-", "/")) and low not in _SWITCH_VALUES:
            code = join_words(call.args[index:])
            return world.run_code(CommandValue(code.text, code.sources, arg.known), "powershell", call)
    return world.run_code(call.stdin, "powershell", call) if call.fed else NOTHING


def run_cmd(world: CommandContext, call: CommandCall) -> CommandValue:
    for index, text in enumerate(call.texts):
        if text.lower() in ("/c", "/k", "/r", "//c"):
            rest = call.args[index + 1 :]
            code = join_words(rest)
            if len(rest) > 1:  # read right here, so that what it gives flows on
                world.note(call, Kind.EXEC, code.text if code.known else "", code.sources)
                return world.run_words(rest, call)
            return world.run_code(code, "batch", call) if rest else NOTHING
    return world.run_code(call.stdin, "batch", call) if call.fed else NOTHING


def run_service_control(world: CommandContext, call: CommandCall) -> CommandValue:
    """`sc create`, `net user`, `netsh advfirewall`, `vssadmin delete shadows`, `bcdedit`."""
    line = " ".join(call.texts).lower()
    if call.name == "sc" and line.startswith(("create", "config")):
        world.note(call, Kind.PERSIST, call.line)
    elif re.search(r"firewall.*off|disable|user .*/add|localgroup administrators|defender|set opmode", line):
        world.note(call, Kind.PRIVILEGE, call.line)
    elif (
        re.search(r"delete shadows|delete catalog|recoveryenabled no|shadowcopy delete|format ", line)
        or call.name == "cipher"
    ):
        world.note(call, Kind.DELETE, call.line)
    return call.output(())


WINDOWS_PROGRAMS = {
    "certutil": run_certutil, "bitsadmin": run_bitsadmin, "powershell": run_powershell, "pwsh": run_powershell,
    "cmd": run_cmd,
    **dict.fromkeys(("mshta", "rundll32", "regsvr32", "cscript", "wscript", "wmic", "msbuild", "installutil",
    "forfiles", "regasm"), run_script_host),
    **dict.fromkeys(("sc", "net", "net1", "netsh", "vssadmin", "wbadmin", "bcdedit", "cipher", "icacls"),
    run_service_control),
}  # fmt: skip
