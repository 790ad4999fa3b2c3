"""A skill and its arguments to the prompt a model is given."""

from clawft.render.command import Filled, complete_variables, fill_command
from clawft.render.dynamic import Dynamic, check_dynamic, find_dynamic
from clawft.render.prompt import Fetched, Rendered, render_skill
from clawft.render.template import Arguments, Variables, extract_variables, render_template, split_arguments

__all__ = [
    "Arguments",
    "Dynamic",
    "Fetched",
    "Filled",
    "Rendered",
    "Variables",
    "check_dynamic",
    "complete_variables",
    "extract_variables",
    "fill_command",
    "find_dynamic",
    "render_skill",
    "render_template",
    "split_arguments",
]
