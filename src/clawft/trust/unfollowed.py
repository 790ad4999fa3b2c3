"""What a project's config says and is not followed, since it would give power that only a person gives."""

from collections.abc import Iterator
from typing import Any

from clawft.config import Config
from clawft.config.load import own_values
from clawft.config.sandbox import own_sandbox
from clawft.errors import Diagnostic
from clawft.trust.modes import Mode, default_mode, ignored_mode, lower_mode

__all__ = ["find_unfollowed", "is_followed"]

_OWN_SECTIONS = frozenset({"sandbox", "runs", "hooks", "plugins", "gateway", "registries", "hub", "serve"})
_OWN_SETTINGS = (("memory", "backend"), ("skills", "security", "require_signature"))


def is_followed(path: tuple[str, ...], value: Any, own: Config, user_dir: str) -> bool:
    """Whether a setting of a project's config counts; `own` is the config without it."""
    if path == ("agents", "defaults", "mode"):
        mode = default_mode(own, user_dir)
        return lower_mode(Mode(value), mode) != mode
    return path[0] not in _OWN_SECTIONS and path not in _OWN_SETTINGS


def find_unfollowed(config: Config, user_dir: str) -> Iterator[Diagnostic]:
    """One diagnostic for each."""
    if config.sandbox != own_sandbox(config, user_dir):
        message = "What the project's config says of the sandbox is not followed: only your own can"
        yield Diagnostic("sandbox-ignored", "warning", message)
    if config.values.get("runs", {}) != own_values(config, user_dir, "runs"):
        message = "What the project's config says of runs is not followed: only your own can"
        yield Diagnostic("runs-ignored", "warning", message)
    if config.values.get("hooks", {}) != own_values(config, user_dir, "hooks"):
        message = "What the project's config says of hooks is not followed: only your own can"
        yield Diagnostic("hooks-ignored", "warning", message)
    if config.values.get("memory", {}).get("backend") != own_values(config, user_dir, "memory").get("backend"):
        message = "What the project's config says of memory.backend is not followed: only your own can"
        yield Diagnostic("memory-ignored", "warning", message)
    if _requires(config.values.get("skills", {})) != _requires(own_values(config, user_dir, "skills")):
        message = (
            "What the project's config says of skills.security.require_signature is not followed: only your own can"
        )
        yield Diagnostic("signatures-ignored", "warning", message)
    mode = ignored_mode(config, user_dir)
    if mode is not None:
        message = f"The project's config asks for the mode {mode}, which only you can choose"
        yield Diagnostic("mode-ignored", "warning", message, hint=f"To choose it: --mode {mode}")


def _requires(skills: dict[str, Any]) -> object:
    security = skills.get("security")
    return security.get("require_signature") if isinstance(security, dict) else None
