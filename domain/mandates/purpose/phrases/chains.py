"""Statements that hold two figures, or stand in two parts: a condition and what follows from it, a
part and the whole that it is of, a budget and what it shall become.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "pause": """
        , | : | = | -
    """,
    "under_zero": """
        minus ( PCT | BPS | MONEY )
    """,
    "standing": """
        ( hits | hit | reaches | reach | is | are | is at | are at | 's at | at | gets to | get to
        | falls to | fall to | drops to | drop to | goes to | go to | sinks to | slips to | comes
        to | shows | show | has reached | have reached | is down to )
    """,
    "result": """
        <whoever> | ( the | my | our | your | total | overall ){0,2} ( pnl | result | results |
        performance | return | returns | balance | profit and loss )
    """,
    "stop_word": """
        stop line | stop level | stop loss | stoploss | stop | line | floor | loss limit | limit
    """,
    "is_lost": """
        ( is | are | 's | has been | have been | gets | get ) lost
    """,
    "all_left": """
        ( is | are | 's | has been | there is )? ( all that is | all that's | all that | all there
        is | all you have | all we have | all i have | only | still )? ( left | remaining | remains
        | remain | left over )
    """,
    "of_that": """
        of it | of that | of this | of them | of the budget | of the money | of my money | of your
        budget | of my budget | of the funds | of the pot | of the deposit | of the capital | of
        the total
    """,
    "merely": """
        only | just | less than | under | below | no more than | not more than | at most | only
        about
    """,
    "leftif": """
        ( <when> ) <whoever> ( is | are | gets | becomes ) ( only | just )? worth ( only | just |
        less than | under | below | at most )? <amt> ( or less )? | ( <when> ) ( <whoever> )? <fall>
        ( <below> | down to | to ) ( only | just )? <amt> ( or less | or lower | or below )? | (
        <when> ) <merely>? <val> ( <of_that> )? <all_left> | ( <when> ) ( there is | there's | there
        are | <whoever> ( only | just )? ( has | have ) | you've | you've got | i've | i've got |
        we've | we've got | it's got | we're | it's | you're | <whoever> ( is | are ) ) ( down to |
        at )? <merely>? <amt> ( left | remaining )
    """,
    "there": """
        then | and then | at that point | at this point | from then on | when that happens | if that
        happens | should that happen | in that case | there | after that | beyond that | past that |
        from there on | upon hitting it | on hitting it | when hitting it | upon reaching it | on
        reaching it | once there | when you get there | when it gets there | when it is hit | when
        it's hit | if it is hit | if it's hit | once it is hit | once it's hit | when that is
        reached | once that is reached | if that is reached | when it is reached | once it is
        reached | at that level | below that | when it hits | once it hits | if it hits | at which
        point | at which | at which level | when that is hit | if that is hit | once that is hit |
        when you hit it | if you hit it | once you hit it | when we hit it | if we hit it | once we
        hit it | when you hit that | if you hit that | when it's reached | once it's reached | if
        it's reached | if it is reached | when it triggers | if it triggers | when that's hit | once
        that's hit | if that's hit | when you stop | when stopped | when it stops
    """,
    "waiting": """
        ( then | and then | just )? ( wait | hold on ) ( for ( me | word from me | my return | my
        word | my orders | orders | instructions | my instructions | further instructions | new
        instructions | further notice | me to ( come back | get back | return | decide ) ) | until
        i ( am back | come back | get back | return | tell you | decide ) )
    """,
    "whole_sum": """
        ( of | out of | from ) ( ( the | my | our | your | these | those | its | that ) ( original |
        initial | total | whole | starting | full )? ( budget of )? <amt> | MONEY )
    """,
    "given_you": """
        budget | total | deposit | stake | in total | <was_given>
    """,
    "was_given": """
        ( that )? ( i | we ) ( gave | give | have
        given | am giving | are giving | put in | put up | hand | handed | am handing | entrust |
        entrusted ) ( you )? | ( that )? ( i'm | we're ) ( giving | handing | putting in | lending |
        entrusting ) ( you )? | ( that )? you ( have | got | get | started with | start with | will
        get | will have | receive | manage | control | 'll get | 'll have | are getting | are given
        | were given | are managing | have been given ) | ( that )? ( you're | you'll | you've ) (
        getting | given | been given | got | get | have | managing | receiving | receive | starting
        with | start with | trading with ) | ( which | that )? ( i | we ) ( am | are | 'm )? (
        putting in | putting up | lend | lending | provide | provided | fund | deposited | deposit |
        trust you with | entrust to you | hand over | hand you | set aside | put aside ) | ( given |
        entrusted | provided | lent | committed | allocated | granted ) ( to you )? | i start with |
        we start with | i put down | to start with | at the start
    """,
    "ridof": """
        ( close | sell | liquidate | exit | unwind | flatten | dump | offload | get out of | pull
        out of | exit from | get rid of | wind up | wind down | sell off | close out | close out of
        | cash out | sell out of | withdraw | square | square off ) ( it all | all | everything |
        all of it | the lot | the whole lot | every position | each position | any position | all
        open trades | all trades | <positions> | all that is open | everything that is open |
        whatever is open | what is open | everything open | all of them | them all )
    """,
    "sell_all": """
        <selling> | <ridof> | flatten | cash out | cash everything in | go flat | get flat | pull (
        everything | it all | all the money | the money | all my money | my money ) out | take (
        everything | it all | all the money ) out | <positions> ( are to be | must be | should be |
        shall be | get | are ) ( flattened | exited | wound up | unwound ) | sell whatever you hold
        | sell what you hold | sell what you have | turn everything ( back )? into ( cash | usdc )
    """,
    "hold_all": """
        <holding> | ( keep | leave | hold | hold on to ) ( the | my | your | our | any | all | what
        | whatever ){0,2} ( open ones | positions | positions open | holdings | open trades |
        positions that are open | existing ones | is open | you have | you hold | is there ) ( open
        | as they are | as it is | untouched | alone | running | in place | as is | on )? | ( do not
        | don't | never ) ( close | sell | touch | liquidate | exit ) ( anything | any of it |
        <positions> | the open ones | any of them | what is open | what's open | what you hold |
        whatever is open ) | ( keep | leave | hold ) ( what's open | whatever's open | what is open
        | whatever is open ) ( open | as it is | alone | in place | untouched | running ) | (
        without | not ) ( closing | selling | touching | liquidating ) ( anything | <positions> |
        the open ones ) | no need to ( close | sell ) ( anything | <positions> ) | ( do not | don't
        ) ( sell | liquidate ) | let ( <positions> | the open ones ) ( run | be | ride | stay open )
        | ( <positions> | the open ones | whatever is open | what is open ) ( can | may | should |
        shall | must | will )? ( stay | stays | remain | remains | be left | be kept | run on | keep
        running ) ( open | as they are | as it is | untouched | alone )?
    """,
    "open_then": """
        ( whatever | what | all | any | the | everything | those ){0,2} ( positions | trades |
        holdings | position )? ( that | which )? ( is | are ) ( still )? open ( then | by then | at
        that point | at that time | at the time | at that moment )
    """,
    "no_new": """
        stop opening ( new | any new | more | any more | further | any )? ( trades | positions |
        ones ) | open no ( new | more | further ) ( trades | positions ) | no ( new | more |
        further ) ( trades | positions ) | ( do not | don't ) open ( any )? ( new | more | further
        | any )? ( trades | positions ) | stop buying ( anything | more | anything new )?
    """,
    "my_sum": """
        ( my | the | these | this | our | your | those | that | a )? ( first | initial | starting |
        whole | total | entire )? MONEY ( of mine )?
    """,
    "try_to": """
        try to | please try to | i want you to | i'd like you to | i would like you to | aim to |
        the aim is to | the goal is to | my goal is to | your goal is to | your job is to | your
        task is to | the idea is to | see if you can | i want to | i'd like to | i hope to | goal :
        | target : | aim : | objective : | task : | you should | you are to | help me | help me to |
        the target is to | my target is to | let's
    """,
    "onward": """
        on | with | from | out of | using
    """,
}

PHRASES: Final[Mapping[str, str]] = {
    "lost": """
        of which ( ( <you> | you ) <may> lose ( at most | up to | no more than )? <val> | ( at most
            | up to | no more than )? <val> <may> be lost )
        ( at most | up to | no more than )? <val> of which <may> be lost
        lose <val> <ofit>? ( and | , ) ( then )? <stopping_now>
        ( <stopping> ) ( at | after | if | when | on )? : ( a | an | at )? ( ( down <val> | <val> (
            loss | drawdown | down | lost | total loss | losses ) | ( loss | drawdown | losses ) of
            <val> ) <ofit>? )
        ( stop line | stop level | stop loss | stoploss | hard stop | stop ) : ( if | when | at |
            after ) ( a | an | it is | it's | we're | we are | you're )? ( down <val> | <val> ( loss
            | drawdown | down | lost ) | ( loss | drawdown | losses ) of <val> | ( lost | losing )
            <val> ) <ofit>?
        ( at most | max | maximum | no more than | not more than ) <share> ( may | can | should |
            must | is to ) be lost
        ( the | my )? ( max | maximum )? pain ( limit | threshold )? <is> ( a )? <val> ( loss |
            drawdown | down )
        ( a | the | my | with a | set a | put a | use a )? ( hard | absolute | strict | firm )?
            <stop_word> <is>? ( at )? <under_zero> <ofit>?
        ( i | we ) can ( live with | bear | stomach | take | stand ) ( losing | a loss of | losses
            of ) <val> <ofit>? ( ,? but ( no more | not more | no more than that | nothing more |
            not a cent more ) )?
        ( i | we ) ( can | could ) ( afford to lose | live with losing ) ( at most | up to | no more
            than | max )? <val> ( at most | max | at the most )?
        ( the | my | an | your | with an )? ( maximum | max | most | highest )? ( allowed |
            permitted | allowable | permissible | tolerated | accepted | admissible ) ( total |
            overall | maximum )? <loss_noun> <is>? ( up to | at most )? <val> <ofit>?
        risk ( at most | no more than | up to | a maximum of | max | only ) <val> ( of it | of that
            | of the money | of my money ) ( in total | overall | altogether | in all )
        ( a | the | my | with a | set a | put a | use a )? ( hard | absolute | strict | firm ) (
            stop | stop line | stop loss | floor ) <is>? ( at )? ( a | an )? ( <val> ( loss |
            drawdown | down | total loss ) | ( total | overall )? ( loss | drawdown | losses ) of
            <val> ) <ofit>?
    """,
    "lost_if": """
        ( <when> | at )? ( <whoever> | it is | it's | we are | we're | you are | you're | i am | i'm
            )? down ( by | more than | at least | over )? <val> <ofit>?
        ( <when> ) ( we're | you're | it's | i'm ) ( at | down to )? <under_zero>
        ( a | an )? ( down <val> | <val> ( loss | drawdown | down ) | ( loss | drawdown | losses )
            of <val> ) <ofit>? ( = | means | : )
        ( <when> ) ( <result> )? <standing> <under_zero> <ofit>?
        ( at | on | upon | after | once at | when at ) <under_zero> <ofit>?
        ( <when> ) ( <whoever> )? ( hit | hits | reach | reaches | get to | gets to | touch |
            touches | trigger | triggers ) ( the | my | a | our )? ( hard )? <stop_word> ( at | of |
            : )? ( <under_zero> | ( a | an )? <val> ( loss | drawdown | down ) | ( a )? ( loss |
            drawdown ) of <val> )
        ( <when> ) <val> ( of it | of that | of the money | of my money | of the budget | of my
            budget ) <is_lost>
        ( upon | at | after | on | beyond | past ) ( a | an )? ( total | overall | cumulative | net
            )? ( loss | drawdown | losses ) of <val> <ofit>?
        ( <when> ) ( the | a | my | our )? ( loss | drawdown | losses ) ( gets | becomes | grows ) (
            to | as big as | as large as | bigger than | larger than ) <val> <ofit>?
    """,
    "left_if": """
        ( at | with ) ( only | just )? <amt> ( left | remaining )
        <leftif>
        ( <when> ) ( only | just )? <amt> ( of it | of that )? <all_left>
    """,
    "part_left": """
        ( <when> | if ever | until | down to ) <merely>? <amt>
    """,
    "rest_left": """
        <whole_sum> <given_you>? <all_left>
    """,
    "part_lost": """
        ( <when> | if ever ) ( more than | over | at least | as much as )? <val>
    """,
    "rest_lost": """
        <whole_sum> <given_you>? <is_lost>
    """,
    "whole_of": """
        <whole_sum> <given_you>?
    """,
    "stop_if": """
        <pause>? <please>? <stopping_now>
        ,? ( then | please )? <no_new>
        ,? at that point ,? <please>? <stopping_now>
    """,
    "close_if": """
        <pause>? <please>? ( <sell_all> ) ( and | & | , ) ( then )? <stopping_now>
        <pause>? <please>? <stopping_now> ( and | & | , | , and | then | and then | + ) ( please |
            also | then )? ( <sell_all> )
        <pause>? <please>? ( <sell_all> ) ( immediately | right away | at once | for me )?
    """,
    "keep_if": """
        <pause>? <please>? ( but )? ( <hold_all> )
        <pause>? <please>? ( <stopping_now> | <no_new> ) ,? ( but | and | & | yet )? ( please | just
            )? ( <hold_all> )
        <pause>? <please>? ( <hold_all> ) ,? ( but | and )? ( just )? <stopping_now>
    """,
    "close_then": """
        ( then | there | also | please | and then )? ( <sell_all> ) ( then | there | at that point
            | immediately | too | as well | in that case | when that happens | right there | right
            then | right away | at once | on the spot | straight away )?
    """,
    "keep_then": """
        ( then | there | but | just | please | but please | also )? ( <hold_all> ) ( then | there |
            at that point | in that case | when that happens | too | as well )?
    """,
    "close_after": """
        ( : | = ) <please>? ( <sell_all> )
        <open_then> ( can | may | should | shall | must | will | is to | are to | has to | have to |
            is | are | gets | get )? ( be )? ( sold | closed | liquidated | unwound )
        ( sell | close | liquidate ) <open_then>
        <there> ( , | : )? <please>? ( <stopping_now> and )? ( <sell_all> ) ( ,? and ( then )?
            <stopping_now> )?
        ( at which point | at which ) ( <positions> | everything ) ( is | are | must | should |
            shall | has | have | will | is to | are to ) ( to )? be ( closed | sold | liquidated |
            unwound )
        <please>? ( <sell_all> ) <there>
        ( <positions> | everything ) ( should | must | shall | will ) then be ( closed | sold |
            liquidated | unwound )
    """,
    "keep_after": """
        ( <hold_all> )
        ( : | = ) <please>? ( <hold_all> )
        <open_then> ( can | may | should | shall | must | will | is to | are to )? ( stay | stays |
            remain | remains | be left | be kept | run on | keep running ) ( open | as they are |
            as it is | untouched | alone )?
        ( leave | keep ) <open_then> ( open | untouched | alone | as it is | as they are )?
        <there> ( , | : )? <please>? ( <stopping_now> but )? ( <hold_all> )
        <please>? ( <hold_all> ) <there>
    """,
    "stop_then": """
        <there> ,? <please>? <stopping_now>
        <please>? <stopping_now> <there>
        <waiting>
    """,
    "waits": """
        ,? ( and | then )? <waiting>
    """,
    "close_there": """
        ( <stopped> ) ( : | = | - )? ,? <please>? ( <sell_all> ) ( and <stopping_now> )?
        ( <sell_all> ) ,? ( <stopped> )
    """,
    "keep_there": """
        ( <stopped> ) ( : | = | - )? ,? <please>? ( but )? ( <hold_all> ) ( ( ,? ( and | just | but
            ) ( just )? <stopping_now> ) )?
        ( <hold_all> ) ,? ( <stopped> )
    """,
    "grow_from": """
        ( <try_to> )? ( turn | grow | increase | make | build | raise | bring | build up | take |
            get | multiply | expand ) <my_sum>
        ( <try_to> )? ( grow | increase | build up | bring | take | get ) ( it | the budget | my
            budget | the money | my money | the pot ) from <my_sum>
    """,
    "grow_to": """
        ( into | to | up to | grow to | become | to become | up into ) ( at least | about | around
            )? <amt>
    """,
    "grow_by": """
        ( grow )? by ( at least | about | around | roughly )? PCT ( in total | overall )?
    """,
    "make_from": """
        ( <try_to> )? ( make | get ) <amt>
    """,
    "gain_on": """
        ( <try_to> )? ( make | earn | gain ) ( me )? ( at least | about | around )? ( a | an )? ( (
            profit | gain | return ) of )? MONEY ( profit | of profit | in profit )? ( on | with )
        ( <try_to> | i | we | i'm | we're )? ( aim | aiming | go | shoot | hope | looking | hoping |
            try | target | want ) ( for )? ( at least | about | around )? ( a | an )? ( total )? (
            profit | gain | return | plus ) of MONEY ( on | with | from | out of )
        ( <try_to> | i | we | i'm | we're )? ( aim | aiming | go | shoot | hope | looking | hoping |
            try ) for ( at least | about | around )? ( a )? MONEY ( of )? ( profit | gain | return |
            in profit | in gains ) ( on | with | from | out of )
        ( <aimw> | my aim is | the aim is | the goal is | my goal is | the target is | my target is
            | goal : | target : | aim : ) ( a | an )? ( total )? ( profit | gain | return ) of MONEY
            ( on | with | from | out of )
    """,
    "made_from": """
        out of <my_sum>
    """,
    "aim_to": """
        ( <try_to> )? ( grow | turn | increase | build | bring | take | get ) ( it | this | that |
            them | the money | my money | the budget | my budget | the pot | the funds ) ( up )? (
            into | to ) MONEY
    """,
    "sum_if": """
        ( <when> ) ( <subj> )? ( ever )? ( <fall> | shrunk | has shrunk ) from ( its | the | my |
            your | a )? ( first | initial | starting | original | full | whole )? MONEY
        ( <when> ) ( my | the | our | your | these | those ) ( first | initial | starting | whole )?
            MONEY ( budget | deposit )?
    """,
    "sinks_to": """
        ( down )? ( to | below ) ( only | just )? <amt> ( or less | or lower | or below )?
        ( ever )? ( <fall> | shrunk | has shrunk | have shrunk | have fallen | have dropped | has
            become | becomes | become | turn | turns | have become ) ( <below> | down to | to | into
            )? ( only | just )? <amt> ( or less | or lower | or below )?
    """,
    "sinks_by": """
        ( <losing> | has shrunk | have shrunk | shrink | shrinks ) <more>? <share>
    """,
    "aim_on": """
        ( <try_to> )? ( make | earn | gain | get | get me | make me | earn me | return | generate |
            achieve | produce | bring me | give me | reach ) ( at least | about | around | roughly
            )? ( a | an )? ( total )? PCT ( return | gain | profit | growth | gains )? ( <onward> )
        ( <try_to> )? ( make | earn | get | achieve | return | generate ) ( me )? ( a | an ) ( total
            )? ( return | gain | profit ) of PCT ( <onward> )
        ( i'd | i would | we'd | we would ) ( like | love | be happy with | be glad of | want | be
            pleased with ) ( to see | to make | to earn | to get )? ( at least | about | around )? (
            a | an )? PCT ( return | gain | profit | growth )? ( <onward> )
        ( i | we ) ( want | expect | hope for | would like | am hoping for | am after | aim for ) (
            to see | to make | to earn | to get )? ( at least | about | around )? ( a | an )? PCT (
            return | gain | profit | growth )? ( <onward> )
        ( <aimw> | the goal is | the target is | my goal is | my target is | goal : | target : |
            goal is | target is ) ( for )? ( a | an )? PCT ( return | gain | profit | growth )? (
            <onward> )
    """,
    "aim": """
        ( please )? ( make | earn ) me PCT ( in total | overall )?
        ( a | an )? ( total )? PCT ( return | gain | profit ) ( in total | overall )? ( would be |
            is ) ( great | nice | good | fine | enough | the goal | the target | the aim | my goal |
            my target )
        ( try | hope | shoot | go ) for ( a | an )? PCT ( return | gain | profit )
        ( the | my | a | our | your )? ( profit | gain | return )? ( target | goal | aim ) plus PCT
        ( the | my | a | our | your )? ( take profit | profit | gain | return | growth )? ( target |
            goal | objective | aim ) ( is | : | = | of | at | - ) ( a | an )? ( plus )? PCT ( return
            | gain | profit | growth )? ( on it | in total | overall )?
        ( <aimw> ) ( for )? plus PCT
        ( <try_to> | please )? ( make | earn | gain | get ) ( me )? ( at least | about | around )?
            PCT ( on it | out of it | from it | from that | out of that | on them | on that | on
            this | on my money | on the budget | on top | with it )
        ( <try_to> )? ( grow | increase ) ( it | this | that | the money | my money | the budget |
            my budget | the sum | the amount | the pot ) by ( at least | about | around )? PCT
    """,
}
