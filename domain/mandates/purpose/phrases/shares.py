"""A part of a budget, and the budget that it is a part of, said in one breath: "10% of its 600 USDC
for any one trade", "of my 5,000 USDC at most 10% a day".

`tx_part` and `day_part` hold the part, `part_of` what it is a part of, and the unit behind it tells
what is capped; `tx_of`, `lost_of` name it themselves; none says anything alone. "Of the 600 USDC
per day" (`part_the`) may be 600 a day: the day has to be said in another way there (`day_on`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PART: Final = """
        ( <you> | you )? ( <may> | must | should | shall )? ( only | ever )? ( <not> )? ( <puts> )?
            ( more than | over | above | never more than | at the most | <upto> )? <val> ( at most |
            max | at the most )?
        ( at any time | <saying> <puts> ) <upto>? PCT
        ( puts | uses | spends | invests | trades | commits | moves | places ) <upto>? PCT
"""

PHRASES: Final[Mapping[str, str]] = {
    "tx_part": _PART,
    "day_part": _PART,
    "tx_of": """
        no ( single | one | individual )? ( <act> | <acts> ) ( ( <may> | must | should | shall | is
            to )? ( ever )? ( use | exceed | cost | take | be | go ) )? ( <beyond> )? PCT
        ( a | one | any | each | every ) ( single )? ( <act> ) ( <may> ) ( take ( up )? | use | use
            up | cost | be ) ( <upto> )? PCT
    """,
    "lost_of": """
        ( <you> | you )? ( <may> | are allowed to | is allowed to ) lose ( only )? <val>
        ( i | we ) ( accept to | can | can afford to ) lose ( only )? <val>
    """,
    "part_of": """
        <whole_sum> <was_given>
        ( of | out of | from ) ( my | our | your | its ) ( original | initial | total | whole |
            starting | full )? <amt>
        ( of | out of | from ) ( a | the | my | your | its | our ) ( whole | total | initial | full
            | entire | starting )? ( budget | total | capital | pot | sum | allowance ) of MONEY
    """,
    "part_the": """
        ( of | out of | from ) ( the | this | that | these | those ) ( original | initial | total |
            whole | starting | full )? MONEY ( budget | total | capital | pot | mandate | fund |
            allowance | stake | deposit | account )?
    """,
    "tx_unit": """
        ,? ( <may> ( ever )? ( go | be put | be spent | be used | be invested | be traded ) )? (
            <one_act> ) ( <topped> )?
        ( is | as ) ( the | my | your | a )? ( limit | cap | ceiling | maximum | max | most ) (
            <one_act> )
    """,
    "day_unit": """
        ( <in_day> ) ( <topped> )?
    """,
    "day_on": """
        ( ,? <may> ( ever )? ( go | be put | be spent | be used | be invested | be traded ) | , ) (
            <in_day> ) ( <topped> )?
        ( in | on | within | during ) ( any | any one | a | each | every | one | a single | any
            single | any given | a given ) day ( <topped> )?
        ( is | as ) ( the | my | your | a )? ( limit | cap | ceiling | maximum | max | most ) (
            <in_day> )
    """,
    "tx_label": """
        per ( trade | tx | transaction | action | purchase | order ) PCT
    """,
    "day_label": """
        ( per day | daily ) PCT
    """,
    "budget_from": """
        ( from | out of | of ) ( my | the | your | our | this | that | these | its ) ( whole | total
            | initial | full | entire | starting )? MONEY ( budget | total | capital | pot | fund |
            allowance | deposit )? <given_you>? ,?
        ( from | out of | of ) ( a | the | my | your | its ) ( total | whole )? ( budget | total |
            pot | capital ) of MONEY ,?
    """,
    "tx_share": """
        ( ( <you> | you ) <may> ( only | ever )? <puts> | <saying> <puts> ) ( <upto> | only ) PCT (
            <one_act> ) ( <topped> )?
        <never> <puts> ( more than | over | above ) PCT ( <of_sum> )? ( <one_act> )
        ( <upto> )? PCT ( <of_sum> ) ( <one_act> ) ( <topped> )?
    """,
    "day_share": """
        ( ( <you> | you ) <may> ( only | ever )? <puts> | <saying> <puts> ) ( <upto> | only ) PCT (
            <in_day> ) ( <topped> )?
        <never> <puts> ( more than | over | above ) PCT ( <of_sum> )? ( <in_day> )
        ( <upto> )? PCT ( <of_sum> ) ( <in_day> ) ( <topped> )?
    """,
    "tx": """
        <amt> <of_sum> ( <one_act> ) ( <topped> )?
    """,
    "day": """
        <amt> <of_sum> ( <in_day> ) ( <topped> )?
    """,
    "tx_share_too": """
        PCT <budget_of>? <one_act>
    """,
    "day_share_too": """
        PCT <budget_of>? <in_day>
    """,
}

PARTS: Final[Mapping[str, str]] = {
    "never": """
        ( please )? ( never | do not | don't | not | never ever ) | ( <you> | you ) ( must | may |
        should | shall ) ( not | never )
    """,
    "puts": """
        <spends> | go up to
    """,
}
