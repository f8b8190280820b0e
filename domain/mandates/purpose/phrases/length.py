"""How long, and what for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "span": """
        ( days | weeks | months ) ( : | = )? SPAN
        ( for | over | within | during | lasting | lasts | last | run for | runs for | running for
            | valid for | good for | over the course of | across | throughout | it runs for | keep
            it running for | run this for | run it for | live for | works for | active for | should
            run for | should last | must last | will last | will run for | use it over | spread
            over | to be used over | for a total of | for a period of | over a period of | for a
            duration of ) ( the | these | this )? ( next | coming | following | full | first |
            whole | entire | a period of | exactly | a total of )? SPAN ( only | in total | long |
            from now | from today | starting now | starting today | total )?
        SPAN ( horizon | period | mandate | run | term | duration | long | in total | only |
            timeframe | time frame | window | time horizon | trial | from now | from today |
            starting now | starting today | trial run | total | of runtime | max )?
        ( a | an | the | with a | for a | set a | on a ) SPAN ( horizon | period | mandate | run |
            term | duration | timeframe | time frame | window | time horizon | trial | trial run |
            test | experiment | trial period )
        ( the | a | my | total | with a | set a | set the )? ( duration | horizon | period | term |
            time | length | timeframe | time frame | runtime | time horizon | time limit | lifetime
            | how long | run time | run | mandate length | mandate period | running time | window |
            deadline ) ( <is> | : | of )? SPAN ( from now | from today | long | in total )?
        ( ends | end | end it | stop it | finish | it ends | ending | expire | expires | it expires
            | expiring | done | wrap up | stops | finished | terminate | terminates | it stops |
            wind down | return the money | give it back | stop trading | the mandate ends | the
            mandate expires ) ( after | in | within ) SPAN
        ( it should be over in | it should be over after | be done in | be done within | be
            finished in | it is over after | should be over in ) SPAN
        ( it | this | the mandate | the budget | the job | the task | the deal | you | the
            agreement | the agent | this mandate ) ( is for | lasts | runs | runs for | ends in |
            ends after | is valid for | should last | should run for | has | have | should run |
            will run for | is good for | covers | expires in | expires after | must last | is to
            last ) SPAN
        ( give it | you have | you've got | it has | we have | the agent has ) SPAN ( for this | in
            total | to do it | to do this )?
        ( hold | keep it | leave it | keep it there | leave it there | stay | hold it | hold them )
            for ( at most )? SPAN
        ( it's | it is | this is ) a SPAN ( test | trial | run | experiment | mandate | job )
        ( run | work | trade | do ) ( this | it )? for SPAN
        ( this | it ) ( is | should be ) for SPAN
        ( for as long as | let it run for | let this run for | let it go for | let it work for |
            let the agent run for | let the bot run for | have it run for | run for up to | for up
            to | for at most | for no more than | for a maximum of | run at most | for not more
            than | keep running for | keep going for | keep at it for | stay active for | operate
            for | it operates for | should take no more than | this should last | it should last |
            this will last | trade for | work on this for | work on it for | to be spent over | to
            last | to be used within | give yourself | take up to | you get | you have up to |
            you've got | you have got | timeline | timeline : | timeframe : | for a | for the | for
            these | stretch it over | stretch over | spread it over | spread this over | make it
            last | lasting for | valid | active | the run lasts | it will run for | it will run |
            it should run for | it should run | it can run for | it may run for | it may run | it
            can run ) ( the | these | this )? ( next | coming | following | full | first | whole |
            entire | exactly | a total of )? SPAN ( only | in total | long | from now | from today
            | starting now | starting today | total | max | at most | tops | and then stop | then
            stop | and then it stops | and that's it | period | starting from today )?
        SPAN ( tops | at most | at the most | maximum | and then stop | and then it stops | and
            done | to do it | to do this | time | of time | of trading | of work | plan | job |
            project | campaign | season | lifetime | limit | time limit | deadline | experiment |
            test | assignment | engagement | starting from today | as of today | as of now |
            overall )
        ( stop | end | quit | finish | be done | close | end this | stop this | end everything | it
            stops | it is over | it's over | this ends | we stop | pull out | return everything |
            hand back the money | give the money back | send the money back | hand it back | pay
            back | wrap it up | wrap this up | conclude | shut it down | shut down ) ( after | in )
            ( exactly | no more than | at most )? SPAN
        ( ( the | this )? ( mandate | job | task | agreement | deal | experiment | run | project |
            whole thing ) | this ( test | trial ) | my ( mandate | experiment | test | trial ) ) (
            is | will be | should be | lasts | runs | should last | should run | will last | will
            run | goes on | takes | can run | may run | is meant to last | is meant to run | is
            valid | stays valid | ends | expires | stops | is over ) ( for | after | in | over )? (
            a maximum of | up to | at most | exactly )? SPAN ( long | from now | from today | in
            total | at most )?
        ( the | your | my | agent's | its )? ( time | duration | runtime | term | period | horizon
            | length | timeline | time frame | timeframe | schedule | time limit | lifetime ) ( : |
            = | is | of )? SPAN ( or less | max | at most | maximum | in total | from now | from
            today | starting now )
        ( agent's | your ) ( time | duration | term | period | horizon ) ( : | = | is )? SPAN
        ( spend | use | invest ) ( it | them | everything | all of it | the money | this | the
            budget | the whole budget | the funds ) ( up )? ( within | over | during | across ) (
            the | a )? ( next | coming | following | period of )? SPAN
        ( it | the budget | the money | this | the funds | that ) ( has to | must | should | needs
            to | is meant to | is to | will have to ) ( last | cover | do | be enough | stretch ) (
            for | over )? ( the )? ( next | coming | following )? SPAN
        ( trade | work | run | operate | invest | do this | do it | keep going | keep trading |
            keep working | stay in | go ) ( for | over ) ( the | a )? ( next | coming | following |
            full | total of )? SPAN ( only | in total | from now | from today | starting now |
            starting today )?
        ( the | this | your | my ) ( mandate | agreement | job | task ) ( runs | lasts | goes | is
            valid | is ) for SPAN
        ( i | we ) ( give | grant | allow ) ( you | the agent | it ) SPAN
        <you> ( shall | will | may | should | can | must | is to | are to ) ( work | trade | run |
            operate | be active | act | serve | invest ) ( for | over | during ) ( the )? ( next |
            coming | a period of | a term of )? SPAN
        ( duration | term | length | lifetime | period | end ) of ( the | this ) ( mandate | job |
            agreement | task | contract ) ( <is> | : | shall be )? SPAN
        in the ( next | coming | following ) SPAN
        SPAN is ( how long you have | what you have | all you have | all you get | your time | the
            term | the time limit | the time you have | what you get | the limit | how long it runs
            | how long it lasts | how long this runs | how long this lasts )
        ( give | hand | send | pay | bring ) ( it | them | the money | everything | all of it | the
            funds | the rest | my money | all ) ( all )? back ( to me )? ( after | in | within )
            SPAN
        ( for | over | in | during | within )? ( this | these ) ( coming | next ) SPAN
        ( <you> )? ( go on | goes on | carry on | carries on | continue | continues | keep on |
            keep it up | keep this up | stay on | stay at it | stick with it | persist | stay
            invested | remain invested | hold on | serve | be active | remain active | be at it ) (
            trading | working | investing | with this | with it | like this )? ( for | over ) ( the
            )? ( next | coming | full | whole | total of | period of )? SPAN
        ( end | ends | finish | finishes | stop | stops | complete | completes | conclude |
            concludes | cease | ceases | close | closes | wind up | wind down | terminate |
            terminates ) ( its | your | the | all | this | my ) ( work | job | task | run | trading
            | activity | mandate | activities | operations | agreement | engagement | assignment |
            duties | whole thing | thing ) ( after | within | at the end of | in ) ( the )? SPAN
        ( <my> | a | with a | for a | over a | has a | with | of )? ( total | maximum | full |
            fixed | overall | agreed | whole )? ( duration | term | lifetime | life | run time |
            runtime | lifespan | length | time span | timespan | holding period | investment period
            | contract period | running time | validity | time horizon | horizon ) ( <is> | is
            fixed at | comes to | amounts to | is exactly | is limited to | is going to be | lasts
            )? ( exactly | just | only | a total of )? SPAN
        ( no longer than | not longer than | for no longer than | not more than | for not longer
            than ) SPAN ( in total | in all )?
        ( the )? SPAN ( from | starting | beginning | counting from ) ( today | now | this moment |
            the start | the signing | signature | when we start | day one | when you start )
        ( ( the | this | our | your ) ( agreement | deal | arrangement | contract | engagement |
            assignment | task | job | mandate | run ) | my mandate | mandate | it | this ) ( shall
            | will | should | must | is to | has to | may | can )? ( run | last | end | expire |
            terminate | continue | remain in force | stay in force | be in force | remain valid |
            stay active | go on | be valid | be active | terminates | expires | remains valid |
            remains in force | continues | is in force | is active | automatically end |
            automatically ends ) ( for | after | over | during ) ( a term of | a period of |
            exactly )? SPAN
    """,
    "week": """
        ( you | the agent ) ( have | has | get | gets | 've | will have | 'll have ) ( only | just |
            exactly )? ( a | one | a full | one full ) week ( for this | in total | only )?
        ( you've | you'll have | you've got ) ( only | just )? ( a | one | a full | one full ) week
            ( for this | in total | only )?
        ( give it | give yourself | give this | time limit ( : | is ) | the time limit is ) ( only |
            just )? ( a | one | a full | one full ) week

        ( <you> | you | this | the mandate | it all | the job | everything | trading ) ( will |
            shall | should | may | can | must | is to | are to )? ( work | works | run | runs | last
            | lasts | trade | trades | operate | operates | be active | is active | be valid | is
            valid | act | acts | continue | continues | go on | goes on ) ( for )? ( only | just |
            exactly )? ( a | one | the next | a full | one full | a single ) week ( only | in total
            )?
        ( for | over | within | during | lasting | run for | runs for | across ) ( a | one | the
            next | the coming | one full | a full | a single | the following ) week
        ( a | one ) week ( long | only | in total | from now | from today )?
        ( duration | horizon | period | term | time | length | timeframe | runtime | time horizon )
            ( <is> | : )? ( a | one ) week
        ( for | over | in | during | within )? ( this | the | one ) coming week
        ( for | over | in | during )? the week ( ahead | to come )
        ( in | within | over | during | for ) the ( next | following ) week
        a one week ( run | period | trial | mandate | horizon )
        ( it | the budget | the money | this | that ) ( should | must | has to | needs to | is
            meant to | is to ) last ( for )? ( a | one | the next | a full | one full ) week
    """,
    "fortnight": """
        ( <you> | you | this | the mandate ) ( will | shall | should | may | can | must )? ( work |
            works | run | runs | last | lasts | trade | trades | operate | operates ) ( for )? ( a |
            one ) fortnight
        ( for | over | within | during | lasting | run for | across )? ( a | one | the next | the
            coming | one full ) fortnight
    """,
    "month": """
        ( you | the agent ) ( have | has | get | gets | 've | will have | 'll have ) ( only | just |
            exactly )? ( a | one | a full | one full ) month ( for this | in total | only )?
        ( you've | you'll have | you've got ) ( only | just )? ( a | one | a full | one full ) month
            ( for this | in total | only )?
        ( give it | give yourself | give this | time limit ( : | is ) | the time limit is ) ( only |
            just )? ( a | one | a full | one full ) month

        ( <you> | you | this | the mandate | it all | the job | everything | trading ) ( will |
            shall | should | may | can | must | is to | are to )? ( work | works | run | runs | last
            | lasts | trade | trades | operate | operates | be active | is active | be valid | is
            valid | act | acts | continue | continues | go on | goes on ) ( for )? ( only | just |
            exactly )? ( a | one | the next | a full | one full | a single ) month ( only | in total
            )?
        ( for | over | within | during | lasting | run for | runs for | across ) ( a | one | the
            next | the coming | one full | a full | a single | the following ) month
        ( a | one ) month ( long | only | in total | from now | from today )?
        ( for | over | in | during | within )? ( this | the | one ) coming month
        ( for | over | in | during )? the month ( ahead | to come )
        ( in | within | over | during | for ) the ( next | following ) month
        ( duration | horizon | period | term | time | length | timeframe | runtime | time horizon )
            ( <is> | : )? ( a | one ) month
        ( it | the budget | the money | this | that ) ( should | must | has to | needs to | is
            meant to | is to ) last ( for )? ( a | one | the next | a full | one full ) month
    """,
    "year": """
        ( you | the agent ) ( have | has | get | gets | 've | will have | 'll have ) ( only | just |
            exactly )? ( a | one | a full | one full ) year ( for this | in total | only )?
        ( you've | you'll have | you've got ) ( only | just )? ( a | one | a full | one full ) year
            ( for this | in total | only )?
        ( give it | give yourself | give this | time limit ( : | is ) | the time limit is ) ( only |
            just )? ( a | one | a full | one full ) year

        ( <you> | you | this | the mandate | it all | the job | everything | trading ) ( will |
            shall | should | may | can | must | is to | are to )? ( work | works | run | runs | last
            | lasts | trade | trades | operate | operates | be active | is active | be valid | is
            valid | act | acts | continue | continues | go on | goes on ) ( for )? ( only | just |
            exactly )? ( a | one | the next | a full | one full | a single ) year ( only | in total
            )?
        ( for | over | within | during | lasting | run for | runs for | across ) ( a | one | the
            next | the coming | one full | a full ) year
        ( a | one ) year ( long | only | in total | from now | from today )?
        ( duration | horizon | period | term | time | length | timeframe ) ( <is> | : )? ( a | one
            ) year
    """,
    "until": """
        ( it | this | the mandate | the agent | everything | you | the job | the agreement | it all
            )? ( will | shall | should | must | may | can | is to )? ( run | runs | running | go |
            goes | go on | goes on | last | lasts | lasting | continue | continues | work | works |
            trade | trades | keep going | keep trading | stay active | remain active | be active |
            be valid | is valid | valid | good | is good | active | operate | operates | invest |
            invests | have | has | carry on | carries on | has time | have time ) ( on )? ( until |
            till | til | up until | through | up to ) ( the )? DATE ( at the latest | included |
            inclusive )?
        ( until | till | til | through | up until | up to and including | lasting until | lasts
            until | valid until | running until | run until | runs until | good until | good
            through | keep going until | from now until | from today until | from now to | starting
            now until | from now through | ending | ends | end | ends on | end on | ending on | it
            ends | it ends on | ending by | expires | expires on | expiring | expiring on | expire
            on | it expires on | it runs until | it lasts until | not beyond | not after | no later
            than | by | to be finished by | finish by | end by | done by | stop on | stop trading
            on | end date | end date : | end date is | ends : | until : | the mandate ends on | the
            mandate runs until | the mandate ends | the deal runs until | the deal ends on | this
            runs until | the agreement runs until | this ends on | this is until | work until |
            works until | works through | trade until | go on until | continue until | you have
            until | the agent works until | keep trading until | finish before the end of | active
            until | and ends on | the end date is | deadline | deadline : | deadline is | the
            deadline is | close out by | wrap up by | with an end date of | ending at | end : | it
            should end on | should end on | should run until | must end by | must end on | last
            until ) ( the )? DATE ( at the latest | included | inclusive | inclusively )?
        ( run | runs | trade | work | valid | active | it runs | go )? from ( today | now ) ( until
            | till | to | through ) ( the )? DATE
        ( this | the | our )? ( agreement | mandate | deal | job | task | contract | arrangement |
            run ) ( ends | end | is over | expires | runs | is good | is valid | lasts | stops ) (
            on | until | till | by | at )? ( the )? DATE
        ( you | we | the agent ) ( have | has ) until ( the )? DATE
        and ( ends | stops | ends on ) DATE
        ( end | ending | ends ) ( on | at ) ( the )? DATE
        keep ( working | going | trading | running ) until ( the )? DATE
        ( i | we ) ( want | need | would like | 'd like ) ( it | the money | everything | my money
            | the funds | all of it | it all | the rest | what is left ) back ( by | on ) ( the )?
            DATE
        ( i | we ) ( want | would like | 'd like ) ( this | it | the mandate | the agent |
            everything ) to ( end | stop | finish | be over | be done | run | expire | last ) ( on
            | by | until | till | at | through )? ( the )? DATE ( at the latest )?
        ( let it run | let this run | keep it running | keep this running | keep it going | run it
            | run this | run the agent | run the bot | it should work | it works | it may work | it
            can work | you can work | you may work | you may run | valid | active | lasting |
            stretch it | make it last | operate | continue trading | keep at it | go on trading |
            spend it | use it | to be spent | to be used ) ( until | till | til | through | up to )
            ( the )? DATE ( at the latest | included | inclusive )?
        ( stop | quit | finish | be done | close | close everything out | end this | stop this | it
            stops | it is over | it's over | this ends | we stop | pull out | return everything |
            return the money | give the money back | hand it back | hand back the money | wrap it
            up | wrap this up | conclude | shut it down | shut down | everything ends | everything
            should end | all done ) ( on | by | at | as of ) ( the )? DATE ( at the latest )?
        ( end | stop | final day | last day | last date | closing date | expiry | expiry date | end
            day | finish date | stop date | until ) ( is | : | = | on )? ( the )? DATE
        ( trade | work | work on this | work on it | run | do this | valid | running )? ( between |
            from ) ( now | today | this day ) ( and | until | to | till | through | on until ) (
            the )? DATE
        ( please )? ( finish | be finished | be done | complete | complete it | complete this |
            have it done | wrap up | be ready | get it done ) ( by | on ) ( the )? DATE ( at the
            latest )?
        ( time | duration | term | period | horizon | valid | runs ) ( : | = | is )? ( until | till
            | to | through ) ( the )? DATE
        ( it | the budget | the money | this | the funds | that ) ( has to | must | should | needs
            to | is meant to | is to | will have to ) ( last | stretch | do ) ( until | till |
            through ) ( the )? DATE
        ( your | the | my | our ) ( deadline | end date | final day | last day | closing date |
            expiry date | cutoff | cut off date | time limit ) ( <is> | for this is | ends )? ( the
            )? DATE
    """,
    "before": """
        ( until before | ends before | ending before | end before | done before | finish before |
            before ) ( the )? DATE
    """,
    "aim": """
        ( <aimw> ) ( for )? ( a | an )? ( total | overall | target )? ( return | gain | profit |
            growth )? ( of )? PCT ( return | gain | profit | growth | total return )? ( in total |
            overall | altogether )?
        ( the | a | my | with a | our )? ( target | goal | objective | profit target | return
            target | target return | target gain | target profit | gain target | aim ) ( <is> | : |
            is a gain of | is a return of | is a profit of | is to make | is to gain )? PCT ( gain
            | return | profit | growth )? ( in total | overall )?
        ( a | with a | the )? PCT ( target | goal | return target | profit target | gain target |
            target return )
        aim to ( make | earn | gain | return | grow it by ) PCT ( in total | overall )?
        ( get | make | earn | bring | give | return | generate ) ( me | us ) ( about | around |
            roughly | at least | some )? ( a | an )? PCT ( return | gain | profit | yield | growth
            ) ( in total | overall )?
        ( i'd | i would | we'd | we would ) ( like | love | be happy with ) ( to see | to get | to
            make | to earn )? ( about | around | roughly | something like )? ( a | an )? PCT (
            return | gain | profit | yield | growth | in profit ) ( in total | overall )?
        ( i | we ) ( want | hope for | am hoping for | expect | am aiming for | am looking for |
            would like | aim for | am after ) ( to see | to get | to make | to earn )? ( about |
            around | roughly )? ( a | an )? PCT ( return | gain | profit | yield | growth ) ( in
            total | overall )?
        ( i'm | we're ) ( hoping | aiming | looking ) for ( about | around | roughly )? ( a | an )?
            PCT ( return | gain | profit | yield | growth ) ( in total | overall )?
        ( grow | increase ) ( it | my money | the money | the budget | the pot | the balance | my
            balance | my capital | this | the value | the total ) by ( about | around | roughly )?
            PCT
        ( make | earn | achieve | reach | hit | produce | generate ) ( about | around | roughly )?
            ( a | an )? ( total | overall )? PCT ( return | total return | gain on it | growth )
        ( try to | please try to | i want you to | i'd like you to | see if you can | hopefully )?
            ( make | gain | achieve | reach | bring in ) ( me )? ( about | around | at least |
            roughly )? PCT ( return | gain | profit | growth | in return | in gains )? ( in total |
            overall )? ( if you can | if possible )
        try to ( make | earn | get | gain | achieve | reach | bring in | return ) ( me )? ( about |
            around | at least | roughly )? PCT ( return | gain | profit | growth | in gains )?
        ( hoping for | looking for | expecting | shooting for | hope for ) ( about | around |
            roughly | some )? ( a | an )? PCT ( return | gain | profit | growth | yield )?
        ( make | earn | gain | get me | return | bring me ) at least PCT ( return | gain | profit |
            growth )?
    """,
    "aim_money": """
        ( <aimw> ) ( for )? ( a | an )? ( total | overall )? ( return | gain | profit ) of MONEY
        ( <aimw> ) for MONEY ( of )? ( profit | gain | gains | in profit )
        aim to ( make | earn | gain ) MONEY
        ( goal | target | objective | aim | the goal | the target | the aim | my goal | my target )
            ( is | : | is to | : to )? ( make | earn | gain | reach | get )? MONEY ( profit | of
            profit | in profit | gain | in gains )
        ( goal | target | objective | aim | the goal | the target | the aim | my goal | my target )
            ( is | : | is to | : to )? ( make | earn | gain ) MONEY
    """,
    "span_in": """
        ( in | inside | inside of | within ) ( the )? ( next | coming | first )? SPAN
    """,
}
