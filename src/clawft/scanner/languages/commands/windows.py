"""Programs of Windows that fetch, decode, start and stay; their switches begin with a slash or a dash."""

import re

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands.texts import decode_base64, run_base64
from clawft.scanner.languages.commands.world import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    join_sources,
    join_words,
    sources_of,
    unknown,
)
from clawft.scanner.regex import words

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
        content = world.content_of(argument.text)
        sources = join_sources(sources, content.sources if content else ())
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
            if code.text == "-":
                return world.run_code(call.stdin, "powershell", call)
            return world.run_code(code, "powershell", call)
        if re.fullmatch(r"[-/]f(?:i[a-z]*)?", low) and rest:
            content = world.content_of(rest[0].text)
            world.note(call, Kind.EXEC, call.line, join_sources(rest[0].sources, content.sources if content else ()))
            return NOTHING
        if re.fullmatch(
            r"[-/](?:w|windowstyle|ep|ex|exec|executionpolicy|version|inputformat|outputformat|configurationname)", low
        ):
            continue
        if not low.startswith(("-", "/")) and low not in _SWITCH_VALUES:
            code = CommandValue(
                " ".join(argument.text for argument in call.args[index:]),
                sources_of(call.args[index:]),
                arg.known,
            )
            return world.run_code(code, "powershell", call)
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
