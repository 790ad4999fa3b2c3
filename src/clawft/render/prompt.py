"""The prompt of a skill: exactly what `weft skills render` prints and a model is told (D55)."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.format.model import Skill
from clawft.render.command import complete_variables
from clawft.render.dynamic import check_dynamic, find_dynamic
from clawft.render.template import Arguments, Variables, render_template

__all__ = ["Fetched", "Rendered", "render_skill"]


class Fetched(Struct, frozen=True):
    """What the places of a template became, by where they start; a place that is missing stays as it is written.

    `files` are attached after the text.
    """

    texts: Mapping[int, str] = {}
    files: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


class Rendered(Struct, frozen=True):
    """The text, and what there is to say about it."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def render_skill(
    skill: Skill,
    arguments: Arguments,
    variables: Variables,
    path: str = "",
    prefixes: Sequence[str] = (),
    fetched: Fetched | None = None,
) -> Rendered:
    """A skill's prompt with its arguments, and with what was fetched for it.

    Where nothing was, its commands are left as they are written, and what a turn would do is said: `prefixes` are
    the commands that may run.
    """
    template = skill.prompt or ""
    known = complete_variables(skill, variables)
    texts = fetched.texts if fetched else {}
    places = find_dynamic(template)
    spans = [(one.start, one.end, texts.get(one.start)) for one in places]
    text = render_template(template, arguments, variables=known, spans=spans)
    if fetched is None:
        return Rendered(text, check_dynamic(skill, path, prefixes, places))
    return Rendered("\n\n".join([text, *fetched.files]), fetched.diagnostics)
