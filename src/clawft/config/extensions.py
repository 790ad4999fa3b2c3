"""The sections [hooks] and [plugins], and the secrets in the settings of plugins."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from clawft.config.keys import Path
from clawft.config.secret import EnvValue, SecretRef, names_secret

_MAX_NESTED = 8  # schemas in schemas, by anyOf and the like
_Schema = Mapping[str, Any]
_Schemas = Sequence[_Schema]


def find_plugin_secrets(value: Any, schema: _Schema | None, at: Path = ()) -> Iterator[tuple[Path, SecretRef]]:
    """Every secret in the settings of a plugin, with its path.

    A text is one if its key, the key of a table around it or the schema (`format: password`, `writeOnly`) says so. A
    reference is one wherever it stands, unless the schema wants a table there.
    """
    return _find_in_table(value, _expand(schema), at, secret=False) if isinstance(value, dict) else iter(())


def replace_references(
    config: Mapping[str, Any], schema: Mapping[str, Any] | None, replace: Callable[[Path, SecretRef], Any]
) -> dict[str, Any]:
    """Settings with something else in the place of each reference."""
    result: Any = deepcopy(dict(config))
    for path, secret in find_plugin_secrets(config, schema):
        if secret.is_reference:
            table = result
            for part in path[:-1]:
                table = table[part]
            table[path[-1]] = replace(path, secret)
    return dict(result)


def _find(value: Any, schemas: _Schemas, at: Path, *, secret: bool) -> Iterator[tuple[Path, SecretRef]]:
    reference = SecretRef.parse(value, {}) if isinstance(value, dict) else None
    secret = secret or any(schema.get("format") == "password" or schema.get("writeOnly") is True for schema in schemas)
    if reference is not None and not any(map(_wants_table, schemas)):
        yield at, reference
    elif isinstance(value, dict):
        yield from _find_in_table(value, schemas, at, secret=secret)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _find(inner, _inner(schemas, "items"), (*at, index), secret=secret)
    elif secret and value and (isinstance(value, str) or _is_secret_number(value, at, schemas)):
        yield at, EnvValue(literal=str(value))


def _find_in_table(
    table: Mapping[str, Any], schemas: _Schemas, at: Path, *, secret: bool
) -> Iterator[tuple[Path, SecretRef]]:
    for key, value in table.items():
        named = names_secret(key) or names_secret(key.removesuffix("s"))
        yield from _find(value, _property(schemas, key), (*at, key), secret=secret or named)


def _is_secret_number(value: Any, at: Path, schemas: _Schemas) -> bool:
    """`pin_token = 1234` is one; `max_tokens = 1234` is not."""
    named = names_secret(next((part for part in reversed(at) if isinstance(part, str)), ""))
    return type(value) in (int, float) and (named or any(schema.get("format") == "password" for schema in schemas))


def _wants_table(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return "properties" in schema or "object" in (kind if isinstance(kind, list) else [kind])


def _property(schemas: _Schemas, key: str) -> _Schemas:
    named = [schema["properties"][key] for schema in schemas if key in (schema.get("properties") or {})]
    return [found for subschema in named for found in _expand(subschema)] or _inner(schemas, "additionalProperties")


def _inner(schemas: _Schemas, keyword: str) -> _Schemas:
    return [found for schema in schemas for found in _expand(schema.get(keyword))]


def _expand(schema: Any, depth: int = 0) -> _Schemas:
    """A schema and the alternatives that it names."""
    if not isinstance(schema, Mapping) or depth > _MAX_NESTED:
        return ()
    inner = [subschema for keyword in ("anyOf", "oneOf", "allOf") for subschema in schema.get(keyword) or ()]
    return [schema, *(found for subschema in inner for found in _expand(subschema, depth + 1))]


_Seconds = Annotated[float, Meta(gt=0, le=600)]


class HookPermissions(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks.entries.NAME.permissions]`: what a hook may reach beside its own folder and the project, which it reads.

    Also what a HOOK.md asks for.
    """

    #: Further files and folders that it may read.
    read: tuple[str, ...] = ()
    #: Files and folders that it may change.
    write: tuple[str, ...] = ()
    #: Hosts that it may reach, such as `api.example.com` or `*.example.com`.
    net: tuple[str, ...] = ()
    #: Variables that it is given.
    env: tuple[str, ...] = ()


class HookEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks.entries.NAME]`: settings of one hook."""

    #: false takes the hook out of use.
    enabled: bool = True
    #: Variables for the hook, and for no other. Each is a text or a reference to a secret: `{ keystore = "NAME" }` or
    #: `{ env = "NAME" }`.
    env: dict[str, EnvValue] = {}
    #: What it may reach; absent means what its HOOK.md asks for.
    permissions: HookPermissions | None = None
    #: How long one call may take, in seconds; absent means `hooks.timeout_s`.
    timeout_s: _Seconds | None = None
    #: What becomes of a tool call whose hook fails: it is made (`ignore`) or refused (`deny`).
    on_failure: Literal["ignore", "deny"] = "ignore"
    #: Keep its process between calls; absent means `hooks.persistent`.
    persistent: bool | None = None


class HookLoad(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks.load]`."""

    #: Further folders of hooks. `~` and paths relative to the project are understood.
    extra_dirs: tuple[str, ...] = ()


class HooksSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hooks]`. What a project's config says here is not followed."""

    #: false takes all hooks out of use.
    enabled: bool = True
    #: Run the hooks of Claude Code's `settings.json` and of skills' frontmatter, too.
    claude: bool = True
    #: How long one call of a hook may take, in seconds.
    timeout_s: _Seconds = 10
    #: How much memory one hook may take, in megabytes.
    memory_mb: Annotated[int, Meta(ge=64, le=65_536)] = 256
    #: How much one call may print and return, in bytes.
    max_output_bytes: Annotated[int, Meta(ge=1024, le=16 << 20)] = 1 << 20
    #: Keep the process of a hook between calls, for events that come often: tool calls and messages.
    persistent: bool = False
    load: HookLoad = HookLoad()
    entries: dict[str, HookEntry] = {}


_Megabytes = Annotated[int, Meta(ge=1, le=65_536)]


class PluginEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins.entries."ID"]`: settings of one plugin."""

    #: false takes the plugin out of use.
    enabled: bool = True
    #: Its own settings, checked against the `config_schema` of its manifest.
    config: dict[str, Any] = {}
    #: Variables for the plugin that it was granted by name. Each is a text or a reference to a secret, as
    #: `weft plugins env` writes it: `{ keystore = "NAME" }` or `{ env = "NAME" }`. One that is not here is taken from
    #: the environment.
    env: dict[str, EnvValue] = {}
    #: How long one call may take, in seconds; absent means `plugins.call_timeout_s`.
    call_timeout_s: _Seconds | None = None


class PluginLoad(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins.load]`."""

    #: Further folders of plugins. `~` and paths relative to the project are understood.
    extra_dirs: tuple[str, ...] = ()
    #: Look for plugins among the installed Python packages (entry points `clawft.plugins`).
    entry_points: bool = True


class WasmSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins.wasm]`: limits of WebAssembly, for plugins and for skills with `execution: wasm`."""

    #: How large a module or component may be, in bytes.
    max_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 300 * 1024
    #: The same, compressed with gzip.
    max_gzip_bytes: Annotated[int, Meta(ge=1024, le=1 << 30)] = 120 * 1024
    #: How much memory one may take, in megabytes.
    memory_mb: _Megabytes = 64
    #: How many instructions one call may take, about.
    fuel: Annotated[int, Meta(ge=1000, le=10**15)] = 1_000_000_000
    #: How long one call may take, in seconds; absent means `plugins.call_timeout_s`.
    timeout_s: _Seconds | None = None


class PluginsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[plugins]`. What a project's config says here is not followed."""

    #: false takes all plugins out of use.
    enabled: bool = True
    #: How long a plugin may take to start, in seconds.
    init_timeout_s: _Seconds = 10
    #: How long a plugin may take to end, in seconds.
    shutdown_timeout_s: _Seconds = 5
    #: How long one call may take, in seconds.
    call_timeout_s: _Seconds = 30
    #: How much memory the process of one plugin may take, in megabytes.
    memory_mb: Annotated[int, Meta(ge=64, le=65_536)] = 512
    #: How often in a row a plugin may fail before it is left alone for the rest of the session.
    max_failures: Annotated[int, Meta(ge=1, le=100)] = 3
    load: PluginLoad = PluginLoad()
    wasm: WasmSettings = WasmSettings()
    entries: dict[str, PluginEntry] = {}
