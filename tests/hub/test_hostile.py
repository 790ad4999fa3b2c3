"""What somebody who means harm asks of a hub: it costs them more than it costs the hub."""

import hashlib
import io
import select
import socket
import tarfile
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import httpx2
import pytest
from hub_drafts import keep, publish

from clawft.hub.store import HubStore
from clawft.hub.tars import make_tar
from hub_world import ServedHub

SKILL = b"---\nname: tides\ndescription: Tells the tides of a harbour when somebody asks.\n---\n\nLook them up.\n"


@pytest.fixture
def client(served_hub: ServedHub) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=served_hub.url, trust_env=False, timeout=30) as opened:
        yield opened


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_those_who_take_nothing_of_a_large_download_hold_none_of_it_in_memory(served_hub: ServedHub) -> None:
    served_hub.put("alice/tides", files={"large.bin": b"x" * (8 << 20)})
    tracemalloc.start()
    try:
        with ExitStack() as stack:
            for _ in range(8):
                peer = stack.enter_context(closing(socket.socket()))
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                peer.connect(("127.0.0.1", urlsplit(served_hub.url).port or 0))
                peer.sendall(b"GET /skills/tides/download HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                assert select.select([peer], [], [], 10)[0]
            assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_a_tar_is_the_same_in_pieces_as_whole_from_either_database(store: HubStore) -> None:
    version = publish(store, "ann/tides")
    content = bytes(range(256)) * 20_000
    (large,) = keep(store, {"deep/large.bin": content})
    pieces = list(store.blobs.pieces(large.sha256))
    assert b"".join(pieces) == content
    assert len(pieces) > 1
    (nothing,) = keep(store, {"nothing": b""})
    assert b"".join(store.blobs.pieces(nothing.sha256)) == b""
    whole = b"".join(make_tar(store, version))
    with tarfile.open(fileobj=io.BytesIO(whole), mode="r:gz") as opened:
        found = {one.name: opened.extractfile(one) for one in opened}
        hashes = {path: hashlib.sha256(file.read()).hexdigest() for path, file in found.items() if file}
    assert hashes == {file.path: file.sha256 for file in version.files}
