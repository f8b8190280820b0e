"""The agent's share of what it earns, put together from parts: who gets how much of what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "profits": """
        profit | profits | gain | gains | yield | earnings | winnings | net profit | net profits |
        net gain | net gains | realised profit | realized profit | verified gain | upside | surplus
    """,
    "makes": """
        earn | earns | make | makes | gain | gains | bring in | brings in | generate | generates |
        produce | produces | achieve | achieves | bring | brings | create | creates
    """,
    "made_by_you": """
        <gain> | ( of | from | on | out of ) ( the | any | all | all the | your | every | my | what
        | whatever )? <profits> ( ( that | which )? <you> ( <makes> | made ) ( me | us | for me |
        for us )? | made | there is | earned | generated )? | ( of | from | on | out of ) ( what |
        whatever | everything | anything | all | all that | everything that ) <you> <makes> ( me |
        us | for me | for us )? ( on top | on top of it | on top of that | in profit | in profits |
        in gains | with it | with my money )?
    """,
    "to_you": """
        to you | to the agent | for you | for the agent | yours | the agent's | to my agent | to the
        bot
    """,
    "gets": """
        get | gets | keep | keeps | take | takes | earn | earns | receive | receives | have | has |
        be paid | be given | charge | charges
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
    "rest_mine": """
        ( half | the rest | the other half | the remainder | all the rest ) ( is | stays | remains |
        goes | belongs | will be ) ( mine | with me | to me | for me ) | i ( keep | get | take ) (
        the rest | the other half | the remainder )
    """,
    "for_this": """
        for this | for it | for that | on this one | this time | here | at all | from me | for this
        one | for the job | for this job | for your work | for your trouble | on this
    """,
}

PHRASES: Final[Mapping[str, str]] = {
    "fee": """
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
    """,
    "no_fee": """
        no ( cut | share | commission | reward | remuneration | percentage | fee | pay | payment ) (
            for you | for the agent | to you | to the agent ) ( <for_this> )
        ( at | for | with | on ) ( no | zero ) ( agent | performance )? ( fee | fees | commission |
            cost | charge | pay | payment | reward ) ( for ( you | the agent | your work ) | at all
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
    """,
}
