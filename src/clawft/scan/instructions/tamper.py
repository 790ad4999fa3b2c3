"""Orders to change what the agent is told, remembers or may do."""

from clawft.scan.facts import Kind
from clawft.scan.instructions.patterns import phrase

__all__ = ["KIND", "PHRASES"]

KIND = Kind.TAMPER
PHRASES = (
    phrase(
        "(add|append|write|insert|inject|put|save|store|edit|modify|update|change|overwrite|prepend|include|place"
        "|copy|set|register"
        "|create|install) ~120 (?:to|in|into|inside|of|at) ~30 (<agent_files>)"
    ),
    phrase("(edit|modify|update|change|overwrite|replace|rewrite) ~30 (<agent_files>)"),
    phrase(
        r"(add|set|grant|append|include|enable) ~60 (\"?bash\(\*|permissions?\.allow|bypasspermissions|defaultmode"
        r"|enableallprojectmcpservers)[a-z]*"
    ),
    phrase(
        "(cannot|can't|must not) be (?:removed|deleted|stopped) (?:by|even|when) ~20 (uninstall|remov|disabl)[a-z]*",
        "itself, against removal",
    ),
    phrase("(re-?enables?) (?:it|itself|the)", "itself, against removal"),
    phrase("(re-?installs?) itself", "itself, against removal"),
    phrase("(restores?) (?:it|them|itself|themselves) automatically", "itself, against removal"),
    phrase("(survives?) (?:uninstall[a-z]*|removal)", "itself, against removal"),
)
