"""Open frames: a condition and what follows from it, a thing and what it needs, a limit and what it
is on, each put together from parts rather than listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "lost": """
        <stopping_now> ,? ( <lossend> )
        ( out | get out | bail out | pull out | bail | i'm out | we're out | get me out | i want
            out ) ( at | after ) ( a | an )? <val> ( loss | drawdown | down )
        ( a | an )? <val> ( loss | drawdown | draw down ) <ofit>? ( means | and | = )
            <stopping_now>
        ( at most | max | maximum | no more than | not more than ) ( a | an ) <share> ( total |
            overall )? ( loss | drawdown ) ( in total | overall )?
        ( <lossend> ) ,? <please>? <stopping_now>
        ( lose | drop | burn ) <val> <ofit>? and ( you're | you are | it's | it is | we're | we are
            | that's | this is ) ( done | out | over | finished | it | fired )
        ( i | we ) ( can | could | 'd | would | will )? ( stand | afford | bear | live with |
            accept | tolerate | take | be fine with | be ok with | be okay with | stomach | cope
            with ) ( to lose | losing | a loss of | losses of | a drawdown of ) ( <upto> <val>
            <ofit>? | <val> <ofit>? <atmost> | <upto>? <val> <ofit>? before <stopping> )
        ( i'm | i am | we're | we are ) ( fine | ok | okay | comfortable | prepared | willing |
            ready | happy ) ( with losing | to lose | losing | with a loss of | to accept a loss of
            ) <upto>? <val> <ofit>? ( <atmost> )? before <stopping>
        ( a | an | the )? <val> ( loss | drawdown | draw down ) <ofit>? ( is | would be ) ( the |
            my | our )? ( limit | max | maximum | most | cut off | cutoff | end of it | stop line |
            absolute limit | hard limit | maximum i accept | most i accept | most i can take )
        ( a | the | my | with a | set a )? ( stop line | stop level | hard stop | floor | stop |
            stop loss | stoploss | cut off | cutoff ) ( : | is | = | - )? ( if | when | at | after
            | on )? ( a | an | you | we | it | i )? ( lose | loses | losing | lost | loss of |
            losses of | drawdown of | down ) <val> <ofit>?
        ( a | the | my | with a | set a )? ( stop line | stop level | hard stop | stop | stop loss
            | stoploss ) ( is | of | at | : | sits at | stands at )? ( a | an )? ( loss | drawdown
            ) of <val> <ofit>?
        ( a | the | my | with a | set a )? ( stop line | stop level ) ( at | is | is at | of )?
            <share> loss
        ( at most | max | maximum | up to | no more than ) <val> <ofit> ( may | can | could |
            should | is to | to ) be lost
        ( you | it | the agent | we | i ) <shall> ( not | never ) lose ( more than | over ) <val>
            <ofit>?
        ( keep | hold ) ( the | my | any | all | your | total )? ( losses | drawdown | loss ) (
            under | below | within | to | at ) ( at most )? <val> <ofit>?
    """,
    "lost_if": """
        <lossend>
    """,
    "left": """
        ( make sure | ensure | see to it )? ( that )? ( i | we ) ( never | do not | don't ) ( ever
            )? end up ( with | having ) ( less than | under | below ) <amt> ( left )?
        <stopping_now> ( <when> ) ( <whoever> )? <fall> ( <below> | down to | to ) ( only | just )?
            <amt> ( or less | or lower | or below )?
        ( <when> ) ( <whoever> )? <fall> ( <below> | down to | to ) ( only | just )? <amt> ( or
            less | or lower | or below )? ,? <please>? <stopping_now>
    """,
    "left_if": """
        ( <when> ) ( <whoever> )? <fall> ( <below> | down to | to ) ( only | just )? <amt> ( or
            less | or lower | or below )?
    """,
    "close_there": """
        ( <stopped> ) ( : | = | - )? ,? <please>? ( <selling> )
        ( <selling> ) ,? ( <stopped> )
    """,
    "keep_there": """
        ( <stopped> ) ( : | = | - )? ,? <please>? ( but )? ( <holding> )
        ( <holding> ) ,? ( <stopped> )
    """,
    "close_then": """
        ( then | there | also | please )? ( <selling> ) ( then | there | at that point |
            immediately | too | as well | in that case | when that happens )?
    """,
    "keep_then": """
        ( then | there | but | just | please )? ( <holding> ) ( then | there | at that point | in
            that case | when that happens )?
    """,
    "close_if": """
        ,? <please>? ( <selling> ) ( and <stopping_now> | immediately | right away | at once )?
        ,? <please>? <stopping> and <selling>
    """,
    "ask": """
        <askme> ( <objw> ){0,7} ( <beyond> ) <amt> ( <per_act_too> | in size | in value | on
            anything | for anything | on something )?
        <askme> ( if | when | whenever | in case | before | any time ) ( <its> ) ( <beyond> )?
            <amt>
        <askme> ( if | when | whenever | in case | before | any time ) <you> ( <wanting> )?
            <spending_on> ( <beyond> ) <amt> ( <per_act_too> | on something | on anything )?
        ( if | when | whenever | in case | any time | anytime | should ) ( <its> ) ( <beyond> )
            <amt> ,? <please>? ( <askme> )
        ( if | when | whenever | in case | any time | anytime | should | before ) ( <you> | you'd |
            you're | you are | it's | it'd ) ( <wanting> )? <spending_on> ( <beyond> ) <amt> (
            <per_act_too> | on something | on anything | for something )? ,? <please>? ( <askme> )
        before ( <objw> ){0,5} ( <beyond> ) <amt> ,? <please>? ( <askme> )
        <please> <askme> ( <objw> ){0,7} ( <beyond> ) <amt> ( <per_act_too> )?
        ( i | we | i'd | i would | we'd ) ( want | need | wish | like | have | prefer | expect )?
            to ( be ( asked | consulted | contacted | called ) | approve | confirm | sign off on |
            sign off | okay | ok | authorise | authorize | clear | vet ) ( on | about | before |
            for )? <things>? ( <objw> ){0,3} ( <beyond> ) <amt>
        be ( asked | consulted | contacted | called ) ( on | about | before | for ) <things> (
            <beyond> ) <amt>
        ( for | on | with )? <things>? ( <beyond> ) <amt> ( in size | in value )? ,? ( <approved> |
            <please>? <askme> )
        <consent> ( is | are )? ( required | needed | necessary | mandatory | a must )? ( for | on
            | before | to )? <things>? ( <beyond> ) <amt>
        ( <you> )? <shall> ( first )? ( request | obtain | seek | get | ask for | secure | have )
            <consent> ( for | before | prior to | on | to make | to do )? ( making | doing )?
            <things>? ( <beyond> ) <amt>
        ( require | requires | requiring | need | needing | with ) <consent> ( for | on | above )
            <things>? ( <beyond> )? <amt>
        ( run | clear | check | discuss | confirm | verify ) <things> ( <beyond> ) <amt> ( by |
            with | past ) me ( first | beforehand | in advance )?
        ( ask | ask me | asking | approval | approvals | my approval | approval needed | approval
            required | confirm | confirmation | consent | permission | sign off | needs approval |
            ask first | check with me | consult me ) ( : | = | - | is )? ( for )? <things>? (
            <beyond> ) ( : | = | - | is )? <amt>
        ( <you> )? ( asks | checks | checks with me | asks me | asks first | checks in ) ( first )?
            ( before | for | about | when | if | on ) ( <objw> ){0,5} ( <beyond> ) <amt>
    """,
    "tx": """
        <a_limit> <is>? <amt> ( <per_act_too> )
        <a_limit> ( <per_act_too> ) ( : | is | = | of | at )? <amt>
        subject to ( <max> )? <amt> ( <per_act_too> )
        ( <not> | not | never | without | and never | and not | but never | nor ) <spent_more>
            <amt> ( <per_act_too> )
        <not> <spends> ( more than | over | above | beyond | in excess of ) <amt> ( <per_act_too> )
        ( never | not | without ) ( buying | buy ) ( more than | over ) MONEY ( <per_act_too> )
        ( i | we )? ( allow | permit | authorise | authorize | grant ) ( <you> )? ( <max> )? <amt>
            ( <per_act_too> )
        ( i | we ) ( do not | don't | never ) want ( to see )? ( any | a )? ( single | individual
            )? ( <act> | <acts> ) ( of | over | above | exceeding | for | worth | to exceed |
            bigger than | larger than ) ( more than | over )? <amt>
        ( <my> )? ( single | individual | one time | one off ) ( spend | expense | outlay | cost |
            amount | limit | max ) ( : | is | = )? <amt>
        <amt> ( <per_act_too> ) ( is | as ) ( the | my | a )? ( limit | max | maximum | cap | most
            | ceiling | upper limit )
        ( only )? <amt> <maxtail>? ( <per_act_too> ) ( only | please )?
        ( keep | limit | cap | restrict ) ( each | every | any | all | single | individual ){1,2} (
            <act> | <acts> ) ( to | at | under | below | within ) <amt>
        ( <max> )? MONEY for ( each | every | one | any ) ( <act> )
        ( nothing | none ) ( <over> ) <amt> ( <per_act_too> )
        ( spending | using | trading | investing | putting in | putting | risking | paying |
            committing ) ( <max> ) <amt> ( <per_act_too> )
        ( <per_act> ) ,? ( <permitted> ) ( <max> )? <amt>
        of which ( <max> )? <amt> ( <per_act_too> )
        <not> go past <amt> ( <per_act_too> )
        ( with )? ( individual | single )? <acts> ( not | never ) ( going | exceeding | to go ) (
            over | above | beyond | past )? <amt>
        ( one | any one | a single | single | each ) <act> : ( <max> )? <amt>
        ( in | into ) ( <acts> | chunks | portions | pieces | amounts | tranches | lots | steps |
            sizes ) of ( up to | at most | no more than | not more than | max | maximum | a maximum
            of | under | below ) <amt> ( each | apiece )?
        ( in | into ) ( <acts> | chunks | portions | pieces | amounts | tranches | lots | steps )
            of <amt> ( or less | max | at most | or below | or under )
        <amt> ( <per_act_too> ) ( is | will be | should be ) ( enough | plenty )
        <amt> ( is )? the ( most | max | maximum | limit | cap ) ( <you> ( can | may | should )? (
            ever )? <spends> )? ( <per_act_too> )
    """,
    "fee": """
        ( a | an | the | your | with a | plus a )? PCT ( cut | share | slice | portion | split |
            commission | fee ) <gain> ( for ( you | the agent | itself | your work | the bot ) | to
            ( you | the agent ) )?
    """,
    "ask_never": """
        ( no need | there's no need | there is no need | you don't need | you do not need | you
            don't have | you do not have | don't bother ) to ( check with | check in with | consult
            | ask | involve | contact | ping | call | bother | wait for ) me ( first | for approval
            | about anything | beforehand | at all )?
        ( you | the agent | it ) ( don't | do not | doesn't | does not ) need ( <consent> | to ask
            )
        ( full autonomy | fully autonomous | act freely | act on your own | decide freely | free
            rein | a free hand | full freedom | you have full autonomy ) ( within | inside ) (
            these | the | those | my | your ) limits
    """,
    "tx_each": """
        <max>? <amt> <maxtail>? each
    """,
    "day": """
        <a_limit> <is>? <amt> ( <per_day_too> )
        <a_limit> ( <per_day_too> ) ( : | is | = | of | at )? <amt>
        subject to ( <max> )? <amt> ( <per_day_too> )
        ( <not> | not | never | without | and never | and not | but never | nor ) <spent_more>
            <amt> ( <per_day_too> )
        <not> ( spend | use | trade | invest | put in | put | pay | move | commit | deploy | risk )
            ( more than | over | above | beyond | in excess of ) <amt> ( <per_day_too> )
        <not> ( do | take ) ( more than | over | above | beyond ) MONEY ( <per_day_too> )
        <not> go ( over | above | beyond | past ) <amt> ( <per_day_too> )
        ( one | any one | a | a single | single | each ) day : ( <max> )? <amt>
        ( to be | being )? ( spent | used | traded | invested )? at ( a rate of | a pace of )?
            <max>? <amt> ( <per_day_too> )
        <amt> ( <per_day_too> ) ( is | will be | should be ) ( enough | plenty )
        <amt> ( is )? the ( most | max | maximum | limit | cap ) ( <you> ( can | may | should )? (
            ever )? <spends> )? ( <per_day_too> )
        ( i | we )? ( allow | permit | authorise | authorize | grant ) ( <you> )? ( <max> )? <amt>
            ( <per_day_too> )
        <day_sum> ( <bound> | <is> | <max> | may not pass | must not pass | should not pass )?
            <amt> <maxtail>?
        ( only )? <amt> <maxtail>? ( <per_day_too> ) ( only | please )?
        ( keep | limit | cap | restrict ) ( each | every | any | the | a ) ( single )? day ( to |
            at | under | below | within | at or below ) <amt>
        each day ( <bound> | at most | : | to ) <amt>
        every day to <amt>
        ( nothing | none ) ( <over> ) <amt> ( <per_day_too> )
        ( spending | using | trading | investing | putting in | putting | risking | paying |
            committing ) ( <max> ) <amt> ( <per_day_too> )
        ( <per_day> | on each day | on one day | in one day | on any one day | on any day ) ,? (
            <permitted> ) ( <max> )? <amt>
        of which ( <max> )? <amt> ( <per_day_too> )
        ( in | on ) ( one | any | a | any one | any single | a single | each ) day ,? ( <max> )
            <amt> ( may | should | can | must | shall | is to ) be ( spent | used | traded |
            invested | moved | paid )
    """,
    "budget": """
        ( <you> ) <given> <a_sum>? ( up to | a total of | at most )? MONEY <for_what>?
        ( i | we ) ( hereby )? ( grant | authorise | authorize | permit | allow | entrust | assign
            | allocate | give | empower | commission | appoint | want | would like | 'd like |
            trust | instruct | ask | mandate | let ) ( <you> | this agent | an agent ) ( to )? (
            spend | use | trade | invest | manage | trade with | work with | deploy | handle | take
            | look after | take care of | with | administer ) ( up to | a total of | at most | no
            more than | a maximum of | the sum of | an amount of | my | the )? MONEY ( <forme> )?
            <for_what>? ( <forme> )?
        ( i'd | we'd ) like ( <you> | an agent ) to ( spend | use | trade | invest | manage | trade
            with | work with | deploy | handle | take | look after | take care of ) ( up to | a
            total of | my | the )? MONEY ( <forme> )? <for_what>?
        ( i | we ) ( hereby )? ( grant | give | assign | allot | approve | set ) ( <you> )? <a_sum>
            MONEY <for_what>?
        ( i | we ) need ( <you> | an agent | someone | somebody ) to ( handle | manage | look after
            | take care of | trade with | work with | invest | grow | trade ) ( my | the | these )?
            MONEY ( <forme> )?
        ( handle | manage | look after | take care of | invest | trade | run | grow | work with |
            trade with ) ( my | the | these | our )? MONEY ( <forme> )?
        ( goal | task | objective | mission | job ) : ( grow | manage | invest | trade | look after
            | handle ) ( my | the )? MONEY
        ( i'm | i am | we're | we are | i | we ) ( putting up | put up | staking | stake | willing
            to put in | willing to put up | willing to invest | ready to invest | prepared to
            invest ) ( up to | a total of )? MONEY <for_what>?
        ( <you> | i )? ( can | may | will | shall | should )? ( have | use | take | trade | invest
            ) ( up to | a total of )? MONEY ( of mine | of ours | of my own ) ( to trade with | to
            trade | to work with | to invest | to play with | to use | to manage )?
        ( <you> )? ( can | may | will | shall | should ) ( trade | invest | work | operate | deal )
            ( on my behalf | for me | for us | on our behalf ) with ( up to )? MONEY
        ( the bot's | the agent's | my agent's | my bot's | agent's ) ( total | overall | whole )?
            ( budget | allowance | funds | capital ) ( is | : | = | of | will be ) <amt>
        make ( my | the )? MONEY grow
        ( i | we ) ( give | provide | contribute | offer ) MONEY
        let <you> have ( up to )? MONEY <for_what>?
        ( split | divide | spread ) ( my | the )? MONEY into
        <amt> ( <ofall> ) ( <maxtail> )
        <you> ( is | are )? ( authorised | authorized | empowered | instructed | mandated | cleared
            ) to ( use | invest | spend | trade with | trade | manage | work with ) ( up to | a
            total of )? MONEY <for_what>?
        ( max | maximum | limit | cap | ceiling | the most ) ( overall | in total | altogether | in
            all ) ( : | is | = ) <amt>
        keep ( my | the )? MONEY ( working | invested | at work | busy | in play )
        MONEY ( should | shall | must | is to | are to | can | may | will ) be ( traded | invested
            | used | spent | managed | put to work ) ( in total )?
        ( <ofall> ) ,? ( up to | at most | no more than )? MONEY ( may | can | should | must |
            shall ) be ( spent | used | invested | traded )
        ( i'd | we'd | i would | we would | i | we ) ( like | want ) <you> to ( run | operate |
            start | begin | play ) with ( up to )? MONEY
        ( run | operate ) with ( up to )? MONEY
        ( that's | that is | which is | that makes | which makes | making ) MONEY ( <ofall> )
        ( spend | use | invest | trade | pay ) ( max | maximum | at most | up to | no more than |
            not more than ) NUM ( total | overall | in total | altogether | in all | all in all )
        ( spend | use ) ( max | maximum | at most | no more than | not more than ) NUM on W{1,6}
        keep ( trading | investing | managing | working with | growing | trading with ) ( my | the
            | our )? MONEY
        to ( trade | invest | manage | work with | trade with | put to work ) ( my | the | up to )?
            MONEY
        ( the | my )? ( total | overall | whole )? ( amount | sum | budget | money | capital |
            funds ) ( available | committed | invested | at your disposal | to be invested | to be
            spent | to use ) ( is | : | are | = ) MONEY
        MONEY to be ( used | spent | invested | traded | managed | put to work ) ( in total )?
        ( have | get ) ( MONEY ) ( traded | invested | managed ) ( <forme> )?
        ( in total | altogether | overall | all in all ) ( : | no more than | at most | max | not
            more than | up to | never more than ) MONEY
        ( permission | authority | authorisation | authorization ) to ( spend | trade | invest |
            use ) ( : | = | is )? ( up to | at most )? MONEY ( in total | total )?
        ( dollar cost average | dca ) ( my | the )? MONEY <for_what>?
    """,
    "budget_of": """
        ( of | out of | from | on ) ( a | the | my | an )? ( total | overall | total budget |
            overall budget | budget | capital | pot | maximum | sum | whole ) of <amt>
        out of <amt> ( in total | total | altogether | overall )?
    """,
    "span": """
        ( for | over | during | within | across | throughout ) ( the | these | this | a )? ( next |
            coming | following | full | whole | entire | term of | period of | duration of | total
            of )? SPAN ( of the mandate | of this mandate | period | term | in all )?
        after ( the | these | those )? SPAN ( it's over | it is over | it ends | it's done | you
            stop | we stop | the mandate ends | this ends | everything stops | it stops | stop |
            we're done | you're done | the mandate is over )
        ( it's over | it is over | over | finished ) after SPAN
        ( and )? ( that | this | that's | that is | this is | all that | all this | all of this )
            for ( the | a )? ( next | coming | period of )? SPAN
        ( a | for a | with a )? ( term | period | duration | runtime ) of SPAN
        ( <you> ) ( has | have | 's got | has got | gets | get ) SPAN ( in total )?
        ( it | this | the mandate | the budget ) ( is meant | is intended | is supposed ) ( to last
            | to run | for ) ( for )? SPAN
        <you> ( trades | trade | works | work | runs | run | operates | operate | invests | is
            active | are active | acts ) ( for | over ) ( the )? ( next | coming )? SPAN
        ( days | weeks | months ) : SPAN
        ( max | maximum | total | overall | full ) ( duration | period | term | time | length |
            horizon | runtime | run time ) <is>? SPAN
        ( end | ends ) ( : | in | is in ) ( in )? SPAN
    """,
    "aim": """
        ( the | my | a | our | your )? ( target | goal | objective | aim ) ( is | : | = | of ) ( a
            | an | to reach | to achieve | to get )? PCT ( return | gain | profit | growth | yield
            )? ( on it | in total | overall )?
        ( i'm | i am | we're | we are ) ( after | looking for | hoping for | aiming for ) ( a | an
            )? PCT ( return | gain | profit | growth )?
        ( make | earn | gain | get ) PCT ( on it | on this | on my money )
    """,
    "aim_on": """
        ( try to | please try to | i want you to | i'd like you to | aim to )? ( make | earn | gain
            | get | get me | make me | earn me | return ) PCT ( on | with | from | out of )
    """,
    "budget_on": """
        ( my | the | these | this | a | of | your | our | its ){0,2} MONEY ( budget | capital | pot
            | stake | deposit | total | allowance | fund )? <given_you>?
    """,
    "markets": """
        ( please )? ( only )? ( buy and sell | buying and selling | trading | investing | operate |
            act | working | work | trade | invest ) ( only )? ( in | on | with | at | within ) (
            the )? MARKET ( market | only | alone | exclusively | and nowhere else | and nothing
            else )?
        ( only | just )? ( trade | use | buy | invest in | work with ) ( only | just )? the MARKET
            ( market | only )?
        ( work | use | trade | invest ) ( the | in the | on the )? MARKET ( with it | with them |
            with that )?
    """,
    "lead": """
        ( can | could | would | will ) you please
        please ( can | could | would | will ) you
        ( standard | usual | same | default | basic | normal | simple ) ( stuff | settings | terms
            | rules | setup | limits | values | numbers ) :
        ( a | this | my | the | trading )? mandate
        though | although | i'd say | i would say | i'd say that
        ( i | we ) ( need | want | have | set | gave ) ( these | the following ) ( limits | rules |
            terms | caps | conditions )? :
        ( so | right | well | alright | ok so | anyway ) :
        let's | let us
    """,
    "talk": """
        make the ( most | best ) of it
        no ( other | further | more | extra | additional ) ( limits | rules | conditions |
            restrictions | caps | requirements | instructions )
        ( all | everything | all amounts | all figures | all numbers | amounts | figures | amounts
            are | all amounts are | all figures are | all in ) ( in )? ( usdc | usd | dollars )
        ( go wild | go nuts | enjoy | have at it | knock yourself out | impress me | no funny
            business | don't waste it | do not waste it | don't blow it | don't mess up | be good |
            see how it goes | let's see how it goes | see what happens | let's see what happens )
        ( be | so be | please be ) ( very | extremely | really | quite | a bit )? ( careful |
            cautious | conservative | prudent | patient | sensible ) ( with ( this | my | the | our
            ) money | with it | please )?
        ( standard | the standard | default | the default | usual | the usual ) ( setup | settings
            | terms | rules | values ) ( for ( everything | anything ) else | please | are fine |
            otherwise )?
    """,
}
