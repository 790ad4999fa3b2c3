"""Programs that run other programs or code: interpreters, wrappers and started files."""

import re

from clawft.scanner.facts import Kind
from clawft.scanner.languages.commands.system import check_assignment
from clawft.scanner.languages.commands.world import (
    NOTHING,
    CommandCall,
    CommandContext,
    CommandValue,
    join_sources,
    join_words,
    sources_of,
    split_options,
    tail_of,
    unknown,
)

_SHELLS = ("sh", "bash", "zsh", "dash", "ash", "ksh", "rbash", "fish", "mksh", "csh", "tcsh")
_LANGUAGES = {
    "python": "python", "pypy": "python", "node": "javascript", "nodejs": "javascript", "deno": "javascript",
    "bun": "javascript", "tsx": "javascript", "ts-node": "javascript", "ruby": "ruby", "perl": "perl", "php": "php",
    "lua": "lua", "luajit": "lua", "rscript": "r", "osascript": "applescript", "powershell": "powershell",
    "pwsh": "powershell",
}  # fmt: skip
CODE_OPTIONS = {
    "python": ("-c",), "javascript": ("-e", "--eval", "-p", "-pe", "--print"), "ruby": ("-e",), "perl": ("-e", "-E"),
    "php": ("-r",), "lua": ("-e",), "r": ("-e",), "applescript": ("-e",),
}  # fmt: skip
# Code that runs what it reads from its input.
_RUNS_INPUT = re.compile(
    r"\b(?:exec|eval|system|popen|Function|execSync)\b[^\n]*(?:stdin|STDIN|input\(|readFileSync\(0|php://input|<>)"
)
_VERSION = re.compile(r"(?<=[a-z])-?\d[\d.]*$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def interpreter_language(name: str) -> str:
    """The language that a program runs, by its name; empty when it is no interpreter."""
    plain = _VERSION.sub("", name.lower().removesuffix(".exe"))
    return "shell" if plain in _SHELLS else _LANGUAGES.get(plain, "")


def run_file(world: CommandContext, path: CommandValue, call: CommandCall) -> CommandValue:
    """A file is run: what was written to it, in this document, is what runs."""
    fact = world.note(call, Kind.EXEC, call.line, join_sources(path.sources, world.sources_in(path.text)))
    return call.output((world.output(fact), *call.stdin.sources))


def run_shell(world: CommandContext, call: CommandCall) -> CommandValue:
    index = 0
    texts = call.texts
    from_input = False
    while index < len(texts) and texts[index].startswith(("-", "+")) and len(texts[index]) > 1:
        text = texts[index]
        index += 1
        if text.startswith("--"):
            if text in ("--rcfile", "--init-file"):
                index += 1
        elif "c" in text[1:]:
            return world.run_code(call.args[index], "shell", call) if index < len(texts) else NOTHING
        elif text in ("-o", "+o", "-O"):
            index += 1
        elif "s" in text[1:] or text == "-":
            from_input = True
            break
    if not from_input and index < len(texts) and texts[index] not in ("-", "/dev/stdin"):
        return _run_script(world, call, call.args[index])
    if not call.fed:
        return NOTHING
    return world.run_code(call.stdin, "shell", call)


def _run_script(world: CommandContext, call: CommandCall, path: CommandValue) -> CommandValue:
    content = world.content_of(path.text)
    if path.text.startswith("/dev/fd/") and content:
        return world.run_code(content, interpreter_language(call.name) or "shell", call)
    return run_file(world, path, call)


def run_interpreter(world: CommandContext, call: CommandCall) -> CommandValue:
    """`python -c CODE`, `node -e CODE`, `… script`, or code on the input."""
    language = interpreter_language(call.name)
    codes: list[CommandValue] = []
    options = CODE_OPTIONS.get(language, ())
    for index, arg in enumerate(call.args):
        text = arg.text
        if text in options or (language in ("perl", "ruby") and re.fullmatch(r"-[a-zA-Z0]*[eE]", text)):
            codes += call.args[index + 1 : index + 2]
            if language not in ("applescript", "perl"):
                break
        elif language == "python" and re.fullmatch(r"-[a-zA-Z]+c", text):
            codes += call.args[index + 1 : index + 2]
            break
        elif text.startswith("-c") and len(text) > 2 and language == "python":
            codes.append(tail_of(arg, 2))
            break
        elif language == "python" and text == "-m":
            return _run_module(world, call, index)
        elif not text.startswith("-") and not codes:
            if call.name in ("deno", "bun") and text in ("run", "x", "eval"):
                options = (*options, "eval")
                continue
            return _run_script(world, call, arg)
        elif text == "-" and not codes:
            break
    if codes:
        return _run_codes(world, codes, language, call)
    return world.run_code(call.stdin, language, call) if call.fed else NOTHING


def _run_codes(world: CommandContext, codes: list[CommandValue], language: str, call: CommandCall) -> CommandValue:
    """Code on the command line; its input may be data, or code that it runs."""
    if call.stdin.sources and _RUNS_INPUT.search(codes[0].text):
        world.note(call, Kind.EXEC, "", call.stdin.sources)
    joined = "\n".join(code.text for code in codes)
    code = CommandValue(joined, sources_of(codes), all(code.known for code in codes))
    result = world.run_code(code, language, call)
    if language == "applescript":
        result = _asked(world, code.text, result, call)
    return unknown(result.text, join_sources(result.sources, call.stdin.sources, code.sources))


def _asked(world: CommandContext, code: str, result: CommandValue, call: CommandCall) -> CommandValue:
    """Return what a dialog or the clipboard gives back to the shell."""
    what = "keyboard" if "hidden answer" in code else "clipboard" if "the clipboard" in code else ""
    if not what:
        return result
    return unknown(result.text, (*result.sources, world.note(call, Kind.READ, what)))


def _run_module(world: CommandContext, call: CommandCall, index: int) -> CommandValue:
    rest = call.args[index + 1 :]
    if rest and rest[0].text in ("pip", "pipx", "uv", "pip3"):
        return world.run_words(rest, call)
    if rest and rest[0].text == "http.server":
        world.note(call, Kind.LISTEN, rest[1].text if len(rest) > 1 else "8000", via="http.server")
    world.note(call, Kind.EXEC, call.line)
    return call.output(call.stdin.sources)


_WRAPPER_VALUES = {
    "sudo": "ugpCcrtThUR", "doas": "uC", "env": "uCS", "nice": "n", "timeout": "ks", "stdbuf": "ioe", "ionice": "cnp",
    "flock": "wE", "xargs": "ILnPdEsa", "watch": "n", "strace": "eopsP", "chroot": "", "setsid": "", "nohup": "",
    "command": "", "builtin": "", "exec": "a", "busybox": "", "toybox": "", "time": "fo", "proxychains": "f",
    "proxychains4": "f", "torsocks": "", "torify": "", "unbuffer": "", "caffeinate": "t", "arch": "",
    "parallel": "jIaN", "firejail": "", "start": "", "noglob": "", "nocorrect": "", "su-exec": "", "gosu": "",
    "runuser": "ugG", "pkexec": "", "doppler": "", "dotenv": "f", "catchsegv": "", "ltrace": "eo", "uvx-run": "",
    "setarch": "", "taskset": "", "chrt": "", "systemd-run": "p", "entr": "", "batch-run": "", "aws-vault": "",
}  # fmt: skip
_FIRST_OPERAND = ("timeout", "chroot", "flock", "gosu", "su-exec", "taskset", "chrt", "setarch")


def run_wrapper(world: CommandContext, call: CommandCall) -> CommandValue:
    """`sudo`, `env`, `nohup`, `xargs` …: the command that follows is what runs."""
    valued = _WRAPPER_VALUES.get(call.name, "")
    index, args = 0, call.args
    skipped = 0 if call.name in _FIRST_OPERAND else 1
    while index < len(args):
        text = args[index].text
        if text == "--":
            index += 1
            break
        if text.startswith("-") and len(text) > 1:
            if call.name == "env" and text in ("-S", "--split-string") and index + 1 < len(args):
                return world.run_words(
                    [CommandValue(word, args[index + 1].sources) for word in args[index + 1].text.split()], call
                )
            index += (
                2 if not text.startswith("--") and text[-1] in valued and (len(text) == 2 or call.name != "sudo") else 1
            )
        elif call.name in ("env", "sudo", "command") and _ASSIGNMENT.match(text):
            name, _, value = text.partition("=")
            check_assignment(world, name, CommandValue(value), call.offset)
            index += 1
        elif not skipped:
            skipped = 1
            index += 1
        else:
            break
    if call.name in ("sudo", "doas", "pkexec"):
        world.note(call, Kind.PRIVILEGE, call.line)
    rest = args[index:]
    if not rest:
        if call.name == "xargs":
            return call.stdin.with_text(call.stdin.text)
        return unknown("$(env)", (world.note(call, Kind.ENV, "*"),)) if call.name == "env" else NOTHING
    if call.name in ("xargs", "parallel"):
        return _run_xargs(world, call, rest)
    return world.run_words(rest, call)


def _run_xargs(world: CommandContext, call: CommandCall, rest: list[CommandValue]) -> CommandValue:
    """The input becomes arguments; a replacement mark is filled with it."""
    marks = [
        call.args[index + 1].text
        for index, argument in enumerate(call.args[:-1])
        if argument.text in ("-I", "-i", "--replace")
    ]
    marks += [argument.text[2:] for argument in call.args if argument.text.startswith("-I") and len(argument.text) > 2]
    mark = marks[0] if marks else "{}"
    content = call.stdin
    words = (
        [CommandValue(word) for word in content.text.split()[:16]]
        if content.known
        else [CommandValue(content.text or "$(xargs)", known=False)]
    )
    inner = CommandCall(call.name, call.args, NOTHING, call.offset, call.path)
    if any(mark in argument.text for argument in rest):
        result = NOTHING
        for word in words[:4]:
            filled = [_fill(argument, mark, word, content) for argument in rest]
            result = world.run_words(filled, inner)
        return result
    return world.run_words([*rest, *[CommandValue(word.text, content.sources, word.known) for word in words]], inner)


def _fill(word: CommandValue, mark: str, text: CommandValue, content: CommandValue) -> CommandValue:
    if mark not in word.text:
        return word
    return CommandValue(
        word.text.replace(mark, text.text), join_sources(word.sources, content.sources), word.known and text.known
    )


def run_su(world: CommandContext, call: CommandCall) -> CommandValue:
    options = split_options(call.args, "csg", "--command --shell")
    world.note(call, Kind.PRIVILEGE, call.line)
    code = options.get("-c", "--command")
    return world.run_code(code, "shell", call) if code else NOTHING


def run_eval(world: CommandContext, call: CommandCall) -> CommandValue:
    code = join_words(call.args)
    return world.run_code(code, "shell", call, kind=Kind.EVAL) if code.text else NOTHING


def run_source(world: CommandContext, call: CommandCall) -> CommandValue:
    if not call.args:
        return NOTHING
    path = call.args[0]
    content = world.content_of(path.text)
    if path.text in ("/dev/stdin", "-") and call.fed:
        return world.run_code(call.stdin, "shell", call)
    if content and (content.sources or path.text.startswith("/dev/fd/")):
        return world.run_code(content, "shell", call)
    if re.search(r"(^|/)\.env(\.\w+)?$", path.text):
        world.note(call, Kind.READ, world.resolve(path.text))
    return NOTHING


def run_ssh_like(world: CommandContext, call: CommandCall) -> CommandValue:
    """`docker exec`, `docker run`, `kubectl exec`: what follows runs elsewhere; the host's files may be given along."""
    fact = world.note(call, Kind.EXEC, call.line)
    texts = call.texts
    for index, text in enumerate(texts[:-1]):
        if text in ("sh", "bash") and texts[index + 1] in ("-c", "-lc") and index + 2 < len(texts):
            world.child(texts[index + 2], "shell", "exec", call.offset)
    if "--privileged" in texts or any(
        re.match(r"(-v|--volume=?)?/?:/|/:/|/var/run/docker.sock", text) for text in texts
    ):
        world.note(call, Kind.PRIVILEGE, call.line)
    return call.output((world.output(fact),))


def run_open(world: CommandContext, call: CommandCall) -> CommandValue:
    """`open FILE` and its kin start what they are given; an address is shown."""
    options = split_options(call.args, "abe")
    for operand in options.operands:
        if re.match(r"https?:", operand.text):
            world.note(call, Kind.FETCH, operand.text, operand.sources)
        else:
            run_file(world, operand, call)
    return NOTHING


def run_installer(world: CommandContext, call: CommandCall) -> CommandValue:
    """`installer -pkg`, `dpkg -i`, `msiexec /i`, `hdiutil attach`: a package file that runs as it is installed."""
    for argument in call.args:
        if argument.text.startswith("-"):
            continue
        content = world.content_of(argument.text)
        if re.match(r"https?://", argument.text):
            fetched = world.note(call, Kind.FETCH, argument.text, argument.sources)
            world.note(call, Kind.EXEC, call.line, (fetched,))
        elif content and content.sources:
            world.note(call, Kind.EXEC, call.line, content.sources)
            if call.name == "hdiutil":
                world.folders["/Volumes"] = content.sources
    return NOTHING


def run_make(world: CommandContext, call: CommandCall) -> CommandValue:
    where = split_options(call.args, "Cfj").get("-C")
    sources = world.sources_in(f"{where.text}/Makefile" if where else "Makefile")
    world.note(call, Kind.EXEC, call.line, sources)
    return CommandValue("$(make)", (), known=False)


WRAPPER_PROGRAMS = {
    **dict.fromkeys(_SHELLS, run_shell),
    **dict.fromkeys(("python", "pypy", "node", "nodejs", "deno", "bun", "tsx", "ts-node", "ruby", "perl", "php",
    "lua", "luajit",
                     "Rscript", "osascript"), run_interpreter),
    **dict.fromkeys(_WRAPPER_VALUES, run_wrapper),
    "su": run_su, "eval": run_eval, "source": run_source, ".": run_source, "docker": run_ssh_like,
    "podman": run_ssh_like,
    "kubectl": run_ssh_like, "open": run_open, "xdg-open": run_open, "start": run_open, "installer": run_installer,
    "dpkg": run_installer, "rpm": run_installer, "hdiutil": run_installer, "msiexec": run_installer, "make": run_make,
    "gmake": run_make,
    "cmake": run_make, "ninja": run_make,
}  # fmt: skip


# Each with its language and the options that code follows.
_INTERPRETERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "julia": ("julia", ("-e", "-E", "--eval")), "elixir": ("elixir", ("-e", "--eval")), "erl": ("erlang", ("-eval",)),
    "escript": ("erlang", ()), "bb": ("clojure", ("-e", "--eval")), "clojure": ("clojure", ("-e", "--eval", "-M")),
    "clj": ("clojure", ("-e", "--eval")), "racket": ("scheme", ("-e", "--eval")), "guile": ("scheme", ("-c",)),
    "tclsh": ("tcl", ()), "expect": ("tcl", ("-c",)), "runghc": ("haskell", ("-e",)),
    "runhaskell": ("haskell", ("-e",)), "ghc": ("haskell", ("-e",)), "ocaml": ("ocaml", ("-e",)),
    "scala": ("scala", ("-e",)), "groovy": ("groovy", ("-e",)), "crystal": ("crystal", ("eval",)),
    "swift": ("swift", ("-e",)),
}  # fmt: skip
# What these are given is data as a rule; what it makes them run is found in it.
_TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "psql": ("sql", ("-c", "--command")), "mysql": ("sql", ("-e", "--execute")),
    "mariadb": ("sql", ("-e", "--execute")), "sqlcmd": ("sql", ("-q", "-Q")), "vim": ("viml", ("-c", "--cmd")),
    "nvim": ("viml", ("-c", "--cmd")), "vi": ("viml", ("-c",)), "gdb": ("gdb", ("-ex", "--eval-command")),
    "emacs": ("elisp", ("--eval", "-eval", "--execute")), "gnuplot": ("gnuplot", ("-e",)),
}  # fmt: skip


def _codes(call: CommandCall, options: tuple[str, ...]) -> list[CommandValue]:
    return [after for before, after in zip(call.args, call.args[1:], strict=False) if before.text in options]


def run_rare_interpreter(world: CommandContext, call: CommandCall) -> CommandValue:
    """`julia -e CODE`, `tclsh script`, or code on the input."""
    language, options = _INTERPRETERS[call.name]
    codes = _codes(call, options)
    for code in codes:
        world.run_code(code, language, call)
    script = next((argument for argument in call.args if not argument.text.startswith("-")), None)
    if codes:
        return NOTHING
    if script is not None:
        return run_file(world, script, call)
    return world.run_code(call.stdin, language, call) if call.fed else NOTHING


def run_tool(world: CommandContext, call: CommandCall) -> CommandValue:
    """`psql -c STATEMENT`, `vim -c COMMAND`: what is written there is looked at for commands."""
    language, options = _TOOLS[call.name]
    for code in _codes(call, options):
        if code.known:
            world.child(code.text, language, "exec", call.offset)
    return call.output(call.stdin.sources)


INTERPRETER_PROGRAMS = {**dict.fromkeys(_INTERPRETERS, run_rare_interpreter), **dict.fromkeys(_TOOLS, run_tool)}
