"""What phrases are made of: ways to say a limit, a day, an action, the agent, asking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MACROS: Final[Mapping[str, str]] = {
    "amt": """
        MONEY | NUM
    """,
    "share": """
        PCT | BPS
    """,
    "val": """
        MONEY | NUM | PCT | BPS
    """,
    "is": """
        is | of | at | to | : | = | is : | is set to | set to | set at | - | should be | will be |
        must be | is at | shall be
    """,
    "act": """
        trade | trades | action | actions | transaction | transactions | tx | txs | txn | purchase
        | purchases | order | orders | payment | payments | buy | move | call | swap | swaps |
        deposit | request | query | read | transfer | bet | bets | operation | invoice | item |
        article | paper | report | dataset | lookup | search | sale | file | picture | image | book
        | ticket | flight | domain | subscription | delivery | product | licence | license | photo
        | result | document | placement | rebalance | video | song | map | chart | clip | session |
        podcast | service | template | study | survey | stock photo | booking | feed | alert |
        recipe | download | email | message | ad | trip | visit | thing | one thing | data call |
        api call | api request | paid call | paid request | paid read | x402 call | x402 read | x402
        request | data request | data
        purchase | data read | web search | trading order | market order | limit order | paid api
        call | paid search | search query | api query | stock image | press photo | test | try |
        job run | chat | prompt | token swap | ride | course | voucher | gift | scan | backup |
        crawl | render | quote | forecast | update
    """,
    "per_act": """
        ( per | a | an | each | every | any | / | for each | on each | for every | on every | for
        any | on any ) ( single | individual )? <act> | ( in | on | for ) ( one | a | a single | any
        one | any single | a given | any given ) <act> | at a time | at one time | at once | in one
        go | each time | apiece | a pop | a go | a piece | per go | per pop | in a single go | in
        any go | in any one go | each go | a shot | per shot | at any one time
    """,
    "per_day": """
        ( per | a | each | every | any | / | in a | in one | in any | on a | on any | in any one |
        on any one | for any | within a ) ( single | given | calendar )? day | daily | over a day
    """,
    "max": """
        at most | at the most | max | maximum | a max of | a maximum of | max of | maximum of | up
        to | no more than | not more than | never more than | not over | never over | not above |
        never above | no higher than | not exceeding | a limit of | limit of | a cap of | cap of |
        capped at | limited to | only | limit | cap | : | just | up to a maximum of | up to max |
        under a cap of | with a cap of | with a limit of | with a maximum of | with a max of |
        limit is | cap is | your limit is | the limit is | my limit is | the cap is | your cap is |
        limits are | caps are | cap it at | keep it to | keep it under | limit it to | hold it to |
        cap this at | allowed to spend | of which at most | of that at most | a maximum of | with
        at most | no higher than | ( the | my | your | our | a | its )? ( spending | spend | hard |
        overall )? ( limit | limits | cap | caps | allowance | maximum ) ( is | are | : | of | at |
        = ) | spending : | spend : | allowance : | as a rule never above | never above | never over
        | for at most | for up to | for no more than | no more than | not over | limit yourself to
        | limit itself to | stick to at most
    """,
    "maxtail": """
        max | maximum | at most | tops | at the most | at the very most | or less | cap | limit | as
        a limit | as a cap | as a maximum | as the maximum | allowance | or under | or below | and
        no more | and not more | maximum please | at maximum | upper limit | as an upper limit | as
        the limit | as the cap | as max | hard cap | hard limit | hard max
    """,
    "not": """
        never | do not | don't | dont | must not | mustn't | may not | can not | cannot | can't |
        should not | shouldn't | will not | won't | not to | not | never ever | it must not | it
        must never | must never | should never | may never | it should not | it should never | it
        can not | it cannot | it can't | the agent must not | the agent must never | the agent
        should not | the agent should never | the agent may not | the agent cannot | the agent can't
        | you must not | you must never | you should not | you may not | you cannot | you can't |
        you should never | i don't want <you> to | i do not want <you> to | we don't want <you> to |
        we do not want <you> to | you are not allowed to | you're not allowed to | it is not allowed
        to | the agent is not allowed to | try not to | please never | it won't | the agent won't |
        you won't | it will never | the agent will never | do not ever | don't ever | i don't want
        to | i do not want to | we don't want to | we do not want to | please do not | please don't
        | make sure you don't | make sure you never | make sure not to | make sure it never | make
        sure never to | be sure not to | be sure never to | under no circumstances | i never want
        <you> to | i never want to | i'd rather <you> didn't | you are never to | it is never to |
        the agent is never to | you're never to | you are not to | the agent is not to | you won't
        ever | take care not to | be careful not to | you shall not | the agent shall not | it shall
        not | you shall never | the agent shall never | it may not | it may never | <you> may never
        | <you> must never | <you> does not | <you> doesn't
    """,
    "may": """
        may | can | could | is allowed to | are allowed to
    """,
    "you": """
        you | the agent | the bot | it | my agent | my bot | agent | your agent | this bot | this
        agent | your bot | our agent | the assistant | the ai | this ai | the ai agent | ai agent |
        the robot | the trader | the trading bot | trading bot | the trading agent | the research
        agent | research agent | the research bot | bot | our bot | the helper | the assistant agent
        | my assistant | the software | the program
    """,
    "spendv": """
        spend | spends | use | trade | invest | put in | pay | move | commit | deploy | transact |
        put | swap | donate | send
    """,
    "spending": """
        spending | using | trading | investing | paying | moving | committing | deploying
    """,
    "my": """
        the | my | our | your | its | this | that
    """,
    "budget_of": """
        of ( <my> | <my> total | <my> initial | <my> starting | <my> whole )? ( budget | money |
        capital | funds | total | amount | starting capital | initial budget | mandate | it )
    """,
    "over": """
        above | over | beyond | exceeding | more than | greater than | larger than | bigger than |
        higher than | that is more than | costing more than | costing over | of more than | worth
        more than | of over | in excess of | upwards of | going over | going above | going beyond |
        north of | that cost more than | which costs more than | that exceeds | which exceeds | that
        is over | that's over | that's more than | that goes over | priced over | priced above |
        valued over
    """,
    "money_noun": """
        balance | value | budget | account | vault | portfolio | worth | total | pot | fund | funds
        | money | capital | mandate | total value | account value | account balance | vault balance
        | equity | portfolio value | vault value | total balance | total worth | value of the
        portfolio | value of the vault | balance of the vault | value of the account | value of the
        mandate | value of my account | value of everything | total value of the vault | overall
        value | account total | bankroll | pot | stake | net worth | fund value | wallet | wallet
        balance | whole thing | whole account | total equity | remaining balance | total amount |
        overall balance | investment | total portfolio value
    """,
    "subj": """
        it | we | you | i | ( the | my | our | its | your )? <money_noun>
    """,
    "halt": """
        ( shut it down | shut down | shut everything down | switch it off | turn it off | stop |
        please stop | you stop | the agent stops | it stops | halt | quit | shut down | cease |
        pause ) ( it | everything | all | all trading | trading | the agent | the bot | all activity
        | working | it all | spending | the mandate | immediately | completely | and stop )? | pull
        the plug | stop out | call it off | wind it down | quit trading | shut down everything |
        shut everything down | stop the agent | stop the bot | stop all of it | stop the trading |
        stop trading altogether | it has to stop | you have to stop | it must stop | the agent must
        stop | the agent has to stop | you must stop | must stop trading | the agent must stop
        trading | you're done | you are done | we're done | we are done | that's it | it's over | it
        is over | it ends | it's done | give up | bail | bail out | end it | end the mandate | end
        everything | freeze everything | kill it | call it quits | stand down | stop for good |
        you're out | stop right there | stop right away | stop at once | it must end | all trading
        stops | trading stops | the mandate stops | the mandate ends | trading must stop |
        everything stops | stop working | stop buying | stop investing | please quit | just stop |
        then stop | step back | stop completely | stop the whole thing | shut it all down | stop the
        experiment | stop the mandate | end the experiment | stop the test | stop the run | close
        shop | close up shop | hit the brakes | i want you to stop | i'd like you to stop | i want
        it to stop | i'd like it to stop | i want the agent to stop | stop and wait | stop and tell
        me | stop trading and tell me | stop and report | stop and hold | you need to stop | you
        have to quit | it needs to stop | the agent needs to stop | the agent should stop | you
        should stop | it should stop | the bot should stop | the bot must stop | the bot has to stop
        | the bot stops | trading should stop | everything should stop | everything must stop | stop
        the clock | have it stop | make it stop | let it stop
    """,
    "when": """
        if | when | once | as soon as | whenever | in case | the moment | should | after | in the
        event that
    """,
    "fall": """
        ( falls | fall | drops | drop | goes | go | dips | dip | sinks | sink | is | are | gets |
        get | declines | decline | slips | ever falls | ever drops | ever goes | has fallen | has
        dropped | were to fall | were to drop | goes down | falls down | drops down | ever dips |
        goes all the way ) | we're | it's | you're | i'm | we are | comes down | come down | shrinks
        | shrink | sags | slides | slide | ever gets | ever sinks | ever declines | tumbles |
        plunges | ends up | end up | has gone | has shrunk | has sunk | has dwindled | dwindles |
        has declined | has slid
    """,
    "below": """
        below | under | beneath | to below | to under | lower than
    """,
    "lose": """
        lose | loses | lost | has lost | have lost | is down | are down | is down by | are down by |
        drops by | drop by | falls by | fall by | drops | drop | falls | fall | goes down | go down
        | goes down by | we're down | it's down | you're down | i'm down | we've lost | it's lost |
        you've lost | it has lost over | we are down by | it's down by | we're down by | loses over
        | declines by | has fallen | has dropped | has fallen by | has dropped by | ever loses |
        have gone down | 's down | loses a total of | shrinks by | sheds | 're down | down by | is
        down over | are down over | we are down | it is down | you are down | i am down | have lost
        over | dip | dips | sinks | declines | slips | slides | shrinks | tumbles | crashes | sinks
        by | dips by | slips by | slides by | ever drops | ever falls | ever drops by | ever falls
        by | you lose over
    """,
    "by_more": """
        by | more than | over | by more than | by over | at least | in total | a total of
    """,
    "ofbud": """
        ( <budget_of> | in total | overall | altogether | in all | total | from the start | from
        <my> start ) | of that | of this | out of that | out of it | of what i gave you | of what i
        give you | of what i put in | of my deposit | of the deposit | of the starting amount | of
        my stake | of the stake | of the pot | of the starting balance | of the initial amount | of
        the initial deposit | all in all | in all | all together | of my initial investment | of the
        investment | of my investment | of the principal | of my principal | since the start | from
        my deposit
    """,
    "loss_noun": """
        loss | losses | drawdown | draw down | dd | downside | overall loss | total loss | total
        losses | overall losses | overall drawdown | total drawdown | cumulative loss | cumulative
        losses | accumulated loss | accumulated losses | combined losses | net loss | overall draw
        down | total draw down | loss in total | losses in total | portfolio loss | portfolio
        drawdown | account drawdown | capital loss
    """,
    "close_all": """
        ( close | sell | liquidate | exit | unwind | sell off | close out ) ( everything | all | it
        all | all ( of )? ( <my> )? ( open )? positions | ( <my> )? ( open )? positions | every
        position | all open trades | all holdings | everything open | out )
    """,
    "keep_all": """
        ( keep | hold | leave | hold on to ) ( all )? ( <my> )? ( open )? ( positions | holdings )
        ( open | as they are | untouched | alone | as is )? | ( do not | don't | never ) ( sell |
        close | liquidate ) ( anything | <my> positions | any positions | positions | open
        positions | any position )
    """,
    "line": """
        stop line | floor | stop loss | stop | stop level | line
    """,
    "at_line": """
        ( at | on reaching | upon reaching | on hitting | when hitting ) ( the | my )? <line> | (
        if | when | once | whenever ) ( ( it | we | you | the ( budget | balance | value | mandate
        | account ) ) ( hits | hit | reaches | reach | gets to | get to | falls to | touches ) (
        the | my ) <line> | ( the | my ) <line> ( is hit | is reached | is touched | hits |
        triggers | is triggered | is crossed ) )
    """,
    "gain": """
        ( of | from | on )? ( ( the | any | all | your | my | its | net | verified | realized |
        realised | total | made | every | our ) )* ( profit | profits | gain | gains | earnings |
        winnings | upside | verified gain ) ( you make | it makes | made | the agent makes | it
        earns | you generate | generated | you earn | that you make | it generates | earned )? | (
        of | from | on ) ( whatever | any | the | all ) ( profit | profits | gain | gains ) ( you
        make | it makes | you earn | there is | you generate | are made | is made ) | of ( whatever
        | what | all | everything | anything ) ( you | the agent | it ) ( earn | earns | make |
        makes | gain | gains ) ( me | us | for me )? | of ( the | any | all )? ( profit | profits |
        gain | gains ) ( you make for me | it makes for me | you make me | it makes me | you earn me
        | you bring in | it brings in | you bring me | you produce | it produces | that is made |
        that you earn | that it makes | you achieve | it achieves | that you generate | that it
        generates | you turn | that you bring in ) | of ( what | whatever | everything | anything |
        all ) ( you | the agent | it ) ( earns for me | earn for me | make for me | makes for me |
        bring in | brings in ) | of ( net | realised | realized | verified | actual | real | true )
        ( profit | profits | gain | gains )
    """,
    "fee_noun": """
        fee | fees | commission | cut | share | agent fee | agent's fee | performance fee | success
        fee | profit share | share of profit | share of profits | share of the profit | share of the
        profits | reward | agent's share | agent's cut | fee for the agent | payout | fee for you |
        your fee | the agent's fee | trading fee for the agent | agents share | profit share for the
        agent | share for you | cut for you | share for the agent | cut for the agent | commission
        for you | commission for the agent | agent commission | agent reward | reward for you |
        reward for the agent | pay for the agent | your pay | your commission | your cut | your
        share | your reward | agent cut | agent share | incentive fee | agent's commission | profit
        fee | profit cut | fee to you | fee to the agent | success share
    """,
    "ask": """
        ( ask | check with | check in with | consult | confirm with | come to | call | ping |
        message | consult with | text | phone | email | write to ) ( me | us ) ( first | again |
        beforehand )? | ask ( me | us )? ( first )? for ( my | an | explicit | our )? ( approval |
        permission | confirmation | ok | okay | consent | go ahead | sign off ) | ( get | obtain |
        seek | request | require | need ) ( my | an | our | explicit )? ( approval | permission |
        confirmation | ok | okay | consent | go ahead | sign off ) ( first )? | ask ( first )? | you
        need my ( approval | permission | ok ) | you must ask ( me )? ( first )? | ask for approval
        | i want to be asked | i want to approve | let me approve | wait for my ( approval | ok |
        okay ) | ( get | obtain | seek | need ) ( approval | permission | a yes | an ok |
        confirmation | the ok | the go ahead ) from me ( first )? | have me approve | let me confirm
        | run it by me | get a yes from me | have my yes | i must say yes | tell me and wait | ( run
        it past me | clear it with me | clear with me | check it with me | get back to me | notify
        and ask me | send me a request | send me an approval request | send me a request for
        approval | request approval | give me a call | give me a ring | stop and ask | stop and ask
        me | come back to me | come ask me | reach out to me | talk to me | speak to me | speak with
        me | talk with me | double check with me | verify with me | check back with me | ask the
        owner | get the green light | get my green light | get my say so | get my yes | get my nod |
        hold and ask | hold on and ask me | pause and ask | pause and ask me | wait for me to
        approve | wait for me | get me to approve ) ( first )?
    """,
    "objw": """
        for | before | about | on | if | when | whenever | any | anything | everything | every |
        each | all | a | an | the | single | you | it | that | is | are | costs | cost | goes |
        want | to | spend | spends | trade | trades | first | amount | amounts | something | making
        | placing | doing | paying | moving | spending | purchase | purchases | payment | payments
        | transaction | transactions | action | actions | order | orders | transfer | transfers |
        buying | buy | pay | going | of | one | sending | with | swap | swaps | move | moves |
        executing | individual | approving | would | will | costing | worth | size | sizes | doing
        | it's | committing | do | does | make a | makes a | make any | buying | send | sends | book
        | booking
    """,
    "thing": """
        ( anything | everything | any | all | every | each | a | an | the | one | single |
        individual | amounts | amount | spending | something | <act> ){1,3} ( that | which )? ( is
        | are | costs | cost | goes | of | worth | costing | it's )?
    """,
    "needs": """
        needs | need | requires | require | must have | has to have | should have | will need | is
        subject to | are subject to | needs to have | must get | must wait for | waits for | wait
        for | only with | only after
    """,
    "approval": """
        ( my | an | our | explicit | owner | the owner's | manual )? ( approval | ok | okay |
        permission | confirmation | consent | sign off | go ahead | say so ) | ( my | an | our | a
        )? ( green light | blessing | signature | nod | thumbs up | yes | clearance ) | the ( green
        light | ok | okay | go ahead )
    """,
    "aimw": """
        aim | aiming | shoot | go | target | targeting
    """,
    "what": """
        W{1,8}
    """,
    "for_what": """
        ( ( for | on | to | towards | toward ) ( <what> ) | to trade ( it | with ) | to <pverb> (
        W{0,8} )? | to work with | worth of <what> | of ( my | our ) money | for this | for you |
        for <you> | for the job | for this task | for it )
    """,
    "pverb": """
        buy | trade | invest | purchase | find | research | pay | subscribe | order | collect |
        gather | fetch | scrape | monitor | build | create | write | help | manage | grow | farm |
        lend | swap | hedge | rebalance | run | work | acquire | source | explore | test | try |
        train | analyse | analyze | track | watch | download | access | query | look | shop | book |
        rent | hire | read | support | fund | accumulate | stake | experiment | provide | supply |
        play | learn | start | do | produce | prepare | make sure | operate | execute | handle |
        conduct | dca | earn | make | get | generate | scout | hunt | scan | compare | maintain |
        renew | replace | design | publish | promote | advertise | market | translate | host |
        deploy | average | pick | snap up | look after | look into | study | survey | investigate |
        verify | map | record | transcribe | summarise | summarize | curate | assemble | restock |
        refill | sponsor | plan | organise | organize | set up | find me | buy me | get me | keep
        track | see | follow | ride | turn | practice | practise | arbitrage | arb | rotate | park |
        compound | obtain | chase | try out | swing trade | day trade | scalp | speculate | put
        together | come up | settle | stock up | fill | order me | hunt down | harvest | seek |
        identify | spot | catch | crawl | mine | pull | assess | evaluate | review | screen | rank |
        label | sort | subscribe me | sign up | register | reserve | deliver | ship | print | paint
        | cook | bake | furnish | decorate | repair | fix | clean | feed | water | plant | fly |
        travel | commute | stream | listen | attend | join
    """,
    "bound": """
        ( must not | mustn't | should not | shouldn't | may not | can not | cannot | can't | will
        not | won't | shall not | is not to | are not to | must never | should never | can never |
        may never | shall never | will never | never | not to | never to | has to not ) ( exceed |
        surpass | go over | go above | go beyond | be more than | be higher than | be larger than |
        be bigger than | be greater than | be over | be above | cost more than | cost over | get
        above | get over | be worth more than ) | ( must | should | may | can | shall | will | has
        to | have to | needs to | need to | ought to | is to | are to )? ( be | stay | remain | cost
        | stays | remains | is | are | be kept | is kept | are kept | to be | to stay )? ( at most |
        no more than | not more than | never more than | max | maximum | under | below | less than |
        within | up to | at or below | at or under | no higher than | no larger than | no bigger
        than | no greater than | smaller than | lower than | not over | not above | not to exceed |
        not exceeding | never over | never above ) | ( must | should | may | can | shall | will |
        has to | have to | needs to )? ( is | are | be | get )? ( limited to | capped at |
        restricted to | kept under | kept below | kept at or below | held to | held under | capped
        to | limited at ) | ( isn't | aren't | is not | are not | is never | are never | can't be |
        cannot be | shouldn't be | mustn't be | won't be | not be ) ( more than | above | over |
        higher than | larger than | bigger than | greater than )
    """,
    "totnoun": """
        ( total | overall | whole | entire | full | complete | combined | all ) ( budget | spend |
        spending | cost | costs | outlay | sum | amount | pot | bankroll | kitty | stake | allowance
        | capital | bill | purchases | expenses | expenditure | funding | funds | investment | risk
        capital | money | size | exposure ) | budget | budget overall | pot | bankroll | kitty | war
        chest | stake | allowance | risk capital | total | spending in total | spend in total |
        spending overall | funding | seed money | play money | starting balance | initial deposit |
        starting funds | initial funds | working capital | total to spend | budget in total
    """,
    "acts": """
        trades | transactions | payments | purchases | orders | actions | buys | swaps | calls |
        requests | bets | transfers | items | reports | invoices | moves | trade size | trade sizes
        | order size | order sizes | trade amount | trade amounts | order amount | order amounts |
        transaction size | transaction sizes | transaction amounts | payment size | payment sizes |
        purchase size | purchase amount | purchase amounts | purchase price | position entries |
        tickets
    """,
    "askend": """
        <ask> ( about it | about that | for it )? | ( i'd | i would ) like to ( approve it | be
        asked | approve that | see it first | ok it | confirm it | decide | be consulted | approve
        | sign off ) ( first )? | ( i | we ) ( want | need | have | must | wish ) ( to )? (
        approve it | be asked | approve that | see it first | ok it | confirm it | decide | be
        consulted | approve | sign off | say yes | agree ) ( first )? | you need <approval> (
        first )? | you must have <approval> | get <approval> ( first )? | it needs <approval> (
        first )? | that needs <approval> ( first )? | i decide | i'll decide | i will decide | let
        me decide | it's my call | that's my call | come to me first | it goes through me | i have
        the final say | i have to say yes | check first | i'll have to approve it | i will have to
        approve it | i get to decide
    """,
    "ofall": """
        in total | overall | altogether | in all | total | all told | all together | for everything
        | for the whole thing | for the whole job | over the whole period | all in | in sum |
        combined | over its life | over the whole time | over the entire period | for the whole
        period | all up
    """,
}
