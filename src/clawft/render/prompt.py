"""The prompt of a skill: exactly what `weft skills render` prints and a model is told (D55)."""

from msgspec import Struct

from clawft.errors import Diagnostic
from clawft.format.model import Skill
from clawft.render.dynamic import find_dynamic
from clawft.render.template import Arguments, Variables, append_arguments, fill_in, render_template

__all__ = ["Rendered", "render_skill"]


class Rendered(Struct, frozen=True):
    """The text, and what there is to say about it."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def render_skill(skill: Skill, arguments: Arguments, variables: Variables, path: str = "") -> Rendered:
    """A skill's prompt with its arguments. Commands in it are left as they are written, and said."""
    template = skill.prompt or ""
    known = Variables(
        variables.session_id, variables.skill_dir, variables.project_dir, skill.arguments or skill.variables
    )
    places = find_dynamic(template)
    if not places:
        return Rendered(render_template(template, arguments, variables=known))
    parts: list[str] = []
    diagnostics: list[Diagnostic] = []
    position, placed = 0, False
    for dynamic in places:
        text, here = fill_in(template[position : dynamic.start], arguments, known)
        parts += [text, template[dynamic.start : dynamic.end]]
        position, placed = dynamic.end, placed or here
        message = f"The command is left as text and was not run: {dynamic.head}"
        diagnostics.append(
            Diagnostic("dynamic-context", "note", message, path, dynamic.line + max(skill.body_line, 1) - 1)
        )
    text, here = fill_in(template[position:], arguments, known)
    whole = "".join((*parts, text))
    return Rendered(whole if placed or here else append_arguments(whole, arguments), tuple(diagnostics))
