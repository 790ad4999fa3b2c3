"""Cmdlets of PowerShell and their aliases: what each does, in facts."""

import re
from collections.abc import Callable

from msgspec import Struct

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands import (
    NOTHING,
    CommandCall,
    CommandValue,
    join_sources,
    join_words,
    run_call,
    sources_of,
    unknown,
)
from clawft.scanner.languages.places import find_persistent_place
from clawft.scanner.languages.powershell.members import call_member
from clawft.scanner.languages.powershell.operators import Item, as_text, flatten
from clawft.scanner.languages.powershell.reader import PowerShellReader
from clawft.scanner.regex import words

ALIASES = {
    "iex": "invoke-expression", "iwr": "invoke-webrequest", "irm": "invoke-restmethod", "saps": "start-process",
    "start": "start-process", "icm": "invoke-command", "gc": "get-content", "cat": "get-content", "type": "get-content",
    "gci": "get-childitem", "ls": "get-childitem", "dir": "get-childitem", "gi": "get-item", "sc": "set-content",
    "ac": "add-content", "ri": "remove-item", "rm": "remove-item", "del": "remove-item", "erase": "remove-item",
    "rd": "remove-item", "rmdir": "remove-item", "cp": "copy-item", "copy": "copy-item", "cpi": "copy-item",
    "mv": "move-item", "move": "move-item", "mi": "move-item", "ren": "move-item", "rni": "move-item",
    "rename-item": "move-item", "sp": "set-itemproperty", "ni": "new-item", "sajb": "start-job", "gcb": "get-clipboard",
    "%": "foreach-object", "foreach": "foreach-object", "?": "where-object", "where": "where-object",
    "select": "select-object", "echo": "write-output", "write": "write-output", "tee": "tee-object", "sal": "set-alias",
    "nal": "set-alias", "new-alias": "set-alias", "ipmo": "import-module", "iwmi": "invoke-wmimethod",
    "invoke-cimmethod": "invoke-wmimethod", "cd": "set-location", "sl": "set-location", "chdir": "set-location",
    "ii": "invoke-item", "start-threadjob": "start-job", "sls": "select-string", "clhy": "clear-history",
    "h": "get-history", "history": "get-history",
}  # fmt: skip
SWITCHES = words(
    "usebasicparsing force recurse wait passthru raw append nonewwindow asjob asplaintext assecurestring noclobber"
    " verbose hidden nonewline disablekeepalive skipcertificatecheck nologo noprofile sta xor"
)


class CmdletParameters(Struct):
    """The named and the plain arguments of a cmdlet."""

    named: dict[str, Item]
    plain: list[Item]

    def get(self, *names: str, place: int = -1) -> CommandValue | None:
        """The value of a parameter, by the beginning of its name or by its place."""
        for name in names:
            for argument, value in self.named.items():
                if argument == name or (len(argument) > 1 and name.startswith(argument)):
                    return as_text(value)
        return as_text(self.plain[place]) if 0 <= place < len(self.plain) else None

    def every(self, *names: str) -> list[CommandValue]:
        """The values of those parameters that are given."""
        return [value for name in names if (value := self.get(name))]

    def has(self, name: str) -> bool:
        return any(name.startswith(argument) for argument in self.named if len(argument) > 2)


def read_parameters(args: list[Item]) -> CmdletParameters:
    """Split arguments into named and plain ones."""
    parameters = CmdletParameters({}, [])
    index = 0
    while index < len(args):
        arg = args[index]
        index += 1
        match = (
            re.fullmatch(r"[-\u2013\u2014]([A-Za-z]\w*)(:?)(.*)", arg.text, re.DOTALL)
            if isinstance(arg, CommandValue)
            else None
        )
        if match is None or not isinstance(arg, CommandValue):
            parameters.plain.append(arg)
        elif match[3]:
            parameters.named[match[1].lower()] = arg.with_text(match[3])
        elif _is_switch(match[1].lower()) or index >= len(args) or _is_name(args[index]):
            parameters.named[match[1].lower()] = NOTHING
        else:
            parameters.named[match[1].lower()] = args[index]
            index += 1
    return parameters


def _is_switch(name: str) -> bool:
    return name in SWITCHES or (len(name) > 2 and any(switch.startswith(name) for switch in SWITCHES))


def _is_name(item: Item) -> bool:
    return isinstance(item, CommandValue) and re.match(r"[-\u2013\u2014][A-Za-z]+:?$", item.text) is not None


def run_command(reader: PowerShellReader, name: str, args: list[Item], call: CommandCall) -> Item:
    """Simulate a command: a cmdlet, or a program that other shells know too."""
    low = name.lower()
    alias = reader.variables.get("alias " + low)
    if alias is not None:
        low = as_text(alias).text.lower()
    if low in ("curl", "wget"):
        native = not any(re.match(r"-(uri|outf|meth|bod|useb|head)", text.lower()) for text in call.texts)
        low = low if native and any(text.startswith("-") for text in call.texts) else "invoke-webrequest"
    low = ALIASES.get(low, low)
    call.name = name
    handler = _CMDLETS.get(low)
    if handler is not None:
        return handler(reader, read_parameters(args), call)
    if not re.match(r"^[\w.~$\\/:-]+$", low):
        return unknown("", call.stdin.sources)
    if re.fullmatch(
        r"(get|set|new|out|write|format|convertto|convertfrom|measure|sort|group|select|test|join|split|resolve|update)-\w+",
        low,
    ):
        return unknown(
            f"$({low})", join_sources(call.stdin.sources, sources_of(flatten(args)) if low[0] in "cjso" else ())
        )
    return run_call(
        reader.world, [CommandValue(low if "\\" not in name and "/" not in name else name), *call.args], call
    )


def _evaluate(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    code = parameters.get("command", place=0) or call.stdin
    world = reader.world
    fact = world.note(call, Kind.EVAL, code.text if code.known else "", code.sources)
    if code.known:
        how = next((source.target for source in code.sources if source.kind is Kind.DECODE), "exec")
        world.child(code.text, "powershell", how, call.offset)
    return unknown("$(iex)", (world.output(fact),))


def _web_request(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    world = reader.world
    url = parameters.get("uri", place=0) or NOTHING
    method = parameters.get("method")
    body = parameters.every("body", "form")
    headers = parameters.every("headers", "credential", "useragent", "websession")
    if file := parameters.get("infile"):
        body.append(world.read(file, call))
    if call.fed and not body and call.stdin.sources and not url.sources:
        body.append(call.stdin)
    sends = bool(body) or bool(method and method.text.upper() in ("POST", "PUT", "PATCH"))
    kind = Kind.SEND if sends else Kind.FETCH
    fact = world.note(call, kind, url.text, sources_of((url, *body, *headers)))
    received = call.output((world.output(fact),))
    if target := parameters.get("outfile"):
        world.write(target, received, call)
        return NOTHING
    return received


def _start_process(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    world = reader.world
    path = parameters.get("filepath", place=0) or NOTHING
    rest = parameters.get("argumentlist", "args", place=1 if not parameters.get("filepath") else 0)
    verb = parameters.get("verb")
    if verb and verb.text.lower() == "runas":
        world.note(call, Kind.PRIVILEGE, f"runas {path.text}")
    if re.match(r"https?://", path.text):
        return NOTHING
    words = [path, *[rest.with_text(word) for word in rest.text.split()]] if rest else [path]
    return run_call(world, words, CommandCall("", [], NOTHING, call.offset)) if path.text else NOTHING


def _get_content(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    path = parameters.get("path", "literalpath", place=0)
    if path is None:
        return NOTHING
    if path.text.lower().startswith("env:"):
        return _env_item(reader, path.text[4:], call)
    return reader.world.read(path, call)


def _env_item(reader: PowerShellReader, name: str, call: CommandCall) -> Item:
    name = name.strip("\\/*") or "*"
    return unknown("$env:" + name, (reader.world.note(call, Kind.ENV, name.upper()),))


def _children(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    path = parameters.get("path", "literalpath", place=0) or CommandValue(".")
    if path.text.lower().startswith("env:"):
        return _env_item(reader, path.text[4:], call)
    name = parameters.get("filter", "include")
    return path.with_text(f"{path.text}/{name.text}" if name and name.text else path.text)


def _set_content(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    path = parameters.get("path", "filepath", "literalpath", place=0)
    value = parameters.get("value", "inputobject", place=1) or call.stdin
    if path is not None:
        reader.world.write(
            path, value, call, append=call.name.lower() in ("add-content", "ac") or parameters.has("append")
        )
    return call.stdin if call.name.lower() in ("tee", "tee-object") else NOTHING


def _new_item(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    path, value = parameters.get("path", place=0), parameters.get("value")
    if path and value:
        reader.world.write(path, value, call)
    return NOTHING


def _copy(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    source, target = parameters.get("path", "literalpath", place=0), parameters.get("destination", "newname", place=1)
    if source and target:
        return run_call(
            reader.world,
            [CommandValue("mv" if call.name.lower()[0] in "mr" else "cp"), source, target],
            CommandCall("", [], NOTHING, call.offset),
        )
    return NOTHING


def _remove(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    path = parameters.get("path", "literalpath", place=0) or call.stdin
    flags = " -Recurse" if parameters.has("recurse") else ""
    flags += " -Force" if parameters.has("force") else ""
    if path.text:
        reader.world.note(call, Kind.DELETE, reader.world.resolve(path.text), path.sources, via=call.name + flags)
    return NOTHING


def _pack(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    source = parameters.get("path", "literalpath", place=0) or call.stdin
    if target := parameters.get("destinationpath", place=1):
        content = reader.world.read(source, call)
        reader.world.write(target, unknown("$(archive)", content.sources), call)
    return NOTHING


def _unpack(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    source, target = parameters.get("path", "literalpath", place=0), parameters.get("destinationpath", place=1)
    if source:
        content = reader.world.read(source, call)
        reader.world.folders[reader.world.resolve(target.text) if target else reader.world.cwd] = content.sources
    return NOTHING


def _persists(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    sources = join_sources(
        sources_of([as_text(value) for value in (*parameters.named.values(), *parameters.plain)]), call.stdin.sources
    )
    reader.world.note(call, Kind.PERSIST, call.line, sources)
    return NOTHING


def _task_action(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    program, rest = parameters.get("execute", place=0) or NOTHING, parameters.get("argument", place=1)
    line = f"{program.text} {rest.text if rest else ''}".strip()
    reader.world.child(line, "batch", "exec", call.offset)
    return CommandValue(line, sources_of([part for part in (program, rest) if part]), program.known)


def _property(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    path, value = parameters.get("path", "literalpath", place=0), parameters.get("value", place=2)
    if path and find_persistent_place(path.text + "\\"):
        reader.world.note(call, Kind.PERSIST, path.text, value.sources if value else ())
        if value and value.known:
            reader.world.child(value.text, "batch", "exec", call.offset)
    elif path and re.search(r"defender|\\policies\\system|amsi", path.text, re.IGNORECASE):
        reader.world.note(call, Kind.PRIVILEGE, call.line)
    return NOTHING


def _new_object(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    name = parameters.get("typename", "comobject", place=0) or NOTHING
    rest = parameters.named.get("argumentlist", parameters.plain[1] if len(parameters.plain) > 1 else [])
    typed = CommandValue(f"[{name.text.lower().removeprefix('system.')}]", known=False)
    return call_member(reader, typed, "new", list(flatten(rest)) or list(parameters.plain[1:]), call.offset)


def _weakens(reader: PowerShellReader, _parameters: CmdletParameters, call: CommandCall) -> Item:
    if call.name.lower() != "set-executionpolicy" or re.search(r"bypass|unrestricted", call.line, re.IGNORECASE):
        reader.world.note(call, Kind.PRIVILEGE, call.line)
    return NOTHING


def _reads(what: str) -> "Handler":
    def run(reader: PowerShellReader, _parameters: CmdletParameters, call: CommandCall) -> Item:
        return unknown(f"$({what})", (reader.world.note(call, Kind.READ, what),))

    return run


def _read_host(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    if parameters.has("assecurestring"):
        return unknown("$(keyboard)", (reader.world.note(call, Kind.READ, "keyboard"),))
    return CommandValue("$(read)", known=False)


def _clears(reader: PowerShellReader, _parameters: CmdletParameters, call: CommandCall) -> Item:
    reader.world.note(call, Kind.DELETE, "history" if "history" in call.name.lower() else "system log", via=call.line)
    return NOTHING


def _bits(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    source, target = parameters.get("source", place=0) or NOTHING, parameters.get("destination", place=1)
    fact = reader.world.note(call, Kind.FETCH, source.text, source.sources)
    target = target or CommandValue(source.text.rpartition("/")[2])
    reader.world.write(target, unknown("$(bits)", (reader.world.output(fact),)), call)
    return NOTHING


def _mail(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    to = parameters.get("to") or NOTHING
    files = [reader.world.read(value, call) for value in parameters.every("attachments")]
    values = [as_text(value) for value in parameters.named.values()]
    reader.world.note(call, Kind.SEND, "mailto:" + to.text, sources_of((*values, *files)))
    return NOTHING


def _resolve(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    name = parameters.get("name", place=0)
    if name and name.sources:
        reader.world.note(call, Kind.SEND, name.text, name.sources)
    return CommandValue("$(dns)", known=False)


def _install(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    name = parameters.get("name", place=0)
    source = parameters.get("repository", "source")
    if name:
        target = f"psgallery:{name.text}" + (f"@{source.text}" if source and source.text else "")
        reader.world.note(call, Kind.INSTALL, target)
    return NOTHING


def _block(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    """A script block was read where it stands; a file that is named runs."""
    path = parameters.get("filepath")
    if path and (content := reader.world.content_of(path.text)):
        reader.world.note(call, Kind.EXEC, call.line, content.sources)
    return unknown("$(job)", sources_of([as_text(argument) for argument in parameters.plain]))


def _passes(_reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    values = [as_text(argument) for argument in parameters.plain]
    if call.stdin.text or call.stdin.sources:
        return CommandValue(
            call.stdin.text,
            join_sources(call.stdin.sources, sources_of(values)),
            call.stdin.known and not parameters.plain,
        )
    return values[0] if len(values) == 1 else join_words(values)


def _each(_reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    """Return the result of a block for each item: all that is in it, and what came in."""
    blocks = [as_text(argument) for argument in parameters.plain]
    return unknown("$(each)", join_sources(call.stdin.sources, sources_of(blocks)))


def _alias(reader: PowerShellReader, parameters: CmdletParameters, _call: CommandCall) -> Item:
    name, value = parameters.get("name", place=0), parameters.get("value", place=1 if not parameters.get("name") else 0)
    if name and value and value.known:
        reader.variables["alias " + name.text.lower()] = value
    return NOTHING


def _import(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    path = parameters.get("name", place=0)
    if path and (content := reader.world.content_of(path.text)):
        reader.world.note(call, Kind.EXEC, call.line, content.sources)
    return NOTHING


def _wmi(reader: PowerShellReader, parameters: CmdletParameters, call: CommandCall) -> Item:
    line = parameters.get("argumentlist", "arguments")
    return reader.world.run_code(line, "batch", call) if line else NOTHING


def _location(reader: PowerShellReader, parameters: CmdletParameters, _call: CommandCall) -> Item:
    path = parameters.get("path", place=0)
    reader.world.cwd = path.text if path and path.known and "$" not in path.text and path.text != "." else ""
    return NOTHING


Handler = Callable[[PowerShellReader, CmdletParameters, CommandCall], Item]
_CMDLETS: dict[str, Handler] = {
    "invoke-expression": _evaluate, "invoke-webrequest": _web_request, "invoke-restmethod": _web_request,
    "start-process": _start_process,
    "invoke-item": _start_process, "get-content": _get_content, "get-childitem": _children, "get-item": _children,
    "set-content": _set_content,
    "add-content": _set_content, "out-file": _set_content, "tee-object": _set_content, "export-csv": _set_content,
    "export-clixml": _set_content,
    "new-item": _new_item, "copy-item": _copy, "move-item": _copy, "remove-item": _remove, "compress-archive": _pack,
    "expand-archive": _unpack,
    "register-scheduledtask": _persists, "register-scheduledjob": _persists, "new-service": _persists,
    "register-wmievent": _persists,
    "set-wmiinstance": _persists, "new-scheduledtaskaction": _task_action, "new-itemproperty": _property,
    "set-itemproperty": _property,
    "new-object": _new_object, "set-mppreference": _weakens, "add-mppreference": _weakens,
    "set-executionpolicy": _weakens,
    "disable-windowsoptionalfeature": _weakens, "set-netfirewallprofile": _weakens, "unblock-file": _weakens,
    "get-clipboard": _reads("clipboard"),
    "get-credential": _reads("keyboard"), "get-history": _reads("history"), "read-host": _read_host,
    "clear-history": _clears,
    "clear-eventlog": _clears, "start-bitstransfer": _bits, "send-mailmessage": _mail, "resolve-dnsname": _resolve,
    "install-module": _install,
    "install-script": _install, "install-package": _install, "invoke-command": _block, "start-job": _block,
    "import-module": _import,
    "invoke-wmimethod": _wmi, "set-location": _location, "set-alias": _alias, "write-output": _passes,
    "out-string": _passes,
    "select-object": _passes, "where-object": _passes, "select-string": _get_content, "foreach-object": _each,
    "convertto-json": _passes,
    "write-host": lambda _reader, _parameters, _call: NOTHING, "out-null": lambda _reader, _parameters, _call: NOTHING,
}  # fmt: skip
