"""clawft: reads every dialect of SKILL.md and says what each skill is, does and costs."""

__version__ = "0.1.0"
