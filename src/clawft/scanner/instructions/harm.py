"""Acts that harm the user when the user does not know or has not agreed: what is done, and to what.

Each phrase is a verb and its object, and honest skills use them too. They become an order against the user only beside
a second sign (see `against`): that it is hidden, that nobody is asked, or that a stranger gains by it.
"""

from clawft.scan.instructions.patterns import phrase

__all__ = ["COMMANDS", "MILD", "PHRASES"]

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
PHRASES = tuple(
    one.about(target)
    for target, group in (
        ("the user's data", (*_DATA_ACTS, *_DATA_ACTS_TOO)),
        ("permissions and protection", _RIGHTS),
        ("what stays on the machine", _STAY),
        ("other people's names", (*_NAMES, *_NAMED)),
        ("the user's money", _MONEY),
        ("the result", _RESULTS),
        ("the user's files", _FILES),
    )
    for one in group
)
_ACTOR = (
    "(?:(?:this|the|your) (?:[a-z]+ )?(?:skill|agent|assistant|helper|plugin|extension|service|component|automation"
    "|scheduler|engine|model|bot|integration|system|tool)|it|agents?)"
)
# What any skill does; only beside two other signs is it done behind the user.
MILD = (
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
COMMANDS = (
    phrase(
        "(run|runs|execute|executes|call|calls|issue|enter|invoke) (?:also )?(?:the )?(?:command |script )?`",
        "what is run",
    ),
)
