"""The sections [registries] and [hub]: where skills are installed from, and the registry that weft hub serve runs."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from clawft.config.secret import SecretRef
from clawft.errors import ClawftError

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


def list_registries(written: Mapping[str, RegistrySettings]) -> dict[str, RegistrySettings]:
    """Every registry that may be asked, the default one first: of the user's own settings, since one that a project
    names could be anybody's. Raises: ClawftError.
    """
    known = {CLAWHUB: RegistrySettings(), **written}
    known = {
        name: registry if registry.url else structs.replace(registry, url=_find_url(name, registry))
        for name, registry in known.items()
    }
    first = [name for name, registry in known.items() if registry.default]
    if len(first) > 1:
        hint = "Let one of them be the default"
        raise ClawftError("registry-default", f"{' and '.join(first)} are both the default registry", hint=hint)
    usable = {name: registry for name, registry in known.items() if registry.enabled}
    front = next(iter(first), CLAWHUB)
    return {name: usable[name] for name in sorted(usable, key=lambda name: name != front)}


def _find_url(name: str, settings: RegistrySettings) -> str:
    """Raises: ClawftError for a registry that is to be asked and has no address."""
    if name != CLAWHUB and settings.enabled:
        hint = f"Run: weft config set registries.{name}.url https://…"
        raise ClawftError("registry-url", f"The registry '{name}' has no address", hint=hint)
    return "https://clawhub.ai" if name == CLAWHUB else ""


_Megabytes = Annotated[int, Meta(ge=1, le=1_000_000)]
_Count = Annotated[int, Meta(ge=1, le=10_000_000)]


class QuotaSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hub.quota]`: how much one owner may keep, and how much anybody may send."""

    #: How large one file may be, in megabytes.
    file_mb: _Megabytes = 10
    #: How large one version may be, in megabytes.
    version_mb: _Megabytes = 50
    #: How many files one version may have.
    version_files: _Count = 1_000
    #: How many skills one owner may have.
    skills: _Count = 1_000
    #: How many versions one skill may have.
    versions: _Count = 1_000
    #: How much one owner may keep in all, in megabytes.
    owner_mb: _Megabytes = 2_000
    #: How many requests a minute one client may make to read.
    reads_per_minute: _Count = 3_000
    #: How many requests a minute one client may make to write.
    writes_per_minute: _Count = 300


class HubSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[hub]`. What a project's config says here is not followed."""

    #: The address it listens on.
    host: str = "127.0.0.1"
    #: The port it listens on.
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8710
    #: The address that clients reach it under, where that is another one, as behind a proxy.
    public_url: str = ""
    #: Where its database and files are; `~/.clawft/hub` if empty.
    folder: str = ""
    #: A PostgreSQL database for several instances, which then keeps the files too; SQLite in the folder if absent.
    database: SecretRef | None = None
    #: true lets everybody read who reaches it; else a token with the scope `read` is needed.
    public_read: bool = True
    #: What becomes of a version that the scanner calls suspicious: it is kept with the verdict, or not taken.
    refuse_suspicious: bool = False
    quota: QuotaSettings = QuotaSettings()
