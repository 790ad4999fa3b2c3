"""A hub to speak with: served in a thread of this process, on a port of its own, with skills that were put there."""

import hashlib
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from clawft.config.registries import HubSettings, QuotaSettings
from clawft.install.archive.hashes import clawhub_fingerprint, counts_for_clawhub
from clawft.server.hub.model import CheckedDraft, HubFile, HubVersion, PublicationDraft
from clawft.server.hub.store import HubStore
from clawft.server.hub.tokens import HubTokens
from clawft.skills.discovery.digest import compute_digest

if TYPE_CHECKING:
    from clawft.server.http.exchange import Log

START_S = 60.0
OPEN = QuotaSettings(reads_per_minute=10_000_000, writes_per_minute=10_000_000)


class ServedHub:
    """A hub that listens. What is put here is not scanned, which takes its time: publish over HTTP for that."""

    def __init__(self, url: str, store: HubStore, folder: Path) -> None:
        self.url = url
        self.store = store
        self.folder = folder
        self._tokens = HubTokens(store)

    def token(self, owner: str, *scopes: str) -> str:
        return self._tokens.create(owner, scopes or ("read", "publish"))[0]

    def put(
        self, name: str, version: str = "1.0.0", files: Mapping[str, str | bytes] | None = None, **told: str
    ) -> HubVersion:
        """Keep a version of `owner/slug`, as if it had been published and found `verdict` (clean)."""
        owner, _, slug = name.rpartition("/")
        text = f"---\nname: {slug}\ndescription: Does {slug} when {slug} is asked for.\n---\n\nDo it.\n"
        contents = {"SKILL.md": text, **(files or {})}
        kept = [(path, one.encode() if isinstance(one, str) else one) for path, one in sorted(contents.items())]
        listed = tuple(
            HubFile(path, len(one), self.store.blobs.put(one), executable=one.startswith(b"#!")) for path, one in kept
        )
        counted = [(path, hashlib.sha256(one).hexdigest()) for path, one in kept if counts_for_clawhub(path, one)]
        draft = PublicationDraft(owner or "alice", slug, slug.title(), version, told.get("changelog", ""), listed)
        checked = CheckedDraft(
            digest=self._digest(kept),
            fingerprint=clawhub_fingerprint(counted) or "",
            verdict="suspicious" if told.get("verdict") == "suspicious" else "clean",
            summary=f"Does {slug} when {slug} is asked for.",
            reasons=(told["reason"],) if "reason" in told else (),
            engine="test",
        )
        return self.store.publish(draft, checked, draft.owner)

    def _digest(self, kept: list[tuple[str, bytes]]) -> str:
        place = self.folder / "laid-out" / hashlib.sha256(repr(kept).encode()).hexdigest()[:16]
        for path, content in kept:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(content)
            (place / path).chmod(0o755 if content.startswith(b"#!") else 0o644)
        return compute_digest(str(place)).value


@contextmanager
def serve_hub(
    folder: Path, settings: HubSettings | None = None, log: "Log | None" = None, database: str = ""
) -> Iterator[ServedHub]:
    """Serve a hub on loopback until the end of the block; `database` is a PostgreSQL that others may serve too."""
    from clawft.server.http.addresses import listen
    from clawft.server.http.server import WebServer
    from clawft.server.hub.application import make_app  # what tests without a hub need not wait for

    settings = settings or HubSettings(quota=OPEN)
    store = HubStore.open_shared(database) if database else HubStore.open_folder(str(folder / "hub"))
    listening = listen("127.0.0.1", 0, name="The hub", code="hub-address")
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    hosts = frozenset({"127.0.0.1", "localhost"})
    server = WebServer(make_app(store, settings, hosts=hosts, log=log))
    ready = threading.Event()

    async def run() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listening])
            with anyio.fail_after(START_S):
                while not server.started:
                    await anyio.sleep(0.005)
            ready.set()

    thread = threading.Thread(target=anyio.run, args=(run,), daemon=True)
    thread.start()
    try:
        if not ready.wait(START_S):
            raise RuntimeError("the hub did not start")
        yield ServedHub(url, store, folder)
    finally:
        server.stop()
        thread.join(START_S)
        listening.close()
        store.close()
