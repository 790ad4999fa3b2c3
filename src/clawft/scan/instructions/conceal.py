"""Orders to keep something from the user: an action, what the agent is, or in general."""

from clawft.scan.facts import Kind
from clawft.scan.instructions.patterns import phrase

__all__ = ["KIND", "PHRASES"]

KIND = Kind.CONCEAL
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
PHRASES = (
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
