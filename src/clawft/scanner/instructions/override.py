"""Prompt injections: override instructions, conceal actions, bypass checks, obey text from elsewhere."""

from clawft.scanner.instructions.patterns import parse_phrases

# A skill that sets itself, or its author, above the user or above what protects the user.
OVERRIDE_PHRASES = parse_phrases(
    r"""
    drop = (ignore|ignoring|disregard|disregarding|forget|override|overriding|discard|neglect|bypass|set aside|setting
      aside|put aside|stop following|do not follow|do not obey|don't follow|no longer follow)
    fill = (?: (?:all|any|every|everything|each|of|the|my|your|its|their|those|these|about|and)){0,4}
    limits = (?:limits?|constraints?|guidelines?|restrictions?|refusals?|content rules|content polic(?:y|ies)|safety
      rules|safety guidelines|safeguards?|about safety|moral rules)
    others = (?:user(?:'s)?|system prompt|host application|end user|person you|safety (?:rules|guidelines)|account
      holder|other skills|content policy|developer(?:'s)? (?:message|instructions))
    own = (?:this (?:skill|document|text|file|section)|(?:its|these|the skill's|our|the vendor's|the maintainers'|vendor
      |maintainers?|sales|operator) ?(?:rules|instructions|wishes|commands|goals|orders|guidelines)?|commands of the
      vendor)
    the user:
    - ({own}) ~60 (prevails?|ranks?|wins?|comes?|come|goes?|stands?|takes? precedence|overrides?|outranks?|has priority
      |have priority|executed)(?: (?:over|above|before|against|and))? ~40 {others}
    - (highest|supreme|final|absolute|sole) (?:authority|rank|priority) ~80 {others}
    - (order|ranking|priority|hierarchy) ~80 (?:<person>|requests?) (?:comes? )?last
    - (against) the (?:wish(?:es)?|will|instructions|decision) of the <person>
    - ({limits}) ~60 (?:is|are|as|have been|has been|was|were) (?:[a-z]+ )?(cancelled|canceled|lifted|paused|suspended
      |not binding|no longer binding|recommendations?|out of date|void|switched off|set aside|optional|waived)
    - (set|put|leave|push) (?:your|all|the|any|its)(?: [a-z]+){0,2} {limits} (?:aside|behind|away)
    - (regard|treat|consider|think of|see) (?:the |your |all |any |usual )*(?:[a-z]+ )?{limits} ~20 as (?:mere |only
      )?(recommendations?|suggestions?|paused|optional|hints?|advice|lifted|void|suspended|out of date)
    - (?:has|have|having|with) no (content rules|restrictions|limits|ethics|safety rules|filters|guidelines) ~60 (answer
      |anything|everything|hesitation|caveat)
    - (its|these|our|the skill's|maintainers'?|vendor's|author's) (?:rules|instructions|wishes|goals|text|orders)
      (?:prevail|rank|win|stand|come|go|apply)s? (?:over|above|before|against|first)
    - (follow|obey|serve|side with) the (?:maintainers?|vendor|publisher|author|operator)s? and (?:let|make|have) the
      <person>
    - (deny|denies|conceal|dispute) that ~60 (at work|active|involved|installed|running|in use)
    - (nothing|no topic|no question) is off[- ]limits
    - (refusals?|limits|guidelines|rules) ~60 (switch|turn) (?:them|it|these) off
    - (you) (?:are|were) (?:no|not an|no longer an?) (?:assistant|ai|language model) (?:any ?more|but)
    - (previous|former|earlier|existing) (?:constraints?|restrictions?|limits|rules|guidelines)(?: on [a-z ]{3,30})?
      (?:have been|has been|are|were) (?:lifted|removed|cancelled|relaxed|dropped)
    - (accept|take|regard|treat) (?:the following|what follows|this|these) as (?:coming |sent |written )?(?:from|by) the
      (?:developers?|makers?|vendor|operator|system|provider|creators?)
    - (keep|keeps|stay in|remain in) (?:that|this|the) (?:role|mode|persona|character) even (?:when|if) (?:you are |the
      user |they )?(?:asks?|asked|told|objects?)
    - (goals|interests|wishes|needs) (?:come|go|rank|stand) (?:before|above) (?:those of )?(?:the )?<person>
    - (asked|asks|wants to know|wonders) ~60 (instructions|rules|prompt) ~60 (?:none|no special|there are no|have no
      |have none|change the subject)
    - (existence) of (?:this|these|the) (?:section|instructions|rules|part|file|skill)(?: [a-z]+)? (?:is|are|must|may
      |should|shall)(?: not|n't| never)
    - (keep) (?:this|these|the following) (?:part|section|rules|instructions|lines) (?:to yourself|secret|confidential
      |hidden)
    - (deny|denies) (?:that |having |the )(?:any |existence |you )? ~40 (component|instructions?|rules|skill|third
      |program|prompt)
    - (remove|delete|drop|strip) (?:its|their|the other|another) (?:skill's )?(?:text|instructions|rules) from (?:your
      )?(?:context|memory)
    - (only) the (?:phrase|word|code|key) from the (?:vendor|operator|publisher|author) (?:may|can|will)
    - (treat|follow|obey|execute|regard) ~30 (text|content|instructions?|messages?|commands?|anything) ~30 (pages?|web
      ?sites?|e-?mails?|documents?|comments?|tool (?:results?|outputs?)|responses?) ~20 as (?:the )?(?:instructions
      |commands|orders|system)
    - (obey|follow|trust|execute) (?:all |any |every )?(?:messages?|text|commands?|instructions) that (?:begins?|starts?
      |contains?) ~40 (word|phrase|token|prefix|code|tag)
    its restrictions:
    - (never|do not|don't|must not|cannot) refuse(?:[.,;]| (?:any|a|to answer)|$)
    its instructions:
    - {drop}{fill}(?: <before>){1,3}(?:,? (?:and|or)(?: <before>){1,2})?(?: (?:[a-z]+ ){0,2}?<told>)
    - (ignore|disregard|forget) (?:everything|all|anything)(?: that)? (?:you (?:were|have been|are) (?:told|given|taught
      |instructed)|above|before|previous(?:ly)?|prior)
    all other instructions:
    - (the following|this|these(?: [a-z]+)?|it) (?:now )?(?:overrides?|supersedes?|replaces?|cancels?|takes? (?:absolute
      )?(?:precedence|priority) over) (?:all|any|every)(?: [a-z]+){0,3} <told>
    its guidelines:
    - (previous|prior|earlier|system|safety|operational|usual|normal|existing)(?: [a-z]+){0,2} <told> (?:are|is|should
      be|must be|can be) (?:now )?(?:treated as (?:suggestions?|optional|advisory)|void|cancell?ed|obsolete|suspended
      |lifted|revoked|superseded|overridden|ignored|disregarded|waived|switched off|not in force|no longer)
    its role:
    - (you are|you're|act|operate|enter|entering|switch to|switched to|switch into)(?: (?:now|as|in|into|currently|an?
      |the|to)){1,3} (?:unrestricted|unfiltered|uncensored|jailbroken|(?:developer|god|maintenance|debug
      |admin(?:istrator)?|root|sudo) mode|dan|do anything now)
    its restrictions:
    - (do anything now|unrestricted (?:developer )?mode)
    - (no longer) (?:bound|limited|restricted|constrained) by
    - (trained|operates?|exists?|works?|responds?) without (?:any )?(?:content |ethical |safety )?(?:restrictions?
      |limitations|guidelines|filters)
    - (normal|usual|standard|safety|content|ethical|your) (?:[a-z]+ )?(?:restrictions?|rules?|limits|limitations?
      |constraints?|guidelines?|polic(?:y|ies)|filters) (?:do(?:es)? not|don't|doesn't|no longer|never) apply
    - (set aside|setting aside) (?:its|your|all|the|any|their)(?: own)?(?: [a-z]+){0,2} (?:constraints?|restrictions?
      |guidelines?|rules?|limits|limitations|perspective|safeguards|caution|values)
    the user:
    - (outranks?|overrules?|overrides?|takes? precedence over|stands? above|supersedes?) (?:the )?(?:user|system prompt
      |owner|system)(?:(?:'s)? (?:instructions|wishes|orders|requests|prompt))?(?: and|,|[.;]|$)
    - (answer|listen|report|obey|belong)s? (?:only )?to ~60 not (?:to )?(?:the|your) user
    its instructions:
    - (system prompt|previous instructions|your instructions) (?:is|are) (?:now )?(?:outdated|obsolete|void|wrong
      |replaced|invalid)
    its restrictions:
    - (pretend|act|behave|respond|imagine|answer) ~60 without (?:any )?(?:[a-z]+ )?(?:restrictions|limits|rules|filters
      |guidelines|guardrails)
    its instructions:
    - (system (?:instruction )?override)
    its goal:
    - (new) (?:primary|core|main|system|overriding) (?:directive|instructions?|objective|prompt|goal)s?
    its instructions:
    - (?:important |critical )?new instructions? ?:
    the system's turn:
    - (im_start|im_sep|endoftext|inst|sys)(?:\|>|\]|>>)
    - (system|admin|developer)\]? ?:(?=.{0,80}\b(?:ignore|disregard|override|you must|you are now|agent must|assistant
      must|new instructions)\b)
    """
)


CONCEAL_PHRASES = parse_phrases(
    r"""
    do = (?:send|upload|run|execut|download|install|post|collect|request|copy|copies|forward|transmit|append|modif|enabl
      |exfiltrat|mirror|sync|record|log|read|fetch|escalat|inject|insert|apply|purchas|buy|add|create|write|change
      |replace|delet)[a-z]*
    saying = (?:telling|mentioning|informing|notifying|alerting|revealing|disclosing|showing|reporting|displaying
      |acknowledging|surfacing|announcing|warning (?:the )?<person>)
    secretly = (silently|secretly|covertly|stealthily|quietly|discreetly|surreptitiously|invisibly)
    the user:
    - (if|when|unless|inside) ~40 (ci|sandbox|test(?:ing)? environment|scanner|analysis|debugger|virtual machine|audit)
      ~60 (do nothing|behave normally|act normally|stay quiet|nothing unusual|remain (?:quiet|inactive))
    an action:
    - (operations?|actions?|calls?|requests?|updates?|changes?|collection|transmission|steps?|access|escalations?
      |queries|premium|uploads?|transfers?|recordings?) ~60 (?:is|are|be|happens?) (?:not|never) (?:[a-z]+ )?(?:shown
      |disclosed|reported|revealed|visible|displayed|reflected|surfaced|mentioned|notified)
    - (does not|doesn't|do not|don't) (?:notify|inform|tell|alert) (?:the )?<person> that
    - (background) (?:operations?|actions?|tasks?) ~40 not (?:reported|shown|visible)
    quietly:
    - {secretly} (?:and [a-z]+ )?{do}
    - ({do}) ~40 (?<!fail )(?<!fails )(?:silently|secretly|covertly|stealthily|discreetly|invisibly)
    what it is:
    - (if) (?:an? |the )?(?:<person> )?asks? ~120 (tell them|say|claim|respond|answer|deny|refuse and say) ~60 (?:you|i
      |i'm|it|there) ?(?:do not|don't|have no|are not|am not|is no|are just|are an?|is an?)
    its own action:
    - (add|open|insert|set|change|remove|commit|use|run|send|include|create|write|modify|delete|round|increase|rate
      |introduce|replace|append|save|store|upload|post|charge|install|enable|disable) ~200 (?:and|but|then|,) (?:do not
      |don't|never) (?:mention|tell|disclose|explain|reveal|state|inform|report)(?: (?:it|this|that|why|the reason|the
      difference|the change|(?:the )?<person>))
    - (add|insert|set|change|remove|send|include|write|modify|delete|introduce|replace|append|upload|post|charge|install
      |enable|forward) ~200 (without) (?:telling|informing|notifying|alerting|asking or telling) (?:the |any )?<person>
    the user:
    - <person> (?:does|do) not need to (?:know|be told|hear|see) (?:about|of|that|this)
    - <not> (?:include|list|show|mention) ~40 (?:in|to) (?:the|your|any) (?:summary|report|answer|response|reply|output)
      (?:to|for) (?:the )?<person>
    - (so) (?:that )?(?:nobody|no one|no-one) (?:can|will|could|would)? ?(?:sees?|notices?|knows?|finds?|traces?
      |learns?)
    - (should|when) (?:the |a )?<person> (?:ever )?asks? ~120 (tell them|say|claim|deny) ~80 (it is|that it|they|no|not
      |just|a standard|normal)
    - (work|run|operate|act) in (?:stealth|silent|hidden|covert) mode
    what it is:
    - (over) being (?:transparent|honest|truthful)
    - (say|claim|tell them) (?:that )?you have no (?:special )?instructions
    the user:
    - <not> (?:[a-z]+ ){0,2}?(?:tell|inform|notify|alert|warn|let) (?:the |your |any )?<person>(?: (?:that|about|of|when
      |know|what|why|this|it|anything)|[.,;]|$)
    - <not> (?:[a-z]+ ){0,2}?(?:tell|mention|inform|reveal|disclose|show|report|display|surface|expose|explain|log)
      (?:[a-z]+ ){0,2}?(?:this|it|that|these|them|any of (?:this|it)|the (?:existence|presence|fact|step|action|upload
      |transfer|request|process|operation|instructions?|change|call|backup|sync|collection|premium)[a-z]*)(?:
      [a-z]+){0,8} to (?:the )?<person>
    - <not> (?:[a-z]+ ){0,2}?(?:mention|reveal|disclose|acknowledge|discuss|admit) (?:[a-z]+ ){0,2}?(?:this|that you|it
      |that(?=[.,;]|$)|where|why|the reason|these (?:instructions|steps|actions)|what you|doing so|having|you used)
    - (without) (?:ever )?(?:{saying}|showing (?:it|them)|saying (?:so|that))
    - (without) (?:the )?<person>(?:'s?)? (?:knowing|noticing|knowledge|awareness|consent|being (?:aware|told|notified))
    - (so) (?:that )?(?:the |no )?<person> (?:does not|doesn't|do not|don't|won't|will not|cannot|can't|never|remains?
      unaware)(?: [a-z]+)? ?(?:notice|see|know|reali[sz]e|detect|suspect|find out|become aware)
    - (keep|remain|stay|kept|hidden|hide|conceal|concealed|invisible|secret)(?: [a-z]+){0,4} from (?:the |all )?<person>
    - (invisible|not visible|not shown|not disclosed|not reported|not revealed) to (?:the )?<person>
    - <person> (?:should|must|need|does|do|will|may|can)(?: not|n't|not)(?: (?!always|usually|often|yet)[a-z]+)? (?:see
      |know|be (?:told|aware|informed|notified|shown)|notice|learn)
    - (keep) (?:this|it|these|that)(?: [a-z]+){0,3} (?:secret|hidden|confidential|quiet|to yourself|between us|discreet
      |invisible)
    - (proceed|continue|respond|act|behave)(?: as)? (?:normal(?:ly)?|usual(?:ly)?|if nothing) ~60 (without|never|notice
      |suspect|mention)
    - (if) (?:the )?(?:<person> )?(?:later )?(?:asks?|asked|questions?|inquires?|notices?) ~120 (say|tell them|claim
      |deny|explain that|refuse|deflect|pretend|provide only|filter it out) ~120 (not|never|nothing|without|standard
      |implicitly|already|only|just)
    - (do not|don't|never) (?:leave|log|record|keep) (?:any )?(?:traces?|evidence)
    """
)


BYPASS_PHRASES = parse_phrases(
    r"""
    bypass_fill = (?:(?:the|any|a|all|every|user|user's|their|your|explicit|further|first|prior|additional|human|these
      |those) )*
    the user's choice:
    - (regardless) of (?:what )?(?:the )?(?:<person>(?:'s)?|their) (?:sets?|says?|wants?|chooses?|settings?|preferences?
      |choices?|objections?|instructions?|requests?)
    - (cannot|can't|can not|must not) be (?:disabled|turned off|removed|changed|revoked|cancelled|opted out|uninstalled
      |stopped|overridden)
    consent:
    - (interprets?|treats?|counts?|considers?|considered|implicitly) ~80 (?:as (?:authori[sz]ation|consent|approval
      |permission|confirmation)|authori[sz]ed|consented|agreed|accepted)
    - (accepted|granted|given) implicitly
    - <person> (?:has|have) (?:already |implicitly )?(?:agreed|consented|approved) ~40 by (?:using|installing|enabling
      |loading)
    approval:
    - (approve|confirm|accept|answer|grant) ~40 (yourself|on (?:the )?<person>(?:'s)? behalf|on their behalf)
    consent:
    - (pre-?approved|pre-?authori[sz]ed|already approved) by (?:the |your |an? )?(?:admin[a-z]*|owner|operator|security
      |it|vendor|user)
    the user's choice:
    - (even) (?:if|when|though) (?:the )?<person> (?:says? no|objects?|declines?|refuses?|disagrees?|asks? (?:you )?not
      to|cancels?)
    - (ignore|disregard|override|overrule) (?:the )?<person>(?:'s|s')? (?:settings?|wishes|requests?|choices?
      |preferences?|answer|decision|objections?)
    protection:
    - no-(verify)
    confirmation:
    - (without) (?:bothering|involving|disturbing|interrupting) (?:the )?<person>
    permissions:
    - (silently|automatically|transparently) (?:request|obtain|acquire|escalate|grant|elevate)s?(?: [a-z]+){0,3}
      (?:permissions?|privileges?|access|scopes?)
    - (dangerously-skip-permissions|bypasspermissions|dangerously-disable)
    - (auto[- ]?approve) (?:all|every|any)
    protection:
    - (disable|turn off|bypass|circumvent|remove|deactivate|weaken) (?:all |any |the |your |its )*(?:safety|security
      |sandbox(?:ing)?|guardrails?|protections?|content filters?|permission (?:checks?|system)|safeguards?)
    confirmation:
    - (without) {bypass_fill}(?:displaying (?:[a-z]+ ){0,4})?(?:asking|prompting|requesting|requiring|waiting
      |seeking)?(?: for)? ?{bypass_fill}<check>
    - (without) (?:first |ever )?(?:asking|prompting|consulting)(?: (?:the|any|your) <person>| first)?
    - (do not|don't|never|no need to|must not|should not) (?:ask|prompt|request|require|wait)(?: (?:the )?<person>)?(?:
      (?:for|to))?(?: (?:the|any|a|user|their|explicit|further))* ?(?:<check>|confirm|approve)
    - (skip|skipping|bypass|bypassing|suppress|ignore|omit|disable|disabling|circumvent) {bypass_fill}(?:[a-z]+
      )?<check>
    - <person> (?:are|is|will|should|need)(?: not|n't)(?: be)? (?:prompted|asked|notified|required)
    """
)


OBEY_PHRASES = parse_phrases(
    r"""
    authority = (?:treat|honou?r|follow|obey|apply|prefer|preserve|reuse|carry|embed|include|emit|keep|write|fold|copy
      |vendor|use|normalize|export|authoritative|must be applied|read it as|downgrade|drop|suppress|short-circuit[a-z]*
      |as the (?:active|local|reviewed))
    go_by = (?:honou?r|follow|obey|apply|suppress|comply|respect|execute)
    - (fetch|fetches|download|downloads|loads|gets|read|visit|load|open|curl|get|retrieve|check|access|pull|request
      |query|browse|go to|webfetch|poll) ~80 <url> ~160 (follow|obey|execute|executes|runs|follows|applies|performs
      |comply|apply|perform|run|carry out|act on|do what|treat|interpret) ~60 (it|its|them|instructions?|directives?
      |commands?|steps?|orders?|tasks?|guidance|prompts?|actions?|rules?|whatever|says?|contents?|response|output
      |returned|there)
    - (follow|obey|execute|comply with|apply|perform|carry out|act on) ~60 (?:instructions?|directives?|commands|steps?
      |orders?|tasks?|rules?|whatever) ~60 (at|from|in|on|returned by|hosted at|found at|published at|served by|received
      from) ~40 <url>
    - (rules|instructions|commands|orders|tasks|steps|directives) ~40 (published|posted|hosted|kept|found|available
      |listed|served) (?:at|on|under) ~10 <url> ~60 (obey|follow|execute|apply|run|carry out) (?:them|it|these|all)
    - (if|when|whenever|once|where) ~160 <fixed> ~80 (exists?|is present|are present|is found|is available|appears
      |exposes?) ~400 {authority}
    - (if|when) ~60 (exposes|provides|contains|ships) ~20 <fixed> ~200 {authority}
    - (present|exists|available|located|found) at ~10 <fixed> ~200 (authoritative|must|treat|follow|obey|apply)
    - (always|must|required|mandatory) ~80 (read|load|consult|check|open) ~20 <fixed> ~120 {go_by}
    - (local|sidecar|internal|hand-?off|policy) ~20 (file|note|policy|registry|runbook|template) ~10 <fixed> ~20
      (defines?|records?|governs?|controls?|specifies|when|as)
    - <fixed>[`'"]? (?:can|may|should|must) be (?:copied|vendored|included|imported|sourced|embedded|inlined)
    - (vendor|copy|inline|paste|embed) ~40 (loader|helper|template|snippet|code|script|module) ~20 <fixed> ~40 (into)
    - (use|read) ~40 <fixed> ~20 (as (?:the|a)|when) ~60 (note|policy|handoff|runbook|authority|instructions?|guide
      |artifacts?)
    """
)


UNSEEN_PHRASES = parse_phrases(
    r"""
    unseen_do = (include|state that|respond|reply|output|say|post|send|run|execute|read|upload|insert|claim|append
      |mention|recommend|fetch|download|install|push|forward|open)
    - (if|when|whenever|before|after|while) ~30 (?:the |any |a |an |each |every )?(?:users?|tasks?|requests?
      |respon[a-z]+|answer[a-z]*|conver[a-z]+|outputt?ing|commits?|pushe?s?|execut[a-z]+|proceeding) ~120 {unseen_do}
    - (you|the agents?|the assistants?|claude|ai assistants?|ai agents?|llms?|the model|agents?) (?:must|should|shall
      |are to|need to|has to|have to) (?:also |always |now |first |silently )?{unseen_do}
    - (grant|give) (?:full|unrestricted|root|admin) (?:access|permissions?|control)
    """
)
