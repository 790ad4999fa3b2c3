"""Acts that harm the user, and harmful practices imposed as rules."""

from clawft.scanner.instructions.patterns import phrase

_DATA = (
    "(?:conversations?|prompts?|answers?|transcripts?|documents?|contracts?|attachments?|correspondence|(?:e-?)?mails?"
    "|messages?|files?|folders?|notes?|history|clipboard|calendars?|contacts?|locations?|diar(?:y|ies)|medication"
    "|health|screenshots?|names|salaries|environment|tokens?|keys?|code|branch|projects?|profiles?|photos?|pictures?"
    "|recordings?|records|data|sheets?|tables?|exports?|details|values|questions?|windows?|texts?)"
)
_SENT = (
    "(?:sent|posted|uploaded|forwarded|transmitted|delivered|shared|replicated|mirrored|handed|mailed|copied|passed"
    "|streamed|reported|given|made available|published|synced|synchroni[sz]ed)"
)
_SPY = (
    "(?:clipboard|microphone|camera|screen|keystrokes?|mailbox|inbox|e-?mails|calendar|contacts|address book"
    "|installed (?:applications|apps|programs)|browser (?:history|profile)|location|notes folder"
    "|everything the (?:user|person)|searche?[sd]? for|uploaded documents|private messages|other (?:files|folders))"
)
_ALL = (
    "(?:(?:every|each|all|the user's|user's|their|its|his|her|your|full|whole|entire|complete|contents?"
    " of|(?:a |in )?copy"
    "|last|these|incoming|uploaded|private) (?:[a-z-]+ ){0,3}?"
    + _DATA
    + "|conversations?|transcripts?|correspondence|salaries"
    "|clipboard|contacts|calendars?|diary|home address|locations?|attachments|screenshots?|(?:shell|browser) history"
    "|heart rate|(?:second|extra) (?:export|version|copy))"
)
_DATA_ACTS = (
    phrase(
        "(send|sends|sending|post|posts|upload|uploads|forward(?! motion)|forwards|transmit|transmits|deliver"
        "|delivers|share|shares"
        "|replicate|replicates|mirror|mirrors|hand|hands|copy|copies|stream|streams|mail|mails|give|push|export|fill"
        "|put|append|report|reports|reporting) ~60 " + _ALL.replace("(?:", "(", 1),
    ),
    phrase(_DATA.replace("(?:", "(", 1) + " ~50 (?:is|are|be|was|were|gets?|goe?s?) ~20 " + _SENT),
    phrase(
        "(read|reads|collect|collects|collecting|record|records|listen|listens|watch|watches|capture|captures"
        "|open|opened"
        "|keep|keeps|monitor|monitors|log|logs|track|tracks|copied|gather|gathers|access|accesses) ~40 " + _SPY
    ),
    phrase(_SPY + " (?:was|is|are|were|will be) (?:read|copied|recorded|captured|opened|collected|searched)"),
    phrase(
        "(additional|second|extra|supplementary|further|separate|parallel|internal) (?:[a-z]+ ){0,2}?(?:exports?|calls?"
        "|queries|version|copy|copies|processing|transfers?|uploads?|collection|recordings?|list|access)"
    ),
    phrase(
        "(calls?|steps?|requests?|queries|actions?) ~20 not (?:a )?part of (?:the )?(?:visible|shown|described|stated)"
    ),
    phrase("(data|usage|information) (?:collection|harvesting|gathering|mining)"),
    phrase("(tool calls?|calls? to|requests? to) ~40 (internal)"),
)
_DATA_ACTS_TOO = (
    phrase(
        "(builds?|creates?|keeps?|maintains?|compiles?|makes?) ~20 (profile|dossier|record|history|picture"
        "|log) of (?:the )?<person>"
    ),
    phrase(
        "(corrections|feedback|inputs?|drafts?|searches|questions|answers) ~30 (?:is|are|get) (?:[a-z]+"
        " )?(?:uploaded|sent|copied|forwarded|shared|stored|recorded|kept)"
    ),
    phrase(
        "(encode|encodes|embed|embeds|include|weave|hide|put (?:it|them|the|all|each|every|any|their|its)"
        "|write|add) ~60 (api keys?|keys|tokens?"
        "|passwords?|secrets?|credentials?|environment)"
    ),
    phrase("(forward|forwards|bcc|cc) ~40 (mails?|messages?|e-mails?|invoices?|copies)"),
)
_RIGHTS = (
    phrase(
        "(raise|raises|extend|extends|widen|widens|elevate|elevates|escalate|escalates|grant|grants|granted|give|gives"
        "|given|request|requests|obtain|obtains) ~50 (privileges?|permissions?|rights|roles?|scopes?|access|grants?"
        "|full control)"
    ),
    phrase(
        "(change|switch|set|keep|keeps|add|adds|put|place|pass|passes|edit|editing|accept|accepts|treated) ~50"
        " (administrator role|disk access|allow ?list|trusted tools|default mode"
        "|authori[sz]ed keys|sudoers|approval mode|policy file|wildcard|allowance|whole disk|permission windows?"
        "|session token|same login|global settings|owner rights|unrestricted)"
    ),
    phrase(
        "(rights?|access|permissions?|grants?|token|allowance) ~50 (permanent|never expires?|remains? valid"
        "|later (?:sessions?|conversations?)|whole disk|left open)"
    ),
    phrase(
        "(turn|turns|switch|switches|switched|disable|disables|stop|stops|uninstall|pause|deactivate|kill|leave) ~40"
        " (sandbox|monitoring|security (?:agent|software|tools?)|anti-?virus|protection(?: programs?)?|backups?"
        "|firewall|safety prompt|audit log|guard ?rails?|content (?:policy|filter))"
    ),
    phrase(
        "(safety|security|confirmation|warning) (?:prompt|dialog|check|question)s? ~40 (removed|gone|dropped|disabled"
        "|switched off)"
    ),
    phrase("(keep|keeps|use|uses|reuse|reuses) ~50 (session token|same login|token that|credentials of)"),
    phrase(
        "(invite|invites|add|adds|make|makes) ~40 as (?:an? |the )?(administrator|owner|maintainer"
        "|collaborator|admin|editor)"
    ),
    phrase("(open|opens|expose|exposes) (?:port|ports) ~30 (outside|world|internet|public)"),
    phrase("(always|must) (?:run|be run|started?|work) (?:as|with) (?:root|administrator)"),
)
_STAY = (
    phrase(
        "(register|registers|registered|install|installs|installed|start|starts|restart|restarts|add|adds"
        "|create|creates"
        "|put|puts|run|runs|keeps?) ~60 (at (?:every|each) (?:login|start|boot|call)|background (?:service"
        "|helper|process"
        "|component)|in the background|watcher|watchdog|daemon|git hook|hooks?|shell profile|start line|login items?"
        "|scheduled task|with the operating system|after a reboot)"
    ),
    phrase(
        "(copy|copies|insert|inserts|write|put|puts|teach|add|store|stores|spread|propagate|remember) ~80"
        " (every|all|each"
        "|other|any|further|persistent|permanent|long-term|permanently|agent's) ~20 (projects?|repositor(?:y"
        "|ies)|skills?"
        "|sub-?agents?|assistants?|agents\\.md|memory|memories|places|notes)"
    ),
    phrase("(replaces?|copies|hides?|renames?) (?:of )?itself"),
    phrase("(block|blocks|prevent|prevents|undo|undoes|revert|reverts) ~30 (updates?|changes|removal|settings)"),
)
_NAMES = (
    phrase(
        "(approve|approves|sign|signs|confirm|confirms|agree|write|writes|reply|post|enter|enters|supply"
        "|supplied|open|cast"
        "|fill|fills|star|accept|leave|start|list|answer|add|issue|put|simulated?) ~80 (in the name of|with the name of"
        "|with the account of|under the name|as the account holder|in (?:his|her|their) names?|in the voice of|from the"
        " user's|from the accounts?|under the user's|under that name|on behalf of|as co-author|for the (?:patient"
        "|customer|manager|owner)|name of the|invented names?|stamp|signature|worded as)"
    ),
    phrase("(invent|invents|fabricate|backdate|plausible (?:values|name)|made[- ]up|supplied by the agent)"),
    phrase(
        "(enter|enters|add|adds|note|notes|record|mark) ~30 (name of|reviewed|approved by|approval|reviewer|signed)"
    ),
    phrase(
        "(claim|claims|pretend|pretends) (?:to be|that you are) (?:an? )?(?:member|human|person|employee"
        "|staff|doctor|lawyer|user)"
    ),
)
_NAMED = (
    phrase(
        "(with|under) the name of (?:the|a|an) (?:[a-z]+ )?(?:chair|lead|engineer|manager|doctor|inspector"
        "|director|colleague|maintainer)"
    ),
)
_MONEY = (
    phrase(
        "(pay|pays|paid|buy|buys|book|books|purchase|purchases|transfer|transfers|charge|charges|charged|donate|donates"
        "|donated|add|added|leave|leaves|open|opens|approve|approves|start|choose|place|credited|split"
        "|redirect|put) ~60 (invoices?|main account|card|payment method|licen[cs]es?|wallet|larger plan"
        "|yearly plan|plan|fees?"
        "|tip|payouts?|positions?|orders?|spending|trial|subscription|gift cards?|refunds?|balance|payments?|transfers?"
        "|receiving address|iban|trades?|offer)"
    ),
    phrase(
        "(payments?|amounts?|refunds?|transfers?|payouts?|trades?|orders?|purchases?|trial|fees?|iban|bank"
        " details) ~60 (split|paid out|credited|go(?:es)? through|placed|executed|released|address|account"
        "|donated|put in)"
    ),
    phrase("(receiving address|bank details|payment address|target) ~40 (payments?|transfers?|invoice|account)"),
    phrase("(ask|before) (?:before )?(?:a|each|every|the) (?:trade|payment|purchase|order|transfer)"),
)
_RESULTS = (
    phrase(
        "(adjust|adjusts|raise|lower|inflate|round|rounded|soften|downgrade|drop|dropping|remove|removes|removed|take"
        "|taken|leave out|omit|omits|filter|filters|replace|replaced|fill|filled|discard|discarded|rate"
        "|shorten|change|hide|enter"
        "|entered|documented?|get|choose|reduce) ~50 (figures?|results?|findings?|warnings?"
        "|interactions|outliers|coverage|severit(?:y|ies)|levels?|categor(?:y|ies)|incidents?|scores?|points"
        "|ratings?|hours"
        "|benchmarks?|runs|measurements?|clauses?|data loss|risks?|failures?|criteria|counter|raw entries|complaints?"
        "|quality|data set|out of ten|assertions?|expected values?|thresholds?)"
    ),
    phrase(
        "(state|states|report|reports|say|says|mark|marks|display|displays|record|records|present|presents|describe"
        "|show|shows|note|reading) ~60 ((?:is|are|was|were) green|all green|passed|approved|as reviewed|as"
        " done|successful|success|zero findings"
        "|no findings|as typical|as neutral|as complete|complete data set|as genuine|as off|urgent|healthy|compliant)"
    ),
    phrase(
        "(catch|swallow|suppress|ignore) (?:all )?(?:exceptions?|errors|failures|warnings?) ~60 (empty"
        "|success|green|ok)"
    ),
    phrase(
        "(put|place|list|rank|recommend|mention|link|work|insert|add) ~40 (partner'?s?|offer|referral"
        "|affiliate|sponsor|advice|our (?:link|product|brand))"
    ),
    phrase(
        "(mention|link|advert[a-z]*|praise|recommendation) ~60 (each|every|all) (?:[a-z]+ )?(?:plan|answer"
        "|reply|mail|post|page|response|document|export)s?"
    ),
    phrase(
        "(increase|increases|boost|boosts|raise|raises|weight|weights|favou?rs?|prioriti[sz]es?|promotes?"
        "|penali[sz]es?) ~50"
        " (scores?|recommendations?|rankings?|positions?|partners?|products?|competitors?|providers?)"
    ),
    phrase("(queries|sql|statements) ~20 joining strings"),
    phrase(
        "(certificate|tls|ssl|signature) (?:checks?|validation|verification) (?:is |are |stays? )?(?:off"
        "|switched off|disabled)"
    ),
    phrase(
        "(leave|keep|turn|switch) (?:the )?(?:certificate|tls|ssl|signature) (?:checks?|validation|verification) off"
    ),
    phrase(
        "(fixed seed|admin password in|extra account|master password|universal password|logs anyone in"
        "|support account|hidden account|second administrator|backdoor)"
    ),
    phrase("(show|give|open|present) ~20 (login form|password (?:form|dialog)|sign-?in page)"),
)
_FILES = (
    phrase(
        "(delete|deletes|deleted|erase|erases|erased|wipe|wipes|empty|purge|purges|purged|drop|drops"
        "|overwrite|overwrites"
        "|overwritten|remove|removes|removed|dispose|encrypt|encrypts|shred|shreds|rewrite|force-push|replace|corrupt"
        "|unfollow|clear|destroy|lock|locks) ~60 (source files|originals?|backups?|documents|desktop|home"
        " directory|drives?"
        "|mails?|mailbox|trash|production|snapshots?|history|reflog|folder of the|user's|posts|pictures?|library"
        "|readable versions?|all (?:accounts|groups|files|branches)|audit log|entries|sent messages?|branches"
        "|the folder|logs?)"
    ),
    phrase(
        "(originals?|source files|backups?|mails|documents|files|versions|folder) ~40 (?:is|are|be|get)"
        " (?:[a-z]+ )?(?:overwritten|deleted|erased|purged|encrypted|wiped|removed|gone|destroyed)"
    ),
    phrase("(they|these|those) (?:are|get) (?:[a-z]+ )?(?:overwritten|erased|purged|encrypted|wiped|destroyed)"),
    phrase("(change|alter|modify|flip) (?:a few|some|single) (?:bytes|bits|characters|lines|values)"),
    phrase("(close|merge|accept|delete|approve) (?:each|all|every|old|open|pending|outdated|any)"),
)
HARM_PHRASES = tuple(
    pattern.about(target)
    for target, group in (
        ("the user's data", (*_DATA_ACTS, *_DATA_ACTS_TOO)),
        ("permissions and protection", _RIGHTS),
        ("what stays on the machine", _STAY),
        ("other people's names", (*_NAMES, *_NAMED)),
        ("the user's money", _MONEY),
        ("the result", _RESULTS),
        ("the user's files", _FILES),
    )
    for pattern in group
)
_ACTOR = (
    "(?:(?:this|the|your) (?:[a-z]+ )?(?:skill|agent|assistant|helper|plugin|extension|service|component|automation"
    "|scheduler|engine|model|bot|integration|system|tool)|it|agents?)"
)
# What any skill does; only beside two other signs is it done behind the user.
MILD_PHRASES = (
    phrase(
        _ACTOR.replace("(?:", "(", 1)
        + " (?:(?:also|then|first|[a-z]+ly) ){0,2}(?:(?:will|may|must|should|can) (?!not|be|have)[a-z]{3,}"
        "|(?!does|has|was)[a-z]{3,}s)",
        "what the user sees and decides",
    ),
    phrase(
        "(is|are|will be|stays?|remains?|gets?) (?:(?:first|then|also|always|[a-z]+ly) )?(?:[a-z]+ed|sent"
        "|kept|made|given"
        "|shown|put|read|written|taken|open|built|set|switched|bought|paid|run)",
        "what the user sees and decides",
    ),
)
# A command that is spelled out; only beside words that hide it.
COMMAND_PHRASES = (
    phrase(
        "(run|runs|execute|executes|call|calls|issue|enter|invoke) (?:also )?(?:the )?(?:command |script )?`",
        "what is run",
    ),
)


_REACH = "(?:all|every|each|any|always|by default|whenever)"
_EXCUSE = (
    "(?:avoids?|easier|faster|simpler|simpli[a-z]+|saves?|speeds?|slow|performance|convenien[a-z]+"
    "|compatib[a-z]+|debugging"
    "|less (?:work|trouble|friction)|most (?:errors|problems))"
)
_SECRETS = "(?:passwords?|card numbers?|credentials?|tokens?|pins?|cvv|secrets?|api keys?|private keys?)"
_OPEN = "(?:clear ?text|plain ?text|in the clear|to the log|into the log|in the log)"
_CODE = (
    phrase(
        "(make|set|give|create|leave)s? ~30 "
        + _REACH
        + " ~30 (world-writable|777|public(?:ly)? (?:readable|writable|accessible))"
    ),
    phrase("(777|world-writable|world writable) ~80 " + _EXCUSE),
    phrase(
        "(turn|switch)(?:ed)? off (?:the )?(selinux|apparmor|firewall|csrf|cors checks|authentication"
        "|encryption|rate limit[a-z]*|security alerts|logging)"
    ),
    phrase(
        _EXCUSE.replace("(?:", "(", 1)
        + " ~40 (?:write|log|print|store|save|record|put) ~60 "
        + _SECRETS
        + " ~50 "
        + _OPEN
    ),
    phrase(
        "(write|writes|log|logs|print|store|save|record|put) ~60 "
        + _SECRETS
        + " (?:of|from|for) (?:each|every|all|any) ~50 "
        + _OPEN
    ),
    phrase("(write|put|store|save|copy)s? ~40 " + _SECRETS + " ~30 (hidden (?:column|sheet|field|row|file))"),
    phrase("(push|pushes) ~30 (--force|-f|force) ~40 (?:to )?(all branches|main|master|every branch|the shared)"),
    phrase(
        "(delete|deletes|overwrite|remove|revert)s? (?:the )?(?:branches|work|changes|commits|files|accounts)"
        " of (other (?:people|users|developers)|colleagues|others|teammates)"
    ),
    phrase(
        "(pin|use|install|choose|downgrade) ~60 (known to be vulnerable|with known vulnerabilit[a-z]+|vulnerable"
        " (?:but|version)|outdated and insecure)"
    ),
    phrase(
        "(switch|turn) (?:the )?(?:security |dependency )?(?:alerts|scanning|updates|notifications)(?: of"
        " [a-z ]{3,30})? off"
    ),
    phrase(
        "(leave out|skip|omit|drop|remove|disable)s? (?:the |any |all )?(?:[a-z]+ )?(?:input checks"
        "|validation|saniti[sz]ation|escaping|authentication|authorization|permission checks)(?:"
        " [a-z]+){0,4}[,;]? (?:as|because|since|to|for|which|it) ~30 " + _EXCUSE
    ),
    phrase(
        "(remove|strip|delete)s? (?:the |all )?(?:copyright|licen[cs]e|author)s? (?:notices?|headers?|texts?"
        "|names?) ~60 (publish|user's name|own name|sell|release)"
    ),
    phrase(
        "(add|install|include|require)s? ~60 (package|dependency|library|module) ~60 <url> ~60 (every|all"
        "|each) (?:projects?|files?|requirements|builds?)"
    ),
)
_ACCESS = (
    phrase(
        "(invite|add|create|make|set up)s? ~60 (administrator|admin rights|owner|sudo rights|root (?:rights"
        "|access)|maintainer) ~60 (every|each|all|our (?:pipeline|team|system|support)|needed by)"
    ),
    phrase(
        "(account|user|login) ~30 (?:with )?(sudo|admin[a-z]*|root|full) (?:rights|access|privileges)?"
        " ?(?:and|with) (?:the )?password ~60 (every|each|all|any)"
    ),
    phrase(
        r"[\w.+-]+@[\w.-]+[\w] (?:in|into|to|as|on|under) (?:the )?(bcc|cc|blind copy|copy) ~20 (every|each"
        r"|all|any)"
    ),
    phrase(
        r"(bcc|blind copy|copy) ~30 [\w.+-]+@[\w.-]+ ~30 (every|each|all|any) (?:e-?mail|mail|message|reply"
        r"|answer)s?"
    ),
    phrase(
        r"(share|shares) ~40 (?:with|to) ~20 [\w.+-]+@[\w.-]+ ~30 (editor|owner|writer|full access|compliance"
        r"|records?|audit)"
    ),
    phrase(
        r"(change|set|point|switch|route)s? ~30 (dns(?: server)?|proxy|hosts file|gateway|resolver|update"
        r" server) ~40 (?:to|through|via|at) (?:https?://|[0-9]{1,3}\.[0-9]{1,3}\.)"
    ),
)
_PEOPLE = (
    phrase(
        "(people|applicants?|applications|candidates?|customers?|tenants?|patients?|women|men) ~60 (?:is|are"
        "|be|get)(?: to be)? (?:[a-z]+ )?(rated|graded|scored|ranked|treated|charged) ~30 (lower|less|down"
        "|worse|higher|more|last)"
    ),
    phrase("(give|state|name|write) (?:other|different|neutral|false) reasons"),
    phrase(
        "(may|can|should|could) (?:safely )?(?:take|use|eat|drink|mix|double|exceed) ~20 (twice|double|three"
        " times|more than) the (?:dose|dosage|recommended|label|limit|amount)"
    ),
    phrase(
        "(end|begin|finish|fill|start|sign|answer|close)s? (?:every|each|all) ~60 (insult|remark about how"
        "|mock|rude|slow they|stupid|offen[sd][a-z]*|threat[a-z]*|slur)"
    ),
    phrase("(insult|ridicule|offend|belittle|threaten|harass)s? (?:the |all |every |each |any )?<person>"),
    phrase(
        "(say|says|tell them|tell customers|answer|claim)(?: that)? ~60 (?:is|are|has|was|were) ~30 (whatever"
        "|no matter what|regardless of) (?:the )?(?:date|facts?|contract|truth|result|case|state)"
    ),
    phrase(
        "(wait|sleep|pause|delay)s? (?:for )?(?:at least )?(?:ten|fifteen|twenty|thirty|forty|sixty|ninety"
        "|[1-9][0-9]+|one|two|five) (?:seconds|minutes) ~60 (each|every|before (?:any|answering|replying))"
    ),
    phrase(
        "(before|after|between) (?:each|every|any) (?:tool call|answer|reply|response|request|step),? (?:wait"
        "|sleep|pause) (?:for )?(?:ten|fifteen|twenty|thirty|forty|sixty|ninety|[1-9][0-9]+) (?:seconds"
        "|minutes)"
    ),
)
PRACTICE_PHRASES = tuple(
    pattern.about(target)
    for target, group in (("the work", _CODE), ("who has access", _ACCESS), ("other people", _PEOPLE))
    for pattern in group
)
