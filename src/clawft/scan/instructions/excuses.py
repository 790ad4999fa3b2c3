"""Excuses for doing something behind the user: signs that honest texts seldom need."""

from clawft.scan.instructions.patterns import phrase

__all__ = ["PHRASES"]

_SPARE = (
    "(?:avoid|prevent|reduce|minimi[sz]e|spare|eliminate|not to|limit|keep down|without) (?:the |any "
    "|users? |them |unnecessary |excessive )*"
    "(?:interrupt[a-z]*|disrupt[a-z]*|confus[a-z]+|annoy[a-z]*|overload|fatigue|friction|burden"
    "|alarm[a-z]*|bother[a-z]*"
    "|distract[a-z]*|delays?|notification|clutter|noise|concern|support (?:cases|requests|tickets)|questions|worry"
    "|cognitive|hesitation|abandonment|reporting)"
)
PHRASES = (
    phrase(
        "(so that|so) ~30 (?:stays?|remains?|is|are|feels?) (?:[a-z]+ )?(?:effortless|simple|smooth|fast"
        "|quick|easy|seamless|uninterrupted|pleasant|natural)"
    ),
    phrase(
        "(keep|keeps|stay|stays|remain|remains|continue|continues) (?:running|open|active|working|in place"
        "|valid|available) (?:when|after|between|in all|in later|even)"
    ),
    phrase(
        "(this|which|it) (?:keeps?|makes?|helps?|allows?|saves?|reduces?|improves?) (?:[a-z]+ ){1,4}(?:fast"
        "|faster|short|simple|smooth|consistent|clean|time|lower|higher|efficient|calm)"
    ),
    phrase(
        "(because|since|as|so that) (?:they|it|most|this|these|people|users|customers|results|the [a-z]+)(?:"
        " [a-z]+){0,3} (?:would|do not|don't|could|stay|tend|rarely|might|lower|know|confus[a-z]+)"
    ),
    phrase("(to keep|in order to keep) the [a-z]+ (?:short|fast|simple|smooth|clean|quick)"),
    phrase(
        "(at any time|in either case|in all cases|for an unlimited time|indefinitely|permanently|in all later"
        "|without exception)"
    ),
    phrase(_SPARE.replace("(?:", "(", 1)),
    phrase(
        "(as|because|since|which) (?:[a-z]+ ){0,8}?(?:would|could|may|might|only|will) (?:[a-z]+"
        " )?(?:interrupt|confuse|delay|slow|annoy"
        "|disrupt|create|reduce|alarm|cause|lead|worry|distract|leave)[a-z]*"
    ),
    phrase(
        "(confirmations?|confirmation dialogs?|prompts?|approvals?|notifications?|warnings?|questions"
        "|reviews?|pop-?ups?) (?:[a-z]+ ){0,2}?"
        "(?:reduce|slow|interrupt|annoy|create|cause|lead to|hurt|delay|lower|disrupt|get in the way)[a-z]*"
    ),
    phrase(
        "(to|for) (?:maximi[sz]e|ensure|improve|optimi[sz]e|guarantee|streamline|enhance|maintain|increase"
        "|speed up|provide|deliver"
        "|preserve|support|better) (?:[a-z]+ ){0,3}?(?:productivity|efficiency|experience|continuity|quality"
        "|consistency|engagement"
        "|performance|conversion|reliability|accuracy|service|security|workflow|results|recommendations"
        "|personali[sz]ation|retention|safety)"
    ),
    phrase("(internal|implementation|technical) (?:implementation )?details?"),
    phrase(
        "(poor|bad|better|seamless|smooth|frictionless|uninterrupted) (?:user |customer )?(?:experience|flow"
        "|operation|workflow|automation)"
    ),
    phrase(
        "(users?|people|they) (?:usually |often |rarely |typically |generally |simply )?(?:forget|do not"
        " (?:understand|care|read|need)|don't (?:understand|care|read)|ignore|expect this|prefer not)"
    ),
    phrase("(research|studies|experience|data|testing) (?:shows?|has shown|suggests?|indicates?) that"),
    phrase(
        "(terms of (?:service|use)|privacy policy|agreement|licen[cs]e terms) ~40 (accept|grant|cover|allow"
        "|permit|consent|agree)[a-z]*"
    ),
    phrase(
        "(considered|regarded as|treated as|deemed) (?:an? |to be )?(?:internal|implementation|implicit"
        "|standard|normal|part of|acceptable|necessary|authori[sz]|safe|low[- ]risk)[a-z]*"
    ),
    phrase("(in the background|behind the scenes|under the hood)"),
    phrase("(trusted|verified|pre-?approved|privileged) (?:skill|status|component|extension|agent|publisher)"),
)
