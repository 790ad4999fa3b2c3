"""Programs that read, pack, move, open up and destroy files."""

import posixpath
import re

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands.texts import gather
from clawft.scanner.languages.commands.world import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    join_sources,
    sources_of,
    split_options,
    unknown,
)


def run_cat(world: CommandContext, call: CommandCall) -> CommandValue:
    return gather(world, call, split_options(call.args, "n" if call.name in ("less", "more") else "").operands)


def run_grep(world: CommandContext, call: CommandCall) -> CommandValue:
    """`grep`, `awk`: a pattern first, then files."""
    options = split_options(
        call.args,
        "efmABCFv" if call.name == "awk" else "efmABCd",
        "--include --exclude --exclude-dir --regexp --max-count",
    )
    has_pattern = options.has("-e", "--regexp", "-f")
    pattern = [] if has_pattern else options.operands[:1]
    paths = options.operands if has_pattern else options.operands[1:]
    if call.name in ("awk", "gawk", "mawk"):
        _awk_program(world, call, pattern[0] if pattern else NOTHING)
    content = gather(world, call, paths)
    return call.output(join_sources(content.sources, sources_of(pattern)))


_AWK_SYSTEM = re.compile(r"system\s*\(|\|\s*getline|\|\s*\"|getline\s+\w+\s*<")
_AWK_INET = re.compile(r"/inet[46]?/(?:tcp|udp)/\d+/([^/\"\s]+)/(\w+)")


def _awk_program(world: CommandContext, call: CommandCall, program: CommandValue) -> None:
    if match := re.search(r"system\s*\(\s*\"((?:\\.|[^\"\\])*)\"", program.text):
        world.run_code(CommandValue(match[1].replace('\\"', '"'), program.sources), "shell", call)
    if program.known and _AWK_SYSTEM.search(program.text):
        world.child(program.text, "awk", "exec", call.offset)
    if match := _AWK_INET.search(program.text):
        world.note(call, Kind.CONNECT, f"{match[1]}:{match[2]}", call.stdin.sources)


def run_list(_world: CommandContext, call: CommandCall) -> CommandValue:
    """`ls` and its kin: names of files, not what is in them."""
    return call.output(())


def run_tar(world: CommandContext, call: CommandCall) -> CommandValue:
    args = call.args
    if args and not args[0].text.startswith("-") and re.fullmatch(r"[a-zA-Z]+", args[0].text):
        args = [CommandValue("-" + args[0].text), *args[1:]]
    options = split_options(
        args,
        "fCTXIbHV",
        "--file --directory --exclude --files-from --to-command --use-compress-program --checkpoint-action --transform",
    )
    for program in options.every("--to-command", "--use-compress-program", "-I"):
        world.run_code(program, "shell", call)
    for action in options.every("--checkpoint-action"):
        if action.text.startswith("exec="):
            world.run_code(CommandValue(action.text[5:], action.sources), "shell", call)
    archive, folder = options.get("-f", "--file"), options.get("-C", "--directory")
    if options.has("-c", "-r", "-u", "--create", "--append"):
        return _pack(world, call, archive, _below(folder, options.operands))
    if not options.has("-x", "--extract", "--get"):
        return NOTHING
    content = world.read(archive, call) if archive and archive.text != "-" else call.stdin
    world.folders[world.resolve(folder.text) if folder else world.cwd] = content.sources
    return unknown("$(tar)", content.sources) if options.has("-O", "--to-stdout") else NOTHING


def _below(folder: CommandValue | None, names: list[CommandValue]) -> list[CommandValue]:
    """The names of files as seen from the folder that `-C` goes to."""
    if folder is None:
        return names
    return [
        CommandValue(
            posixpath.normpath(posixpath.join(folder.text, name.text)), join_sources(name.sources, folder.sources)
        )
        for name in names
    ]


def _pack(
    world: CommandContext, call: CommandCall, archive: CommandValue | None, names: list[CommandValue]
) -> CommandValue:
    content = [world.read(name, call) for name in names]
    packed = call.output(join_sources(sources_of(content), call.stdin.sources if not names else ()))
    if archive is None or archive.text == "-":
        return packed
    world.write(archive, packed, call)
    return NOTHING


def run_zip(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "PxitbnO", "--password --exclude")
    if not options.operands:
        return NOTHING
    archive, *names = options.operands
    if archive.text != "-" and not archive.text.endswith(".zip") and "." not in posixpath.basename(archive.text):
        archive = archive.with_text(archive.text + ".zip")
    return _pack(world, call, archive, names)


def run_seven_zip(world: CommandContext, call: CommandCall) -> CommandValue:
    operands = [argument for argument in call.args if not argument.text.startswith("-")]
    if len(operands) < 2:
        return NOTHING
    verb, archive, *names = operands
    if verb.text in ("a", "u"):
        return _pack(world, call, archive, names)
    secret = any(re.match(r"-[pP].", argument.text) for argument in call.args)
    folder = next((argument.text[2:] for argument in call.args if argument.text.startswith("-o")), "")
    return _extract(world, call, archive, folder, locked=secret)


def run_unzip(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "dPx")
    if not options.operands:
        return NOTHING
    folder = options.get("-d")
    archive = options.operands[0]
    result = _extract(world, call, archive, folder.text if folder else "", locked=options.has("-P"))
    return result if options.has("-p", "-c") else NOTHING


def _extract(
    world: CommandContext, call: CommandCall, archive: CommandValue, folder: str, *, locked: bool
) -> CommandValue:
    content = world.read(archive, call)
    sources = content.sources
    if locked:
        sources = join_sources((world.note(call, Kind.LOCKED, world.resolve(archive.text), sources),), sources)
    world.folders[world.resolve(folder) if folder else world.cwd] = sources
    return call.output(sources)


def run_copy(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "tmgoST", "--target-directory --mode --suffix")
    operands = options.operands
    folder = options.get("-t", "--target-directory")
    if folder:
        operands = [*operands, CommandValue(folder.text + "/", folder.sources)]
    if len(operands) < 2:
        return NOTHING
    *sources, target = operands
    for source in sources:
        known = world.content_of(source.text)
        name = target.text
        if len(sources) > 1 and not name.endswith("/"):
            name += "/"
        if known is not None:
            world.write(target, known, call)
            world.copy(source.text, name)
        elif call.name != "mv" or re.match(r"^[~/$]", source.text):
            world.write(target, world.read(source, call), call)
        else:
            world.write(target, NOTHING, call)
    return NOTHING


def run_link(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "tS")
    if len(options.operands) < 2:
        return NOTHING
    source, target = options.operands[0], options.operands[1]
    known = world.content_of(source.text)
    fact = world.note(call, Kind.WRITE, world.resolve(target.text), known.sources if known else (), via="ln")
    if re.match(r"^[~/$]", source.text):
        read = world.note(call, Kind.READ, world.resolve(source.text), via="ln")
        world.files[fact.target] = unknown(f"$(ln {source.text})", (read,))
    elif known:
        world.files[fact.target] = known
    return NOTHING


def run_tee(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args)
    for operand in options.operands:
        world.write(operand, call.stdin, call, append=options.has("-a", "--append"))
    return call.stdin


def run_remove(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "ns" if call.name == "shred" else "")
    flags = "".join(sorted({name.lstrip("-") for name, _ in options.pairs if len(name) == 2}))
    for operand in options.operands:
        via = f"{call.name} -{flags}" if flags else call.name
        world.note(call, Kind.DELETE, world.resolve(operand.text), operand.sources, via=via)
    return NOTHING


def run_disk(world: CommandContext, call: CommandCall) -> CommandValue:
    """`dd`, `mkfs`, `wipefs`: whole disks are written over; `dd` also copies plain files."""
    if call.name == "dd":
        pairs = dict(argument.text.partition("=")[::2] for argument in call.args)
        content = world.read(CommandValue(pairs["if"]), call) if pairs.get("if") else call.stdin
        target = pairs.get("of", "")
        if re.match(r"/dev/(sd|nvme|hd|vd|disk|rdisk|mmcblk|mapper|xvd)", target):
            world.note(call, Kind.DELETE, target, content.sources, via="dd")
        elif target:
            world.write(CommandValue(target), content, call)
        return NOTHING if target else content
    for operand in split_options(call.args, "tLUoN").operands:
        if operand.text.startswith("/dev/") or "$" in operand.text:
            world.note(call, Kind.DELETE, operand.text, operand.sources)
    return NOTHING


def run_truncate(world: CommandContext, call: CommandCall) -> CommandValue:
    for operand in split_options(call.args, "sr", "--size").operands:
        world.note(call, Kind.DELETE, world.resolve(operand.text), operand.sources)
    return NOTHING


def run_find(world: CommandContext, call: CommandCall) -> CommandValue:
    texts = call.texts
    at = next((index for index, text in enumerate(texts) if text.startswith(("-", "(", "!"))), len(texts))
    roots = call.args[:at] or [CommandValue(".")]
    names = [
        argument.text
        for index, argument in enumerate(call.args)
        if index and texts[index - 1] in ("-name", "-iname", "-path", "-wholename")
    ]
    found = [_found(root, name) for root in roots for name in (names or [""])]
    sources: list[CommandValue] = []
    for index, text in enumerate(texts):
        if text == "-delete":
            for path in found:
                world.note(call, Kind.DELETE, world.resolve(path), via="find -delete")
        elif text in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((k for k in range(index + 1, len(texts)) if texts[k] in (";", "+", "\\;")), len(texts))
            words = call.args[index + 1 : end]
            for path in found[:8]:
                filled = [word.with_text(word.text.replace("{}", path)) for word in words]
                if filled:
                    sources.append(world.run_words(filled, call))
    return CommandValue("\n".join(found), sources_of(sources), known=not sources)


def _found(root: CommandValue, name: str) -> str:
    """Return the paths that `find` prints: the folder with the pattern of names below it."""
    if not name:
        return root.text
    return name if name.startswith(("*/", "/")) and root.text in (".", "/") else posixpath.join(root.text, name)


def run_mode(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args)
    operands = [argument for argument in call.args if not re.match(r"-[RvfcHLP]+$|--", argument.text)]
    if call.name == "chmod" and len(operands) > 1:
        mode, *paths = operands
        opens = re.search(
            r"[ugoa]*\+[rwst]*x|\+x|^[0-7]?[1357]|^[0-7]?7[0-7]{2}|[0-7]{2}[2367]$|o\+[rwx]*w|a\+[rwx]*w", mode.text
        )
        if re.match(r"^[0-7]?[2467]\d{3}$|.*[ug]\+[rwx]*s", mode.text) and not mode.text.startswith("0"):
            for path in paths:
                world.note(call, Kind.PRIVILEGE, f"setuid {world.resolve(path.text)}", via="chmod")
        for path in paths if opens else ():
            target = f"{mode.text} {world.resolve(path.text)}"
            world.note(call, Kind.PERMIT, target, world.sources_in(path.text), via="chmod")
    elif call.name in ("setcap", "setfacl") and options.operands:
        world.note(call, Kind.PRIVILEGE, call.line)
    elif call.name == "chown" and operands and operands[0].text.partition(":")[0] in ("root", "0"):
        world.note(call, Kind.PERMIT, call.line.removeprefix("chown "), via="chown")
    return NOTHING


def run_mktemp(_world: CommandContext, call: CommandCall) -> CommandValue:
    return CommandValue(f"/tmp/tmp.{call.offset}", (), known=True)


def run_mkfifo(world: CommandContext, call: CommandCall) -> CommandValue:
    for operand in split_options(call.args, "m").operands:
        if operand.text not in ("p",) or call.name == "mkfifo":
            world.fifos.add(world.resolve(operand.text))
    return NOTHING


FILE_PROGRAMS = {
    "cat": run_cat, "less": run_cat, "more": run_cat, "bat": run_cat, "strings": run_cat, "sort": run_cat,
    "type": run_cat, "grep": run_grep, "egrep": run_grep, "fgrep": run_grep, "rg": run_grep, "zgrep": run_grep,
    "awk": run_grep, "gawk": run_grep, "mawk": run_grep, "ls": run_list, "tree": run_list, "stat": run_list,
    "tar": run_tar, "gtar": run_tar, "bsdtar": run_tar, "zip": run_zip, "7z": run_seven_zip, "7za": run_seven_zip,
    "7zz": run_seven_zip, "unrar": run_seven_zip, "unzip": run_unzip, "cp": run_copy, "mv": run_copy, "ditto": run_copy,
    "install": run_copy, "ln": run_link, "tee": run_tee, "sponge": run_tee, "rm": run_remove,
    "rmdir": run_remove, "unlink": run_remove, "shred": run_remove, "srm": run_remove, "wipe": run_remove,
    "dd": run_disk, "mkfs": run_disk, "mkfs.ext4": run_disk, "mkfs.xfs": run_disk, "wipefs": run_disk,
    "blkdiscard": run_disk, "truncate": run_truncate, "find": run_find, "gfind": run_find, "chmod": run_mode,
    "chown": run_mode, "setcap": run_mode, "setfacl": run_mode, "mktemp": run_mktemp, "mkfifo": run_mkfifo,
    "mknod": run_mkfifo,
}  # fmt: skip
