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
    "markets_shared": """
        ( to be | and | which is | it is | it's )? ( split | divided | spread | distributed | shared
            | allocated | placed | put | invested | lent | deployed | working | supplied | deposited
            ) ( equally | evenly | half and half | sensibly | as you see fit )? ( out | up )? (
            between | across | among | amongst | over | on | in | into | to ) ( both )? MARKET (
            equally | evenly | in equal parts | as you see fit | as you like | only )?
    """,
    "markets": """
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
            need ) ( only | just )? ( through | via | over | with | on | using | by | from ) ( only
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
    """,
}
PARTS: Final[Mapping[str, str]] = {
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
