"""The section `[registries]`: where skills are searched for, installed from and published to."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, structs

from clawft.config.load import Config, own_section
from clawft.config.secret import SecretRef
from clawft.errors import ClawftError

__all__ = ["CLAWHUB", "RegistrySettings", "Section", "own_registries"]

CLAWHUB = "clawhub"  # the registry that is there without any config


class RegistrySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[registries.NAME]`: one registry. `clawhub` is there without being written down; `NAME:skill` asks this one.

    What a project's config says here is not followed.
    """

    #: Its address; of `clawhub` it is known.
    url: str = ""
    #: How it is spoken to: ClawHub's interface, as `weft hub serve` has it too; the one of `/skills/{id}/download`; or
    #: an index at `/.well-known/agent-skills/`.
    kind: Literal["clawhub", "contract", "well-known"] = "clawhub"
    #: The token that is sent to it, and to nobody else.
    token: SecretRef | None = None
    #: false leaves it alone.
    enabled: bool = True
    #: Ask this one for a name that no registry stands before. At most one; `clawhub` if none.
    default: bool = False


def own_registries(config: Config, user_dir: str, environ: Mapping[str, str]) -> dict[str, RegistrySettings]:
    """Every registry that may be asked, the default one first. A project's file names none: it could be anybody's.

    Raises: ClawftError.
    """
    written: dict[str, RegistrySettings] = own_section(config, user_dir, "registries", environ)
    known = {CLAWHUB: RegistrySettings()} | written
    known = {name: one if one.url else structs.replace(one, url=_find_url(name, one)) for name, one in known.items()}
    first = [name for name, one in known.items() if one.default]
    if len(first) > 1:
        hint = "Let one of them be the default"
        raise ClawftError("registry-default", f"{' and '.join(first)} are both the default registry", hint=hint)
    usable = {name: one for name, one in known.items() if one.enabled}
    front = next(iter(first), CLAWHUB)
    return {name: usable[name] for name in sorted(usable, key=lambda name: name != front)}


def _find_url(name: str, settings: RegistrySettings) -> str:
    """Raises: ClawftError for a registry that is to be asked and has no address."""
    if name != CLAWHUB and settings.enabled:
        hint = f"Run: weft config set registries.{name}.url https://…"
        raise ClawftError("registry-url", f"The registry '{name}' has no address", hint=hint)
    return "https://clawhub.ai" if name == CLAWHUB else ""


Section = dict[str, RegistrySettings]
