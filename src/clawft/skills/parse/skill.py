"""Parse SKILL.md into a Skill, with its requirements and installers wherever a client writes them."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import structs

from clawft.errors import Edit, MissingFrontmatter, YamlParse, find_close
from clawft.skills.parse.diagnostics import DiagnosticCollector, quote_yaml
from clawft.skills.parse.fields import (
    BLOCK_KEYS,
    KEYS,
    UNREAD,
    Field,
    json_safe,
    read_names,
    read_needs,
    read_text,
    read_tool,
)
from clawft.skills.parse.model import (
    MAX_NAME,
    NAMESPACES,
    Skill,
    SkillInterface,
    SkillRequirements,
    is_canonical,
    slugify,
)
from clawft.skills.parse.text import Frontmatter, first_paragraph, split_frontmatter, truncate_utf8
from clawft.skills.parse.yaml import load_yaml

MAX_METADATA_BYTES = 8192
MAX_METADATA_DEPTH = 10
_OS = {"macos": "darwin", "mac": "darwin", "osx": "darwin", "windows": "win32", "win": "win32"}
_REQUIRES = {
    "bins": "bins",
    "bin": "bins",
    "commands": "bins",
    "anyBins": "any_bins",
    "any_bins": "any_bins",
    "any-bins": "any_bins",
    "env": "env",
    "envs": "env",
    "config": "config",
    "os": "os",
    "tools": "tools",
    "skills": "skills",
    "skill": "skills",
}
# What may stand beside `requires` -> the requirement it is
_FLAT = {
    "bins": "bins",
    "required_environment_variables": "env",
    "env_vars": "env",
    "os": "os",
    "required_tools": "tools",
}


def check_metadata(metadata: dict[Any, Any], notes: DiagnosticCollector) -> dict[str, Any]:
    """Return the metadata as JSON-safe values; empty when it is too large or nested too deep."""
    try:
        encoded = msgspec.json.encode(metadata)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, among others
        metadata = json_safe(metadata)
        encoded = msgspec.json.encode(metadata)
    too_deep = encoded.count(b"{") + encoded.count(b"[") > MAX_METADATA_DEPTH and _depth(metadata) > MAX_METADATA_DEPTH
    if len(encoded) > MAX_METADATA_BYTES or too_deep:
        limit = f"{MAX_METADATA_BYTES} bytes and {MAX_METADATA_DEPTH} levels"
        notes.add(
            "metadata-limit",
            "error",
            f"'metadata' is over {limit}; all of it was left out, requirements too",
            key="metadata",
        )
        return {}
    if {str}.issuperset(map(type, metadata)):
        return metadata
    decoded: dict[str, Any] = msgspec.json.decode(encoded)
    return decoded


def _depth(value: Any) -> int:
    deepest, level = 0, [value]
    while level:
        deepest += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return deepest


def read_client_block(metadata: dict[str, Any], notes: DiagnosticCollector) -> dict[str, Any]:
    """The fields that a client's block, or the flat metadata, gives the skill."""
    named = [name for name in NAMESPACES if name in metadata and isinstance(metadata[name], dict)]
    if len(metadata) == len(named) == 1:  # as most are
        block = metadata[named[0]]
    else:
        block = dict(metadata)
        for name in reversed(named):
            block.update(metadata[name])
    fields: dict[str, Any] = {}
    for key, value in block.items():
        field = BLOCK_KEYS.get(key)
        if field is None or value is None:
            continue
        read = field.read(value, key, notes)
        if read is not UNREAD:
            fields[field.name] = read
    return fields


def read_requires(fields: dict[str, Any], notes: DiagnosticCollector) -> SkillRequirements:
    """All requirements, from `requires` and the flat forms, taken out of `fields`."""
    found: dict[str, tuple[str, ...]] = {}
    for key, value in (fields.pop("requires", None) or {}).items():
        name = _REQUIRES.get(key)
        if name is None:
            notes.add("unknown-requirement", "note", f"No client checks 'requires.{key}'", key=f"requires.{key}")
        elif value is not None:
            read = read_needs if name == "skills" else read_names
            names = read(value if name == "skills" else _names_of(value), f"requires.{key}", notes)
            if names is not UNREAD:
                found[name] = found.get(name, ()) + names
    for flat, name in _FLAT.items():
        if flat in fields:
            names = fields.pop(flat)
            found[name] = found.get(name, ()) + (_required(names) if name == "env" else names)
    if "os" in found:
        found["os"] = tuple(_OS.get(name.lower(), name.lower()) for name in found["os"])
    return SkillRequirements(**{name: tuple(dict.fromkeys(values)) for name, values in found.items()})


def _names_of(value: Any) -> Any:
    """Items written as mappings (`{name: X, …}`) count by their name unless they are marked optional."""
    if not isinstance(value, list) or dict not in map(type, value):
        return value
    wanted = [item for item in value if not (isinstance(item, dict) and item.get("required") is False)]
    return [item.get("name") if isinstance(item, dict) else item for item in wanted]


def _required(listed: list[Any]) -> tuple[str, ...]:
    return tuple(name for name in _names_of(listed) if isinstance(name, str) and name)


MAX_PROMPT_BYTES = 32 * 1024
MAX_DESCRIPTION = 1024
_TEXTS = frozenset(key for key, field in KEYS.items() if key == field.key == field.name and field.read is read_text)
_TAB = re.compile(r"^[ ]*\t|:\t", re.MULTILINE)
_UNOPENED = re.compile(r"(?:name|description)[ \t]*:[^\n]*\n(?:[\w-]+[ \t]*:[^\n]*\n|[ \t]+[^\n]*\n)*---[ \t]*\n")
_NEEDS = frozenset({"requires", "required_tools", "os", "bins", "required_environment_variables", "env_vars"})


def parse_skill_md(
    text: str, dir_name: str, *, path: str = "SKILL.md", strict: bool = False, max_prompt_bytes: int = MAX_PROMPT_BYTES
) -> Skill:
    """Read a SKILL.md whose folder is `dir_name`. `strict` accepts neither missing frontmatter nor broken YAML.

    Raises: MissingFrontmatter, YamlParse.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = split_frontmatter(text, path, f"skill/{dir_name}")
    if front is None:
        return _without_frontmatter(text, dir_name, path, strict, max_prompt_bytes)
    notes = DiagnosticCollector(path, front.yaml, front.yaml_start, text.count("\n", 0, front.yaml_start) + 1)
    if front.start:
        message = "Blank lines stand before the frontmatter; most clients then miss it"
        notes.add("leading-blank", "warning", message, line=1, fix=(Edit(0, front.start, ""),))
    raw = load_mapping(front.yaml, notes, f"skill/{dir_name}", strict=strict)
    skill = build_skill(raw, text[front.body_start :], dir_name, notes, max_prompt_bytes)
    return structs.replace(skill, body_line=text.count("\n", 0, front.body_start) + 1 + _blank_lines(text, front))


def parse_head(head: str, dir_name: str, *, path: str, body_bytes: int) -> Skill | None:
    """The skill by its frontmatter alone, as a catalog needs it; None where its text would have to speak for it.

    `head` starts with a line `---` and ends with the next one. Raises: YamlParse.
    """
    yaml = head[4:-4]
    notes = DiagnosticCollector(path, yaml, 4, 2)
    fields = _read_frontmatter(load_mapping(yaml, notes, f"skill/{dir_name}"), dir_name, notes)
    if not fields.get("description"):
        return None
    _describe(fields, "", notes)
    return Skill(**fields, body_bytes=body_bytes, diagnostics=tuple(notes.found))


def build_skill(
    raw: dict[Any, Any], body: str, dir_name: str, notes: DiagnosticCollector, max_prompt_bytes: int
) -> Skill:
    """A Skill from the mapping of its frontmatter and its body, whatever file they came from."""
    fields = _read_frontmatter(raw, dir_name, notes)
    text = body.strip()
    _describe(fields, text, notes)
    prompt = truncate_utf8(text, max_prompt_bytes)
    size = len(body.encode("utf-8", errors="replace"))
    if len(prompt) < len(text):
        message = f"The body has {size} bytes; what is over {max_prompt_bytes} is cut off"
        notes.add("body-truncated", "warning", message, line=notes.last_line, hint="Move detail into reference files")
    return Skill(**fields, body_bytes=size, diagnostics=tuple(notes.found), prompt=prompt or None)


def _read_frontmatter(raw: dict[Any, Any], dir_name: str, notes: DiagnosticCollector) -> dict[str, Any]:
    """All fields of a Skill that its frontmatter gives; the description may be missing."""
    fields = _read_fields(raw, notes)
    if "metadata" in fields:
        _read_metadata(fields, notes)
    if "tools" in fields:
        _divide_tools(fields, notes)
    if not _NEEDS.isdisjoint(fields):
        fields["requires"] = read_requires(fields, notes)
    if fields.get("background") and fields.get("context") != "fork":
        message = "'background' holds for a skill that forks; this one is part of the conversation, in the foreground"
        notes.add("background-inline", "warning", message, key="background", hint="Add 'context: fork'")
    _name(fields, dir_name, notes)
    return fields


def _blank_lines(text: str, front: Frontmatter) -> int:
    body = text[front.body_start :]
    return body.count("\n", 0, len(body) - len(body.lstrip()))


def load_mapping(
    yaml: str,
    notes: DiagnosticCollector,
    label: str,
    *,
    strict: bool = False,
    enough: Sequence[str] = ("name", "description"),
) -> dict[Any, Any]:
    """The keys and values of a frontmatter. What is no YAML is recovered if that gives one of the keys in `enough`.

    Raises: YamlParse.
    """
    raw, complaint = load_yaml(yaml, notes)
    if "\t" in yaml and (tab := _TAB.search(yaml)):
        line = notes.first_line + yaml.count("\n", 0, tab.end())
        message = "A tab stands where YAML wants spaces; strict readers refuse the file"
        notes.add("tab-character", "warning", message, line=line, hint="Write spaces")
    if complaint and (strict or not isinstance(raw, dict) or not any(raw.get(key) for key in enough)):
        message = f"{label}: the frontmatter is not valid YAML: {complaint}"
        line = next((found.line for found in notes.found if found.code.startswith("yaml-")), notes.first_line)
        raise YamlParse(
            "yaml-invalid", message, path=notes.path, line=line, hint="Quote values that hold ': ', '#' or brackets"
        )
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        message = f"{label}: the frontmatter is a {type(raw).__name__}, not a mapping of keys to values"
        hint = "Write it as lines 'name: …' and 'description: …' between two '---' lines"
        raise YamlParse("frontmatter-not-mapping", message, path=notes.path, line=notes.first_line, hint=hint)
    return raw


def _without_frontmatter(text: str, dir_name: str, path: str, strict: bool, max_prompt_bytes: int) -> Skill:
    hint = "Start the file with '---', name, description, '---'"
    if strict:
        message = f"skill/{dir_name}: there is no frontmatter"
        raise MissingFrontmatter("no-frontmatter", message, path=path, line=1, hint=hint)
    notes = DiagnosticCollector(path)
    name, description = slugify(dir_name) or dir_name, first_paragraph(text)
    if _UNOPENED.match(text):
        message = "The frontmatter has no '---' above it, so it counts as text"
        notes.add("no-frontmatter", "warning", message, line=1, hint="Start with '---'", fix=(Edit(0, 0, "---\n"),))
    elif description and not text.lstrip().startswith("```"):
        front = f"---\nname: {quote_yaml(name)}\ndescription: {quote_yaml(description)}\n---\n\n"
        message = "There is no frontmatter; name and description were taken from folder and text"
        notes.add("no-frontmatter", "warning", message, line=1, hint=hint, fix=(Edit(0, 0, front),))
    else:
        message = "There is no frontmatter" if text.strip() else "The file is empty"
        notes.add("no-frontmatter", "warning", message, line=1, hint=hint)
    skill = build_skill({"name": name, "description": description}, text, dir_name, notes, max_prompt_bytes)
    return structs.replace(skill, body_line=1 + text.count("\n", 0, len(text) - len(text.lstrip())))


def _read_fields(raw: dict[Any, Any], notes: DiagnosticCollector) -> dict[str, Any]:
    """Every key of the frontmatter under the name of its field; what no client knows goes to `extra`."""
    fields: dict[str, Any] = {}
    for key, value in raw.items():
        if key in _TEXTS and key not in fields and type(value) is str and value.isprintable():  # most of them
            fields[key] = value.strip()
            continue
        field = KEYS.get(key) or _find_field(str(key))
        if field is None:
            _keep_unknown(fields, str(key), value, notes)
        elif field.name in fields:
            notes.add(
                "duplicate-key",
                "warning",
                f"'{key}' says '{field.key}' a second time; the first one counts",
                key=str(key),
                hint="Remove one of them",
            )
        elif value is not None:
            read = field.read(value, key, notes)
            if read is not UNREAD:
                fields[field.name] = read
                if key != field.key:
                    _check_spelling(str(key), field, raw, notes)
        else:
            notes.add("empty-field", "note", f"'{key}' is empty", key=str(key))
    return fields


def _check_spelling(key: str, field: Field, raw: dict[Any, Any], notes: DiagnosticCollector) -> None:
    """Say that a key has another client's spelling; it is renamed only where no second key says the same."""
    meant = [KEYS.get(other) or _find_field(str(other)) for other in raw]
    alone = sum(candidate is not None and candidate.name == field.name for candidate in meant) == 1
    fix = notes.rename_key(key, field.key) if alone else ()
    notes.add("key-spelling", "note", f"'{key}' was read as '{field.key}'", key=key, hint=f"Write {field.key}", fix=fix)


def _find_field(key: str) -> Field | None:
    """The field of a key in an odd spelling, such as `Allowed Tools`."""
    return KEYS.get(key.strip().lower().replace("_", "-").replace(" ", "-"))


def _keep_unknown(fields: dict[str, Any], key: str, value: Any, notes: DiagnosticCollector) -> None:
    """Keep what no client reads; `metadata.openclaw` as one dotted key is metadata all the same."""
    group, dot, inner = key.partition(".")
    if group == "metadata" and dot and isinstance(fields.setdefault("metadata", {}), dict):
        fields["metadata"] = {**fields["metadata"], inner: value}
        notes.add("key-spelling", "note", f"'{key}' was read as '{inner}' inside 'metadata'", key=key)
        return
    fields.setdefault("extra", {})[key] = json_safe(value)
    notes.add(
        "unknown-field", "note", f"No client is known to read '{key[:60]}'; it is kept but has no effect", key=key
    )


def _read_metadata(fields: dict[str, Any], notes: DiagnosticCollector) -> None:
    """Take from the metadata what has a meaning of its own; the frontmatter's own fields win."""
    metadata = fields["metadata"] = check_metadata(fields["metadata"], notes)
    for name, value in read_client_block(metadata, notes).items():
        fields.setdefault(name, value)
    if isinstance(metadata.get("short-description"), str):
        fields["interface"] = SkillInterface(short_description=metadata["short-description"])
    if metadata.get("internal") is True:
        fields["internal"] = True


def _divide_tools(fields: dict[str, Any], notes: DiagnosticCollector) -> None:
    """Divide `tools:`: items that are mappings are provided by the skill, strings are required by it."""

    items = fields.pop("tools")
    provided = [read_tool(item, notes) for item in items if isinstance(item, dict)]
    if any(not isinstance(item, dict | str) for item in items):
        notes.add(
            "wrong-type",
            "warning",
            "'tools' holds items that are neither names nor tool definitions; they were left out",
            key="tools",
        )
    fields["provided_tools"] = tuple(tool for tool in provided if tool is not None)
    fields["required_tools"] = tuple(item for item in items if isinstance(item, str))


def _name(fields: dict[str, Any], dir_name: str, notes: DiagnosticCollector) -> None:
    """Set the canonical name; the name as written stays as the display name."""
    written = fields.get("name", "")
    if not written:
        fields["name"] = name = slugify(dir_name) or dir_name
        notes.add(
            "name-missing",
            "warning",
            f"There is no name; the folder's is used: {name}",
            line=notes.first_line,
            hint=f"Add name: {name}",
            fix=notes.set_value("name", quote_yaml(name)),
        )
        return
    if is_canonical(written):
        if written != dir_name:
            notes.add(
                "name-not-folder",
                "warning",
                f"The name '{written}' is not that of its folder '{dir_name}'; the name counts",
                key="name",
                hint="Rename the folder or the skill: some clients go by the folder",
            )
        return
    name = slugify(written) or slugify(dir_name) or dir_name
    fields["name"] = name
    fields.setdefault("display_name", written)
    reason = (
        f"longer than {MAX_NAME} characters" if len(written) > MAX_NAME else "not lowercase words joined by hyphens"
    )
    notes.add(
        "name-not-canonical",
        "warning",
        f"The name '{written[:80]}' is {reason}; it is loaded as '{name}'",
        key="name",
        hint=f"Write name: {name}",
        fix=notes.replace_value("name", quote_yaml(name)),
    )


def _describe(fields: dict[str, Any], body: str, notes: DiagnosticCollector) -> None:
    """Set the description, or the first paragraph of the body in its place."""
    written = fields.get("description", "")
    if written:
        if len(written) > MAX_DESCRIPTION:
            notes.add(
                "description-long",
                "warning",
                f"The description has {len(written)} characters; the spec allows {MAX_DESCRIPTION}",
                key="description",
                hint="Say what it does and when to use it; move the rest into the body",
            )
        return
    misspelt = find_close("description", fields.get("extra", ()))
    if misspelt and isinstance(fields["extra"][misspelt], str):
        fields["description"] = fields["extra"].pop(misspelt).strip()
        fix = notes.rename_key(misspelt, "description")
        notes.add("key-spelling", "warning", f"'{misspelt}' was read as 'description'", key=misspelt, fix=fix)
        return
    fields["description"] = description = first_paragraph(body)
    if description:
        notes.add(
            "description-missing",
            "warning",
            "There is no description; the first paragraph of the body is used",
            line=notes.first_line,
            hint="Add a description that says what the skill does and when to use it",
            fix=notes.set_value("description", quote_yaml(description)),
        )
    else:
        notes.add(
            "description-missing",
            "warning",
            "There is neither a description nor a text to take one from; no model will be offered it",
            line=notes.first_line,
            hint="Add a description that says what the skill does and when to use it",
        )
