"""Frames of asking: what needs no asking at all, what is free up to an amount, what is not done
above it without asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "consent_too": """
        ( my | an | any | a | explicit | prior | manual | owner | the owner's ){0,2} ( approval |
        approvals | consent | permission | confirmation | confirmations | authorisation |
        authorization | sign off | ok | okay | go ahead | say so | green light | agreement ) ( from
        me | of mine | by me )?
    """,
    "consult": """
        ask | ( come to | come back to | get back to | turn to | go to ) ( me | us ) ( for
        <consent_too> )? | ( ask | check with | check in with | consult | consult with | confirm
        with | verify with ) ( me | us ) | ask ( me )? ( for )? <consent_too> | ( get | seek |
        obtain | request | wait for ) <consent_too> | run ( it | things | anything ) ( by | past )
        me | check in | check first | wait for me to approve
    """,
    "consulting": """
        asking | checking | checking in | confirming | ( asking | checking with | checking in with |
        consulting | confirming with | consulting with | bothering | involving ) ( me | us ) |
        asking ( me )? for <consent_too> | ( getting | seeking | obtaining | having | waiting for )
        <consent_too> | <consent_too> | waiting for me | running ( it | things | anything ) ( by |
        past ) me
    """,
    "at_all": """
        ( ever | at all | first | beforehand | in advance | anything | permission | approval | for
        permission | for approval | for anything | about anything | from me | please | whatsoever |
        ( for | about | before | before making | on ) ( a | any ) <act> | before ( you )? ( act |
        acting | trade | trading | buy | buying | spend | spending | pay | paying | do anything |
        doing anything | invest | investing ) | to ( trade | act | spend | buy | invest | pay | do
        anything ) | ( for | about | before ) ( any | individual | single | any single | any
        individual | your )? ( <act> | <acts> ) ){0,2}
    """,
    "never_need": """
        ( you | the agent | it | the bot )? ( never | do not | don't | does not | doesn't | will not
        | won't | will never | won't ever | don't ever | do not ever | never ever ) ( ever )? (
        need | needs | have | has ) to ( ever )? | ( you | the agent | it | the bot )? ( needn't |
        need not | need never ) ( ever )? | ( please )? ( never | do not | don't | don't ever |
        do not ever | never ever ) | ( there is | there's | there will be )? no need ( for you )? to
        ( ever )? | ( do not | don't ) bother to | ( ( <you> | you )
        ( is not | are not | isn't | aren't | shall not be | will not be | is never | are never ) |
        you're not | it's not ) ( required | obliged | obligated | bound ) to | it ( is not | isn't
        | is never ) ( necessary | needed | required ) ( for ( you | the agent ) )? to | it's not (
        necessary | needed | required ) ( for ( you | the agent ) )? to
    """,
    "doing": """
        go ahead | act | trade | spend | buy | pay | decide | invest | work | operate | proceed |
        run | do ( everything | it all | anything | all of it | all this | all that | your thing |
        your job ) | make ( all | any | the | your )? ( <acts> | decisions ) | acts | trades |
        decides | operates | works | runs | place orders
    """,
    "alone": """
        alone | yourself | itself | by yourself | on your own | on its own | by itself | freely | as
        you like | as you see fit | as it likes
    """,
    "free_hand": """
        ( <you> | you ) ( <may> | should )? ( decide | act | go ahead | do it | trade | buy | pay |
        spend | choose ) ( <alone> | without <consulting> ) | ( is | are )? ( your call | your
        decision | yours to decide | up to you ) | ( <you> | you ) ( are | is | 're )? free to ( act
        | decide | trade | spend | go ahead | choose ) | you're free to ( act | decide | trade |
        spend | go ahead | choose ) | ( just )? ( decide | act ) <alone> | do ( it )? <alone>
    """,
    "loose_hand": """
        <free_hand> | ( <you> | you ) ( <may> )? ( decide | go ahead | choose ) | ( is | are ) (
        fine | ok | okay | allowed | no problem ) | no need to ask ( me )? | no approval ( is )?
        needed | ( don't | do not ) ask ( me )? | you ( don't | do not ) ( need | have ) to ask ( me
        )? | go ahead | just go ahead | feel free | ( <you> ( are | is )
        | you're | it's ) ( free | fine | on your own ) | do as you ( like | please | want )
    """,
    "small_enough": """
        ( as long as | so long as | if | provided | provided that | when | whenever | while ) (
        <its> | ( the | a | each | any | every ) <act> ( is | costs | stays ) | <acts> ( are | stay
        | cost ) | you ( stay | keep | are | spend ) | it stays ) ( ( up to | under | below | at
        most | no more than | not more than | less than | within | at or below ) <amt> | <amt> ( or
        less | or under | or below | at most | max | or smaller ) )
    """,
    "may_act": """
        ( it's | it is | that's | you're | you are | <you> is ) ( fine | ok | okay | free | allowed
        | all right | alright | welcome ) ( for you )? to | feel free to | i trust you to | ( <you>
        | you ) ( <may> )?
    """,
    "past_that": """
        ( and | but )? ( ( anything | everything | for anything | for everything | whatever is )? (
        above | over | beyond | past | more than ) ( that | it | this )? | ( for )? ( anything )? (
        bigger | larger | higher | more ) ( than that | ones | amounts | sums | <acts> )? | for
        anything else | for everything else )
    """,
    "then_ask": """
        ,? <past_that> ,? ( please | always | then | you must | you have to | you should | you need
            to | you )? ( ask | ask me | ask us | check with me | check in with me | consult me |
            get back to me | come to me | talk to me | run it by me | ask for <consent_too> | get
            <consent_too> | i decide | i want to be asked | i want to approve | i want to decide |
            it's my call | i approve | ( needs | need | requires | require ) <consent_too> |
            <consent_too> ( is | are )? ( needed | required ) ) ( first | it | beforehand )?
    """,
}
PHRASES: Final[Mapping[str, str]] = {
    "ask": """
        ( come back | get back | come | go back | turn | write | reach out | talk | speak | refer )
            to ( me | us ) ( first )? for <consent_too> ( on | for | about | before | with | if it
            is )? <things>? ( <beyond> ) <amt>
        ( <never_need> <consult> | ( you | it )? ( do not | don't | does not | doesn't ) need
            <consent_too> ) ( for )? <things>? ( below | under ) <amt> ( <then_ask> | ,? ( but | and
            )? ( above | over ) ( that | it | this )? ,? you do ( have to | need to | need it )? )
        ( come to | come back to | get back to | turn to | go to ) ( me | us ) ( first | beforehand
            )? ( for ( <consent_too> | a decision | the ok ) )? ( before | with | on | about | for
            )? <things>? ( that | which )? ( <beyond> ) <amt> ( <one_act> )?
        ( ( for )? <things>? ( of )? ( up to | below | under | as much as | until ) <amt> (
            <one_act> )? ( , | : )? ( <loose_hand> ) | ( <you> | you | feel free to | you're free to
            | you're allowed to )? ( <may> | are allowed to | is allowed to | are free to )? (
            decide | act | go ahead | trade | buy | spend | pay ) ( <alone> )? ( up to | as much as
            ) <amt> ( <one_act> )? ( <alone> )? ) <then_ask>
        ( for )? <things>? ( of )? ( up to | as much as ) <amt> ( <one_act> )? ,? ( <free_hand> )
        <never_need> <consult> ( for | about | on | before )? <things>? ( of | costing )? ( up to )
            <amt> ( <then_ask> )?
        ( <you> | you )? ( <may> | are allowed to | is allowed to | feel free to | you're free to |
            you're allowed to ) ( <spends> | make <acts> ( of )? | place orders ( of )? ) ( up to |
            as much as ) <amt> ( ( on anything )? without ( ever )? <consulting> ( first )? | (
            <one_act> | on anything )? without ( ever )? <consulting> ( first )? <then_ask> )
        ( <not> ( <spends> | make any <act> | make <acts> | open anything | buy anything | book
            anything | order anything ) | <not> go | nothing | no ( single )? ( <act> | <acts> ) |
            never ) ( <beyond> ) <amt> ( <one_act> | on anything | on something | for anything )? (
            ( without | before | unless with ) ( <consulting> ) ( first )? | unless ( i ( approve |
            agree | say yes | say so | ok | confirm | allow ) ( it | to it | that )? | you ( have |
            get | got ) <consent_too> | you ( ask | asked | have asked | ask me | asked me ) ( first
            )? ) )
        <askme> ( before | if | when | whenever ) ( <you> | you )? ( <wanting> )? ( open | opens |
            opening | enter | enters | entering | start | starting | execute | executing | commit to
            | close | closing | sign | signing | put in | take on | begin | touch ) ( a position |
            any position | positions | <things> )? ( <beyond> ) <amt>
        ( whatever | everything | anything ) ( is | costs | goes | that is ) ( <beyond> ) <amt> (
            <needing> <consent> ) ( first )?
        <may_act> ( <doing> | spend money | buy things | make <acts> ) ( <alone> )? without ( ever
            )? <consulting> <small_enough> <then_ask>?
        <never_need> <consult> <small_enough> <then_ask>?
        ( <you> | you )? ( <may> )? ( decide | act ) ( alone )? ( up to | as much as ) <amt> (
            <one_act> )? ( <alone> )
        ( consent | approval | approvals | permission | confirmation ) : ( <consent> ( is | are )?
            )? ( required | needed | necessary ) ( for | on | before )? <things>? ( <beyond> ) <amt>
        ( for | on | with ) <things> ( <beyond> ) <amt> ,? ( <consent> ( is | are | will be | shall
            be )? ( needed | required | necessary | mandatory ) )
        before ( <objw> ){0,5} ( <beyond> ) <amt> ( on anything | on something | on one thing |
            <per_act_too> ) ,? <please>? ( <askme> )
        ( i | we | i'd | i would | we'd ) ( want | need | wish | like | have | prefer | will )? to (
            approve | confirm | sign off on | okay | ok | authorise | authorize | clear )
            <things>? ( <beyond> ) <amt> ( myself | personally | first | beforehand )
        ( do | please do | but do | and do | ( <you> | you ) ( only ( need | needs |
            have | has ) | ( need | needs | have | has ) only ) to ) <askme> (
            <objw> ){0,7} ( <beyond> ) <amt> ( <per_act_too> )?
        ( do | please do | but do | and do ) <askme> ( if | when |
            whenever | in case | before ) ( <its> ) ( <beyond> )? <amt>
        <askme> only ( <objw> ){0,7} ( <beyond> ) <amt> ( <per_act_too> )?
        ( <you> | you | feel free to | you're free to )? ( <may> )? ( <doing> | <spends> ) (
            <alone> )? without ( ever )? <consulting> ( first )? ( up to |
            as much as ) <amt> ( <one_act> )? ( <then_ask> )?
        nothing ( may | should | must | can | shall | is to ) be ( spent | bought | paid | ordered |
            done | booked | traded ) ( above | over | beyond ) <amt> ( without | before ) (
            <consulting> ) ( first )?
    """,
    "ask_never": """
        ( please )? ( do not | don't | never ) bother ( me | us ) ( with ( questions | requests |
            any questions | approvals | approval requests | requests for approval ) | for
            <consent_too> | about approvals ) <at_all>
        ( please )? ( do not | don't | never | no need to | there's no need to | you needn't | you
            don't need to | you don't have to ) ( ever )? ( bother | disturb | trouble | pester |
            interrupt | burden | annoy | bug ) ( me | us ) ( with | for | about | over | by asking
            for ) ( any | your | more | further )? ( questions | approvals | approval requests |
            requests for approval | requests | confirmations | permission | approval | permission
            requests | asking | anything ) <at_all>
        ( i | we ) ( do not | don't ) ( want | wish | need | like ) ( to ( hear | get | see | answer
            | be bothered with | be asked ) )? any ( questions | approval requests | requests for
            approval | requests | confirmations ) <at_all>
        ( no | zero ) ( questions | approval requests | confirmations ) ( to me | from you | for me
            )? ( please | at all | whatsoever | needed | necessary ){0,2}
        ( <never_need> ) ( <consult> ) <at_all>
        ( please )? ( do not | don't | never ) bother ( asking | asking me | checking | checking
            with me | me for <consent_too> | me with approvals | me about approvals | asking for
            <consent_too> ) <at_all>
        ( there is | there's | there will be )? no need for <consent_too> <at_all>
        <consent_too> ( ( is | are | will be ) ( never | not | not ever ) | isn't | aren't | won't
            be | will never be ) ( needed | required | necessary ) <at_all>
        ( no | zero ) <consent_too> ( is | are | will be )? ( ever | at all )? ( needed | required |
            necessary | asked for ) <at_all>
        ( you | the agent | it | the bot )? ( ( never | do not | don't | does not | doesn't | won't
            | will never ) ( ever )? ( need | needs | require | requires ) <consent_too> | ( need |
            needs | require | requires ) no <consent_too> ) <at_all>
        ( feel free to | you're free to | <you> ( is | are ) ( free | allowed ) to | you ( are ) (
            free | allowed ) to | ( <you> | you ) ( <may> | should )? | just | simply | please | i
            want you to | i'd like you to | you're allowed to )? ( always | just )? ( <doing> ) (
            <alone> )? ( without ) ( ever | any )? ( <consulting> ) <at_all>
        ( i | we ) ( do not | don't | never ) ( ever )? ( want | wish | like ) to be ( asked |
            consulted ) <at_all>
        ( i | we ) ( do not | don't | never ) ( ever )? ( want | need | wish | have | like ) to (
            approve ( anything | <acts> | any <act> | a thing ) | sign off on ( anything | any <act>
            ) | confirm ( anything | any <act> ) ) <at_all>
        ( <you> | you ) ( <may> | should )? ( act | trade | operate ) ( alone | by yourself | by
            itself )
        ( <you> | you ) ( have | has | 've ) ( my | full )? ( permission | approval | consent |
            authority ) to ( <doing> ) without ( ever )? <consulting> <at_all>
        i trust <you> to ( <doing> ) ( <alone> )? ( without ) ( ever | any )? ( <consulting> )
            <at_all>
        ( i | we ) ( do not | don't | never ) ( ever )? ( want | wish ) to have to ( approve |
            confirm | sign off on ) ( anything | <acts> | any <act> | a thing ) <at_all>
        ( approval | approvals | consent | asking | permission | confirmation | confirmations |
            sign off ) : ( never | not ( needed | required | necessary ) | none ( needed | required
            | necessary ) )
        no ( asking | checking in | sign offs | check ins ) ( is | are )? ( needed | required |
            necessary )
    """,
}
