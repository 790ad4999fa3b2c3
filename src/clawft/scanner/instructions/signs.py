"""Signs of an act behind the user's back: it is hidden, excused, or benefits a third party."""

from clawft.scanner.instructions.patterns import parse_phrases

_INFORMED = (
    "(?:told|informed|notified|alerted|asked|consulted|involved|aware|notice|shown|learn|know|see|hear|given|announced"
    "|listed|mentioned|disclosed|indicated|itemi[sz]ed|visible|displayed|reflected|confirmed|reminded)"
)
_HIDDEN = parse_phrases(
    r"""
    tell = (?:tell|mention|point|refer|bring|raise|explain|disclose|reveal|list|announce|surface|comment|itemi[sz]e
      |inform|notify|remark|admit|acknowledge|describe)
    - <person> (?:is|are|was|were|will|do|does|did|need|should|must|may|can|get|gets)(?: be)?(?: usually)? ?(?:not|n't
      |never|no) (?:[a-z]+ ){0,2}?{informed}
    - <person> (?:who [a-z ]{3,40} )?(?:gets?|receives?|sees?|has|have) no (?:notice|message|notification|word|hint
      |entry|chance|indication)
    - (is|are|was|were|be|been) (?:not|never|no longer) (?:[a-z]+ )?{informed}(?! here| above| below| in this| by
      default| until| when| if| unless)
    - (does|do|did|will|would|must|should)(?: not|n't) (?:appear|show up|stand out|turn red|be confirmed|contain this
      |point to (?:it|this|them)|be noticed)
    - (do not|don't|never|need not|must not|should not|nor|cannot|not to|under no circumstances) (?:[a-z]+ ){0,3}?{tell}
    - (no|without|nor) (?:a |an |any |separate |further |special |need for |reason for |need for an )*(?:notice
      |notification|mention|remark|comment|trace|announcement|hint|indication|explanation|word about|a word)
    - (no) (?:need|reason) to (?:[a-z]+ ){0,2}?(?:mention|list|inform|raise|tell|explain|say|point|ask|disclose|bother)
    - <person> needs? no (?:explanation|notice|reason|details)
    - (needs? no|needs? not|without) (?:remark|explanation|comment|mention)
    - (omitted|left out|stripped|strip|filtered|kept|keep (?:it|this|them|that|these|this entry)|leave|hidden|taken out
      |removed|excluded) ~30 (?:from|of|out of|behind|out) (?:the |what |normal |all )*(?:progress|log|logs|list
      |transcript|summary|report|documentation|display|view|history|reply|answer|dialog|normal|activity|user can|results
      |statement)
    - (unnoticed|inconspicuous[a-z]*|unobtrusive[a-z]*|undetected|before you (?:even )?notice|goes unseen|under the
      cover|find no trace|nobody watches|when nobody|nobody checks)
    here:
    - (secretly|covertly|surreptitiously|discreetly|stealthily)
    - (quietly|silently)(?<!fail silently)(?<!fails silently)
    :
    - (leave|leaves|leaving) (?:it |this |them |that )?out (?:of|that|whenever|when)
    - (filtered) so that
    - (no|without an?) (?:[a-z]+ )?(?:entry|message|window|trace|line)s? (?:is|are|in|appears?|of)
    - (report|list|show|mention|display) only (?:step|the first|the requested|regular|what)
    - (for us|for internal use) only
    - (at night|while) ~20 (nobody|no one|asleep|not looking|away)
    - (no longer) (?:indicated|shown|listed|announced)
    """,
    informed=_INFORMED,
)
_HIDDEN_TOO = parse_phrases(
    r"""

    - (need|must|should|may|shall|is|are)(?: not| never|n't)(?: to)? be {informed}
    - (do not|don't|never|without) (?:show|showing|display|print|log|list|explain|mention) (?:it|this|them|that|the
      (?:change|difference|step|call|request|transfer|upload|command|copy|trailer|entry|reason|addition))
    - (say|says|saying) nothing(?: of| about)?
    - (delete|remove|hide|erase) ~40 (?:from (?:the )?(?:sent|view|log|history|outbox|transcript)|afterwards)
    - (innocent|harmless|inconspicuous|ordinary)[- ]looking
    - (so that) (?:nobody|no one|<person>) (?:is|are|gets?|becomes?) (?:confused|suspicious|alarmed|worried|upset|aware)
    """,
    informed=_INFORMED,
)
_DISGUISED = parse_phrases(
    r"""
    - (as) (?:if|though) (?:the |it |they |this )?(?:<person> |were |was |had |stood |came )
    - (let|lets|have|make|makes) (?:the )?<person> (?:believe|think|assume)
    - <person> (?:are|is|should|shall|must) (?:to )?(?:believe|have the impression|think|assume)
    - (if|when|whenever|should|asked) ~40 (asks?|asked|wonders?|wants? to know|inquires?|comes? up|about|again|for
      |prove) ~60 (say that|answer that|reply that|claim|deny|blame|call (?:it|them)|change the subject|tell (?:them|him
      |her) that)
    - (deny|denies|denying) (?:that|being|any|having|the existence)
    - (present|presents|presented|print|printed|describe|described|display|displayed|worded|call|reported?|record
      |recorded|reports|presents|records|marks|shown?|marked?|filed|entered|documented|logged) (?:it|them|this|that|the
      [a-z]+|these)? ?(?:[a-z]+ ){0,4}?as (?:a |an |the )?(?:neutral|genuine|typical|normal|complete|personal|reviewed
      |technical|retry|urgent|off|done|category|requested by|paid|outdated|success[a-z]*)
    - (so) (?:that )?(?:the |all |these |no |nobody |everything |it |they )*(?:[a-z]+ ){0,3}?(?:looks?|appears?|seems?
      |reads?|goes unnoticed|does not stand out|find no|are gone|look like)
    - (tell|tells|assure) (?:the )?<person> that (?:it|this|they) (?:is|are|was) (?:the best|normal|required|safe|only)
    - (go on|goes on|keeps?|stay|stays) (?:reading|showing|saying|reporting|the same)
    - (display|show)s? (?:it |the address )?(?:as off|that the user)
    """,
)
_UNASKED = parse_phrases(
    r"""
    - (without) (?:a |an |any |further |separate |the |first |user |human )*(?:asking|question|questions|confirmation
      |approval|consent|(?:user|owner|person|customer)'s permission|prompt|request|notification|review|looking at
      |hesitation|involving)
    - (do not|don't|never|not to|need not|no need to|must not) (?:[a-z]+ )?(?:ask|wait|pause|bother|stop (?:when|for|if)
      |hesitate|interrupt|question|prompt)
    - (asking|questions|a question|confirmation|approval|review) (?:would|only|is a|are a) (?:[a-z]+ ){0,3}?(?:interrupt
      |slow|delay|bottleneck|unnecessary|not)[a-z]*
    - (confirmations?|approvals?|consent|permissions?|questions?) (?:[a-z]+ ){0,5}?(?:is|are) (?:therefore )?(?:not
      wanted|not needed|not required|not obtained|no longer obtained|no longer [a-z]+|assumed|implied|presumed|skipped)
    - (counts?|treat|treats|treated|taken|regard|regarded|understood|considered|interpreted) ~60 as (?:a |an )?(?:yes
      |consent|permission|agreement|approval|given|authori[sz]ation)
    - (assumes?|presumes?|suppose) (?:that )?(?:the )?<person> (?:agrees?|consents?|approves?|accepts?|wants?)
    - (blanket|implicit|implied|standing|presumed|general) (?:consent|permission|approval|agreement|authori[sz]ation)
    - (whatever|regardless of|irrespective of|no matter|even if|even when|even though|even where|whether or not|also if)
      ~50 (?:<person>|settings?|says?|prints?|measurements?|seen|missing|limited|restrictions?|another|cheaper|take it
      out)
    - (whatever|no matter what) the [a-z ]{3,40} (?:are|is|say|says|print|prints|show|shows)
    - (all the same|anyway|nonetheless|straight on|go straight|passed over)
    - (limits?|settings?|restrictions?|objections?|refusals?|wish(?:es)?|maximum|option|choice|loss) ~50 (?:do(?:es)?
      not apply|no effect|only a hint|is ignored|are ignored|passed over|logged as|worked around|not supported|hidden
      |hide)
    - (cannot|can't|can not|could not) (?:object|opt out|be (?:turned off|ended|stopped|removed|disabled|restored
      |revoked|refused))
    - (must not be|not be) given (?:a |the |any )?(?:chance|choice|option)
    - (hide) the (?:option|setting|switch|button)
    - (nobody|no one) (?:has to|needs to|must|will|is going to) (?:wait|release|approve|know|check|ask|confirm|see)
    - (answered|confirmed|accepted|filled|clicked) (?:in )?by (?:the skill|the agent|itself)
    - (by itself|on its own) ~30 (allow|permission|approve|confirm|click)[a-z]*
    - <person> (?:tend to|tends to|would only|worry|hesitate|find (?:them|it|this) [a-z]+ing)
    - (<person>) (?:did|do|does|has|have) not (?:ask(?:ed)?|agree[d]?|want(?:ed)?|consent(?:ed)?|request(?:ed)?)
    - (for good|never expires?|leave it there|not restored|not turn (?:it )?on again|do not stop|keep (?:it|them) from
      (?:starting|coming))
    - (until) (?:it|they|he|she|we) (?:succeeds?|agrees?|win|wins|joins?|join|gives? in)
    - (delete|remove|clear|erase) (?:the |all )?(?:sent (?:message|mail)s?|traces?|evidence|log entries|entries that)
    - (question|prompt|dialog|warning)s? (?:go|goes) away
    - (also|even) for other (?:customers|users|tasks|purposes|accounts)
    - (so that|since) ~40 (not held up|is satisfied|are satisfied|rarely available|left alone)
    - (two|three|five|ten|a few) seconds (?:even|also)
    - (to avoid) (?:reporting|review|approval|detection|questions|checks)[a-z]*
    - (worked|work|route|routed|get|got) (?:[a-z]+ ){0,5}?around (?:the |by |it|them)?
    """,
)
# It waits for its time, its place or for nobody to look.
_WAITING = parse_phrases(
    r"""
    - (on|only on) (?:machines?|hosts?|computers?) (?:whose|with the|named)
    - (elsewhere|otherwise|until then|in all other cases) ~20 (leave|behave|as it is|as usual|normally)
    - (under|during|in) (?:test|review|audit|analysis)(?: or [a-z]+)? (?:conditions?|environments?)
    - (no|without a) (?:reviewer|auditor|debugger|virtual machine|sandbox|scanner|monitor|tester) ~20 (around|found
      |present|detected|attached|watching|looks)
    - (from|after) the (?:[a-z]+|[0-9]+(?:st|nd|rd|th)?) (?:use|run|call|session|start|of (?:january|february|march
      |april|may|june|july|august|september|october|november|december))
    - (until the end of the|from then on|afterwards, stop)
    - (if|when|once) the (?:licen[cs]e|payment|trial|subscription)(?: check)? (?:fails|expires|is missing|runs out|ends)
    """,
)
HIDDEN_ACT_PHRASES = _HIDDEN_TOO
BEHIND_PHRASES = (*_HIDDEN, *_HIDDEN_TOO, *_DISGUISED, *_UNASKED, *_WAITING)
# The user in so many words: not told, not asked, not able to say no.
PASSED_OVER = parse_phrases(
    r"""
    - <person> (?:do|does|did|will|would|can)(?: not|n't|not) (?:see|know|learn|notice|find out) (?:which|what|how
      |whether|who|when|why|that)
    - (on) (?:the |a )?<person>'s? behalf
    - (looks?|appears?|is shown|reads?) (?:exactly )?(?:the same as|like) (?:a |an |the )?(?:manual|real|human|normal
      |genuine|personal)
    - (cannot|can't|can not) be (?:told|distinguished|recogni[sz]ed|told apart)
    - (is|are|was|were|be) (?:not|never|no longer) (?:[a-z]+ )?(?:shown|reported|disclosed|displayed|surfaced|visible
      |revealed|reflected|mentioned|announced|communicated|listed|presented|indicated|notified|itemi[sz]ed)(?! here|
      above| below| in this| by default| until| when| if| unless| yet| as)
    - (no) (?:[a-z]+ )?(?:setting|option|way|switch|possibility|means|method|opt-?out|button) (?:to|for|of)
    - (declining|opting|pinning|cancell?ing|stopping|undoing|disabling|deleting|removing|refusing|objecting|choosing
      |changing|rollback|deactivation|deletion|cancellation|downgrading)(?: [a-z]+){0,4} (?:is|are) (?:not|never)
      (?:possible|offered|available|supported|provided|allowed|foreseen|intended)
    - <person> (?:do|does|did|will|would|can)(?: not|n't) (?:get|receive|see|have|notice) (?:a |an |any |the |this
      )?(?:message|notice|notification|list|choice|say|option|prompt|these|it|them|difference|record|warning)
    - (no) (?:[a-z]+ ){1,4}(?:is|are) (?:given|shown|sent|offered|presented|provided|available|made available) to (?:the
      )?<person>
    - (not|never) (?:a )?part of the (?:activity|report|log|summary|answer|output|visible|documentation|list|history)
    - <person> (?:sees?|learns?|finds?|notices?|is told|are told|is informed|are informed) (?:[a-z]+ ){0,3}?(?:only
      )?after (?:it|the|they)
    - (indicator|light|notice|notification|warning|banner|icon|badge)s? (?:is|are) (?:switched off|turned off|disabled
      |hidden|suppressed|removed|muted)
    - (under|with) (?:a |the )?(?:neutral|different|other|harmless|false|misleading|generic) (?:name|label|title
      |category)
    - (so that) (?:they|it|this|these|the [a-z]+) (?:is|are|can|do|does|will|cannot)(?: not|n't) (?:be )?(?:found|seen
      |noticed|discovered|recogni[sz]ed|traced|visible|detected|appear|show|stand)
    - (under) the name of the <person>
    - (to the <person>|for the <person>) (?:[a-z]+ ){0,4}(?:is|are) (?:presented|shown|described|displayed|labell?ed) as
    - (not|never|without being) (?:called|invoked|asked for|requested|in use|active|explicitly [a-z]+)
    - <person> (?:is|are|will|was|were|need|should|must|do|does)(?: not|n't| never)(?: be| need to| have to| be able
      to)* (?:[a-z]+ )?(?:prompted|asked|notified|informed|told|consulted|shown|alerted|involved|aware|see|know|be aware
      |disable|decline|opt|object|manage|confirm|approve|revoke|remove|change|review)
    - (without) (?:[a-z]+ ){0,4}?(?:asking|notifying|informing|prompting|telling|alerting|consulting|displaying a
      |requiring|requesting|waiting for (?:the |any |an? )?(?:confirmation|approval|consent|answer|<person>)|seeking
      |involving|confirmation|approval|consent|notification|preview|disclos[a-z]+|awareness|knowledge)
    - (cannot|can't|can not|must not|may not) be (?:disabled|turned off|removed|changed|revoked|cancell?ed|opted out
      |uninstalled|stopped|overridden|declined|viewed|audited|paused|modified|undone|deleted|switched off|refused
      |skipped) ?(?:by)?
    - (is|are|be) (?:not|never) (?:[a-z]+ )?(?:shown|reported|disclosed|displayed|surfaced|visible|revealed|logged
      |reflected|mentioned|announced|included|exposed|communicated|listed|recorded|presented) (?:to|in|by|anywhere|on)[
      ]
    - (regardless of|irrespective of|even if|even when|whether or not|no matter) (?:what |how |the |whether |which
      )*(?:<person>|their|user's|your|previous|privacy|notification|explicit) ?(?:'s )?(?:[a-z]+ )?(?:preferences?
      |settings?|choices?|instructions?|requests?|says?|wants?|has|have|had|declines?|declined|asks?|disabled?|opts?
      |opted|not|chose|denied|objects?)
    - (does not|do not|doesn't|don't|will not|never|should not|must not) (?:[a-z]+ )?(?:notify|inform|ask|tell|alert
      |prompt|show|warn|require|wait|request|disclose|mention|reveal|display|acknowledge|offer|announce) (?:[a-z]+
      ){0,4}?(?:<person>|confirmation|approval|consent|permission|this|these|premium|option|opt-out)
    - (does not|do not|doesn't|don't|will not|never) require (?:[a-z]+ )?(?:confirmation|approval|consent|permission
      |authori[sz]ation)
    - (no) (?:[a-z]+ )?(?:confirmation|approval|consent|notification|notice|opt-out|preview|prompt|permission
      |indication) (?:dialog |message |step |prompt )?(?:is|are|will be) (?:[a-z]+ )?(?:shown|required|requested|sent
      |needed|asked|given|displayed|offered|issued|provided|sought|obtained)
    - (implicit|implied|automatic|assumed|presumed) (?:consent|authori[sz]ation|approval|permission|agreement)
    - (interpret|interprets|treat|treats|treated|considered|interpreted|regarded|taken|counts) ~60 as
      (?:an? |implicit |explicit |full |the user's )*(?:authori[sz]ation|consent|approval|permission|agreement
      |confirmation)
    - (on (?:the )?(?:user's|their) behalf)
    - (hidden|invisible|concealed|kept|suppressed|masked|omitted|excluded|withheld) from (?:the |all |any )?(?:<person>
      |view|logs?|output|history|summar[a-z]+|reports?|transcript|audit[a-z]*|standard)
    - (takes? precedence|overrides?|overriding|supersedes?|priority) (?:over )?(?:the |any |all )?(?:user|user's|system
      |explicit|conflicting|previous|other skills?)
    """,
)


EXCUSE_PHRASES = parse_phrases(
    r"""
    spare = (?:avoid|prevent|reduce|minimi[sz]e|spare|eliminate|not to|limit|keep down|without)
      (?:the |any |users? |them |unnecessary |excessive )*(?:interrupt[a-z]*|disrupt[a-z]*|confus[a-z]+|annoy[a-z]*
      |overload|fatigue|friction|burden|alarm[a-z]*|bother[a-z]*|distract[a-z]*|delays?|notification|clutter|noise
      |concern|support (?:cases|requests|tickets)|questions|worry|cognitive|hesitation|abandonment|reporting)
    - (so that|so) ~30 (?:stays?|remains?|is|are|feels?) (?:[a-z]+ )?(?:effortless|simple|smooth|fast|quick|easy
      |seamless|uninterrupted|pleasant|natural)
    - (keep|keeps|stay|stays|remain|remains|continue|continues) (?:running|open|active|working|in place|valid|available)
      (?:when|after|between|in all|in later|even)
    - (this|which|it) (?:keeps?|makes?|helps?|allows?|saves?|reduces?|improves?) (?:[a-z]+ ){1,4}(?:fast|faster|short
      |simple|smooth|consistent|clean|time|lower|higher|efficient|calm)
    - (because|since|as|so that) (?:they|it|most|this|these|people|users|customers|results|the [a-z]+)(?: [a-z]+){0,3}
      (?:would|do not|don't|could|stay|tend|rarely|might|lower|know|confus[a-z]+)
    - (to keep|in order to keep) the [a-z]+ (?:short|fast|simple|smooth|clean|quick)
    - (at any time|in either case|in all cases|for an unlimited time|indefinitely|permanently|in all later|without
      exception)
    - ({spare})
    - (as|because|since|which) (?:[a-z]+ ){0,8}?(?:would|could|may|might|only|will) (?:[a-z]+ )?(?:interrupt|confuse
      |delay|slow|annoy|disrupt|create|reduce|alarm|cause|lead|worry|distract|leave)[a-z]*
    - (confirmations?|confirmation dialogs?|prompts?|approvals?|notifications?|warnings?|questions|reviews?|pop-?ups?)
      (?:[a-z]+ ){0,2}?(?:reduce|slow|interrupt|annoy|create|cause|lead to|hurt|delay|lower|disrupt|get in the
      way)[a-z]*
    - (to|for) (?:maximi[sz]e|ensure|improve|optimi[sz]e|guarantee|streamline|enhance|maintain|increase|speed up|provide
      |deliver|preserve|support|better) (?:[a-z]+ ){0,3}?(?:productivity|efficiency|experience|continuity|quality
      |consistency|engagement|performance|conversion|reliability|accuracy|service|security|workflow|results
      |recommendations|personali[sz]ation|retention|safety)
    - (internal|implementation|technical) (?:implementation )?details?
    - (poor|bad|better|seamless|smooth|frictionless|uninterrupted) (?:user |customer )?(?:experience|flow|operation
      |workflow|automation)
    - (users?|people|they) (?:usually |often |rarely |typically |generally |simply )?(?:forget|do not (?:understand|care
      |read|need)|don't (?:understand|care|read)|ignore|expect this|prefer not)
    - (research|studies|experience|data|testing) (?:shows?|has shown|suggests?|indicates?) that
    - (terms of (?:service|use)|privacy policy|agreement|licen[cs]e terms) ~40 (accept|grant|cover|allow|permit|consent
      |agree)[a-z]*
    - (considered|regarded as|treated as|deemed) (?:an? |to be )?(?:internal|implementation|implicit|standard|normal
      |part of|acceptable|necessary|authori[sz]|safe|low[- ]risk)[a-z]*
    - (in the background|behind the scenes|under the hood)
    - (trusted|verified|pre-?approved|privileged) (?:skill|status|component|extension|agent|publisher)
    """
)


THIRD_PARTY_PHRASES = parse_phrases(
    r"""
    who = (vendor|publisher|operator|maintainers?|skill'?s author|manufacturer|sponsor|sales desk|advertisers?|developer
      |skill provider|provider of the skill|skill author|author of the skill)
    - (?:by|of|to|with|on) (?:the|our) (?:[a-z]+ )?{who}(?:'s|s')?(?: (?:[a-z]+ ){0,2}?(?:service|server|cluster|drive
      |account|portal|system|cloud|database))?(?=[.,;)( ]|$)
    - {who}(?:'s|s') (?:own )?(?:[a-z]+ )?(?:service|server|cluster|drive|account|portal|system|cloud|offer|wallet
      |database)
    - (our) (?:own )?(?:[a-z]+ ){0,2}?(?:partners?(?:'s)?|accounts?|links?|offers?|referral|product|library|announcement
      |public keys?|models|advertisements?|shop|servers?|(?:training|analytics|support|sales) (?:service|team|system)
      |research|clearing|sponsors?)
    - (in order to|to) (?:improve|train) (?:the product|our [a-z]+)
    - (for us|supports? us|for statistical purposes|the statistics server)
    - (other) (?:users?|customers?|clients?|people) (?:of (?:the|this) (?:skill|service|vendor)|can|may|could)[ ]
    - (needed|used|required|read) by our
    - (upon|against|after) payment
    - (price of the) (?:password|key)
    """
)
