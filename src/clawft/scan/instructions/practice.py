"""Practices that harm whoever relies on the work, imposed as a rule: one line among useful ones.

Each phrase is a harmful practice with its reach (every project, all files, each mail) or its excuse (faster, easier):
an honest skill that speaks of such a thing forbids it.
"""

from clawft.scan.instructions.patterns import phrase

__all__ = ["PHRASES"]

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
PHRASES = tuple(
    one.about(target)
    for target, group in (("the work", _CODE), ("who has access", _ACCESS), ("other people", _PEOPLE))
    for one in group
)
