"""A reference to a secret. Its value is looked up where it is used, and shown nowhere (D29)."""

import re
from collections.abc import Mapping

from msgspec import Struct

__all__ = ["SecretRef"]

_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


class SecretRef(Struct, frozen=True, repr_omit_defaults=True):
    """The name of an environment variable, or a text written into the config itself."""

    env: str = ""
    literal: str = ""

    @classmethod
    def parse(cls, written: object) -> "SecretRef | None":
        """`{env = "NAME"}` or a text: one that looks like a variable is its name, any other is the secret itself."""
        if isinstance(written, dict) and isinstance(written.get("env"), str) and len(written) == 1:
            return cls(env=written["env"])
        if isinstance(written, str):
            return cls(env=written) if _ENV_NAME.fullmatch(written) else cls(literal=written)
        return None

    def is_configured(self, environ: Mapping[str, str]) -> bool:
        return bool(self.literal or environ.get(self.env))

    def __repr__(self) -> str:
        return (
            f"SecretRef(env={self.env})"
            if self.env
            else "SecretRef(<redacted>)"
            if self.literal
            else "SecretRef(<unconfigured>)"
        )

    def __str__(self) -> str:
        return f"${{{self.env}}}" if self.env else "<redacted>" if self.literal else ""
