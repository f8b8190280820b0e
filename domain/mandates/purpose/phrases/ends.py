"""How it ends: the loss that is borne, what is done with what is open then, what is hoped for, and
when it is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "bearers": """
        i | we | the ( committee | dao | board | team | fund | club | company | treasury | family |
        owner | council | group | foundation | cooperative )
    """,
    "worst": """
        greatest | biggest | largest | worst | highest | heaviest | maximum | max | most | steepest
        | deepest | total | overall
    """,
    "bears": """
        accept | accepts | tolerate | tolerates | allow | allows | permit | permits | bear | bears |
        can accept | can bear | can tolerate | will accept | will tolerate | will allow | will bear
        | would accept | would tolerate | can live with | can stand | can take | can stomach | am
        willing to accept | am willing to bear | am prepared to accept | are willing to accept | are
        prepared to accept | is willing to accept | is prepared to accept | am ready to accept |
        want to accept | am willing to take | am prepared to take | can afford | am willing to
        tolerate | want to risk | want to see
    """,
    "still_open": """
        ( that | which )? ( are | is | may be | might be | happen to be )? ( still | then )? open (
        then | at that point | at that time | at the time | by then | at that moment )?
    """,
    "over_by": """
        ( and | then | please | you should | you must | it should | it must | i want it to | i want
            you to | i'd like you to | i'd like it to | let it | have it )? ( finish | end | stop |
            be done | be finished | be over | wrap up | wrap it up | complete it | complete this |
            conclude | get it done | get this done | finish up | finish this | finish it | be
            through ) ( within | in | after )
        | ( and | then | please )? ( send it | full send | let it run | let it work | run it | keep
            it going | go for it | let it ride | go ) for
    """,
}
PHRASES: Final[Mapping[str, str]] = {
    "lost": """
        ( the | my | our | a )? <worst> ( total | overall | possible )? ( <loss_noun> ) ( that )? (
            <bearers> ) ( <bears> ) ( is | : | = | comes to | stands at ) <val> <ofit>?
        ( <bearers> ) ( <bears> ) ( a | the )? ( <worst> ) ( total | overall )? ( <loss_noun> ) of
            <val> <ofit>?
        ( <bearers> ) ( <bears> ) ( losses | a loss | a drawdown ) of ( at most | up to | no more
            than ) <val> <ofit>?
        ( <bearers> ) ( <bears> ) no ( loss | losses | drawdown ) ( <over> ) <val> <ofit>?
        ( i | we )? ( can | could ) ( only )? afford to lose ( up to | at most | no more than )?
            <val> of ( them | these | those | it | that ) ( at most | max | but no more )?
        ( with )? ( at most | no more than | not more than | max | a maximum of | up to ) <val> lost
        ( sl | s/l | stop-loss ) <is>? PCT ( <ofit> )?
        the ( most | maximum | max ) ( that )? ( i'm | i am | we're | we are ) ( willing | prepared
            | ready | happy | able ) to ( lose | risk losing ) is <val> <ofit>?
        without ( ever )? losing ( more than | over ) <val> <ofit>?
    """,
    "loss_of": """
        ( <bearers> ) ( <bears> ) ( a | the )? ( <worst> ) ( total | overall )? ( <loss_noun> ) of
            PCT
        ( a | the | my | our | with a )? ( max | maximum ) ( <loss_noun> ) ( of | is | : )? PCT
        <halt> ( at | after | on ) ( a | an )? ( PCT ( loss | drawdown ) | ( loss | drawdown ) of
            PCT )
    """,
    "loss_on": """
        on ( a | the | my | our )? ( total | budget of | total of | sum of | capital of )? MONEY (
            in total | budget | total )?
    """,
    "gain_on": """
        ( ( the | my | your )? ( goal | target | aim ) is | <aimw> ( for )? | try for | hope for ) (
            at least | about )? ( a | an )? ( ( gain | profit | return ) of MONEY | MONEY ( gain |
            profit | return ) ) ( on | from | with | out of )
    """,
    "budget_on": """
        ( a | the | my | our | this | your ) ( budget of | total of )? MONEY ( budget | pot | stake
            | deposit | in total | capital | i gave you | i give you | you get )
    """,
    "lost_if": """
        ( <when> ) down ( by )? ( more than | over | at least )? <val> ( or more )? <ofit>?
    """,
    "close_then": """
        ( whereupon | at which point | in which case | upon which | after which ) ,? ( <please> |
            you | it | the agent )? ( <stopping_now> and )? ( <sell_all> )
        ( and )? <sell_all> ( right there | right then | there and then | then and there | on the
            spot | straight away | straightaway | without delay | with it )
    """,
    "keep_then": """
        ( whereupon | at which point | in which case | upon which | after which ) ,? ( <please> |
            you | it | the agent )? ( <stopping_now> ,? ( but | and ) )? ( <hold_all> )
    """,
    "close_there": """
        ( action | what to do | to do | behaviour | behavior | instruction | outcome ) ( <stopped> )
            ( : | is | = ) ( <sell_all> )
    """,
    "keep_there": """
        ( action | what to do | to do | behaviour | behavior | instruction | outcome ) ( <stopped> )
            ( : | is | = ) ( <hold_all> )
    """,
    "close_after": """
        ( close | sell | liquidate | exit | unwind ) ( everything | <positions> | all | whatever is
            | what is ) <still_open>
        <please>? ( <sell_all> ) ( if | when | once | as soon as ) ( that | it | this ) ( is | gets
            )? ( hits | hit | triggers | triggered | reached | happens | occurs | comes | the case )
    """,
    "keep_after": """
        ( ( keep | leave | hold ) <positions> <still_open> ( as they are | untouched | alone )? | (
            do not | don't | never ) ( close | sell | touch | liquidate ) <positions> <still_open> )
        ( and )? ( whatever | all | any | the )? ( positions | trades | holdings )? ( that )? ( is |
            are ) <still_open> ( can | may | should | shall | will )? ( stay | remain | be left | be
            kept ) ( open | as they are | untouched | alone )?
        <please>? ( <hold_all> ) ( if | when | once | as soon as ) ( that | it | this ) ( is | gets
            )? ( hits | hit | triggers | triggered | reached | happens | occurs | comes | the case )
    """,
    "aim": """
        ( a | an | with a | with an | my | the )? PCT ( profit | gain | return )? ( target | goal )
            ( in total | overall )?
        ( i'd | i would | we'd | we would | i'll | i will ) be ( very | quite | really | more than
            )? ( happy | pleased | glad | delighted | satisfied | content | thrilled ) ( with | to
            see | to get | to make | if you made | if you make | if you got ) ( a | an )? ( ( gain |
            return | profit ) of PCT | PCT ( gain | return | profit | growth ) )
        ( a | an )? ( ( gain | return | profit ) of PCT | PCT ( gain | return | profit ) ) would (
            make | keep ) ( me | us ) ( very )? happy
        ( i'm | i am | we're | we are ) ( hoping | aiming | looking ) for ( a | an )? ( ( gain |
            return | profit ) of PCT | PCT ( gain | return | profit ) )
    """,
    "aim_to": """
        ( try to | try and | please try to | see if you can | do your best to | attempt to | aim to
            ) ( make | get | turn | bring | grow | take ) ( it | this | that | them | the money | my
            money ) ( to | into | up to )? ( at least )? <amt>
    """,
    "month": """
        <over_by> ( a | one | the next ) month
    """,
    "week": """
        <over_by> ( a | one | the next ) week
    """,
    "until": """
        ( and )? ( <please> | <you> )? ( shall | must | should | will | has to | have to | is to )?
            ( return | give back | hand back | pay back | send back | bring back ) ( it | the money
            | everything | what is left | the rest | all of it | the funds | the sum ) ( to ( me |
            us ) )? on DATE
        ( and )? ( <please> | <you> )? ( shall | must | should | will | has to | have to | is to )?
            ( give | hand | pay | send | bring ) ( it | the money | everything | the rest | all of
            it | the funds | the sum ) back ( to ( me | us ) )? on DATE
    """,
    "fortnight": """
        <over_by> ( a | one | the next ) fortnight
        ( a | one ) fortnight ( long | only | in total | from now | from today )?
    """,
    "span": """
        ( it's | it is | this is ) for ( the next )? SPAN
        let's ( do | try | go for | take | run it for | run this for | give it | have ) ( exactly |
            just )? SPAN
        ( i'll | i will | we'll | we will | i'd | let me | let's ) ( give | grant | allow | let ) (
            <you> ( have )? ) SPAN
        <over_by> ( the next )? SPAN
        ( everything | all | all of it | it all | the job | the whole thing | this ) ( should | must
            | has to | is to | needs to | shall ) ( finish | end | be done | be finished | be over |
            be completed | be wrapped up ) ( within | in | after ) ( the next )? SPAN
    """,
    "shares": """
        ( <spendv> | <max> )? PCT <per_act> ( , | and | / | & )
        <per_act> ( : )? PCT ( , | and | / | & )
    """,
    "shares_day": """
        ( <max> )? PCT <per_day>
        <per_day> ( : )? PCT
    """,
}
