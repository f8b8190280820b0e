"""Money that is handed over in other words: by a fund, lent, put aside, split, set to work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "budget": """
        be ( in charge of | in control of | responsible for ) ( my | the | these )? ( <exactly> )?
            MONEY
        ( you | the agent ) ( run | runs ) ( on )? ( my | the | these )? ( <exactly> )? MONEY
        ( <you> | you )? ( <may> )? ( trade | invest | do | work | operate | act ) ( freely | ( as |
            however | what | whatever ) ( you | it ) ( like | likes | see fit | sees fit | please |
            want | wants | think best ) ) with ( my | the | these )? ( <exactly> )? MONEY
        <funder> ( hereby | now | will | shall | has | have )? <hands_over> ( <exactly> )? MONEY (
            <to_whom> | ( into | in | towards | toward ) ( this | it | the vault | this mandate |
            the mandate | the pot | this fund | this job ) )
        <funder> ( hereby | now | will | shall | has | have )? <hands_over> ( <you> | this mandate
            | the mandate ) ( with )? ( <exactly> )? MONEY <for_what>?
        ( i've | we've | i have | we have | i | we ) ( just | already | now | also )? ( put aside |
            set aside | reserved | earmarked ) ( <exactly> )? MONEY <to_whom>?
        ( i've | we've | i have | we have | i | we ) ( just | already | now | also )? ( put by |
            kept aside | put away | scraped together | prepared | made available | budgeted ) (
            <exactly> )? MONEY <to_whom>
        ( there is | there's | there are | you'll find | you will find | you find ) ( <exactly> )?
            MONEY ( in here | in it | in this | in there | in the ( vault | pot | kitty | mandate |
            fund ) ( now | already | for you | right now )? | waiting for you | ready for you | for
            you in the ( vault | pot ) | for you | ready | available | to work with | to play with
            | to invest | to trade with | to spend )
        ( i'm | we're | i am | we are | am | are ) ( giving | lending | handing | granting |
            entrusting | trusting | providing | loaning | leaving ) ( <you> | this agent ) ( with
            )? ( <exactly> )? MONEY <for_what>?
        ( <my> )? ( savings | fund | money | cash | stash | purse | funds | sum | amount | stake )
            ( for ( this | you | it | the job | this job | the agent | the mandate | this mandate |
            trading | investing ) ) ( is | are | : | = | comes to | come to | amounts to | will be
            ) ( <exactly> )? MONEY ( in total | altogether | in all | at most )?
        ( i | we )? ( want | would like | 'd like ) to ( try | test | start | begin ) ( this | it |
            you | things )? ( out | off )? with ( <exactly> )? MONEY
        ( amount | sum | size | principal | capital | total | money | budget ) MONEY ( in total |
            at most | max )?
        <you> ( is | are | will be | shall be | has been | have been ) ( entrusted | trusted |
            provided | endowed | equipped | funded | supplied | handed | loaned | allotted |
            assigned | allocated ) ( with )? ( <exactly> )? MONEY <for_what>?
        ( altogether | in total | in all | overall | all in all ) ( there are | there is | there's
            | you have | you get | we have ) MONEY
        ( i | we ) ( can | could ) ( only | just )? ( spare | give <you> | afford | offer | put in |
            put up | let you have | let <you> have | let you use | lend <you> | set aside | part
            with | invest | hand you ) ( you )? ( about | <exactly> )? MONEY ( <for_what> |
            <to_whom> )?
        ( i | we ) ( can | could ) afford to ( give <you> | put in | invest | spend | put up | lend
            <you> ) ( <exactly> )? MONEY ( <for_what> | <to_whom> )?
        ,? ( otherwise | apart from that | other than that | beyond that | for the rest | below that
            | up to that )? ,? ( you | the agent | you're | it ) ( are | is | may | can )? ( free |
            welcome | allowed )? ( to )? ( use | spend | invest | trade | trade with | work with |
            deploy | dispose of ) ( freely )? ( all | all of | the whole | the full | the entire |
            the total | all of the | all the | the complete ) MONEY
        ( ( the | this | our ) ( vault | pot | kitty | mandate | fund | budget ) | your ( wallet |
            vault | pot | account | purse | fund | stake ) ) ( has | holds | contains | is filled
            with | starts with | is loaded with ) ( <exactly> )? MONEY
        ( with | from | of | out of | using )? ( the | these | this ) MONEY ( that )? ( i | we |
            i'm | i am | we're | i've | i have | we've ) ( give | gave | giving | lend | lending |
            put in | putting in | provide | given | put aside | set aside | deposited | handed |
            hand ) ( <you> )?
        ( let's | let us | i'll | we'll | i'd like to | i want to )? give ( this | it | you | the
            thing ) a ( try | go | shot | chance | whirl ) with ( <exactly> )? MONEY
        ( managing | looking after | taking care of | investing | running | growing ) ( my | the |
            these )? MONEY ( <forme> )?
        ( see | show me | find out | let's see | i'd like to see | i want to see | we'll see | let
            me see | ( i'm | i am | we're | we are ) ( curious | keen to see | excited to see |
            interested in | eager to see | curious to see ) ) ( what | how far | how well | how
            much ) ( you | the agent ) ( can | could )? ( do | make | get | go | achieve | earn |
            manage ) ( with | of | out of | from )? ( <exactly> )? MONEY
        MONEY ( it is | should do | will do | must do | has to do | will have to do | should
            suffice | will suffice ) ( for now | to start | for a start | this time | for the
            moment )?
        ( amount | size | budget | capital | sum | total | value ) of ( the | this ) ( mandate |
            job | agreement | task | contract ) ( <is> | : | shall be )? MONEY
        ( the | my | your ) ( amount | sum | principal | stake | deposit | size ) ( <is> | shall be
            ) ( <exactly> )? MONEY ( in total | at most )?
        make ( my | the | these | this | our )? MONEY ( work | earn | count | useful | productive )
            ( hard | harder | something | some money | a little | a bit | interest | yield )? ( for
            ( me | us ) )?
        ( put | set ) ( my | the | these | this | our )? MONEY to ( work | good use | use ) ( for (
            me | us ) )?
        ( earn | get | make | generate | collect | draw | squeeze ) ( me | us )? ( some | a little
            | a bit of | good | decent | steady | safe | extra | a bit | modest | a decent | a good
            | a steady | a safe ){0,2} ( yield | interest | income | return | returns | money |
            something ) ( on | with | from | for | out of ) ( my | the | these | up to )? MONEY
        ( i | we )? ( place | put | leave | lay | commit | hand ) ( <exactly> )? MONEY ( in your
            hands | in your care | into your hands | in the agent's hands | under your management |
            at your disposal | at the agent's disposal | at its disposal | over to you | in your
            charge | to your care | into your care )
        ( <exactly> )? MONEY ( is | are | will be | shall be | has been | have been ) ( made
            available | set aside | put aside | allocated | assigned | earmarked | reserved |
            entrusted | provided | placed at your disposal | at your disposal | at the agent's
            disposal | at its disposal | in the pot | in here | in your hands | in your care |
            under your management | there for you | waiting for you ) ( <to_whom> )?
        ( the | this | our ) ( mandate | vault | account ) ( is funded with | holds | carries |
            comes with | starts with | is endowed with | contains | is loaded with | starts at |
            begins at | opens at | has been funded with | begins with | opens with | is set at | is
            set to | covers ) ( <exactly> )? MONEY
        ( holds | carries | contains | comes with | is funded with | is endowed with ) ( <exactly>
            )? MONEY
        ( <my> )? ( total | overall | upper )? ( limit | cap | maximum | ceiling ) for ( this |
            everything | it | the job | this job | the whole thing | all of it | you | this mandate
            | the mandate | the whole job ) <is> ( <exactly> )? MONEY ( in total | at most | max )?
        ( you'll | you will | it'll | the agent will | you are to | you're to ) ( get | receive |
            have | be given | be handed | start with | work with | be trusted with | manage ) (
            <exactly> )? MONEY <for_what>?
        ( what you get | what you have | what i give | what i give you | you get | you have | for
            you | yours ) : ( <exactly> )? MONEY ( in total )?
        ( <agent_here> ) <given> ( <exactly> )? MONEY ( at its disposal | to work with | to spend |
            to trade with | to use | to invest )? <for_what>?
        ( you'll be | you will be | you're | you are | it will be | the agent will be | the agent is
            | it is ) ( managing | handling | working with | trading with | investing | looking
            after | in charge of | in control of | responsible for | running on | dealing with |
            trading ) ( my | the | these | up to | a total of )? MONEY ( for ( me | us ) )?
            <for_what>?
        ( the size of ( the | this | your ) ( mandate | budget | fund | pot | account ) is | size :
            | mandate size : | fund size : | account size : ) ( <exactly> )? MONEY
        ( consider | treat ) MONEY ( as )? ( the | your | my ) ( whole | total | full | entire )?
            budget
        ( <you> ) ( <may> )? ( call on | draw on | draw | dip into | make use of | avail yourself
            of | dispose of | go through | go up to ) ( up to | a total of | at most )? MONEY ( in
            total | altogether | overall | in all )
    """,
    "budget_bare": """
        ( only | just ) MONEY ( in total | for now | this time | for a start | to start with )?
    """,
    "budget_split": """
        ( <funder> )? ( hereby | now | will | shall | has | have )? <hands_over> ( <exactly> )?
            MONEY
        <funder> ( hereby | now )? ( putting | placing | depositing | parking | investing ) (
            <exactly> )? MONEY
        ( please )? ( move | shift | switch | rotate | split | divide | spread | distribute | share
            | allocate | put | invest | lend | deposit | supply | place | park ) ( my | the | these
            | our )? MONEY ( equally | evenly | half and half | out | up | in equal parts | as you
            see fit | as you like | sensibly )?
    """,
    "markets_split": """
        ( only )? ( to | towards | for use ( in | on ) | for ) ( the )? MARKET ( only | alone )?
        ( equally | evenly | half and half )? ( between | across | among | amongst | over | on | in
            | into | to | at | with ) ( both )? MARKET ( equally | evenly | half and half | in equal
            parts | as you see fit | as you like )?
    """,
    "budget_is": """
        <is> ( <exactly> )? MONEY ( in total | at most | max | tops | altogether | overall )?
        ( of )? ( <exactly> )? MONEY
    """,
    "budget_of": """
        ( of | out of | on a budget of | from ) ( the | my | a | an | these | our | your )? (
            initial | original | total | starting | whole | full )? MONEY ( budget | total | in
            total | pot | mandate | capital | account )? ( at most | max | maximum | tops | or less
            | i'm giving you | i am giving you | i give you | you have | you get | i gave you |
            i've given you | in the pot )
    """,
}
PARTS: Final[Mapping[str, str]] = {
    "funder": """
        ( the | our | my | this ) ( fund | company | club | team | dao | treasury | family | firm |
        foundation | cooperative | syndicate | association | business | startup | office | group |
        household ) | i'm | we're | i am | we are | the ( owner | undersigned | principal | board |
        grantor | lender | sponsor | investor ) | i | we
    """,
    "hands_over": """
        handing over | making available | entrusting | contributing | dedicating | allotting |
        passing on | providing | transferring | lending | giving | committing | allocating |
        assigning | advancing | allocates | allocate | allocated | assigns | assign | assigned |
        commits | commit | committed | provides | provide | provided | entrusts | entrust |
        entrusted | grants | grant | granted | contributes | contribute | contributed | lends |
        lend | gives | give | given | makes available | make available | made available | hands
        over | hand over | hands | hand | allots | allot | allotted | advances | advance | advanced
        | transfers | transfer | releases | release | trusts | trust | endows | supplies |
        dedicates | dedicate | dedicated | devotes | devote | puts | put up | puts up
    """,
    "exactly": """
        exactly | up to | a total of | the sum of | a sum of | an amount of | the amount of | at
        most | only | just | a budget of | a maximum of | a capital of | capital of | no more than
    """,
    "to_whom": """
        ( to | for ) ( <you> | this mandate | the mandate | this agent | this | this job | the job
        | this task | this purpose | it | your use | the agent's use | this experiment | this
        project | trading | investing | you to use | you to manage | you to invest | you to trade |
        you to spend | you to trade with | you to work with | you to play with | the agent to use |
        the agent to manage | the agent to invest | the agent to trade )
    """,
    "agent_here": """
        the agent under test | the test agent | the tested agent | this ai agent | the appointed
        agent | the named agent | the assigned agent | the mandated agent | the agent in question |
        the undersigned agent | whoever takes this | whichever agent takes this | the agent that
        accepts this | the agent who accepts this | the trading agent | the agent
    """,
}
