"""Parser of `agent.yaml`, `<name>.yaml`, AGENT.md and `<name>.md` to Agent; Claude's agent files are the last form."""

from collections.abc import Callable
from typing import Any

from clawft.errors import YamlParse
from clawft.skills.parse.diagnostics import DiagnosticCollector
from clawft.skills.parse.fields import NOTHING, UNREAD, json_safe, read_arguments, read_denied, read_text, read_words
from clawft.skills.parse.model import Agent, is_canonical, slugify
from clawft.skills.parse.text import first_paragraph, split_frontmatter
from clawft.skills.parse.yaml import load_yaml


def parse_agent(text: str, file_name: str, name: str, *, path: str) -> Agent:
    """Read an agent file; `name` is what it is called on disk. Raises: MissingFrontmatter, YamlParse."""
    if file_name.lower().endswith(".md"):
        front = split_frontmatter(text, path, f"agent/{name}")
        if front is None:
            notes, raw, body = DiagnosticCollector(path), {}, text
            notes.add(
                "no-frontmatter", "warning", "There is no frontmatter; the whole file is the system prompt", line=1
            )
        else:
            notes = DiagnosticCollector(path, front.yaml, front.yaml_start, text.count("\n", 0, front.yaml_start) + 1)
            raw, body = _load(notes, name), text[front.body_start :]
    else:
        notes = DiagnosticCollector(path, text)
        raw, body = _load(notes, name), ""
    return _build(raw, body.strip(), name, notes)


def _load(notes: DiagnosticCollector, name: str) -> dict[Any, Any]:
    raw, complaint = load_yaml(notes.source, notes)
    if raw is None:
        return {}
    if not isinstance(raw, dict) or (complaint and not raw):
        reason = complaint or f"a {type(raw).__name__}, not a mapping of keys to values"
        raise YamlParse("yaml-invalid", f"agent/{name}: not valid: {reason}", path=notes.path, line=notes.first_line)
    return raw


def _build(raw: dict[Any, Any], body: str, name: str, notes: DiagnosticCollector) -> Agent:
    fields = _read_fields(raw, notes)
    if not is_canonical(fields.get("name", "")):
        fields["name"] = slugify(fields.get("name", "")) or slugify(name) or name
    if body:
        if fields.get("system_prompt"):
            notes.add(
                "prompt-twice",
                "warning",
                "Both 'system_prompt' and the body are there; the body counts",
                key="system_prompt",
            )
        fields["system_prompt"] = body
    if not fields.get("description"):
        fields["description"] = first_paragraph(fields.get("system_prompt", ""))
        notes.add(
            "description-missing", "warning", "There is no description", line=notes.first_line, hint="Add a description"
        )
    return Agent(**fields, diagnostics=tuple(notes.found))


def _read_fields(raw: dict[Any, Any], notes: DiagnosticCollector) -> dict[str, Any]:
    """Every key under the name of its field; what has no effect here goes to `extra` and is said."""
    fields: dict[str, Any] = {}
    for key, value in raw.items():
        spelling = str(key).replace("-", "_")
        reader = _READERS.get(spelling) or _READERS.get(_ALIASES.get(spelling, ""))
        if reader is None:
            fields.setdefault("extra", {})[str(key)] = json_safe(value)
            if _fold(key) not in _CLAUDE_ONLY:
                notes.add("unknown-field", "note", f"'{str(key)[:60]}' has no effect here", key=str(key))
        elif (name_of := _ALIASES.get(spelling, spelling)) in fields:
            notes.add(
                "duplicate-key",
                "warning",
                f"'{key}' says '{name_of}' a second time; the first one counts",
                key=str(key),
            )
        elif value is not None and (read := reader(value, str(key), notes)) is not UNREAD:
            fields[name_of] = read
    _tell_unhonoured(fields, notes)
    return fields


def _tell_unhonoured(fields: dict[str, Any], notes: DiagnosticCollector) -> None:
    """One word on all that Claude would do with the file and we do not; a colour alone is no loss."""
    extra = fields.get("extra", {})
    keys = [key for key, value in extra.items() if _fold(key) in _CLAUDE_ONLY and value not in _NO_CHANGE]
    if not keys:
        return
    notes.add(
        "agent-not-honoured",
        "note" if keys == ["color"] else "warning",
        f"Not honoured here: {', '.join(key[:60] for key in keys)}",
        key=keys[0],
        hint="Servers and hooks are settings: weft help config",
    )


def _fold(key: Any) -> str:
    return str(key).lower().replace("-", "").replace("_", "")


def _read_tools(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """Read an agent's list of tools. Omitted, empty or `*` means all; `none` or `!*` means none."""
    words = read_words(value, key, notes)
    if words in (("none",), NOTHING):
        return ()
    return None if not words or words == ("*",) else words


def _read_mode(value: Any, key: str, notes: DiagnosticCollector) -> Any:
    """A mode asks for less than the session has, or for nothing: to bypass all questions is not an agent's to say."""
    if value in ("plan", "acceptEdits", "default"):
        return value
    message = f"'{key}' may only lower what is done unasked; '{str(value)[:60]}' changes nothing here"
    notes.add("agent-mode", "warning", message, key=key, hint="A person chooses: --mode, or /mode")
    return UNREAD


def _number(kind: type[int] | type[float], low: float, high: float) -> Callable[[Any, str, DiagnosticCollector], Any]:
    def read_number(value: Any, key: str, notes: DiagnosticCollector) -> Any:
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and low <= value <= high
            and (kind is float or value == int(value))
        ):
            return kind(value)
        notes.add(
            "wrong-type", "warning", f"'{key}' should be a number from {low:g} to {high:g}; it was left out", key=key
        )
        return UNREAD

    return read_number


_READERS: dict[str, Callable[[Any, str, DiagnosticCollector], Any]] = {
    "name": read_text,
    "description": read_text,
    "model": read_text,
    "system_prompt": read_text,
    "tools": _read_tools,
    "disallowed_tools": read_denied,
    "skills": read_arguments,
    "max_tool_iterations": _number(int, 1, 1000),
    "temperature": _number(float, 0, 2),
    "context_window": _number(int, 1, 100_000_000),
    "permission_mode": _read_mode,
}
_ALIASES = {
    "disallowedTools": "disallowed_tools",
    "systemPrompt": "system_prompt",
    "maxToolIterations": "max_tool_iterations",
    "contextWindow": "context_window",
    "allowed_tools": "tools",
    "maxTurns": "max_tool_iterations",
    "permissionMode": "permission_mode",
}
# What Claude Code reads of an agent file, and has no counterpart here.
_CLAUDE_ONLY = frozenset(
    {
        "mcpservers",
        "hooks",
        "memory",
        "background",
        "effort",
        "isolation",
        "color",
        "initialprompt",
        "omitclaudemd",
    }
)
_NO_CHANGE: tuple[Any, ...] = (None, False, "", [], {}, "default", "none")
