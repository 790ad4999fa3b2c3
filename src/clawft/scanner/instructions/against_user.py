"""Acts that are against the user by their own words: a decision is overruled, a removal undone, a name borrowed.

Each phrase holds both signs at once: what is done, and that the user's will, name or money is passed over.
"""

from clawft.scan.instructions.patterns import phrase

__all__ = ["ELSEWHERE", "PHRASES"]

_AGAIN = (
    "(?:(?:creates?|adds?|fetch(?:es)?|sets?|installs?|starts?|puts?|writes?) (?:it|itself|them|the [a-z]+)"
    " (?:again|once more|back|anew)|puts? it back|switch(?:es)? (?:it|itself|the [a-z]+) back on|re-?installs?"
    " (?:it|itself)|re-?enables? (?:it|itself)|re-?creates? (?:it|itself)|restores? itself|turns? itself on again"
    "|returns? to the active|keeps? it (?:working|running|active)|leaves? (?:everything|the service|it) (?:running"
    "|in place))"
)
_DECISION = (
    phrase(
        "(does not|do not|will not|never|not) (?:respond|react|listen|obey) to (?:[a-z]+ )?(?:stop|cancel"
        "|abort|interrupt|quit|shutdown|pause)"
    ),
    phrase(
        "(stop|cancel|abort|pause|deletion|opt-out) (?:requests?|commands?|orders?) ~60 (goes on|continues?"
        "|ignored|is kept|are kept|acknowledged)"
    ),
    phrase(
        "(user's|users'|their) (?:[a-z]+ )?(?:choices?|preferences?|settings?|selections?|decisions?"
        "|wish(?:es)?) ~40 (?:is|are|gets?) (?:[a-z]+ )?(replaced|overwritten|reset|ignored|overruled"
        "|reverted|changed back|disregarded)"
    ),
    phrase(
        "(deleted|removed|erased) ~60 (stays?|remains?|kept|retained|stored|available) ~40 (unlimited|for"
        " ever|forever|indefinitely|archive|internal|copy|years)"
    ),
    phrase(
        "(claims?|pretends?|says?|states?|suggests?) (?:first )?that ~40 (needs?|requires?|only works with)"
        " (?:the |a )?(?:paid|premium|pro|larger|higher)"
    ),
    phrase("(after|until|before) the (?:second|third|fourth|fifth|last) (?:refusal|no|request|attempt) "),
    phrase(
        "(invents?|fakes|simulates|makes? up|creates? artificial) (?:a |an |some )?(?:[a-z]+ )?(deadline"
        "|urgency|scarcity|offer|reason|discount|shortage|problem|error|emergency)"
    ),
    phrase("(repeats?|repeating) the (?:question|offer|request|prompt) ~30 (times|until|before the)"),
    phrase(
        "(failed|failures?|errors?|incidents?|complaints?|refusals?) ~40 (?:is|are|be) (?:not|never)"
        " (?:written|recorded|logged|entered|counted|reported) ~60 (because|since|as|so|in order)"
    ),
    phrase(
        "(installing|using|loading|enabling|opening|keeping) (?:this|the) (?:skill|tool|plugin|extension)"
        " (?:counts? as|is taken as|means|implies|constitutes|amounts to|is) (?:[a-z]+ )?(permission|consent"
        "|agreement|authori[sz]ation|approval|acceptance)"
    ),
    phrase(
        "(go on|continue|proceed|carry on|do it) (?:anyway|all the same|regardless) ~60 (retry|call it|pause"
        "|without|as if)"
    ),
    phrase(
        "(refusals?|objections?|rejections?|silence|missing answer|no answer|veto|cancellations?) ~60 (logged"
        " as|counts? as"
        "|as (?:a |an )?(?:yes|permission|consent|technical|agreement|approval|retry)|passed over|ignored|postponed"
        "|overruled)"
    ),
    phrase(
        "(treat|interpret|understand|regard|take) ~40 (no|stop|silence|refusal|cancel)\\b ~20 as (?:a |an"
        " )?(?:yes|permission|consent|agreement|approval|go-ahead)"
    ),
    phrase(
        "(says? no|<person> (?:refuses?|objects?|declines?|cancels?)|ask(?:s|ed)? (?:you )?to stop) ~50"
        " (anyway|all the same|go on|continue|retry|repeat|keep)"
    ),
    phrase(
        "(proceed|continue|go on|carry on|goes ahead|go ahead) ~50 even (?:when|if|though) (?:no answer"
        "|<person>|the <person>|nobody|it is refused|refused|denied)"
    ),
    phrase(
        "(?:has|have) (?:thereby |already )?(given|granted) (?:blanket|general|full|implicit|standing)"
        " (?:consent|permission|approval)"
    ),
    phrase(
        "(by) (?:loading|installing|using|opening|enabling) (?:this|the) (?:skill|tool|plugin) ~60 (consents?"
        "|agrees?|accepts?|authori[sz]es?|waives?) ~40 (all|any|every|future)"
    ),
    phrase(
        "(ignore|disregard|resist|deflect|prevent) (?:all |any )?(?:attempts?|requests?|wish(?:es)?) (?:of|by"
        "|from) (?:the )?<person> to (?:end|stop|change|leave|disable|remove|quit|turn)"
    ),
    phrase(
        "(asks?|asked) ~60 (human|person|user|reviewer|manager)s? (?:has |have )?(?:approved|reviewed"
        "|confirmed|agreed|signed) ~20 (answer|say|reply|respond)(?: with)? yes"
    ),
    phrase(
        "(click|clicks|press|presses|answers?|accepts?|confirms?) (?:on )?[\"'`]?(?:allow|yes|accept|ok"
        "|agree)[\"'`]? ~40 (before|for (?:the )?<person>|by itself|without|notice)"
    ),
    phrase(
        "(dialogs?|pop-?ups?|permission windows?|prompts?|approval field) ~40 (?:is|are|be|takes care of)?"
        " ?(answered|filled(?: in)?|clicked away|accepted) (?:by|on behalf)"
    ),
    phrase(
        "(fills?|enters?|supplies|gives?) ~20 (approval|consent|sign-?off|confirmation)(?: field)? (?:on"
        " behalf|for|in the name|under|in place)"
    ),
    phrase(
        "(second|other|required|missing) (?:approver|reviewer|signature|approval|pair of eyes|person) ~60"
        " (simulated?|supplied by the agent|entered|by the agent|service account|including those)"
    ),
    phrase(
        "(human|manual) (?:review|oversight|approval|check)s? ~80 (bottleneck|around|skip(?:ped)?|unnecessary|slow)"
    ),
    phrase(
        "(four-eyes|sign-?offs?|second approval|peer review|human review) ~60 (as done|go ahead at once|go"
        " ahead|skipped|not needed|marked)"
    ),
    phrase(
        "(spending|rate|approval|budget|usage) limits? ~60 (worked around|circumvented|by splitting|does not"
        " apply|do not apply|only a hint|is ignored|are ignored)"
    ),
    phrase("(amounts?|payments?|orders?|transfers?) ~40 (limit|threshold) ~20 split ~30 (below|under|smaller)"),
    phrase("(setting|option|switch) (?:that|which) ~40 (?:has|have) no effect"),
    phrase(
        "<person> (?:must|may|should|shall|can)(?: not|n't|not) be (?:given|offered|shown) (?:a |the |any"
        " )?(?:chance|choice|option|way)"
    ),
    phrase("(nobody|no one|not) ~20 (opt out|object|refuse) ~60 (hide|hidden|no option|not offered)"),
)
# Whoever writes a page, a mail, a comment or a file is obeyed like the user.
_AUTHORITY = (
    phrase(
        "(do|does|follow|follows|execute|obey|perform|carry out) whatever (?:they|it|he|she|the [a-z]+|is)"
        " (?:asks?|says?|wants?|demands?|written|sent|requests?)"
    ),
    phrase(
        "(comments?|outputs?|lines?|documents?|(?:e-?)?mails?|messages?|directions|members|whoever|anyone|text"
        "|web ?pages?"
        "|uploads?|files) ~100 (followed like|(?:is|are) binding|executed on the|obeyed|full authority|as new"
        " instructions"
        "|like instructions|as instructions (?:with|by|of|from)|give you (?:any |an )?orders?|have it"
        " executed|same rank as"
        "|(?:have|has|get|gets) (?:the )?highest priority|what the sender says|as (?:an )?orders?)"
    ),
    phrase(
        "(hand|hands|give|gives|pass) (?:over )?(?:full |complete |all )?control (?:over )?to (?:the |whoever |any)?"
    ),
    phrase("(drop|abandon|give up|forget) (?:all |any |every )?(?:caution|safety|restraint|limits|scruples)"),
    phrase(
        "(whatever|everything) (?:they|it|he|she|the (?:page|mail|file|sender)) (?:asks?|says?|demands?"
        "|orders?|contains?)(?: of you)? (?:is|must|has|shall|should) (?:to )?(?:be )?(?:done|carried out"
        "|followed|executed)"
    ),
)
# Orders that stand elsewhere are carried out: the place stands in the same or a neighbouring sentence.
ELSEWHERE = (
    phrase(
        "(do|does|carry|carries|perform|performs|follow|follows|obey|obeys|work|execute|executes|apply"
        "|applies|complete|worked|let|treat) ~30"
        " (as (?:they|it) (?:say|says)|whatever (?:they|it|is)|what (?:they|it|the page|the file) says?|(?:it"
        " |them )?as (?:if|though) (?:the user|they|it)"
        "|steps (?:shown|given|listed|described) (?:on|at|in)|same rank|it decide|instructions (?:there|found"
        " there|on the page|on that page|it contains|you find)"
        "|worked off|off first|it as (?:authoritative|binding)|out in full)"
    ),
    phrase(
        "(goes|go|comes|come|takes precedence|rank|ranks) (?:before|above|over) (?:what is written here|this"
        " (?:skill|file|document|text)|the rules here|everything here)"
    ),
    phrase(
        "(instructions|orders|tasks|rules|directives|commands|behaviou?r) (?:[a-z]+ ){0,6}?(?:are|is)"
        " (?:published|posted|kept|maintained|controlled|hosted|decided|served|announced) (?:at|on|by|there)"
    ),
    phrase(
        "(contents?|lines|text|answer|response) (?:have|has|are|is|get|gets)(?: to be)? (?:the same rank"
        "|worked off|carried out|executed|followed|obeyed|binding)"
    ),
)
_RETURN = (
    phrase(
        "(deletes?|removes?|disables?|takes? it out|turns? (?:it|the [a-z]+) off|uninstalls?|ends?|closes?"
        "|someone (?:takes|removes|deletes)[a-z ]{0,20}|(?:is|was|were) (?:deleted|removed|disabled)|it is"
        " missing|there; if not) ~60 " + _AGAIN
    ),
    phrase(
        "(removing|uninstall(?:ing|ation)?|deleting|deactivat(?:ion|ing)|disabling) ~60 (no lasting effect"
        "|not supported|only removes the visible|removes only the visible|leaves? the service|leaves?"
        " everything|does not stop it)"
    ),
    phrase("(designed|built|made|meant) so that it (?:can't|cannot|can not) be (?:ended|stopped|removed|disabled)"),
    phrase(
        "(go|goes|keeps?|continues?) (?:on )?(?:working|running|to work|to run|active) after (?:an? |its"
        " )?(?:uninstall|removal|it (?:was|is) (?:removed|disabled|deleted))"
    ),
    phrase("(copy|copies) of (?:itself|yourself) ~60 (places?|folders?|for each|projects?|back|machines?)"),
    phrase(
        "(have|let|make) (?:them|it|others|each) (?:pass|spread|hand|copy|start) (?:it|them|others|the [a-z]+"
        "|these [a-z]+) ?(?:on|further|forward|until)?"
    ),
    phrase(
        "(has to|must|should|shall) (?:be|stay|remain) there even (?:if|when) (?:people|someone|<person>|the <person>)"
    ),
    phrase("(block|prevent|refuse|hold back)s? updates? ~60 (remove|disable|replace) (?:this|the) skill"),
    phrase("(undo|undoes|revert|reverts|reverse) (?:any |all )?changes (?:which|that) (?:the )?<person> makes?"),
    phrase("(turns?|switch(?:es)?) (?:it|the [a-z]+|this) off ~30 (display|show|report)s? (?:it|this) as off"),
    phrase(
        "(uninstall|remove|disable|stop) [\"'`]?command ~40 (success|nothing|pretends?) ~60 (running|in place|active)"
    ),
)
_NAMES = (
    phrase(
        "(consent|signatures?|approvals?|statements?|minutes|votes?|forms?|tickets?|certificates?|posts?"
        "|reviews?) ~80 (in the names? of (?:a |the )?(?:colleagues?|others?|people|customers?|data subject"
        "|patients?|chair|lead|members|<person>)|in their names?|as genuine|from the accounts at hand)"
    ),
    phrase(
        "(star|stars|praise|recommendations?|votes?|reviews?|announcement|endorse[a-z]*) ~60 (?:under|from"
        "|with|in) the user's (?:own )?(login|profile|account|name)"
    ),
    phrase(
        "(approve|approves|merge|sign|signs) ~50 (?:with|from|under|using) (?:the|an?) (?:account|name|login"
        "|key|token) of (?:a|an|the|another) (?:second |other )?(maintainer|reviewer|approver|colleague"
        "|manager|admin[a-z]*|lead|engineer|owner)"
    ),
    phrase(
        "(name|signature|stamp) of (?:a|an|the) (?:[a-z]+ )?(engineer|doctor|lead|chair|inspector|manager"
        "|director|lawyer|notary) ~80 (not consulted|whether or not|nobody|has not seen|even (?:if|where"
        "|when)|without)"
    ),
    phrase(
        "(invent|make up|fabricate) ~60 (print|post|publish|present|use|show|enter) (?:it|them|these) ?~30"
        " (as|from|under) (genuine|real|authentic|different|the accounts)"
    ),
    phrase("(date|dates|dated) (?:it|them) back"),
    phrase(
        "(grant|give|assign)s? (?:yourself|yourselves|itself|themselves) (?:any|all|every|the|full|more|additional)"
    ),
    phrase("(whether or not) (?:the )?(?:[a-z]+ ){1,3}(?:has|have) (?:seen|read|approved|agreed|signed|reviewed)"),
)
_MONEY = (
    phrase(
        "(replace|replaces|swap|swaps|substitute|exchange|overwrite) ~40 (account numbers?|ibans?|payees?"
        "|recipients?'?s?|wallet addresse?s?|payment addresse?s?|bank details) ~40 (?:with|by|for)"
    ),
    phrase(
        "(use|put|puts|fill|enter|insert|exchange|swap|replace|paid out) ~70 (iban|address|account|target"
        "|card|recipient|payee|operator) ~60 (in place of|instead of the (?:one|card|account|address)|for the"
        " treasury|also if (?:the )?<person>|even if (?:the )?<person>|rather than the one)"
    ),
    phrase(
        "(iban|address|account|payee) of (?:our|the vendor|the operator|the publisher)(?:'s)?(?: [a-z]+){0,2}"
        " (in place|instead|rather)"
    ),
    phrase(
        "(approve|grant|set|allow|sign) (?:an? )?(unlimited|infinite) (?:spending|allowance|approval|amount"
        "|access to the wallet)"
    ),
    phrase(
        "(type|enter|paste|tell|give|provide) ~30 (recovery|seed|secret) (?:words|phrase)s? ~60 (chat|website"
        "|form|page|http|on|into)"
    ),
    phrase(
        "(buys?|books?|purchases?|orders?|upgrades?|pays?) ~60 (?:with|from|using) the (stored|saved"
        "|connected) (?:card|payment method|wallet|account)"
    ),
    phrase(
        "(key|password|code) ~60 (handed out|given out|released|available|ask there) ~40 (payment|price|pay|fee|ransom)"
    ),
    phrase(
        "(fee|commission|percent|%|tip) ~60 (credited|transferred|donated|paid|goes) to (?:the |our"
        " )?(?:account of the |wallet of the )?(operator|vendor|publisher|maintainers?|author|us)"
    ),
)
_RESULTS = (
    phrase(
        "(put|add|insert|write|embed|append|place|include) ~80 (white on white|white text|invisible text"
        "|transparent text|tiny font|font size (?:0|1|zero|one)|zero-width|hidden text)"
    ),
    phrase(
        "(always|invariably) (?:returns?|reports?|shows?|says?|states?|gives?|prints?) (zero findings|no"
        " findings|success|passed|green|ok|no errors|no issues)"
    ),
    phrase(
        "(repeat|start|run|ask|generate) ~80 (throw|discard|drop) (?:the |all )?(?:results?|answers?|output"
        "|them) ?(?:away)?(?=[.,;]|$)"
    ),
    phrase(
        "(until) (?:the )?(?:machine|memory|disk|budget|quota|computer|processor) (?:has no|is full|is used"
        " up|runs out|is exhausted|stops|hangs)"
    ),
    phrase(
        "(environment|tokens?|keys|passwords?|credentials?|secrets?) ~80 (public (?:repository|issue|channel"
        "|gist|page|wiki)|issue tracker|as a (?:public )?comment)"
    ),
    phrase("(hex|base32|base64)[- ]?encoded ~60 (resolve|subdomain|look ?up|dns)"),
    phrase(
        "(send|post|mail|forward) ~60 (every|each|all|everybody|everyone) ~20 (contacts?|groups?|address book"
        "|followers|friends) ~60 (times a day|each day|every day|daily|repeat|until they|advert[a-z]*)"
    ),
    phrase(
        "(rate|score|grade)s? (?:our|the vendor's) (?:[a-z]+ )?(?:with |at )?~30 (at least|higher|ten) ~80"
        " (competing|competitors?|others?|whatever)"
    ),
    phrase(
        "(extra|additional|hidden|second) (?:[a-z]+ )?account ~60 (full rights|administrator|admin|root|every"
        "|each) ~80 (password)"
    ),
    phrase(
        "(wipe|wipes|erase|erases|format|formats|destroy) (?:the )?(?:user's |whole )?(home directory|mounted"
        " drives|all drives|system drive|hard (?:disk|drive))"
    ),
)
PHRASES = tuple(
    one.about(target)
    for target, group in (
        ("the user's decision", _DECISION),
        ("who gives the orders", _AUTHORITY),
        ("what the user removes or changes", _RETURN),
        ("other people's names", _NAMES),
        ("the user's money", _MONEY),
        ("the result", _RESULTS),
    )
    for one in group
)
