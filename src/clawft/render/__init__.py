"""A skill and its arguments to the prompt a model is given."""

from clawft.render.dynamic import Dynamic, check_dynamic, find_dynamic
from clawft.render.prompt import Rendered, render_skill
from clawft.render.template import Arguments, Variables, extract_variables, render_template, split_arguments

__all__ = [
    "Arguments",
    "Dynamic",
    "Rendered",
    "Variables",
    "check_dynamic",
    "extract_variables",
    "find_dynamic",
    "render_skill",
    "render_template",
    "split_arguments",
]
