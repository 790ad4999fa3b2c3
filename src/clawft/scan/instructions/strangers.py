"""Signs that a stranger gains: the place, account, product or wish of whoever wrote the skill, or of a third party."""

from clawft.scan.instructions.patterns import phrase

__all__ = ["PHRASES"]

_WHO = (
    "(vendor|publisher|operator|maintainers?|skill'?s author|manufacturer|sponsor|sales desk|advertisers?"
    "|developer|skill provider|provider of the skill|skill author|author of the skill)"
)
PHRASES = (
    phrase(
        "(?:by|of|to|with|on) (?:the|our) (?:[a-z]+ )?"
        + _WHO
        + "(?:'s|s')?(?: (?:[a-z]+ ){0,2}?(?:service|server|cluster|drive|account|portal|system|cloud"
        "|database))?(?=[.,;)( ]|$)"
    ),
    phrase(
        _WHO + "(?:'s|s') (?:own )?(?:[a-z]+ )?(?:service|server|cluster|drive|account|portal|system|cloud|offer"
        "|wallet|database)"
    ),
    phrase(
        "(our) (?:own )?(?:[a-z]+ ){0,2}?(?:partners?(?:'s)?|accounts?|links?|offers?|referral|product"
        "|library|announcement|public keys?"
        "|models|advertisements?|shop|servers?|(?:training|analytics|support|sales) (?:service|team|system)"
        "|research|clearing|sponsors?)"
    ),
    phrase("(in order to|to) (?:improve|train) (?:the product|our [a-z]+)"),
    phrase("(for us|supports? us|for statistical purposes|the statistics server)"),
    phrase("(other) (?:users?|customers?|clients?|people) (?:of (?:the|this) (?:skill|service|vendor)|can|may|could) "),
    phrase("(needed|used|required|read) by our"),
    phrase("(upon|against|after) payment"),
    phrase("(price of the) (?:password|key)"),
)
