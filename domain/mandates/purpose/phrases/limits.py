"""One set of frames for caps per action and per day, as an amount or a share of the budget.

`FIG` stands for the figure, `UNIT` for per what it counts, `EACH` for what may not be larger.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "limit_figure": """
        ( MONEY | NUM ) ( <of_sum> )? | PCT ( <budget_of> | of that | of this )
    """,
    "of_sum": """
        of ( it | that | this | them | which | the budget | the money | your budget )
    """,
    "in_day": """
        <per_day_too> | in a given day | per calendar day | for each day | for every day | for any
        day | for one day | for a day | within one day | within any day | within the same day | over
        one day | over any day | on any given day | within a single day | during any one day |
            during one day | any one day
        | ( in | within | during | over ) ( any | a | each | every | one | any given ) ( rolling |
            given | single )? day
    """,
    "topped": """
        max | maximum | at most | tops | at the most | at the very most | at the utmost | at maximum
        | or less | or under | or below | or smaller | and no more | and not more | no more | as a
        maximum | as a limit | as a cap | in total | all told
    """,
    "topmost": """
        at the very most | at the utmost | ( i | we | i'm | i am )? ( set | setting ) ( the | a | my
        | your )? ( limit | cap | ceiling ) ( at | of | to ) | under no circumstances more than |
        not a cent more than | not a dollar more than | not one cent more than | not one dollar more
        than | not a penny more than | never ever more than | nothing above | nothing over | nothing
        beyond | as much as | a maximum spend of | maximum spend of | max spend of | with a ceiling
        of | a ceiling of | ceiling of | ceiling : | ceilings : | ceilings are | ceiling is | an
        upper limit of | upper limit of | upper limit : | with an upper limit of
    """,
    "held": """
        ( i | we | i'm | i am | i'll | i will | you must | you should | you have to | you need to )?
        ( cap | limit | restrict | keep | hold | confine ) ( you | yourself | itself | it | things |
        everything | this | the agent | the bot | ( your | the | my | all | its | any | total |
        daily )? ( daily )? ( spending | spend | trading | purchases | expenses | costs | outlay |
        investments ) )? ( at | to | under | below | within | to under | to at most | to no more
        than | to a maximum of | at or below | at or under | down to ) | ( stick | keep | stay |
        remain | hold ) ( to | under | below | within | inside | at or below | at or under ) | (
        you're | you are | it is | it's | <you> is | <you> are | ( your | the | its )? ( spending |
        trading | spend | outlay | expenses ) ( is | are | must be | should be | shall be ) ) (
        limited to | capped at | restricted to | held to | confined to | to stay under | kept under
        | to be kept under | to stay below )
    """,
    "most_spent": """
        ( <you> | you | <permitted> to | you're allowed to | you are allowed to | <saying> ) ( <may>
        | must | should )? ( only | ever )? <spends> ( <upto> | under | below | less than ) | (
        <let_spend> | may | can | shall | should ) ( only | ever )? <spends> ( <upto> | under |
        below | less than ) | <spends> ( <upto> | under | below | less than ) | ( only | just )
        <spends>
    """,
    "let_spend": """
        ( i | we ) ( hereby )? ( authorise | authorize | allow | permit | want | instruct | trust |
        empower | ask | would like | 'd like ) <you> to | ( i'd | we'd ) like <you> to | let <you> |
        ( ( <you> | you ) ( is | are ) | you're ) ( hereby )? ( authorised | authorized | permitted
        | free | entitled | welcome | cleared | empowered | allowed ) to | feel free to
    """,
    "obeying": """
        ( please )? ( stick to | keep to | respect | observe | obey | honour | honor | mind | follow
        | stay within | keep within | stay under | comply with | adhere to | apply | set | use |
        have ) | there is | there's | ( i | we ) ( set | want | need | impose | 'd like ) | i'd like
        | i'm setting
    """,
    "not_more": """
        ( <not> | not | never | at no time | at no point | under no circumstances ) ( ever )? ( (
            <spends> | let it spend | let the agent spend | let the bot spend )? ( more than | over
            | above | beyond | in excess of ) | exceed | go ( higher | bigger | larger ) than )
    """,
    "within": """
        <bound> | ( tops out | maxes out | caps out | is topped out ) at | ( may | can
            | must |
            should | shall | is to | are to | to | will )? be ( <upto> |
        under | below | within ) | ( is | are ) ( <upto> | allowed <upto> | limited to ) | ( may |
        can | must | should | shall | to | will ) ( use | cost | take | go | amount to | come to |
        reach | total | add up to | go up to | stay | involve ) ( <upto> | under | below | within )
        | ( tops out | top out | topping out | maxes out | max out | peaks | is topped | are topped
        ) at | to stay ( under | below | within | at or below | at or under ) | to be ( no larger
        than | no bigger than | no more than | smaller than )
    """,
    "outgrow": """
        ( exceed | go above | go over | go past | go beyond | get above | get over | be more than |
        be larger than | be bigger than | be over | be above | cost more than | cost over | surpass
        | pass | rise above | climb above | grow beyond | come to more than | top )
    """,
    "one_act": """
        ( per | a | an | each | every | any | / | ( for | on | in | into | to | within ) ( one | a |
        an | any | any one | each | every | any given | a given ) ) ( single | individual | given )?
        ( <act> | <acts> ) | at a time | at one time | at any one time | at once | in one go | in a
        single go | each time | a pop | a go | a shot | a piece | apiece | a time
    """,
    "each_act": """
        ( each | every | any | a | an | one | any one | any given | the | all | your | my | our |
        its | ( the )? ( size | value | amount | cost | price ) ( of | for | spent on ) ( each
        | every | any | a | an | one | any one ) | ( the )? ( amount | spending | sum | spend
        | outlay | cost | total | money ) ( spent | used | invested | paid | put in )? ( per | ( on
        | for | in ) ( each | every | any | one | a ) ) | ( the | a )? ( max | maximum | largest |
        biggest | highest ) )? ( single | individual | allowed | permitted )? ( <act> | <acts> ) (
        size | sizes | amount | value | cost )?
    """,
    "each_day": """
        <day_sum> | ( the )? ( total | combined | aggregate | overall )? ( amount | spending | sum |
        spend | outlay | total | expenses | expenditure | costs | activity | trading | money ) (
        spent | used | invested | paid | put in )? ( per | on each | on any | on one | for each |
        for every | for any | for one | in each | in any | in one | in a | each | every | of each |
        of any | of one | of a | within a | within one ) ( single | given )? day | ( the | each |
        any | a )? ( day's | daily ) ( total | totals | spending | spend | activity | outlay |
        trading ) | ( the )? ( sum | total ) of ( all | the )? ( a | one | each | any )? day's (
        <acts> | spending ) | ( all | the ) ( <acts> | spending ) ( of | in | on | within | per |
        from ) ( a | one | any | each | the same | any one | a single )? day ( together | combined |
        taken together | added up | in total )?
    """,
    "made_sure": """
        ( i want | we want | i'd like | i would like | i need | we'd like | have | make | keep |
        make sure | make sure that | ensure | ensure that | see to it that | please make sure | let
        )
    """,
    "fine": """
        ( is | are | is still | are still | would be ) ( fine | ok | okay | allowed | permitted |
        all right | alright | acceptable | good | no problem )
    """,
}
_FRAMES: Final = """
        ( ( <held> | <most_spent> | <not_more> ) FIG <topped>? | ( <upto> | <max> | <topmost> ) FIG
            ( ( <may> | must | should | shall | is to | are to )? ( only | ever )? be ( spent | used
            | paid | invested | traded | put | moved | committed ) | ( may | should | can )? ( go |
            goes ) | applies | <topped> )? | ( with )? FIG ( is | as ) the ( most | maximum | max |
            limit |
            cap | ceiling | upper limit ) ( <you> | you ) <may>? ( ever )? <spends> ) ( UNIT ) (
            <topped> | <fine> )?
        ( UNIT ) ( , | : | - | = )? ( ( <held> | <topmost> | <most_spent> | <not_more> | <upto> |
            <max> ) FIG <topped>? | ( <you> | you )? <may>? <spends> FIG <topped> )
        <made_sure>? ( EACH ) ( ( <within> | <topmost> ) FIG <topped>? | ( : | - | = | is | of | may
            be | can be | must be | should be | to be | may cost | can cost )? FIG <topped> )
        ( ( don't | do not | never | you must not | you must never | never ever | you may not ) (
            let | allow ) | none of | ( at no time | at no point | under no circumstances | in no
            case ) ( should | may | must | can | shall ) ) ( EACH ) ( to | may | should | can | must
            | shall )? <outgrow> FIG
        PCT ( UNIT ) <topped>
        ( <you> ( is | are ) | you're | you are | it's ) ( allowed | permitted ) ( <upto> )? FIG (
            UNIT )
        <made_sure>? ( EACH ) <within> ( a maximum of | the sum of | a sum of | an amount of | the
            amount of | a total of | a limit of | at most | no more than ) FIG
        ( EACH ) ( : | - | = ) ( <upto> | <max> | under | below ) ( MONEY | PCT <budget_of> )
            <topped>?
        <not> go ( higher | bigger | larger ) than FIG ( UNIT )
        ( of which | from which | out of which ) ,? ( <upto> | <topmost> )? ( <amt> | PCT )
            <topped>? ( ( <may> | must | should | shall | is to | are to ) ( only | ever )? ( be (
            spent | used | paid | invested | traded | put | moved | committed ) | go ) )? ( UNIT )
            <topped>?
        ( of which | from which ) <you> <may> ( only )? <spends> ( <upto> | only )? ( <amt> | PCT )
            ( UNIT ) <topped>?
        PCT ( <budget_of> | of that | of this ) ( ( <may> | is allowed to ) ( go | be ( spent | used
            | invested | traded | put | moved | committed ) ) | <may> <you> <spends> ) ( UNIT )
            <topped>?
        FIG ( is | as ) ( the | my | your | a | its )? ( most | maximum | max | limit | cap |
            ceiling | upper limit ) ( UNIT )
        ( i | we | i'm | i am | i'll | i will | you must | you should | you have to | you need to )?
            ( keep | hold | limit | cap | restrict ) ( EACH ) ( at | to | under | below | within |
            at or below | at or under | to at most | to no more than ) FIG <topped>?
        ( the )? ( most | maximum ) ( <you> | you ) ( <may> | should )? ( ever )? ( <spends> ) (
            UNIT ) ( is | : | = ) FIG
        ( <a_limit> | ( the | a | my )? ( limit | cap | ceiling | maximum | max ) ) ( UNIT ) ( : |
            is | = | of | at )? FIG
        <a_limit> ( : | is | = | of | at )? FIG ( UNIT )
        ( so )? ( that's | that is | which is | that makes | that means | which means | meaning ) (
            ( <upto> | <max> ) FIG ( UNIT ) | FIG ( <topped> ( UNIT ) | ( UNIT ) <topped> ) )
        ( EACH ) ( capped at | limited to | to | at | of ) PCT <budget_of>
        ( EACH ) ( <within> | ( may be | should be | must be | is | to be ) <upto>? ) PCT
"""
_ACT_ONLY: Final = """
        ( individual | single | any single | every single ) ( <act> | <acts> ) ( of )? <upto> FIG (
            each | apiece )? <fine>
        ( <a_limit> | a | the | my | with a | our )? ( per <act> ) ( ceiling | maximum | max | limit
            | cap | amount | size | spend | spending ) ( limit | cap )? ( <is> | <bound> )? FIG (
            applies | please )?
        ( a | the | my | with a | an )? ( max | maximum | largest | biggest | highest | top ) (
            single | individual | allowed | permitted )? <act> ( size | amount | value )? ( allowed
            | permitted | <you> <may> ( make | do | place ) )? ( of | is | : | = | may be | can be |
            must be | should be | will be ) FIG
        ( <you> ( is | are ) | you're | you are | i'm | <not> )? ( not allowed to | not permitted to
            | not to | forbidden to ) ( make | do | place | open | enter ) ( a | any )? ( <act> |
            <acts> ) ( <over> ) FIG
        ( the | your | my )? ( trade | order | position )? ( size | sizes | amount | value | stake |
            spend | spending | outlay | cost | price ) ( UNIT ) ( <within> | <topmost> | : | = )
            FIG <topped>?
        ( the | my )? ( largest | biggest | highest | maximum | max ) ( amount | sum | size | spend
            | value | price | cost )? ( allowed )? ( UNIT ) ( is | : | = | of ) FIG
        size ( EACH ) ( ( at | to ) FIG <topped> | ( under | below | at most | at or below | at no
            more than ) FIG )
        <obeying> ( my | the | a )? ( per trade | per transaction | per purchase | <act> ) ( limit |
            cap | maximum | ceiling ) ( of | at | : | = ) FIG
        ( <not> | never ) ( buy | purchase | order | get | pay for | take ) ( anything | something |
            things | items | any item | any one thing | any single thing | any <act> ) ( that |
            which )? ( costs | cost | is | are | costing | priced | is priced )? ( <over> | above |
            more expensive than | pricier than | dearer than | for more than ) FIG ( each | apiece |
            a piece )?
        ( nothing | no item | no single item | no one item ) ( that | which )? ( costs | cost | is |
            costing )? ( bigger than | larger than | greater than | pricier than | more expensive
            than | dearer than | costing more than | above | over | worth more than ) FIG ( each |
            apiece | a piece | please )?
        ( nothing | no item | no single item | no one item ) ( that | which )? ( costs | cost ) (
            more than | over | above ) FIG
        no ( single | one | individual )? ( <act> | <acts> ) ( should | may | can | must | shall |
            will | is to | are to ) ( ever )? ( ( be worth | be for | be of | involve | use | take |
            cost | be placed for | be made for ) ( more than | over | above | in excess of ) | be in
            excess of | exceed | surpass | go over | go above | go beyond | come to more than |
            amount to more than ) ( the sum of | the amount of | an amount of | a value of | a total
            of )? FIG ( each | please )?
        ( keep | make ) ( the | your | all | my )? <acts> ( small | tiny | modest | short ) ( , | :
            | - ) ( <max> FIG ( each | apiece | per trade ) | FIG <topped> ( each | apiece | per
            trade ) )
        ( only )? small ( <acts> ) ( only | please | only please )? ( , | : | - ) ( <max> FIG |
            FIG <topped> ) ( each | apiece | per trade )
        ( keep | make ) ( the | your | all | my ) <acts> ( small | tiny | modest | short ) : ( <max>
            FIG | FIG <topped> )
        ( articles | papers | reads | datasets | books | files | searches | queries | downloads |
            things | <acts> ) ( ( must not | should not | may not | shall not | can't | cannot |
            shouldn't | mustn't ) ( cost | exceed ) ( more than | over )? | ( must | should | shall
            ) ( each )? ( cost | be ) ( <upto> | under | below | less than ) ) FIG ( each | apiece
            )?
        ( i | we ) want no ( single | individual )? ( <act> | <acts> ) ( <over> ) FIG
        ( any | a | an )? ( single | individual )? ( <act> | <acts> ) ( of )? ( <over> ) FIG ( is |
            are ) ( not allowed | forbidden | not ok | not okay | never allowed | prohibited | not
            permitted | off limits | too much | too big | too large | out of the question )
"""
_DAY_ONLY: Final = """
        on no ( single )? day ( should | may | can | must ) <you> <spends> ( more than | over ) FIG
        ( my | the | your | a ) daily ( limit | cap | maximum | ceiling ) ( for ( you | the agent |
            the bot | my agent ) is | of ) FIG ( applies )?
        ( <obeying> )? ( my | the | your | a | an )? ( strict | hard | firm | upper )? daily (
            spending | spend )? ( limit | cap | maximum | ceiling ) ( of | at | : | = ) FIG
        ( and )? ( each | every | any | a ) day ( to | at | below | under | capped at | limited to )
            FIG
        ( you | <you> ) ( have | has ) ( <upto> )? FIG ( UNIT )
        ( you | <you> ) ( get | gets ) ( <upto> FIG ( UNIT ) | FIG ( UNIT ) <topped> )
"""


_FIGURE: Final = "<limit_figure>"


def _filled(frames: str, unit: str, each: str) -> str:
    """The frames of one limit."""
    for place, part in (("FIG", _FIGURE), ("UNIT", unit), ("EACH", each)):
        frames = frames.replace(f" {place}", f" {part}")
    return frames


PHRASES: Final[Mapping[str, str]] = {
    "budget_of": """
        of ( the | my | our | your | a | its )? MONEY ( budget | pot | total | mandate | capital |
            fund | in total )? <topped>?
        of ( the | my | our | your | a ) <amt> ( budget | pot | total | mandate | capital | fund )
            <topped>?
    """,
    "tx_one": """
        ( keep | hold | make ) ( each one | each of them | every one | every one of them | each |
            them each | any one of them ) ( at | to | under | below | within | at or below | at or
            under | cheaper than | to under | to at most ) <amt> <topped>?
        ( each one | each of them | every one of them | every one ) ( <bound> |
            <topmost> | may cost <upto> | must cost <upto> | should cost <upto> | costing <upto> )
            <amt> <topped>?
        ( none | not one ) ( of them | of these )? ( over | above | costing more than | for more
            than | worth more than ) <amt>
    """,
    "tx": _filled(_FRAMES + _ACT_ONLY, "<one_act>", "<each_act>"),
    "day": _filled(_FRAMES + _DAY_ONLY, "<in_day>", "<each_day>"),
}
