"""What notes speak of besides their terms: gas, venues, coins, people, belongings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

OTHERS: Final[Mapping[str, str]] = {
    "o_det": """
        the | a | an | my | their | its | our | this | that | currently the | right now the | note
        that the | note that | note : | remember that the | be aware that the | by the way the |
        btw the | fyi the | also the | average | typical | current | network's
    """,
    "o_thing": """
        gas | gas fee | gas fees | gas cost | gas costs | gas price | network | network fee |
        network fees | transaction fee | transaction fees | trading fee | trading fees | venue |
        venue fee | venue's fee | venue fees | exchange | exchange fee | exchange's fee | exchange
        fees | broker | broker fee | platform | platform fee | protocol | protocol fee | bank |
        bank fee | slippage | spread | tax | taxes | income tax | capital gains tax | vat | sales
        tax | tax rate | inflation | interest rate | price | market price | swap fee | swap fees |
        bridge | bridge fee | withdrawal fee | deposit fee | maker fee | taker fee | funding rate |
        rent | subscription | subscription fee | api | api subscription | server | hosting |
        electricity | card | credit card | service fee | listing fee | invoice | delivery |
        shipping | miner | sequencer
    """,
    "o_verb": """
        charges | charge | costs | cost | takes | take | is | are | was | were | runs | run | adds
        | asks | bills | comes to | come to | levies | stands at | is at | are at | is about |
        amounts to | will be | will cost | would be | is currently | are currently | charges me |
        usually costs | usually is | eats | usually charges | is due | are due | is due on | are
        due on | went up | rose to | went up to
    """,
    "o_tail": """
        fee | fees | per <act> | each | a day | per day | daily | a week | per week | weekly | a
        month | per month | monthly | a year | per year | yearly | on each <act> | on every <act> |
        for each <act> | for every <act> | per swap | today | now | right now | at the moment |
        these days | currently | this week | this month | last week | last month | last year |
        yesterday | on top | in fees | in gas | of every <act> | of each <act> | on average | or so
        | extra | on <act> | on withdrawals | on deposits | on profits | on gains | tomorrow |
        already | ago | old | years | this year | since | on sales
    """,
    "o_coin": """
        eth | btc | bitcoin | ethereum | ether | sol | solana | gold | silver | oil | the euro |
        eur | one eth | one btc | the market | the s&p | the dollar | nvidia | tesla | apple | a
        bitcoin | an eth | doge | eurusd
    """,
    "o_person": """
        sister | brother | friend | wife | husband | mother | father | mom | dad | boss | neighbour
        | neighbor | colleague | cousin | uncle | aunt | son | daughter | landlord | partner |
        accountant | kid | kids | children | friends | other agent | other bot | old bot | ex |
        grandmother | team | company
    """,
    "o_owned": """
        birthday | rent | salary | car | house | phone | laptop | mortgage | invoice | electricity
        bill | flight | holiday | wedding | sister's birthday | brother's birthday | wife's
        birthday | mother's birthday | daughter's birthday | son's birthday | friend's birthday |
        mom's birthday | dad's birthday | account number | other account | savings | bill | flat |
        insurance | subscription | server | income | pension | loan | tax bill | previous budget |
        last budget | old budget | other wallet
    """,
}
