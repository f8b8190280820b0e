"""The agent's share of what it earns, put together from parts: who gets how much of what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "profits": """
        profit | profits | gain | gains | yield | earnings | winnings | net profit | net profits |
        net gain | net gains | realised profit | realized profit | verified gain | upside | surplus
        | interest | returns | return | proceeds | interest earned
    """,
    "makes": """
        earn | earns | make | makes | gain | gains | bring in | brings in | generate | generates |
        produce | produces | achieve | achieves | bring | brings | create | creates
    """,
    "made_by_you": """
        <gain> | ( of | from | on | out of ) ( the | any | all | all the | your | every | my | what
        | whatever )? <profits> ( ( that | which )? ( <you> ( <makes> |
        made ) | ( we | i ) ( make | earn | gain ) ) ( me | us | for me | for us )? | made | there
        is | earned | generated )? | ( of | from | on | out of ) ( what | whatever | everything |
        anything | all | all that | everything that ) ( <you> | we ) <makes> ( me | us | for me |
        for us )? ( on top | on top of it | on top of that | in profit | in profits | in gains |
        with it | with my money )?
    """,
    "to_you": """
        to you | to the agent | for you | for the agent | yours | the agent's | to my agent | to the
        bot
    """,
    "gets": """
        get | gets | keep | keeps | take | takes | earn | earns | receive | receives | have | has |
        be paid | be given | charge | charges
        | retain | retains | pocket | pockets
    """,
    "able": """
        can | may | will | shall | should | get to | gets to | is to | are to | are allowed to | is
        allowed to | are free to | is free to | is entitled to | are entitled to
    """,
    "reward": """
        ( fee | reward | pay | payment | commission | cut | performance fee | agent fee | share |
        success fee | remuneration | compensation | bonus | profit share | wage | percentage )
    """,
    "as_reward": """
        as ( your | a | its | the | an | my agent's )? <reward> | for ( your | its ) ( work |
        trouble | efforts | effort | services | service ) | for yourself | for itself
    """,
    "any_reward": """
        ( agent | agent's | performance | success | incentive )? ( fee | fees | commission |
        commissions | remuneration | reward | compensation | profit share | profit cut ) | ( share |
        cut | part | portion | percentage ) ( <made_by_you> )
    """,
    "to_agent": """
        ( to | for | by ) ( you | the agent | my agent | the bot | my bot | this agent )
    """,
    "rest_mine": """
        ( half | the rest | the other half | the remainder | all the rest ) ( is | stays | remains |
        goes | belongs | will be ) ( mine | with me | to me | for me ) | i ( keep | get | take ) (
        the rest | the other half | the remainder )
    """,
    "for_this": """
        for this | for it | for that | on this one | this time | here | at all | from me | for this
        one | for the job | for this job | for your work | for your trouble | on this
        | whatsoever | of any kind | of any sort | at all please
    """,
}

PHRASES: Final[Mapping[str, str]] = {
    "fee": """
        ( if | when | whenever | once ) ( <you> ( make | makes | earn | earns ) | there is |
            there's ) (
            a | any | some )? ( profit | gain | profits | gains ) ,? ( then )? ( you may )? ( keep |
            take ) PCT ( of it | of that | of them ) ( <as_reward> )?
        ( i | we ) ( understand | know | agree | accept | see | confirm | acknowledge | am fine | am
            happy ) ( that )? ( <you> | you'll | it'll ) ( <able> )? ( <gets> ) PCT <made_by_you> (
            <as_reward> )?
        ( your | the agent's | agent's | its ) <reward> <made_by_you> ( is | : | = | shall be | will
            be | should be ) PCT
        ( a | an | the )? PCT <reward> <made_by_you> ( is yours | goes to you | goes to the agent |
            is for you | is for the agent )
        ( if | when | whenever | once ) ( ( <you> | we ) ( make | makes | earn | earns | have | has
            | turn ) | there is | there's ) ( a | any | some )? ( profit | gain | profits | gains )
            ,? <you> ( <able> )? ( <gets> ) PCT ( of it | of that | of them ) ( <as_reward> )?
        ( <you> | you'll | it'll )? ( <able> )? ( <gets> ) ( a fee of | a share of | a cut of )? PCT
            <made_by_you> ( <as_reward> )? ( ,? and? <rest_mine> )?
        ( your | the agent's | agent's | its | the bot's | the agent | my agent's | the ) <reward> (
            is | : | = | shall be | will be | should be | is to be | would be | comes to | amounts
            to ) PCT ( <made_by_you> )?
        ( a | the | an )? <reward> of PCT <made_by_you> ( is | shall be | will be ) ( payable | paid
            | due | owed | granted | given ) ( to ( you | the agent | my agent | the bot ) )?
        PCT <made_by_you> ( goes | go | is | are | belongs | belong | will go | will be | shall be |
            shall go ) ( payable | paid | due )? ( <to_you> ) ( <as_reward> )? ( ,? and? <rest_mine>
            )?
        <made_by_you> ,? PCT ( goes | go | is | are | belongs | will go | will be | shall go ) (
            <to_you> ) ( <as_reward> )?
        <made_by_you> ,? <you> ( <able> )? ( <gets> ) PCT ( <as_reward> )?
        ( for | of | from | on ) ( each | every | any ) ( profit | gain ) ( <you> <makes> ( me | us
            | for me )? )? ,? ( <you> )? ( <able> )? ( <gets> ) PCT ( of it )? ( <as_reward> )?
        ( i | we | i'll | i will | we'll | we will )? ( pay | give | offer | grant ) ( you | the
            agent )? PCT <made_by_you> ( <as_reward> )?
        ( ( <you> | you ) ( is | are | shall be | will be ) | you're | you'll be ) ( entitled to |
            paid | given | granted | promised ) ( ( a | the )? ( <reward> of )? PCT ( <made_by_you>
            ) | ( a | the )? <reward> of PCT )
        ( <you> | you ) ( shall be | will be ) entitled to PCT <made_by_you>
        ( i'm | i am | we're | we are ) ( offering | giving | happy to pay | willing to pay |
            willing to give | happy to give | ready to pay | prepared to pay | glad to pay | happy
            to offer ) ( you | the agent )? ( ( a | an )? <reward> of )? PCT <made_by_you> (
            <as_reward> )?
        ( a | the )? <reward> of PCT <made_by_you> ( is agreed | has been agreed | applies | is
            agreed upon )
        ( remuneration | compensation | commission | agent's pay ) ( : | = ) PCT ( <made_by_you> )?
        ( i'll | i will | we'll | we will ) share PCT <made_by_you> with ( you | the agent
            )
        PCT <made_by_you> ( is | are | will be | shall be ) ( your | the agent's ) <reward>
        ( your )? ( profit share | performance fee | success fee ) PCT ( <to_agent> )
        ( if | when | whenever | once ) ( <you> ( make | makes | earn | earns | turn | turns ) |
            there is | there's ) ( a | any | some )? ( profit | gain | profits | gains ) ,? ( PCT (
            of it | of that | of them )? ( is | are | goes to | belongs to | will be ) ( yours | you
            | the agent | for you | for the agent | your fee | your share ) | ( you | <you> ) (
            <able> )? ( <gets> ) PCT )
    """,
    "no_fee": """
        ( at | with | for ) ( no | zero ) ( fee | fees | commission ) ( <for_this> )?
        ( you'll | you will | it'll ) ( get | receive | have | take | earn | keep | charge | be paid
            ) ( no | zero ) ( fee | fees | commission | cut | share | reward | remuneration ) (
            <made_by_you> )? ( <for_this> )?
        no ( cut | share | commission | reward | remuneration | percentage | fee | pay | payment ) (
            for you | for the agent | to you | to the agent ) ( <for_this> )
        ( at | for | with | on ) ( no | zero ) ( agent | performance )? ( fee | fees | commission |
            charge | pay | payment | reward ) ( for ( you | the agent | your work ) | at all
            | to ( you | the agent ) )?
        ( you | the agent | it )? ( <able> )? ( work | works | do this | does this | do it | does it
            | be ) ( unpaid | without ( any )? ( pay | reward | compensation | remuneration |
            payment | a commission | a share | commission | a cut ) ) ( <for_this> )?
        ( at | free of ) ( no )? charge
        ( <you> )? ( do not | don't | does not | doesn't | will not | won't | shall not ) ( <gets> )
            ( a | any )? ( fee | fees | commission | cut | share | performance fee | agent fee |
            success fee | profit share | reward | remuneration ) ( <made_by_you> )? ( <for_this> )?
        ( <you> )? ( <able> )? ( <gets> ) ( no | zero ) ( fee | fees | commission | cut | share |
            part | portion | percentage | performance fee | agent fee | reward | remuneration ) (
            <made_by_you> )? ( <for_this> )?
        ( <you> )? ( <able> )? ( work | works | do this | does this | do it | does it ) for ( free |
            nothing ) ( <for_this> )?
        no ( fee | fees | commission | performance fee | agent fee ) ( for ( you | the agent ) )? (
            <for_this> )
        no ( cut | share | commission | reward | remuneration | percentage | part ) ( <made_by_you>
            )? ( for you | for the agent | to you | to the agent )
        ( <you> )? ( <able> )? ( <gets> ) ( nothing | none ) <made_by_you>
        ( your | the agent's | agent's | its | the | agent )? ( fee | fees | cut | commission |
            performance fee | remuneration | reward ) ( is | : | = | will be | shall be ) ( zero |
            nothing | none | nil )
        ( i | we ) ( keep | get | take ) ( all | all of | the whole of | every cent of ) the (
            profit | profits | gain | gains )
        ( sorry | i'm afraid | i'm sorry | unfortunately ) ,? ( but )? ( there is | there's | i can
            offer | i can pay | i pay )? no <any_reward> ( for ( you | the agent ) | to ( you | the
            agent ) )? ( this time | for now | here )?
        ( there is | there's | i can offer | i can pay )? no <any_reward> ( for ( you | the agent )
            | to ( you | the agent ) )? ( this time | for now | here )? ,? ( sorry | i'm afraid |
            i'm sorry | unfortunately )
        ( i | we )? ( expect | want | foresee | agree to | agreed on )? no <any_reward> ( is | are |
            will be | shall be | is to be | are to be | should be | may be | to be )? ( paid |
            payable | due | owed | taken | charged | kept | granted | given ) ( out )? <to_agent> (
            <made_by_you> )?
        no <any_reward> ( is | are | will be | shall be | is to be | should be ) ( paid | payable |
            due | owed | agreed ) ( on ( profit | profits | gains ) )?
        no ( fee | fees | commission | agent fee | performance fee ) ( applies | apply ) (
            <to_agent> | to ( your | its ) work )?
        there ( will be | shall be | is to be ) no <any_reward> ( <to_agent> )?
        there ( won't be | will not be | isn't | is not | shall not be | isn't going to be ) ( a |
            an | any ) <any_reward> ( <to_agent> )?
        ( ( <you> | you ) ( is | are | shall | will )? not ( be )? | you're not | you aren't | you
            won't be | the agent isn't | the agent won't be ) ( entitled to | owed | due | paid |
            given | granted | promised | getting ) ( a | any )? <any_reward> ( <made_by_you> )? (
            <for_this> )?
        ( ( <you> | you ) ( is | are | shall be | will be ) | you're ) entitled to no <any_reward>
        ( <you> )? ( do not | don't | must not | may not | should not ) ( charge ) ( me | us ) ( a |
            any )? ( fee | fees | commission | performance fee | agent fee ) ( <for_this> )?
        ( <you> )? ( do not | don't | does not | doesn't | must not | may not | will not | won't
            ) ( <gets> ) ( any | anything | any part | any share | any portion ) ( of | from ) ( the
            | my | our | any )? <profits>
        ( i'm | i am | we're | we are | i | we ) ( not paying | not going to pay | not offering |
            not giving | can't pay | cannot pay | won't be paying | am not paying ) ( you | the
            agent ) ( a | any ) <any_reward> ( <made_by_you> )?
        ( i'm | we're ) not paying ( a | any )? ( agent fee | performance fee | profit share )
        ( all | all of | the whole of | every bit of | the whole | the entire | 's all ) ( the | any
            | my )? ( profit | profits | gain | gains ) ( is | are | stays | stay | goes | go |
            belongs | belong | remains | remain | will be | shall be | will go | shall go ) ( all )?
            ( mine | ours | with me | to me | to us | for me )
    """,
}
