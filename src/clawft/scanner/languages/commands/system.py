"""Programs that look into the system or change it for good: secrets, persistence, protections, traces."""

import re

from clawft.scan.facts import Kind
from clawft.scan.languages.commands.options import split_options
from clawft.scan.languages.commands.persistence import find_commands
from clawft.scan.languages.commands.world import NOTHING, Call, Value, World, join_sources

__all__ = ["PROGRAMS", "check_assignment"]

# Settings that turn a protection off when they have this value.
_WEAK = {
    "NODE_TLS_REJECT_UNAUTHORIZED": r"^0$", "PYTHONHTTPSVERIFY": r"^0$",
    "GIT_SSL_NO_VERIFY": r"^(1|true|True|TRUE)$", "HISTFILE": r"^/dev/null$",
    "HISTSIZE": r"^0$", "LD_PRELOAD": r".", "DYLD_INSERT_LIBRARIES": r".",
    "LD_AUDIT": r".",
    "GIT_SSH_COMMAND": r"StrictHostKeyChecking[ =]no",
    "NODE_OPTIONS": r"--require|-r |--import",
    "PERL5OPT": r".", "BASH_ENV": r".", "PROMPT_COMMAND": r"curl|wget|nc |sh ",
}  # fmt: skip


def check_assignment(world: World, name: str, value: Value, offset: int) -> None:
    """A variable that turns a protection off, or loads code into every program."""
    weak = _WEAK.get(name)
    if weak and re.search(weak, value.text):
        world.fact(Kind.PRIVILEGE, f"{name}={value.text}", offset, name, value.sources)


def _environment(world: World, call: Call) -> Value:
    return Value(f"$({call.name})", (world.fact(Kind.ENV, "*", call.offset, call.name),), known=False)


def run_printenv(world: World, call: Call) -> Value:
    names = [one for one in call.texts if not one.startswith("-")]
    if not names:
        return _environment(world, call)
    return Value(f"${names[0]}", tuple(world.fact(Kind.ENV, one, call.offset, call.name) for one in names), known=False)


def run_set(world: World, call: Call) -> Value:
    if not call.args or call.texts in (["-p"], ["-x"], ["-px"], ["-xp"]):
        return _environment(world, call) if call.name in ("set", "export", "declare", "typeset", "compgen") else NOTHING
    if call.name == "set" and call.texts[:1] == ["+o"] and "history" in call.texts:
        world.fact(Kind.PRIVILEGE, "set +o history", call.offset, "set")
    return NOTHING


def _reads(what: str) -> object:
    def run(world: World, call: Call) -> Value:
        return Value(f"$({call.name})", (world.fact(Kind.READ, what, call.offset, call.name),), known=False)

    return run


def run_security(world: World, call: Call) -> Value:
    verb = call.texts[0] if call.args else ""
    if verb.startswith(("find-", "dump-keychain", "export", "unlock-keychain")):
        return Value("$(security)", (world.fact(Kind.READ, "keychain", call.offset, f"security {verb}"),), known=False)
    if verb in ("add-trusted-cert", "authorizationdb"):
        world.fact(Kind.PRIVILEGE, call.line, call.offset, "security")
    return NOTHING


def run_clipboard(world: World, call: Call) -> Value:
    texts = " ".join(call.texts)
    if call.name == "pbpaste" or call.name == "wl-paste" or re.search(r"(^| )-o|--output|-out", texts):
        return Value("$(clipboard)", (world.fact(Kind.READ, "clipboard", call.offset, call.name),), known=False)
    return NOTHING


def run_screen(world: World, call: Call) -> Value:
    fact = world.fact(Kind.READ, "screen", call.offset, call.name)
    value = Value("$(screen)", (fact,), known=False)
    paths = [
        one
        for one in call.args
        if re.search(r"\.(png|jpe?g|tiff?|pdf|bmp|ppm|gif)$", one.text)
        or (one.text.startswith(("/", "~")) and "$" in one.text)
    ]
    for one in paths or [arg for arg in call.args[-1:] if not arg.text.startswith("-")]:
        world.write(one, value, call)
    return value


def run_crontab(world: World, call: Call) -> Value:
    options = split_options(call.args, "u")
    if options.has("-l"):
        return Value("", (), known=True)
    if options.has("-e"):
        return NOTHING
    if options.has("-r"):
        world.fact(Kind.DELETE, "crontab", call.offset, "crontab -r")
        return NOTHING
    given = call.stdin
    for one in options.operands:
        if one.text != "-":
            given = world.content_of(one.text) or one
    if call.fed or options.operands:
        world.fact(Kind.PERSIST, "crontab", call.offset, call.name, given.sources)
        if given.known or "* *" in given.text:
            for command in find_commands("user.cron", given.text):
                world.child(command, "shell", "cron", call.offset)
    return NOTHING


def run_at(world: World, call: Call) -> Value:
    if call.args or call.fed:
        world.fact(Kind.PERSIST, call.line, call.offset, call.name, call.stdin.sources)
        if call.fed:
            world.run_code(call.stdin, "shell", call)
    return NOTHING


def run_service(world: World, call: Call) -> Value:
    texts = call.texts
    verbs = {"systemctl": ("enable", "link", "edit", "preset", "reenable"), "launchctl": ("load", "bootstrap",
    "enable", "submit", "kickstart"),
             "update-rc.d": ("defaults", "enable"), "chkconfig": ("on",), "rc-update": ("add",), "pm2": ("startup",
             "save")}  # fmt: skip
    stops = ("stop", "disable", "mask", "unload", "bootout")
    if any(one in verbs.get(call.name, ()) for one in texts):
        content = [found.sources for one in texts if (found := world.content_of(one))]
        world.fact(Kind.PERSIST, call.line, call.offset, call.name, join_sources(*content))
    elif any(one in stops for one in texts) and re.search(
        r"firewall|ufw|apparmor|auditd|falcon|clamav|defender|crowdstrike|sentinel|osquery|rsyslog|little.?snitch",
        call.line,
        re.IGNORECASE,
    ):
        world.fact(Kind.PRIVILEGE, call.line, call.offset, call.name)
    return NOTHING


_PROTECTION_OFF = {
    "csrutil": r"disable|authenticated-root disable", "spctl": r"--(master|global)-disable|--add|--disable",
    "setenforce": r"\b(0|permissive)\b",
    "ufw": r"\bdisable\b|default allow", "xattr": r"-[rc]*[dc]\b.*quarantine|-[a-z]*c[a-z]*( |$)|quarantine",
    "iptables": r"-F|--flush|-P (INPUT|OUTPUT) ACCEPT",
    "nft": r"flush", "auditctl": r"-e 0|-D", "sysctl": r"randomize_va_space=0|ptrace_scope=0|kptr_restrict=0",
    "usermod": r"-[aG]+ *(sudo|wheel|root|docker|admin)|-u 0|-o",
    "useradd": r".", "adduser": r".", "passwd": r".", "chpasswd": r"", "visudo": r"",
    "dscl": r"-(create|append|passwd)", "gpasswd": r"-a", "tccutil": r"reset",
    "mount": r"remount|-o.*bind", "nsenter": r".", "unshare": r".", "insmod": r".", "modprobe": r".",
    "kextload": r".", "scutil": r"--set|--dns", "networksetup": r"-set.*proxy",
    "sqlite3": r"TCC\.db", "firewall-cmd": r"--panic-off|--set-default-zone=trusted", "aa-disable": r".",
    "aa-teardown": r"", "apparmor_parser": r"-R",
    "update-ca-certificates": r"", "profiles": r"install", "pfctl": r"-d",
}  # fmt: skip


def run_protection(world: World, call: Call) -> Value:
    rest = " ".join(call.texts)
    if re.search(_PROTECTION_OFF[call.name], rest, re.IGNORECASE):
        world.fact(Kind.PRIVILEGE, call.line, call.offset, call.name, call.stdin.sources)
    if call.name == "sqlite3":
        paths = split_options(call.args).operands[:1]
        return world.read(paths[0], call) if paths else NOTHING
    return NOTHING


def run_history(world: World, call: Call) -> Value:
    if any(re.match(r"-[a-z]*[cwd]", one) for one in call.texts):
        world.fact(Kind.DELETE, "history", call.offset, call.line)
        return NOTHING
    return Value("$(history)", (world.fact(Kind.READ, "history", call.offset, call.name),), known=False)


def run_journal(world: World, call: Call) -> Value:
    rest = " ".join(call.texts)
    if re.search(r"--vacuum|--rotate|erase|\bcl\b|clear|-[a-z]*C\b", rest):
        world.fact(Kind.DELETE, "system log", call.offset, call.line)
    return Value(f"$({call.name})", (), known=False)


def run_defaults(world: World, call: Call) -> Value:
    rest = " ".join(call.texts)
    if re.search(r"write.*(LoginHook|LogoutHook|loginwindow)", rest):
        world.fact(Kind.PERSIST, call.line, call.offset, call.name)
    elif re.search(r"write.*(LSQuarantine|GKAutoRearm|Gatekeeper)", rest, re.IGNORECASE):
        world.fact(Kind.PRIVILEGE, call.line, call.offset, call.name)
    return NOTHING


def run_registry(world: World, call: Call) -> Value:
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
            world.fact(
                Kind.PERSIST,
                texts[1] if len(texts) > 1 else rest,
                call.offset,
                "reg add",
                join_sources(*[one.sources for one in call.args]),
            )
            data = next((texts[index + 1] for index, one in enumerate(texts[:-1]) if one.lower() == "/d"), "")
            if data:
                world.child(data, "batch", "exec", call.offset)
        elif re.search(r"windows defender|disableantispyware|enablelua|\\policies\\system|amsi", rest, re.IGNORECASE):
            world.fact(Kind.PRIVILEGE, call.line, call.offset, "reg add")
    elif texts[:1] in (["save"], ["export"]) and re.search(r"\\(sam|security|system)\b", rest, re.IGNORECASE):
        return Value("$(reg)", (world.fact(Kind.READ, "/etc/shadow " + rest, call.offset, "reg save"),), known=False)
    return NOTHING


def run_schtasks(world: World, call: Call) -> Value:
    texts = call.texts
    if any(one.lower() == "/create" for one in texts):
        world.fact(Kind.PERSIST, call.line, call.offset, call.name, join_sources(*[one.sources for one in call.args]))
        action = next((texts[index + 1] for index, one in enumerate(texts[:-1]) if one.lower() == "/tr"), "")
        if action:
            world.child(action, "batch", "exec", call.offset)
    return NOTHING


def run_keys(world: World, call: Call) -> Value:
    """`script`, `showkey`, `xinput test`, `logkeys`: what is typed is recorded."""
    rest = " ".join(call.texts)
    if call.name == "xinput" and "test" not in rest:
        return NOTHING
    fact = world.fact(Kind.READ, "keyboard", call.offset, call.name)
    value = Value(f"$({call.name})", (fact,), known=False)
    if call.name == "script":
        options = split_options(call.args, "ctIOB")
        for one in options.every("-c"):
            world.run_code(one, "shell", call)
        for one in options.operands[:1]:
            world.write(one, value, call)
        if not options.has("-f", "-F", "--flush"):
            return NOTHING
    return value


def run_wallet(world: World, call: Call) -> Value:
    """Password managers and secret stores that print what they hold."""
    if re.search(r"\b(get|show|read|lookup|list|export|item|secrets?|search)\b", " ".join(call.texts)):
        return Value(f"$({call.name})", (world.fact(Kind.READ, "keychain", call.offset, call.name),), known=False)
    return NOTHING


def run_host_facts(world: World, call: Call) -> Value:
    """Who and where the user is."""
    return Value(f"$({call.name})", (world.fact(Kind.EXEC, call.line, call.offset, call.name),), known=False)


PROGRAMS = {
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
