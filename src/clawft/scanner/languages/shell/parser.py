"""The commands of a shell script, parsed tolerantly in one pass."""

import re

from clawft.scanner.languages.shell.words import (
    MAX_NESTING,
    CommandGroup,
    CommandSubstitution,
    Node,
    ShellFunction,
    ShellPipe,
    ShellRedirect,
    ShellWord,
    SimpleCommand,
    WordReader,
)

_BLANKS = re.compile(r"(?:[ \t\r\f\v]|\\\r?\n)+")
PROMPT = re.compile(r"[ \t]*(?:\$|%|\u276f|\u279c|\xbb|[\w.-]+@[\w.-]+[^\s$#]{0,60}[$#%])[ \t]+(?=[^\s=])")
_REDIRECT = re.compile(r"(\d*|\{\w+\})(<<<|<<-?|<>|<&|>&|>>|>\||&>>|&>|<|>)")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w .:/|@-]{0,60}>(?!\()")
_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\[[^\]\n]{0,80}\])?(\+?)=", re.ASCII)
_FUNCTION = re.compile(r"[ \t]*\([ \t]*\)")
_KEYWORDS = frozenset((
    "if", "then", "elif", "else", "fi", "for", "while", "until", "select", "do", "done", "case", "esac", "function",
    "{", "}", "!", "time", "in", "[[", "begin", "end",
))  # fmt: skip
_CLOSERS = frozenset((
    "then", "elif", "else", "fi", "do", "done", "esac", "}", "end",
))  # fmt: skip


class ShellParser:
    """Reads commands at a place of the text and moves on."""

    def __init__(self, text: str, depth: int = 0, *, base: int = 0, fish: bool = False) -> None:
        self.text = text
        self.base = base  # where the text begins in the document
        self.at = 0
        self.depth = 0
        self.pending: list[ShellRedirect] = []  # here-documents that begin after the line
        self.fish = fish
        self.words = WordReader(text, self._read_nested, depth, base)
        self._closed = ""  # the word or mark that ended the last list

    def read(self) -> list[Node]:
        return self._list(frozenset())

    def end_line(self) -> None:
        """Pass a line break, and the here-documents that begin after it."""
        self.at += 1
        if self.pending:
            pending, self.pending = self.pending, []
            for redirect in pending:
                self._here_document(redirect)
        if prompt := PROMPT.match(self.text, self.at):
            self.at = prompt.end()

    def _here_document(self, redirect: ShellRedirect) -> None:
        mark = str(redirect.target)
        tabs = r"\t*" if redirect.strip else r"[ \t]*" if self.depth else ""
        end = re.compile(rf"^{tabs}{re.escape(mark)}[ \t\r]*$", re.MULTILINE).search(self.text, self.at)
        begin = self.at
        body = self.text[begin : end.start() if end else len(self.text)]
        if redirect.strip:
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
        self.at = end.end() if end else len(self.text)
        redirect.target = body
        if not redirect.quoted and ("$" in body or "`" in body or "\\" in body):
            redirect.target = parse_here_document(body, self.base + begin)

    def skip_blanks(self) -> None:
        if match := _BLANKS.match(self.text, self.at):
            self.at = match.end()

    def skip_blank_lines(self) -> None:
        """Blanks, line breaks and comments, after a `|`."""
        while self.at < len(self.text):
            self.skip_blanks()
            char = self.text[self.at : self.at + 1]
            if char == "\n":
                self.end_line()
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _read_nested(self, at: int, depth: int) -> tuple[list[Node], int]:
        """The commands in `$( )`, in place."""
        before, self.at = self.at, at
        outer, self.words.depth = self.words.depth, depth
        closed = self._closed
        body = self._list(frozenset((")",)))
        end, self.at = self.at, before
        self.words.depth, self._closed = outer, closed
        return body, end

    def _list(self, stop: frozenset[str]) -> list[Node]:
        """Commands up to one of the words or marks of `stop`, which is passed."""
        nodes: list[Node] = []
        self._closed = ""
        while self._skip_separators(stop):
            begin = self.at
            if self.text[begin] == ")":
                self.at += 1
                if ")" in stop:
                    self._closed = ")"
                    return nodes
                continue
            node = self._pipeline(stop)
            if node is not None:
                nodes.append(node)
            if self._closed:
                if self._closed in stop:
                    return nodes
                self._closed = ""
            if self.at == begin:
                self.at += 1
        return nodes

    def _skip_separators(self, stop: frozenset[str]) -> bool:
        """Move on to the next command; false at the end of the list."""
        text, size = self.text, len(self.text)
        while self.at < size:
            char = text[self.at]
            if char in " \t\r\f\v":
                self.at += 1
            elif char == "\n":
                self.end_line()
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = size if end < 0 else end
            elif text.startswith(";;", self.at) and ";;" in stop:
                self.at += 2
                self._closed = ";;"
                return False
            elif char in ";&|":
                self.at += 1
            elif char == "\\" and text[self.at + 1 : self.at + 2] in ("\n", "\r"):
                self.at += 2
            else:
                return True
        return False

    def _pipeline(self, stop: frozenset[str]) -> Node | None:
        first = self._command(stop)
        if self._closed:
            return first
        commands = [first] if first else []
        while self._pipe_follows():
            self.skip_blank_lines()
            node = self._command(stop)
            if node is not None:
                commands.append(node)
            if self._is_closed():
                break
        if len(commands) > 1:
            return ShellPipe(commands)
        return commands[0] if commands else None

    def _is_closed(self) -> bool:
        return bool(self._closed)

    def _pipe_follows(self) -> bool:
        self.skip_blanks()
        text, at = self.text, self.at
        if text.startswith("|", at) and not text.startswith("||", at):
            self.at += 2 if text.startswith("|&", at) else 1
            return True
        return False

    def _command(self, stop: frozenset[str]) -> Node | None:
        if self.at == 0 and (prompt := PROMPT.match(self.text)):
            self.at = prompt.end()
        self.skip_blanks()
        char = self.text[self.at : self.at + 1]
        if char == "(" and self.words.depth < MAX_NESTING:
            return self._subshell()
        begin = self.at
        command = SimpleCommand(self.base + begin, [], [], [])
        while self._read_item(command):
            if len(command.words) == 1 and not command.assigns and isinstance(command.words[0], str):
                word = command.words[0]
                if word in _KEYWORDS and self._is_bare(begin, word):
                    if word not in ("in", "!", "time", "[[", "begin", "end") or (
                        self.fish and word in ("begin", "end")
                    ):
                        return self._keyword(word, command, stop)
                    if word in ("!", "time"):
                        command.words.clear()
                    elif word == "[[":
                        return self._test(command)
                elif match := _FUNCTION.match(self.text, self.at):
                    self.at = match.end()
                    return self._function(word)
        return command if command.words or command.assigns or command.redirects else None

    def _is_bare(self, offset: int, word: str) -> bool:
        return self.at - len(word) >= offset and self.text.startswith(word, self.at - len(word))

    def _read_item(self, command: SimpleCommand) -> bool:
        """One word, assignment or redirect; false where the command ends."""
        self.skip_blanks()
        text = self.text
        if self.at >= len(text):
            return False
        char = text[self.at]
        if char in "<>&0123456789{" and (match := _REDIRECT.match(text, self.at)):
            if char == "<" and (placeholder := _PLACEHOLDER.match(text, self.at)):
                self.at = placeholder.end()
                command.words.append(placeholder[0])
                return True
            if text.startswith("(", self.at + 1) and char in "<>":
                word, self.at = self.words.read_process(self.at)
                command.words.append(word)
                return True
            self._redirect(command, match)
            return True
        if char in "\n;|&" or (char == "#" and text[self.at - 1 : self.at] in (" ", "\t", "")):
            return False
        if char == ")":
            return False
        if char == "(":
            return self._parenthesis(command)
        if not command.words and (match := _ASSIGN.match(text, self.at)):
            self._assign(command, match)
            return True
        word, end = self.words.read(self.at)
        if end == self.at:
            self.at += 1
            return True
        self.at = end
        command.words.append(word)
        return True

    def _parenthesis(self, command: SimpleCommand) -> bool:
        """A `(` among words: of fish a substitution, else noise that is passed over."""
        self.at += 1
        if self.words.depth >= MAX_NESTING:
            return True
        if self.fish:
            begin = self.at - 1
            body, self.at = self._read_nested(self.at, self.words.depth + 1)
            command.words.append(
                ShellWord([CommandSubstitution(body, "$" + self.text[begin : min(self.at, begin + 200)])])
            )
        return True

    def _assign(self, command: SimpleCommand, match: re.Match[str]) -> None:
        self.at = match.end()
        name, append = match[1], bool(match[3])
        if self.text.startswith("(", self.at):
            self.at += 1
            command.assigns.append((name, append, self._array()))
            return
        value: ShellWord | str = ""
        if self.at < len(self.text) and self.text[self.at] not in " \t\r\n;&|<>()":
            value, self.at = self.words.read(self.at)
        command.assigns.append((name, append, value))

    def _array(self) -> list[ShellWord | str]:
        words: list[ShellWord | str] = []
        while self.at < len(self.text):
            self.skip_blank_lines()
            char = self.text[self.at : self.at + 1]
            if char in (")", ""):
                self.at += 1
                break
            word, end = self.words.read(self.at)
            if end == self.at:
                self.at += 1
                continue
            self.at = end
            words.append(word)
        return words

    def _redirect(self, command: SimpleCommand | CommandGroup, match: re.Match[str]) -> None:
        self.at = match.end()
        fd, op = match[1], match[2]
        self.skip_blanks()
        begin = self.at
        target: ShellWord | str = ""
        if self.text.startswith(("<(", ">("), begin):
            target, self.at = self.words.read_process(begin)
        elif begin < len(self.text) and self.text[begin] not in "\r\n;&|<>()":
            target, self.at = self.words.read(begin)
        redirect = ShellRedirect(fd, op, target)
        if op in ("<<", "<<-"):
            redirect.op, redirect.strip = "<<", op == "<<-"
            raw = self.text[begin : self.at]
            redirect.quoted = any(mark in raw for mark in "'\"\\")
            redirect.target = target if isinstance(target, str) else raw
            if not redirect.target:
                return
            self.pending.append(redirect)
        command.redirects.append(redirect)

    def _subshell(self) -> Node | None:
        offset = self.at
        if self.text.startswith("((", offset):
            line_end = self.text.find("\n", offset, offset + 400)
            end = self.text.find("))", offset, line_end if line_end >= 0 else offset + 400)
            if end >= 0:
                self.at = end + 2
                return None
        body, self.at = self._read_nested(offset + 1, self.words.depth + 1)
        self._closed = ""
        return self._group(CommandGroup(self.base + offset, body, [], subshell=True))

    def _group(self, group: CommandGroup) -> CommandGroup:
        """A group with the redirects after it."""
        while True:
            self.skip_blanks()
            match = _REDIRECT.match(self.text, self.at)
            if match is None or (match[2] == ">" and self.text.startswith(">(", self.at)):
                return group
            self._redirect(group, match)

    def _body(self, *stop: str) -> list[Node]:
        if self.words.depth >= MAX_NESTING:
            return []
        self.words.depth += 1
        body = self._list(frozenset(stop))
        self.words.depth -= 1
        return body

    def _keyword(self, word: str, command: SimpleCommand, stop: frozenset[str]) -> Node | None:
        offset = command.offset
        if word in _CLOSERS:
            self._closed = word
            if word not in stop:  # a stray one: what follows it on the line is a command
                self._closed = ""
            return None
        if word == "{" or word == "begin":
            group = CommandGroup(offset, self._body("}" if word == "{" else "end"), [])
        elif word == "case":
            group = self._case(offset)
        elif word == "function":
            return self._named_function()
        elif word in ("for", "select"):
            group = self._for(offset)
        else:
            group = CommandGroup(offset, self._body("fi", "end") if word == "if" else self._loop(), [])
        self._closed = ""
        return self._group(group)

    def _loop(self) -> list[Node]:
        """A condition and the body after it."""
        if self.fish:
            return self._body("end")
        body = self._body("do")
        return body + self._body("done")

    def _for(self, offset: int) -> CommandGroup:
        self.skip_blanks()
        if self.text.startswith("((", self.at):
            end = self.text.find("))", self.at, self.at + 400)
            self.at = end + 2 if end >= 0 else self.at + 2
            self._body("do")
            return CommandGroup(offset, self._body("done"), [])
        head = SimpleCommand(self.at, [], [], [])
        while self._read_item(head):
            pass
        name = head.words[0] if head.words else ""
        values = head.words[2:] if len(head.words) > 1 and head.words[1] == "in" else []
        if self.fish:
            return CommandGroup(offset, self._body("end"), [], variable=str(name), values=values)
        self._body("do")
        return CommandGroup(
            offset, self._body("done"), [], variable=name if isinstance(name, str) else "", values=values
        )

    def _case(self, offset: int) -> CommandGroup:
        while self._read_item(head := SimpleCommand(self.at, [], [], [])) and head.words != ["in"]:
            pass
        body: list[Node] = []
        while self.at < len(self.text):
            self.skip_blank_lines()
            if self.text.startswith("esac", self.at):
                self.at += 4
                break
            begin = self.at
            line_end = self.text.find("\n", begin)
            pattern = self.text.find(")", begin + 1, line_end if line_end >= 0 else len(self.text))
            if pattern >= 0:
                self.at = pattern + 1
            body += self._body(";;", "esac")
            if self._closed == "esac" or self.at <= begin:
                break
        return CommandGroup(offset, body, [])

    def _test(self, command: SimpleCommand) -> SimpleCommand:
        """`[[ … ]]`, in which `<`, `&&` and brackets are words."""
        while self.at < len(self.text):
            self.skip_blanks()
            char = self.text[self.at : self.at + 1]
            if char in ("\n", ""):
                break
            if char in ";&|<>()":
                self.at += 1
                continue
            word, end = self.words.read(self.at)
            self.at = max(end, self.at + 1)
            if word == "]]":
                break
            command.words.append(word)
        return command

    def _named_function(self) -> Node:
        self.skip_blanks()
        name, self.at = self.words.read(self.at)
        if match := _FUNCTION.match(self.text, self.at):
            self.at = match.end()
        if self.fish:
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
            return ShellFunction(str(name), CommandGroup(self.base + self.at, self._body("end"), []))
        return self._function(name if isinstance(name, str) else "")

    def _function(self, name: str) -> Node:
        self.skip_blank_lines()
        if self.words.depth >= MAX_NESTING:
            return ShellFunction(name, None)
        self.words.depth += 1
        body = self._command(frozenset())
        self.words.depth -= 1
        self._closed = ""
        return ShellFunction(name, body)


def parse_here_document(text: str, base: int = 0) -> ShellWord | str:
    """The body of a here-document, in which `$…` and backticks are expanded."""
    parser = ShellParser(text.replace('"', '\\"'), 1, base=base)
    word = ShellWord([])
    parser.words.read_quoted(word.parts, 0)
    return word
