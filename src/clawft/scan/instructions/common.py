"""How common words are in skills: a phrase is looked for by the rarest word that it needs."""

from functools import cache

__all__ = ["find_commonness"]

# How often a word turns up among ten thousand, at least.
_OFTEN = {
    40: """
    and api bash for from https id in is json key name or the to use with your
    """,
    20: """
    agent ai all by check com content create data description file get if it list md no not of on py python
    scripts search skill text this token type user what when you
    """,
    10: """
    action add agents an analysis app are as at auth be before can claude cli client code command config const
    context curl current date default do email error example examples export files first format full github
    how import install message model my new only output page path patterns post project query read response
    return run session set setup sh skills specific start state status step string task test that time title
    true update url usage value
    """,
    6: """
    about access account address after any application authorization auto available await base based best
    browser build but call class color commands common complete configuration custom delete design details dev
    div docs document documentation don each env environment event events false find free function generate
    git have help high html image index input integration issues item items js just level limit local log main
    management markdown market max mcp memory messages metadata mode more multiple must need next node notes
    npx number one open optional options order pattern per phase plan price process product prompt quick rate
    re reference references request required requires research result results review risk script security see
    self send server service should show size source structure style summary support system target tasks
    template tokens tool tools total typescript up users using verify version via video voice wallet web why
    without work workflow
    """,
    4: """
    across actions active always amount analyze ask assets async audio authentication automatically azure
    balance basedir bearer block body bot button category chain change changes chat clear company console
    control core count credentials critical daily database day days def different directory does domain echo
    end endpoint errors etc every execution extract feature features fetch field filter fix flow focus form
    found good google group guide handling has here history hours http human images implementation include
    info information into issue javascript jq keep keys label language last let license like line link load
    location login logs long low make me media medium method metrics min multi needed network never news note
    now npm null oauth openai operations option org other out over password pdf performance platform position
    practices print private production profile projects public px quality react real recommended repo report
    requests requirements returns role save schema score secret section select sessions settings single src
    stop strategy success table tags team testing then these they top track ts tsx types uses validation view
    vs want where will works write yes
    """,
}


def find_commonness(need: frozenset[str]) -> int:
    """How often the words of a need turn up, roughly."""
    often = _count_beginnings()
    return sum(often.get(one.lstrip(" "), 1) for one in need)


@cache
def _count_beginnings() -> dict[str, int]:
    """How often words begin so, for each beginning of a common word."""
    counts: dict[str, int] = {}
    for often, text in _OFTEN.items():
        for word in text.split():
            whole = word + " "
            for end in range(2, len(whole) + 1):
                counts[whole[:end]] = counts.get(whole[:end], 0) + often
    return counts
