"""How skills are used, as other programs read it: the objects of `clawft.skills.stats.v1`."""

from clawft.app import App
from clawft.protocol.usage import SkillUsage

__all__ = ["describe_uses"]


def describe_uses(app: App) -> list[SkillUsage]:
    """Every skill that can be used or was, those first that were loaded most. Raises: ClawftError."""
    from clawft.run.stats import SkillUse, load_uses  # a list of skills needs none of what turns need

    here = {one.name for one in app.skills if one.usable}
    uses = {name: SkillUse(name) for name in here} | load_uses(app.user_file("usage.sqlite"))
    return [
        SkillUsage(
            name=one.name,
            offered=one.offered,
            loaded=one.loaded,
            score=one.score,
            last_loaded=one.last_loaded,
            here=one.name in here,
        )
        for one in sorted(uses.values(), key=lambda one: (-one.loaded, one.name))
    ]
