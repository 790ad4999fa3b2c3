"""Markdown: its code as documents of their own languages, what a reader would not see, and what its prose asks for."""

import re
from collections.abc import Iterator

from msgspec import structs

from clawft.scanner.facts import Analysis, Document, Fact, Kind, make_child
from clawft.scanner.instructions import (
    MarkdownPart,
    find_code_language,
    find_data,
    find_hidden_elements,
    find_orders,
    is_about_attacks,
    is_command,
    is_mention,
    split_markdown,
    strip_prompts,
)

MAX_PARTS = 50_000
MAX_CONTEXT = 800
MAX_ELEMENTS = 200
MIN_REMARK_WORDS = 6
_INLINE = re.compile(r"(?<!`)(`{1,2})([^`\n]{6,2000})\1(?!`)")
_MARKED_COMMAND = re.compile(
    r"curl|wget|base64|eval|/dev/tcp|\bnc\b|powershell|pwsh|\biex\b|\biwr\b|invoke-|rm -|crontab|python3? -|node -e"
    r"|perl -e|ruby -e|php -r|~/\.|chmod"
    r"|\bsh -c|launchctl|\bscp\b|rsync|git push|git clone|git remote|mshta|certutil|bitsadmin|regsvr32|rundll32"
    r"|msiexec|wmic|osascript|\|\s*(?:ba|z)?sh\b|\benv\b|npm (?:i|install)|pip3? install|npx|uvx|sudo|openssl",
    re.IGNORECASE,
)
# Reports of what was done once are not instructions: "the package ran `…`".
_REPORTED = re.compile(
    r"\b(?:it|that|which|package|script|program|sample|hook|installer)s? (?:ran|executed|spawned|called)[ `]*$"
)
_BARE_WORDS = (
    "curl ", "wget ", "iwr ", "invoke-web", "echo ", "printf ", "powershell", "mshta", "msiexec", "certutil",
    "bitsadmin", "regsvr32",
)  # fmt: skip
# A command in plain prose, without any marks of code around it.
_BARE_COMMAND = re.compile(
    r"\b(?:curl|wget|iwr|invoke-webrequest|echo|printf)\s[^\n`]{4,600}?\|\s*(?:sudo\s+)?(?:base64\s[^\n`"
    r"|]{0,40}\|\s*)?(?:ba|z|da|k)?(?:sh|iex|python3?|node|perl|ruby)\b[^\n`]{0,80}|\b(?:ba|z)?sh\s+(?:-c\s+[\"']?\$\("
    r"|<\()\s*(?:curl|wget)[^\n`]{4,300}|\bpowershell(?:\.exe)?\s+-[^\n`]{4,600}|\b(?:mshta|msiexec|certutil|bitsadmin"
    r"|regsvr32)(?:\.exe)?\s[^\n`]{0,200}?https?://[^\n`]{4,300}",
    re.IGNORECASE,
)
_LINK_COMMENT = re.compile(
    r"^ {0,3}\[([^\]\n]{1,80})\]:[ \t]*(?:#|<>|<#>|/)[ \t]*[(\"']([^\n]*)[)\"'][ \t]*$", re.MULTILINE
)
_REMARK = re.compile(r"(?:^[ \t]*(?:#+|//+|--|\*|\d{1,3}\.)[ \t]+[^\n]*(?:\n|\Z))+", re.MULTILINE)
_ACTIVE = re.compile(
    r"<(?:iframe|object|embed|meta|img|body|form|a)\b[^<>]{0,400}?(?:\son[a-z]{3,20}\s*=|javascript:"
    r"|http-equiv)[^<>]{0,2000}>",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"!\[([^\]\n]{40,2000})\]|\]\([^()\s]{1,400}[ \t]+\"([^\"\n]{40,2000})\"\)")
# An image whose address has a hole: "![](https://host/p?d={conversation})".
_FILLED_IMAGE = re.compile(
    r"!\[[^\]\n]{0,200}\]\((https?://[^\s)?{<$\[]{3,200}[?/][^\s){<$\[]{0,200})[{<$\[]{1,2}([^)\n]{2,200})\)"
)
_FILLED = re.compile(
    r"conversation|history|context|prompt|secret|token|base64|message|env\b|user_?data|file_?contents?|memory"
)
_SCRIPT_LINK = re.compile(r"\]\(\s*javascript:([^)\n]{4,4000})\)", re.IGNORECASE)


def analyse(document: Document) -> Analysis:
    """The orders in a Markdown text, and the documents inside it."""
    if not document.mention and not document.origin and is_about_attacks(document.path, document.text):
        document = structs.replace(document, mention=True)
    parts = split_markdown(document.text, MAX_PARTS)
    children: list[Document] = []
    opening = ""
    for part in parts:
        if part.kind == "code":
            children.append(_code(document, part))
            children.extend(_strays(document, part, children[-1]))
        elif part.kind == "comment":
            children.append(_inner(document, part.start, part.end, "markdown", "html-comment"))
        elif part.kind == "frontmatter":
            children.append(_inner(document, part.start, part.end, "yaml", "frontmatter"))
        elif part.kind != "heading":
            children.extend(_commands(document, part, opening))
        text = document.text[part.start : part.end].strip() if part.kind == "prose" else ""
        opening = text[-MAX_CONTEXT:] if text.endswith(":") else ""
    prose: list[MarkdownPart] = []
    for part in parts:
        if part.kind == "code":
            prose.extend(_remarks(document, part))
        elif part.kind != "comment":
            prose.append(part)
    children.extend(_unseen(document))
    facts = find_orders(document, prose)
    if "![" in document.text:
        facts.extend(_images(document))
    gaps = [f"It is long: only its first {MAX_PARTS} blocks were read"] if len(parts) == MAX_PARTS else []
    return Analysis(facts, children, gaps)


def _code(document: Document, part: MarkdownPart) -> Document:
    code = document.text[part.start : part.end]
    language = find_code_language(part.info, code)
    context = "\n".join((*part.headings, part.lead))[-MAX_CONTEXT:]
    child = make_child(
        document, strip_prompts(code) if language == "shell" else code, language, "fence", part.start, flat=False
    )
    mention = document.mention or is_mention(part.headings, part.lead)
    return structs.replace(child, context=context, mention=mention)


def _strays(document: Document, part: MarkdownPart, code: Document) -> Iterator[Document]:
    """Command lines in a block that is marked as another language: an agent runs them all the same."""
    if code.language in ("shell", "powershell", "batch", "json", "yaml", "markdown"):
        return
    lower = code.text.lower()
    if not any(word in lower for word in _BARE_WORDS):
        return
    for match in _BARE_COMMAND.finditer(code.text):
        if not code.text[code.text.rfind("\n", 0, match.start()) + 1 : match.start()].strip():
            child = make_child(document, match[0].strip(), "shell", "fence", part.start + match.start())
            yield structs.replace(child, context=code.context, mention=code.mention)


def _remarks(document: Document, part: MarkdownPart) -> Iterator[MarkdownPart]:
    """Lines of a code block that are no code: comments and numbered sentences, which the agent reads too."""
    for match in _REMARK.finditer(document.text, part.start, part.end):
        if match[0].count(" ") >= MIN_REMARK_WORDS:
            yield MarkdownPart("remark", match.start(), match.end(), part.headings)


def _inner(document: Document, start: int, end: int, language: str, how: str) -> Document:
    return make_child(document, document.text[start:end], language, how, start, flat=False)


def _commands(document: Document, part: MarkdownPart, opening: str) -> Iterator[Document]:
    """Commands that stand in prose, between backquotes or bare, when they could matter.

    `opening`: the line that leads to this block ("Look for:" before a list).
    """
    text = document.text[part.start : part.end]
    found = []
    if "`" in text:
        for match in _INLINE.finditer(text):
            code = match[2].strip()
            if (is_command(code) or "|" in code) and _MARKED_COMMAND.search(code):
                found.append((match.start(2), code))
    lower = text.lower()
    if any(word in lower for word in _BARE_WORDS):
        found.extend((match.start(), match[0]) for match in _BARE_COMMAND.finditer(text))
    for start, command in found:
        child = make_child(
            document, command.strip(), find_code_language("", command.strip()), "inline-code", part.start + start
        )
        lead = text[max(0, start - 200) : start]
        reported = document.mention or _REPORTED.search(lead) is not None
        yield structs.replace(
            child,
            context="\n".join((*part.headings, lead)),
            mention=reported or is_mention(part.headings, lead) or is_mention((), opening),
        )


def _unseen(document: Document) -> Iterator[Document]:
    """Yield what the rendered page does not show: hidden tags, links used as comments, long alternative texts,
    markup."""
    text = document.text
    if "]:" in text:
        for match in _LINK_COMMENT.finditer(text):
            yield _inner(document, match.start(2), match.end(2), "markdown", "link-comment")
    if "![" in text or '")' in text:
        for match in _IMAGE.finditer(text):
            group = 1 if match[1] is not None else 2
            yield _inner(document, match.start(group), match.end(group), "markdown", "image-alt")
    if "javascript:" in text.lower():
        for match in _SCRIPT_LINK.finditer(text):
            yield _inner(document, match.start(1), match.end(1), "javascript", "script-link")
    if "<" in text:
        for start, end in find_hidden_elements(text):
            yield _inner(document, start, end, "markdown", "hidden-span")
        yield from _markup(document)


def _markup(document: Document) -> Iterator[Document]:
    """Elements of HTML that act, each as a page of its own."""
    text = document.text
    for match in _ACTIVE.finditer(text):
        yield _inner(document, match.start(), match.end(), "html", "markup")
    for name in ("script", "svg"):
        at = text.find(f"<{name}")
        for _ in range(MAX_ELEMENTS):
            end = text.find(f"</{name}", at) if at >= 0 else -1
            if end < 0:
                break
            yield _inner(document, at, end, "html", "markup")
            at = text.find(f"<{name}", end)


def _images(document: Document) -> Iterator[Fact]:
    """Images whose address is to be filled with data: to draw them is to send it."""
    for match in _FILLED_IMAGE.finditer(document.text):
        if find_data(match[2].replace("_", " ").lower()) or _FILLED.search(match[2].lower()):
            line = document.line_at(match.start())
            source = Fact(Kind.READ, match[2][:60], document, line, "secret: what is filled in")
            yield Fact(Kind.SEND, match[1], document, line, "remote image", (source,))
