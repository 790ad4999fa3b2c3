"""A reference to a secret. Its value is looked up where it is used, and shown nowhere (D29)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["SecretRef", "find_secrets"]

_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


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


def find_secrets(
    values: Mapping[str, Any], environ: Mapping[str, str], at: str = ""
) -> Iterator[tuple[str, SecretRef]]:
    """Every `api_key` in a config as it is written, with its path."""
    for key, value in values.items():
        path = f"{at}.{key}" if at else key
        secret = SecretRef.parse(value, environ) if key == "api_key" else None
        if secret is not None:
            yield path, secret
        elif isinstance(value, dict):
            yield from find_secrets(value, environ, path)
