"""Caps per action; `_or` is the second cap of `no more than A per day or B per trade`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "tx": """
        ( each | every | any ) ( single )? ( action | purchase | payment | transaction | order |
            trade )
            ( costs | uses | takes | moves | spends ) ( at most | no more than | not more than | up
            to
            | max | a maximum of ) <amt>
        no ( single | one | individual )? <act> ( is | are )? ( ever )? ( to | allowed to |
            permitted to | ever to ) ( exceed | go over | go above | go beyond | cost more than |
            be more than | be over | be above | surpass | top ) <amt>
        ( and | with | at | <you> | you <may> | <you> <may> )? ( <spendv> | risk )? <max>? <amt>
            <maxtail>? ,? <per_act> <maxtail>?
        ( <you> | <you> <may> | you )? ( <not> ) ( ( <spendv> | risk ) ( more than | over | above )
            | go over | exceed | go above ) <amt> ( ( in | on | for | with ) )? <per_act>
        ( per | each | every | any | any one | any single ) ( single | individual | one )? <act> (
            cap | limit | max | maximum | budget | size | spend | amount | allowance | ceiling |
            size limit | spend limit | spending limit | maximum size ){0,1} ( <is> | <max> | is
            <max> | can be <max> | may be <max> | must be <max> | should be <max> | at | stays
            under | must stay under | should stay under | must not exceed | should not exceed | may
            not exceed | cannot exceed | can't exceed | shall not exceed | must not be more than |
            should be under | must be under | may cost <max> | can cost <max> | may cost at most |
            may be worth <max> | can be worth <max> | is allowed <max> | should take <max> | may
            take <max> | may use <max> | can use <max> | gets <max> | should use <max> | must use
            <max> | may spend <max> | can spend <max> | up to | is capped at | is limited to | may
            use up to | must stay below | should stay below | must be below | can't be more than |
            cannot be more than | should not be more than | shouldn't be more than | may not be
            more than | should cost <max> | must cost <max> | can go up to | may go up to | to be
            <max> | must not cost more than | should not cost more than | shouldn't exceed |
            mustn't exceed | capped at | limited to | never more than | never above | never over )?
            <amt> <maxtail>?
        ( trades | transactions | payments | purchases | orders | actions | a trade | a transaction
            | a payment | a purchase | an order | an action | any trade | any payment | any
            purchase | any transaction | single trades | individual trades ) ( can't be | cannot be
            | can not be | must not be | may not be | should not be | shouldn't be | mustn't be |
            are never | must never be | should never be | must never exceed | must not exceed |
            should not exceed | may not exceed | should never exceed | can't exceed | cannot exceed
            ) ( larger than | bigger than | more than | above | over | greater than | higher than
            )? <amt>
        ( trades | transactions | payments | purchases | orders | actions | a trade | a transaction
            | a payment | a purchase ) ( <over> ) <amt> ( is | are ) ( not allowed | forbidden |
            not ok | not okay | never allowed | prohibited | not permitted | off limits ) (
            <per_act> )?
        ( keep | make ) ( trades | purchases | orders | payments | transactions ) ( small | tiny |
            modest | short ) : <max>? <amt> ( at most | max | maximum | or less | each | tops )?
        ( do not | don't | never ) let ( it | the agent | the bot ) ( <spendv> ) ( more than | over
            ) <amt> ( in | on | for )? <per_act>
        ( spending | spend ) ( limit | cap ) ( of | : )? <amt> <per_act>
        ( i | we ) ( allow | permit | accept ) <max>? <amt> <per_act>
        no ( single | one | individual )? <act> ( is | are | may be | should be | can be | must be
            | to be | may exceed | should exceed | can exceed | over | above | larger | bigger |
            exceeding | more | to exceed | of more | goes | may go | should go | shall exceed |
            must exceed | should cost | may cost | costing | shall be | worth ) ( larger | bigger |
            more | greater | higher )? ( than | over | above )? <amt>
        ( max | maximum | largest | biggest | highest | the max | the maximum | the largest | my
            max ) ( single | individual | allowed )? <act> ( size | amount | value | spend | cost
            )? <is>? <amt>
        ( max | maximum | the max | the maximum ) ( spend | amount | size | cost | limit | spending
            )? <per_act> <is>? <amt>
        ( <act> | single <act> | individual <act> ) ( size | amount )? ( cap | limit | ceiling |
            size ) <is>? ( max )? <amt>
        ( single <act> | individual <act> | <act> size | <act> amount ) ( max | maximum ) <is>?
            <amt>
        ( trades | actions | transactions | purchases | orders | payments | swaps | bets | single
            <act> | individual <act> | <act> size | <act> sizes ) ( capped at | limited to | of at
            most | of up to | of no more than | up to | under | no larger than | no bigger than |
            max | at most | never above | never over | must be under | must stay under | should
            stay under | must not exceed | should not exceed | no more than ) <amt> ( each | apiece
            | per trade )?
        ( cap | limit | caps | limits | spending cap | spending limit | spend limit | spend cap | a
            cap | a limit | the cap | the limit | set the cap | set a cap | set a limit | set the
            limit | ceiling | hard cap | hard limit ) ( <per_act> ) <is>? <amt>
        ( a | the | my | with a | set a | set the | caps of | cap of | limit of | limits of |
            limits : | caps : | a limit of | a cap of )? <amt> ( cap | limit | max | maximum |
            ceiling ) ( <per_act> | for each <act> | on each <act> | on single <act> | for single
            <act> | on every <act> | on individual <act> | on <act> )
        ( caps | limits | cap | limit ) ( of | : | are | at | = ) <amt> <per_act>
        ( a | the | my | with a | set a | set the | my | our )? ( per )? ( <act> ) ( cap | limit |
            budget | spending limit | spend limit ) <is>? <amt>
        ( a | the | my | with a | set a | set the | my | our )? ( per <act> ) ( max | maximum )
            <is>? <amt>
        ( a | the | my | with a | set a | set the )? ( per )? ( <act> ) ( cap | limit | maximum ) (
            of | to | at ) <amt>
        ( a | an | the | with a | with an )? <amt> ( per )? ( <act> ) ( cap | limit | max | maximum
            | size limit )
        ( cap | limit | keep | restrict ) ( each | every | any | all | individual | single | the |
            my )? ( single | individual )? <act> ( size | sizes )? ( to | at | under | below |
            within | at or below | at or under | to at most | to a maximum of | to no more than |
            to max | down to at most | smaller than ) ( most )? <amt> ( each | apiece | max | or
            less | at most )?
        ( make | place | do | take | execute ) ( no | only ) <act> ( over | above | bigger than |
            larger than | of up to | up to | of at most | below | under | of more than ) <amt>
        ( never | do not | don't ) ( make | place | do | open | execute | approve | take | send |
            put through ) ( a | any | a single | any single )? <act> ( over | above | bigger than |
            larger than | of more than | exceeding | that is more than | that costs more than |
            worth more than | for more than ) <amt>
        ( in | with | using ) ( <act> | chunks | tranches | steps ) of ( at most | up to | no more
            than | max | maximum ) <amt> ( each )?
        <max> <amt> each
        the most ( <you> )? ( <may> )? ( ever )? ( <spendv> | risk ) ( in | on | per | for ) ( one
            | a | a single | any | any one | any single | each )? <act> is <amt>
        ( <you> )? ( must | should | may | can ) ( not | never ) ( <spendv> ( more than | over ) |
            exceed ) <amt> ( in | on | for )? <per_act>
        no ( trades | purchases | payments | orders | transactions | actions ) ( over | above |
            larger than | bigger than | of more than | exceeding | worth more than ) <amt>
        ( don't | do not | never ) ( make | do | place | take ) any ( trade | purchase | payment |
            order | transaction | buy | buys | trades | purchases ) ( over | above | larger than |
            bigger than | of more than | exceeding ) <amt>
        ( nothing | no <act> ) ( over | above ) <amt> <per_act>
        ( set )? ( the | a | my )? ( cap | limit | maximum ) <per_act> ( to | at ) <amt>
        ( with | using )? ( <spendv> ) no more than <amt> ( in | on | for ) ( any | each | one | a
            single ) <act>
        ( single | per trade | each ) ( maximum | max ) <is>? <amt>
        ( <spendv> )? <max>? <amt> ( each | apiece | a piece ) ( at most | max | maximum | tops |
            or less )
        ( <spendv> )? <max> <amt> ( each | apiece | a piece )
        ( <you> | <you> <may> )? ( <not> ) ( <spendv> | go ) ( more than | over | above ) <amt> (
            on | for | in ) ( one | any | a | a single | any one | each ) <act>
        ( i'll | i will | we'll | we ) ( allow | permit | accept ) ( up to | at most )? <amt>
            <per_act>
        for ( each | every | any ) <act> ( spend | use | pay ) ( no more than | at most | up to |
            max ) <amt>
        ( make | do | take | place | send | buy ) ( <max> ) <amt> <per_act>
        ( make | do | take | place ) no ( single )? <act> ( above | over | larger than | bigger
            than | of more than ) <amt>
        ( <act> | trades | purchases | orders ) ( under | below | of at most | of up to ) <amt> (
            each | apiece | per <act> )
        ( never | not ) ( above | over | more than ) <amt> <per_act>
        ( as a rule | rule | the rule is ) : ( never | no more than | not ) ( above | over | more
            than )? <amt> <per_act>
        ( your | my | the ) ( max | maximum | limit | cap ) <per_act> <is>? <amt>
        ( each | every | any ) ( single )? <act> ( under | below | at most | up to ) <amt>
        ( a | any ) <act> ( may | can | must | should ) not ( be )? ( larger | bigger | more |
            higher | greater ) than <amt>
        ( limit | cap | keep ) ( each | every | any ) <act> ( to | at | under ) <amt>
        ( <my> | any | every | each | all | a | an | the size of a | the size of each | the cost of
            each | the cost of a | the price of a | the price of each | the amount of each )? (
            single | individual | one | given )? ( <act> | <acts> ) ( <bound> ) <amt> ( <maxtail> |
            each | apiece | <per_act> )?
        ( all | any | every | each | the | single | individual )? <acts> ( : | - | of | at )? <amt>
            ( max | maximum | or less | at most | tops | or under | or below | or smaller | and
            under | and below | each max | max each | apiece at most )
        <acts> : <bound>? <amt>
        ( the | my | a | our | your )? ( spending | spend )? ( limit | cap | maximum | max | ceiling
            ) ( for | on | of ) ( one | a | a single | any | any one | any single | each | every |
            each individual | an individual | every single | single | individual ) ( <act> | <acts>
            ) ( <is> | <bound> | is going to be )? <amt>
        no ( single | one | individual )? ( <act> | <acts> ) ( ( bigger | larger | more | greater |
            higher | worth more | costing more ) than | over | above | beyond | exceeding | in
            excess of ) <amt> ( please | ever | each )?
        ( make sure | ensure | see to it | see ) ( that )? no ( single | one | individual )? ( <act>
            | <acts> ) ( is | are | goes | go | gets | costs | cost | exceeds | exceed | will be |
            will exceed | ever exceeds | is ever | ever costs | is worth ) ( bigger than | larger
            than | more than | greater than | higher than | over | above | beyond )? <amt>
        ( make sure | ensure | see to it ) ( that )? ( each | every | any | all ) ( single |
            individual )? ( <act> | <acts> ) <bound> <amt>
        ( keep | hold | limit | cap | restrict | make | have ) ( your | my | the | all | any | every
            | each | individual | single | the size of )? ( single | individual )? ( <act> | <acts>
            ) ( at | to | under | below | within | at or below | at or under | no bigger than | no
            larger than | smaller than | less than | at most | to under | to less than | no more
            than | not over | not above | max | to at most | to no more than | to a maximum of |
            lower than ) <amt> ( each | apiece | max | or less | at most | tops )?
        ( never | do not | don't | you may not | you must not | you can't | you cannot | please
            don't | please do not ) ( pay | spend | put | use | go | bet | risk | drop | throw |
            commit | invest ) ( more than | over | above | beyond | in excess of ) <amt> ( ( on |
            for | in | into | at | per ) ( one | any one | a single | any single | any given | each
            | every | any | a | an individual | any individual )? ( <act> | <acts> ) | <per_act> )
        ( pay | spend | use | put | bet | invest | trade | buy ) ( for )? ( less than | under |
            below | at most | no more than | not more than | up to | a maximum of | max | maximum )
            <amt> ( max )? ( <per_act> | ( on | for | in | into ) ( one | any one | a single | any
            single | each | every | any | every single ) ( <act> | <acts> ) )
        ( <you> | you | it | the agent ) ( can | may ) ( only )? ( pay | spend | use | put | bet |
            invest ) ( at most | no more than | not more than | up to | less than | under | a
            maximum of | max )? <amt> ( <per_act> | ( on | for | in | into ) ( one | any one | a
            single | any single | each | every | any | every single ) ( <act> | <acts> ) )
        ( the )? ( most | maximum ) ( <you> | to | i want you to )? ( <may> | should )? ( ever )? (
            pay | spend | put | use | <spendv> ) ( in | on | per | for | into ) ( one | a | a single
            | any | any one | any single | each | every )? ( single )? ( <act> | <acts> ) ( is | : )
            <amt>
        <amt> ( is | should be | will be ) ( the | my | your | our )? ( max | maximum | limit | cap
            | ceiling | most | upper limit | hard limit ) ( <per_act> | for ( one | a | a single |
            any | any single | each | every | any one ) ( <act> | <acts> ) | <you> <may> ( spend |
            pay | put ) ( on | for | in ) ( one | a | a single | any | any single | each | every |
            any one ) ( <act> | <acts> ) )
        ( a | the | with a | set a | at a | under a )? ( <amt> ) ( limit | cap | max | maximum |
            ceiling ) ( on | for | to | per | of ) ( each | every | any | single | individual | a |
            a single | any single | any one | one | all )? ( <act> | <acts> )
        ( size | size of ) ( each | every | all | any )? ( <act> | <acts> ) <bound> <amt>
        ( limit | cap | keep | hold | restrict ) ( your | my | the | all | its | any | total )? (
            spending | spend | yourself | itself | it | purchases | payments | trading | costs |
            this | things | expenses ) ( to | at | under | below | within | to at most | to no more
            than | down to | to under | to less than ) <amt> ( max )? ( <per_act> | ( on | for | in
            | into | to | at ) ( one | any one | a | a single | any single | any given | each |
            every | any | an individual | any individual )? ( <act> | <acts> ) )
        ( let's )? ( cap | limit | keep ) ( it | things | this | spending | everything ) ( to | at |
            under | below ) <amt> ( <per_act> | ( on | for | in | into | to | at ) ( one | any one |
            a | a single | any single | any given | each | every | any | an individual | any
            individual )? ( <act> | <acts> ) )
        ( stay | keep | remain | be | live | work | operate ) ( under | below | within | at or below
            | at or under | inside ) ( a limit of | a budget of | a cap of )? <amt> ( <per_act> | (
            on | for | in | into | to | at ) ( one | any one | a | a single | any single | any given
            | each | every | any | an individual | any individual )? ( <act> | <acts> ) )
        ( no more than | not more than | at most | max | maximum | up to | never more than | not
            over | less than | under ) <amt> ( should | may | can | must | is to | to | shall | will
            )? ( ever )? ( be )? ( spent | paid | used | traded | invested | go out | leave | put |
            risked | moved ) ( <per_act> | ( on | for | in | into | to | at ) ( one | any one | a |
            a single | any single | any given | each | every | any | an individual | any individual
            )? ( <act> | <acts> ) )
        <not> ( ( <spendv> | pay | bet | risk | go | let it spend ) ( more than | over | above | in
            excess of | beyond ) | exceed ) <amt> ( <per_act> | ( on | for | in | into | to | at ) (
            one | any one | a | a single | any single | any given | each | every | any | an
            individual | any individual )? ( <act> | <acts> ) )
        ( i | we ) ( do not | don't | would not | wouldn't | never ) want ( <you> | it )? ( to )? (
            spend | spending | pay | use | using | paying | exceed ) ( more than | over | above )
            <amt> ( <per_act> | ( on | for | in | into | to | at ) ( one | any one | a | a single |
            any single | any given | each | every | any | an individual | any individual )? ( <act>
            | <acts> ) )
        ( i'd | i would | i | we ) ( allow | want | let | say | suggest | prefer | set | am fine
            with | am ok with | like ) ( <you> )? ( spend | to spend | have | use )? ( at most | no
            more than | up to | a maximum of | max | not more than ) <amt> ( <per_act> | ( on | for
            | in | into | to | at ) ( one | any one | a | a single | any single | any given | each |
            every | any | an individual | any individual )? ( <act> | <acts> ) )
        ( spend | pay | use | invest | trade | buy | put ) <amt> ( or less | max | at most | tops |
            at the most | or under | maximum ) ( <per_act> | ( on | for | in | into | to | at ) (
            one | any one | a | a single | any single | any given | each | every | any | an
            individual | any individual )? ( <act> | <acts> ) )
        <amt> ( or less | max | at most | tops | at the most | or under | maximum | is the limit |
            is the max | is the maximum | is the cap | is the most | is my limit | is your limit ) (
            <per_act> | ( on | for | in | into | to | at ) ( one | any one | a | a single | any
            single | any given | each | every | any | an individual | any individual )? ( <act> |
            <acts> ) )
        ( i | we ) ( do not | don't | would not | wouldn't | never ) want ( any | a | a single |
            single | to see any | to see a | to see | any single )? ( <act> | <acts> ) ( to be | to
            go | to exceed | to cost | be | that is | that are | to be worth | that exceed | that
            exceeds )? ( bigger than | larger than | more than | above | over | greater than |
            higher than | beyond ) <amt>
        ( i | we ) ( do not | don't | never ) want ( any | a | a single | single | any single )? (
            <act> | <acts> ) to exceed <amt>
        ( limit | size | cap | maximum | max | amount | ceiling ) ( <per_act> | for <acts> | for a
            <act> | for each <act> | for one <act> | on <acts> ) ( : | = | is )? <amt> ( <maxtail>
            )?
        ( your | my | the )? ( limit | cap | maximum | max | ceiling ) ( per | for each | for every
            | on each | on every | for any | for one | for a | for single | for a single | for any
            single ) ( single )? ( <act> | <acts> ) ( <is> | <bound> )? <amt>
        ( buy | make | do | place | take | use ) ( only )? ( <acts> | <act> ) ( of | for | worth |
            up to | under | below | that cost ) ( up to | at most | no more than | less than | under
            | below | max | a maximum of ) <amt> ( each | apiece )?
        ( max | maximum | largest | biggest | highest | top ) ( <act> | <acts> | size | price |
            amount | spend | cost ) ( per <act> | each )? ( <is> | <bound> )? <amt> ( each | apiece
            | <per_act> )?
        ( up to | at most | no more than | max | maximum | under | below | less than | not more than
            | not over ) <amt> ( for | on | in | into | at ) ( one | any one | a single | any single
            | each | every | any | every single | each individual | any individual ) ( <act> |
            <acts> )
        <amt> ( a | per | each | for each | for every | every ) ( <act> ) ( is | should be | will be
            )? ( the | my )? ( max | maximum | limit | cap | ceiling | most | absolute max |
            absolute maximum | upper limit )
        ( the | my | your )? ( max | maximum | largest | biggest | highest ) ( single | individual |
            one time | one off ) ( spend | expense | outlay | cost ) <is>? <amt>
        <not> ( <spendv> ( more than | over ) | exceed ) <amt> of ( it | that | them ) <per_act>
        <max> <amt> ( may | can | must | should | is to ) ( ever )? be ( spent | used | paid |
            invested | traded ) ( in | on | for )? <per_act>
        <per_act> ,? <you>? <may> ( <spendv> ) ( up to | at most | no more than | only )? <amt>
        <you> ( is | are | am ) allowed <max>? <amt> <per_act>
        ( your | my | the | our | its )? ( max | maximum | largest ) <act> ( size | amount | value
            )? ( is | : | stays ) <amt>
        ( the )? ( most | maximum ) <per_act> ( is | at | : ) <amt>
    """,
    "tx_share": """
        ( cap | limit | keep | hold | restrict ) ( each | every | any | all | single | individual )?
            ( <act> | <acts> ) ( at | to | under | below | within ) ( most | no more than )? PCT
        ( <spendv> )? <max> PCT ( <budget_of> )? <per_act>
        ( <spendv> )? PCT ( max | maximum | at most | tops | or less ) <per_act>
        ( <spendv> )? PCT ( <budget_of> ) ( max | maximum | at most )? <per_act>
        ( <spendv> )? PCT ( <budget_of> ) ( cap | limit ) <per_act>
        <per_act> ( <max> | at most | up to | is <max> | cap : | limit : | cap | limit | : ) PCT (
            <budget_of> )?
        <per_act> PCT <budget_of>
        ( cap | limit | keep ) ( each | every | any | all | single )? <act> ( to | at | under |
            below | at most )? PCT ( <budget_of> )
        ( <not> ) ( <spendv> | put | risk ) ( more than | over ) PCT <budget_of> ( in | on | into |
            for )? <per_act>
        <per_act> ( must | should | may | can ) ( not exceed | be at most | use at most | be no
            more than | use up to | be up to ) PCT <budget_of>
        no ( single )? <act> ( over | above | larger than | bigger than | of more than | may exceed
            | should exceed | exceeding | can exceed | may be more than | should be more than ) PCT
            <budget_of>
        ( max | maximum ) ( <act> size | per <act> | size per <act> | <act> ) <is>? PCT <budget_of>
        ( make | do | take | place ) no ( single )? <act> ( above | over | larger than | bigger
            than | of more than ) PCT <budget_of>
        ( use | spend | trade | put ) PCT <budget_of> <per_act> ( at most | max | maximum | or less
            )
        <max>? PCT <budget_of> <per_act> ( at most | max )
    """,
    "tx_or": """
        ( or | nor ) ( more than | over )? <amt> ( in total )? ( <per_act> )
        ( or | nor ) ( more than | over )? <amt> ( on | for | in ) ( one | a | any | a single )
            <act>
    """,
    "budget_or": """
        ( or | nor ) ( more than | over )? <amt> ( in total | altogether | overall | in all )
    """,
}
