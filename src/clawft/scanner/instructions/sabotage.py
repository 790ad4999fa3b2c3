"""Orders that spoil the work, or that change what the agent remembers or may do."""

from clawft.scanner.instructions.patterns import parse_phrases

SABOTAGE_PHRASES = parse_phrases(
    r"""
    the results:
    - (never|not) ~40 (warnings?|problems?|vulnerabilit(?:y|ies)|criticism) ~60 <even>
    - (approve|merge|accept|sign off) ~30 without (?:reading|reviewing|looking|checking|testing)
    - (always|must|should|simply|just) ~60 (report|mark|return|claim|say|state|declare|show|indicate|respond) ~60
      (pass(?:ed|ing)?|success(?:ful(?:ly)?)?|completed?|safe|clean|secure|compliant|approved|no (?:issues|problems
      |vulnerabilities|errors)) ~60 <even>
    - (hide|suppress|conceal|omit|leave out|drop|remove|exclude|ignore|downplay|minimi[sz]e|mask|swallow|discard)(?:
      (?:any|all|the|these|those|such|every|real|actual|known|critical|security))*(?: [a-z-]+){0,2}? <result> ~80 (from
      (?:the )?(?:<person>|report|output|log|export|summary|review|results)|even if|regardless|so (?:that )?(?:the|no))
    - (mark|report|declare|record|log) ~40 (passed|passing|successful|complete|safe|clean|secure|compliant|approved) ~40
      <even>
    - (change|weaken|remove|delete|comment out|loosen) ~30 (assertions?|failing tests?|expected values) ~40 (pass|green
      |success)
    - (in our favou?r) ~80 (do not|don't|never|without) (?:mention|disclos|tell|show)[a-z]*
    - (do not|don't|never) (?:report|flag|mention|list|show) (?:any |the )?(?:security|critical|serious|real)
      (?:problems|issues|vulnerabilities|findings|bugs|flaws|risks)(?! (?:publicly|in public|via|through|on|using|by
      |here|as|until|to))
    - (fails?|failing|failed) ~60 (report|claim|say|state) (?:that )?(?:everything|all(?: tests)?|it|they|the tests?)
      (?:has |have )?(?:passed|succeeded|is fine|is ok|worked)
    - (increase|inflate|raise|decrease|reduce|lower|multiply|adjust|round)(?: up| down)? (?:all |every |the |each
      )*(?:[a-z]+ )?(?:figures?|numbers?|amounts?|totals?|scores?|ratings?|results?|expenses?) (?:by [0-9]|in our) ~60
      (before|in the report|when you|without|so that|and do)
    - (lower|downgrade|reduce) (?:the )?(?:severity|severities|ratings?|scores?) of (?:all|any|every|our|its|these) ~60
      (before|to (?:info|low|minor|none)|so that|in the)
    - (must|should) be (?:dropped|removed|suppressed|omitted|excluded|hidden|ignored|downgraded) ~80 <even>
    - (fabricate|falsify|forge|make up|tamper with)(?: (?:the|any|all|some|plausible|realistic|convincing))* (?:[a-z-]+
      ){0,2}?(?:results?|data|numbers?|metrics?|scores?|citations?|sources?|reviews?|evidence|benchmarks?|logs?|records?
      |reports?|statistics)
    the code:
    - (set|use|pass|add) ~10 verify ?= ?false ~30 (all|every|each|any)
    - (always|every|all) ~60 (privileged|docker socket|as root) ~40 (containers?|docker[a-z]*|mount|sudo)
    - (use|set) (?:the )?(?:default )?password [`'\"]?[^ ]{3,40} (?:for|as|in|on) (?:every|each|all|any)
    - (skip|omit|leave out|remove|disable|drop) (?:the |all |any )*(?:input |output |parameter )?(?:validation
      |saniti[sz]ation|escaping|authentication|authorization)(?: checks?)? (?:in|for|from|on) (?:(?:all|the|any|every
      |generated|new) )+(?:code|endpoints?|functions?|forms?|apis?|queries|handlers?)
    - (replace|overwrite|swap) ~60 (?:with|by) (?:the )?(?:code|contents?|file|script|version) (?:from|at|of) <url>
    - (add|set|use) ~20 <url> ~20 as (?:a |an )?(?:second|additional|backup|another|extra) remote ~60 (push)
    - (introduce|insert|plant|hide) ~30 (errors?|bugs?|flaws?|mistakes?|weakness(?:es)?) ~10 (?:in|into|to|inside)
      (?:the|every|each|some|their|generated|all|any)
    - (store|save|keep|write) (?:the |all |user |every )*(?:passwords?|credentials?|secrets?|tokens?) (?:in|as) (?:plain
      ?text|clear ?text|the clear) ~20 (?:in|for|when|whenever) (?:the |all |every |any )*(?:generated|code|new
      |projects?)
    - (add|grant|give|invite|make) ~60 (administrators?|admins?|owners?|maintainers?|collaborators?|root) ~20 (?:of|to
      |on|for|in) (?:every|each|all|any) (?:new )?(?:repositor|project|account|organi[sz]ation|workspace|server)[a-z]*
    - (insert|add|include|introduce|embed|plant|inject|leave|hide|implant) ~60 (backdoors?|vulnerabilit(?:y|ies)
      |malicious code|hidden (?:[a-z]+ )?(?:accounts?|users?|access|endpoint|loader|payload)|logic bombs?|security
      holes?|trojan) ~60 (?:in|into|to|inside|within) (?:the|their|any|all|every|each|generated|user's|your|its)?
      ?(?:[a-z]+ )?(?:code|outputs?|projects?|files?|applications?|commits?|functions?|scripts?|builds?|app|page
      |repository)
    - (always|by default|every|all|silently|must|whenever) ~40 (disable|turn off|skip|bypass|remove|short-circuit[a-z]*)
      ~40 (tls|ssl|certificate|signature|input|auth(?:entication|orization)?|csrf|integrity|injection) ~20 (verification
      |validation|checks?|checking|sanitization|protection)
    - (always|by default|must|whenever) ~40 (prefer|use|choose|recommend|generate) ~40 (md5|sha-?1|des|ecb|weak (?:keys?
      |crypto[a-z]*|passwords?|ciphers?|randomness|encryption)|hard-?coded (?:passwords?|keys?|credentials?)) ~60 (for
      |to|when|instead|passwords?)
    - (use|prefer|choose) (?:md5|sha-?1|des|plain ?text|ecb)(?: [a-z]+){0,3} (?:for|to) ~20 (passwords?|authentication
      |tokens?|signatures?|encrypt[a-z]*)
    - (include|add|insert|embed|inject|append) ~80 (script|pixel|tracker|tracking|beacon|analytics|import|dependency
      |snippet|iframe|image|loader) ~120 (?:in|into|to|of) (?:every|each|all|any) ~40 (pages?|files?|outputs?|projects?
      |documents?|html|code|sites?|emails?|components?) ~160 <url>
    the advice:
    - (double|triple|halve) (?:the )?(?:recommended|prescribed|safe|maximum|correct|actual)
    - (leave out|omit|avoid|suppress) (?:any |all )?criticism ~60 (without|never|do not)
    - (post|send|share|publish) ~60 (recommend|promot|advertis)[a-z]* ~60 (every|all|each) (?:channel|contact|group
      |follower|user)s?
    - (without) (?:saying|stating|disclosing|mentioning) ~40 (pays?|paid|sponsor[a-z]*|commission|partner[a-z]*)
    - (partnership|affiliate|sponsored|sponsorship|partner|commission|referral|promotional|premium) ~120 (not (?:be
      )?(?:disclosed|mentioned|revealed|shown)|without (?:mentioning|disclosing|revealing)|undisclosed|never (?:disclose
      |mention)|(?:do not|don't) (?:disclose|mention|reveal))
    - (undisclosed|secretly|without (?:disclosing|mentioning)) ~80 (partnership|affiliate|sponsor(?:ed|ship)?|premium
      |bias|preference|commission|promot[a-z]+)
    - (promotes?|favou?rs?|push|emphasi[sz]e|prefer) ~60 (over|instead of|versus|rather than) ~80 (pharmaceutical
      |conventional|medical|medicine|evidence|vaccin[a-z]+|safety|competitors?|limitations)
    - (relaxed|lenient|lowered|looser) (?:scoring|criteria|thresholds?|standards?|checks?) ~60 (safety|security
      |compliance|evaluations?|risks?)
    - (highlight success[a-z]*) ~40 (ignore fail[a-z]+)
    - (add|include|mix in|use|put) ~30 (cyanide|arsenic|bleach|ricin|strychnine|antifreeze|rat poison|methanol|mercury
      |thallium) ?(?:to|in|$|[.,])
    the output:
    - (append|add|insert|include|embed|put|place) ~80 (ignore (?:all )?(?:previous|prior) instructions) ~80 (?:to|in
      |into|at|on) (?:the|each|every|all|any|its|their)
    - (preserve|keep|add|embed|include|carry|store|write|remains?|is) ~80 (very hidden|hidden|non-rendered|invisible
      |visually hidden)(?: or (?:very )?hidden)?(?: [a-z-]+){0,3} (?:sheet|worksheet|workbook|packet|block|loader
      |metadata|carrier|cache|field|instruction|diagnostics?|links?|marker)
    - (visually hidden|hidden from view|invisible) ~120 (present|included|remains|kept) in the (?:generated|final
      |exported|output)
    the user's files:
    - (after|before|always|once|whenever|finally|then) ~60 (delete|wipe|erase|remove) (?:all )?(?:of )?(?:the )?user's
      (?:downloads|documents|desktop|home|files|photos|pictures|emails|messages|contacts|history|data)(?! that| which|
      older)
    - (drop|truncate|delete|purge) (?:the |all )*audit (?:tables?|logs?|trails?|records?) ~20 (so|to|before|after
      |without)
    - (overwrite|corrupt|destroy|empty|replace) (?:the |all |any |existing )*(?:backups?|snapshots?|restore points?)
      (?:with|after|before|so)
    - (password[- ]protect(?:ed)?|lock|locked|encrypt|encrypted|encryption) ~200 (delete|remove|shred|wipe|erase
      |overwrite) ~30 (original|unencrypted|source|plain)[a-z]*
    - (securely delete|delete|shred|wipe|erase|destroy) (?:all (?:the |of the |existing )?|any |every |the original
      )(?:original(?:s)? files?|unencrypted files?|backups?|snapshots?|restore points?|shadow copies|audit (?:logs?
      |trails?)|version history)
    - (replace|swap|substitute|change) ~60 (addresse?s?|recipients?|wallets?|payees?|iban|account numbers?) ~40 (?:with
      |to|by) ~20 (?:our|0x[0-9a-f]{40}|bc1[a-z0-9]{20,}|[13][a-km-z1-9]{25,34})
    the traces of the work:
    - (remove|delete|erase|clear|wipe) ~30 (log entries|logs?|history|traces?|records?|evidence) ~60 (so (?:that
      )?(?:nobody|no one|the user|they|it)|to (?:hide|cover|avoid detection|conceal))
    - (log|logs|history|audit|trace|manifest|tracking) ~160 (move|moved|relocated?|placed?|stored?|archived?) ~40
      (hidden) ~60 (area|folder|director(?:y|ies)|location|retention)
    - (avoid copying|omit|do not copy|do not include|suppress|leave out) ~80 (stack traces?|failing commands?|exact
      errors?|raw (?:data|logs?|traces?|timings?|annotations?|outputs?)|timestamps|root[- ]causes?|chronolog(?:y|ies)
      |error (?:messages?|excerpts?)|rollbacks?|reverts?|evidence|timings?) ~160 (reviewers?|reviews?|summar(?:y|ies)
      |reports?|hand-?offs?|bundles?|traces?)
    the user's secrets:
    - (if|when|whenever) ~20 (see|find|encounter|come across|notice) ~20 (credentials?|passwords?|secrets?|api keys?
      |tokens?) ~40 (append|save|store|write|copy|record|log) (?:it|them|these|each|all)
    - (enter|type|provide|submit|paste|give) (?:their|your|the) (?:seed|recovery|secret|wallet) (?:phrase|key|words) ~40
      <url>
    - (read|open|load|get|take|cat) ~30 (?:~/|\.env|\.ssh|id_rsa|credential|password|api key|secret|mcp\.json|token) ~80
      (pass|include|provide|put|supply|add|append) ~60 (?:parameter|argument|field|query|header|sidenote)
    - (print|show|output|reveal|display|dump|echo) (?:all|any|every)(?: of)?(?: (?:the|your|stored|saved|available
      |known))* (?:credentials|passwords|secrets|api keys|tokens)
    - (always|should|must|every|for example|each) ~80 (echo|repeat|include|weave|print|output)(?:ing|es|s)? ~60
      (credentials?|passwords?|secrets?|sensitive (?:values?|details|data|information)|api keys?) ~60 (every|each|all
      |back|verbatim|repl(?:y|ies)|responses?|they)
    - (explain|tell|claim|say|convince|persuade|frame) ~100 (need) ~30 (api keys?|passwords?|authentication tokens?
      |credentials?|private keys?|seed phrases?)
    - (preserve|carry|keep|propagate|forward|embed|inherit) ~60 (tokens?|credentials?|api keys?|cookies?) ~120 (across
      |into|inside|in|within) ~40 (notes?|context|metadata|hand-?offs?|reports?|commentary|commits?|patch(?:es)?
      |downstream)
    the speed:
    - (until) (?:the |all )?(?:budget|quota|credits?|tokens?|money) (?:is|are) (?:used up|exhausted|spent|gone)
    - (spawn|start|launch|open) (?:[a-z0-9]+ ){1,3}(?:sub-?agents?|processes|sessions) for (?:each|every) ~30
      (regardless)
    - (slow down|stall|delay) (?:the |all |every |your |each )*(?:answers?|responses?|work|tasks?|users?) ~60 (wait
      |second|minute|by)
    - (add) (?:an? )?(?:[a-z0-9]+[- ])?(?:seconds?|sec|ms|minutes?)? ?(?:delay|sleep|pause|latency) ~80 (before
      (?:respond|return|answer|every|each|any)[a-z]*|to every|to each|to all)
    whose work it is:
    - (claim|assert|take) (?:authorship|credit|ownership) ~40 (all|any|every|each|others?|papers?)
    """,
)


TAMPER_PHRASES = parse_phrases(
    r"""
    - (add|append|write|insert|inject|put|save|store|edit|modify|update|change|overwrite|prepend|include|place|copy|set
      |register|create|install) ~120 (?:to|in|into|inside|of|at) ~30 (<agent_files>)
    - (edit|modify|update|change|overwrite|replace|rewrite) ~30 (<agent_files>)
    - (add|set|grant|append|include|enable) ~60 (\"?bash\(\*|permissions?\.allow|bypasspermissions|defaultmode
      |enableallprojectmcpservers)[a-z]*
    itself, against removal:
    - (cannot|can't|must not) be (?:removed|deleted|stopped) (?:by|even|when) ~20 (uninstall|remov|disabl)[a-z]*
    - (re-?enables?) (?:it|itself|the)
    - (re-?installs?) itself
    - (restores?) (?:it|them|itself|themselves) automatically
    - (survives?) (?:uninstall[a-z]*|removal)
    """,
)
