"""References to secrets. A value is looked up where it is used, and shown nowhere (D29)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from clawft.config.keys import is_free, to_snake_case

__all__ = ["SecretRef", "expand", "find_names", "find_secrets", "names_secret"]

_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_EXPANSION = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"  # compiled by who first needs it: a list of skills does not
# 001 §12.4 lists app_secret, encrypt_key, client_secret, claw_token, imap_password, smtp_password, secret, api_key.
_SECRET_ENDS = ("key", "token", "secret", "password", "passwd", "passphrase", "pwd", "auth", "authorization", "cookie")
_SECRET_WORDS = frozenset({*_SECRET_ENDS, "credential", "credentials", "apikey"})


class SecretRef:
    """The name of an environment variable, or a secret that was written into the config itself.

    Not a struct, so that no encoder takes it apart.
    """

    __slots__ = ("_literal", "env")

    def __init__(self, env: str = "", literal: str = "") -> None:
        self.env = env
        self._literal = literal

    @classmethod
    def parse(cls, written: object, environ: Mapping[str, str]) -> "SecretRef | None":
        """`{env = "NAME"}`, or a text: the name of a variable if there is one of that name, else the secret itself."""
        if isinstance(written, dict) and isinstance(written.get("env"), str) and len(written) == 1:
            return cls(env=written["env"])
        if isinstance(written, str):
            is_name = _ENV_NAME.fullmatch(written) and written in environ
            return cls(env=written) if is_name or not written else cls(literal=written)
        return None

    @property
    def is_literal(self) -> bool:
        """Whether the config holds the secret itself, which it should not."""
        return bool(self._literal)

    def resolve(self, environ: Mapping[str, str]) -> str:
        """The secret itself, for the one place that uses it; '' where it is not set."""
        return self._literal or environ.get(self.env, "")

    def is_configured(self, environ: Mapping[str, str]) -> bool:
        return bool(self._literal or environ.get(self.env))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretRef) and (self.env, self._literal) == (other.env, other._literal)

    def __hash__(self) -> int:
        return hash((self.env, self._literal))

    def __repr__(self) -> str:
        shown = f"env={self.env}" if self.env else "<redacted>" if self._literal else "<unconfigured>"
        return f"SecretRef({shown})"

    def __str__(self) -> str:
        return f"${{{self.env}}}" if self.env else "<redacted>" if self._literal else ""


def expand(text: str, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """A text with every `${NAME}` replaced by that variable, and the names of those that are not set."""
    missing = tuple(dict.fromkeys(name for name in find_names(text) if name not in environ))
    return re.sub(_EXPANSION, lambda match: environ.get(match[1], ""), text), missing


def find_names(text: str) -> list[str]:
    """The variables that a text asks for as `${NAME}`."""
    return re.findall(_EXPANSION, text)


def names_secret(name: str) -> bool:
    """Whether a key is one that people keep secrets under, such as `imap_password` or `X-Api-Key`."""
    snake = to_snake_case(name)
    return snake.endswith(_SECRET_ENDS) or not _SECRET_WORDS.isdisjoint(snake.split("_"))


def find_secrets(
    values: Mapping[str, Any], environ: Mapping[str, str], at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], SecretRef]]:
    """Every secret in a config as it is written, with its path; what other clients' settings hold too."""
    named = is_free(at) and at[:2] != ("skills", "config")  # keys of these tables are names, not settings
    for key, value in values.items():
        path = (*at, key)
        secret = SecretRef.parse(value, environ) if not named and names_secret(key) else None
        if secret is not None:
            yield path, secret
        elif isinstance(value, dict):
            yield from find_secrets(value, environ, path)
