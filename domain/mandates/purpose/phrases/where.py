"""Where the money works: the markets that a note chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "budget_for": """
        ( <my> | a | with a )? ( total | overall | whole | small | spending | trading )? ( budget |
            limit | allowance | pot | capital | stake | money | total | funds | cash ) ( for | to
            spend on | to trade ) ( buying | trading )?
    """,
    "markets_for": """
        MARKET
    """,
    "markets": """
        ( to be | and | which is | it is | it's )? ( split | divided | spread | distributed | shared
            | allocated | placed | put | invested | lent | deployed | working | supplied | deposited
            ) ( equally | evenly | half and half | sensibly | as you see fit )? ( out | up )? (
            between | across | among | amongst | over | on | in | into | to ) ( both )? MARKET (
            equally | evenly | in equal parts | as you see fit | as you like | only )?
        ( do not | don't | never ) ( touch | use | trade | invest in | buy | do ) anything ( but |
            except
            | other than | besides | apart from ) MARKET
        nothing ( but | except | other than | besides ) MARKET ( please )?
        ( both )? MARKET ( is | are ) ( both | all | each | also | perfectly | totally )? ( fine |
            ok |
            okay | allowed | good | alright | great | welcome | permitted ) ( with | for | by )? (
            me | us
            )?
        ( split | divided | divide | spread | shared | distributed | allocated | invested ) ( it |
            them | that )? ( as you ( like | see fit | please | prefer | think best ) | however you
            like | equally | evenly | freely )? ( between | across | over | among | amongst | on |
            in ) ( both )? MARKET ( as you ( like | see fit | please | prefer ) | equally | evenly
            )?
        ( it | this | they | that | the ( money | fund | funds | sum | budget | pot | capital |
            amount | cash ) | everything | all of it ) ( ( is | are | has | have ) ( only to ( only
            )? | to only | to | only ) ( be )? | ( should | must | shall | will | may | can ) ( only
            )? ( to )? ( only )? ( be )? ) ( only )? ( lent | lent out | invested | deposited |
            supplied | placed | put | used | traded | kept | held | parked | deployed | put to work
            | staked | employed | spent | go | work | stay | sit ) ( only )? ( in | on | to | into |
            at | with | through | via | for ) MARKET ( only )?
        ( it | all of it | everything | the money | all | it all | all the money ) ( goes | should
            go | must go | belongs | is to go | shall go | will go | has to go | all goes ) ( only
            )? ( in | into | to | on ) ( only )? MARKET ( only )?
        ( please )? ( only | just )? ( trade | use | buy | invest in | put it in | put it into |
            put it all in | put it all into | invest it in | deploy it in | put the money in | put
            the money into | put everything in | put everything into | work in | stick to | trade
            in | trade on | lend on | lend in | deposit into | deposit in | supply to | invest the
            money in | use only | trade only | invest only in | only invest in | only use | only
            trade | work with | supply it to | lend it on | place it in | earn on | earn yield on |
            earn yield in | earn interest on | run on | stay in ) ( only | just )? MARKET ( only )?
        ( allowed )? ( market | markets | venue | venues | targets | target ) ( : | = | is | are |
            allowed : )? ( only )? MARKET ( only )?
        ( in | into | on | to | with | via | through | using | for ) ( only )? MARKET ( only )?
        ( to | to be | and )? ( put it | put | invest | trade | use | lend | buy | deposit |
            invested | used | lent | deposited | supply | work | put to work ) ( in | into | on |
            with | to )? ( only )? MARKET ( only )?
        ( i want you to | i would like you to | i'd like you to | i want to | i'd like to | your
            job is to | the agent should | you should | help me ) ( trade | use | buy | invest in |
            work in | trade in | trade on | lend on | lend in | deposit into ) ( only )? MARKET (
            only )?
        MARKET only
        only MARKET
        MARKET
        ( you | the agent | it ) ( may | can | should | must ) ( only )? ( use | trade | invest in
            | work in | trade in | trade on | deposit into | work with ) ( only )? MARKET ( only )?
        ( keep | hold ) ( it | everything | my money | the money | the funds | funds ) in ( only )?
            MARKET ( only )?
        ( in | into | on | to | with | via | through | using ) the MARKET ( only | market | vault |
            pool )?
        MARKET ( is | are ) ( fine | ok | okay | allowed | good | all you may use | the only place
            | what i want | enough )
        ( stick | stay | keep ) ( with | to | in ) MARKET ( only | please )?
        ( only | just ) ( in | on | into | via | through ) ( the )? MARKET
        ( allowed | permitted | use | where | place | places | trade ) : ( only )? MARKET ( only )?
        ( only | just )? ( in | into | on | to | with | via | through | over | by | using | for |
            by trading | by using | by lending on | by lending in | by lending to | by lending it
            on | by investing in | by buying | trading | buying | using | worth of | from | from
            the | as ) ( only | just )? MARKET ( only | alone | exclusively | and nothing else |
            and nowhere else )?
        ( please | kindly )? ( only | just | exclusively )? <dealing> ( only | just | exclusively
            )? ( in | into | on | with | via | through | over | using )? ( only | just )? MARKET (
            only | alone | exclusively | and nothing else | and nowhere else )? ( for ( me | us )
            )?
        <dealer> ( only | just )? <dealing> ( only | just )? ( in | into | on | with | via |
            through | over | using )? ( only | just )? MARKET ( only | alone | exclusively )? ( for
            ( me | us ) )?
        ( please )? ( put | place | invest | park | deposit | lend | deploy | keep | hold | stake |
            lock | run | use | move | send | work | leave ) ( it | them | this | that | everything
            | all | it all | all of it | the money | my money | the funds | the budget | the whole
            budget | the whole thing | the lot | the pot | the cash | the usdc | these funds ) ( to
            work | all )? ( only | just )? ( in | into | on | to | with | via | through | over |
            for | at | inside | across | between | among | using ) ( only | just | both )? MARKET (
            only | alone | exclusively )?
        ( please )? ( split | divide | spread | distribute | share | allocate ) ( it | them | this
            | that | everything | it all | all of it | the money | my money | the funds | the
            budget | the whole budget | the lot | the pot | the cash | the usdc ) ( out | up |
            equally | evenly )? ( between | across | among | amongst | over | on | in | into ) (
            both )? MARKET ( equally | evenly | in equal parts | as you see fit | as you like )?
        ( buy | get | fetch | find | pull | read | gather | collect ) ( it | them | that | this |
            everything | the data | all data | the news | the articles | the reports | what you
            need ) ( only | just )? ( through | via | over | using | by | from ) ( only
            | just )? MARKET ( only )?
        ( long or short | short or long | long and short | go long or short on | go long or short )
            MARKET
        MARKET ( exclusively | alone | and nothing else | and nowhere else | please | for me | only
            please )
        ( the | my | your | our | allowed | chosen | only | permitted )? ( market | markets | venue
            | venues | place | places | target | targets | instrument | instruments | product |
            products | asset | assets ) ( to use | to trade | for this | allowed )? ( : | = | is |
            are | should be | will be )? ( only | just )? MARKET ( only )?
        MARKET ( is | are ) ( the )? ( market | markets | venue | venues | place | places ) ( to
            use | to trade | for this | i want | i chose | i choose )?
        ( ( i | we ) ( need | want | would like ) | ( i'd | we'd ) like ) ( some | the )? MARKET (
            only )?
        ( i | we ) ( choose | chose | pick | picked | go for | went for | decided on | opt for ) (
            only )? MARKET
        ( i'd | i would | we'd | we would | i | we ) ( want | like | 'd like | prefer ) ( it | this
            | my money | the money | everything | the funds | exposure ) ( all )? ( in | on | to |
            into ) ( only )? MARKET ( only )?
        ( please | kindly )? <only>? ( spend | use ) ( <funds_it> )? <only>? ( on | for | in | at |
            with | via | through ) <only>? MARKET <lastly>{0,2}
        ( use | spend | put ) <funds_it> ( to | on | for | in )? <only>? ( <dealing> ) <only>? (
            in | into | on | with | via | through | over | using )? <only>? MARKET <lastly>{0,2}
        ( it's | this is | that's | <funds_it> ( is | are ) | <sum_of_it> ) ( only | all | just |
            exclusively | solely ){0,2} for ( buying | trading | lending on | lending in | use on |
            use in | investing in | the )? MARKET <lastly>{0,2}
        <sum_of_it> <only>? <placed_in> <only>? MARKET <lastly>{0,2}
        <funds_it> ( should | must | shall | may | can | will | has to | have to | is to | are to |
            needs to | need to | ought to ) <only>? ( be <only>? <put_there>? | go | work | sit |
            stay | be put to work ) ( <only> | all )? <placed_in> <only>? MARKET <lastly>{0,2}
        ( all of it )? ( split | spread | divided | distributed | shared ) ( equally | evenly )? (
            between | across | among | over ) ( both )? MARKET ( equally | evenly )?
        ( please | kindly )? <only>? ( buy | get | use | purchase | fetch | find | read | gather |
            collect | order | pay for ) ( me | us )? <only>? ( some | any | all | the | whatever |
            whichever | what | all the | any of the )? MARKET <only>? ( that | which )? ( you | the
            agent | it | i | we ) ( may | might )? ( need | needs | want | wants | require |
            requires | like | likes ) ( for ( my | our | the | this | that | a )? W{1,3} | for it |
            for this | for that )?
        ( please | kindly )? <only>? ( buy | get | find | fetch | order ) ( me | us ) <only>? ( some
            | any )? MARKET <lastly>{0,2}
        ( my | our | some | the | a )? ( W )? ( research | reading | lending | trading | investing |
            fact checking ) ( via | through | using | with | from | over ) <only>? MARKET
            <lastly>{0,2}
        ( it's | this is | <funds_it> ( is | are ) | <sum_of_it> )? ( only | all | just ){0,2} for (
            my | our | the | some | a )? W{0,2} <studying> ( via | from | through | using | over )
            <only>? MARKET <lastly>{0,2}
        ( the agent | the bot | my agent | my bot | this agent ) <only>? ( trades | uses | invests
            in | lends on | lends in | works with | works on | buys ) <only>? MARKET <lastly>{0,2}
        <dealer> <only>? <dealing> <only>? ( in | into | on | with | via | through | over | using )?
            <only>? MARKET <lastly>{0,2}
        ( ( <you> | you ) ( is | are ) | you're | it's ) <only>? ( allowed | permitted ) <only>? (
            to <dealing> )? ( in | on | with )? <only>? MARKET <lastly>{0,2}
        ( trading | spending | investing | investments | all trading | all spending | activity |
            purchases | <you> | you ) ( is | are | shall be | must be | should be | to be )? (
            limited | restricted | confined | constrained ) to <only>? MARKET <lastly>{0,2}
        ( limit | restrict | confine ) ( yourself | itself | it | trading | spending | everything |
            the agent | investments | this | purchases | activity | all trading ) to <only>? MARKET
            <lastly>{0,2}
        ( trade | buy | use )? ( nothing | nowhere ) ( but | except | other than | besides | apart
            from | else than ) MARKET ( please )?
        no ( other )? ( market | markets | venue | venues ) ( but | except | other than | besides |
            apart from | than ) MARKET
        ( target | preferred | only these | these | just these | only the | only this | approved |
            accepted ) ( market | markets | venue | venues | place | places | instruments ) ( only
            )? ( : | = | is | are )? <only>? MARKET <lastly>{0,2}
        ( ( i | we ) ( want | would like | prefer ) | ( i'd | we'd | i would | we would ) like ) (
            <funds_it> ) ( all )? ( <put_there> | put to work ) ( all )? <placed_in> <only>? MARKET
            <lastly>{0,2}
        only MARKET ( is | are )? ( allowed | permitted | fine | ok | okay | acceptable )
        the only ( market | venue | place ) ( is | : ) MARKET
        MARKET ( is | are ) both ( fine | ok | okay | allowed | good )
        ( do not | don't | never ) ( trade | use | buy ) anything ( but | except | other than |
            besides | apart from | else than ) MARKET
        ( supply | lend | deposit | invest | put | place | park | allocate ) <funds_it> <only>?
            <placed_in> <only>? MARKET <lastly>{0,2}
        ( the | my )? ( strategy | scope | purpose | focus | where to spend | spend it on | use it
            on | use it for | spend on | use for ) : <only>? ( <dealing> )? <only>? ( in | on | with
            )? MARKET <lastly>{0,2}
        ( the | my )? ( purpose | focus | task ) : ( buying | purchasing | getting ) MARKET ( for (
            my | our | the | a ) W{1,3} )?
        ( please )? <only>? ( buy | get | pay for | purchase | fetch | read ) ( the )? ( articles |
            data | reads | news | papers | reports | information | sources | content ) <only>? (
            via | through | over ) <only>? MARKET <lastly>{0,2}
        let ( <funds_it> ) ( sit | work | earn | grow | stay | rest | earn interest | earn yield ) (
            in | on | with | at ) <only>? MARKET <lastly>{0,2}
        <only> ( in | on | into | via | through | with | for | from | to | over | using ) <only>?
            MARKET <lastly>{0,2}
    """,
    "budget": """
        worth ( up to | at most | no more than | a maximum of )? MONEY <ofall>
    """,
}
PARTS: Final[Mapping[str, str]] = {
    "only": """
        only | just | exclusively | solely | purely
    """,
    "lastly": """
        only | alone | exclusively | solely | and nothing else | and nowhere else | nothing else |
        please | for me | for us
    """,
    "funds_it": """
        it | them | this | that | everything | all | all of it | it all | the money | my money | (
        the | my | this | our | these | all the | all my | the whole | all of the ) ( money | budget
        | funds | cash | usdc | allowance | capital | sum | amount | balance | pot )
    """,
    "sum_of_it": """
        all | all of it | everything | it all | the lot | the whole lot | all of this | all of that
    """,
    "put_there": """
        invested | used | spent | lent | lent out | put | placed | deposited | deployed | traded |
        supplied | parked | kept | allocated | committed | put to work | worked
    """,
    "placed_in": """
        in | into | on | onto | to | at | with | via | through | using | over | for | towards |
        inside | within | between | across
    """,
    "studying": """
        research | homework | project | thesis | report | reports | reading | study | studies |
        essay | paper | newsletter | blog | article | articles | class | course | coursework |
        analysis | book | assignment | dissertation | podcast | work | news
    """,
    "dealing": """
        trade | use | buy | invest | lend | deposit | supply | deal | dealing | get | fetch | read
        | gather | collect | purchase | pay for | stick to | stay with | work | focus on |
        concentrate on | play | scalp | swing trade | day trade | trading | using | buying |
        investing | lending | depositing | reading | working | focusing on | operating | operate |
        do | earn | earn yield | earn interest | speculate | be active | look for trades | take
        positions | open positions | open trades | make trades | place trades | place orders
    """,
    "dealer": """
        ( you | the agent | it | you're | it's )? ( are | is )? ( free | allowed | welcome |
        permitted ) to | ( you'll be | you will be | you're | you are | it will be | it is | it's |
        the agent is | the agent will be ) | ( you | the agent | it | the bot | my agent ) ( will |
        shall | should | may | can | must | is to | are to | trades | has to | have to | needs to
        )? | ( i want | i would like | i'd like | we want | we'd like | let | have ) ( you | it |
        the agent | my agent | the bot ) ( to )? | ( i | we ) ( want | would like | 'd like ) ( you
        | it | the agent ) to | ( your | the ) ( job | task ) is to | you are to | feel free to
    """,
}
