"""A skill and its arguments to the prompt a model is given."""

from clawft.skills.render.prompt import (
    DynamicPlace,
    DynamicResults,
    FilledCommand,
    RenderedPrompt,
    check_dynamic,
    complete_variables,
    fill_command,
    find_dynamic,
    render_skill,
)
from clawft.skills.render.template import (
    PromptArguments,
    TemplateVariables,
    extract_variables,
    render_template,
    split_arguments,
)

__all__ = [
    "DynamicPlace",
    "DynamicResults",
    "FilledCommand",
    "PromptArguments",
    "RenderedPrompt",
    "TemplateVariables",
    "check_dynamic",
    "complete_variables",
    "extract_variables",
    "fill_command",
    "find_dynamic",
    "render_skill",
    "render_template",
    "split_arguments",
]
