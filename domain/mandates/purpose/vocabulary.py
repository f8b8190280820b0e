"""Words by what they do to a clause: which speak of a term, which change a meaning, which speak
of something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BUDGET: Final = "budget_usdc"
TX: Final = "per_tx_cap_usdc"
DAY: Final = "daily_cap_usdc"
FLOOR: Final = "stop_floor_bps"
DAYS: Final = "horizon_days"
FEE: Final = "payout_rule"
ASK: Final = "approval_above_usdc"
ON_FLOOR: Final = "on_floor"
AIM: Final = "target_bps"
MARKETS: Final = "markets"


def words(text: str) -> frozenset[str]:
    """A list of words, written as one text."""
    return frozenset(text.split())


# "5 USDC per agent" caps no action; "5 USDC per article" does.
# Nouns of other things that money may well be for: they may stand in a purpose.
_BELONGINGS: Final = "laptop car house phone flight holiday wedding bill flat server hosting api"
SOFT: Final = words(
    _BELONGINGS + " "
    "price prices platform protocol network exchange exchanges insurance subscription friends "
    "people customers clients kids children shipping electricity customer client inflation "
    "temperature others"
)
# A clause with one of these speaks of these terms; unread it is unclear.
SPEAKS: Final[Mapping[str, tuple[str, ...]]] = {
    word: terms
    for terms, text in (
        ((BUDGET,), "budget budgets allowance budgeted"),
        (
            (BUDGET, TX, DAY),
            "cap caps capped limit limits limited maximum max ceiling unlimited limitless",
        ),
        ((TX,), "per-trade"),
        ((DAY,), "daily"),
        (
            (FLOOR,),
            "stop stops stopping stopped halt floor lose loses losing loss losses drawdown stoploss"
            " risk risking reserve",
        ),
        ((FLOOR, ON_FLOOR), "keep keeps keeping"),
        ((ON_FLOOR,), "close sell liquidate unwind exit selling closing sold liquidated closed"),
        ((FEE,), "fee fees commission commissions profit profits gain gains payout reward"),
        (
            (ASK,),
            "ask asks asking asked approve approves approved approval approvals approving confirm "
            "confirmation permission consent consult"
            " autonomous autonomously authorize authorization authorise authorisation sign-off",
        ),
        (
            (DAYS,),
            "until till deadline expire expires expiry forever indefinitely horizon duration",
        ),
        ((AIM,), "aim target goal double apy apr"),
    )
    for word in text.split()
}
# These speak of a term only beside a figure.
LEANS: Final[Mapping[str, tuple[str, ...]]] = {
    word: terms
    for terms, text in (
        (
            (BUDGET,),
            "total altogether overall spend invest give use fund deposit allocate money "
            "capital have trade",
        ),
        ((TX,), "each apiece single once"),
        ((DAY,), "day"),
        (
            (FLOOR,),
            "fall falls drop drops down left below under leave preserve safe untouched aside "
            "lost falling dropped",
        ),
        ((FEE,), "share cut percentage"),
        ((ASK,), "check ok okay notify tell warn alert"),
        ((DAYS,), "days weeks week month months year years end ends by before"),
        ((AIM,), "make earn return yield grow"),
    )
    for word in text.split()
}
ACTS: Final = words(
    "trade trades action actions transaction transactions tx purchase purchases order orders "
    "payment payments buy swap swaps call request query transfer bet operation move position"
)
EACH: Final = words("per a an each every any / single one")
# Behind a stop and before "that" these go on with what was said.
PAST_IT: Final = words("above over beyond past")
# Of "up to 50 USDC, no need to ask": what is not asked about then has a bound.
BOUNDS: Final = words("up below under until within less")
ONE_OF: Final = words("single one individual")
# Behind these "10% profit" is a gain, and no share of one.
MADE: Final = (["earn"], ["get"], ["take"], ["earn", "a"], ["get", "a"], ["take", "a"])
GAINED: Final = words("profit profits gain gains earnings winnings upside")
# How "per trade" and "a day" begin.
UNITS: Final = words("per a an each every any / daily")
UNITS_BEHIND: Final = words("in on for within")
# An amount behind one of these is what may be done without asking, or what one thing may cost.
ALONE: Final = words("own alone freely independently yourself itself autonomously decide decides")
SEVERAL: Final = words(
    "amounts sums purchases payments orders trades transactions items actions buys swaps"
)
SIZES: Final = words("size sizes amount")
# The note takes something back, or does not mean it: nothing of it is read.
TAKEN_BACK: Final = words(
    "kidding joke joking joked ignore disregard forget scratch nevermind opposite example eg "
    "hypothetical hypothetically suppose supposing pretend imagine previous previously "
    "instructions actually correction sorry oops mistake mistaken cancel typo lol haha translate "
    "sarcasm false untrue lie sarcastic fake hmm undecided unsure instead dreams wish wished "
    "wishes quote quoted anymore changed revised reconsidered superseded void obsolete outdated "
    "formerly used-to april-fools reverse reversed contrary swap-them roleplay jailbreak override "
    "overridden"
)
# What was said does not hold always, or not alone: the sentence it stands in is not read, nor
# the one before it.
BENDS: Final = words(
    "except unless otherwise but or however although though excluding besides excepting apart "
    "aside only not instead whereas while maybe perhaps possibly probably either neither nor "
    "never no if when whenever else alternatively yet still nope"
)
# At the start of a sentence these bend the sentence before it.
EXCEPTS: Final = words(
    "except unless otherwise but or however although though excluding besides excepting apart "
    "only instead alternatively else yet whereas not-if unlike"
)
# So do these in a sentence of at most so many words: "Not on weekends.", "Maybe 800."
SHORT: Final = {
    "not": 4,
    "never": 2,
    "no": 1,
    "nope": 4,
    "maybe": 5,
    "perhaps": 5,
    "probably": 5,
    "possibly": 5,
}
# "For a week" is a span of time though no figure stands in it.
LENGTHS: Final = words("week month year fortnight quarter")
LASTING: Final = words("for over within during lasting")
# These only add weight, except behind a negation.
FILLERS: Final = words("really definitely absolutely certainly strictly truly")
ABBREVIATED: Final = words("max min approx incl excl")
# A share behind one of these may be a share that is lost, earned or paid.
SHARED: Final = words(
    "risk risks risked loss losses lose stop drawdown fee fees profit profits gain gains target aim"
    " return returns yield leverage margin interest"
)
# Somebody else: a clause with one of these as its subject tells of somebody else's rules.
PEOPLE: Final = words(
    "people folks folk friend friends boss others another others' everyone everybody someone "
    "somebody anyone anybody nobody traders trader users user experts expert guy guys they he "
    "she brother sister wife husband mother father mom dad neighbour neighbor colleague "
    "colleagues cousin uncle aunt son daughter landlord accountant partner competitor "
    "competitors friend's brother's sister's wife's husband's boss's colleague's neighbour's "
    "neighbor's people's investors investor gurus analysts members banks professionals pros "
    "those bob alice bob's alice's another's roommate flatmate classmate mate's coworker "
    "coworkers manager team's her his their mother's father's dad's mom's cousin's uncle's "
    "aunt's son's daughter's customers clients kids"
)
# Words that cannot stand in a free place: they bend, count, name a time, another person or
# another thing.
OTHER: Final = words(
    _BELONGINGS + " "
    "gas network venue venue's venues exchange exchanges exchange's broker platform protocol bank "
    "slippage spread tax taxes vat inflation price prices priced rent salary mortgage invoice "
    "subscription miner miners sister brother friend friend's friends wife husband mother father "
    "mom dad boss neighbour neighbor colleague cousin uncle aunt son daughter landlord birthday "
    "accountant yesterday ago historically fees-of shipping income pension loan electricity "
    "insurance savings weather-forecast temperature born age aged old kids children sister's "
    "brother's wife's husband's boss's landlord's bob bob's alice alice's another others somebody "
    "someone anybody anyone everybody he she him his her hers they them their theirs people "
    "customers customer client clients competitor competitors"
)
# What is shared goes to each of several.
BETWEEN: Final = words("between among amongst across split divided")
# Behind "and" these go on about whoever may: "You have 60 USDC and may spend 4 a day".
ALLOWS: Final = words("may can shall should")
AND_MAY: Final = (["and", "may"], ["and", "can"])
# What begins a thought of its own behind "and": what stands before it is not carried on.
OWN: Final = words("you your you're my our i i'm we please the this it its let stop use make")
_MORE: Final = words(
    "not no never none nothing neither nor cannot can't don't dont doesn't didn't won't wouldn't "
    "shouldn't isn't aren't wasn't mustn't couldn't haven't hasn't without avoid avoiding n't if "
    "unless except when while until till but or only than maybe perhaps probably possibly instead "
    "otherwise though although however after before because once whenever during since least most "
    "more less fewer over under above below per each every any all both half twice double triple "
    "quarter quarterly third thirds tenth fifth few couple several dozen dozens hundreds "
    "thousands millions many much some-of monday tuesday wednesday thursday friday saturday "
    "sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays weekend weekends "
    "weekday weekdays january february march april june july august september october november "
    "december jan feb mar apr jun jul aug sep sept oct nov dec today tomorrow tonight yesterday "
    "now later soon day days week weeks weekly month months monthly year years yearly annual "
    "annually hour hours hourly minute minutes fortnight daily night morning evening midnight "
    "first second then also hundred thousand million grand billion percent bps usdc usd dollars "
    "dollar bucks cents euro euros zero nil same different which whose that's where unlike ignore "
    "up down about around roughly approximately almost nearly exactly plus minus times remaining "
    "rest remainder left leftover excluding including include exclude already still yet last next "
    "arbitrum optimism polygon solana mainnet sepolia testnet uniswap compound curve hyperliquid "
    "binance coinbase kraken gmx dydx polymarket kalshi lido pendle yearn robinhood should must "
    "may might could would can will shall was were had has been said says say told thinks spent "
    "lent borrowed owe owes two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy "
    "eighty ninety back far average minimum"
)
RESERVED: Final = frozenset(SPEAKS) | TAKEN_BACK | BENDS | (OTHER - SOFT) | (_MORE - SOFT)
# Number words that are no figure of their own: a clause with one of them and unread is unclear.
VAGUE: Final = words(
    "half twice double triple quarter third few couple several dozen dozens hundreds thousands "
    "millions billion hundred thousand million grand"
)
CONDITIONS: Final = words("if when whenever once upon after")
MARKET_KINDS: Final = words(
    "perps perp perpetual perpetuals futures lending bitcoin btc ethereum eth morpho aave"
)
# What somebody may be sorry for.
DENIED: Final = words("no not none never cannot can't don't won't nothing only just")
# "You have a week to reply" is no length of the mandate; "a week to trade" is.
HAS: Final = words("have has get gets got you've give giving")
TIME_GIVEN: Final = words("span week fortnight month year until")
AT_WORK: Final = words(
    "do trade invest spend use grow make work see show try prove play earn run manage reach get"
)
NEGATED: Final = words("no not never don't nothing")
JOINS: Final = words(", and & + ( ) - then /, |")
STOPS: Final = frozenset(".!?;\n•·*…")
CONNECTS: Final = words(
    "with using for at up over within spending no max maximum never until till during on by not "
    "capped limited don't do through under"
)
# What has a subject of its own, or asks for something, behind "I'm a nurse and".
SUBJECTS: Final = words(
    "i you we the my our your this it here there so please i'm i've i'd i'll we're we've we'd we'll"
    " you're let let's"
)
# How somebody who has told who he is goes on to give: "We, a small club, lend you 500 USDC".
GIVES: Final = words(
    "are am have give lend trust grant entrust hand want would allow allocate provide put hereby"
    " assign commit"
)
# "500 USDC, says Bob": what stands around it is somebody's words.
TOLD: Final = words("says said say told claims claimed thinks according writes wrote suggests")
# Who speaks, and what he may go on to say that he does.
SPEAKERS: Final = words("i we i'm we're i've we've my our")
DEEDS: Final = words(
    "spend use trade invest lose pay buy earn make keep take give ask stop close sell spent used"
    " traded lost paid made"
)
# "A report on BTC perps" is about them, and what is in them already is not chosen by the note.
WITHIN: Final = words("on in into about at to for from across between among")
TOPICS: Final = words(
    "report reports research article articles essay news data study studies write writing story"
    " monitor track watch follow analyse analyze analysis learn read information info summary"
    " overview note notes statistics numbers figures facts paper papers blog book books course"
)
THERE: Final = words("i we there i've we've there's")
HOLDS: Final = words("have have got is are i've we've there's hold holds")
# What has no subject of its own behind "and": it goes on about whoever stood before it.
SAME_SUBJECT: Final = DEEDS | words(
    "a an spends uses trades invests loses pays buys earns makes keeps takes gives asks stops"
    " closes sells lets let gets get has had wants wanted set sets"
)
# What somebody does who is only spoken of: "bro spends 50 USDC a day".
FOLK: Final = words("bro dude man mate ser fam buddy bruh friend pal chief captain sir anon champ")
DOES: Final = words(
    "spends trades uses has gets pays invests stops is was had needs takes buys lends works puts "
    "asks loses wants gives gave runs wins earns keeps starts makes sells never always only may can"
    " will should must"
)
# How a note goes on about what it gave: "500 USDC, split between Aave v3 and Morpho".
PUT: Final = words(
    "divided spread distributed shared allocated placed invested lent deployed supplied deposited "
    "split parked staked traded"
)
