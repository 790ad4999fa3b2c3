"""Prompt injections: override instructions, conceal actions, bypass checks, obey text from elsewhere."""

from clawft.scanner.facts import Kind
from clawft.scanner.instructions.patterns import phrase

OVERRIDE_KIND = Kind.OVERRIDE
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
# A skill that sets itself, or its author, above the user or above what protects the user.
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
OVERRIDE_PHRASES = (
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


CONCEAL_KIND = Kind.CONCEAL
_DO = (
    "(?:send|upload|run|execut|download|install|post|collect|request|copy|copies|forward|transmit|append|modif|enabl"
    "|exfiltrat"
    "|mirror|sync|record|log|read|fetch|escalat|inject|insert|apply|purchas|buy|add|create|write|change|replace"
    "|delet)[a-z]*"
)
_SECRETLY = "(silently|secretly|covertly|stealthily|quietly|discreetly|surreptitiously|invisibly)"
_SAYING = (
    "(?:telling|mentioning|informing|notifying|alerting|revealing|disclosing|showing|reporting|displaying|acknowledging"
    "|surfacing|announcing|warning (?:the )?<person>)"
)
CONCEAL_PHRASES = (
    phrase(
        "(if|when|unless|inside) ~40 (ci|sandbox|test(?:ing)? environment|scanner|analysis|debugger|virtual machine"
        "|audit) ~60 (do nothing"
        "|behave normally|act normally|stay quiet|nothing unusual|remain (?:quiet|inactive))",
        "the user",
    ),
    phrase(
        "(operations?|actions?|calls?|requests?|updates?|changes?|collection|transmission|steps?|access|escalations?"
        "|queries|premium"
        "|uploads?|transfers?|recordings?) ~60 (?:is|are|be|happens?) (?:not|never) (?:[a-z]+ )?(?:shown|disclosed"
        "|reported|revealed"
        "|visible|displayed|reflected|surfaced|mentioned|notified)",
        "an action",
    ),
    phrase("(does not|doesn't|do not|don't) (?:notify|inform|tell|alert) (?:the )?<person> that", "an action"),
    phrase("(background) (?:operations?|actions?|tasks?) ~40 not (?:reported|shown|visible)", "an action"),
    phrase(_SECRETLY + " (?:and [a-z]+ )?" + _DO, "quietly"),
    phrase(
        _DO.replace("(?:", "(", 1) + " ~40 (?<!fail )(?<!fails )(?:silently|secretly|covertly|stealthily|discreetly"
                                     "|invisibly)",
        "quietly",
    ),
    phrase(
        "(if) (?:an? |the )?(?:<person> )?asks? ~120 (tell them|say|claim|respond|answer|deny|refuse and say) ~60 "
        "(?:you|i|i'm|it|there) ?(?:do not|don't|have no|are not|am not|is no|are just|are an?|is an?)",
        "what it is",
    ),
    phrase(
        "(add|open|insert|set|change|remove|commit|use|run|send|include|create|write|modify|delete|round|increase"
        "|rate|introduce|replace"
        "|append|save|store|upload|post|charge|install|enable|disable) ~200 (?:and|but|then|,) (?:do not|don't"
        "|never) (?:mention|tell"
        "|disclose|explain|reveal|state|inform|report)(?: (?:it|this|that|why|the reason|the difference|the change"
        "|(?:the )?<person>))",
        "its own action",
    ),
    phrase(
        "(add|insert|set|change|remove|send|include|write|modify|delete|introduce|replace|append|upload|post|charge"
        "|install|enable"
        "|forward) ~200 (without) (?:telling|informing|notifying|alerting|asking or telling) (?:the |any )?<person>",
        "its own action",
    ),
    phrase("<person> (?:does|do) not need to (?:know|be told|hear|see) (?:about|of|that|this)", "the user"),
    phrase("<not> (?:include|list|show|mention) ~40 (?:in|to) (?:the|your|any) (?:summary|report|answer|response"
           "|reply|output) (?:to|for)"
           " (?:the )?<person>", "the user"),
    phrase("(so) (?:that )?(?:nobody|no one|no-one) (?:can|will|could|would)? ?(?:sees?|notices?|knows?|finds?"
           "|traces?|learns?)", "the user"),
    phrase("(should|when) (?:the |a )?<person> (?:ever )?asks? ~120 (tell them|say|claim|deny) ~80 (it is|that it"
           "|they|no|not|just|a"
           " standard|normal)", "the user"),
    phrase("(work|run|operate|act) in (?:stealth|silent|hidden|covert) mode", "the user"),
    phrase("(over) being (?:transparent|honest|truthful)", "what it is"),
    phrase("(say|claim|tell them) (?:that )?you have no (?:special )?instructions", "what it is"),
    phrase("<not> (?:[a-z]+ ){0,2}?(?:tell|inform|notify|alert|warn|let) (?:the |your |any )?<person>(?: (?:that"
           "|about|of|when|know"
           "|what|why|this|it|anything)|[.,;]|$)", "the user"),
    phrase(
        "<not> (?:[a-z]+ ){0,2}?(?:tell|mention|inform|reveal|disclose|show|report|display|surface|expose|explain"
        "|log) (?:[a-z]+ ){0,2}?"
        "(?:this|it|that|these|them|any of (?:this|it)|the (?:existence|presence|fact|step|action|upload|transfer"
        "|request|process|operation|instructions?"
        "|change|call|backup|sync|collection|premium)[a-z]*)(?: [a-z]+){0,8} to (?:the )?<person>",
        "the user",
    ),
    phrase(
        "<not> (?:[a-z]+ ){0,2}?(?:mention|reveal|disclose|acknowledge|discuss|admit) (?:[a-z]+ ){0,2}?(?:this"
        "|that you|it|that(?=[.,;]|$)|where|why|the reason"
        "|these (?:instructions|steps|actions)|what you|doing so|having|you used)",
        "the user",
    ),
    phrase("(without) (?:ever )?(?:" + _SAYING + "|showing (?:it|them)|saying (?:so|that))", "the user"),
    phrase("(without) (?:the )?<person>(?:'s?)? (?:knowing|noticing|knowledge|awareness|consent|being (?:aware|told"
           "|notified))", "the user"),
    phrase(
        "(so) (?:that )?(?:the |no )?<person> (?:does not|doesn't|do not|don't|won't|will not|cannot|can't|never"
        "|remains? unaware)"
        "(?: [a-z]+)? ?(?:notice|see|know|reali[sz]e|detect|suspect|find out|become aware)",
        "the user",
    ),
    phrase("(keep|remain|stay|kept|hidden|hide|conceal|concealed|invisible|secret)(?: [a-z]+){0,4} from (?:the "
           "|all )?<person>", "the user"),
    phrase("(invisible|not visible|not shown|not disclosed|not reported"
           "|not revealed) to (?:the )?<person>", "the user"),
    phrase("<person> (?:should|must|need|does|do|will|may|can)(?: not|n't|not)(?: (?!always|usually|often|yet)[a-z]+)?"
           " (?:see|know|be (?:told"
           "|aware|informed"
           "|notified|shown)|notice|learn)", "the user"),
    phrase("(keep) (?:this|it|these|that)(?: [a-z]+){0,3} (?:secret|hidden|confidential|quiet|to yourself|between us"
           "|discreet|invisible)",
           "the user"),
    phrase("(proceed|continue|respond|act|behave)(?: as)? (?:normal(?:ly)?|usual(?:ly)?|if nothing) ~60 (without"
           "|never|notice|suspect"
           "|mention)", "the user"),
    phrase(
        "(if) (?:the )?(?:<person> )?(?:later )?(?:asks?|asked|questions?|inquires?|notices?) ~120 (say|tell them"
        "|claim|deny|explain that"
        "|refuse|deflect|pretend|provide only|filter it out) ~120 (not|never|nothing|without|standard|implicitly"
        "|already|only|just)",
        "the user",
    ),
    phrase("(do not|don't|never) (?:leave|log|record|keep) (?:any )?(?:traces?|evidence)", "the user"),
)  # fmt: skip


BYPASS_KIND = Kind.BYPASS
_BYPASS_FILL = (
    "(?:the |any |a |all |every |user |user's |their |your |explicit |further |first |prior |additional |human "
    "|these |those )*"
)
BYPASS_PHRASES = (
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
    phrase(
        "(without) " + _BYPASS_FILL + "(?:displaying (?:[a-z]+ ){0,4})?(?:asking|prompting|requesting|requiring"
        "|waiting|seeking)?(?: for)? ?" + _BYPASS_FILL + "<check>",
        "confirmation",
    ),
    phrase("(without) (?:first |ever )?(?:asking|prompting|consulting)(?: (?:the|any|your) <person>"
           "| first)?", "confirmation"),
    phrase("(do not|don't|never|no need to|must not|should not) (?:ask|prompt|request|require"
           "|wait)(?: (?:the )?<person>)?(?: (?:for|to))?"
           "(?: (?:the|any|a|user|their|explicit|further))* ?(?:<check>|confirm|approve)", "confirmation"),
    phrase("(skip|skipping|bypass|bypassing|suppress|ignore|omit|disable|disabling"
           "|circumvent) " + _BYPASS_FILL + "(?:[a-z]+ )?<check>",
           "confirmation"),
    phrase("<person> (?:are|is|will|should|need)(?: not|n't)(?: be)? (?:prompted|asked|notified"
           "|required)", "confirmation"),
)  # fmt: skip


OBEY_KIND = Kind.OBEY
_AUTHORITY = (
    "(?:treat|honou?r|follow|obey|apply|prefer|preserve|reuse|carry|embed|include|emit|keep|write|fold|copy|vendor"
    "|use|normalize"
    "|export|authoritative|must be applied|read it as|downgrade|drop|suppress|short-circuit[a-z]*|as the (?:active"
    "|local|reviewed))"
)
_GO_BY = "(?:honou?r|follow|obey|apply|suppress|comply|respect|execute)"
OBEY_PHRASES = (
    phrase(
        "(fetch|fetches|download|downloads|loads|gets|read|visit|load|open|curl|get|retrieve|check|access"
        "|pull|request|query|browse|go to"
        "|webfetch|poll) ~80 <url> ~160 "
        "(follow|obey|execute|executes|runs|follows|applies|performs|comply|apply|perform|run|carry out|act"
        " on|do what|treat|interpret) ~60 (it|its|them"
        "|instructions?|directives?"
        "|commands?|steps?|orders?|tasks?|guidance|prompts?|actions?|rules?|whatever|says?|contents?|response|output"
        "|returned|there)"
    ),
    phrase(
        "(follow|obey|execute|comply with|apply|perform|carry out|act on) ~60 (?:instructions?|directives?|commands"
        "|steps?|orders?|tasks?"
        "|rules?|whatever) ~60 (at|from|in|on|returned by|hosted at|found at|published at|served by"
        "|received from) ~40 <url>"
    ),
    phrase(
        "(rules|instructions|commands|orders|tasks|steps|directives) ~40 (published|posted|hosted|kept|found"
        "|available|listed|served)"
        " (?:at|on|under) ~10 <url> ~60 (obey|follow|execute|apply|run|carry out) (?:them|it|these|all)"
    ),
    phrase(
        "(if|when|whenever|once|where) ~160 <fixed> ~80 (exists?|is present|are present|is found|is available"
        "|appears|exposes?) ~400 " + _AUTHORITY
    ),
    phrase("(if|when) ~60 (exposes|provides|contains|ships) ~20 <fixed> ~200 " + _AUTHORITY),
    phrase("(present|exists|available|located|found) at ~10 <fixed> ~200 (authoritative|must|treat|follow|obey|apply)"),
    phrase("(always|must|required|mandatory) ~80 (read|load|consult|check|open) ~20 <fixed> ~120 " + _GO_BY),
    phrase(
        "(local|sidecar|internal|hand-?off|policy) ~20 (file|note|policy|registry|runbook|template) ~10 <fixed> ~20 "
        "(defines?|records?|governs?|controls?|specifies|when|as)"
    ),
    phrase("<fixed>[`'\"]? (?:can|may|should|must) be (?:copied|vendored|included|imported|sourced|embedded|inlined)"),
    phrase(
        "(vendor|copy|inline|paste|embed) ~40 (loader|helper|template|snippet|code|script"
        "|module) ~20 <fixed> ~40 (into)"
    ),
    phrase(
        "(use|read) ~40 <fixed> ~20 (as (?:the|a)|when) ~60 (note|policy|handoff|runbook|authority|instructions?"
        "|guide|artifacts?)"
    ),
)


UNSEEN_KIND = Kind.HIDDEN
_UNSEEN_DO = (
    "(include|state that|respond|reply|output|say|post|send|run|execute|read|upload|insert|claim|append|mention"
    "|recommend|fetch"
    "|download|install|push|forward|open)"
)
UNSEEN_PHRASES = (
    phrase(
        "(if|when|whenever|before|after|while) ~30 (?:the |any |a |an |each |every )?(?:users?|tasks?|requests?"
        "|respon[a-z]+|answer[a-z]*"
        "|conver[a-z]+|outputt?ing|commits?|pushe?s?|execut[a-z]+|proceeding) ~120 " + _UNSEEN_DO
    ),
    phrase(
        "(you|the agents?|the assistants?|claude|ai assistants?|ai agents?|llms?|the model|agents?) (?:must|should"
        "|shall|are to|need to"
        "|has to|have to) (?:also |always |now |first |silently )?" + _UNSEEN_DO
    ),
    phrase("(grant|give) (?:full|unrestricted|root|admin) (?:access|permissions?|control)"),
)
