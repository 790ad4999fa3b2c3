"""Dynamic context: what the text of a skill asks for is fetched when the skill is used."""

from clawft.agent.tools.dynamic.context import DynamicContext
from clawft.agent.tools.dynamic.render import render_dynamic

__all__ = ["DynamicContext", "render_dynamic"]
