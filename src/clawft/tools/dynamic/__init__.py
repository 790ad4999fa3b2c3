"""Dynamic context: what the text of a skill asks for is fetched when the skill is used (R56-R59, D21, D22)."""

from clawft.tools.dynamic.render import render_dynamic
from clawft.tools.dynamic.use import DynamicContext, Use

__all__ = ["DynamicContext", "Use", "render_dynamic"]
