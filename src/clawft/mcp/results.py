"""The result of a call made into ours: text in one piece, pictures beside it, the rest named."""

import binascii
from base64 import b64decode
from typing import Any

import msgspec
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from clawft.mcp.plain import clean_text, cut_text
from clawft.mcp.remote import RemoteResult
from clawft.messages import Image

__all__ = ["MAX_RESULT_CHARS", "convert_result"]

MAX_RESULT_CHARS = 2_000_000
_MAX_IMAGES = 20
_MAX_IMAGE_CHARS = 7_000_000  # of base64: what providers take at most
_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def convert_result(result: CallToolResult) -> RemoteResult:
    """What the model reads of a result."""
    texts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        part = _convert_block(block)
        if isinstance(part, str):
            texts.append(part)
        elif len(images) < _MAX_IMAGES:
            images.append(part)
        else:
            texts.append(f"[image {part.media_type} left out: there are more than {_MAX_IMAGES}]")
    structured = _bounded(result.structured_content)
    text = "\n".join(texts)
    if not text and not images and result.structured_content is not None:
        text = _to_json(result.structured_content)
    cut = len(text) > MAX_RESULT_CHARS
    return RemoteResult(cut_text(text, MAX_RESULT_CHARS), tuple(images), result.is_error, structured, cut)


def _convert_block(block: ContentBlock) -> str | Image:
    match block:
        case TextContent():
            return block.text
        case ImageContent():
            return _convert_image(block.mime_type, block.data)
        case AudioContent():
            return _note("audio", block.mime_type, block.data)
        case ResourceLink():
            return f"[resource {_short(block.name)}: {_short(block.uri)}]"
        case EmbeddedResource():
            return _convert_resource(block)


def _convert_resource(block: EmbeddedResource) -> str | Image:
    resource = block.resource
    if not isinstance(resource, BlobResourceContents):
        return f"[resource {_short(resource.uri)}]\n{resource.text}"
    if resource.mime_type in _IMAGE_TYPES:
        return _convert_image(resource.mime_type, resource.blob)
    return _note(f"resource {_short(resource.uri)}", resource.mime_type or "of an unknown type", resource.blob)


def _convert_image(media_type: str, data: str) -> str | Image:
    try:
        b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "[image left out: it is not base64]"
    if media_type not in _IMAGE_TYPES or len(data) > _MAX_IMAGE_CHARS:
        return _note("image", media_type, data)
    return Image(media_type, data)


def _note(what: str, media_type: str, data: str) -> str:
    return f"[{what} {_short(media_type)}, {len(data) * 3 // 4} bytes, left out]"


def _short(text: str) -> str:
    return cut_text(" ".join(clean_text(text).split()), 200)


def _bounded(structured: Any) -> Any:
    """The structured part, unless it is too large to pass on."""
    return structured if structured is not None and len(_to_json(structured)) <= MAX_RESULT_CHARS else None


def _to_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
