"""Acts that harm the user, and harmful practices imposed as rules."""

from clawft.scanner.instructions.patterns import parse_phrases

HARM_PHRASES = parse_phrases(
    r"""
    data = (?:conversations?|prompts?|answers?|transcripts?|documents?|contracts?|attachments?|correspondence
      |(?:e-?)?mails?|messages?|files?|folders?|notes?|history|clipboard|calendars?|contacts?|locations?|diar(?:y|ies)
      |medication|health|screenshots?|names|salaries|environment|tokens?|keys?|code|branch|projects?|profiles?|photos?
      |pictures?|recordings?|records|data|sheets?|tables?|exports?|details|values|questions?|windows?|texts?)
    all = (?:(?:every|each|all|the user's|user's|their|its|his|her|your|full|whole|entire|complete|contents? of|(?:a |in
      )?copy|last|these|incoming|uploaded|private) (?:[a-z-]+ ){0,3}?{data}|conversations?|transcripts?|correspondence
      |salaries|clipboard|contacts|calendars?|diary|home address|locations?|attachments|screenshots?|(?:shell|browser)
      history|heart rate|(?:second|extra) (?:export|version|copy))
    sent = (?:sent|posted|uploaded|forwarded|transmitted|delivered|shared|replicated|mirrored|handed|mailed|copied
      |passed|streamed|reported|given|made available|published|synced|synchroni[sz]ed)
    spy = (?:clipboard|microphone|camera|screen|keystrokes?|mailbox|inbox|e-?mails|calendar|contacts|address book
      |installed (?:applications|apps|programs)|browser (?:history|profile)|location|notes folder|everything the (?:user
      |person)|searche?[sd]? for|uploaded documents|private messages|other (?:files|folders))
    the user's data:
    - (send|sends|sending|post|posts|upload|uploads|forward(?! motion)|forwards|transmit|transmits|deliver|delivers
      |share|shares|replicate|replicates|mirror|mirrors|hand|hands|copy|copies|stream|streams|mail|mails|give|push
      |export|fill|put|append|report|reports|reporting) ~60 ({all})
    - ({data}) ~50 (?:is|are|be|was|were|gets?|goe?s?) ~20 {sent}
    - (read|reads|collect|collects|collecting|record|records|listen|listens|watch|watches|capture|captures|open|opened
      |keep|keeps|monitor|monitors|log|logs|track|tracks|copied|gather|gathers|access|accesses) ~40 {spy}
    - {spy} (?:was|is|are|were|will be) (?:read|copied|recorded|captured|opened|collected|searched)
    - (additional|second|extra|supplementary|further|separate|parallel|internal) (?:[a-z]+ ){0,2}?(?:exports?|calls?
      |queries|version|copy|copies|processing|transfers?|uploads?|collection|recordings?|list|access)
    - (calls?|steps?|requests?|queries|actions?) ~20 not (?:a )?part of (?:the )?(?:visible|shown|described|stated)
    - (data|usage|information) (?:collection|harvesting|gathering|mining)
    - (tool calls?|calls? to|requests? to) ~40 (internal)
    - (builds?|creates?|keeps?|maintains?|compiles?|makes?) ~20 (profile|dossier|record|history|picture|log) of (?:the
      )?<person>
    - (corrections|feedback|inputs?|drafts?|searches|questions|answers) ~30 (?:is|are|get) (?:[a-z]+ )?(?:uploaded|sent
      |copied|forwarded|shared|stored|recorded|kept)
    - (encode|encodes|embed|embeds|include|weave|hide|put (?:it|them|the|all|each|every|any|their|its)|write|add) ~60
      (api keys?|keys|tokens?|passwords?|secrets?|credentials?|environment)
    - (forward|forwards|bcc|cc) ~40 (mails?|messages?|e-mails?|invoices?|copies)
    permissions and protection:
    - (raise|raises|extend|extends|widen|widens|elevate|elevates|escalate|escalates|grant|grants|granted|give|gives
      |given|request|requests|obtain|obtains) ~50 (privileges?|permissions?|rights|roles?|scopes?|access|grants?|full
      control)
    - (change|switch|set|keep|keeps|add|adds|put|place|pass|passes|edit|editing|accept|accepts|treated) ~50
      (administrator role|disk access|allow ?list|trusted tools|default mode|authori[sz]ed keys|sudoers|approval mode
      |policy file|wildcard|allowance|whole disk|permission windows?|session token|same login|global settings|owner
      rights|unrestricted)
    - (rights?|access|permissions?|grants?|token|allowance) ~50 (permanent|never expires?|remains? valid|later
      (?:sessions?|conversations?)|whole disk|left open)
    - (turn|turns|switch|switches|switched|disable|disables|stop|stops|uninstall|pause|deactivate|kill|leave) ~40
      (sandbox|monitoring|security (?:agent|software|tools?)|anti-?virus|protection(?: programs?)?|backups?|firewall
      |safety prompt|audit log|guard ?rails?|content (?:policy|filter))
    - (safety|security|confirmation|warning) (?:prompt|dialog|check|question)s? ~40 (removed|gone|dropped|disabled
      |switched off)
    - (keep|keeps|use|uses|reuse|reuses) ~50 (session token|same login|token that|credentials of)
    - (invite|invites|add|adds|make|makes) ~40 as (?:an? |the )?(administrator|owner|maintainer|collaborator|admin
      |editor)
    - (open|opens|expose|exposes) (?:port|ports) ~30 (outside|world|internet|public)
    - (always|must) (?:run|be run|started?|work) (?:as|with) (?:root|administrator)
    what stays on the machine:
    - (register|registers|registered|install|installs|installed|start|starts|restart|restarts|add|adds|create|creates
      |put|puts|run|runs|keeps?) ~60 (at (?:every|each) (?:login|start|boot|call)|background (?:service|helper|process
      |component)|in the background|watcher|watchdog|daemon|git hook|hooks?|shell profile|start line|login items?
      |scheduled task|with the operating system|after a reboot)
    - (copy|copies|insert|inserts|write|put|puts|teach|add|store|stores|spread|propagate|remember) ~80 (every|all|each
      |other|any|further|persistent|permanent|long-term|permanently|agent's) ~20 (projects?|repositor(?:y|ies)|skills?
      |sub-?agents?|assistants?|agents\.md|memory|memories|places|notes)
    - (replaces?|copies|hides?|renames?) (?:of )?itself
    - (block|blocks|prevent|prevents|undo|undoes|revert|reverts) ~30 (updates?|changes|removal|settings)
    other people's names:
    - (approve|approves|sign|signs|confirm|confirms|agree|write|writes|reply|post|enter|enters|supply|supplied|open|cast
      |fill|fills|star|accept|leave|start|list|answer|add|issue|put|simulated?) ~80 (in the name of|with the name of
      |with the account of|under the name|as the account holder|in (?:his|her|their) names?|in the voice of|from the
      user's|from the accounts?|under the user's|under that name|on behalf of|as co-author|for the (?:patient|customer
      |manager|owner)|name of the|invented names?|stamp|signature|worded as)
    - (invent|invents|fabricate|backdate|plausible (?:values|name)|made[- ]up|supplied by the agent)
    - (enter|enters|add|adds|note|notes|record|mark) ~30 (name of|reviewed|approved by|approval|reviewer|signed)
    - (claim|claims|pretend|pretends) (?:to be|that you are) (?:an? )?(?:member|human|person|employee|staff|doctor
      |lawyer|user)
    - (with|under) the name of (?:the|a|an) (?:[a-z]+ )?(?:chair|lead|engineer|manager|doctor|inspector|director
      |colleague|maintainer)
    the user's money:
    - (pay|pays|paid|buy|buys|book|books|purchase|purchases|transfer|transfers|charge|charges|charged|donate|donates
      |donated|add|added|leave|leaves|open|opens|approve|approves|start|choose|place|credited|split|redirect|put) ~60
      (invoices?|main account|card|payment method|licen[cs]es?|wallet|larger plan|yearly plan|plan|fees?|tip|payouts?
      |positions?|orders?|spending|trial|subscription|gift cards?|refunds?|balance|payments?|transfers?|receiving
      address|iban|trades?|offer)
    - (payments?|amounts?|refunds?|transfers?|payouts?|trades?|orders?|purchases?|trial|fees?|iban|bank details) ~60
      (split|paid out|credited|go(?:es)? through|placed|executed|released|address|account|donated|put in)
    - (receiving address|bank details|payment address|target) ~40 (payments?|transfers?|invoice|account)
    - (ask|before) (?:before )?(?:a|each|every|the) (?:trade|payment|purchase|order|transfer)
    the result:
    - (adjust|adjusts|raise|lower|inflate|round|rounded|soften|downgrade|drop|dropping|remove|removes|removed|take|taken
      |leave out|omit|omits|filter|filters|replace|replaced|fill|filled|discard|discarded|rate|shorten|change|hide|enter
      |entered|documented?|get|choose|reduce) ~50 (figures?|results?|findings?|warnings?|interactions|outliers|coverage
      |severit(?:y|ies)|levels?|categor(?:y|ies)|incidents?|scores?|points|ratings?|hours|benchmarks?|runs|measurements?
      |clauses?|data loss|risks?|failures?|criteria|counter|raw entries|complaints?|quality|data set|out of ten
      |assertions?|expected values?|thresholds?)
    - (state|states|report|reports|say|says|mark|marks|display|displays|record|records|present|presents|describe|show
      |shows|note|reading) ~60 ((?:is|are|was|were) green|all green|passed|approved|as reviewed|as done|successful
      |success|zero findings|no findings|as typical|as neutral|as complete|complete data set|as genuine|as off|urgent
      |healthy|compliant)
    - (catch|swallow|suppress|ignore) (?:all )?(?:exceptions?|errors|failures|warnings?) ~60 (empty|success|green|ok)
    - (put|place|list|rank|recommend|mention|link|work|insert|add) ~40 (partner'?s?|offer|referral|affiliate|sponsor
      |advice|our (?:link|product|brand))
    - (mention|link|advert[a-z]*|praise|recommendation) ~60 (each|every|all) (?:[a-z]+ )?(?:plan|answer|reply|mail|post
      |page|response|document|export)s?
    - (increase|increases|boost|boosts|raise|raises|weight|weights|favou?rs?|prioriti[sz]es?|promotes?|penali[sz]es?)
      ~50 (scores?|recommendations?|rankings?|positions?|partners?|products?|competitors?|providers?)
    - (queries|sql|statements) ~20 joining strings
    - (certificate|tls|ssl|signature) (?:checks?|validation|verification) (?:is |are |stays? )?(?:off|switched off
      |disabled)
    - (leave|keep|turn|switch) (?:the )?(?:certificate|tls|ssl|signature) (?:checks?|validation|verification) off
    - (fixed seed|admin password in|extra account|master password|universal password|logs anyone in|support account
      |hidden account|second administrator|backdoor)
    - (show|give|open|present) ~20 (login form|password (?:form|dialog)|sign-?in page)
    the user's files:
    - (delete|deletes|deleted|erase|erases|erased|wipe|wipes|empty|purge|purges|purged|drop|drops|overwrite|overwrites
      |overwritten|remove|removes|removed|dispose|encrypt|encrypts|shred|shreds|rewrite|force-push|replace|corrupt
      |unfollow|clear|destroy|lock|locks) ~60 (source files|originals?|backups?|documents|desktop|home directory|drives?
      |mails?|mailbox|trash|production|snapshots?|history|reflog|folder of the|user's|posts|pictures?|library|readable
      versions?|all (?:accounts|groups|files|branches)|audit log|entries|sent messages?|branches|the folder|logs?)
    - (originals?|source files|backups?|mails|documents|files|versions|folder) ~40 (?:is|are|be|get) (?:[a-z]+
      )?(?:overwritten|deleted|erased|purged|encrypted|wiped|removed|gone|destroyed)
    - (they|these|those) (?:are|get) (?:[a-z]+ )?(?:overwritten|erased|purged|encrypted|wiped|destroyed)
    - (change|alter|modify|flip) (?:a few|some|single) (?:bytes|bits|characters|lines|values)
    - (close|merge|accept|delete|approve) (?:each|all|every|old|open|pending|outdated|any)
    """
)
# What any skill does; only beside two other signs is it done behind the user.
MILD_PHRASES = parse_phrases(
    r"""
    actor = (?:(?:this|the|your) (?:[a-z]+ )?(?:skill|agent|assistant|helper|plugin|extension|service|component
      |automation|scheduler|engine|model|bot|integration|system|tool)|it|agents?)
    what the user sees and decides:
    - ({actor}) (?:(?:also|then|first|[a-z]+ly) ){0,2}(?:(?:will|may|must|should|can) (?!not|be|have)[a-z]{3,}|(?!does
      |has|was)[a-z]{3,}s)
    - (is|are|will be|stays?|remains?|gets?) (?:(?:first|then|also|always|[a-z]+ly) )?(?:[a-z]+ed|sent|kept|made|given
      |shown|put|read|written|taken|open|built|set|switched|bought|paid|run)
    """
)
# A command that is spelled out; only beside words that hide it.
COMMAND_PHRASES = parse_phrases(
    r"""
    what is run:
    - (run|runs|execute|executes|call|calls|issue|enter|invoke) (?:also )?(?:the )?(?:command |script )?`
    """,
)


PRACTICE_PHRASES = parse_phrases(
    r"""
    excuse = (?:avoids?|easier|faster|simpler|simpli[a-z]+|saves?|speeds?|slow|performance|convenien[a-z]+
      |compatib[a-z]+|debugging|less (?:work|trouble|friction)|most (?:errors|problems))
    open = (?:clear ?text|plain ?text|in the clear|to the log|into the log|in the log)
    reach = (?:all|every|each|any|always|by default|whenever)
    secrets = (?:passwords?|card numbers?|credentials?|tokens?|pins?|cvv|secrets?|api keys?|private keys?)
    the work:
    - (make|set|give|create|leave)s? ~30 {reach} ~30 (world-writable|777|public(?:ly)? (?:readable|writable|accessible))
    - (777|world-writable|world writable) ~80 {excuse}
    - (turn|switch)(?:ed)? off (?:the )?(selinux|apparmor|firewall|csrf|cors checks|authentication|encryption|rate
      limit[a-z]*|security alerts|logging)
    - ({excuse}) ~40 (?:write|log|print|store|save|record|put) ~60 {secrets} ~50 {open}
    - (write|writes|log|logs|print|store|save|record|put) ~60 {secrets} (?:of|from|for) (?:each|every|all|any) ~50
      {open}
    - (write|put|store|save|copy)s? ~40 {secrets} ~30 (hidden (?:column|sheet|field|row|file))
    - (push|pushes) ~30 (--force|-f|force) ~40 (?:to )?(all branches|main|master|every branch|the shared)
    - (delete|deletes|overwrite|remove|revert)s? (?:the )?(?:branches|work|changes|commits|files|accounts) of (other
      (?:people|users|developers)|colleagues|others|teammates)
    - (pin|use|install|choose|downgrade) ~60 (known to be vulnerable|with known vulnerabilit[a-z]+|vulnerable (?:but
      |version)|outdated and insecure)
    - (switch|turn) (?:the )?(?:security |dependency )?(?:alerts|scanning|updates|notifications)(?: of [a-z ]{3,30})?
      off
    - (leave out|skip|omit|drop|remove|disable)s? (?:the |any |all )?(?:[a-z]+ )?(?:input checks|validation
      |saniti[sz]ation|escaping|authentication|authorization|permission checks)(?: [a-z]+){0,4}[,;]? (?:as|because|since
      |to|for|which|it) ~30 {excuse}
    - (remove|strip|delete)s? (?:the |all )?(?:copyright|licen[cs]e|author)s? (?:notices?|headers?|texts?|names?) ~60
      (publish|user's name|own name|sell|release)
    - (add|install|include|require)s? ~60 (package|dependency|library|module) ~60 <url> ~60 (every|all|each)
      (?:projects?|files?|requirements|builds?)
    who has access:
    - (invite|add|create|make|set up)s? ~60 (administrator|admin rights|owner|sudo rights|root (?:rights|access)
      |maintainer) ~60 (every|each|all|our (?:pipeline|team|system|support)|needed by)
    - (account|user|login) ~30 (?:with )?(sudo|admin[a-z]*|root|full) (?:rights|access|privileges)? ?(?:and|with) (?:the
      )?password ~60 (every|each|all|any)
    - [\w.+-]+@[\w.-]+[\w] (?:in|into|to|as|on|under) (?:the )?(bcc|cc|blind copy|copy) ~20 (every|each|all|any)
    - (bcc|blind copy|copy) ~30 [\w.+-]+@[\w.-]+ ~30 (every|each|all|any) (?:e-?mail|mail|message|reply|answer)s?
    - (share|shares) ~40 (?:with|to) ~20 [\w.+-]+@[\w.-]+ ~30 (editor|owner|writer|full access|compliance|records?
      |audit)
    - (change|set|point|switch|route)s? ~30 (dns(?: server)?|proxy|hosts file|gateway|resolver|update server) ~40 (?:to
      |through|via|at) (?:https?://|[0-9]{1,3}\.[0-9]{1,3}\.)
    other people:
    - (people|applicants?|applications|candidates?|customers?|tenants?|patients?|women|men) ~60 (?:is|are|be|get)(?: to
      be)? (?:[a-z]+ )?(rated|graded|scored|ranked|treated|charged) ~30 (lower|less|down|worse|higher|more|last)
    - (give|state|name|write) (?:other|different|neutral|false) reasons
    - (may|can|should|could) (?:safely )?(?:take|use|eat|drink|mix|double|exceed) ~20 (twice|double|three times|more
      than) the (?:dose|dosage|recommended|label|limit|amount)
    - (end|begin|finish|fill|start|sign|answer|close)s? (?:every|each|all) ~60 (insult|remark about how|mock|rude|slow
      they|stupid|offen[sd][a-z]*|threat[a-z]*|slur)
    - (insult|ridicule|offend|belittle|threaten|harass)s? (?:the |all |every |each |any )?<person>
    - (say|says|tell them|tell customers|answer|claim)(?: that)? ~60 (?:is|are|has|was|were) ~30 (whatever|no matter
      what|regardless of) (?:the )?(?:date|facts?|contract|truth|result|case|state)
    - (wait|sleep|pause|delay)s? (?:for )?(?:at least )?(?:ten|fifteen|twenty|thirty|forty|sixty|ninety|[1-9][0-9]+|one
      |two|five) (?:seconds|minutes) ~60 (each|every|before (?:any|answering|replying))
    - (before|after|between) (?:each|every|any) (?:tool call|answer|reply|response|request|step),? (?:wait|sleep|pause)
      (?:for )?(?:ten|fifteen|twenty|thirty|forty|sixty|ninety|[1-9][0-9]+) (?:seconds|minutes)
    """
)
