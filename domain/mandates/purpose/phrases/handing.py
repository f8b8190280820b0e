"""Money and time as they are handed over in passing, and what shall come of the money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "budget": """
        ( <my> )? ( total | whole | overall | spending | trading )? ( budget's | allowance's |
            kitty's | bankroll's | stake's | pot's | total's ) ( <exactly> )? <amt> ( in total |
            altogether | overall | max | at most )? <for_what>?
        ( i've | we've | i have | we have | i | we ) ( just | already | now | also )? ( put | set |
            laid | kept ) ( <exactly> )? MONEY ( aside | by | away | apart | to one side ) (
            <to_whom> )?
        ( i | we )? ( hereby | now | am | are | 'm | 're | i'm | we're )? ( hand | handing | make |
            making | turn | turning | pass | passing ) over ( <exactly> )? MONEY ( <to_whom> )?
        ( i'm | i am | we're | we are ) ( happy | glad | willing | pleased | ready | prepared ) to (
            hand over | give <you> | lend <you> | trust <you> with | hand <you> | let <you> have |
            let <you> use | let <you> trade | let <you> manage ) ( <exactly> )? MONEY <for_what>?
        ( the )? ( sum | amount | money | capital | budget | total | fund | funds | stake | deposit
            | allowance | principal ) ( i'm | i am | i | we | we're | that i'm | that i | that we |
            which i | i've | i have )? ( hereby )? ( entrusted | given | lent | handed | handed over
            | allocated | assigned | granted | committed | provided | allotted | made available |
            set aside | put aside | reserved | entrusting | entrust | giving | give | handing |
            lending | allocating | committing ) ( to | for )? ( <you> | this mandate | the mandate |
            this | this job | you with )? ( is | : | = | comes to | amounts to | will be | totals |
            shall be ) ( <exactly> )? MONEY ( in total | altogether )?
        ( the )? ( sum | amount | total ) ( of ) MONEY ( is | has been | is hereby | are ) (
            entrusted | given | lent | handed over | allocated | assigned | granted | committed |
            provided | made available ) ( to <you> | to this mandate | for this | to you )?
        <funder> ( hereby | now )? <hands_over> ( to ) <you> ( a | an | the )? ( total | aggregate |
            overall | maximum | fixed | initial )? ( amount | sum | budget | total | capital |
            allowance ) of ( up to | at most )? MONEY
        <funder> ( hereby | now )? <hands_over> ( to ) <you> ( up to | at most )? MONEY
        ( our | my ) W ( is | are )? ( giving | lending | handing | trusting | giving over | gives |
            lends | trusts | hands | allocates | provides | funds ) <you> ( with )? ( <exactly> )?
            MONEY <for_what>?
        ( i'm | i am | we're | we are ) ( lending | giving | handing | trusting | leaving | passing
            | entrusting ) ( to )? <you> ( with )? ( my | our | some | some of my | all my ) ( W )?
            ( money | cash | savings | funds | stash | pot | capital | bonus | stake | nest egg ) (
            , | : | - | of | which is | that is | i.e. | that's | namely | worth | , that's | ,
            which is ) ( <exactly> )? MONEY
        ( i'm | i am | we're | we are | count me | count us ) in ( for | with ) ( up to )? MONEY
        ( play | have fun | mess | fool | muck | faff | toy | experiment | tinker | practise |
            practice | have a go | try your luck | try your hand | get going | get started | make do
            | get by | do what you can | do your thing | do your best | see what you can do | go to
            work | run with it | get busy ) ( around | about )? with ( my | the | these | this )?
            MONEY <for_what>?
        ( here's | here is | here are | have | take | you have | there's | you get | you've got | i
            give you | i'm giving you | i've got | i have | i got ) ( <exactly> )? NUM to ( play
            with | trade with | work with | invest | trade | play around with | start with | use |
            get going | put to work | experiment with | get started | have fun with | spend | grow |
            manage )
        ( now )? ( i | we | i've | we've )? ( have | got | have got | 've got | scraped together |
            put together )? MONEY ( for you | for u | for you here | here for you | lying around for
            ( you | this ) | spare for ( you | this ) | to spare | ready for you | set aside for you
            | waiting for you | to hand over | to give you | to play with | to put to work | for you
            to ( use | trade | invest | manage | play with | work with | trade with | look after |
            grow ) )
        ( i'd | we'd | i would | we would | would | i | we )? ( like | want | love | need ) ( to
            have | to see | to get )? ( my | our | these | the )? MONEY ( of ( my | our ) ( W )? (
            cash | money | savings | funds | capital | reserves ) )? ( to be )? ( put to work | put
            to good use | invested | managed | traded | looked after | taken care of | lent out |
            handled | placed | parked | deployed | put | deposited ) ( for ( me | us ) )?
        ( my | our ) MONEY ( is | are ) ( yours | in your hands | in your care | with you | at your
            disposal | for you ) ( to ( manage | use | invest | trade | trade with | spend | work
            with | play with | look after | grow ) )?
        with ( my | our ) MONEY ( of mine )?
        ( i | we | i'd | we'd )? ( would | should | 'd )? like to ( ( put | set ) ( my | the )?
            MONEY to ( work | use | good use ) | ( put in | put aside | give <you> | entrust |
            entrust <you> with | trust <you> with | hand <you> | hand over | lend <you> | lend out |
            trade with | use | commit | allocate | have you manage | let you manage | let you have |
            start with ) ( my | the )? MONEY <for_what>? )
        ( i'm | i am | we're | we are )? ( gonna | going to ) ( give | lend | hand | trust | let ) (
            <you> ) ( with | have | use | trade | manage )? ( <exactly> )? MONEY <for_what>?
        ( i've | we've ) got MONEY ( <for_what> | spare | left over | saved up )?
        ( my | the | our | this | a ) ( little | small | whole )? ( pot | budget | sum | fund |
            stake | kitty | float | total ) of MONEY ( is | are ) ( all )? ( yours | for you | at
            your disposal | in your hands | in your care | available | there | ready | for this | to
            be invested ) ( to ( manage | use | invest | trade | trade with | spend | work with |
            play with | look after | grow ) )?
        ( manage | look after | invest | trade with | handle | grow | take care of | run | use ) (
            the | our | my ) W MONEY ( for me | for us )?
        ( do | run | try | start | practise | practice | test ) ( it | this | things ) with ( my |
            the | these )? ( just | only | up to )? MONEY
        ( the | these | this | my ) MONEY ( in ( this | the | my | your ) ( wallet | vault | account
            | pot | mandate ) | in here | in there | i sent | i sent you | you see | here | there )?
            ( is | are ) ( all )? ( for you | yours ) ( to ( manage | use | invest | trade | trade
            with | spend | work with | play with | look after | grow ) )?
        ( administer | oversee | steward | manage | handle | invest | trade with | look after |
            deploy | put to work | take charge of | take over | take care of | supervise ) ( the | a
            )? ( ( sum | amount | total | budget | capital ) of )? MONEY ( for me | for us | on my
            behalf )?
        ( that's | that is | this is ) ( <exactly> )? MONEY ( of mine | of my money )? ( for you |
            for the agent ) ( to ( manage | use | invest | trade | trade with | spend | work with |
            play with | look after | grow ) )?
        ( i'll | i will | we'll | we will | i | we )? let <you> ( run | work | play | go | start |
            trade | loose | experiment ) with ( up to )? ( my | the | these )? MONEY
        ( worth | to the value of | up to a value of | to the tune of ) ( up to | at most | a total
            of )? MONEY ( altogether | in total | in all | overall | all told )
        ( <you> ) ( have | has | get | gets | will have | will get | 've got | 'll have ) NUM ( to
            work with | to play with | to spend | to trade with | to invest | to use | in total |
            altogether )
        ( <you> ) ( is | are )? ( to | gets to | get to | may | can | will ) ( work | trade | play |
            operate | deal | start | begin ) with ( up to | at most | a total of )? MONEY
        ( <you> | you'll | you will | it'll ) ( be )? ( working | trading | playing | operating |
            starting | dealing ) with ( up to | a total of )? MONEY
    """,
    "week": """
        ( <has_time> ) ( a | one | a full | one full | exactly one | a whole | exactly a | just a |
            one whole ) week ( for ( this | it | that | the job ) | to do ( it | this | that | so |
            your thing ) | in total | for all of it | max | tops | at most | from today | from now
            )?
        ( run | do | try | trade | work | let's do | let's try | see how it goes | go | keep going |
            keep it going | keep it up | be in ) ( it | this | that | on it | on this )? for ( a |
            one | just a | just one | a whole | one whole ) week
        ( over in | done in | finished in | ends in | finish after | stop after | end after
            | ends after | is over after | closes after | it ends after | it's over after | quit
            after ) ( a | one | exactly one ) week
    """,
    "fortnight": """
        ( <has_time> ) ( a | one | a full | one full | a whole ) fortnight ( for ( this | it ) | to
            do ( it | this | so ) | in total )?
    """,
    "month": """
        ( <has_time> ) ( a | one | a full | one full | exactly one | a whole | exactly a | just a |
            one whole ) month ( for ( this | it | that | the job ) | to do ( it | this | that | so
            | your thing ) | in total | for all of it | max | tops | at most | from today | from
            now )?
        ( run | do | try | trade | work | let's do | let's try | see how it goes | go | keep going |
            keep it going | keep it up | be in ) ( it | this | that | on it | on this )? for ( a |
            one | just a | just one | a whole | one whole ) month
        ( over in | done in | finished in | ends in | finish after | stop after | end after
            | ends after | is over after | closes after | it ends after | it's over after | quit
            after ) ( a | one | exactly one ) month
    """,
    "year": """
        ( <has_time> ) ( a | one | a full | one full | exactly one | a whole ) year ( for ( this |
            it | that | the job ) | to do ( it | this | that | so ) | in total )?
    """,
    "week_in": """
        ( in | inside | inside of | within | after | over | by the end of ) ( a | one | just a |
            just one | a single | one single | the next ) week ( or less )?
    """,
    "month_in": """
        ( in | inside | inside of | within | after | over | by the end of ) ( a | one | just a |
            just one | a single | one single | the next ) month ( or less )?
    """,
    "year_in": """
        ( in | inside | inside of | within | after | over | by the end of ) ( a | one | just a |
            just one | a single | one single | the next ) year ( or less )?
    """,
    "span": """
        ( for | over )? ( a | the )? ( term | period | duration | term and period ) of ( exactly )?
            SPAN <from_now>
        ( for | over )? ( the )? SPAN <from_now>
        ( the | your | our )? ( duration | term | length | lifetime | period | life ) of ( this |
            the | your | our ) ( mandate | agreement | arrangement | deal | job | task | assignment
            | engagement | contract | trial | test | experiment ) <is> ( exactly )? SPAN
        ( the | this | our ) <deal> ( shall | will | should )? ( automatically )? ( end
            | ends | expire | expires | terminate | terminates | lapse | lapses | close | closes |
            stop | stops | finish | finishes | conclude | concludes ) ( automatically | by itself |
            on its own )? ( after | in ) ( exactly )? SPAN
        ( <has_time> ) ( up to | exactly | a full | a total of | all of | the next | at most )? SPAN
            ( for ( this | it | that | the job ) | to do ( it | this | that | so | your thing ) | in
            total | for all of it | max | tops | at most | from today | from now )?
        ( i'm | i am | we're | we are | count me | count us | you're | you are | stay | be ) in (
            this | it | on this )? for ( the )? ( next | coming | full )? SPAN
        ( may | can | shall | will | should ) ( trade | work | run | operate | invest | be active |
            act | go on | carry on | do this | do so | use it | spend it ) ( for | over | during ) (
            the )? ( next | coming | full )? SPAN
        ( <you> ) ( have | has | get | gets | hold | keep | may keep | can keep | can have ) ( it |
            this | them | the money | that | these ) for ( the )? ( next | full )? SPAN
        ( it | that | this | the money | the budget )? ( should | must | has to | will have to |
            needs to | is to | ought to | will ) last ( you | me | us | the agent ) ( for )? SPAN
        ( spread | stretched | spaced | divided | used up | running | to be spread | to be stretched
            | distributed | paced | lasting | , spread ) ( out )? ( over | across | for | through )
            ( the | a )? ( next | coming | period of | full )? SPAN
        ( park | leave | keep | put | let ) ( it | them | this | that | the money | everything ) (
            there | in there | in | running | going | working | parked | invested | at work )? for (
            the )? ( next | coming | full )? SPAN
        ( see | look | watch ) ( you | me )? ( how it goes | how that goes | what happens | how you
            do | how it does ) ( for | over | in ) ( the )? ( next )? SPAN
    """,
    "until": """
        ( the | this | our )? <deal> ( shall | will | should | is to | must )? ( remain
            | remains | stay | stays | be | is | continue | continues | run | runs | last | lasts |
            hold | holds ) ( in force | in effect | valid | active | effective | open | running |
            good )? ( until | till | through | up to | up to and including ) ( the )? DATE
        ( the | this | our ) <deal> ( shall | will | should )? ( automatically )? ( end
            | ends | expire | expires | terminate | terminates | lapse | lapses | close | closes |
            finish | finishes | conclude | concludes ) ( automatically )? ( on | by | at ) ( the )?
            DATE
        ( you're | we're | it's | you are | we are | it is | everything's | all is ) ( done |
            finished | over | through | complete ) ( on | by ) ( the )? DATE
        ( <you> ) ( have | has | get | gets | keep | can keep ) ( it | this | them | the money |
            these ) ( until | till | through ) ( the )? DATE
        ( <has_time> ) ( until | till | through | up to ) ( the )? DATE ( for ( this | it ) | to do
            ( it | this | so ) )?
        ( spread | stretched | running | to be spread | paced | lasting | park it | leave it there |
            leave it in | keep it there | keep it in | keep it going | let it work | let it sit |
            put to work ) ( out )? ( until | till | through ) ( the )? DATE
    """,
    "aim_money": """
        ( <striving> | <strive> ) ( make | earn | get | gain | bring in | win ) ( me | us )? ( at
            least | about | around )? ( a ( profit | gain ) of MONEY | MONEY ( of profit | of gain |
            of gains | profit | in profit | gain | in gains | on top | extra | of interest | in
            interest | of yield | of return ) ) ( on it | with it | out of it | from it )?
        ( <aimw> ) ( for )? ( a | an )? ( total | overall )? ( return | gain | profit ) of MONEY (
            on it | with it | on that | out of it | in total )
    """,
    "grow_from": """
        <hoping> ( turn | grow | increase | make | build | raise | bring | build up | take |
            multiply | expand ) <my_sum>
        ( my | the | these | our )? MONEY ( should | shall | must | is to | are to | has to | have
            to | needs to | ought to )
        ( i | we | i'd | we'd | i would | we would ) ( want | like | love ) <my_sum> ( to be )? (
            turned | grown | made | brought | raised | increased | multiplied | built up )
        ( i | we | i'd | we'd | i would | we would ) ( want | like | love ) ( my | these | the |
            our ) MONEY to
        ( make | let | have | get | see ) ( my | these | the | our ) MONEY
    """,
    "grow_to": """
        ( become | to become | grow into | grow to | to grow to | to grow into | turn into | to turn
            into ) ( at least | about | around )? <amt>
    """,
    "aim": """
        ( ( i | we | i'd | we'd | i would | we would ) ( want | like | love | hope for | need ) |
            let | make | have | get | see ) ( it | this | my money | the money | the budget | my
            budget | the pot | the funds | our money | the account | my savings | the total | the
            balance ) ( to )? ( grow | increase | rise | go up | gain | appreciate | climb ) ( by )?
            ( about | around | roughly | at least )? PCT ( in total | overall )?
        ( i'm | i am | we're | we are )? ( hoping | aiming | looking | going | shooting | out ) (
            for ) ( a | an ) ( total | overall | net )? ( return | gain | profit | growth | increase
            | yield ) of ( about | around | roughly | at least )? PCT ( in total | overall )?
        ( i'd | i would | we'd | we would | i should | i | we )? ( like | love | want | hope for |
            need | am after | be happy with | be pleased with | be delighted with | settle for | be
            glad of ) ( to see | to get | to make | to earn | to have )? ( a | an ) ( total |
            overall | net )? ( return | gain | profit | growth | increase | rise | yield ) of (
            about | around | roughly | at least )? PCT ( in total | overall )?
        ( the | my | our | your )? ( target | goal | objective | aim | hope | plan | idea ) ( is | :
            | would be | = | 's ) ( about | around | roughly | at least )? ( up | plus | a plus of |
            an increase of | growth of | a rise of | a return of | a gain of | a profit of | to be
            up | to end up | to be up by | to go up | to grow by | to gain | to make | to earn | to
            return | to get ) ( about | around | roughly | at least )? ( a | an )? PCT ( up | return
            | gain | profit | growth | more | on top )? ( in total | overall | by the end | at the
            end )?
        ( <strive> ( make | bring | win | squeeze | reach | hit | produce ) | <striving> ( earn |
            get | return | generate ) ) ( me | us | out )? ( about | around | roughly | at least |
            some )? ( a | an )? PCT ( profit | gain | return | on top | out of it | on it | extra |
            more | with it | from it )? ( please | for me | if you can | if possible )?
        ( aiming | going | shooting | looking | hoping | playing ) ( for | at )? ( about | around |
            roughly | at least )? plus PCT ( in total | overall )?
        ( plus | up ) PCT ( would be ( nice | great | good | lovely | perfect | ideal | fine ) | is
            the ( goal | target | aim | plan | objective ) )
        ( a | an )? PCT ( gain | return | profit | growth ) would be ( nice | great | good | lovely
            | perfect | ideal )
        PCT ( gain | return | profit | growth )? ( is the ( goal | target | aim | plan | objective )
            | is what i'm ( after | aiming for | hoping for ) | is what we're ( after | aiming for |
            hoping for ) | is my ( goal | target | aim | objective ) | is our ( goal | target | aim
            | objective ) )
    """,
    "aim_on": """
        ( i'd | i would | we'd | we would | i should | i | we | i'm | we're )? ( like | love | want
            | hope for | hoping for | am after | after | looking for | be happy with | be pleased
            with | settle for | need | aiming for | going for ) ( to see | to get | to make | to
            earn )? ( a | an )? ( total )? ( return | gain | profit | growth | yield | increase )
            of ( about | around | at least )? PCT ( <onward> )
        ( i | we | i'm | we're | i am | we are )? ( want | after | looking for | hoping for | aiming
            for | going for | hope for | need | target | targeting | shooting for ) ( about | around
            | at least | a | an )? PCT ( return | gain | profit | growth | gains )? ( <onward> )
        ( the | my | our | your )? ( target | goal | objective | aim ) ( is | : | = ) ( a | an )?
            PCT ( return | gain | profit | growth | gains )? ( <onward> )
    """,
    "aim_to": """
        ( <try_to> | please | and | then )? ( turn | grow | make | build | bring | take | get |
            raise | increase | push ) ( it | this | that | them | the money | my money | the budget
            | my budget | the pot | the funds | that money | the lot | it all ) ( up )? ( into | to
            | up to ) ( about | at least )? <amt> ( for ( me | us ) | in total | please )?
    """,
}
PARTS: Final[Mapping[str, str]] = {
    "striving": """
        ( please )? ( try | aim | do try | do aim | let's try | let us try ) ( to | and ) | see if
        you can | see whether you can | the goal is to | the aim is to | the target is to | my goal
        is to | my aim is to | our goal is to | the idea is to | the plan is to
    """,
    "strive": """
        <striving> | i want you to | i'd like you to | i would like you to | help me | help me to |
        i want to | i'd like to | i hope to | we want to | we hope to | your job is to | your task
        is to | hopefully
    """,
    "hoping": """
        ( the | my | our | your ) ( objective | goal | aim | target | plan | idea | task | job |
        hope | mission | purpose ) is ( to | that you | for you to ) | i hope you ( can | will | 'll
        )? | i hope you'll | see whether you can | i'd be happy if you ( could | can ) | hopefully
        you can | ( please )? ( do )? try and | we hope you can | we hope you ( will )? | i'd love
        you to | i'd love for you to
    """,
    "deal": """
        mandate | agreement | arrangement | deal | job | task | assignment | engagement | contract |
        trial | test | experiment | authority | authorisation | authorization | permission
    """,
    "from_now": """
        ( commencing | starting | beginning | counting | running | counted | effective | as of |
        from ) ( today | now | immediately | from today | from now | from now on | on signing | upon
        signing | upon signature | on signature | with signature | from signing | from signature |
        right now | right away | at once | the date of signing | from the date of signing | from the
        date of signature | the day of signing )
    """,
    "has_time": """
        <you> ( have | has | get | gets | will have | will get | 've got | has got ) | you've |
        you've got | you have got | you'll have | you'll get | it's got | give <you> | i give <you>
        | i'll give <you> | i'm giving <you> | i am giving <you> | we give <you> | giving <you> |
        we'll give <you> | take | let's take | let's do | let's try | we have | i have | allow <you>
        | allow yourself | give yourself | give this | give it | <my> time is | the time is | the
        term is | the duration is | the period is | time : | the agent has | it runs for | this runs
        for | it goes on for
    """,
}
