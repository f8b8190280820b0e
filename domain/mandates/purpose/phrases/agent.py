"""The agent's fee, and when the agent asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "fee": """
        ( you'll receive | you'll get | you'll keep | you'll earn | you will earn | you will keep |
            <you> will earn | <you> will keep | <you> will take ) ( a fee of | a share of )? PCT
            <gain> ( as ( your | a | its | the )? ( fee | reward | performance fee | agent fee ) )?
        profit split : PCT ( to | for ) ( the agent | you | it )
        ( <you> ( get | gets | keep | keeps | take | takes | earn | earns | receive | receives |
            can keep | may keep | may take | can take | will get | will receive | is paid | are
            paid | shall get | gets to keep | get to keep | can have ) ( a fee of | a share of | a
            cut of | up to )? )? PCT <gain> ( as ( your | a | its | the )? ( fee | reward | pay |
            payment | commission | cut | performance fee | agent fee | share ) | for your work | as
            compensation | for your trouble | if there is any )?
        ( keep | take | earn | get ) ( a fee of )? PCT <gain> ( as ( your | a | its | the )? ( fee
            | reward | pay | payment | commission | cut | performance fee | share ) | for yourself
            )?
        ( keep | take ) PCT as ( your | a | its | the ) ( fee | performance fee | commission |
            reward )
        ( i pay | i will pay | i'll pay | pay | give | i give | we pay | paying | i am paying | i'm
            paying | i will give | i'll give | i offer | offering | we offer ) ( <you> | the agent
            | yourself | an agent )? ( a fee of | a fee : | a share of | a cut of )? PCT <gain>
        ( i pay | i will pay | i'll pay | pay | we pay | i offer | i am offering | i'm offering ) (
            <you> | the agent | yourself )? ( a )? PCT ( performance | success | agent | profit )?
            ( fee | commission | cut ) ( <gain> )?
        ( a | the | your | its | agent | the agent's | agent's | my | with a | for a | agent's )? (
            agent | performance | success | profit )? <fee_noun> ( <is> | of | : | at )? ( PCT |
            BPS ) ( <gain> )?
        ( a | with a | for a | your | the )? PCT ( performance | success | agent | profit | gain |
            incentive )? ( fee | commission | cut | share ) ( for you | for the agent | to the
            agent | to you )? ( on | of | from | over )? ( <gain> )?
        PCT <gain> ( goes | go | is | are | belong | belongs | will go ) ( to )? ( you | the agent
            | yours | the agent's | your fee | the agent's fee | the fee )
        PCT profit share ( for you | for the agent )?
        ( fee | fees | agent fee ) ( : | is | = )? PCT ( of | on )? ( profit | profits | gain |
            gains )
        ( give | pay ) ( yourself | the agent ) ( a fee of )? PCT <gain> ( as ( your | a | its |
            the )? ( fee | reward | commission | performance fee ) )?
        PCT ( going | goes ) to ( the agent | you ) ( as ( a | the | your | its )? ( profit share |
            performance fee | share of profit ) )
        ( keep | set | leave | make ) the fee ( at | to ) PCT ( <gain> )?
        ( i'd | i would | i will | i'll ) pay ( you )? PCT <gain> ( to ( the agent | you ) )?
        charge ( me )? PCT <gain>
        ( i will | i'll | we | we'll | i ) pay PCT <gain> to ( the agent | you )
        PCT <gain> ( for you | for the agent | to you | to the agent | for the bot | as your fee |
            as fee | as the agent fee | as your cut | as your share | as your reward | as agent fee
            | as a fee | as commission | is yours | are yours | is your fee | is your cut | is your
            share | is your reward | goes to you | will go to you | will be yours | is yours to keep
            )
        ( your | the | agent | agent's | the agent's | my agent's | the bot's ) ( fee | cut | share
            | commission | reward | pay | compensation | payment | performance fee | success fee |
            incentive ) ( is | : | = | will be | should be | shall be | would be | equals | is going
            to be | is set at | is fixed at | - ) PCT ( <gain> )?
        ( <you> | you | the agent ) ( can | may | will | get to | gets to | are allowed to | is
            allowed to | are entitled to | is entitled to | should ) ( keep | take | have | receive
            | earn | charge | get )? PCT <gain> ( for itself | for yourself | as ( a | your | its |
            the )? ( fee | reward | cut | commission | pay | share ) )?
        ( in return | for your work | for this | as a reward | as payment | as your reward | as your
            fee | in exchange | as compensation | as a fee | for your trouble | for its work ) ,? (
            you | the agent | it ) ( get | gets | keep | keeps | receive | receives | earn | earns |
            take | takes | will get | may keep | can keep ) PCT <gain>
        ( <you> )? ( get | gets | receive | receives | earn | earns | take | takes | charge |
            charges | is paid | are paid | have | has | can take | may take | may charge | can
            charge | will get | will receive ) ( a | an )? PCT ( performance | success | agent |
            profit | incentive )? ( fee | commission | cut | share | profit share | bonus ) ( <gain>
            )?
        ( i | we | i'll | i will | we'll | we will )? ( pay | give | offer | grant )? ( <you> | the
            agent | to the agent | to you )? ( a | an )? PCT <gain> ( as | for ) ( the | a | your |
            its | an )? ( fee | agent fee | reward | commission | performance fee | share | bonus |
            compensation | payment )
        ( as | for ) ( a | the | your | its | an )? ( fee | reward | commission | payment |
            compensation | pay | share | agent fee | success fee | incentive ) ,? ( <you> )? ( get |
            gets | keep | keeps | take | takes | receive | receives | may keep | can keep | i pay |
            i'll pay | i offer | i give | have )? ( you )? PCT <gain>
        PCT ( is | as ) ( the | my | your | a )? ( agent | performance | success )? ( fee |
            commission | profit share )
    """,
    "no_fee": """
        ( there is | there's | with | you get | the agent gets | i pay | we pay | pay )? ( no |
            zero ) ( agent | performance | success | agent's )? ( fee | fees | commission |
            commissions | profit share ) ( for you | for the agent | to the agent | please | at all
            )?
        ( fee | fees | commission | agent fee | performance fee ) ( is | : | = | are )? ( none |
            zero | nothing | nil )
        ( i | we ) ( won't | will not | do not | don't ) pay ( a | any | you a | you any | the
            agent a | the agent any )? ( fee | fees | commission )
        ( you | the agent | it ) ( work | works | does this | do this | does it | do it ) ( for
            free | free of charge | without pay | without a fee )
        ( free of charge | for free )
        without ( a | any | an )? ( agent | performance )? ( fee | fees | commission )
        ( you | the agent ) ( get | gets | take | takes | charge | charges | earn | earns | receive
            | receives ) no ( fee | fees | share | commission | cut )
        ( you | the agent | it | you'll | you will | the agent will | it will ) ( get | gets |
            take | takes | charge | charges | earn | earns | receive | receives ) no ( agent |
            performance )? ( fee | fees | share | commission | cut )
    """,
    "ask": """
        ( <ask> | always <ask> | please <ask> ) ( <objw> ){0,7} <over> <amt> ( <per_act> | each |
            in size | in value | total | in one trade )?
        ( <ask> ) ( <objw> ){0,5} ( that )? ( exceeds | exceed | costs over | is over | goes over |
            going over | that exceed ) <amt> ( <per_act> | each )?
        ( <over> ) <amt> ,? ( : | - | always | you must | you have to | please | you need to |
            first | i want you to | the agent must | the agent has to )? ( <ask> )
        ( for | on | with )? <thing> ( <over> ) <amt> ,? ( : | - | always | you must | you have to
            | please | you need to | first | i want you to | the agent must | the agent has to | it
            must | it has to )? ( <ask> )
        ( for | on | with )? <thing> ( <over> | exceeding | exceeds ) <amt> ( in size | in value )?
            ( <needs> ) <approval> ( first )?
        ( anything | everything | any <act> | every <act> | all <act> ) ( that | which )? ( costs |
            cost | is | exceeds | goes | are ) <over>? <amt> ( <needs> | must have ) <approval> (
            first )?
        ( above | over | beyond ) <amt> ( needs | need | requires | only with ) <approval>
        ( for | on | with )? <thing> ( <over> ) <amt> ( must | has to | have to | should | needs to
            | need to | shall | is to | are to | can only ) ( first )? ( be )? ( approved |
            confirmed | be approved | go through me | be confirmed | run by me | signed off | be
            run by me | come to me | happen if i approve | happen with <approval> ) ( by me | by
            the owner | first | by me first )?
        <thing> ( <over> ) <amt> only with <approval>
        ( if | when | whenever | should ) ( <objw> | spend | trading | is | exceeds | exceed |
            payment ){1,6} ( <over> )? <amt> ,? ( then )? ( please | always | you must | first )? (
            <ask> )
        ( i | we ) ( want | need | would like | wish | 'd like | have | like ) to ( approve |
            confirm | ok | okay | sign off on | sign off | be asked about | be asked before | be
            asked for | see and approve | review | be asked ) ( <objw> | spend ){0,5} ( <over> )
            <amt>
        ( i | we ) ( must | will | shall | should ) ( approve | confirm | ok | okay | sign off on |
            be asked about | be asked before ) ( <objw> ){0,5} ( <over> ) <amt>
        ( i'd | i would ) like to ( approve | confirm | ok | sign off on | be asked about | be
            asked before ) ( <objw> ){0,5} ( <over> ) <amt>
        let me ( approve | confirm | ok | sign off on | decide on | decide about ) ( <objw> ){0,5}
            ( <over> ) <amt>
        ( my | an | our | owner | manual | explicit )? ( approval | confirmation | permission |
            sign off ) ( is )? ( needed | required | necessary | threshold | amount | limit | line
            | level )? ( for | on | <objw> ){0,4} ( <over> | threshold | : | from above | limit : |
            threshold : | threshold is | threshold of | amount : ) <amt>
        ( approval | approvals | asking | ask ) ( threshold | amount | limit | line | level ) <is>?
            <amt>
        ( set | the | a | my )? ( approval | asking ) ( threshold | amount | limit | line ) <is>?
            <amt>
        ( require | requires | needs | need ) ( my | an | explicit )? ( approval | confirmation |
            permission | sign off ) ( <objw> ){0,5} ( <over> ) <amt>
        ( nothing | no <act> | no single <act> | no payment | no purchase | no trades ) ( <over> |
            costing more than | of more than | worth more than ) <amt> ( goes through | happens |
            may happen | is allowed | goes out | should happen | leaves )? ( without | unless with
            | before ) ( asking me | asking | <approval> | my approving it | checking with me |
            asking me first ) ( first )?
        ( never | do not | don't | must not | you must not | you may not | may not ) ( <spendv> |
            make | place | do | go | pay | buy | book | order | purchase | sign | execute | commit
            to | accept | take | send | enter | open | transfer | approve | swap ) ( anything |
            <act> | a <act> | any <act> | amounts | a single <act> | sums | a payment | trades )? (
            <over> | worth more than | of more than | costing more than | for more than | larger
            than ) <amt> ( without | before ) ( asking me | asking | <approval> | checking with me
            | asking me first ) ( first )?
        ( <you> <may> | you | feel free to ) ( <spendv> | act | go | trade | make purchases |
            decide ) ( freely | alone )? ( up to ) <amt> without ( asking | asking me | <approval>
            | checking with me | asking first )
        ( up to ) <amt> ( you can | you may | you needn't | you don't need to | you do not need to
            | no need to | the agent may | the agent can ) ( act alone | ask | act on your own |
            decide alone | decide yourself | act without asking | go ahead without asking | decide
            on your own | go ahead )
        ( no approval | no approvals | no need for approval | approval is not needed | no approval
            needed | no approval is needed ) up to <amt>
        ask <is>? ( above | over ) ( : | = )? <amt>
        ( ask | approval ) above ( : | = | is ) <amt>
        ( anything | everything | any <act> | amounts | payments | trades | purchases ) up to <amt>
            ( you | the agent | it ) ( may | can ) ( do | make | decide | pay | buy | spend |
            handle ) ( alone | without asking | without asking me | on your own | yourself | freely
            | by yourself )
        ( <ask> ) about ( anything | everything | <act> | any <act> ) ( <over> ) <amt>
        approval ( limit | amount | threshold ) ( : | is | of )? <amt>
        ( set )? ( the | an | my )? approval ( at | to | above | from above ) <amt>
        ( approve | approval ) ( required | needed | necessary ) ( above | over | for anything
            above | for anything over ) <amt>
        <thing> ( <over> ) <amt> ( needs | requires ) a ( yes | go | go ahead | nod ) from me (
            first )?
        ( if | when ) ( you | it | the agent ) ( want | wants | plan | plans | need | needs ) to (
            spend | pay | trade | use ) ( <over> ) <amt> ,? ( then )? ( please )? <ask>
        <ask> ( if | when ) ( you | it | the agent ) ( want | wants | plan | plans | need | needs )
            to ( spend | pay | trade | use ) ( <over> ) <amt>
        <ask> before ( you | it | the agent ) ( spend | spends | pay | pays | trade | trades | use
            | uses ) ( <over> ) <amt> ( at once | in one go | at a time | on anything )?
        ( approvals | approval | permission ) ( above | over ) <amt>
        ( if | when | whenever ) ( <you> | something | anything | it | a <act> | an <act> | any
            <act> | one <act> | the <act> | the amount ) ( want | wants | plan | plans |
            need | needs | wish | wishes | would like | 'd like | intend | intends | have | has )? (
            to )? ( spend | spends | pay | trade | use | go | buy | be | is | costs | cost | would
            cost | goes | comes to | exceeds | needs | would be ) ( anything | something )? ( <over>
            | beyond )? <amt> ( <per_act> | on anything | for something | on something | on one
            thing )? ,? ( then )? ( please | always | you must | first | just )? ( <ask> )
        ( i'll | i will | i ) ( approve | sign off on | ok ) ( anything | everything | any <act> |
            every <act> | all <acts> | <acts> | any <acts> ) ( <over> ) <amt> ( myself | personally
            | by hand | manually )
        ( approval | approvals | asking | permission | sign off | confirmation | my approval | owner
            approval | manual approval ) ( required | needed | necessary )? ( : | - | is | is
            required | is needed | only | starts | threshold )? ( for )? ( anything | everything |
            any <act> | <acts> | amounts )? ( <over> ) <amt>
        ( <acts> | anything | everything | any <acts> | all <acts> | any <act> | every <act> | each
            <act> | spending | any amount | amounts | any spending | any payment | any expense |
            expenses ) ( <over> ) <amt> ( <needs> | have to have | has to have | must have | should
            have | should get | has to get | wants | calls for | call for ) ( <approval> ) ( first |
            please | from me | from me first | beforehand | before you do it | in advance )?
        ( <acts> | anything | everything | any <acts> | all <acts> | any <act> | every <act> | each
            <act> | any amount | amounts | any spending | any expense | expenses ) ( <over> ) <amt>
            ( must | has to | have to | should | needs to | need to | shall | is to | are to | will
            have to ) ( first )? ( be approved | be confirmed | be okayed | be signed off | be
            cleared | be authorised | be authorized | be checked with me | be run past me | come to
            me | come past me | go past me | go through me | wait for me | be put to me | be green
            lit ) ( by me | with me | by the owner )? ( first | beforehand | in advance )?
        ( <acts> | anything | everything | any <acts> | all <acts> | any <act> | every <act> |
            amounts ) ( <over> ) <amt> ( only )? ( with | after | once i give | if i give | when you
            have | subject to ) <approval> ( first )?
        ( <ask> ) ( before | prior to | for | about | when | if | on ) ( <acts> | any <acts> | all
            <acts> | any <act> | every <act> | each <act> | a <act> | making any <act> | making a
            <act> | placing any <act> | placing a <act> | placing <acts> | making <acts> ) ( ( of |
            for | worth | costing | that cost | that costs | that are | that is | which are | larger
            | bigger ) )? ( <over> ) <amt>
        ( <ask> ) ( before | prior to | when | if | whenever ) ( spending | paying | using | you
            spend | you pay | you use | you go | going | committing | you commit | it spends | it
            pays | something costs | anything costs | it costs | you're spending | you are spending
            | you want to spend | you'd spend | you would spend ) ( anything | something | amounts |
            sums )? ( <over> ) <amt> ( <per_act> | on anything | on something | for anything | for
            one thing | on any one thing )?
        ( i | we ) ( want | need | would like | 'd like | wish | insist on | must | have ) ( to )? (
            be asked | be consulted | be contacted | be called | give the ok | give my ok | say yes
            | see | decide | have a say | give approval | give my approval | green light | be asked
            for approval | have the final say ) ( about | before | for | on | to | first for )? (
            anything | everything | any <act> | every <act> | <acts> | any <acts> | all <acts> | you
            spend | you pay | spending | any spending | anything that costs | anything costing )? (
            <over> ) <amt>
        ( you | the agent | it | the bot ) ( needs | need | requires | require | must have | must
            get | has to get | have to get | must seek | has to ask for | have to ask for | must ask
            for | should get | should ask for | needs to get | need to get ) <approval> ( for |
            before | on | above | to spend | to pay | to go | if it is | when )? ( anything |
            everything | any <act> | every <act> | <acts> | any <acts> | all <acts> | amounts |
            spending )? ( <over> ) <amt>
        ( if | when | whenever | should | in case ) ( <you> | something | anything | it | a <act> |
            an <act> | any <act> | one <act> | the <act> | the amount | a single <act> | any single
            <act> | an item | one item | spending | you'd | you would | you're | you are ) ( want |
            wants | plan | plans | need | needs | wish | wishes | would like | like | intend |
            intends | have | has | going | about )? ( to )? ( spend | spends | pay | trade | use |
            go | buy | be | is | costs | cost | would cost | goes | comes to | exceeds | exceed |
            needs | would be | would exceed | gets | requires | spending | paying ) ( anything |
            something )? ( <over> | beyond | larger than | bigger than | above )? <amt> ( <per_act>
            | on anything | for something | on something | on one thing | at once | in one go )? ,?
            ( then )? ( please | always | you must | first | just )? ( <askend> )
        ( for | with )? ( <acts> | anything | everything | any <acts> | all <acts> | any <act> |
            every <act> | each <act> | a <act> | spending | amounts | any amount | items | something
            ) ( <over> ) <amt> ,? ( then )? ( please | always | you must | first | just | i )? (
            <askend> )
        ( for | with )? ( anything | everything | <acts> | any <act> | all <acts> | amounts | any
            <acts> | any amount | spending | each <act> | every <act> ) ( of )? up to <amt> ( is |
            are | you're | you are )? ( fine | ok | okay | allowed | your call | good | pre approved
            | approved | free | goes )? ( without asking | without asking me | without <approval> |
            without my say so | without checking with me | without asking first )
        ( anything | everything | <acts> | any <act> | all <acts> | amounts | any <acts> ) ( of )?
            up to <amt> ( do not | don't | doesn't | does not ) ( need | require ) ( <approval> |
            approving | to be approved | asking )
        ( anything | everything | <acts> | any <act> | all <acts> | amounts | any <acts> ) ( of )?
            up to <amt> ( need | needs | require | requires ) no ( approval | permission | sign off
            | confirmation )
        <ask> ( if | when | before | whenever ) ( a | an | any | one | some ) ( <act> | source |
            provider | vendor | seller | api | feed | set | piece | single <act> | thing | expense |
            cost ) ( costs | would cost | is going to cost | cost | will cost | exceeds | would
            exceed | goes over | is over | is above | is more than | would be | is bigger than | is
            larger than | comes to ) ( <over> )? <amt>
        ( i | we ) need ( a call | a message | a ping | a text | an email | a note | a request )
            from ( you | the agent | it ) ( before | for | if | when ) ( you spend | you pay | it
            spends | spending | paying | anything | any <act> | <acts> ) ( <over> ) <amt> (
            <per_act> )?
        ( i'd | i would ) ( rather | prefer | prefer that | rather that | prefer if | like that ) (
            you | it | the agent ) ( ask | asks | asked | check with | checked with | checks with |
            consult | consulted ) ( me )? ( first )? ( before | about | for | when | if | on )? (
            spending | paying | you spend | you pay | you spent | anything | any <act> | <acts> |
            any <acts> | every <act> | buying anything | making any <act> | you trade | trading |
            making <acts> | it spends )? ( <over> ) <amt>
        ( no | not ) ( <acts> | spending | single <act> | <act> ) ( <over> ) <amt> ( without |
            unless i give | before i give | unless you have | until i give ) ( <approval> | asking |
            asking me | asking me first | checking with me )
        ( if | when | whenever ) <you> ( need | needs | want | wants ) ( more than | over ) <amt> (
            at once | in one go | at a time | for something | for one thing | <per_act> ) ,? ( then
            )? <askend>
        ( do not | don't | no need to | you don't have to | you don't need to | never | you needn't
            ) ( ask | bother | ask me | bother me | check with me ) ( for approval | for permission
            | about it | first )? unless ( it's | it is | that's | a <act> is | an item is | the
            amount is | you spend | you want to spend | something costs | it costs | the cost is | a
            <act> costs | you go | you're spending | an item costs ) ( <over> ) <amt>
    """,
    "ask_from": """
        ( <ask> | always <ask> ) ( <objw> ){0,6} <amt> ( or | and ) ( more | above | up | over |
            higher | larger | upwards )
        ( <ask> | always <ask> ) ( <objw> ){0,6} from <amt> ( up | upwards | on | onwards | and up
            | and above | on up )
        ( <ask> | always <ask> ) ( <objw> ){0,6} ( of | at ) ( least ) <amt>
        <thing> of <amt> ( or | and ) ( more | above | up | over ) ( <needs> ) <approval>
    """,
    "ask_never": """
        ( never | no need to | you need not | you needn't | you do not need to | you don't need to
            | you do not have to | you don't have to ) ask ( me | us )? ( first | for approval |
            for permission | for anything | about anything )?
        ( do not | don't ) ( bother )? ( ask | asking ) ( me | us )? ( for approval | for
            permission | for anything | about anything )?
        ( no | without ) ( approval | approvals | confirmation | confirmations | permission ) ( is
            | are )? ( needed | required | necessary )?
        ( act | trade | decide | work | operate | spend ) ( <for_what> )? ( without asking |
            without asking me | on your own | autonomously | fully autonomously | without approval
            | without my approval )
        ( you | the agent | the bot | it ) ( can | may | is allowed to | are allowed to | should )
            ( act | trade | decide | work | operate | spend ) ( freely | fully )? ( without asking
            | without asking me | on your own | on its own | autonomously | without my approval |
            without approval )
        without asking ( me )? ( first | for approval | anything )?
        ( fully autonomous | full autonomy | you have full autonomy | the agent is fully autonomous
            | the agent acts on its own | you are fully autonomous | it acts on its own | the agent
            may act alone | run autonomously | run fully autonomously )
        ( let it | let the agent | let the bot | it can | it may | the agent can | the agent may |
            you can | you may ) ( trade | act | decide | work | operate | run ) on ( its | your )
            own
        ( no | zero ) ( approvals | approval | sign off | confirmation | permission | check ins ) (
            needed | required | necessary ) ( from me | at all | please )?
        ( you | the agent | it ) ( do not | don't | doesn't | does not | needn't | need not | never
            ) ( need | have to | needs | has to | need to | needs to )? ( ask | ask me | my approval
            | my permission | approval | permission | ask for approval | ask for permission | check
            with me | an approval | my ok | my okay ) ( for anything | at all | about anything |
            ever )
        ( everything | all of it | all <acts> | all trades ) ( is | are | can be | may be | goes ) (
            pre approved | done without asking | done without approval | done without my approval |
            made without asking | made without approval )
        ( there is | there's | there will be ) no need to ( ask | ask me | ask first | check with
            me | get my approval | consult me | wait for me )
    """,
    "ask_always": """
        ( please )? ( always )? ( <ask> ) ( every time | each time | always | for everything |
            about everything | for anything | about anything )
        ( please )? always ( <ask> ) ( before ( you )? ( act | anything | acting | doing anything |
            you act | trading | spending | you trade | you spend | you do anything | any <act> |
            each <act> | every <act> | a <act> | making a <act> | buying | spending anything ) )?
        ( please )? ( <ask> ) before ( you )? ( every | each | any | all | making any | making each
            | making a | a | placing any | doing any | executing any | you make a | you make any )?
            ( single )? ( <act> | anything | acting | you act | doing anything | spending | trading
            | spending anything | you spend | you trade | you do anything | buying | buying
            anything | you buy | you spend anything | you buy anything | you act )
        ( <not> ) ( act | spend | trade | buy | do | move | pay | go ahead | proceed | make |
            invest | execute | use ) ( anything | money | <act> | any <act> | a <act> | my money |
            any money | a single <act> | the money | a cent | a dime )? ( without | before | unless
            ) ( asking me | asking | <approval> | checking with me | i approve | i say so | you ask
            me | asking me first | you asked me | i agree | i confirm | i ok it | i approve it |
            you have <approval> ) ( first | before )?
        ( i | we ) ( want | need | would like | 'd like | have | must | will | wish ) ( to )? (
            approve | confirm | sign off on | ok | be asked about | be asked before | review ) (
            everything | every <act> | each <act> | all <act> | any <act> | every single <act> |
            anything | all of it | each and every <act> )
        ( approve | i approve ) ( everything | every <act> | each <act> | all <act> ) ( myself )?
        ( every | each | all | any | every single ) ( <act> )? ( needs | need | requires | require
            | must have | has to have ) <approval> ( first )?
        ( everything | anything ) ( needs | requires | must have | has to have ) <approval> ( first
            )?
        ( every | each | all | any ) <act> ( must | has to | have to | should | needs to ) be (
            approved | confirmed ) ( by me )? ( first )?
        ( nothing | no <act> | no single <act> ) ( without | before ) ( <approval> | asking me |
            asking | my saying so )
        i ( want to | must ) be asked ( every time | always | first | each time | about everything
            | before everything )
    """,
}
