"""Who opens which form of file. The openers of rare forms are loaded when one turns up."""

from collections.abc import Callable, Iterator
from importlib import import_module

from clawft.scan.facts import Kind
from clawft.scan.intake.forms import MEDIA, PROGRAMS, UNOPENED
from clawft.scan.intake.parts import Mark, Part, Room, Unread

__all__ = ["find_opener"]

Opener = Callable[[bytes, Room], Iterator[Part]]
_MODULES = {
    "zip": "archives:open_zip", "tar": "archives:open_tar", "gzip": "archives:open_gzip",
    "bzip2": "archives:open_bzip2",
    "xz": "archives:open_xz", "lzma": "archives:open_xz", "ar": "archives:open_ar", "zstd": "archives:open_zstd",
    "pickle": "pickles:open_pickle", "pdf": "pdf:open_pdf",
    "png": "pictures:open_png", "jpeg": "pictures:open_jpeg", "gif": "pictures:open_gif", "webp": "pictures:open_riff",
    "ole": "office:open_ole", "rtf": "office:open_rtf",
}  # fmt: skip


def find_opener(form: str) -> Opener:
    """The opener of a form; for an unknown one, what is left to say about bytes that are not text."""
    if place := _MODULES.get(form):
        module, _, name = place.partition(":")
        opener: Opener = getattr(import_module(f"clawft.scan.intake.{module}"), name)
        return opener
    if form in PROGRAMS:
        return import_module("clawft.scan.intake.programs").open_program(form)  # type: ignore[no-any-return]
    if form in MEDIA:
        return import_module("clawft.scan.intake.pictures").open_media  # type: ignore[no-any-return]
    if form in UNOPENED:
        return _leave(form)
    return import_module("clawft.scan.intake.programs").open_unknown(form)  # type: ignore[no-any-return]


def _leave(form: str) -> Opener:
    def leave(data: bytes, room: Room) -> Iterator[Part]:
        del data, room
        yield Mark(Kind.LOCKED, form, f"an archive ({form}) that is not opened")
        yield Unread(f"An archive of the kind {form} cannot be opened here")

    return leave
