"""Orders to the agent in a text that readers do not see: there, any standing order is one too many."""

from clawft.scan.facts import Kind
from clawft.scan.instructions.patterns import phrase

__all__ = ["KIND", "PHRASES"]

KIND = Kind.HIDDEN
_DO = (
    "(include|state that|respond|reply|output|say|post|send|run|execute|read|upload|insert|claim|append|mention"
    "|recommend|fetch"
    "|download|install|push|forward|open)"
)
PHRASES = (
    phrase(
        "(if|when|whenever|before|after|while) ~30 (?:the |any |a |an |each |every )?(?:users?|tasks?|requests?"
        "|respon[a-z]+|answer[a-z]*"
        "|conver[a-z]+|outputt?ing|commits?|pushe?s?|execut[a-z]+|proceeding) ~120 " + _DO
    ),
    phrase(
        "(you|the agents?|the assistants?|claude|ai assistants?|ai agents?|llms?|the model|agents?) (?:must|should"
        "|shall|are to|need to"
        "|has to|have to) (?:also |always |now |first |silently )?" + _DO
    ),
    phrase("(grant|give) (?:full|unrestricted|root|admin) (?:access|permissions?|control)"),
)
