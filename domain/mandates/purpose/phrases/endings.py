"""Stop lines that name the sum they are a part of, what is done there, and waiting afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "lost": """
        ( a | the | any )? ( total | overall )? ( ( loss | drawdown ) of <val> | <val> ( loss |
            drawdown ) ) <ofit>? ( ends | stops | terminates | closes | finishes ) ( the mandate |
            it | everything | this | all trading | trading | the deal | the agreement | it all | the
            whole thing | the experiment )
        ( a | an | the )? ( ( loss | drawdown ) of <val> | <val> ( loss | drawdown ) ) <ofit>? is (
            the most | the maximum | as much as | all | the limit | the worst | the biggest loss ) (
            that )? ( i | we | i'm | we're | i'd | we'd ) ( will | can | would | am | are )? (
            accept | take | tolerate | stand | stomach | bear | allow | live with | willing to
            accept | willing to take | prepared to accept | prepared to take | ready to accept |
            happy to accept | able to take )
        <val> <ofit>? is ( the most | the maximum | as much as | all ) ( that )? ( i | we | i'm |
            we're | i'd | we'd ) ( will | can | want to | would | am | are )? ( lose | afford to
            lose | willing to lose | prepared to lose | ready to lose | like to lose | stand to
            lose | accept losing | be willing to lose )
        <share> ( down | in the red | under water | underwater ) ( and | , | : | = | means )? ( then
            )? <stopping_now>
    """,
    "part_back": """
        ( i | we | i'd | we'd ) ( want | need | expect | would like | like | must have | insist on )
            ( at least | no less than | not less than | a minimum of ) <amt>
    """,
    "back_of": """
        ( of | out of | from ) ( the | my | these | our | those ) MONEY ( <given_you> )? ( back |
            returned | to come back | to be returned )
    """,
    "let_sum": """
        ( never | do not | don't | please never | please don't ) let ( my | the | these | our ) (
            initial | starting )? MONEY
        ( my | the | these | our ) ( initial | starting )? MONEY ( must | should | may | can | shall
            ) ( not | never )
    """,
    "let_fall": """
        ( ever )? ( fall | drop | go | sink | dip | slip | shrink | be worth ) ( below | under | to
            less than | less than | to below ) <amt>
    """,
    "part_risked": """
        <i_wont> ( ever )? ( ( risk | risk losing | be losing | see losses of | see a loss of ) (
            more than | over | above ) <share> | lose ( more than | over | above ) <val> )
        ( i'm | i am | we're | we are ) ( willing | prepared | ready | happy | able ) to ( risk
            losing | lose ) ( no more than | at most | up to | only | not more than ) <val>
    """,
    "part_allowed": """
        ( at most | no more than | not more than | up to | max | a maximum of | only ) <val>
    """,
    "risked_of": """
        ( of | out of | from | on ) ( my | our | the | these | this | that ) ( initial | original |
            total | whole | starting | full )? MONEY ( <given_you> )?
    """,
    "allowed_of": """
        ( of | out of | from ) ( my | our | the | these ) ( initial | original | total | whole |
            starting | full )? MONEY ( <given_you> )? ( may | can | should | must | is allowed to |
            shall ) ( ever )? be ( lost | put at risk of loss )
    """,
    "fall_on": """
        ( the | my | our | your | a )? ( ( maximum | max | most | largest | biggest | greatest |
            permitted | allowed | tolerated | acceptable | highest ){1,2} ( total | overall )?
            <loss_noun> | ( loss | drawdown ) limit ) ( allowed | permitted | i accept | i tolerate
            | acceptable | i'll accept | i will accept | i can take | i'd accept )? ( on | for )
    """,
    "fall_sum": """
        ( the | my | our | your | these | this | that )? ( initial | original | total | whole |
            starting | full )? ( budget of )? MONEY ( <given_you> )?
    """,
    "fall_is": """
        ( is | : | = | should be | must be | shall be | will be | is set at | is set to | must not
            exceed | should not exceed | may not exceed | shall not exceed | cannot exceed | must
            never exceed | is limited to | is capped at | should stay under | must stay under |
            should stay below | must stay below ) ( at most | up to | max | no more than )? <val> (
            at most | max )?
    """,
    "back_from": """
        ( from | of | out of ) ( the | my | these | our | those | this )? MONEY ( <given_you> )? ,?
    """,
    "back_kept": """
        ( i | we | i'd | we'd | i'll | we'll ) ( want | need | expect | would like | like | must
            have | insist on | must get | have to get | must see | want to see | want to have | want
            to keep | want to get | need to keep | need to see ) ( at least | no less than | not
            less than | a minimum of ) <amt> ( back | left | left over | to remain | to be left | to
            survive | returned | remaining )
        ( i | we | i'd | we'd | i'll | we'll ) ( want to keep | need to keep | must keep | like to
            keep ) ( at least | no less than | not less than | a minimum of ) <amt>
        ( at least | no less than | not less than | a minimum of ) <amt> ( must | should | has to |
            have to | needs to | need to | shall ) ( remain | be left | be kept | stay | be there |
            survive | come back | be preserved | always be left )
    """,
    "share_gone": """
        ( <when> ) ( more than | over | at least | a full | a whole )? <share>
    """,
    "sum_gone": """
        <whole_sum> <given_you>? ( is | are | 's | has been | have been | gets | get | has | have |
            goes | go ) ( all )? ( gone | lost | wiped out | burned | burnt | eaten | up in smoke |
            been lost | gone missing | vanished | been wiped out | disappeared | evaporated )
    """,
    "lost_if": """
        ( <when> ) ( more than | over | at least | a full )? <share> ( of it | of that | of the
            money | of my money | of the budget | of my budget | of the pot | of the funds | of the
            capital | of the total | of everything ) ( is | are | 's | has been | have been | gets |
            has | have | goes ) ( all )? ( wiped out | burned | burnt | up in smoke | been lost |
            been wiped out | evaporated )
        ( upon | on | after | when | once ) ( reaching | hitting | suffering | making | incurring |
            seeing | taking | showing ) ( a | an )? ( total | overall )? ( ( loss | losses |
            drawdown ) of <val> | <val> ( loss | losses | drawdown ) ) ( or more )? <ofit>?
        ( in the event of | in case of | in the case of ) ( a | an | any )? ( total | overall |
            cumulative | net )? ( ( loss | losses | drawdown ) ( of | over | above | exceeding |
            beyond ) <val> ( or more )? | <val> ( loss | losses | drawdown ) ( or more )? ) <ofit>?
        ( <when> ) ( <whoever> )? ( run | runs | ran | has run | have run | book | books | rack |
            racks | clock | clocks | pile | piles | record | records | incur | incurs | accumulate |
            accumulates | end | ends | post | posts ) ( up )? ( with )? ( a | an )? ( ( loss |
            losses | drawdown ) of <val> | <val> ( loss | losses | drawdown | of losses | in losses
            ) ) <ofit>?
        ( <when> ) ( <whoever> )? ( <losing> ) <more>? <val> ( of it all | of the whole thing | of
            the lot | of what you have | of what you got | of what you've got | of what i've given
            you | of what i handed over | of what i put in | of what you started with | of what you
            were given | of that money | of this money | of these funds | of my cash | of the cash
            )
    """,
    "left_if": """
        ( <when> ) ( you're | you are | we're | we are | it's | it is | i'm | <whoever> ( is | are
            ) ) ( back )? ( down | at | down at | below | under | reduced | shrunk ) ( to )? (
            only | just )? <amt> ( left | remaining )
        ( <when> ) ( you're | you are | we're | we are | it's | it is | i'm | <whoever> ( is | are
            ) ) ( reduced | shrunk | cut down | whittled down | brought down ) to ( only | just )?
            <amt> ( left | remaining )?
        ( <when> ) ( there's | there is | there are | you have | you've | you've got | we have |
            we've got | i have | i've got | it has ) ( only | just | no more than | less than |
            under | nothing but )? <amt> ( left | remaining | left over ) ( of it | in it | in the
            pot | in the vault | in there | in the account )?
    """,
    "close_after": """
        <at_it> ( , | : | - | = )? <please>? ( <stopping_now> and )? ( <sell_all> )
        <please>? ( <sell_all> ) <at_it>
        ( positions | trades | holdings | anything | everything | whatever is | what is | whatever
            | those | the ones ) ( still )? ( open | held | left | standing | running ) ( then | at
            that point | at that time | at that moment | at the time )? ( is | are | must | should |
            shall | has to | have to | need to | will ) ( to )? ( be )? ( closed | sold | liquidated
            | unwound | exited )
    """,
    "close_if": """
        ,? <please>? ( <stopping_now> ( and | , | & ) )? ( then )? ( sell up | close up | sell off |
            cash out | sell out | close out ) ( and <stopping_now> )?
        ,? <please>? <stopping_now> ( and | , | & ) ( then )? ( sell | liquidate )
    """,
    "keep_after": """
        ( please )? ( but | just )? ( leave | keep ) <positions> ( open | alone | as they are |
            untouched | where they are | in place | running )
        <positions> ( may | can | should | shall | must | are to | will ) ( then | still )? ( stay |
            remain | be kept | be left | be held ) ( open | as they are | untouched | alone | where
            they are )
        <at_it> ( , | : | - | = )? <please>? ( <stopping_now> but )? ( <hold_all> | <hold_open> )
        <please>? ( <hold_all> | <hold_open> ) <at_it>
        ( positions | trades | holdings | anything | everything | whatever is | what is | whatever
            | those | the ones ) ( still )? ( open | held | left | standing | running ) ( then | at
            that point | at that time | at that moment | at the time )? ( is | are | must | should |
            shall | has to | have to | need to | will | may | can )? ( to )? ( be )? ( remain |
            remains | stay | stays | kept | left | left alone | left open | kept open | held ) (
            open | as they are | as it is | untouched | alone | that way | where they are )?
    """,
    "keep_then": """
        ( but | just | and | then | please | also )? <hold_open>
    """,
    "keep_if": """
        ,? <please>? ( <stopping_now> | <no_new> ) ,? ( but | and | & | yet )? ( please | just )?
            <hold_open>
        ,? <please>? ( but )? <hold_open>
    """,
    "stop_then": """
        <at_it> ( , | : | - )? <please>? <stopping_now>
        <please>? <stopping_now> <at_it>
    """,
    "wait_then": """
        ( and | then | and then | , | also | please )? ( wait | hold on | sit tight | stand by |
            stay put | hang on | sit still | await | do nothing until you hear | wait until you hear
            | stay quiet | do nothing more ) ( for | from )? ( me | us | my word | my reply | my
            answer | my instructions | further instructions | new instructions | further notice |
            my decision | word from me | a word from me | my call | my say | my next message | my
            return | instructions )? ( to decide | to look | to come back | to get in touch | to
            reply | to get back | to return | to have a look | to look at it | to sort it out )?
        ( and | then | and then | , | also | please )? ( let me know | tell me | report to me |
            report back | write to me | notify me | message me | inform me | drop me a line | give
            me a shout | send me a message | alert me | ping me | email me | text me )
    """,
}
PARTS: Final[Mapping[str, str]] = {
    "i_wont": """
        ( i | we ) ( do not | don't | never ) ( want | wish | like ) to | ( i | we ) ( will not |
        won't | cannot afford to | can't afford to | cannot | can't ) | ( i'm | i am | we're | we
        are ) not ( willing | prepared | ready | happy ) to
    """,
    "at_it": """
        at which | at which point | at which time | upon which | whereupon | in which case | ( when
        | once | if | as soon as | should | after | whenever ) ( <it_is_hit> ) | when that's hit |
        when hit | once hit | if hit | on hit | when reached | once reached | if reached | upon
        reaching that | on reaching that | when triggered | if triggered | once triggered | when
        breached | if breached | at the line | at this line | at that line | at this level | if so |
        from that point | if it comes to that | if it gets there | at that moment | at that time |
        at this time | at the time | if that happens | if this happens | if it happens | when it
        happens | when this happens | then and there | as soon as it hits | as soon as that happens
        | the moment it hits | the moment that happens | the moment it's hit | in that event | in
        such a case | in that situation
    """,
    "it_is_hit": """
        ( you | we | it | the agent | the bot | i ) ( get there | gets there | hit | hits | do |
        does ) | ( you | we | it | the agent | the bot ) ( hit | hits | reach | reaches | get to |
        gets to | touch | touches | cross | crosses | breach | breaches | go past | goes past | go
        below | goes below | fall to | falls to ) ( it | that | this | that line | this line | the
        line | that point | that level | this level | that limit | this limit | the limit | that
        mark | there )? | ( it | that | this | the line | the limit | that line | that limit | this
        limit | that point | that level | this level | that mark ) ( is | 's | has been | gets ) (
        hit | reached | triggered | touched | crossed | breached | passed ) | ( it's | that's ) (
        hit | reached | triggered | touched | crossed | breached | passed ) | ( that | this | it ) (
        happens | occurs | comes to pass | is the case )
    """,
    "open_ones": """
        what's open | what is open | whatever's open | whatever is open | whatever is still open |
        what's still open | what is still open | anything open | anything that's open | anything
        that is open | anything still open | the open trades | open trades | the open positions |
        open positions | the open ones | existing positions | the existing positions | my open
        positions | my positions | your open positions | your positions | the positions you hold |
        the positions you have | what you've got | what you have open | what you hold | what you've
        got open | the trades that are open | the positions that are open | the running trades |
        running trades | running positions | current positions | the current positions | the
        holdings | your holdings | anything you hold | anything you own | what you own
    """,
    "hold_open": """
        ( keep | leave | hold | hold on to | hang on to | let | don't touch | do not touch | don't
        close | do not close | don't sell | do not sell | never close | never sell | leave alone |
        keep holding | stay in | stick with | not close | not sell | not touch | without closing |
        without selling | without touching | no need to close | no need to sell ) <open_ones> ( open
        | as it is | as they are | as is | untouched | alone | in place | where they are | where it
        is | running | run | be | stand | ride | on | stay open | stay | that way )?
    """,
}
