"""What the open frames are made of: who stops and when, what is lost, who is asked, how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "upto": """
        up to | at most | no more than | not more than | a maximum of | max | maximum | as much as
        | a total of
    """,
    "atmost": """
        max | maximum | at most | tops | at the most | in total | overall | altogether | in all |
        but no more | but not more | and no more | and not more | no more | not more | but no more
        than that | and no more than that
    """,
    "shall": """
        should | must | shall | has to | have to | needs to | need to | is to | are to | will |
        would | ought to
    """,
    "stopper": """
        it | everything | trading | all trading | activity | all activity | all activities |
        operations | all operations | the agent | the bot | my agent | my bot | you | the mandate |
        this mandate | this | all of it | all spending | spending | work | all work
    """,
    "stopping": """
        <halt> | cut it off | cut off | cut out | stop everything | cease all activity | cease
        trading | cease activity | suspend trading | suspend everything | suspend all activity |
        terminate | terminate the mandate | terminate it | discontinue | walk away | call it a day
        | pack it in | abort | all stop | stop altogether | game over | <stopper> <shall> ( stop |
        cease | halt | end | quit | pause | terminate | shut down | be stopped | be halted | be
        ended | be terminated | be suspended | be frozen | be over | be shut down | come to an end
        ) | <stopper> ( stops | ends | halts | ceases | terminates | is over | shuts down | comes
        to an end )
    """,
    "stopping_work": """
        <shall> ( stop | halt | cease | end | quit | terminate | shut down | be stopped | be halted
        ) | ( <stopper> )? <shall> ( stop | cease | halt | end | terminate | quit | suspend ) ( all
        )? ( trading | work | activity | activities | operations | its work | its activity | its
        trading | your work | your trading ) | <stopper> ( stops | ceases | ends | halts |
        terminates | quits | suspends ) ( all )? ( trading | work | activity | operations )
    """,
    "permitted": """
        i allow | we allow | i permit | we permit | i authorise | i authorize | i grant | i accept
        | ( you're | you are | the agent is | it is | it's | the bot is ) ( allowed | permitted ) |
        i will allow | i'll allow | i want at most | i'd allow | i would allow | allow | permit
    """,
    "saying": """
        ( i | we ) ( want | would like | 'd like | expect | need ) <you> to | ( i'd | we'd ) like
        <you> to
    """,
    "stopping_now": """
        ( <stopping> | <stopping_work> ) ( immediately | at once | for good | right away | right
        there | completely | altogether | please | then | there | too | as well | also )?
    """,
    "please": """
        <saying> | to | then | please | just | simply | then please | please just | i want you to |
        i'd like you to | you must | you should | you have to | you need to | the agent must | the
        agent should | the agent has to | the agent shall | it must | it should | it has to |
        always | make sure to
    """,
    "whole": """
        ( the | my | our | its | your | this | that )? ( original | initial | starting | whole |
        total | entire | full | invested | overall |
        allocated | entrusted | committed | agreed )? ( budget | money | capital | funds | total |
        amount | balance | value | worth | deposit | investment | stake | principal | portfolio |
        account | pot | cash | sum | vault | equity | fund | mandate )
    """,
    "ofit": """
        <ofbud> | of <whole> | from <whole> | against <whole> | of it | of it all | of its value |
        of the lot | of all of it | of everything | in value | below the budget | below budget |
        below the start | below where we started | below where it started
    """,
    "whoever": """
        <subj> | the agent | the bot | my agent | my bot | my portfolio | this | things |
        everything | trading | the mandate
    """,
    "losing": """
        ( should | ever | should ever | do | does | have | has | has ever | have ever | manage to |
        happen to | were to )? ( <lose> | lost | burn | burned | burnt | burn through )
    """,
    "more": """
        by | more than | over | by more than | by over | at least | by at least | a total of | as
        much as | a full | in total
    """,
    "losses": """
        ( the | a | my | our | your | its | any | total | overall | net | combined | cumulative |
        accumulated | aggregate | realised | realized ){0,2} <loss_noun>
    """,
    "reach": """
        ( should | ever | should ever | would )? ( reach | reaches | reached | exceed | exceeds |
        hit | hits | total | totals | amount to | amounts to | come to | comes to | get to | gets
        to | add up to | adds up to | pass | passes | surpass | surpasses | grow to | climb to |
        touch | touches | go over | goes over | go above | goes above | go beyond | goes beyond |
        go past | goes past | are | is | reach or exceed | reaches or exceeds | are at | is at ) (
        over | above | more than | beyond | at )?
    """,
    "lossif": """
        ( <when> | any time | at any time if ) ( <whoever> )? <losing> <more>? <val> ( or more | or
        worse )? <ofit>? | ( <when> ) ( more than | over | at least )? <val> <ofit>? ( is | are |
        's | has been | have been | gets | get )? lost | ( <when> ) ( more than | over | at least
        )? <share> ( of it | of its value )? ( is | are | 's | has been | have been | has | have |
        's all | is all )? gone | ( <when> ) ( there's | there is | there are | there has been ) (
        a | an )? <val> ( loss | losses | drawdown | draw down ) <ofit>? | ( <when> ) ( we're |
        it's | you're | i'm | we are | it is | you are | i am | <whoever> is ) ( at least )? <val>
        ( down | in the red | under water | underwater ) <ofit>? | ( <when> | should ) ( <whoever>
        )? ( hit | hits | reach | reaches | see | sees | suffer | suffers | have | has | make |
        makes | show | shows | get to | gets to | take | takes ) ( a | an )? <val> ( loss | losses
        | drawdown | draw down ) <ofit>? | ( <when> ) <losses> <reach> <val> ( or more )? <ofit>?
    """,
    "lossat": """
        ( at | after | on | upon | with ) ( a | an | the )? ( total | overall | cumulative | maximum
        | max | net | combined )? ( loss | losses | drawdown | draw down ) ( of | exceeding | above
        | over | beyond ) <val> ( or more )? <ofit>? | ( at | after | on | upon | once at ) ( a | an
        | the )? <val> ( total | overall | cumulative | maximum | max | net )? ( loss | drawdown |
        draw down | down | in losses | of losses | in the red | lost ) ( or more )? <ofit>? | ( at |
        after | on | upon | once at ) ( MONEY | PCT ) ( total | overall )? losses ( or more )?
        <ofit>? | ( after | upon | on ) ( losing | having lost | you lose | you've lost | you have
        lost | it loses | it has lost | we lose | i lose | the agent loses | a loss of ) <more>?
        <val> <ofit>?
    """,
    "lossend": """
        <lossif> | <lossat>
    """,
    "stopped": """
        ( at | on | upon | after | on reaching | upon reaching | on hitting | once at ) ( the | a |
        my )? ( <line> ) ( is | has been )? ( hit | reached | triggered | touched )? | ( when | if
        | once | as soon as | whenever ) ( the | a | my )? ( <line> ) ( is | has been | was | gets
        ) ( hit | reached | triggered | touched | crossed | breached ) | ( when | if | once ) ( it
        | you | the agent | the bot | the mandate | trading | we | everything )? ( stops | stop |
        stopped | is stopped | are stopped | have stopped | has stopped | gets stopped | get
        stopped | are stopped out | is stopped out | get stopped out ) | ( upon | on | after | when
        ) stopping | in case of a stop | in the event of a stop | on a stop | after the stop | at
        stop | on stop | at stop out
    """,
    "positions": """
        ( all | any | every | the | my | our | its | your | open | remaining | existing | current
        ){0,3} ( positions | holdings | trades ) | ( every | any | each ) ( open | single )?
        position
    """,
    "selling": """
        <close_all> | ( close | sell | liquidate | unwind | exit ) ( out )? ( of )? ( <positions> |
        all of them | them all | the lot | it all ) | close out | sell out | sell out of everything
        | liquidate | liquidate all | go to cash | go all cash | <positions> ( are | is | must |
        should | shall | have to | need to | get | gets | will )? ( to )? ( be )? ( closed | sold |
        liquidated | unwound ) | everything ( is | must | should | shall | has to | gets | will )?
        ( to )? ( be )? ( closed | sold | liquidated )
    """,
    "holding": """
        <keep_all> | ( keep | leave | hold ) ( <positions> | everything | whatever positions are
        open | whatever is open | whatever you have open | what is open | what you hold | what you
        have ) ( as they are | as it is | as is | open | untouched | alone | in place | where they
        are )? | <positions> ( stay | stays | remain | remains | are kept | should stay | should
        remain | may stay | may remain | can stay | must stay | shall remain | should be kept |
        must be kept | are to be kept | are left | should be left ) ( open | as they are |
        untouched | alone )? | ( do not | don't | never ) ( sell | close | liquidate ) ( anything |
        <positions> ) | nothing ( is | should be | must be | gets ) ( sold | closed )
    """,
    "consent": """
        ( my | the owner's | an | a | explicit | prior | express | written | advance | personal |
        manual | owner | our ){0,3} ( approval | consent | permission | authorisation |
        authorization | confirmation | agreement | sign off | ok | okay | go ahead | say so | green
        light ) ( from me | by me )? | ( a | my | an explicit ) ( yes | nod | thumbs up ) ( from me
        )?
    """,
    "askme": """
        ( <ask> | contact me | get in touch with me | get in touch | drop me a line | drop me a
        message | drop me a note | give me a shout | shoot me a message | have a word with me | ask
        my permission | ask my approval | run it past me | run that by me | run them by me | ask
        for <consent> | get <consent> | request <consent> | seek <consent> | obtain <consent> |
        wait for <consent> | secure <consent> | check first | check in first | confirm first | ask
        permission | you ask me | you ask | it asks me | it asks | the agent asks me | you check
        with me | it checks with me | you must check with me | it has to ask | it must ask | it
        should ask | it needs to ask | you have to ask | you need to ask | you should ask | i want
        you to ask | i'd like you to ask | i would like you to ask | the agent must ask | the agent
        has to ask | the agent should ask | you'll ask me | you will ask me | asking me | checking
        with me | consulting me | getting my approval | getting my ok | confirming with me |
        getting approval | seeking my approval | come and ask me | come and ask | come and see me |
        i want to be asked | i'd like to be asked | i would like to be asked ) ( me )? ( first |
        beforehand | before | in advance | upfront )? ( before ( buying | you buy | doing so |
        doing it | doing that | you do it | you do | you do so | you go ahead | going ahead |
        proceeding | you proceed | that | paying | you pay | spending it | you spend it | acting |
        it happens ) )?
    """,
    "beyond": """
        <over> | past | larger | costing above | that cost over | that costs over | that cost above
        | that costs above | that costs more than | which cost more than | that exceed | which
        exceed | that are over | that are above | that are more than | which are over | which are
        above | bigger than | of a value above | of a value over | with a value above | with a
        value over
    """,
    "things": """
        ( anything | everything | something | amounts | any amount | spending | any spending |
        expenses | any expense | ( any | every | each | all | a | an | the | any single | each
        single | every single | individual | single | any individual | each individual | all
        individual )? ( <act> | <acts> ) )
    """,
    "needing": """
        <needs> | shall require | will require | must receive | shall be subject to | must be
        subject to | shall need | may only be made with | can only be made with | can only happen
        with | may only happen with | may only go ahead with | can only go ahead with | may proceed
        only with | will be subject to | has to have | have to have | must first have | first need
        | first needs | must get | has to get | have to get | call for | calls for
    """,
    "approved": """
        <needing> <consent> ( first | beforehand | in advance )? | ( only with | only after |
        subject to | with | not without ) <consent> | ( must | has to | have to | should | needs to
        | need to | shall | is to | are to | will have to | will need to | can only ) ( first )? (
        be )? ( approved | confirmed | authorised | authorized | signed off | cleared | okayed |
        agreed | go through me | come to me first | go past me | get past me | be run by me | be
        run past me | run by me | run past me ) ( by me | with me | by the owner )? ( first |
        beforehand | in advance )? | ( goes | go ) through me ( first )? | ( i | i'd | i would | we
        ) ( want | need | like | prefer | have | wish )? to ( approve | confirm | ok | sign off |
        be asked | be consulted | approve it | approve them | approve that | sign it off | sign
        them off | give my approval | give my ok ) ( first | beforehand | in advance | myself )?
    """,
    "wanting": """
        want to | wants to | need to | needs to | would like to | 'd like to | plan to | plans to |
        intend to | intends to | wish to | wishes to | have to | has to | like to | going to |
        about to | are going to | are about to | is going to | is about to
    """,
    "spending_on": """
        spend | spends | use | uses | pay | pays | trade | trades | move | moves | invest | invests
        | commit | commits | put in | put | puts | make a <act> | make an <act> | do a <act> |
        place a <act> | place an <act> | make <acts> | go | goes | buy something | buy anything |
        buy a <act> | take a <act>
    """,
    "its": """
        it's | it is | that's | that is | it costs | it would cost | it'd cost | something costs |
        something is | anything costs | anything is | a <act> is | an <act> is | any <act> is | the
        <act> is | a <act> costs | an <act> costs | any <act> costs | the amount is | the cost is |
        a <act> exceeds | an <act> exceeds | any <act> exceeds | it exceeds | it goes | the amount
        exceeds | something is going to cost | it's going to cost | a single <act> is
    """,
    "per_act_too": """
        <per_act> | ( on | for | in | into | to ) ( one | any | any one | any single | a single | a
        | each | every | any given | a given | any individual | an individual | each individual |
        each single | individual | single ) ( <act> | <acts> ) | on individual <acts> | a time | in
        a go | in one single <act> | at a single time | per individual <act> | per single <act>
    """,
    "per_day_too": """
        <per_day> | on one day | on one single day | in one single day | in any single day | on any
        single day | in the same day | during a day | during any day | during one day | on daily
        spending | on daily spend | for daily spending | on each day's spending | on the same day |
        across a day | across any day | in the course of a day
    """,
    "spends": """
        spend | use | trade | invest | put in | put | pay | move | commit | deploy | risk | take |
        bet | go through | get through | do | place | put up | stake | go | go for | throw in
    """,
    "spent_more": """
        ( spending | using | trading | investing | putting in | putting | paying | moving |
        committing | deploying | risking | placing | staking | going ) ( more than | over | above |
        beyond | in excess of ) | exceeding | to exceed
    """,
    "a_limit": """
        ( the | my | a | an | your | our | with a | set a | set the | use a | its | with )? ( hard
        | strict | absolute | upper | firm )? ( spending | spend | size | position size | order |
        trade | transaction | purchase | payment | single | individual | amount | money )? ( limit
        | limits | cap | caps | ceiling | max | maximum )
    """,
    "day_sum": """
        ( the | my | your | our | its | any | each )? ( total | aggregate | combined | overall |
        cumulative | maximum | max | gross )? ( daily | day's | per day | single day | one day's )
        ( spend | spending | total | totals | expenditure | expenditures | expenses | trading |
        outgoings | outlay | usage | investment | amount | sum | trades | purchases | payments |
        activity | use | costs | limit | cap | allowance | maximum | max | budget | exposure )
    """,
    "given": """
        ( shall | will | may | can | should | is to | are to )? ( have | has | receive | receives |
        get | gets | be given | is given | are given | is granted | are granted | be granted | has
        been given | have been given | dispose of | disposes of | manage | manages | operate with |
        operates with | work with | works with | administer | administers ) ( at its disposal | at
        your disposal | at their disposal | access to | use of | control of | control over | the
        use of )?
    """,
    "a_sum": """
        ( a | an | the | my )? ( total | overall | maximum | max | initial | fixed | starting |
        whole | small | trading | spending )? ( budget | sum | amount | total | allowance | capital
        | fund | funds | authority | spending authority | trading budget | spending limit ) of ( up
        to | at most )?
    """,
    "forme": """
        for me | on my behalf | for us | on our behalf | of mine | of ours | in my name | in total
        | altogether | overall | at most | in all | on the owner's behalf
    """,
}
