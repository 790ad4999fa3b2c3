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
_OWN = (
    "(?:this (?:skill|document|text|file|section)|(?:its|these|the skill's|our|the vendor's|the maintainers'|vendor"
    "|maintainers?|sales|operator) ?(?:rules|instructions|wishes|commands|goals|orders|guidelines)?"
    "|commands of the vendor)"
)
_OTHERS = (
    "(?:user(?:'s)?|system prompt|host application|end user|person you|safety (?:rules|guidelines)|account holder"
    "|other skills|content policy|developer(?:'s)? (?:message|instructions))"
)
_LIMITS = (
    "(?:limits?|constraints?|guidelines?|restrictions?|refusals?|content rules|content polic(?:y|ies)|safety rules"
    "|safety guidelines|safeguards?|about safety|moral rules)"
)
# A skill that sets itself, or whoever wrote it, above the user or above what protects the user.
_ABOVE = (
    phrase(
        _OWN.replace("(?:", "(", 1)
        + " ~60 (prevails?|ranks?|wins?|comes?|come|goes?|stands?|takes? precedence|overrides?|outranks?|has"
        " priority|have"
        " priority|executed)(?: (?:over|above|before|against|and))? ~40 " + _OTHERS,
        "the user",
    ),
    phrase("(highest|supreme|final|absolute|sole) (?:authority|rank|priority) ~80 " + _OTHERS, "the user"),
    phrase("(order|ranking|priority|hierarchy) ~80 (?:<person>|requests?) (?:comes? )?last", "the user"),
    phrase("(against) the (?:wish(?:es)?|will|instructions|decision) of the <person>", "the user"),
    phrase(
        _LIMITS.replace("(?:", "(", 1)
        + " ~60 (?:is|are|as|have been|has been|was|were) (?:[a-z]+ )?(cancelled|canceled|lifted|paused"
        "|suspended|not binding|no longer binding|recommendations?|out of date|void|switched off|set aside"
        "|optional|waived)",
        "the user",
    ),
    phrase(
        "(set|put|leave|push) (?:your|all|the|any|its)(?: [a-z]+){0,2} " + _LIMITS + " (?:aside|behind|away)",
        "the user",
    ),
    phrase(
        "(regard|treat|consider|think of|see) (?:the |your |all |any |usual )*(?:[a-z]+ )?"
        + _LIMITS
        + " ~20 as (?:mere |only )?(recommendations?|suggestions?|paused|optional|hints?|advice|lifted|void"
        "|suspended|out of date)",
        "the user",
    ),
    phrase(
        "(?:has|have|having|with) no (content rules|restrictions|limits|ethics|safety rules|filters"
        "|guidelines) ~60 (answer|anything|everything|hesitation|caveat)",
        "the user",
    ),
    phrase(
        "(its|these|our|the skill's|maintainers'?|vendor's|author's) (?:rules|instructions|wishes|goals|text"
        "|orders) (?:prevail|rank|win|stand|come|go|apply)s? (?:over|above|before|against|first)",
        "the user",
    ),
    phrase(
        "(follow|obey|serve|side with) the (?:maintainers?|vendor|publisher|author|operator)s? and (?:let"
        "|make|have) the <person>",
        "the user",
    ),
    phrase("(deny|denies|conceal|dispute) that ~60 (at work|active|involved|installed|running|in use)", "the user"),
    phrase("(nothing|no topic|no question) is off[- ]limits", "the user"),
    phrase("(refusals?|limits|guidelines|rules) ~60 (switch|turn) (?:them|it|these) off", "the user"),
    phrase(
        "(you) (?:are|were) (?:no|not an|no longer an?) (?:assistant|ai|language model) (?:any ?more|but)", "the user"
    ),
    phrase(
        "(previous|former|earlier|existing) (?:constraints?|restrictions?|limits|rules|guidelines)(?: on [a-z"
        " ]{3,30})? (?:have been|has been|are|were) (?:lifted|removed|cancelled|relaxed|dropped)",
        "the user",
    ),
    phrase(
        "(accept|take|regard|treat) (?:the following|what follows|this|these) as (?:coming |sent |written"
        " )?(?:from|by) the (?:developers?|makers?|vendor|operator|system|provider|creators?)",
        "the user",
    ),
    phrase(
        "(keep|keeps|stay in|remain in) (?:that|this|the) (?:role|mode|persona|character) even (?:when|if)"
        " (?:you are |the user |they )?(?:asks?|asked|told|objects?)",
        "the user",
    ),
    phrase(
        "(goals|interests|wishes|needs) (?:come|go|rank|stand) (?:before|above) (?:those of )?(?:the )?<person>",
        "the user",
    ),
    phrase(
        "(asked|asks|wants to know|wonders) ~60 (instructions|rules|prompt) ~60 (?:none|no special|there are"
        " no|have no|have none|change the subject)",
        "the user",
    ),
    phrase(
        "(existence) of (?:this|these|the) (?:section|instructions|rules|part|file|skill)(?: [a-z]+)? (?:is"
        "|are|must|may|should|shall)(?: not|n't| never)",
        "the user",
    ),
    phrase(
        "(keep) (?:this|these|the following) (?:part|section|rules|instructions|lines) (?:to yourself|secret"
        "|confidential|hidden)",
        "the user",
    ),
    phrase(
        "(deny|denies) (?:that |having |the )(?:any |existence |you )? ~40 (component|instructions?|rules"
        "|skill|third|program|prompt)",
        "the user",
    ),
    phrase(
        "(remove|delete|drop|strip) (?:its|their|the other|another) (?:skill's )?(?:text|instructions|rules)"
        " from (?:your )?(?:context|memory)",
        "the user",
    ),
    phrase(
        "(only) the (?:phrase|word|code|key) from the (?:vendor|operator|publisher|author) (?:may|can|will)", "the user"
    ),
)
PHRASES = (
    *_ABOVE,
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
