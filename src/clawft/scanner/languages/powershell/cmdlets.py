"""Cmdlets of PowerShell and their short names: what each does, in facts."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from clawft.scan.facts import Kind
from clawft.scan.languages.commands import NOTHING, Call, Value, join_sources, run_call
from clawft.scan.languages.commands.persistence import find_persistence
from clawft.scan.languages.powershell.names import ALIASES, SWITCHES
from clawft.scan.languages.powershell.operators import as_text, flatten
from clawft.scan.languages.powershell.values import Item, sources_in

if TYPE_CHECKING:
    from clawft.scan.languages.powershell.reader import Reader

__all__ = ["run_command"]


class Parameters(Struct):
    """The named and the plain arguments of a cmdlet."""

    named: dict[str, Item]
    plain: list[Item]

    def get(self, *names: str, place: int = -1) -> Value | None:
        """The value of a parameter, by the beginning of its name or by its place."""
        for name in names:
            for given, value in self.named.items():
                if given == name or (len(given) > 1 and name.startswith(given)):
                    return as_text(value)
        return as_text(self.plain[place]) if 0 <= place < len(self.plain) else None

    def has(self, name: str) -> bool:
        return any(name.startswith(given) for given in self.named if len(given) > 2)


def read_parameters(args: list[Item]) -> Parameters:
    """Split arguments into named and plain ones."""
    parameters = Parameters({}, [])
    index = 0
    while index < len(args):
        arg = args[index]
        index += 1
        match = (
            re.fullmatch(r"[-\u2013\u2014]([A-Za-z]\w*)(:?)(.*)", arg.text, re.DOTALL)
            if isinstance(arg, Value)
            else None
        )
        if match is None or not isinstance(arg, Value):
            parameters.plain.append(arg)
        elif match[3]:
            parameters.named[match[1].lower()] = Value(match[3], arg.sources, arg.known)
        elif _is_switch(match[1].lower()) or index >= len(args) or _is_name(args[index]):
            parameters.named[match[1].lower()] = NOTHING
        else:
            parameters.named[match[1].lower()] = args[index]
            index += 1
    return parameters


def _is_switch(name: str) -> bool:
    return name in SWITCHES or (len(name) > 2 and any(one.startswith(name) for one in SWITCHES))


def _is_name(item: Item) -> bool:
    return isinstance(item, Value) and re.match(r"[-\u2013\u2014][A-Za-z]+:?$", item.text) is not None


def run_command(reader: "Reader", name: str, args: list[Item], call: Call) -> Item:
    """What a command does: a cmdlet, or a program that other shells know too."""
    low = name.lower()
    alias = reader.variables.get("alias " + low)
    if alias is not None:
        low = as_text(alias).text.lower()
    if low in ("curl", "wget"):
        native = not any(re.match(r"-(uri|outf|meth|bod|useb|head)", one.lower()) for one in call.texts)
        low = low if native and any(one.startswith("-") for one in call.texts) else "invoke-webrequest"
    low = ALIASES.get(low, low)
    call.name = name
    handler = _CMDLETS.get(low)
    if handler is not None:
        return handler(reader, read_parameters(args), call)
    if not re.match(r"^[\w.~$\\/:-]+$", low):
        return Value("", call.stdin.sources, known=False)
    if re.fullmatch(
        r"(get|set|new|out|write|format|convertto|convertfrom|measure|sort|group|select|test|join|split|resolve|update)-\w+",
        low,
    ):
        return Value(
            f"$({low})",
            join_sources(call.stdin.sources, sources_in(flatten(args)) if low[0] in "cjso" else ()),
            known=False,
        )
    return run_call(reader.world, [Value(low if "\\" not in name and "/" not in name else name), *call.args], call)


def _evaluate(reader: "Reader", given: Parameters, call: Call) -> Item:
    code = given.get("command", place=0) or call.stdin
    world = reader.world
    fact = world.fact(Kind.EVAL, code.text if code.known else "", call.offset, call.name, code.sources)
    if code.known:
        how = next((one.target for one in code.sources if one.kind is Kind.DECODE), "exec")
        world.child(code.text, "powershell", how, call.offset)
    return Value("$(iex)", (world.output(fact),), known=False)


def _web_request(reader: "Reader", given: Parameters, call: Call) -> Item:
    world = reader.world
    url = given.get("uri", place=0) or NOTHING
    method = given.get("method")
    body = [one for one in (given.get("body"), given.get("form")) if one]
    headers = [
        one
        for one in (given.get("headers"), given.get("credential"), given.get("useragent"), given.get("websession"))
        if one
    ]
    if file := given.get("infile"):
        body.append(world.read(file, call))
    if call.fed and not body and call.stdin.sources and not url.sources:
        body.append(call.stdin)
    sends = bool(body) or bool(method and method.text.upper() in ("POST", "PUT", "PATCH"))
    kind = Kind.SEND if sends else Kind.FETCH
    fact = world.fact(kind, url.text, call.offset, call.name, sources_in((url, *body, *headers)))
    received = Value(f"$({call.name})", (world.output(fact),), known=False)
    if target := given.get("outfile"):
        world.write(target, received, call)
        return NOTHING
    return received


def _start_process(reader: "Reader", given: Parameters, call: Call) -> Item:
    world = reader.world
    path = given.get("filepath", place=0) or NOTHING
    rest = given.get("argumentlist", "args", place=1 if not given.get("filepath") else 0)
    verb = given.get("verb")
    if verb and verb.text.lower() == "runas":
        world.fact(Kind.PRIVILEGE, f"runas {path.text}", call.offset, call.name)
    if re.match(r"https?://", path.text):
        return NOTHING
    words = [path, *[Value(one, rest.sources, rest.known) for one in rest.text.split()]] if rest else [path]
    return run_call(world, words, Call("", [], NOTHING, call.offset)) if path.text else NOTHING


def _get_content(reader: "Reader", given: Parameters, call: Call) -> Item:
    path = given.get("path", "literalpath", place=0)
    if path is None:
        return NOTHING
    if path.text.lower().startswith("env:"):
        return _env_item(reader, path.text[4:], call)
    return reader.world.read(path, call)


def _env_item(reader: "Reader", name: str, call: Call) -> Item:
    name = name.strip("\\/*") or "*"
    return Value("$env:" + name, (reader.world.fact(Kind.ENV, name.upper(), call.offset, call.name),), known=False)


def _children(reader: "Reader", given: Parameters, call: Call) -> Item:
    path = given.get("path", "literalpath", place=0) or Value(".")
    if path.text.lower().startswith("env:"):
        return _env_item(reader, path.text[4:], call)
    name = given.get("filter", "include")
    return Value(f"{path.text}/{name.text}" if name and name.text else path.text, path.sources, path.known)


def _set_content(reader: "Reader", given: Parameters, call: Call) -> Item:
    path = given.get("path", "filepath", "literalpath", place=0)
    value = given.get("value", "inputobject", place=1) or call.stdin
    if path is not None:
        reader.world.write(path, value, call, append=call.name.lower() in ("add-content", "ac") or given.has("append"))
    return call.stdin if call.name.lower() in ("tee", "tee-object") else NOTHING


def _new_item(reader: "Reader", given: Parameters, call: Call) -> Item:
    path, value = given.get("path", place=0), given.get("value")
    if path and value:
        reader.world.write(path, value, call)
    return NOTHING


def _copy(reader: "Reader", given: Parameters, call: Call) -> Item:
    source, target = given.get("path", "literalpath", place=0), given.get("destination", "newname", place=1)
    if source and target:
        return run_call(
            reader.world,
            [Value("mv" if call.name.lower()[0] in "mr" else "cp"), source, target],
            Call("", [], NOTHING, call.offset),
        )
    return NOTHING


def _remove(reader: "Reader", given: Parameters, call: Call) -> Item:
    path = given.get("path", "literalpath", place=0) or call.stdin
    flags = " -Recurse" if given.has("recurse") else ""
    flags += " -Force" if given.has("force") else ""
    if path.text:
        reader.world.fact(Kind.DELETE, reader.world.resolve(path.text), call.offset, call.name + flags, path.sources)
    return NOTHING


def _pack(reader: "Reader", given: Parameters, call: Call) -> Item:
    source, target = given.get("path", "literalpath", place=0) or call.stdin, given.get("destinationpath", place=1)
    if target:
        content = reader.world.read(source, call)
        reader.world.write(target, Value("$(archive)", content.sources, known=False), call)
    return NOTHING


def _unpack(reader: "Reader", given: Parameters, call: Call) -> Item:
    source, target = given.get("path", "literalpath", place=0), given.get("destinationpath", place=1)
    if source:
        content = reader.world.read(source, call)
        reader.world.folders[reader.world.resolve(target.text) if target else reader.world.cwd] = content.sources
    return NOTHING


def _persists(reader: "Reader", given: Parameters, call: Call) -> Item:
    sources = join_sources(
        sources_in([as_text(one) for one in (*given.named.values(), *given.plain)]), call.stdin.sources
    )
    reader.world.fact(Kind.PERSIST, call.line, call.offset, call.name, sources)
    return NOTHING


def _task_action(reader: "Reader", given: Parameters, call: Call) -> Item:
    program, rest = given.get("execute", place=0) or NOTHING, given.get("argument", place=1)
    line = f"{program.text} {rest.text if rest else ''}".strip()
    reader.world.child(line, "batch", "exec", call.offset)
    return Value(line, sources_in([one for one in (program, rest) if one]), program.known)


def _property(reader: "Reader", given: Parameters, call: Call) -> Item:
    path, value = given.get("path", "literalpath", place=0), given.get("value", place=2)
    if path and find_persistence(path.text + "\\"):
        reader.world.fact(Kind.PERSIST, path.text, call.offset, call.name, value.sources if value else ())
        if value and value.known:
            reader.world.child(value.text, "batch", "exec", call.offset)
    elif path and re.search(r"defender|\\policies\\system|amsi", path.text, re.IGNORECASE):
        reader.world.fact(Kind.PRIVILEGE, call.line, call.offset, call.name)
    return NOTHING


def _new_object(reader: "Reader", given: Parameters, call: Call) -> Item:
    from clawft.scan.languages.powershell.members import call_member

    name = given.get("typename", "comobject", place=0) or NOTHING
    rest = given.named.get("argumentlist", given.plain[1] if len(given.plain) > 1 else [])
    typed = Value(f"[{name.text.lower().removeprefix('system.')}]", known=False)
    return call_member(reader, typed, "new", list(flatten(rest)) or list(given.plain[1:]), call.offset)


def _weakens(reader: "Reader", _given: Parameters, call: Call) -> Item:
    if call.name.lower() != "set-executionpolicy" or re.search(r"bypass|unrestricted", call.line, re.IGNORECASE):
        reader.world.fact(Kind.PRIVILEGE, call.line, call.offset, call.name)
    return NOTHING


def _reads(what: str) -> "Handler":
    def run(reader: "Reader", _given: Parameters, call: Call) -> Item:
        return Value(f"$({what})", (reader.world.fact(Kind.READ, what, call.offset, call.name),), known=False)

    return run


def _read_host(reader: "Reader", given: Parameters, call: Call) -> Item:
    if given.has("assecurestring"):
        return Value("$(keyboard)", (reader.world.fact(Kind.READ, "keyboard", call.offset, call.name),), known=False)
    return Value("$(read)", known=False)


def _clears(reader: "Reader", _given: Parameters, call: Call) -> Item:
    reader.world.fact(
        Kind.DELETE, "history" if "history" in call.name.lower() else "system log", call.offset, call.line
    )
    return NOTHING


def _bits(reader: "Reader", given: Parameters, call: Call) -> Item:
    source, target = given.get("source", place=0) or NOTHING, given.get("destination", place=1)
    fact = reader.world.fact(Kind.FETCH, source.text, call.offset, call.name, source.sources)
    reader.world.write(
        target or Value(source.text.rpartition("/")[2]),
        Value("$(bits)", (reader.world.output(fact),), known=False),
        call,
    )
    return NOTHING


def _mail(reader: "Reader", given: Parameters, call: Call) -> Item:
    to = given.get("to") or NOTHING
    files = [reader.world.read(one, call) for one in (given.get("attachments"),) if one]
    values = [as_text(one) for one in given.named.values()]
    reader.world.fact(Kind.SEND, "mailto:" + to.text, call.offset, call.name, sources_in((*values, *files)))
    return NOTHING


def _resolve(reader: "Reader", given: Parameters, call: Call) -> Item:
    name = given.get("name", place=0)
    if name and name.sources:
        reader.world.fact(Kind.SEND, name.text, call.offset, call.name, name.sources)
    return Value("$(dns)", known=False)


def _install(reader: "Reader", given: Parameters, call: Call) -> Item:
    name = given.get("name", place=0)
    source = given.get("repository", "source")
    if name:
        target = f"psgallery:{name.text}" + (f"@{source.text}" if source and source.text else "")
        reader.world.fact(Kind.INSTALL, target, call.offset, call.name)
    return NOTHING


def _block(reader: "Reader", given: Parameters, call: Call) -> Item:
    """A script block was read where it stands; a file that is named runs."""
    path = given.get("filepath")
    if path and (content := reader.world.content_of(path.text)):
        reader.world.fact(Kind.EXEC, call.line, call.offset, call.name, content.sources)
    return Value("$(job)", sources_in([as_text(one) for one in given.plain]), known=False)


def _passes(_reader: "Reader", given: Parameters, call: Call) -> Item:
    values = [as_text(one) for one in given.plain]
    if call.stdin.text or call.stdin.sources:
        return Value(
            call.stdin.text, join_sources(call.stdin.sources, sources_in(values)), call.stdin.known and not given.plain
        )
    return (
        values[0]
        if len(values) == 1
        else Value(" ".join(one.text for one in values), sources_in(values), all(one.known for one in values))
    )


def _each(_reader: "Reader", given: Parameters, call: Call) -> Item:
    """What a block gives for each item: all that is in it, and what came in."""
    blocks = [as_text(one) for one in given.plain]
    return Value("$(each)", join_sources(call.stdin.sources, sources_in(blocks)), known=False)


def _alias(reader: "Reader", given: Parameters, _call: Call) -> Item:
    name, value = given.get("name", place=0), given.get("value", place=1 if not given.get("name") else 0)
    if name and value and value.known:
        reader.variables["alias " + name.text.lower()] = value
    return NOTHING


def _import(reader: "Reader", given: Parameters, call: Call) -> Item:
    path = given.get("name", place=0)
    if path and (content := reader.world.content_of(path.text)):
        reader.world.fact(Kind.EXEC, call.line, call.offset, call.name, content.sources)
    return NOTHING


def _wmi(reader: "Reader", given: Parameters, call: Call) -> Item:
    line = given.get("argumentlist", "arguments")
    if line:
        return reader.world.run_code(line, "batch", call)
    return NOTHING


def _location(reader: "Reader", given: Parameters, _call: Call) -> Item:
    path = given.get("path", place=0)
    reader.world.cwd = path.text if path and path.known and "$" not in path.text and path.text != "." else ""
    return NOTHING


Handler = Callable[["Reader", Parameters, Call], Item]
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
    "write-host": lambda _reader, _given, _call: NOTHING, "out-null": lambda _reader, _given, _call: NOTHING,
}  # fmt: skip
