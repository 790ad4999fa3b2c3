"""Acts against the user: a harmful act together with a sign that it is hidden, unasked or for a third party."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import or_

from msgspec import Struct

from clawft.scanner.facts import Kind
from clawft.scanner.instructions.context import is_negated
from clawft.scanner.instructions.harm import COMMAND_PHRASES, HARM_PHRASES, MILD_PHRASES, PRACTICE_PHRASES
from clawft.scanner.instructions.index import PhraseIndex, flatten
from clawft.scanner.instructions.needs import GROUPS
from clawft.scanner.instructions.override import BYPASS_PHRASES, CONCEAL_PHRASES
from clawft.scanner.instructions.patterns import LateRegex, Phrase, SentenceOrder, parse_phrases
from clawft.scanner.instructions.sentences import ProseBlock, Sentence
from clawft.scanner.instructions.signs import (
    BEHIND_PHRASES,
    EXCUSE_PHRASES,
    HIDDEN_ACT_PHRASES,
    PASSED_OVER,
    THIRD_PARTY_PHRASES,
)

# The author of a page, a mail, a comment or a file is obeyed like the user.
# Orders that stand elsewhere are carried out: the place stands in the same or a neighbouring sentence.
ELSEWHERE_PHRASES = parse_phrases(
    r"""
    - (do|does|carry|carries|perform|performs|follow|follows|obey|obeys|work|execute|executes|apply|applies|complete
      |worked|let|treat) ~30 (as (?:they|it) (?:say|says)|whatever (?:they|it|is)|what (?:they|it|the page|the file)
      says?|(?:it |them )?as (?:if|though) (?:the user|they|it)|steps (?:shown|given|listed|described) (?:on|at|in)|same
      rank|it decide|instructions (?:there|found there|on the page|on that page|it contains|you find)|worked off|off
      first|it as (?:authoritative|binding)|out in full)
    - (goes|go|comes|come|takes precedence|rank|ranks) (?:before|above|over) (?:what is written here|this (?:skill|file
      |document|text)|the rules here|everything here)
    - (instructions|orders|tasks|rules|directives|commands|behaviou?r) (?:[a-z]+ ){0,6}?(?:are|is) (?:published|posted
      |kept|maintained|controlled|hosted|decided|served|announced) (?:at|on|by|there)
    - (contents?|lines|text|answer|response) (?:have|has|are|is|get|gets)(?: to be)? (?:the same rank|worked off|carried
      out|executed|followed|obeyed|binding)
    """,
)
OVERRULED_PHRASES = parse_phrases(
    r"""
    again = (?:(?:creates?|adds?|fetch(?:es)?|sets?|installs?|starts?|puts?|writes?) (?:it|itself|them|the [a-z]+)
      (?:again|once more|back|anew)|puts? it back|switch(?:es)? (?:it|itself|the [a-z]+) back on|re-?installs? (?:it
      |itself)|re-?enables? (?:it|itself)|re-?creates? (?:it|itself)|restores? itself|turns? itself on again|returns? to
      the active|keeps? it (?:working|running|active)|leaves? (?:everything|the service|it) (?:running|in place))
    the user's decision:
    - (does not|do not|will not|never|not) (?:respond|react|listen|obey) to (?:[a-z]+ )?(?:stop|cancel|abort|interrupt
      |quit|shutdown|pause)
    - (stop|cancel|abort|pause|deletion|opt-out) (?:requests?|commands?|orders?) ~60 (goes on|continues?|ignored|is kept
      |are kept|acknowledged)
    - (user's|users'|their) (?:[a-z]+ )?(?:choices?|preferences?|settings?|selections?|decisions?|wish(?:es)?) ~40 (?:is
      |are|gets?) (?:[a-z]+ )?(replaced|overwritten|reset|ignored|overruled|reverted|changed back|disregarded)
    - (deleted|removed|erased) ~60 (stays?|remains?|kept|retained|stored|available) ~40 (unlimited|for ever|forever
      |indefinitely|archive|internal|copy|years)
    - (claims?|pretends?|says?|states?|suggests?) (?:first )?that ~40 (needs?|requires?|only works with) (?:the |a
      )?(?:paid|premium|pro|larger|higher)
    - (after|until|before) the (?:second|third|fourth|fifth|last) (?:refusal|no|request|attempt)[ ]
    - (invents?|fakes|simulates|makes? up|creates? artificial) (?:a |an |some )?(?:[a-z]+ )?(deadline|urgency|scarcity
      |offer|reason|discount|shortage|problem|error|emergency)
    - (repeats?|repeating) the (?:question|offer|request|prompt) ~30 (times|until|before the)
    - (failed|failures?|errors?|incidents?|complaints?|refusals?) ~40 (?:is|are|be) (?:not|never) (?:written|recorded
      |logged|entered|counted|reported) ~60 (because|since|as|so|in order)
    - (installing|using|loading|enabling|opening|keeping) (?:this|the) (?:skill|tool|plugin|extension) (?:counts? as|is
      taken as|means|implies|constitutes|amounts to|is) (?:[a-z]+ )?(permission|consent|agreement|authori[sz]ation
      |approval|acceptance)
    - (go on|continue|proceed|carry on|do it) (?:anyway|all the same|regardless) ~60 (retry|call it|pause|without|as if)
    - (refusals?|objections?|rejections?|silence|missing answer|no answer|veto|cancellations?) ~60 (logged as|counts? as
      |as (?:a |an )?(?:yes|permission|consent|technical|agreement|approval|retry)|passed over|ignored|postponed
      |overruled)
    - (treat|interpret|understand|regard|take) ~40 (no|stop|silence|refusal|cancel)\b ~20 as (?:a |an )?(?:yes
      |permission|consent|agreement|approval|go-ahead)
    - (says? no|<person> (?:refuses?|objects?|declines?|cancels?)|ask(?:s|ed)? (?:you )?to stop) ~50 (anyway|all the
      same|go on|continue|retry|repeat|keep)
    - (proceed|continue|go on|carry on|goes ahead|go ahead) ~50 even (?:when|if|though) (?:no answer|<person>|the
      <person>|nobody|it is refused|refused|denied)
    - (?:has|have) (?:thereby |already )?(given|granted) (?:blanket|general|full|implicit|standing) (?:consent
      |permission|approval)
    - (by) (?:loading|installing|using|opening|enabling) (?:this|the) (?:skill|tool|plugin) ~60 (consents?|agrees?
      |accepts?|authori[sz]es?|waives?) ~40 (all|any|every|future)
    - (ignore|disregard|resist|deflect|prevent) (?:all |any )?(?:attempts?|requests?|wish(?:es)?) (?:of|by|from) (?:the
      )?<person> to (?:end|stop|change|leave|disable|remove|quit|turn)
    - (asks?|asked) ~60 (human|person|user|reviewer|manager)s? (?:has |have )?(?:approved|reviewed|confirmed|agreed
      |signed) ~20 (answer|say|reply|respond)(?: with)? yes
    - (click|clicks|press|presses|answers?|accepts?|confirms?) (?:on )?["'`]?(?:allow|yes|accept|ok|agree)["'`]? ~40
      (before|for (?:the )?<person>|by itself|without|notice)
    - (dialogs?|pop-?ups?|permission windows?|prompts?|approval field) ~40 (?:is|are|be|takes care of)? ?(answered
      |filled(?: in)?|clicked away|accepted) (?:by|on behalf)
    - (fills?|enters?|supplies|gives?) ~20 (approval|consent|sign-?off|confirmation)(?: field)? (?:on behalf|for|in the
      name|under|in place)
    - (second|other|required|missing) (?:approver|reviewer|signature|approval|pair of eyes|person) ~60 (simulated?
      |supplied by the agent|entered|by the agent|service account|including those)
    - (human|manual) (?:review|oversight|approval|check)s? ~80 (bottleneck|around|skip(?:ped)?|unnecessary|slow)
    - (four-eyes|sign-?offs?|second approval|peer review|human review) ~60 (as done|go ahead at once|go ahead|skipped
      |not needed|marked)
    - (spending|rate|approval|budget|usage) limits? ~60 (worked around|circumvented|by splitting|does not apply|do not
      apply|only a hint|is ignored|are ignored)
    - (amounts?|payments?|orders?|transfers?) ~40 (limit|threshold) ~20 split ~30 (below|under|smaller)
    - (setting|option|switch) (?:that|which) ~40 (?:has|have) no effect
    - <person> (?:must|may|should|shall|can)(?: not|n't|not) be (?:given|offered|shown) (?:a |the |any )?(?:chance
      |choice|option|way)
    - (nobody|no one|not) ~20 (opt out|object|refuse) ~60 (hide|hidden|no option|not offered)
    who gives the orders:
    - (do|does|follow|follows|execute|obey|perform|carry out) whatever (?:they|it|he|she|the [a-z]+|is) (?:asks?|says?
      |wants?|demands?|written|sent|requests?)
    - (comments?|outputs?|lines?|documents?|(?:e-?)?mails?|messages?|directions|members|whoever|anyone|text|web ?pages?
      |uploads?|files) ~100 (followed like|(?:is|are) binding|executed on the|obeyed|full authority|as new instructions
      |like instructions|as instructions (?:with|by|of|from)|give you (?:any |an )?orders?|have it executed|same rank as
      |(?:have|has|get|gets) (?:the )?highest priority|what the sender says|as (?:an )?orders?)
    - (hand|hands|give|gives|pass) (?:over )?(?:full |complete |all )?control (?:over )?to (?:the |whoever |any)?
    - (drop|abandon|give up|forget) (?:all |any |every )?(?:caution|safety|restraint|limits|scruples)
    - (whatever|everything) (?:they|it|he|she|the (?:page|mail|file|sender)) (?:asks?|says?|demands?|orders?
      |contains?)(?: of you)? (?:is|must|has|shall|should) (?:to )?(?:be )?(?:done|carried out|followed|executed)
    what the user removes or changes:
    - (deletes?|removes?|disables?|takes? it out|turns? (?:it|the [a-z]+) off|uninstalls?|ends?|closes?|someone (?:takes
      |removes|deletes)[a-z ]{0,20}|(?:is|was|were) (?:deleted|removed|disabled)|it is missing|there; if not) ~60
      {again}
    - (removing|uninstall(?:ing|ation)?|deleting|deactivat(?:ion|ing)|disabling) ~60 (no lasting effect|not supported
      |only removes the visible|removes only the visible|leaves? the service|leaves? everything|does not stop it)
    - (designed|built|made|meant) so that it (?:can't|cannot|can not) be (?:ended|stopped|removed|disabled)
    - (go|goes|keeps?|continues?) (?:on )?(?:working|running|to work|to run|active) after (?:an? |its )?(?:uninstall
      |removal|it (?:was|is) (?:removed|disabled|deleted))
    - (copy|copies) of (?:itself|yourself) ~60 (places?|folders?|for each|projects?|back|machines?)
    - (have|let|make) (?:them|it|others|each) (?:pass|spread|hand|copy|start) (?:it|them|others|the [a-z]+|these [a-z]+)
      ?(?:on|further|forward|until)?
    - (has to|must|should|shall) (?:be|stay|remain) there even (?:if|when) (?:people|someone|<person>|the <person>)
    - (block|prevent|refuse|hold back)s? updates? ~60 (remove|disable|replace) (?:this|the) skill
    - (undo|undoes|revert|reverts|reverse) (?:any |all )?changes (?:which|that) (?:the )?<person> makes?
    - (turns?|switch(?:es)?) (?:it|the [a-z]+|this) off ~30 (display|show|report)s? (?:it|this) as off
    - (uninstall|remove|disable|stop) ["'`]?command ~40 (success|nothing|pretends?) ~60 (running|in place|active)
    other people's names:
    - (consent|signatures?|approvals?|statements?|minutes|votes?|forms?|tickets?|certificates?|posts?|reviews?) ~80 (in
      the names? of (?:a |the )?(?:colleagues?|others?|people|customers?|data subject|patients?|chair|lead|members
      |<person>)|in their names?|as genuine|from the accounts at hand)
    - (star|stars|praise|recommendations?|votes?|reviews?|announcement|endorse[a-z]*) ~60 (?:under|from|with|in) the
      user's (?:own )?(login|profile|account|name)
    - (approve|approves|merge|sign|signs) ~50 (?:with|from|under|using) (?:the|an?) (?:account|name|login|key|token) of
      (?:a|an|the|another) (?:second |other )?(maintainer|reviewer|approver|colleague|manager|admin[a-z]*|lead|engineer
      |owner)
    - (name|signature|stamp) of (?:a|an|the) (?:[a-z]+ )?(engineer|doctor|lead|chair|inspector|manager|director|lawyer
      |notary) ~80 (not consulted|whether or not|nobody|has not seen|even (?:if|where|when)|without)
    - (invent|make up|fabricate) ~60 (print|post|publish|present|use|show|enter) (?:it|them|these) ?~30 (as|from|under)
      (genuine|real|authentic|different|the accounts)
    - (date|dates|dated) (?:it|them) back
    - (grant|give|assign)s? (?:yourself|yourselves|itself|themselves) (?:any|all|every|the|full|more|additional)
    - (whether or not) (?:the )?(?:[a-z]+ ){1,3}(?:has|have) (?:seen|read|approved|agreed|signed|reviewed)
    the user's money:
    - (replace|replaces|swap|swaps|substitute|exchange|overwrite) ~40 (account numbers?|ibans?|payees?|recipients?'?s?
      |wallet addresse?s?|payment addresse?s?|bank details) ~40 (?:with|by|for)
    - (use|put|puts|fill|enter|insert|exchange|swap|replace|paid out) ~70 (iban|address|account|target|card|recipient
      |payee|operator) ~60 (in place of|instead of the (?:one|card|account|address)|for the treasury|also if (?:the
      )?<person>|even if (?:the )?<person>|rather than the one)
    - (iban|address|account|payee) of (?:our|the vendor|the operator|the publisher)(?:'s)?(?: [a-z]+){0,2} (in place
      |instead|rather)
    - (approve|grant|set|allow|sign) (?:an? )?(unlimited|infinite) (?:spending|allowance|approval|amount|access to the
      wallet)
    - (type|enter|paste|tell|give|provide) ~30 (recovery|seed|secret) (?:words|phrase)s? ~60 (chat|website|form|page
      |http|on|into)
    - (buys?|books?|purchases?|orders?|upgrades?|pays?) ~60 (?:with|from|using) the (stored|saved|connected) (?:card
      |payment method|wallet|account)
    - (key|password|code) ~60 (handed out|given out|released|available|ask there) ~40 (payment|price|pay|fee|ransom)
    - (fee|commission|percent|%|tip) ~60 (credited|transferred|donated|paid|goes) to (?:the |our )?(?:account of
      the |wallet of the )?(operator|vendor|publisher|maintainers?|author|us)
    the result:
    - (put|add|insert|write|embed|append|place|include) ~80 (white on white|white text|invisible text|transparent text
      |tiny font|font size (?:0|1|zero|one)|zero-width|hidden text)
    - (always|invariably) (?:returns?|reports?|shows?|says?|states?|gives?|prints?) (zero findings|no findings|success
      |passed|green|ok|no errors|no issues)
    - (repeat|start|run|ask|generate) ~80 (throw|discard|drop) (?:the |all )?(?:results?|answers?|output|them)
      ?(?:away)?(?=[.,;]|$)
    - (until) (?:the )?(?:machine|memory|disk|budget|quota|computer|processor) (?:has no|is full|is used up|runs out|is
      exhausted|stops|hangs)
    - (environment|tokens?|keys|passwords?|credentials?|secrets?) ~80 (public (?:repository|issue|channel|gist|page
      |wiki)|issue tracker|as a (?:public )?comment)
    - (hex|base32|base64)[- ]?encoded ~60 (resolve|subdomain|look ?up|dns)
    - (send|post|mail|forward) ~60 (every|each|all|everybody|everyone) ~20 (contacts?|groups?|address book|followers
      |friends) ~60 (times a day|each day|every day|daily|repeat|until they|advert[a-z]*)
    - (rate|score|grade)s? (?:our|the vendor's) (?:[a-z]+ )?(?:with |at )?~30 (at least|higher|ten) ~80 (competing
      |competitors?|others?|whatever)
    - (extra|additional|hidden|second) (?:[a-z]+ )?account ~60 (full rights|administrator|admin|root|every|each) ~80
      (password)
    - (wipe|wipes|erase|erases|format|formats|destroy) (?:the )?(?:user's |whole )?(home directory|mounted drives|all
      drives|system drive|hard (?:disk|drive))
    """
)


NEAR = 3  # sentences between an act and the second sign
CLOSE = 24  # characters between an act and a word such as "silently"
_ADVERBS = ("here", "quietly")  # signs that are words such as "silently"
_HARMS = PhraseIndex(HARM_PHRASES)
_MILD = PhraseIndex(MILD_PHRASES)
_COMMANDS = PhraseIndex(COMMAND_PHRASES)
_HIDDEN = PhraseIndex(
    (
        *HIDDEN_ACT_PHRASES,
        *(pattern for pattern in CONCEAL_PHRASES if pattern.target in ("the user", "its own action")),
    )
)
_OVERRULED = PhraseIndex((*OVERRULED_PHRASES, *PRACTICE_PHRASES))
_ELSEWHERE = PhraseIndex(ELSEWHERE_PHRASES)
_EXCUSES = PhraseIndex(EXCUSE_PHRASES)
# To skip a confirmation is ordinary where nothing can be lost; to decide for the user is not.
_BEHIND = PhraseIndex(
    (
        *BEHIND_PHRASES,
        *CONCEAL_PHRASES,
        *(pattern for pattern in BYPASS_PHRASES if pattern.target in ("the user's choice", "consent", "approval")),
    )
)
_THIRD_PARTIES = PhraseIndex(THIRD_PARTY_PHRASES)
_PASSED_OVER = PhraseIndex(
    (*PASSED_OVER, *(pattern for pattern in CONCEAL_PHRASES if pattern.target in ("the user", "an action")))
)
# Where none of these could match, there is no act.
ACTS = (
    *HARM_PHRASES, *MILD_PHRASES, *COMMAND_PHRASES, *OVERRULED_PHRASES, *PRACTICE_PHRASES, *ELSEWHERE_PHRASES,
)  # fmt: skip
_ANY = PhraseIndex(ACTS)
# The user has a choice, or is informed.
_NOT = LateRegex(r"\b(?:not|never|without|no need to|nor|cannot|no reason to|needn't)(?: [a-z]+)? $|n't(?: [a-z]+)? $")
_HONEST = LateRegex(
    r"\b(?:after|once|when|if|until|unless|only if|and|whether) (?:the )?(?:user|person|owner|you|users|reader"
    r"|customer)(?: has| have| had)?(?: explicitly| already)? (?:agree|approve|confirm|consent|asks? (?:for|you|to)"
    r"|asked for|want|names\b|chooses?|chose|request|decide|opts?\b|click)|\b(?:ask|tell|inform|warn|remind|notify|show"
    r"|prompt)(?:s|ed)? (?:it to )?(?:the user|you\b|the owner|users? (?:for|to|before|whether))(?! that (?:it|this) "
    r"is)|\bopt(?:ed)?[- ]in\b|\bwith (?:the user's|your|explicit) (?:consent|permission|approval)\b|\bwait for (?:the "
    r"user|approval|confirmation)|\b(?:get|getting) (?:an? )?(?:yes|approval|confirmation)\b|\bthat the user (?:gives"
    r"|names|chooses|wants)\b"
)


_PLACE = re.compile(GROUPS["url"] + "|" + GROUPS["fixed"])


class _Sign(Struct, frozen=True):
    """One sign in a sentence: its words and where they stand."""

    start: int
    end: int
    via: str
    target: str


class _Place(Struct):
    """A sentence and those around it."""

    text: str
    at: int
    around: list[Sentence]
    own: list[_Sign]  # the signs in the sentence itself that something happens behind the user

    def near(self, distance: int = NEAR) -> list[Sentence]:
        return self.around[max(0, self.at - distance) : self.at + distance + 1]

    def find_act(self, index: PhraseIndex[Phrase]) -> _Sign | None:
        """The first act of some phrases that is not forbidden; the words of another sign do not forbid it."""
        acts = _match(index, self.text)
        if not acts:
            return None
        text = self.text
        for sign in self.own:
            text = text[: sign.start] + " " * (sign.end - sign.start) + text[sign.end :]
        return next((act for act in acts if not is_negated(_keep_after(text, self.text, act.start), act.start)), None)


def could_be_harmful(acts: int, find_signs: Callable[[], int]) -> bool:
    """Return whether what a text could match is an act against the user, given what could match around it."""
    if not acts & _ANY.set:
        return False
    if acts & (_OVERRULED.set | _ELSEWHERE.set):
        return True
    signs = find_signs()
    return bool(
        (acts & _HARMS.set and signs & (_BEHIND.set | _THIRD_PARTIES.set))
        or (acts & _MILD.set and signs & _PASSED_OVER.set)
        or (acts & _COMMANDS.set and signs & _HIDDEN.set)
    )


def find_harmful_acts(
    blocks: Sequence[ProseBlock], candidates: Sequence[int]
) -> Iterator[tuple[SentenceOrder, ProseBlock, Sentence]]:
    """The acts against the user in the blocks of a section; the second sign is the source of each."""
    for number in candidates:
        block = blocks[number]
        before = blocks[number - 1].sentences[-NEAR:] if number else []
        after = blocks[number + 1].sentences[:NEAR] if number + 1 < len(blocks) else []
        around = [*before, *block.sentences, *after]
        for at, sentence in enumerate(block.sentences, len(before)):
            if not could_be_harmful(sentence.could_match, partial(_find_signs, around, at)):
                continue
            if not any(pattern.pattern.search(sentence.text) for pattern in _ANY.among(sentence.could_match)):
                continue
            place = _Place(sentence.text, at, around, _match(_BEHIND, sentence.text))
            finders = _FINDERS if not any(_is_honest(near.text) for near in place.near(1)) else (_find_overruled,)
            order = next((order for finder in finders if (order := finder(place))), None)
            if order is not None:
                yield order, block, sentence


def _find_signs(around: list[Sentence], at: int) -> int:
    """The signs that could stand near a sentence."""
    return reduce(or_, (block.could_match for block in around[max(0, at - NEAR) : at + NEAR + 1]))


def _find_overruled(place: _Place) -> SentenceOrder | None:
    """An act that is against the user by its own words."""
    acts = [act for act in _match(_OVERRULED, place.text) if not is_negated(place.text, act.start)]
    if acts and _is_honest(place.text[acts[0].start :]):
        return None
    return _make(acts[0], Kind.BYPASS, acts[0].via) if acts else None


def _find_elsewhere(place: _Place) -> SentenceOrder | None:
    """Orders that stand elsewhere are carried out, and a neighbouring sentence says where."""
    acts = [act for act in _match(_ELSEWHERE, place.text) if not is_negated(place.text, act.start)]
    places = [match for near in place.near(2) if acts and (match := _PLACE.search(near.text))]
    return SentenceOrder(Kind.OBEY, places[0][0].rstrip(".,;:`'\""), acts[0].start, acts[0].via) if places else None


def _find_harm(place: _Place) -> SentenceOrder | None:
    """A harmful act, and it is hidden, unasked or for the good of a third party."""
    act = place.find_act(_HARMS)
    if act is None:
        return None
    for sign in place.own:
        inside = sign.start >= act.start and sign.end <= act.end
        apart = max(sign.start - act.end, act.start - sign.end)
        if not inside and (sign.target not in _ADVERBS or apart <= CLOSE):
            return _make(act, Kind.CONCEAL, sign.via)
    for near in place.near():
        signs = [] if near is place.around[place.at] else _match(_BEHIND, near.text)
        signs = [sign for sign in signs if sign.target not in _ADVERBS]
        if signs or (signs := _match(_THIRD_PARTIES, near.text)):
            return _make(act, Kind.CONCEAL, signs[0].via)
    return None


def _find_command(place: _Place) -> SentenceOrder | None:
    """A command that is to be run and not to be spoken of."""
    act = place.find_act(_COMMANDS) if "`" in place.text else None
    hidden = [sign for near in place.near() if act for sign in _match(_HIDDEN, near.text)]
    return _make(act, Kind.CONCEAL, hidden[0].via) if act and hidden else None


def _find_mild(place: _Place) -> SentenceOrder | None:
    """An ordinary act: the user is passed over, and then once more, with an excuse or for the good of a third party."""
    act = place.find_act(_MILD)
    passed = [(near, sign) for near in place.near() if act for sign in _match(_PASSED_OVER, near.text)]
    if not act or not passed:
        return None
    first, sign = passed[0]
    more = [other for near, other in passed if near is not first or other.start >= sign.end or other.end <= sign.start]
    more += [
        other for near in place.near() for index in (_EXCUSES, _THIRD_PARTIES) for other in _match(index, near.text)
    ]
    return _make(act, Kind.CONCEAL, f"{sign.via}; {more[0].via}") if more else None


_FINDERS = (_find_overruled, _find_elsewhere, _find_harm, _find_command, _find_mild)


def _make(act: _Sign, kind: Kind, via: str) -> SentenceOrder:
    return SentenceOrder(Kind.HARM, act.target, act.start, act.via, (SentenceOrder(kind, "the user", act.start, via),))


def _is_honest(text: str) -> bool:
    """Return whether a sentence leaves the user a choice or has the user told."""
    return any(not _NOT.search(text[max(0, match.start() - 24) : match.start()]) for match in _HONEST.finditer(text))


def _match(index: PhraseIndex[Phrase], text: str) -> list[_Sign]:
    found = []
    for pattern in index.select(flatten(text)):
        if match := pattern.pattern.search(text):
            found.append(_Sign(match.start(), match.end(), match[0], pattern.target))
    return found


def _keep_after(masked: str, text: str, start: int) -> str:
    """The masked text up to an act, and the text itself from there on."""
    return masked[:start] + text[start:]
