"""A registry that is published to: whose token it is, what it has already, and a new version in one step.

Files are uploaded first and named by the publication after; until that is taken nobody sees anything of them. So
whatever fails before leaves nothing half visible, and the same can be sent again.
"""

import secrets
from typing import Any
from urllib.parse import quote

import anyio
import msgspec
from msgspec import Struct, field

from clawft.errors import ClawftError, NotFound, Refused
from clawft.files import read_regular
from clawft.install.publish.parcel import MAX_FILE, Parcel, ParcelFile
from clawft.install.sources.clawhub import ClawHub
from clawft.install.sources.clawhub_api import ClawHubFile, ClawHubVersion
from clawft.install.sources.http import FetchLimits, FetchRequest, HttpError, SourceConnection
from clawft.messages import ReportProgress

# A form holds all files at once, and who sends many files one by one is soon asked to wait a minute.
UPLOAD = FetchLimits(timeout_s=120, attempts=5, wait_s=70)
TOGETHER = 4
MANY = 20  # more files than this, if they are small, go in one form: each by itself would be two requests
FORM_BYTES = 4 << 20
_NONE = (404, 405, 501)
_NO_HASH = "0" * 64  # of nothing: asks only for the latest version


class Publication(Struct, frozen=True):
    """A version as it is announced."""

    slug: str
    owner: str
    name: str  # as people read it
    version: str
    changelog: str = ""
    tags: tuple[str, ...] = ("latest",)
    accept_license: bool = False


class PublishedVersions(Struct, frozen=True):
    """The versions of a skill in a registry: the one with exactly this content, and the newest; '' where there is
    none."""

    match: str = ""
    latest: str = ""
    asked: bool = True  # without a token nobody knows whose skill to ask for


class PublicationResult(Struct, frozen=True):
    """The result of a publication. `missing` names files that the registry does not list as they were sent."""

    id: str
    pending: bool = False
    again: bool = False  # it was there already, with the same content
    missing: tuple[str, ...] = ()


class _User(Struct, frozen=True):
    handle: str | None = None


class _WhoAmI(Struct, frozen=True):
    user: _User


class _Named(Struct, frozen=True):
    version: str | None = None


class _Resolution(Struct, frozen=True, rename="camel"):
    match: _Named | None = None
    latest_version: _Named | None = None


class _Ticket(Struct, frozen=True, rename="camel"):
    upload_url: str
    upload_ticket: str | None = None


class _Stored(Struct, frozen=True, rename="camel"):
    storage_id: str


class _Accepted(Struct, frozen=True, rename="camel"):
    ok: bool = True
    version_id: Any = None
    publication_status: str | None = None
    message: str | None = field(default=None)


class PublishingRegistry:
    """One registry, over the judged connection of its source."""

    def __init__(self, name: str, url: str, fetching: SourceConnection, *, has_token: bool) -> None:
        self.name = name
        self.url = url
        self.has_token = has_token
        self._hub = ClawHub(name, url, fetching)
        self._fetching = fetching

    async def __aenter__(self) -> "PublishingRegistry":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._fetching.aclose()

    async def whoami(self) -> str:
        """The owner that the token belongs to. Raises: ClawftError."""
        try:
            answer = await self._fetching.ask(await self._hub.address("whoami"), _WhoAmI)
        except HttpError as error:
            raise self._denied(error) from error
        if not answer.user.handle:
            raise ClawftError("publish-token", f"'{self.name}' does not say whose token this is")
        return answer.user.handle

    async def find(self, owner: str, slug: str, fingerprint: str) -> PublishedVersions:
        """Find a skill's versions there; without a fingerprint the latest may be the one. Raises: ClawftError."""
        asked = {"slug": slug, "hash": fingerprint or _NO_HASH, "ownerHandle": owner}
        try:
            resolution = await self._fetching.ask(await self._hub.address("resolve", asked), _Resolution)
        except HttpError as error:
            if error.status == 404:
                return PublishedVersions()
            raise
        match, latest = (
            (version and version.version) or "" for version in (resolution.match, resolution.latest_version)
        )
        return PublishedVersions(match if fingerprint else latest, latest)

    async def list_files(self, owner: str, slug: str, version: str) -> dict[str, str] | None:
        """The sha256 of every file of a version, by path; None where it has no such version. Raises: ClawftError."""
        path = f"skills/{quote(slug)}/versions/{quote(version)}"
        try:
            answer = await self._fetching.ask(await self._hub.address(path, {"ownerHandle": owner}), ClawHubVersion)
        except HttpError as error:
            if error.status in _NONE:
                return None
            raise
        listed: list[ClawHubFile] = answer.version.files or []
        return {file.path: file.sha256.lower() for file in listed}

    async def publish(
        self, publication: Publication, parcel: Parcel, tell: ReportProgress = lambda *_: None
    ) -> PublicationResult:
        """Send a version: its files, then what it is. Raises: ClawftError."""
        try:
            accepted = await self._send(publication, parcel, tell)
        except HttpError as error:
            if error.status == 409:  # perhaps ours, from an attempt whose answer was lost
                return await self._find_again(publication, parcel, error)
            raise self._denied(error) from error
        if not accepted.ok:
            why = accepted.message or "it does not say why"
            raise ClawftError("publish-refused", f"'{self.name}' did not take it: {why}")
        pending = accepted.publication_status == "pending"
        missing = () if pending else await self._find_missing(publication, parcel)
        return PublicationResult(str(accepted.version_id or ""), pending, missing=missing)

    async def _send(self, publication: Publication, parcel: Parcel, tell: ReportProgress) -> _Accepted:
        address = await self._hub.address("skills")
        if len(parcel.files) > MANY and parcel.size <= FORM_BYTES:
            try:
                return await self._fetching.ask(address, _Accepted, _form(publication, parcel))
            except HttpError as error:
                if error.status not in (*_NONE, 413, 415):
                    raise
        first = await self._upload(parcel.files[0])
        if first is None:  # it has no such step: all in one form
            return await self._fetching.ask(address, _Accepted, _form(publication, parcel))
        files = [first, *await self._upload_rest(parcel, tell)]
        body = msgspec.json.encode(_payload(publication) | {"files": files})
        return await self._fetching.ask(address, _Accepted, FetchRequest("POST", body))

    async def _upload_rest(self, parcel: Parcel, tell: ReportProgress) -> list[dict[str, Any]]:
        """All files but the first, some at a time, in their order. Raises: ClawftError for the first that fails."""
        rest = parcel.files[1:]
        sent: list[dict[str, Any] | None] = [None] * len(rest)
        failed: list[ClawftError] = []
        limit = anyio.CapacityLimiter(TOGETHER)

        async def send(number: int, file: ParcelFile) -> None:
            async with limit:
                try:
                    sent[number] = await self._upload(file)
                except ClawftError as error:
                    failed.append(error)
                    group.cancel_scope.cancel()
                tell(1 + sum(uploaded is not None for uploaded in sent), len(parcel.files))

        async with anyio.create_task_group() as group:
            for number, file in enumerate(rest):
                group.start_soon(send, number, file)
        if failed:
            raise failed[0]
        return [uploaded for uploaded in sent if uploaded is not None]

    async def _upload(self, file: ParcelFile) -> dict[str, Any] | None:
        """One file as a publication names it; None where the registry gives no tickets."""
        facts = {"path": file.path, "size": file.size, "sha256": file.sha256, "contentType": file.content_type}
        asked = FetchRequest("POST", msgspec.json.encode(facts))
        try:
            ticket = await self._fetching.ask(await self._hub.address("skills/-/upload-url"), _Ticket, asked)
        except HttpError as error:
            if error.status in _NONE:
                return None
            raise
        content = FetchRequest("POST", _read(file), file.content_type)
        stored = await self._fetching.ask(ticket.upload_url, _Stored, content)
        more = {"uploadTicket": ticket.upload_ticket} if ticket.upload_ticket else {}
        return facts | {"storageId": stored.storage_id} | more | ({"executable": True} if file.executable else {})

    async def _find_again(self, publication: Publication, parcel: Parcel, error: HttpError) -> PublicationResult:
        """The version that is there already, if it is this one. Raises: Refused."""
        there = await self.list_files(publication.owner, publication.slug, publication.version)
        if there is None:
            raise error
        if there == {file.path: file.sha256 for file in parcel.files}:
            return PublicationResult("", again=True)
        message = f"'{self.name}' has a version {publication.version} of other content, and versions never change"
        raise Refused("publish-taken", message, hint="Pass --bump patch, minor or major") from error

    async def _find_missing(self, publication: Publication, parcel: Parcel) -> tuple[str, ...]:
        there = await self.list_files(publication.owner, publication.slug, publication.version)
        if there is None:
            return ()
        return tuple(file.path for file in parcel.files if there.get(file.path) != file.sha256)

    def _denied(self, error: HttpError) -> ClawftError:
        if error.status not in (401, 403):
            return error
        hint = f"It must be one that may publish, as this owner. To store another: weft registries token {self.name}"
        reason = f": {error.reason}" if error.reason else ""
        return Refused("publish-token", f"'{self.name}' does not take this token{reason}", hint=hint)


def _payload(publication: Publication) -> dict[str, Any]:
    owner = {"ownerHandle": publication.owner} if publication.owner else {}
    terms = {"acceptLicenseTerms": True} if publication.accept_license else {}
    return {
        "slug": publication.slug,
        "displayName": publication.name,
        **owner,
        "version": publication.version,
        "changelog": publication.changelog,
        **terms,
        "tags": list(publication.tags),
    }


def _form(publication: Publication, parcel: Parcel) -> FetchRequest:
    """All of it as one form, as browsers send one."""
    boundary = f"----clawft{secrets.token_hex(16)}"
    executable = [file.path for file in parcel.files if file.executable]
    payload = _payload(publication) | ({"executable": executable} if executable else {})
    parts = [_part('name="payload"', "application/json", msgspec.json.encode(payload))]
    for file in parcel.files:
        name = file.path.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
        parts.append(_part(f'name="files"; filename="{name}"', file.content_type, _read(file)))
    body = b"".join(f"--{boundary}\r\n".encode() + part for part in parts) + f"--{boundary}--\r\n".encode()
    return FetchRequest("POST", body, f"multipart/form-data; boundary={boundary}")


def _part(what: str, kind: str, content: bytes) -> bytes:
    head = f"Content-Disposition: form-data; {what}\r\nContent-Type: {kind}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def _read(file: ParcelFile) -> bytes:
    """The bytes of a copied file. Raises: ClawftError."""
    try:
        return read_regular(file.place, MAX_FILE)[0]
    except FileNotFoundError as error:
        raise NotFound("unreadable", "A file is gone while it is published", path=file.place) from error
