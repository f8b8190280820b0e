"""What a budget is called, and how one is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "budget": """
        <my>? ( ( total | overall | whole | full | max | maximum | entire | initial | starting |
            trading | spending | agent's )? budget | total | total budget | grand total | allowance
            | overall limit | total limit | budget cap | budget limit | total spend | total
            spending | overall budget | overall cap | total cap | max spend in total | max spend |
            maximum spend | max total spend | maximum total spend | max total | maximum total |
            spending limit in total | money | capital | starting capital | initial capital |
            trading capital ) ( for ( this | everything | you | the agent | it | the whole thing |
            all of it | <what> ) )? ( <is> | is <max> | is capped at | is limited to | up to | max
            )? <amt> ( in total | total | overall | max | maximum | altogether | at most | only |
            to start with | to start )? <for_what>?
        ( a | with a | on a | you have a | it has a | there is a | there's a | set a | the agent
            has a | here is a | here's a | i give you a | i am giving you a | set the | set my |
            give it a | give the agent a | give you a | i set a | i'm setting a | with | make the |
            work with a | have a | use a | within a ) ( total | overall | max | maximum | fixed |
            small | strict | hard | initial | starting | spending )? budget ( of | to | at | is | :
            )? ( up to | max | at most | exactly )? <amt> ( in total | total )? <for_what>?
        ( MONEY | NUM ) ( is | as | for ) ( the | my | your | a )? ( total | whole | full | overall
            )? budget
        MONEY ( budget | total budget | total | in total | in all | altogether | overall |
            allowance | of budget | of capital | capital | all in | max in total | budget in total
            | total max | spending budget | mandate | trading budget | maximum in total | tops in
            total ) <for_what>?
        NUM ( budget | total budget | in total | in all | altogether | overall | total )
            <for_what>?
        ( ( you | the agent | it | the bot | agent )? ( <may> )? ( spend | use | invest | trade |
            deploy | commit | manage | work with | trade with | invest up to | handle ) | the agent
            gets | you get | give <you> | i give <you> | i will give <you> | i'll give <you> | i am
            giving <you> | i'm giving <you> | giving <you> | here is | here are | here's | i trust
            <you> with | trust <you> with | i'll fund it with | i will fund it with | i fund it
            with | i will fund the vault with | grow | grow the | grow my | on | on a budget of |
            lend | supply | stake | park | place | lend out | let's start with | let's use | we
            start with | start off with | you start with | it starts with | you will manage |
            you'll manage | you manage | the agent manages | the agent will manage | the agent will
            have | i'm funding it with | i'm funding this with | funding | i'm lending you |
            lending you | i'll give it | i'll give the agent | i'm putting in | i am depositing |
            i'm depositing | i've deposited | i have deposited | take | take the | take my | take
            these | you can use | you may use | you can invest | you may invest | you can trade
            with | you may trade with | <you> can work with | you have access to | you are getting
            | you're getting | you receive | you will get | you'll get | <you> should have | <you>
            shall have | <you> will have | the agent will get | the agent receives | get me <what>
            for | we give <you> | i allow <you> | i allow | i grant <you> | i hand <you> | i let
            you use | i let you spend | the wallet holds | here you have | put aside | i reserve |
            purchase up to | buy up to | there are | <you> can have | the agent has access to | you
            have up to | loaded with | my agent gets | my agent has | invest my | invest the |
            manage my | manage the | use my | use the | for a total of | with a total of |
            totalling | totaling | in total | overall | give it | we have | i am starting with |
            i'm starting with | you have a total of | <you> <may> <spendv> | feel free to spend |
            spend at most | spend | we're giving <you> | we are giving <you> | experiment with |
            play with | you have a float of | pay out at most | keep spending under | keep total
            spending under | keep the total under | keep the total below | keep total spending
            below | keep the total spend under | keep overall spending under | keep overall
            spending below | keep all spending under | you have | the agent has | it has | <you>
            may have | fund it with | fund <you> with | fund this with | start with | starting with
            | i want to invest | i want to spend | i want to put | i'd like to invest | i'd like to
            spend | i would like to invest | i would like to spend | i want you to spend | i want
            you to manage | i want you to invest | i want you to use | i want you to trade | manage
            | trade with | work with | allocate | i allocate | deploy | i am allocating | i'm
            allocating | put | i am putting | i'm putting | put in | i put in | i am putting in |
            i'm putting in | i deposit | deposit | i will deposit | i'll deposit | i will fund | we
            allocate | we give <you> | with | using | there is | there's | you can have | you're
            getting | you are getting | you will have | you'll have | i set aside | i have set
            aside | i've set aside | set aside | hand <you> | let it spend | let the agent spend |
            let the bot spend | let the agent use | let the agent manage | let the agent trade with
            | let the agent trade | let it use | let it manage | let it trade with | let it trade |
            allow the agent to spend | allow it to spend | allow <you> to spend | you're allowed to
            spend | the agent is allowed to spend | i authorize | i authorise | authorize |
            authorise | budgeting ) ( up to | a total of | a maximum of | at most | exactly | only
            | a budget of | no more than | an amount of | up to a total of | not more than | just |
            the | these | this | about no more than )? ( MONEY ) ( in total | total | altogether |
            at most | overall | max | maximum | in all | and no more | only )? ( to work | from me
            | at its disposal | at your disposal | worth | to start with | to start | to begin with
            | as a budget | as budget | as the budget | for a start )? <for_what>? ( in total |
            overall | altogether )?
        ( spend | invest | i give <you> | you have | you get | use | you can spend | you may spend
            | the agent may spend | the agent can spend ) ( up to | a total of | a maximum of | at
            most | only | no more than )? NUM ( in total | altogether | overall | in all )
            <for_what>?
        ( spend | invest | i give <you> ) ( up to | a total of )? NUM <for_what>
        invest NUM
        ( never | do not | don't | must not ) ( ( spend | use | invest ) ( more than | over ) |
            exceed ) <amt> ( in total | overall | altogether | in all | total )
        ( no more than | at most | max | maximum | not more than | up to | maximum of | max of | a
            total of | a maximum of | limit of | cap of | a cap of ) <amt> ( in total | overall |
            altogether | in all | total | all together | for everything )
        ( total | overall ) ( spend | spending | cost | costs | outlay ) ( must | should | may |
            can )? ( not exceed | stay under | stay below | be at most | never exceed | <is> at
            most | is limited to | is capped at | limited to | capped at | under | never above )
            <amt>
        ( limit | cap ) ( total spending | the total | total spend | overall spending | my total
            spending | the total spend | spending overall ) ( to | at ) <amt>
        up to MONEY <for_what>
        i ( have | 've got | have got ) MONEY ( for this | for you | for <you> | for the agent to
            use | to invest | to spend | to trade | to trade with | to put to work | for this agent
            | for this job | for this task )
        for ( up to | at most | a total of )? MONEY ( in total | total )?
        ( we | i | we've | i've | i'm | we're | i am | we are ) ( have | putting | adding | setting
            aside | reserving | committing | investing | providing ) ( set aside | put aside |
            reserved | allocated | budgeted | earmarked )? ( up to | a total of )? MONEY ( into
            this | in | for this | to this | for the job | aside | into it | for it )? <for_what>?
        ( we | i | you | it | the agent )? ( begin | begins | start | starts ) ( off )? with MONEY
            ( in the vault | in total )?
        ( let's do | let's say | let's make it | let's go with | let's take | let's try | give my
            agent | give our agent | try this with | try it with | test this with | test it with |
            do this with | go with ) ( up to )? MONEY <for_what>? ( first )?
        ( this is )? a ( small | little | short | first )? ( test | experiment | trial | pilot ) (
            with | of | worth ) MONEY
        ( never | do not | don't | must not | should not | may not | cannot | can't ) ( go over |
            exceed | go above | use more than | spend more than | pass ) <amt> ( in total | overall
            | altogether | in all | total )
        ( the | my | your | our | its )? total ( allowance | sum | amount | budget | spend |
            spending | outlay | cost | costs )? ( must | should | may | can | shall )? ( not exceed
            | never exceed | stay under | stay below | not go over | not go above | be at most |
            not be more than | never go over ) <amt>
        ( the | my | your | our )? ( total | overall | whole ) ( allowance | sum | amount ) ( for
            this )? <is>? <amt>
        ( limit | cap | maximum | max ) ( is | : | of )? <amt> ( overall | in total | altogether |
            in all | total )
        MONEY is ( the | my | your | our ) ( whole | total | full | entire | overall )? budget
            <for_what>?
        ( there is | we have | you have | i have ) a total of MONEY ( to work with | to use | to
            spend | available )?
        ( the budget | budget ) ( for this job | for this | for it )? ( shall be | will be | should
            be | is going to be ) <amt>
        ( allowed to spend | permitted to spend | free to spend ) ( up to )? MONEY ( in total |
            overall | altogether )
        ( invest | use | take | put | trade | manage ) ( my | the | these | our ) MONEY
        MONEY ( is | are ) ( available | there | yours | set aside | reserved | what you have | in
            the vault | the limit for everything )
        the whole ( thing | job | task | project | lot ) ( may | can | should | must ) cost ( up to
            | at most )? MONEY
        ( <you> | i | we ) ( have | has | 've | have got | has got | 've got ) ( a budget of | a
            total budget of | a total of | up to ) MONEY <for_what>?
        ( you've got | you have got | the agent has got | you'll get | we'd like you to manage | we
            would like you to manage | we want you to manage | i'm funding <you> with | i am
            funding <you> with | i will fund <you> with | i'll fund <you> with | i will fund the
            vault with | reserve | i'm reserving | funded with | i'm starting <you> with | it
            starts at | it starts with | the agent starts with | it started with | the account
            starts with | we have | i'd like to invest | let's limit this to | limit this to | keep
            this to | limit the whole thing to | i'm giving this agent | i give this agent | give
            this agent | hand the agent | lend ) MONEY ( in total | for this | for it | overall |
            altogether )? <for_what>?
        ( total | overall ) ( maximum | max | limit | cap ) <is>? <amt>
        ( don't | do not | never | not to ) ( spend | use | invest | go over | exceed ) ( more than
            | over )? <amt> ( in total | altogether | overall | in all )
        a budget of <amt> ( should be enough | is enough | must be enough | will do | is fine | has
            to do )
        ( budget | total budget ) ( to | at ) <amt>
        <my> budget's <amt>
        buy ( up to )? MONEY worth of W{1,6}
        ( i fund | we fund | we put in | i put in | we deposit | we start with | i start with | you
            begin with ) ( it with )? MONEY
        ( amount | sum | size | principal | deposit ) ( : | is | of ) MONEY
        ( <my>? ) budget is limited ( : | to ) <amt>
        ( keep | hold ) ( the )? ( total | overall )? ( costs | total costs | total spending |
            total spend | spending ) ( under | below | within | at ) MONEY ( in total | overall )?
        ( it | this | the job | the whole thing ) ( should | must | may | can ) not cost ( me | us
            )? more than MONEY ( in total | altogether | overall )?
        ( i set | set | i put | i fix ) the budget ( at | to ) <amt>
        ( not a penny more than | not a cent more than ) MONEY ( in total )?
        ( <my> )? ( <totnoun> ) ( for ( this | everything | you | the agent | it | the whole thing |
            all of it | <what> ) )? ( <bound> | <is> | is going to be | going to be | would be |
            shall be ) <amt> ( in total | total | overall | max | maximum | altogether | at most |
            only | or less | tops | and no more )? <for_what>?
        ( <totnoun> ) <amt> ( max | maximum | at most | only | or less | tops )? <for_what>?
        ( spending | spend ) ( limit | cap | ceiling | maximum | max ) ( overall | in total |
            altogether | total | in all | for everything ) <is>? <amt>
        the ( most | maximum ) ( <you> | i want you to | i'd like you to | i will let you | i'll let
            you | i let you )? ( <may> | should | will )? ( ever )? <spendv> ( in total | overall |
            altogether )? is <amt> ( in total | overall | altogether )?
        <you> ( has | have | gets | get | starts with | start with | works with | work with | begins
            with | holds | has got | can draw on | may draw on | can draw | runs on | operates with
            | controls | control | command | commands | oversee | oversees | administer |
            administers | handle | handles | look after | looks after | are in charge of | is in
            charge of | are in control of | is in control of | are responsible for | is responsible
            for ) ( up to | a total of | a maximum of | at most | only | exactly )? MONEY ( in total
            | total | altogether | overall | max | at most )? ( to spend | to work with | to use |
            to invest | to trade | to trade with | to play with | to manage | available | at its
            disposal | at your disposal | to start with | to start | to begin with | to grow | to
            get started )? <for_what>?
        ( earn yield | earn interest | make yield | get yield | earn a yield | earn some yield |
            earn income | earn a return | earn returns | make money | earn something | earn money |
            generate yield | find yield | get the best yield | earn passive income ) ( on | with |
            from | for ) ( my | the | these | up to )? MONEY
        ( put | invest | place | park | deploy | allocate | move ) ( my | the | these | up to )?
            MONEY ( in | into ) ( the | a | some )? ( safest | best | good | stable | safe | solid |
            conservative | reliable | high yield | low risk )? ( place | places | yield | yields |
            pool | pools | vault | vaults | market | markets | stablecoins | lending | defi |
            strategy | strategies | opportunity | opportunities | options | eth | bitcoin | btc |
            crypto ) ( you | the agent | it )? ( find | finds | can find | like | likes )?
        ( do your thing | do your best | go ahead | get started | get going | give it a go | have a
            go | go for it | try it | try it out | try this out | kick things off | kick off | begin
            ) with ( up to | only | just )? MONEY
        ( let's | i'll | i will | we'll | we will | i'd like to | i want to ) ( start | begin | kick
            off | try | test ) ( off | out | this | it | you out )? with ( just | only )? MONEY
        ( i | we ) ( am | are | 'm )? ( giving | give | lend | lending | hand | handing | grant |
            granting | entrust | entrusting | trust | trusting | provide | providing ) ( <you> | it
            ) ( with )? ( up to | a total of | exactly | only | just )? MONEY ( in total |
            altogether | overall )? <for_what>?
        ( i | we ) ( put | putting | place | placing | add | transfer | send | top up | load | pay
            in ) ( in )? ( up to )? MONEY ( in | into the vault | to the vault | in the vault | into
            it | on the account | in here | for this )?
        ( i've | i have | we've | we have ) ( funded | loaded | put in | set aside | deposited |
            reserved | earmarked | allocated | allotted | budgeted ) ( it with | the vault with |
            you with )? MONEY <for_what>?
        MONEY ( is | are ) ( all you have | all you get | all you've got | all i can spare |
            everything you have | everything you get | what you get | what you've got | your budget
            | your total budget | what i'm putting in | what you can spend in total | what you have
            to work with | yours to invest | yours to use | yours to trade | yours to manage | yours
            to spend | your limit for everything | all there is | all i have for this | everything i
            put in | the starting capital | your starting capital | the whole pot | the pot )
        ( keep | hold ) ( the )? ( whole thing | overall cost | overall costs | overall spend |
            total cost | total bill | total outlay | everything ) ( under | below | within | at or
            below | to ) MONEY ( in total | overall | altogether )?
        ( limited to | capped at | not to exceed | not exceeding ) MONEY ( in total | overall |
            altogether | in all | total )
        MONEY ( all told | all up | all together | max in total | max total | max overall | tops
            overall | at most in total | maximum overall | to play with | to work with | to spend |
            to invest | to use | to trade with | to trade | to start with | to start | to get
            started | to begin with | to manage | to grow | at your disposal | up front | starting
            capital | starting balance | starting budget | bankroll | of funding | of my money | pot
            | war chest | stake | for everything | for all of it | for the whole thing | for the lot
            | and not more in total | in capital | in the pot )
        ( limit | cap | keep | hold | restrict ) ( your | my | the | all | its | any | total )? (
            spending | spend | yourself | itself | it | purchases | payments | costs | this | things
            | everything | expenses ) ( to | at | under | below | within | to at most | to no more
            than ) <amt> ( max )? ( <ofall> )
        ( let's )? ( cap | limit | keep ) ( it | things | this | spending | everything ) ( to | at |
            under | below ) <amt> ( <ofall> )
        ( stay | keep | remain ) ( under | below | within | at or below | at or under | inside ) ( a
            limit of | a budget of | a cap of | the budget of )? <amt> ( <ofall> )
        ( stay | keep | remain ) ( within | inside | under ) ( a | the | my ) ( total )? budget of
            <amt>
        ( no more than | not more than | at most | max | maximum | up to | never more than | not
            over | not above | never over | less than | under | below | only ) <amt> ( <ofall> )
        ( no more than | not more than | at most | max | maximum | up to | never more than | not
            over ) <amt> ( should | may | can | must | is to | to | shall | will ) ( ever )? ( be )?
            ( spent | used | invested | go out | leave | risked ) ( <ofall> )
        <not> ( ( <spendv> | go ) ( more than | over | above | beyond ) | exceed ) <amt> ( <ofall> )
        ( <you> )? ( have | has ) ( my | the )? ( permission | authority | authorisation |
            authorization | leave | clearance | go ahead ) to ( spend | use | invest | trade with |
            manage ) ( up to | a total of | at most )? MONEY ( in total | overall | altogether )?
            <for_what>?
        ( this | the ) ( mandate | job | task | project | agreement ) is ( worth | for ) ( up to )?
            MONEY
        ( seed | fund | start | load | top up | kick off | provision | equip | supply ) ( it | you |
            the vault | this | the agent | the wallet | the bot | things ) with ( up to | exactly )?
            MONEY
        ( <my> )? ( total | overall | whole | trading | starting | initial | research | data |
            shopping | available | full | entire | investment | marketing | project | agent's | ad |
            travel | test | fixed )? ( budget | capital | allowance | bankroll | pot | funds | cash
            | float | stake | principal | funding | deposit | money ) ( : | = | is | are | of |
            amounts to | comes to | equals | totals | stands at | will be | is exactly | is just |
            is only ) ( exactly | just | only | up to )? MONEY ( in total | total | overall |
            altogether | max | at most | or less | only )? <for_what>?
        ( <my> )? ( budget | capital | allowance | bankroll | pot | funds | cash | float | stake |
            principal | funding | deposit ) MONEY ( in total | total | max | at most )? <for_what>?
        ( i | we ) ( can | could | will | 'll | would like to | want to | am happy to | 'm happy to
            | am ready to ) ( spare | provide | offer | contribute | put up | put in | chip in |
            give <you> | hand over | pay in | add | cover | fund | commit ) ( up to | a total of |
            at most )? MONEY <for_what>?
        ( i'll | we'll ) ( spare | provide | offer | contribute | put up | put in | chip in | give
            <you> | hand over | pay in | add | cover | fund | commit | start <you> with | start
            <you> off with | load it with | load the vault with | send | top up ) ( up to | a total
            of | at most )? MONEY <for_what>?
        ( i'm | i am | we're | we are ) ( putting | placing | sending | transferring | adding |
            depositing | investing | giving <you> | handing <you> | starting <you> with | starting
            <you> off with | setting <you> up with | loading it with | loading the vault with |
            funding the vault with | funding it with | funding <you> with | trusting <you> with |
            leaving <you> with | leaving <you> ) ( up to | a total of | exactly )? MONEY ( in | into
            the vault | in the vault | to the vault | into it | into this | in total | today | now |
            for this | to start | to begin with )? <for_what>?
        ( i | we ) ( put | place | send | transfer | add | deposit | invest | give <you> | hand
            <you> | fund the vault with | fund it with | leave <you> | trust <you> with | pay in ) (
            up to | a total of | exactly )? MONEY ( in | into the vault | in the vault | to the
            vault | into it | into this | in total | today | now | for this | to start | to begin
            with )? <for_what>?
        ( please )? ( accept | receive | take | use | manage | handle | look after | take care of |
            deal with ) ( these | this | the | my )? MONEY ( to trade with | to invest | to work
            with | for me | to use | to grow | to play with )?
        ( a | just a | only a | have a | here's a | here is a | there's a | there is a | with a ) (
            small | tiny | modest | total | fixed | strict | firm | hard | tight | little | simple
            )? ( budget | pot | bankroll | kitty | stake | allowance | float | fund | sum | total )
            of ( up to )? MONEY <for_what>?
        MONEY ( to see | just to see | to find out ) W{0,3} ( what you can do | how it works | how
            it goes | how you do | how well you do | what happens | if it works | whether it works |
            what comes out | how this works )
        MONEY ( and | but )? ( not a cent more | not a penny more | not one cent more | and not more
            | not a dollar more )
        go up to <amt> ( <ofall> )
        ( overall | in total | altogether | all in all ) ,? ( <you> | you | the agent ) <may> (
            <spendv> ) ( up to | at most | no more than )? MONEY
        MONEY ( or less | or under | at most | max | maximum | tops ) ( <ofall> )
        ( spend | use | invest ) MONEY ( or less | at most | max | tops ) ( <ofall> )
        ( never | do not | don't | must not | please don't ) ( exceed | go over | go above | go
            beyond | overshoot ) ( the | a | my | your | this ) ( total | overall )? MONEY ( total |
            overall )? ( budget | in total | total )
        ( <you> | you're | it's | you are | the agent is | feel ) ( are | is )? ( allowed | free |
            permitted | welcome | entitled ) to ( use | invest | spend | trade with | trade | manage
            | work with ) ( up to | the whole | all of the | the full | a total of )? MONEY ( in
            total | overall | altogether )? <for_what>?
        ( my | the | your | our ) ( limit | cap | maximum | max ) is <amt> ( <ofall> )
        ( max | maximum ) total ( outlay | expense | expenses | expenditure ) ( is | : | of )? <amt>
        ( the )? ( sum | total ) of all ( <acts> ) <bound> <amt>
        ( everything | all of it | it all | all of this ) ( together | combined | in total )? ( :
            | is | <bound> ) <amt> ( tops | at most | max | maximum )?
        ( i'm | i am | we're | we are ) ( giving | lending | handing | granting | trusting |
            loaning ) ( <you> | this agent ) ( with )? ( up to | a total of | exactly )? MONEY
            <for_what>?
        ( our team | the team | our company | my company | our dao | the dao | our club | my wife
            and i ) ( gives | give | lends | lend | grants | grant | trusts | trust ) <you> ( with
            )? ( up to )? MONEY <for_what>?
        ( i | we ) allow MONEY ( in total | overall | altogether | in all )?
        ( trade | invest | work | play | deal ) ( carefully | wisely | safely | cautiously |
            conservatively | sensibly | slowly | patiently | responsibly ) with ( my | the | these
            | up to )? MONEY
        the ( most | maximum ) ( i'm | i am | we're | we are ) ( willing | prepared | ready |
            happy | able ) to ( spend | invest | put in | commit | pay ) ( in total | overall |
            altogether )? is <amt>
        ( i | we ) ( only | just ) have MONEY ( to spend | to invest | to use | for this | to work
            with )?
        ( i set | set | we set | i fix ) the ( total | limit in total | overall limit | total
            limit ) ( at | to ) <amt>
        ( <not> ) put ( more than | over ) MONEY ( in | in total | in altogether | in overall )
        ( <you> )? <may>? ( use | spend | invest ) ( up to )? MONEY of ( it | that | them )
        ( the )? mandate ( covers | is for | has ) ( up to )? MONEY
        MONEY from ( the | my | our ) ( treasury | savings | company | fund | team | club | family
            | dao | account | wallet )
        ( <you> | i | we ) ( have | has ) MONEY from ( the | my | our ) ( treasury | savings |
            company | fund | team | club | family | dao | account | wallet )
    """,
    "budget_bare": """
        MONEY ( only | total )? <for_what>?
    """,
    "budget_of": """
        ( of | out of | on a budget of | from ) ( the | my | a | an | these )? ( initial | original
            | total | starting )? MONEY ( budget | total | in total )?
    """,
    "budget_cap": """
        up to MONEY
        for ( up to | at most )? MONEY ( max | maximum | tops | at most )?
    """,
}
