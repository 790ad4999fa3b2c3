"""SKILL.md to Skill: the one public function that reads the format, `parse_skill_md` (D1)."""

from typing import Any

from msgspec import Struct

from clawft.errors import Edit, MissingFrontmatter, YamlParse
from clawft.format.fields import KEYS, UNREAD, Field, provided_tool, read_text
from clawft.format.frontmatter import Frontmatter, split_frontmatter
from clawft.format.model import Interface, Skill
from clawft.format.names import MAX_NAME, is_canonical, slugify
from clawft.format.needs import check_metadata, read_block, read_requires
from clawft.format.notes import Notes, quote_yaml
from clawft.format.prose import first_paragraph, truncate_utf8
from clawft.format.yaml import load_yaml

__all__ = ["MAX_PROMPT_BYTES", "build_skill", "parse_skill_md"]

MAX_PROMPT_BYTES = 32 * 1024  # R113, D26
MAX_DESCRIPTION = 1024
_TEXTS = frozenset(key for key, field in KEYS.items() if key == field.key == field.name and field.read is read_text)
_NEEDS = frozenset({"requires", "required_tools", "os", "bins", "required_environment_variables", "env_vars"})


class _Body(Struct, frozen=True, gc=False):
    """The text that ends in the body, where its first word stands, and how much of it becomes the prompt."""

    text: str
    start: int
    max_bytes: int | None


def parse_skill_md(
    text: str,
    dir_name: str,
    *,
    path: str = "SKILL.md",
    strict: bool = False,
    max_prompt_bytes: int | None = MAX_PROMPT_BYTES,
) -> Skill:
    """Read a SKILL.md whose folder is `dir_name`. `strict` accepts neither missing frontmatter nor broken YAML.

    Without `max_prompt_bytes` the prompt is left out, unmeasured.
    Raises: MissingFrontmatter, YamlParse.
    """
    front = split_frontmatter(text, path, dir_name)
    if front is None:
        body = _Body(text, len(text) - len(text.lstrip()), max_prompt_bytes)
        return _without_frontmatter(body, dir_name, path, strict)
    notes = Notes(path, front.yaml, front.yaml_start, text.count("\n", 0, front.yaml_start) + 1)
    if front.start:
        notes.add(
            "leading-blank",
            "warning",
            "Blank lines stand before the frontmatter; most clients then miss it",
            line=1,
            fix=_drop_lead(front),
        )
    raw = _load_mapping(front.yaml, notes, dir_name, strict)
    return _build(raw, _Body(text, front.body_start, max_prompt_bytes), dir_name, notes)


def build_skill(
    raw: dict[Any, Any], body: str, dir_name: str, notes: Notes, max_prompt_bytes: int = MAX_PROMPT_BYTES
) -> Skill:
    """A Skill from the mapping of its frontmatter and its body, whatever file they came from."""
    return _build(raw, _Body(body.lstrip(), 0, max_prompt_bytes), dir_name, notes)


def _build(raw: dict[Any, Any], body: _Body, dir_name: str, notes: Notes) -> Skill:
    fields = _read_fields(raw, notes)
    if "metadata" in fields:
        _read_metadata(fields, notes)
    if "tools" in fields:
        _divide_tools(fields, notes)
    if not _NEEDS.isdisjoint(fields):
        fields["requires"] = read_requires(fields, notes)
    _name(fields, dir_name, notes)
    _describe(fields, body, notes)
    fields["body_chars"] = chars = max(len(body.text.rstrip()) - body.start, 0)
    fields["prompt"] = _prompt(body, chars, notes)
    return Skill(**fields, diagnostics=tuple(notes.found))


def _prompt(body: _Body, chars: int, notes: Notes) -> str | None:
    """The body, cut to its limit."""
    if body.max_bytes is None:
        return None
    prompt = truncate_utf8(body.text[body.start : body.start + chars], body.max_bytes)
    if len(prompt) < chars:
        notes.add(
            "body-truncated",
            "warning",
            f"The body has {chars} characters; what is over {body.max_bytes} bytes is cut off",
            line=notes.last_line,
            hint="Move detail into reference files",
        )
    return prompt or None


def _load_mapping(yaml: str, notes: Notes, dir_name: str, strict: bool) -> dict[Any, Any]:
    raw, complaint = load_yaml(yaml, notes)
    if complaint and (strict or not isinstance(raw, dict) or not (raw.get("name") or raw.get("description"))):
        message = f"skill/{dir_name}: the frontmatter is not valid YAML: {complaint}"
        line = next((found.line for found in notes.found if found.code.startswith("yaml-")), notes.first_line)
        raise YamlParse(
            "yaml-invalid", message, path=notes.path, line=line, hint="Quote values that hold ': ', '#' or brackets"
        )
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        message = f"skill/{dir_name}: the frontmatter is a {type(raw).__name__}, not a mapping of keys to values"
        hint = "Write it as lines 'name: …' and 'description: …' between two '---' lines"
        raise YamlParse("frontmatter-not-mapping", message, path=notes.path, line=notes.first_line, hint=hint)
    return raw


def _without_frontmatter(body: _Body, dir_name: str, path: str, strict: bool) -> Skill:
    hint = "Start the file with '---', name, description, '---'"
    if strict:
        raise MissingFrontmatter(
            "no-frontmatter", f"skill/{dir_name}: there is no frontmatter", path=path, line=1, hint=hint
        )
    notes = Notes(path)
    name, description = slugify(dir_name) or dir_name, first_paragraph(body.text)
    front = f"---\nname: {quote_yaml(name)}\ndescription: {quote_yaml(description)}\n---\n\n"
    notes.add(
        "no-frontmatter",
        "warning",
        "There is no frontmatter; name and description were taken from folder and text",
        line=1,
        hint=hint,
        fix=(Edit(0, 0, front),),
    )
    return _build({"name": name, "description": description}, body, dir_name, notes)


def _read_fields(raw: dict[Any, Any], notes: Notes) -> dict[str, Any]:
    """Every key of the frontmatter under the name of its field; what no client knows goes to `extra`."""
    fields: dict[str, Any] = {}
    for key, value in raw.items():
        if key in _TEXTS and key not in fields and type(value) is str:  # most of them
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
            if key != field.key and field.key not in raw:
                notes.add(
                    "key-spelling",
                    "note",
                    f"'{key}' was read as '{field.key}'",
                    key=key,
                    hint=f"Write {field.key}",
                    fix=notes.rename_key(key, field.key),
                )
            read = field.read(value, key, notes)
            if read is not UNREAD:
                fields[field.name] = read
        else:
            notes.add("empty-field", "note", f"'{key}' is empty", key=str(key))
    return fields


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
    fields.setdefault("extra", {})[key] = value
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
    items = fields.pop("tools")
    provided = [provided_tool(item) for item in items if isinstance(item, dict)]
    if None in provided or any(not isinstance(item, dict | str) for item in items):
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
            fix=notes.insert_top(f"name: {quote_yaml(name)}"),
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


def _describe(fields: dict[str, Any], body: _Body, notes: Notes) -> None:
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
    fields["description"] = description = first_paragraph(body.text[body.start :])
    if description:
        notes.add(
            "description-missing",
            "warning",
            "There is no description; the first paragraph of the body is used",
            line=notes.first_line,
            hint="Add a description that says what the skill does and when to use it",
            fix=notes.insert_top(f"description: {quote_yaml(description)}"),
        )
    else:
        notes.add(
            "description-missing",
            "warning",
            "There is neither a description nor a text to take one from; no model will be offered it",
            line=notes.first_line,
            hint="Add a description that says what the skill does and when to use it",
        )


def _drop_lead(front: Frontmatter) -> tuple[Edit, ...]:
    return (Edit(0, front.start, ""),)
