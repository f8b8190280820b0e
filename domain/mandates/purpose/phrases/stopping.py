"""The stop line: what may be lost (`lost`), what has to be left (`left`), or one of the two
(`line`, `stop_at`); what happens there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "lost": """
        <not> ( <you> )? ( ever )? lose ( more than | over | beyond | in excess of ) <val> <ofbud>?
        <not> ( <subj> | let it | let the <money_noun> )? ( drop | fall | go down | decline ) ( by
            )? more than <val> ( <budget_of> )?
        ( do not | don't | never ) let ( it | me | us | the agent | the bot | the <money_noun> )
            lose ( more than | over ) <val> <ofbud>?
        ( i | we ) ( do not | don't | never ) want to lose ( more than | over ) <val> <ofbud>?
        ( i | we ) ( am | are | 'm )? ( willing to | ready to | prepared to | ok to | okay to | can
            accept to | can afford to | am ready to ) lose ( up to | at most | no more than | max |
            a maximum of ) <val> <ofbud>?
        ( i can lose | i could lose | you can lose | you may lose | it may lose | it can lose | the
            agent may lose | the agent can lose | we can lose | i'm ok losing | i am ok losing | i
            accept losing | i'm fine losing | i can afford to lose | i can afford losing ) ( up to
            | at most | no more than | a maximum of | max ) <val> <ofbud>?
        ( i | we ) ( can | will )? ( accept | tolerate | take | stomach ) ( a | losses of | a loss
            of )? ( max | maximum )? ( loss | losses | drawdown )? ( of )? ( up to | at most | no
            more than | max | maximum ) <val> ( loss | losses | in losses | drawdown )? <ofbud>?
        <halt> ( and <halt> )? ( <when> ) <subj>? <lose> <by_more>? <val> ( or more )? <ofbud>?
        <halt> ( <when> ) ( <subj> )? ( has | have | shows | hits | reaches | is at ) ( lost | a
            loss of | an overall loss of | a total loss of | a drawdown of | losses of ) <by_more>?
            <val> ( or more )? <ofbud>?
        ( <when> ) <subj>? <lose> <by_more>? <val> ( or more )? <ofbud>? ,? ( then )? ( please |
            you must | you should )? <halt>
        ( <when> ) <subj>? ( has | have | shows | hits | reaches ) ( lost | a loss of | a drawdown
            of ) <by_more>? <val> ( or more )? <ofbud>? ,? ( then )? ( please )? <halt>
        <halt> ( <when> ) ( the | my | our | total | overall )? <loss_noun> ( reach | reaches |
            exceed | exceeds | hit | hits | go over | goes over | is | are | get to | gets to | go
            above | goes above | is more than | are more than | pass | passes | climb above ) (
            over | above | more than | at )? <val> <ofbud>?
        ( <when> ) ( the | my | our | total | overall )? <loss_noun> ( reach | reaches | exceed |
            exceeds | hit | hits | go over | goes over | is | are | get to | gets to | go above |
            goes above | is more than | are more than | pass | passes ) ( over | above | more than
            | at )? <val> <ofbud>? ,? ( then )? ( please )? <halt>
        <halt> ( at | after | on ) ( a | an )? ( total | overall | max | maximum )? <loss_noun> of
            <val> <ofbud>?
        <halt> ( at | after | on ) ( a | an )? <val> ( total | overall )? ( loss | drawdown |
            down )
        ( the | a | with a | my | set a )? ( max | maximum | maximal | largest | highest |
            acceptable | allowed | tolerable | total max | worst | biggest | hard | max allowed |
            maximum allowed | maximum acceptable | max acceptable | max tolerable | maximum
            tolerable | max total | maximum total ) ( allowed | acceptable | tolerable )?
            <loss_noun> ( allowed )? <is>? ( up to | at most )? <val> <ofbud>?
        ( a | the | with a | set a )? <val> ( max | maximum | max allowed | maximum allowed ) (
            total | overall )? <loss_noun>
        <loss_noun> ( limit | cap | max | maximum | tolerance | ceiling ) <is>? <val> <ofbud>?
        ( a | the | with a | set a | my )? <loss_noun> ( limit | cap | max | maximum | tolerance )
            ( of | at | is | : )? <val> <ofbud>?
        ( a | the | with a | set a )? <val> ( total | overall )? <loss_noun> ( limit | cap | max |
            maximum | tolerance )
        ( a | the | with a | set a | set the | my | use a | put a | have a )? ( stop loss |
            stoploss | stop loss limit ) <is>? <share> <ofbud>?
        ( a | the | with a | set a | my )? ( stop loss | stoploss ) of MONEY
        ( a | the | with a | set a | use a | have a | put a )? <share> ( stop loss | stoploss )
        ( lose | losing | lose in total | risk losing | loss of | losses of | drawdown of ) ( no
            more than | not more than | at most | up to | a maximum of | max | maximum | at maximum
            | never more than ) <val> <ofbud>?
        ( limit | cap | keep | hold | restrict ) ( the | my | total | any | overall | our | all |
            your )? <loss_noun> ( to | at | under | below | within | to at most | to a maximum of |
            to no more than ) ( most )? <val> <ofbud>?
        ( total | the | any | overall | my )? <loss_noun> ( must | should | may | can | shall | is
            to )? ( not exceed | never exceed | stay under | stay below | be at most | never be
            more than | not be more than | be capped at | be limited to | capped at | limited to |
            is capped at | are capped at | is limited to | are limited to | of at most | of up to |
            never above | not above | no higher than | no more than | at most ) <val> <ofbud>?
        no more than <val> ( may | can | should | must | is to | to )? ( be lost | be at risk of
            loss | loss | drawdown | in losses | of losses | of loss )
        ( the | a | my | set a | set the | with a | with the )? stop ( line | level )? <is>? BPS
        ( a | the | with a )? BPS stop ( line | level )?
        ( the | a | my | set a | set the | with a )? stop ( line | level )? <is>? <share> ( below |
            under | beneath ) ( the | my )? ( budget | start | starting value | initial value |
            starting capital | initial budget | starting balance )
        <halt> ( <when> ) <subj> ( is | are | falls | drops | goes | gets | 's )? <val> ( below |
            under ) ( the | my | its )? ( budget | start | starting value | initial value |
            starting capital | initial budget | starting balance | initial balance | starting point
            )
        <halt> ( <when> ) ( more than | over ) <val> ( is | has been | are | have been | gets | of
            it is | of the budget is | of the money is ) ( lost | gone )
        ( <when> ) ( more than | over ) <val> ( is | has been | are | have been | gets ) ( lost |
            gone ) ,? <halt>
        ( <when> ) ( i | we | you | it ) ( lose | loses | have lost | has lost ) <by_more>? <val>
            <ofbud>? ,? ( then )? ( please )? ( it's over | it is over | that's it | we're done |
            we stop | shut it down | pull the plug | call it a day )
        ( the most | the maximum ) ( i | we | you | it | the agent ) ( can | may | could | want to
            | am willing to | will | am ready to )? ( lose | afford to lose ) is <val> <ofbud>?
        ( i | we ) ( am | 'm | are )? ( ok | okay | fine ) with ( losing | a loss of | losses of )
            ( up to | at most | no more than | max )? <val> ( at most | max | maximum )? <ofbud>?
        ( i'm | i am | we're | we are ) ( ok | okay | fine | comfortable ) with ( losing | a loss
            of | losses of ) ( up to | at most | no more than | max ) <val> <ofbud>?
        ( i'm | i am ) ( ok | okay | fine | comfortable ) with ( losing ) <val> ( at most | max |
            maximum ) <ofbud>?
        ( a | any )? ( total | overall )? ( loss | losses | drawdown ) ( of )? ( more than | over |
            above | beyond | greater than | larger than ) <val> ( is | are ) ( not acceptable |
            unacceptable | not ok | not okay | not allowed | too much | not tolerable | out of the
            question | not fine ) ( to me | for me )?
        ( my | the )? ( pain threshold | loss tolerance | risk tolerance ) is ( a )? <val> ( loss |
            drawdown )?
        risk ( at most | no more than | up to | a maximum of | max | only ) <val> ( in total |
            overall | of the total | of the budget in total | altogether )
        the most ( i am | i'm | we are | we're ) ( prepared | willing | ready | able ) to lose is
            <val> <ofbud>?
        ( i | we ) ( allow | accept | tolerate | permit ) ( a | any )? ( loss | drawdown | losses )
            of ( up to | at most | no more than )? <val> ( at most | max | maximum )? <ofbud>?
        ( you are | you're | it is | the agent is | the bot is | we are )? allowed to lose ( up to
            | at most )? <val> ( at most | max )? <ofbud>?
        ( i am | i'm | we are | we're ) ( happy | fine | okay | ok | willing ) to lose ( up to | at
            most | no more than ) <val> <ofbud>?
        risk ( no more than | at most | up to ) <val> ( overall | in total | of the total |
            altogether )
        <halt> at ( a )? <val> ( down | below | under )
        <loss_noun> ( of )? ( at most | up to | max ) <val>
        ( you | we | i | it | the agent )? ( may | can | could )? lose <val> ( at most | max |
            maximum | at the most | tops ) <ofbud>?
        ( i'd | i would | i'll | i will ) be ( fine | ok | okay | happy ) with losing ( up to | at
            most )? <val> <ofbud>?
        ( keep trading | keep going | go on | continue | trade | work ) until ( you | we | it ) (
            have | has | 've ) lost <val> <ofbud>?
        <halt> at ( a | an )? <loss_noun> ( of )? <val>
        ( shut down everything | shut everything ) (
            <when> ) <subj>? <lose> <val>
        ( i | we ) ( can | could ) afford to lose ( up to )? <val>
        <halt> ( <when> ) down <by_more>? <val>
        <halt> ( immediately )? ( <when> ) the loss ( is | gets ) ( more than | over | above )
            <val>
        afford to lose ( up to | at most )? <val>
        ( at most | max | maximum | up to | no more than | not more than | a maximum of | only )?
            <share> ( max | maximum | at most )? ( loss | drawdown | draw down | downside ) ( max |
            maximum | at most | allowed | tolerance | limit | tolerated | accepted | in total |
            overall | or less )?
        ( at most | max | maximum | up to | no more than | not more than | a maximum of ) MONEY (
            loss | drawdown | in losses | of losses ) ( in total | overall )?
        ( stop line | stop level | stop | stop loss | stoploss | floor | hard stop | halt | kill
            switch | circuit breaker ) <is>? ( at | after )? ( a | an )? <val> ( loss | down |
            drawdown | below start | below the start | below budget | below the budget |
            lost | total loss | total drawdown | overall loss | overall drawdown )
        ( i | we ) ( do not | don't | would not | wouldn't | won't ) mind ( losing | a loss of | a
            drawdown of | losing out on ) ( up to | at most | as much as | a maximum of | max )?
            <val> <ofbud>?
        losing ( more than | over ) <val> <ofbud>? ( is | would be ) ( not acceptable | unacceptable
            | not ok | not okay | not allowed | too much | not tolerable | out of the question | not
            fine | a no go | not an option | forbidden ) ( to me | for me )?
        <halt> ( <when> ) ( more than | over )? <val> ( of it | of the budget | of my money | of the
            money )? ( is | are | has been | have been ) lost ( in total | overall )?
        ( loss | losses | drawdown | dd ) ( : | of | at | is | are )? ( max | maximum )? <val> ( or
            less | max | maximum | at most | tops | at the most )
        ( losses | drawdown | loss | total losses | total loss | the loss | the drawdown | my loss |
            my losses | overall losses | overall drawdown ) <bound> <val> <ofbud>?
        ( keep | hold | limit | cap | restrict ) ( my | the | any | all | your | total | overall )?
            ( potential | possible | maximum )? <loss_noun> ( at | to | under | below | within | at
            or below | at or under | to under | to less than | at most | no more than | to at most |
            smaller than ) <val> <ofbud>?
        ( i | we ) ( can't | cannot | can not | could not | couldn't | won't | don't want to | do
            not want to | would not like to | wouldn't like to | must not | mustn't | would hate to
            ) ( afford to )? lose ( more than | over ) <val> <ofbud>?
        ( make sure | ensure | see to it ) ( that )? ( i | we | you | it | the agent ) ( never | do
            not | don't | doesn't | does not | can't | cannot ) lose ( more than | over ) <val>
            <ofbud>?
        ( the | my | our )? ( total | overall | worst | worst case | largest | biggest | max |
            maximum )? ( loss | drawdown | losses ) ( i | we ) ( can | could | will | would | am
            willing to | are willing to | 'm willing to | would be willing to | want to )? ( accept
            | tolerate | take | stomach | bear | live with | stand | swallow | afford | allow ) is
            <val> <ofbud>?
        ( i | we ) ( can | could | will | would | am willing to | are willing to | would be willing
            to )? ( accept | tolerate | take | stomach | bear | live with | stand | swallow | allow
            ) ( a | up to | at most | a max | a maximum )? <val> ( loss | drawdown | draw down | in
            losses | of losses | of loss ) ( at most | max | maximum | in total | overall | but not
            more | but no more | and no more )?
        ( willing | prepared | ready | happy | able ) to ( lose | risk losing | accept losing ) ( up
            to | at most | no more than | max | a maximum of ) <val> <ofbud>?
        ( i'm | i am | we're | we are ) ( willing | prepared | ready | happy | able ) to ( lose |
            risk losing | accept losing ) ( up to | at most | no more than | max | a maximum of )?
            <val> <ofbud>? ( but no more | but not more | at most | max | tops | no more )?
        <halt> ( <when> ) ( you | we | i | it | the agent | the bot | my bot | my agent | the
            account ) ( 've | have | has )? ( lost | burned | burnt | burned through ) ( more than |
            over | about )? <val> ( or more )? <ofbud>?
        <halt> ( <when> ) ( down | it's down | we're down | i'm down | you're down | you are down |
            it is down | i am down ) ( by )? ( more than | over | at least )? <val> ( or more )?
            <ofbud>?
        ( <when> ) ( down | it's down | we're down | i'm down | you're down | you are down | it is
            down | i am down ) ( by )? ( more than | over | at least )? <val> ( or more )? <ofbud>?
            ,? ( then )? ( please | just )? <halt>
        ( <when> ) <subj>? <lose> <by_more>? <val> ( or more )? <ofbud>? ,? ( then )? ( please |
            just )? ( the mandate | the agent | the bot | it | everything | all trading | trading |
            you ) ( should | must | has to | have to | needs to | need to | is to | will ) ( stop |
            halt | end | be stopped | be halted | be shut down | be ended | pause )
        ( the | my | your | our | a | with a | set a )? ( stop line | stop level | stop | stop loss
            | stoploss | floor | hard stop | kill switch | loss limit | limit | line ) ( <is> | is
            at | sits at | stands at | comes at | at ) ( a | an )? <val> ( loss | down | drawdown |
            losses | below start | below the start | below budget | below the budget | lost | total
            loss | total drawdown | overall loss | overall drawdown )
        ( drawdown | max dd | loss tolerance | max loss | maximum loss | max drawdown | loss limit |
            drawdown limit | acceptable loss | tolerated loss | risk tolerance | maximum drawdown |
            loss cap ) ( : | = | is ) ( max | at most | up to )? <share>
        ( and | but )? ( <you> | i | we )? ( may | can | could | is allowed to | are allowed to )
            lose ( at most | up to | no more than | a maximum of | not more than | max | only )
            <val> <ofbud>?
        ( it's | it is | that's | it would be | it'd be ) ( fine | ok | okay | acceptable | alright
            | all right ) ( to lose | if you lose | if we lose | if i lose | to be down | to drop )
            ( up to | at most | no more than | as much as ) <val> <ofbud>?
        ( i | we ) ( allow | accept | tolerate | permit | can accept | set | want | can live with |
            can take ) ( a | an )? ( max | maximum | total | overall | largest | worst )? ( loss |
            drawdown ) of ( up to | at most | no more than )? <val> <ofbud>?
        ( i | we )? ( am | are | 'm | 're | i'm | we're )? ( ok | okay | fine | comfortable | happy
            | cool | at ease ) with ( a | an | up to | at most | up to a | at most a )? <val> ( loss
            | drawdown | draw down | downside ) ( at most | max | in total | overall | but no more |
            but not more )?
        ( losses | drawdown | loss | total losses | total loss | any loss | any drawdown | a loss |
            a drawdown ) ( <over> | beyond | bigger than | larger than | greater than ) <val> ( is |
            are | would be ) ( not acceptable | unacceptable | not ok | not okay | not allowed | too
            much | not tolerable | a no go | not fine )
        ( draw the line | cut the losses | cut losses | cut my losses | cut our losses ) ( at | when
            we are down | when it's down | when you're down | if it drops | if it falls | if we lose
            | at a loss of ) <share>
        ( never | do not | don't | please don't | please never ) ( lose | burn | let me lose | make
            me lose | let us lose ) ( more than | over ) <val> ( <ofbud> | please | for me )?
        ( i | we ) ( would | 'd | will | am prepared to | am ready to )? ( stop | quit | pull out |
            get out ) ( at | after ) ( a | an )? <val> ( loss | drawdown )
        no ( loss | losses | drawdown ) ( above | over | beyond | of more than | bigger than |
            larger than | greater than | exceeding | in excess of ) <val> <ofbud>?
        ( make sure | ensure | see to it ) ( that )? ( <you> | we | i ) ( never | do not | don't |
            does not | doesn't ) ( lose | loses ) ( more than | over ) <val> <ofbud>?
        PCT ( is | as | for ) ( the | my | your | a )? ( stop loss | stoploss | max loss | maximum
            loss | max drawdown | maximum drawdown | loss limit | drawdown limit )
    """,
    "lost_all": """
        ( with )? no ( stop line | stop loss | stoploss | floor )
        no ( stop line | stop loss | stoploss ) ( needed | please | required | at all )
        ( there is | there's | set ) no ( stop line | stop loss | stoploss )
        without ( a | any )? ( stop line | stop loss | stoploss )
    """,
    "half_lost": """
        <not> ( ever )? lose ( more than | over ) half ( ( of )? ( it | ( <my> ) ( budget | money |
            capital | funds | total ) ) )?
        <halt> ( <when> ) <subj>? ( loses | lose | lost | has lost | have lost ) half ( ( of )? (
            it | its value | ( <my> ) ( budget | money | capital | funds | total | value ) ) )?
        <halt> ( <when> ) half ( ( of )? ( <my> ) ( budget | money | capital | funds | total ) )? (
            is | has been | are ) ( lost | gone )
    """,
    "left": """
        <halt> ( <when> ) <subj>? <fall> ( <below> | down to | to ) <amt>
        <halt> ( <when> ) <subj> ( is | gets | becomes | are ) worth ( less than | under | below )
            <amt>
        ( <when> ) <subj> ( is | gets | becomes | are ) worth ( less than | under | below ) <amt>
            ,? ( then )? ( please )? <halt>
        <halt> ( <when> ) <subj>? ( reaches | hits ) a ( low | minimum | floor ) of <amt>
        <halt> ( <when> ) <subj>? <fall> ( <below> | down to | to ) PCT <budget_of>
        <halt> ( <when> ) ( there is | there's | only | there are )? ( less than | under | below )
            <amt> ( is | are )? ( left | remains | remaining | remain )
        <halt> ( <when> ) ( only | just ) <amt> ( is | are )? ( left | remains | remaining | remain
            )
        <halt> ( <when> ) ( i | we | you | it ) ( have | has ) ( less than | under | only | below )
            <amt> ( left | remaining )
        ( <when> ) <subj>? <fall> ( <below> | down to | to ) <amt> ,? ( then )? ( please )? <halt>
        ( <when> ) <subj>? <fall> ( <below> | down to | to ) PCT <budget_of> ,? ( then )? ( please
            )? <halt>
        <halt> ( below | under ) <amt>
        <halt> ( below | under ) PCT <budget_of>
        <halt> at PCT <budget_of>
        <not> ( let )? <subj>? ( ever )? ( go | fall | drop | get | sink | dip | be | going |
            falling | dropping ) <below> <val> ( <budget_of> )?
        ( do not | don't | never ) let ( it | the <money_noun> | my <money_noun> | us | things ) (
            ever )? ( go | fall | drop | get | sink | dip | slip ) <below> <val> ( <budget_of> )?
        ( <subj> ) ( must | should | may | can | is to | shall | has to ) ( not | never ) ( ever )?
            ( go | fall | drop | get | sink | dip | be ) <below> <val> ( <budget_of> )?
        ( <subj> ) ( must | should | has to | is to ) ( stay | remain | be kept | always be |
            always stay | always remain ) ( above | at or above | over | at least at | at least )
            <val> ( <budget_of> )?
        ( keep | hold | maintain ) ( the | my | its )? <money_noun> ( above | at or above | over |
            at least at ) <val> ( <budget_of> )?
        ( keep | preserve | protect | retain | maintain ) ( at least | a minimum of | no less than
            | not less than ) <share> <budget_of>
        ( the | a | my | with a | set a | set the | put a | put the | use a | have a | hard )?
            floor ( value | level )? <is>? MONEY
        ( the | a | my | with a | set a | set the | put a | put the | use a | have a )? floor (
            value | level )? <is>? NUM
        ( the | a | my | with a | set a | set the | hard )? floor ( value | level )? <is>? PCT
            <budget_of>
        ( a | with a | set a | hard )? MONEY floor
        ( the | a | my | with a | set a | set the | put the | put a | have a )? ( stop line | stop
            level ) <is>? ( at )? PCT <budget_of> ( left | remaining )
        ( <subj> | the vault ) ( must | should | may | can | shall | is to ) ( not | never ) ( ever
            )? ( be | become ) ( worth )? ( less than | under | below ) <val> ( <budget_of> )?
        ( make sure | ensure | see to it ) ( that )? ( we | it | you | <subj> ) ( never | do not |
            don't | doesn't | does not ) ( drop | fall | go | drops | falls | goes | sink ) <below>
            <val> ( <budget_of> )?
        ( once | when | if ) <subj> ( is | are ) ( worth )? ( less than | under | below ) <amt> ,?
            <halt>
        ( <halt> | ( the mandate | the agent | the bot | it | everything | all trading | trading |
            you ) ( should | must | has to | have to | needs to | need to | is to | will ) ( stop |
            halt | end | be stopped | pause ) ) ( at | <when> ( you | we | it | i | the agent | the
            account | the vault | the balance | the bot ) ( is | are | get | gets | hits | hit |
            reaches | reach | comes | come ) ( down )? ( at | to )? ) <amt> ( left | remaining )
        ( i | we ) ( want | would like | 'd like | need ) to ( keep | preserve | protect | retain |
            still have | have ) ( at least | a minimum of | no less than | not less than ) <share>
            <budget_of>
        ( i'd | we'd ) like to ( keep | preserve | protect | retain | still have ) ( at least | a
            minimum of | no less than | not less than ) <share> <budget_of>
        ( do not | don't | never ) let ( it | the balance | the value | the account | the vault |
            the portfolio | my balance | the total | my money | the money | the pot ) ( ever )? ( go
            | fall | drop | get | sink | dip | slip ) <below> <val> ( <budget_of> )?
        ( the | my )? ( balance | value | account | vault | portfolio | portfolio value | account
            value | pot | total value | vault balance ) ( must | should | may | can | has to | needs
            to | is to | shall ) ( never | not | stay | remain | be kept | always stay | always be )
            ( drop | fall | go | dip | be | sink | get )? ( below | under | above | at or above |
            over ) <amt>
        ( protect | preserve | safeguard | secure ) ( at least )? <share> <budget_of>
        ( at least | no less than | a minimum of ) <share> <budget_of> ( must | should | has to |
            have to | needs to | need to ) ( be left | remain | be kept | stay | be preserved | be
            there | still be there | survive | be safe )
        <halt> ( <when> ) <subj>? ( is | are | 's | hits | hit | reaches | reach ) ( worth )? ( only
            | just )? ( down )? ( to )? <amt> ( left | remaining )
    """,
    "line": """
        ( the | a | my | with a | set a | set the | put a | put the | have a | use a )? ( stop line
            | stop level | stop ) <is>? <amt>
        ( a | with a )? MONEY stop ( line | level )
        ( the | a | my | with a | set a | set the )? ( stop loss | stoploss ) ( at | : )? <amt>
        ( the | a | my | with a | set a | set the | put a | put the | have a | use a )? ( stop line
            | stop level | stop ) <is>? PCT ( <budget_of> )?
        ( the | a | my | with a | set a | set the | hard )? floor ( value | level )? <is>? <share>
        ( a | with a )? PCT ( stop line | floor | stop level )
        <halt> at <share>
        <halt> ( <when> ) <subj>? <fall> ( <below> | down to | to ) <share>
    """,
    "stop_at": """
        <halt> ( at | when it reaches | if it reaches | when it hits | if it hits | once it hits |
            once it reaches | when we reach | if we hit | when the balance hits | if the balance
            hits | when the balance reaches ) <amt>
    """,
    "close_there": """
        <at_line> ,? ( then | please )? ( just | simply )? <close_all>
        <close_all> ,? ( <at_line> )
        ( on floor | at floor | at stop | at the floor | at the stop line ) ( : | = )? close
        <at_line> ,? ( the agent | you | it ) ( should | must | shall | will )? <close_all>
    """,
    "keep_there": """
        <at_line> ,? ( then | please )? ( just | simply )? ( <keep_all> | do nothing | sell nothing
            | keep holding | keep everything | hold everything | hold | close nothing )
        ( <keep_all> | do nothing | sell nothing | keep everything | hold everything ) ,? <at_line>
        ( on floor | at floor | at stop | at the floor | at the stop line ) ( : | = )? keep
        <at_line> ,? ( the agent | you | it ) ( should | must | shall | will )? <keep_all>
    """,
    "close_then": """
        ( then | there | and then )? ( also )? <close_all> ( then | there | at that point |
            immediately | too | as well )?
    """,
    "keep_then": """
        ( then | there | and then )? ( but | just | simply )? ( <keep_all> | keep everything | hold
            everything | sell nothing | close nothing ) ( then | there | at that point )?
    """,
    "lost_if": """
        ( <when> ) <subj>? <lose> <by_more>? <val> ( or more )? <ofbud>?
        ( <when> ) ( the | my | our | total | overall )? <loss_noun> ( reach | reaches | exceed |
            exceeds | hit | hits | go over | goes over | is more than | pass | passes | go above |
            goes above ) ( more than | over )? <val> <ofbud>?
        ( <when> ) <subj>? ( has | have | shows | hits | reaches ) ( a loss of | losses of | a
            drawdown of ) <by_more>? <val> <ofbud>?
        ( at | on | after ) ( a | an )? <val> ( loss | drawdown | down )
    """,
    "left_if": """
        ( <when> ) <subj>? <fall> ( <below> | down to | to ) <amt>
        ( <when> ) <subj>? <fall> ( <below> | down to | to ) PCT <budget_of>
        ( <when> ) <subj> ( is | gets | becomes | are ) worth ( less than | under | below ) <amt>
    """,
    "close_if": """
        ,? ( then | please | just | simply | you should | you must )? ( <close_all> | everything
            should be closed | everything must be closed | everything should be sold | everything
            must be sold | everything is to be closed | everything gets sold | everything is sold |
            close out everything | cut everything | get out of everything | get me out of everything
            | go to cash | go back to cash | sell it all | all positions should be closed | all
            positions must be closed | positions should be closed | liquidate | cash out everything
            | unwind everything | exit everything ) ( and <halt> | immediately | right away | and
            stop | at once | then | , <halt> )?
    """,
}
