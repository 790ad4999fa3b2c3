"""A report as bytes, for the cache and between processes."""

from typing import Any

import msgspec

from clawft.scan.findings import Report
from clawft.scan.reports.json import report_fields

__all__ = ["decode_report", "encode_report", "plain_report"]

_decoder = msgspec.msgpack.Decoder(Report)


def encode_report(report: Report) -> bytes:
    """A report as bytes; what is no text in it, such as the name of a file, is written with �."""
    try:
        return msgspec.msgpack.encode(report)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_encodable(msgspec.to_builtins(report)))


def plain_report(report: Report) -> dict[str, Any]:
    """A report as JSON can hold it, in the order of `clawft.scan.v1`; what is no text is written with �."""
    plain: dict[str, Any] = _encodable(msgspec.to_builtins(report_fields(report)))
    return plain


def decode_report(content: bytes | memoryview) -> Report | None:
    """The report of such bytes; None if they are something else."""
    try:
        return _decoder.decode(content)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode()
    if isinstance(value, dict):
        return {key: _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list | tuple) else value
