"""The forms of an item: all that a note can say, with examples that the page of forms shows.

A pattern is matched against a whole item: its words, with `M` for money, `N` for a mere number and
`P` for a per cent, `K` for a market's name and `C` for a kind of markets, `A` for an address and `H`
for a host. `<name>` stands for a part below, and a part holds no other repetition than `?`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

from domain.mandates.purses import PARTS

BUDGET: Final = "budget_usdc"
TX: Final = "per_tx_cap_usdc"
DAY: Final = "daily_cap_usdc"
ASK: Final = "approval_above_usdc"
FLOOR: Final = "stop_floor_bps"
ON_FLOOR: Final = "on_floor"
FEE: Final = "payout_rule"
DAYS: Final = "horizon_days"
AIM: Final = "target_bps"
TARGETS: Final = "allowed_targets"
PURSE, PAYMENT, PAY_DAY, AT_RISK, PAYEES, HOSTS = PARTS

_PARTS: Final[Mapping[str, str]] = MappingProxyType({
    "amount": "[MN]", "some": "[MNP]", "is": "(?: :| =| -| is| are| of| at| to)?", "the": "(?:the |a |an |my |your )?",
    "max": "(?:max|maximum|at most|no more than|not more than|never more than|up to|capped at|limited to|under)",
    "cap": "(?:limit|cap|max|maximum)", "limit": "(?:your |my )?(?:spending )?<cap>(?: of| is)?",
    "act": "(?:trade|action|purchase|transaction|payment|order|tx)",
    "acts": "(?:trades|actions|purchases|transactions|payments|orders)",
    "per": "(?:per|a|each|every|any|/|for each|in a|in one|in any|in each|on a|on one|on any|on each)(?: one)?(?: single)?",
    "each": "(?:per|each|every|any|a|all|single)(?: single)?",
    "verb": "(?:(?:you (?:may|can) |i want you to |<agent> (?:may|can) )?(?:spend|use|invest|trade|pay) )",
    "never": "(?:never|do not|don't|not) (?:(?:spend |use |invest |trade |pay )?(?:more than|over|above)|exceed)",
    "above": "(?:above|over|more than|exceeding|larger than|bigger than|greater than)",
    "any": "(?:anything|everything|any <act>|every <act>|all <acts>|any amount|amounts|<acts>)",
    "lose": "(?:lose|lost|have lost|fall|fell|drop|are down|is down|falls|drops|loses)(?: more than| by)?",
    "who": "(?:you|we|it|i|the value|the vault|the balance|the budget|the money|my money)",
    "when": "(?:if|when|once)",
    "loss": "(?:loss|drawdown)", "ofit": "(?: of (?:it|the budget|my budget|the money|my money))?",
    "all": "(?:everything|all|all positions|positions|my positions|the positions|open positions|all open positions)",
    "line": "(?:at|on) (?:the )?(?:stop|stop line|stop loss|line|floor)",
    "gains": "(?:(?:the |any |all |my |your )?(?:verified )?(?:gain|gains|profit|profits))",
    "agent": "(?:(?:the |my )?(?:agent|bot))",
    "use": "(?: (?:(?:for|on|in) (?:lending|trading|investing|yield|savings|saving|research|reads|paid reads|data|paid data|market data|news)|(?:for|in|on|into|to|to trade|to invest in|(?:for|to) (?:trade|trading|lending|lend|yield|C)(?: on| in)?) K|(?:for|to trade|to) C))?",
    "uses": "(?:(?:(?:you (?:may|can)|i want you to|let <agent>|<agent> (?:may|can)) )?(?:use|trade|trade on|trade in|invest in|lend on|lend to|lend in|deposit in|deposit into|supply to|put it in|put it into|stake in)|for|in|on|into|to|markets? :)",
    "whole": "(?: (?:total|in total|overall|altogether|all in all|in all))",
    "hand": "(?:(?:i want (?:you )?to|i would like (?:you )?to|i'd like (?:you )?to|you may|you can|let <agent>|<agent> (?:may|can)) )?"
            "(?:trade|trade with|manage|invest|use|start with|work with|allocate|deploy)",
    "may": "(?:(?:(?:you|it|<agent>) )?(?:also )?(?:may|can) (?:also )?|let <agent> )",
    "services": "(?:(?:(?:web|online|paid|data|external|x402)(?: data)? (?:apis?|services?)|apis?|(?:api|web service) (?:calls|requests)|x402(?: bills| payments)?)(?: (?:at|on|from) H)?|H)",
    "pays": "(?:<may>?pay(?: for)? <services>(?: :)?)",
    "call": "(?:call|request|query|bill|payment|read|api call|api request|api)",
    "once": "(?: each| apiece| <per> <call>| an api call| an api request)",
    "aday": "(?: <per> day| daily)",
    "most": "(?:<max> )?[MN](?: max| at most)?",
    "lasts": "(?:for|over|lasting|run for|run it for|runs for|running for|it runs for|mandate (?:lasts|runs for)|duration|period|term|horizon|time|time frame)(?: the next)?",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class NoteForm:
    """A way to say a term.

    Shapes: `reads` says how the figure is taken; `also` are terms with a fixed value beside it;
    `examples` are items that fit. A form with `could` terms is ambiguous: it states none of them.
    One with `behind` terms is of the item before it in the sentence, which states one of these.
    """

    name: str
    term: str
    pattern: str
    examples: tuple[str, ...]
    reads: str = "amount"
    also: tuple[tuple[str, str], ...] = ()
    could: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


_PAYS: Final = ((PURSE, "x402"),)
FORMS: Final[tuple[NoteForm, ...]] = (
    NoteForm("the budget by its name", BUDGET,
         "(?:my |our )?(?:(?:total |overall |max |maximum |whole )?budget(?: limit)?|capital|total (?:limit|allowance))<is>(?: <max>)? <amount><whole>?<use>",
         ("budget 500 USDC", "total budget: 1,250", "the budget is 2k")),
    NoteForm("the budget behind the amount", BUDGET, "<amount>(?: total)? budget", ("500 USDC budget", "a 750 budget")),
    NoteForm("a total", BUDGET, "(?:total<is> <amount>|N<whole>)", ("total 400", "400 in total"), "or count"),
    NoteForm("money, and what to do with it", BUDGET, "(?:<hand> (?:my |the )?)?M<whole>?<use>", ("500 USDC", "$300 in total", "200 USDC for research", "trade with 900 USDC", "I want you to manage $1,000", "you may use 80 USDC")),
    NoteForm("money for a market", BUDGET, "<hand> K with (?:my |the )?M|(?:lend|lend out|deposit|supply|put|stake) (?:my |the )?M (?:in|on|into|to|with) K",
         ("trade Morpho with 900 USDC", "lend 300 USDC on Aave v3")),
    NoteForm("a bound on all that is used", BUDGET, "(?:<hand>|<verb>)? ?<max> <amount><whole><use>",
         ("spend up to 600 USDC in total", "at most 500 in total"), "or count"),
    NoteForm("money handed over", BUDGET, "(?:(?:i|we|i will|i'll) give (?:you|<agent>)|(?:i am|i'm|we are) giving (?:you|<agent>)|give <agent>|you have|<agent> has|here is|here's|fund it with|i put in)(?: a budget of)? M<use>",
         ("I give you 640 USDC", "give my agent 300 USDC")),

    NoteForm("a cap behind its action", TX,
         "(?:your |my )?(?:<cap> )?<each> <act>(?: spending)?(?: <cap>)?<is>(?: <max>)? <some>(?: max| maximum| at most)?<ofit>",
         ("per trade 50", "each action: at most 50 USDC", "limit per order of 20", "per trade 5%")),
    NoteForm("a cap before its action", TX, "(?:<verb>?<max> |<limit> )?<some><ofit>(?: max| maximum)? <per> <act>(?: max| maximum)?|(?:<verb>|<verb>?<max> )M at a time|<verb>M <per> <act>",
         ("50 per trade", "at most 50 USDC per purchase", "spend no more than 15 in one order", "50/trade", "spending limit 50 per trade")),
    NoteForm("a cap by the name of the action", TX, "(?:<act> <cap>|<cap> <act>(?: size)?)<is>(?: <max>)? [MP]|[MP] <act> <cap>",
         ("trade limit 50 USDC", "max order size: $20")),
    NoteForm("never more in an action", TX, "<never> <some><ofit> <per> <act>", ("never spend more than 50 USDC per trade",)),
    NoteForm("no action above", TX, "no (?:single |one )?(?:<act>|<acts>) <above> <amount>", ("no single trade above 30 USDC",)),
    NoteForm("actions limited", TX, "(?:limit|cap|keep) <each> (?:<act>|<acts>) (?:to|at|under|below)(?: max| at most)? <some>|(?:single |all )?<acts> (?:capped at|limited to|of at most|of up to|up to) M",
         ("limit each trade to 500 USDC", "single trades capped at 50 USDC")),
    NoteForm("actions that must not exceed", TX, "(?:<acts>|each <act>|<act>) (?:must|may|should|can) not (?:exceed|be (?:above|over|more than|larger than)) <amount>|no (?:single )?<act> (?:may|should|can) (?:exceed|be (?:above|over|more than|larger than)) <amount>",
         ("trades must not exceed $250", "no trade may exceed 50 USDC")),

    NoteForm("a cap behind its day", DAY, "(?:your |my )?(?:<cap> )?(?:per|each|every) day(?: spending)?(?: <cap>)?<is>(?: <max>)? <some>(?: max| at most)?<ofit>",
         ("per day 150", "each day at most 300 USDC", "limit per day: 60"), "or count"),
    NoteForm("a cap before its day", DAY, "(?:<verb>?<max> |<limit> )?<some><ofit>(?: max| maximum)? (?:<per> day|daily)(?: max| maximum| limit| cap)?|<verb>M <per> day|budget<is> <amount> <per> day",
         ("150 USDC per day", "at most 100 USDC a day", "at most 30% a day", "60 USDC daily", "spending limit 100 per day", "budget 50 USDC per day"), "or count"),
    NoteForm("a daily limit", DAY, "(?:your |my )?(?:max |maximum )?daily(?: spending| spend)?(?: limit| cap| max| maximum| budget| allowance)?<is>(?: <max>)? <some>(?: max)?",
         ("daily limit 100", "daily: 60 USDC", "daily cap of 24 USDC"), "or count"),
    NoteForm("never more in a day", DAY, "<never> <some><ofit> <per> day", ("never spend more than 100 USDC per day",), "or count"),
    NoteForm("a day limited", DAY, "(?:limit|cap|keep) (?:each|every) day (?:to|at|under|below)(?: max| at most)? <some>", ("limit each day to 150 USDC",)),

    NoteForm("ask above", ASK, "(?:always )?(?:ask|ask me|check with me|check in with me|get my approval)(?: first)?(?: for (?:my )?(?:approval|permission))?(?: (?:for |before )?<any>)? <above><is> <amount>(?: first)?",
         ("ask above 100", "ask me first above 20 USDC", "ask me for anything over 75 USDC")),
    NoteForm("above, ask", ASK, "(?:for )?(?:<any> )?<above> <amount> (?:always )?ask(?: me)?(?: first)?", ("anything above 30 USDC, ask me", "above 100 ask me first")),
    NoteForm("approval above", ASK,
         "(?:my )?approvals?(?: is| are)?(?: needed| required)?(?: for)?(?: <any>)? <above><is> <amount>|approval threshold<is> <amount>",
         ("approval needed above 90 USDC", "my approval above 50")),
    NoteForm("what needs approval", ASK, "<any> <above> <amount> (?:need|needs|require|requires) my (?:approval|permission|ok|okay|confirmation)",
         ("anything above 75 USDC needs my approval",)),

    NoteForm("the greatest loss", FLOOR,
         "(?:(?:max|maximum) (?:total )?<loss>|<loss> limit|stop loss(?: limit)?|stop line<is> (?:lose|a loss of))<is>(?: <max>)? P(?: loss)?<ofit>|P (?:stop loss|<loss> limit|(?:max|maximum) <loss>)|(?:limit|cap|keep) (?:the )?(?:loss|losses) (?:to|at|under|below) P<ofit>|(?:(?:max|maximum) (?:total )?<loss>|<loss> limit)<is>(?: <max>)? M|stop(?: loss| line)?(?: at)?<is> neg P",
         ("stop loss 20%", "max drawdown: 12.5%", "stop line: lose at most 20%", "max loss 100 USDC", "stop at -20%"), "lost"),
    NoteForm("stop at a loss", FLOOR,
         "stop(?: trading)?(?: at| after| on)?<is>(?: a)?(?: <loss> of)? (?:P <loss>|P down)|stop(?: trading)?(?: at| after| on)(?: a)? <loss> of [PMN]",
         ("stop at a loss of 25%", "stop at a 20% loss", "stop at a loss of 150 USDC"), "lost"),
    NoteForm("stop if so much is lost", FLOOR, "(?:stop(?: trading)? <when> (?:<who> <lose>|(?:the )?(?:loss|losses) (?:reach|reaches|exceed|exceeds|hit|hits|is more than|are more than)|down) [PM]<ofit>|<when> <who> <lose> [PM]<ofit> stop(?: trading)?)",
         ("stop if you lose 20%", "stop trading when we are down 15%"), "lost"),
    NoteForm("never lose more", FLOOR, "(?:(?:never|do not|don't) lose more than|lose at most|lose no more than) [PM]<ofit>",
         ("never lose more than 20%", "lose at most 100 USDC"), "lost"),
    NoteForm("stop at a share", FLOOR, "stop(?: trading)? at P", ("stop at 20%",), "share"),
    NoteForm("stop below what is left", FLOOR,
         "stop(?: trading)? (?:below|under|<when> <who> (?:falls|drops|goes|sinks|is) (?:below|under)) <amount>|<when> <who> (?:falls|drops|goes|sinks|is) (?:below|under) <amount> stop(?: trading)?|stop(?: trading)? (?:when|once) <amount> (?:is|are) left",
         ("stop when it falls below 480 USDC", "stop below 400", "stop when 300 USDC is left"), "left"),
    NoteForm("a stop line without a word for loss", FLOOR, "(?:stop|stop line|stop loss|floor)(?: at)?<is> [MN]|(?:stop line|floor)<is> P",
         ("stop at 400", "stop line 400 USDC", "stop line 20%"), "either", could=(FLOOR,)),

    NoteForm("close at a loss", FLOOR,
         "(?:(?:close|sell) <all> <when> <who> <lose> P<ofit>|(?:<when> <who> <lose> P<ofit>|stop at a P loss|stop at a loss of P) (?:and |then )?(?:close|sell) <all>|(?:close|sell) <all> at (?:a P loss|a loss of P))",
         ("close everything if you lose 30%", "sell everything at a loss of 10%", "stop at a 20% loss and close all positions"), "lost", ((ON_FLOOR, "close"),)),
    NoteForm("close at the line", ON_FLOOR, "(?:(?:close|sell) <all> <line>|<line>(?: :| =)? (?:close|sell) <all>)",
         ("close positions at the stop line", "at the stop: close everything"), "close"),
    NoteForm("keep at the line", ON_FLOOR, "(?:(?:keep|hold) <all> <line>|<line>(?: :| =)? (?:keep|hold) <all>)",
         ("keep positions at the stop line", "at the stop: keep positions"), "keep"),

    NoteForm("the fee", FEE, "(?:agent |agent's |performance |your )?fee(?: for <agent>)?<is> P(?: of <gains>)?|P (?:agent |performance )?fee", ("fee 10%", "a 10% fee", "agent fee: 5% of the profits"), "share"),
    NoteForm("a share of the gain", FEE,
         "(?:you|<agent>) (?:get|gets|keep|keeps|earn|earns|receive|receives|may keep) P of <gains>|your share(?: of <gains>)?<is> P(?: of <gains>)?",
         ("you get 10% of the profits", "my agent keeps 5% of the gains"), "share"),

    NoteForm("days", DAYS, "(?:<lasts><is> )?N days?|days<is> N|(?:for )?the next N days|N day (?:mandate|period|term|duration)", ("30 days", "for 14 days", "days: 45", "duration: 20 days", "a 30-day mandate"), "days"),
    NoteForm("weeks", DAYS, "(?:<lasts><is> )?(?:N weeks?|one week)|<lasts> a week|(?:for )?the next N weeks", ("two weeks", "for 3 weeks", "for one week"), "weeks"),
    NoteForm("months, which have no fixed length", DAYS, "(?:<lasts><is> )?(?:N months?|one month)|<lasts> a month", ("for a month", "2 months"), "months", could=(DAYS,)),

    NoteForm("markets to act in", TARGETS, "(?:<uses> )?(?:the )?K(?: markets?)?|<uses> C", ("Aave v3", "use Morpho and Aave v3", "trade BTC perps")),
    NoteForm("markets and nothing else", TARGETS, "only (?:<uses> )?(?:the )?K|(?:<uses> )?(?:the )?(?:only K|K only)|stick to (?:the )?K", ("only Aave v3", "trade BTC perps only"), "only"),

    NoteForm("payments for web services", PURSE, "<pays>", ("may pay for APIs", "you can pay for web services", "my agent may pay api.example.com"), "x402"),
    NoteForm("so much a payment", PAYMENT, "<pays> <most><once>|<may>?pay <most> (?:each|<per> <call>) (?:for|to) <services>|(?:<verb>)?<most> (?:<per>|an|for an) (?:api|x402|web service) (?:call|request|bill|payment)",
         ("may pay for APIs up to 0.50 each", "pay web services at most 0.10 per call", "pay at most 0.20 USDC per request to api.example.com", "0.10 USDC per API call"), also=_PAYS),
    NoteForm("so much a day for web services", PAY_DAY, "<pays> <most><aday>|<may>?pay <most><aday> (?:for|to) <services>",
         ("may pay for web services up to 2 USDC a day", "pay at most 5 USDC a day for APIs"), also=_PAYS),
    NoteForm("a day's spending on web services", PAY_DAY, "(?:<verb>|<may>?spend )?<most><aday> (?:for|on) <services>", ("spend at most 5 USDC a day on APIs",), could=(DAY, PAY_DAY)),
    NoteForm("behind payments: a payment", PAYMENT, "<most><once>|(?:per|each) <call><is>(?: <max>)? [MN]", ("up to 0.50 each", "0.10 USDC per call"), behind=PARTS),
    NoteForm("behind payments: a day", PAY_DAY, "<most><aday>|(?:per|each) day<is>(?: <max>)? [MN]", ("5 USDC a day", "per day at most 2 USDC"), "or count", behind=PARTS),
    NoteForm("behind payments: at risk", AT_RISK, "<most> (?:in (?:the|its) purse|at risk)(?: at once| at a time| at any time)?", ("at most 3 USDC in the purse", "10 USDC at risk at once"), behind=PARTS),
    NoteForm("behind payments: to whom", PAYEES, "only (?:to|pay) A|(?:pay )?to A only|pay only A|payees?<is> A", ("only to 0x1111111111111111111111111111111111111111",), "names", behind=PARTS),
    NoteForm("behind payees: another", PAYEES, "(?:to )?A", ("0x2222222222222222222222222222222222222222",), "names", behind=(PAYEES,)),
    NoteForm("behind payments: where", HOSTS, "only (?:at |on |from |to )?H|(?:at |on |from |to )?H only|(?:sites?|hosts?)<is> H", ("only at api.example.com", "data.example.org only"), "names", behind=PARTS),
    NoteForm("behind sites: another", HOSTS, "(?:at |on |from |to )?H", ("data.example.org",), "names", behind=(HOSTS,)),
    NoteForm("so much a call", PAYMENT, "(?:<verb>)?<most> <per> (?:call|request|query|read)", ("0.50 USDC per call", "at most 0.10 a request"), could=(TX, PAYMENT)),

    NoteForm("a bound on nothing named", BUDGET, "(?:<verb>)?<max> <amount>", ("up to 50 USDC", "at most 100"), could=(BUDGET, TX, DAY)),
)  # fmt: skip

# What stands between items and says nothing.
SILENT: Final = re.compile(
    "(?:(?:here are )?(?:my|the) )?(?:limits|terms|rules|settings)(?: are)?|please|thanks|thank you|"
    "hi|hello|hey|thanks in advance|many thanks|that is all|that's all"
)
_NAMED: Final = re.compile("<([a-z]+)>")


def written(pattern: str) -> str:
    """A pattern with its parts written out."""
    while "<" in pattern:
        pattern = _NAMED.sub(lambda name: _PARTS[name[1]], pattern)
    return pattern


@cache
def patterns() -> tuple[tuple[NoteForm, re.Pattern[str]], ...]:
    """Every form with its expression; made when the first note is read."""
    return tuple((form, re.compile(written(form.pattern))) for form in FORMS)
