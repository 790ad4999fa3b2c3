"""How tests publish into a store."""

from clawft.server.hub.model import CheckedDraft, HubFile, HubVersion, PublicationDraft
from clawft.server.hub.store import HubStore

__all__ = ["keep", "publish"]


def keep(store: HubStore, files: dict[str, bytes]) -> tuple[HubFile, ...]:
    """Put bytes into a store, as an upload does."""
    return tuple(HubFile(path, len(content), store.blobs.put(content)) for path, content in files.items())


def publish(
    store: HubStore, name: str, version: str = "1.0.0", text: str = "Do it.", tags: tuple[str, ...] = ("latest",)
) -> HubVersion:
    """Publish `owner/slug` with a SKILL.md, past the checks."""
    owner, _, slug = name.partition("/")
    files = keep(store, {"SKILL.md": text.encode(), "run.sh": b"echo hello\n"})
    draft = PublicationDraft(owner, slug, slug.title(), version, f"What {version} brings", files, tags)
    checked = CheckedDraft(
        digest=f"sha256:{files[0].sha256}",
        fingerprint=files[0].sha256,
        verdict="clean",
        summary=f"About {slug}: {text}",
    )
    return store.publish(draft, checked, owner)
