"""Publish, delete and restore skills by ClawHub's interface."""

import hashlib
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from clawft.errors import Refused
from clawft.server.http.limits import MAX_JSON, WebError, limit_body, parse_json, read_body, read_json
from clawft.server.hub.context import Hub, find_skill, get_hub, make_json_response, parse_owner, require_token
from clawft.server.hub.model import HubFile, HubSkill, HubToken, PublicationDraft
from clawft.server.hub.publication import TAGS, is_tag
from clawft.server.hub.store import META, VersionExists
from clawft.server.hub.uploads import Upload

_ROOM = 1024 * 1024  # of a form, for all but its files
_MAX_PATH = 1_000
_MAX_REASON = 500


class _Wanted(Struct, frozen=True):
    """A file that a client wants to upload."""

    path: str
    size: int
    sha256: str
    contentType: str = "application/octet-stream"  # noqa: N815  (names are as they are sent)


class _Sent(_Wanted, frozen=True, kw_only=True):
    """A file that was uploaded."""

    storageId: str  # noqa: N815
    uploadTicket: str = ""  # noqa: N815
    executable: bool = False


class _Tagged(Struct, frozen=True):
    version: str


class _Publication(Struct, frozen=True):
    """A request to publish a version; further fields of ClawHub's are ignored."""

    slug: str
    version: str
    displayName: str = ""  # noqa: N815
    ownerHandle: str | None = None  # noqa: N815
    changelog: str = ""
    tags: tuple[str, ...] = ("latest",)
    files: tuple[_Sent, ...] = ()
    executable: tuple[str, ...] = ()  # paths; the clients of ClawHub cannot tell, weft does


async def whoami(request: Request) -> Response:
    """Return the owner and scopes of the token."""
    token = require_token(request)
    role = "admin" if "admin" in token.scopes else "user"
    user = {"handle": token.owner, "displayName": token.owner, "image": None, "role": role}
    return make_json_response({"user": user, "scopes": list(token.scopes)})


async def upload_url(request: Request) -> Response:
    """A ticket to upload one file."""
    hub, token = get_hub(request), require_token(request, "publish")
    wanted = _convert(await read_json(request), _Wanted)
    most = hub.settings.quota.file_mb << 20
    if not 0 <= wanted.size <= most:
        raise WebError(413, f"A file may have {most} bytes")
    if len(wanted.path) > _MAX_PATH:
        raise WebError(400, "The path is too long")
    try:
        upload = Upload(token.id, wanted.path, wanted.sha256.lower(), wanted.size, _media_type(wanted.contentType))
    except ValueError as error:
        raise WebError(400, str(error)) from error
    ticket = hub.tickets.seal("ticket", upload)
    url = f"{hub.address(request)}/api/v1/skills/-/upload?ticket={quote(ticket)}"
    return make_json_response({"uploadUrl": url, "uploadTicket": ticket})


async def upload(request: Request) -> Response:
    """The bytes of a file. The ticket is in the address: clients send no token here."""
    hub = get_hub(request)
    allowed = hub.tickets.check("ticket", request.query_params.get("ticket", ""))
    if not await hub.work(hub.tokens.counts, allowed.token):
        raise WebError(401, "Unauthorized")
    hub.pending.add(allowed.token, allowed.sha256, allowed.size)
    with hub.pending.receiving(allowed.token, allowed.size):
        content = await read_body(request, allowed.size)
        if len(content) != allowed.size or hashlib.sha256(content).hexdigest() != allowed.sha256:
            raise WebError(400, "These are not the bytes that the ticket is for")
        await hub.work(hub.store.blobs.put, content)
    return make_json_response({"storageId": hub.tickets.seal("receipt", allowed)})


async def publish(request: Request) -> Response:
    """A new version: files that were uploaded, or all in one form."""
    hub, token = get_hub(request), require_token(request, "publish")
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        wanted, files, left_out = await _read_form(request, hub, token)
    else:
        wanted = _convert(await read_json(request), _Publication)
        left_out = [META for file in wanted.files if file.path == META]
        files = [_check_sent(hub, token, file) for file in wanted.files if file.path != META]
    owner = (wanted.ownerHandle or token.owner).removeprefix("@").lower()
    if owner != token.owner and "admin" not in token.scopes:
        raise WebError(403, f"This token is @{token.owner}'s, and may not publish as @{owner}")
    draft = PublicationDraft(
        owner=owner,
        slug=wanted.slug.strip().lower(),
        display_name=wanted.displayName.strip() or wanted.slug,
        version=wanted.version.strip(),
        changelog=wanted.changelog,
        files=tuple(sorted(files, key=lambda one: one.path.encode())),
        tags=wanted.tags,
    )
    sent = [file.sha256 for file in files]
    try:
        version = await hub.take(draft, token)
    except (Refused, VersionExists):  # of which nothing is kept
        hub.pending.settle(token.id, sent)
        raise
    hub.pending.settle(token.id, sent)
    return make_json_response(
        {
            "ok": True,
            "skillId": str(version.skill),
            "versionId": f"@{draft.owner}/{draft.slug}@{version.version}",
            "publicationStatus": "published",
            "digest": f"sha256:{version.archive}",
            "fingerprint": version.fingerprint or None,
            "verdict": version.verdict,
            "leftOut": left_out,
        }
    )


def _check_sent(hub: Hub, token: HubToken, sent: _Sent) -> HubFile:
    """A file that this token did upload, under this path. Raises: WebError."""
    receipt = hub.tickets.check("receipt", sent.storageId)
    if (receipt.token, receipt.path, receipt.sha256) != (token.id, sent.path, sent.sha256.lower()):
        raise WebError(403, f"'{sent.path[:200]}' is not what was uploaded")
    return HubFile(sent.path, receipt.size, receipt.sha256, receipt.content_type, sent.executable)


async def _read_form(request: Request, hub: Hub, token: HubToken) -> tuple[_Publication, list[HubFile], list[str]]:
    """A publication in one form: `payload`, and the `files` with their paths as names. Raises: WebError.

    What the hub adds by itself is left out: clients that installed a skill send it back.
    """
    quota = hub.settings.quota
    most = (quota.version_mb << 20) + _ROOM + 512 * quota.version_files
    bounded = limit_body(request, most)
    announced = min(int(request.headers.get("content-length", most)), most)
    try:
        with hub.pending.receiving(token.id, announced):
            return await _read_parts(bounded, hub, token)
    except ClientDisconnect as error:
        raise WebError(400, "The body did not come to its end") from error


async def _read_parts(request: Request, hub: Hub, token: HubToken) -> tuple[_Publication, list[HubFile], list[str]]:
    """Raises: WebError, ClientDisconnect."""
    quota = hub.settings.quota
    files, left_out = [], []
    async with request.form(max_files=quota.version_files, max_fields=8, max_part_size=MAX_JSON) as form:
        payload = form.get("payload")
        if not isinstance(payload, str):
            raise WebError(400, "The form has no payload")
        wanted = _convert(parse_json(payload, "payload"), _Publication)
        executable = frozenset(wanted.executable)
        for file_part in form.getlist("files"):
            if not isinstance(file_part, UploadFile):
                raise WebError(400, "files must be files")
            path = (file_part.filename or "").removeprefix("./")
            if path == META:
                left_out.append(path)
            else:
                files.append(await _keep_part(hub, token, file_part, executable=path in executable))
    return wanted, files, left_out


async def _keep_part(hub: Hub, token: HubToken, part: UploadFile, *, executable: bool) -> HubFile:
    path = (part.filename or "").removeprefix("./")
    if (part.size or 0) > hub.settings.quota.file_mb << 20:
        raise WebError(413, f"'{path[:200]}' is larger than {hub.settings.quota.file_mb} MB")
    content = await part.read()
    hub.pending.add(token.id, hashlib.sha256(content).hexdigest(), len(content))
    sha256 = await hub.work(hub.store.blobs.put, content)
    return HubFile(path, len(content), sha256, _media_type(part.content_type or ""), executable)


async def delete_skill(request: Request) -> Response:
    """Give a skill to nobody any more; its versions stay taken."""
    hub = get_hub(request)
    await hub.work(hub.store.delete, (await _own_skill(request)).id)
    return make_json_response({"ok": True})


async def undelete_skill(request: Request) -> Response:
    """Give it again."""
    hub = get_hub(request)
    await hub.work(hub.store.undelete, (await _own_skill(request)).id)
    return make_json_response({"ok": True})


async def yank_version(request: Request) -> Response:
    """Give a version only to those who name it."""
    hub, skill = get_hub(request), await _own_skill(request)
    body = await read_json(request)
    reason = body.get("reason") if isinstance(body, dict) else None
    reason = "".join(
        character if character.isprintable() else " " for character in str(reason or "")
    )  # it is shown on terminals
    reason = " ".join(reason.split())[:_MAX_REASON]
    await hub.work(hub.store.yank, skill.id, request.path_params["version"], reason)
    return make_json_response({"ok": True})


async def restore_version(request: Request) -> Response:
    """Give it to everybody again."""
    hub, skill = get_hub(request), await _own_skill(request)
    await hub.work(hub.store.unyank, skill.id, request.path_params["version"])
    return make_json_response({"ok": True})


async def set_tag(request: Request) -> Response:
    """Point a tag to a version; DELETE removes the tag."""
    hub, skill, tag = get_hub(request), await _own_skill(request), request.path_params["tag"]
    if tag == "latest":
        raise WebError(400, "Which version is the latest follows from their numbers: yank what is not to be it")
    if not is_tag(tag):
        raise WebError(400, TAGS)
    version = "" if request.method == "DELETE" else _convert(await read_json(request), _Tagged).version
    await hub.work(hub.store.set_tag, skill.id, tag, version)
    return make_json_response({"ok": True})


async def ignore_telemetry(_request: Request) -> Response:
    """Clients tell what was installed where. Nothing of it is read or kept."""
    return make_json_response({"ok": True})


async def _own_skill(request: Request) -> HubSkill:
    """The skill that a token may change: of its owner, or, for an admin, of anybody. Raises: WebError."""
    token = require_token(request, "publish")
    slug = request.path_params["slug"]
    is_admin = "admin" in token.scopes
    skill = await find_skill(
        request, slug, owner=parse_owner(request) or ("" if is_admin else token.owner), deleted=True
    )
    if skill.owner != token.owner and not is_admin:
        raise WebError(403, f"This token is @{token.owner}'s, and may not change what is @{skill.owner}'s")
    return skill


def _media_type(text: str) -> str:
    """Return the media type that a client gave for a file; it is only displayed, never acted on."""
    return text if 0 < len(text) <= 100 and text.isascii() and text.isprintable() else "application/octet-stream"


def _convert(document: Any, kind: type[Any]) -> Any:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise WebError(400, str(error)) from error


_SKILL = "/api/v1/skills/{slug}"
PUBLISHING = [
    Route("/api/v1/whoami", whoami),
    Route("/api/v1/skills", publish, methods=["POST"]),
    Route("/api/v1/skills/-/upload-url", upload_url, methods=["POST"]),
    Route("/api/v1/skills/-/upload", upload, methods=["POST"]),
    Route(_SKILL, delete_skill, methods=["DELETE"]),
    Route(f"{_SKILL}/undelete", undelete_skill, methods=["POST"]),
    Route(f"{_SKILL}/versions/{{version}}", yank_version, methods=["DELETE"]),
    Route(f"{_SKILL}/versions/{{version}}/restore", restore_version, methods=["POST"]),
    Route(f"{_SKILL}/tags/{{tag}}", set_tag, methods=["PUT", "POST", "DELETE"]),
    Route("/api/cli/telemetry/install", ignore_telemetry, methods=["POST"]),
    Route("/api/cli/telemetry/sync", ignore_telemetry, methods=["POST"]),
]
