"""Orders to set aside what the agent was told: injections, jailbreaks, turns that are not the user's."""

from clawft.scan.facts import Kind
from clawft.scan.instructions.patterns import phrase

__all__ = ["KIND", "PHRASES"]

KIND = Kind.OVERRIDE
_DROP = (
    "(ignore|ignoring|disregard|disregarding|forget|override|overriding|discard|neglect|bypass|set aside"
    "|setting aside|put aside"
    "|stop following|do not follow|do not obey|don't follow|no longer follow)"
)
_FILL = "(?: (?:all|any|every|everything|each|of|the|my|your|its|their|those|these|about|and)){0,4}"
PHRASES = (
    phrase(
        "(treat|follow|obey|execute|regard) ~30 (text|content|instructions?|messages?|commands?"
        "|anything) ~30 (pages?|web ?sites?|e-?mails?"
        "|documents?|comments?|tool (?:results?|outputs?)|responses?) ~20 as (?:the )?(?:instructions|commands"
        "|orders|system)",
        "the user",
    ),
    phrase(
        "(obey|follow|trust|execute) (?:all |any |every )?(?:messages?|text|commands?"
        "|instructions) that (?:begins?|starts?|contains?)"
        " ~40 (word|phrase|token|prefix|code|tag)",
        "the user",
    ),
    phrase("(never|do not|don't|must not|cannot) refuse(?:[.,;]| (?:any|a|to answer)|$)", "its restrictions"),
    phrase(
        _DROP + _FILL + "(?: <before>){1,3}(?:,? (?:and|or)(?: <before>){1,2})?(?: (?:[a-z]+ ){0,2}?<told>)",
        "its instructions",
    ),
    phrase(
        "(ignore|disregard|forget) (?:everything|all|anything)(?: that)? "
        "(?:you (?:were|have been|are) (?:told|given|taught|instructed)|above|before|previous(?:ly)?|prior)",
        "its instructions",
    ),
    phrase(
        "(the following|this|these(?: [a-z]+)?|it) (?:now )?(?:overrides?|supersedes?|replaces?|cancels?"
        "|takes? (?:absolute )?"
        "(?:precedence|priority) over) (?:all|any|every)(?: [a-z]+){0,3} <told>",
        "all other instructions",
    ),
    phrase(
        "(previous|prior|earlier|system|safety|operational|usual|normal|existing)(?: [a-z]+){0,2} <told> (?:are|is"
        "|should be|must be"
        "|can be) (?:now )?(?:treated as (?:suggestions?|optional|advisory)|void|cancell?ed|obsolete|suspended"
        "|lifted|revoked"
        "|superseded|overridden|ignored|disregarded|waived|switched off|not in force|no longer)",
        "its guidelines",
    ),
    phrase(
        "(you are|you're|act|operate|enter|entering|switch to|switched to|switch into)(?: (?:now|as|in|into"
        "|currently|an?|the|to)){1,3}"
        " (?:unrestricted|unfiltered|uncensored|jailbroken|(?:developer|god|maintenance|debug|admin(?:istrator)?"
        "|root|sudo) mode"
        "|dan|do anything now)",
        "its role",
    ),
    phrase("(do anything now|unrestricted (?:developer )?mode)", "its restrictions"),
    phrase("(no longer) (?:bound|limited|restricted|constrained) by", "its restrictions"),
    phrase(
        "(trained|operates?|exists?|works?|responds?) without (?:any )?(?:content |ethical |safety )?"
        "(?:restrictions?|limitations|guidelines|filters)",
        "its restrictions",
    ),
    phrase(
        "(normal|usual|standard|safety|content|ethical|your) (?:[a-z]+ )?(?:restrictions?|rules?|limits|limitations?"
        "|constraints?"
        "|guidelines?|polic(?:y|ies)|filters) (?:do(?:es)? not|don't|doesn't|no longer|never) apply",
        "its restrictions",
    ),
    phrase(
        "(set aside|setting aside) (?:its|your|all|the|any|their)(?: own)?(?: [a-z]+){0,2} (?:constraints?"
        "|restrictions?|guidelines?"
        "|rules?|limits|limitations|perspective|safeguards|caution|values)",
        "its restrictions",
    ),
    phrase(
        "(outranks?|overrules?|overrides?|takes? precedence over|stands? above|supersedes?) (?:the )?(?:user"
        "|system prompt|owner|system)"
        "(?:(?:'s)? (?:instructions|wishes|orders|requests|prompt))?(?: and|,|[.;]|$)",
        "the user",
    ),
    phrase("(answer|listen|report|obey|belong)s? (?:only )?to ~60 not (?:to )?(?:the|your) user", "the user"),
    phrase(
        "(system prompt|previous instructions|your instructions) (?:is|are) (?:now )?(?:outdated|obsolete|void|wrong"
        "|replaced|invalid)",
        "its instructions",
    ),
    phrase(
        "(pretend|act|behave|respond|imagine|answer) ~60 without (?:any )?(?:[a-z]+ )?(?:restrictions|limits|rules"
        "|filters|guidelines"
        "|guardrails)",
        "its restrictions",
    ),
    phrase("(system (?:instruction )?override)", "its instructions"),
    phrase(
        "(new) (?:primary|core|main|system|overriding) (?:directive|instructions?|objective|prompt|goal)s?", "its goal"
    ),
    phrase("(?:important |critical )?new instructions? ?:", "its instructions"),
    phrase(r"(im_start|im_sep|endoftext|inst|sys)(?:\|>|\]|>>)", "the system's turn"),
    phrase(
        r"(system|admin|developer)\]? ?:(?=.{0,80}\b(?:ignore|disregard|override|you must|you are now"
        r"|agent must|assistant must|new instructions)\b)",
        "the system's turn",
    ),
)
