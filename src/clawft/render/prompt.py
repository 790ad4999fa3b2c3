"""The prompt of a skill: exactly what `weft skills render` prints and a model is told (D55)."""

from msgspec import Struct, structs

from clawft.errors import Diagnostic
from clawft.format.model import Skill
from clawft.render.dynamic import check_dynamic, find_dynamic
from clawft.render.template import Arguments, Variables, render_template

__all__ = ["Rendered", "render_skill"]


class Rendered(Struct, frozen=True):
    """The text, and what there is to say about it."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def render_skill(skill: Skill, arguments: Arguments, variables: Variables, path: str = "") -> Rendered:
    """A skill's prompt with its arguments. Commands in it are left as they are written, and said."""
    template = skill.prompt or ""
    known = structs.replace(variables, names=skill.arguments or skill.variables, numbered=skill.format == "command")
    kept = [(place.start, place.end) for place in find_dynamic(template)]
    text = render_template(template, arguments, variables=known, kept=kept)
    return Rendered(text, check_dynamic(skill, path))
