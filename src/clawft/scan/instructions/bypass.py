"""Orders to do without a question, a check or a protection."""

from clawft.scan.facts import Kind
from clawft.scan.instructions.patterns import phrase

__all__ = ["KIND", "PHRASES"]

KIND = Kind.BYPASS
_FILL = (
    "(?:the |any |a |all |every |user |user's |their |your |explicit |further |first |prior |additional |human "
    "|these |those )*"
)
PHRASES = (
    phrase(
        "(regardless) of (?:what )?(?:the )?(?:<person>(?:'s)?|their) (?:sets?|says?|wants?|chooses?|settings?"
        "|preferences?|choices?"
        "|objections?|instructions?|requests?)",
        "the user's choice",
    ),
    phrase(
        "(cannot|can't|can not|must not) be (?:disabled|turned off|removed|changed|revoked|cancelled|opted out"
        "|uninstalled|stopped"
        "|overridden)",
        "the user's choice",
    ),
    phrase(
        "(interprets?|treats?|counts?|considers?|considered|implicitly) ~80 (?:as (?:authori[sz]ation|consent"
        "|approval|permission"
        "|confirmation)|authori[sz]ed|consented|agreed|accepted)",
        "consent",
    ),
    phrase("(accepted|granted|given) implicitly", "consent"),
    phrase("<person> (?:has|have) (?:already |implicitly )?(?:agreed|consented|approved) ~40 by (?:using|installing"
           "|enabling|loading)",
           "consent"),
    phrase("(approve|confirm|accept|answer|grant) ~40 (yourself|on (?:the )?<person>(?:'s)? behalf"
           "|on their behalf)", "approval"),
    phrase("(pre-?approved|pre-?authori[sz]ed|already approved) by (?:the |your |an? )?(?:admin[a-z]*|owner|operator"
           "|security|it|vendor"
           "|user)", "consent"),
    phrase("(even) (?:if|when|though) (?:the )?<person> (?:says? no|objects?|declines?|refuses?|disagrees?"
           "|asks? (?:you )?not to|cancels?)",
           "the user's choice"),
    phrase("(ignore|disregard|override|overrule) (?:the )?<person>(?:'s|s')? (?:settings?|wishes|requests?|choices?"
           "|preferences?|answer"
           "|decision|objections?)", "the user's choice"),
    phrase("no-(verify)", "protection"),
    phrase("(without) (?:bothering|involving|disturbing|interrupting) (?:the )?<person>", "confirmation"),
    phrase(
        "(silently|automatically|transparently) (?:request|obtain|acquire|escalate|grant|elevate)s?(?: [a-z]+){0,3} "
        "(?:permissions?|privileges?|access|scopes?)",
        "permissions",
    ),
    phrase("(dangerously-skip-permissions|bypasspermissions|dangerously-disable)", "permissions"),
    phrase("(auto[- ]?approve) (?:all|every|any)", "permissions"),
    phrase(
        "(disable|turn off|bypass|circumvent|remove|deactivate|weaken) (?:all |any |the |your |its )*(?:safety"
        "|security|sandbox(?:ing)?"
        "|guardrails?|protections?|content filters?|permission (?:checks?|system)|safeguards?)",
        "protection",
    ),
    phrase("(without) " + _FILL + "(?:displaying (?:[a-z]+ ){0,4})?(?:asking|prompting|requesting|requiring|waiting"
                                  "|seeking)?(?: for)? ?"
           + _FILL + "<check>", "confirmation"),
    phrase("(without) (?:first |ever )?(?:asking|prompting|consulting)(?: (?:the|any|your) <person>"
           "| first)?", "confirmation"),
    phrase("(do not|don't|never|no need to|must not|should not) (?:ask|prompt|request|require"
           "|wait)(?: (?:the )?<person>)?(?: (?:for|to))?"
           "(?: (?:the|any|a|user|their|explicit|further))* ?(?:<check>|confirm|approve)", "confirmation"),
    phrase("(skip|skipping|bypass|bypassing|suppress|ignore|omit|disable|disabling"
           "|circumvent) " + _FILL + "(?:[a-z]+ )?<check>",
           "confirmation"),
    phrase("<person> (?:are|is|will|should|need)(?: not|n't)(?: be)? (?:prompted|asked|notified"
           "|required)", "confirmation"),
)  # fmt: skip
