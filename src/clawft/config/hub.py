"""The section `[hub]`: the private registry that `weft hub serve` runs."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from clawft.config.load import Config, own_section
from clawft.config.secret import SecretRef

__all__ = ["HubSettings", "QuotaSettings", "Section", "own_hub"]

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


def own_hub(config: Config, user_dir: str, environ: Mapping[str, str]) -> HubSettings:
    """What the user says of their hub. A project's file says nothing of it: it could open it to everybody."""
    section: HubSettings = own_section(config, user_dir, "hub", environ)
    return section


Section = HubSettings
