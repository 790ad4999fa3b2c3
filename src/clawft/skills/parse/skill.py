"""SKILL.md to Skill: the one public function that reads the format, `parse_skill_md` (D1)."""

import re
from collections.abc import Sequence
from typing import Any

from msgspec import structs

from clawft.errors import Edit, MissingFrontmatter, YamlParse, find_close
from clawft.format.fields import KEYS, UNREAD, Field, json_safe, read_text
from clawft.format.frontmatter import Frontmatter, split_frontmatter
from clawft.format.model import Interface, Skill
from clawft.format.names import MAX_NAME, is_canonical, slugify
from clawft.format.needs import check_metadata, read_block, read_requires
from clawft.format.notes import Notes, quote_yaml
from clawft.format.prose import first_paragraph, truncate_utf8
from clawft.format.yaml import load_yaml

__all__ = ["MAX_PROMPT_BYTES", "build_skill", "load_mapping", "parse_head", "parse_skill_md"]

MAX_PROMPT_BYTES = 32 * 1024  # R113, D26
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
    notes = Notes(path, front.yaml, front.yaml_start, text.count("\n", 0, front.yaml_start) + 1)
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
    notes = Notes(path, yaml, 4, 2)
    fields = _read_frontmatter(load_mapping(yaml, notes, f"skill/{dir_name}"), dir_name, notes)
    if not fields.get("description"):
        return None
    _describe(fields, "", notes)
    return Skill(**fields, body_bytes=body_bytes, diagnostics=tuple(notes.found))


def build_skill(raw: dict[Any, Any], body: str, dir_name: str, notes: Notes, max_prompt_bytes: int) -> Skill:
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


def _read_frontmatter(raw: dict[Any, Any], dir_name: str, notes: Notes) -> dict[str, Any]:
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
    yaml: str, notes: Notes, label: str, *, strict: bool = False, enough: Sequence[str] = ("name", "description")
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
    notes = Notes(path)
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


def _read_fields(raw: dict[Any, Any], notes: Notes) -> dict[str, Any]:
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


def _check_spelling(key: str, field: Field, raw: dict[Any, Any], notes: Notes) -> None:
    """Say that a key has another client's spelling; it is renamed only where no second key says the same."""
    meant = [KEYS.get(other) or _find_field(str(other)) for other in raw]
    alone = sum(one is not None and one.name == field.name for one in meant) == 1
    fix = notes.rename_key(key, field.key) if alone else ()
    notes.add("key-spelling", "note", f"'{key}' was read as '{field.key}'", key=key, hint=f"Write {field.key}", fix=fix)


def _find_field(key: str) -> Field | None:
    """The field of a key in an odd spelling, such as `Allowed Tools`."""
    return KEYS.get(key.strip().lower().replace("_", "-").replace(" ", "-"))


def _keep_unknown(fields: dict[str, Any], key: str, value: Any, notes: Notes) -> None:
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


def _read_metadata(fields: dict[str, Any], notes: Notes) -> None:
    """Take from the metadata what has a meaning of its own; the frontmatter's own fields win."""
    metadata = fields["metadata"] = check_metadata(fields["metadata"], notes)
    for name, value in read_block(metadata, notes).items():
        fields.setdefault(name, value)
    if isinstance(metadata.get("short-description"), str):
        fields["interface"] = Interface(short_description=metadata["short-description"])
    if metadata.get("internal") is True:
        fields["internal"] = True


def _divide_tools(fields: dict[str, Any], notes: Notes) -> None:
    """`tools:` items that are mappings are provided by the skill, strings are required by it (D14)."""
    from clawft.format.tools import read_tool  # few skills bring any

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


def _name(fields: dict[str, Any], dir_name: str, notes: Notes) -> None:
    """The canonical name (D4, D5, D6); what was written stays as the display name."""
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


def _describe(fields: dict[str, Any], body: str, notes: Notes) -> None:
    """The description, or the first paragraph of the body in its place (D7)."""
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
