"""Caps per day; `_or` is the second cap of `no more than A per trade or B per day`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "day": """
        ( <you> )? ( <may> )? ( <spends> ) ( <upto> )? <amt> of ( it | that | them ) ( <in_day> )
        ( the )? ( most | maximum ) <per_day> ( is | at | : ) <amt>
        ( and | with | at | <you> <may> )? ( <spendv> | risk )? <max>? <amt> <maxtail>? ,? ( in
            total | total | overall )? <per_day> ( <maxtail> | in total | overall | total )?
        ( <you> | <you> <may> | you )? ( <not> ) ( ( <spendv> ) ( more than | over | above ) |
            exceed | go over | go above ) <amt> ( in total | total )? ( in | on )? <per_day>
        <per_day> ( cap | limit | max | maximum | budget | spend | spending | total | allowance |
            spend limit | spending limit | spend cap | spending cap | ceiling | amount ){0,1} (
            <is> | <max> | is <max> | is capped at | is limited to | must not exceed | should not
            exceed | may not exceed | cannot exceed | can't exceed | shall not exceed | stays under
            | must stay under | should stay under | no more than | you can spend | you may spend |
            spend at most | spend up to | spend no more than | can be <max> | may be <max> | should
            be <max> | capped at | limited to | must be <max> | must stay below | never more than |
            shouldn't exceed | mustn't exceed | it may spend | it may spend up to | you may spend
            up to | you can spend up to | the agent may spend up to | the agent can spend up to |
            use at most | use no more than | use up to | never above | never over )? <amt> ( in
            total )? <maxtail>?
        ( a | the | my | with a | set a | set the | our )? ( max | maximum | hard | strict )? (
            daily | day | per day | every day | each day | total daily ) ( spend | spending |
            trading )? ( cap | limit | max | maximum | budget | spend | spending | total |
            allowance | ceiling | amount | volume cap ) <is>? ( max | at most | up to )? <amt> (
            max | maximum | in total )?
        ( max | maximum | the max | the maximum ) ( daily | total daily ) ( spend | spending |
            amount | total | volume )? <is>? <amt>
        ( max | maximum | the max | the maximum ) ( spend | spending | amount | total )? <per_day>
            <is>? <amt>
        ( cap | limit | caps | limits | spending cap | spending limit | spend limit | spend cap | a
            cap | a limit | the cap | the limit | set the cap | set a cap | set a limit | set the
            limit | ceiling | hard cap | hard limit | budget | total | spend | spending | allowance
            ) <per_day> <is>? <amt>
        ( a | the | my | with a | set a | set the | caps of | cap of | limit of | limits of |
            limits : | caps : | a limit of | a cap of )? <amt> ( cap | limit | max | maximum |
            ceiling | budget | allowance | total | spend ) ( <per_day> | on each day | for each day
            | for the day | on daily spend | on daily spending )
        ( caps | limits | cap | limit ) ( of | : | are | at | = ) <amt> <per_day>
        ( a | an | the | with a | with an )? <amt> ( daily | day | per day ) ( cap | limit | max |
            maximum | budget | allowance | spend | spending limit | spend limit | total )
        ( cap | limit | keep | restrict | hold ) ( daily spending | spending | daily spend | the
            daily spend | the daily total | daily totals | the daily spending | total daily
            spending | it | the total | the agent | my daily spend | daily trading | total spending
            | activity | each day's spending | daily costs ) ( to | at | under | below | within |
            to at most | to a maximum of | to no more than ) <amt> <per_day>
        ( cap | limit | keep | restrict | hold ) ( daily spending | daily spend | the daily spend |
            the daily total | daily totals | the daily spending | total daily spending | my daily
            spend | each day's spending | daily totals ) ( to | at | under | below | within | to at
            most | to a maximum of | to no more than ) <amt>
        ( daily | each day's | a day's ) ( spending | spend | total | totals | purchases | trades )
            ( must | should | may | can )? ( not exceed | stay under | stay below | be at most |
            never exceed | add up to at most ) <amt>
        no more than <amt> ( should | may | can | is to | must )? ( be spent | leave | go out | be
            used | be traded | be moved ) <per_day>
        spend <amt> ( or less )? <per_day>
        the most ( <you> )? ( <may> )? ( ever )? <spendv> ( in | on | per | for ) ( one | a | a
            single | any | any one | any single | each )? day is <amt>
        ( <you> )? ( must | should | may | can ) ( not | never ) ( <spendv> ( more than | over ) |
            exceed ) <amt> ( in | on )? <per_day>
        ( do not | don't | never ) let ( it | the agent | the bot ) ( <spendv> ) ( more than | over
            ) <amt> ( in | on | for )? <per_day>
        ( i | we ) ( allow | permit | accept ) <max>? <amt> <per_day>
        ( spending | spend ) ( limit | cap ) ( of | : )? <amt> <per_day>
        ( spend it slowly : | spread it out : | slowly : | pace yourself : ) <amt> <per_day>
        ( no day | no single day ) ( over | above | with more than | may exceed | should exceed |
            can exceed ) <amt>
        ( no | not a single ) ( day | days ) ( over | above | with more than ) <amt>
        ( <spendv> )? <max> <amt> ( goes out | is spent | may go out | may be spent | leaves | can
            be spent ) <per_day>
        ( i'll | i will | we'll | we ) ( allow | permit | accept ) ( up to | at most )? <amt>
            <per_day>
        for <amt> <per_day> ( at most | max | tops | or less )
        ( <my> )? ( allowance | spending | spend ) ( is | : ) <amt> <per_day>
        ( your | my | the ) ( max | maximum | limit | cap ) <per_day> <is>? <amt>
        ( limit | cap | keep ) ( each | every | the | any ) day ( to | at | under ) <amt>
        ( <my> )? ( total | overall )? ( daily | day | each day's | per day | total daily | a day's
            | every day's ) ( spend | spending | total | totals | budget | limit | cap |
            usage | outlay | cost | costs | purchases | trading | trades | allowance | maximum | max
            | expenses | expenditure | ceiling | amount | spending limit | spend limit | spend cap |
            spending cap ) ( <bound> | <is> | is going to be ) <amt> ( <maxtail> )?
        ( the | my | a | our | your )? ( total | overall )? ( spending | spend | total )? ( limit |
            cap | maximum | max | ceiling | budget | total | amount | spend ) ( for | on | in | of )
            ( one | a | a single | any | any one | any single | each | every | any given | a given )
            day ( <is> | <bound> | is going to be )? <amt>
        no ( single | one | individual )? day ( ( bigger | larger | more | greater | higher | with
            more | costing more ) than | over | above | beyond | exceeding | in excess of | should
            cost more than | may cost more than | can cost more than | should go over | may go over
            | goes over | should exceed ) <amt>
        ( make sure | ensure | see to it ) ( that )? ( <you> | we )? ( never | do not | don't |
            doesn't | does not ) ( spend | spends | use | uses ) ( more than | over ) <amt>
            <per_day>
        ( make sure | ensure | see to it ) ( that )? ( the )? ( daily | day's | daily total | daily
            spend | daily spending ) ( total | spend | spending )? <bound> <amt>
        ( never | do not | don't | you may not | you must not | you can't | you cannot | please
            don't | please do not ) ( pay | spend | put | use | go | bet | commit | invest | burn |
            burn through | get through | let go of ) ( more than | over | above | beyond | in excess
            of ) <amt> ( ( on | for | in | within | during ) ( one | any one | a single | any single
            | any given | each | every | any | a | the same ) ( single | given )? day | <per_day> )
        ( pay | spend | use | put | bet | invest | trade | buy ) ( for )? ( less than | under |
            below | at most | no more than | not more than | up to | a maximum of | max | maximum )
            <amt> ( max | in total | total )? ( <per_day> | ( on | in | within ) ( one | any one | a
            single | any single | each | every | any | any given ) day )
        ( <you> | you | it | the agent ) ( can | may ) ( only )? ( pay | spend | use | put | bet |
            invest ) ( at most | no more than | not more than | up to | less than | under | a
            maximum of | max )? <amt> ( in total | total )? ( <per_day> | ( on | in | within ) ( one
            | any one | a single | any single | each | every | any | any given ) day )
        ( the )? ( most | maximum ) ( <you> | to | i want you to )? ( <may> | should )? ( ever )? (
            pay | spend | put | use | <spendv> ) ( in | on | per | for | within ) ( one | a | a
            single | any | any one | any single | each | every | any given )? ( single )? day ( is |
            : ) <amt>
        <amt> ( is | should be | will be ) ( the | my | your | our )? ( max | maximum | limit | cap
            | ceiling | most | upper limit | hard limit ) ( <per_day> | for ( one | a | a single |
            any | any single | each | every | any one | the ) day | <you> <may> ( spend | pay | use
            ) ( <per_day> | in ( one | a | any ) day ) )
        ( spending | spend | trading | purchases | costs | total spending ) ( <bound> ) <amt>
            <per_day>
        ( limit | cap | keep | hold | restrict ) ( your | my | the | all | its | any | total )? (
            spending | spend | yourself | itself | it | purchases | payments | trading | costs |
            this | things | expenses ) ( to | at | under | below | within | to at most | to no more
            than | down to | to under | to less than ) <amt> ( max )? ( <per_day> | ( on | in |
            within | during ) ( one | any one | a | a single | any single | any given | each | every
            | any | the same ) ( single )? day )
        ( let's )? ( cap | limit | keep ) ( it | things | this | spending | everything ) ( to | at |
            under | below ) <amt> ( <per_day> | ( on | in | within | during ) ( one | any one | a |
            a single | any single | any given | each | every | any | the same ) ( single )? day )
        ( stay | keep | remain | be | live | work | operate ) ( under | below | within | at or below
            | at or under | inside ) ( a limit of | a budget of | a cap of )? <amt> ( <per_day> | (
            on | in | within | during ) ( one | any one | a | a single | any single | any given |
            each | every | any | the same ) ( single )? day )
        ( no more than | not more than | at most | max | maximum | up to | never more than | not
            over | less than | under ) <amt> ( should | may | can | must | is to | to | shall | will
            )? ( ever )? ( be )? ( spent | paid | used | traded | invested | go out | leave | put |
            risked | moved ) ( <per_day> | ( on | in | within | during ) ( one | any one | a | a
            single | any single | any given | each | every | any | the same ) ( single )? day )
        <not> ( ( <spendv> | pay | bet | risk | go | let it spend ) ( more than | over | above | in
            excess of | beyond ) | exceed ) <amt> ( <per_day> | ( on | in | within | during ) ( one
            | any one | a | a single | any single | any given | each | every | any | the same ) (
            single )? day )
        ( i | we ) ( do not | don't | would not | wouldn't | never ) want ( <you> | it )? ( to )? (
            spend | spending | pay | use | using | paying | exceed ) ( more than | over | above )
            <amt> ( <per_day> | ( on | in | within | during ) ( one | any one | a | a single | any
            single | any given | each | every | any | the same ) ( single )? day )
        ( i'd | i would | i | we ) ( allow | want | let | say | suggest | prefer | set | am fine
            with | am ok with | like ) ( <you> )? ( spend | to spend | have | use )? ( at most | no
            more than | up to | a maximum of | max | not more than ) <amt> ( <per_day> | ( on | in |
            within | during ) ( one | any one | a | a single | any single | any given | each | every
            | any | the same ) ( single )? day )
        ( spend | pay | use | invest | trade | buy | put ) <amt> ( or less | max | at most | tops |
            at the most | or under | maximum ) ( <per_day> | ( on | in | within | during ) ( one |
            any one | a | a single | any single | any given | each | every | any | the same ) (
            single )? day )
        <amt> ( or less | max | at most | tops | at the most | or under | maximum | is the limit |
            is the max | is the maximum | is the cap | is the most | is my limit | is your limit ) (
            <per_day> | ( on | in | within | during ) ( one | any one | a | a single | any single |
            any given | each | every | any | the same ) ( single )? day )
        ( max | maximum ) ( day | daily | for the day | for a day | in a day | for one day | in one
            day | day total | daily total | daily spend | daily amount | daily spending ) <is>?
            <amt>
        ( the | my | our )? ( total | overall )? ( daily | per day | day | day's ) ( outgoings | use
            | consumption | total spend | allocation | quota | burn | burn rate | pocket money |
            ration | expense ) ( <bound> | <is> )? <amt> ( <maxtail> )?
        ( your | my | the )? ( limit | cap | maximum | max | ceiling ) ( per | for each | for every
            | on each | on every | for any | for one | for a | for the | for a single | for any
            single ) day ( <is> | <bound> )? <amt>
        ( keep | hold | limit | cap ) ( the | each | every | any | a ) day ( at | to | under | below
            | within | at or below ) <amt>
        ( up to | at most | no more than | max | maximum | under | below | less than | not more than
            | not over ) <amt> ( for | on | in | within ) ( one | any one | a single | any single |
            each | every | any | every single | any given | a given ) day
        ( daily | each day | every day | per day | in a day | a day ) ,? ( <you> | it | the agent )?
            ( can | may )? ( spend | use | pay )? ( at most | no more than | not more than | up to |
            max | maximum | under | less than | never more than ) <amt> ( <maxtail> )?
        <amt> ( a day | per day | each day | every day | daily ) ( is | should be | will be )? ( the
            | my )? ( max | maximum | limit | cap | ceiling | most | absolute max | absolute maximum
            | upper limit )
        <max> <amt> ( may | can | must | should | is to ) ( ever )? be ( spent | used | paid |
            invested | traded ) ( in | on )? <per_day>
        <per_day> ,? <you>? <may> ( <spendv> ) ( up to | at most | no more than | only )? <amt>
        ( your | my | the | our | its )? ( max | maximum | highest )? daily ( outlay | spend |
            spending | expense | expenses | ceiling ) ( is | of | : | at | stays under |
            <bound> )? <amt>
        ( a | the | with a | at a | under a )? <amt> daily ( cap | limit | maximum | max | ceiling )
        ( <spendv> | buy | purchase ) <max> <amt> worth of W{1,3} <per_day>
    """,
    "day_share": """
        ( cap | limit | keep | hold | restrict ) ( ( each | every | any | the | a ) ( single )? day
            |
            ( the )? daily ( spend | spending | total ) ) ( at | to | under | below | within ) (
            most | no more than )? PCT
        ( <spendv> )? <max> PCT ( <budget_of> )? <per_day>
        ( <spendv> )? PCT ( max | maximum | at most | tops | or less ) <per_day>
        ( <spendv> )? PCT ( <budget_of> ) ( max | maximum | at most )? <per_day>
        <per_day> ( <max> | at most | up to | is <max> | cap : | limit : | cap | limit | cap of |
            limit of | : ) PCT ( <budget_of> )?
        <per_day> PCT <budget_of>
        ( a | the )? ( daily | per day ) ( cap | limit | max | budget ) <is>? PCT ( <budget_of> )?
        ( <not> ) ( <spendv> ) ( more than | over ) PCT <budget_of> ( in | on )? <per_day>
        ( use | spend | trade | put )? PCT <budget_of> <per_day> ( at most | max | maximum | or
            less )
    """,
    "day_or": """
        ( or | nor ) ( more than | over )? <amt> ( in total )? ( <per_day> )
    """,
}
