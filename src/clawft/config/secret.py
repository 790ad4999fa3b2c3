"""References to secrets. A value is looked up where it is used, and shown nowhere."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clawft.config.keys import Path, is_env_table, is_free, is_plugin_config, to_snake_case

_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
# Compiled by who first needs them: a list of skills does not.
_EXPANSION = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"
_KEY_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
# Such as app_secret, encrypt_key, client_secret, claw_token, imap_password, smtp_password, secret and api_key.
_SECRET_ENDS = ("key", "token", "secret", "password", "passwd", "passphrase", "pwd", "auth", "authorization", "cookie")
_SECRET_WORDS = frozenset({*_SECRET_ENDS, "credential", "credentials", "apikey", "pass"})
_NO_SCHEMAS: Mapping[str, Mapping[str, Any]] = {}


class SecretRef:
    """The name of an environment variable or of a stored key, or a secret that was written into the config itself.

    Not a struct, so that no encoder takes it apart. The store of keys follows from the environment, as does all of the
    user's folder; it is opened only by a reference to it.
    """

    __slots__ = ("_literal", "env", "keystore")

    def __init__(self, env: str = "", literal: str = "", *, keystore: str = "") -> None:
        self.env = env
        self.keystore = keystore
        self._literal = literal

    @classmethod
    def parse(cls, written: object, environ: Mapping[str, str]) -> "SecretRef | None":
        """`{env = "NAME"}`, `{keystore = "NAME"}`, or a text: the name of a variable if there is one of that name,
        else the secret itself."""
        if isinstance(written, dict) and len(written) == 1:
            return cls._parse_table(*next(iter(written.items())))
        if isinstance(written, str):
            is_name = _ENV_NAME.fullmatch(written) and written in environ
            return cls(env=written) if is_name or not written else cls(literal=written)
        return None

    @classmethod
    def _parse_table(cls, kind: object, name: object) -> "SecretRef | None":
        if not isinstance(name, str):
            return None
        if kind == "env":
            return cls(env=name)
        return cls(keystore=name) if kind == "keystore" and is_key_name(name) else None

    @property
    def is_reference(self) -> bool:
        """Return whether the secret is kept elsewhere."""
        return bool(self.env or self.keystore)

    @property
    def is_literal(self) -> bool:
        """Return whether the config holds the secret itself, which it should not."""
        return bool(self._literal)

    def resolve(self, environ: Mapping[str, str]) -> str:
        """The secret itself, for the one place that uses it; '' where it is not set.

        Raises: ClawftError for a store of keys that must not be used.
        """
        if self.keystore:
            from clawft.config.keystore import open_keystore  # a reference to a variable needs none

            return open_keystore(environ).find(self.keystore) or ""
        return self._literal or environ.get(self.env, "")

    def is_configured(self, environ: Mapping[str, str]) -> bool:
        """Return whether there is a secret. Raises: ClawftError, as `resolve` does."""
        return bool(self.resolve(environ))

    def is_known(self, environ: Mapping[str, str]) -> bool:
        """Return whether there is a secret, without opening the keyring, which may prompt the user. Raises:
        ClawftError."""
        if self.keystore:
            from clawft.config.keystore import open_keystore

            return open_keystore(environ).has(self.keystore)
        return self.is_configured(environ)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretRef) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)

    @property
    def _all(self) -> tuple[str, str, str]:
        return self.env, self.keystore, self._literal

    def __repr__(self) -> str:
        named = f"env={self.env}" if self.env else f"keystore={self.keystore}" if self.keystore else ""
        return f"SecretRef({named or ('<redacted>' if self._literal else '<unconfigured>')})"

    def __str__(self) -> str:
        named = f"${{{self.env}}}" if self.env else f"key:{self.keystore}" if self.keystore else ""
        return named or ("<redacted>" if self._literal else "")


class EnvValue(SecretRef):
    """The value of a skill's variable: a plain text, or a reference to a secret."""

    __slots__ = ()

    @classmethod
    def parse(cls, written: object, environ: Mapping[str, str]) -> "EnvValue | None":
        """`{env = "NAME"}`, `{keystore = "NAME"}`, or the text itself, even if a variable is called so."""
        if isinstance(written, str):
            return cls(literal=written)
        return super().parse(written, environ) if isinstance(written, dict) else None  # type: ignore[return-value]


def is_key_name(text: str) -> bool:
    """Return whether a stored key may be called so."""
    return bool(re.fullmatch(_KEY_NAME, text))


def expand(text: str, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """A text with every `${NAME}` replaced by that variable, and the names of those that are not set."""
    missing = tuple(dict.fromkeys(name for name in find_names(text) if name not in environ))
    return re.sub(_EXPANSION, lambda match: environ.get(match[1], ""), text), missing


def find_names(text: str) -> list[str]:
    """The variables that a text asks for as `${NAME}`."""
    return re.findall(_EXPANSION, text)


def names_secret(name: str) -> bool:
    """Return whether a key is one that people keep secrets under, such as `imap_password` or `X-Api-Key`."""
    snake = to_snake_case(name)
    return snake.endswith(_SECRET_ENDS) or not _SECRET_WORDS.isdisjoint(snake.split("_"))


def find_secrets(
    values: Mapping[str, Any],
    environ: Mapping[str, str],
    at: Path = (),
    schemas: Mapping[str, Mapping[str, Any]] = _NO_SCHEMAS,
) -> Iterator[tuple[Path, SecretRef]]:
    """Every secret in a config as it is written, with its path; what other clients' settings hold too.

    `schemas` are those of plugins' settings, by their ids.
    """
    named = is_free(at)  # keys of these tables are names, not settings
    for key, value in values.items():
        path = (*at, key)
        if is_plugin_config(path) or path == ("skills", "config"):
            from clawft.config.extensions import find_plugin_secrets  # few configs have settings of others

            schema = schemas.get(str(path[2])) if path[2:] else None
            for place, found in find_plugin_secrets(value, schema, path):
                is_name = not path[2:] and found._literal in environ and _ENV_NAME.fullmatch(found._literal)
                yield place, SecretRef(env=found._literal) if is_name else found
            continue
        supplied = isinstance(value, dict) and is_env_table(at)  # whatever such a variable is called
        secret = SecretRef.parse(value, environ) if supplied or (not named and names_secret(key)) else None
        if secret is not None:
            yield path, secret
        elif isinstance(value, dict):
            yield from find_secrets(value, environ, path, schemas)
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                if isinstance(inner, dict):
                    yield from find_secrets(inner, environ, (*path, index), schemas)
