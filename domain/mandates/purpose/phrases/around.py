"""What stands around the terms: other things with figures (`other`), talk without a term,
words that lead on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "other": """
        <o_det>? <o_thing> W{0,3} ( <o_verb> ) ( about | around | roughly | some | a | an | near |
            at | at about | approximately | up to | as much as | between | nearly | almost ){0,2} (
            MONEY | NUM | PCT | BPS | SPAN | DATE ) ( <o_tail> ){0,5}
        ( there is | there's | expect | note that there is | mind | be aware of | be aware that
            there is | note ) ( a | an | about | around | some )? ( MONEY | PCT | BPS ) ( <o_thing>
            | fee ) ( at the venue | on the exchange | there | on top | per <act> | on each <act> |
            on every <act> | for each <act> | by the venue )?
        <o_det>? <o_coin> ( is | trades | trades at | is trading | costs | stands | is at | was at
            | sits at | was | is trading near | trades near | trades around | trades for | is worth
            | closed at | is priced at | is around | is near | went | rose | fell | dropped ) (
            about | around | at | near | roughly | for | at about | at around | by | up | down
            ){0,2} ( MONEY | PCT ) ( <o_tail> ){0,4}
        the price of <o_coin> ( is | was | stands at | is at | is about | is around ) ( about |
            around | at | near | roughly )? MONEY ( <o_tail> ){0,4}
        ( my | her | his | their | our ) ( <o_person> | <o_owned> ) W{0,3} ( is | was | costs |
            costs me | pays | earns | has | had | gets | got | lost | made | spent | spends | turns
            | lives | is about | comes to | makes | owes | owes me | bought | sold | runs ) ( about
            | around | on | at | over | roughly | some | a | for | up | nearly ){0,2} ( MONEY | NUM
            | PCT | SPAN | DATE ) ( <o_tail> | W ){0,5}
        ( my | her | his | their | our ) ( <o_person> | <o_owned> ) W{0,3} ( is | was ) on DATE
        i ( am | 'm ) ( NUM | SPAN ) ( years )? old
        ( today is | it is | it's | today's date is | the date is ) ( the )? DATE
        i ( earn | make | owe | get paid | pay ) ( about | around | roughly )? MONEY ( <o_tail> |
            in rent | in taxes | at work | at my job | for rent ){0,4}
        ( last | this | the last | the past ) ( year | month | week | time ) ( it | i | we |
            <o_coin> | the market | the bot | my bot | another bot | he | she | they | an agent |
            another agent | my friend ) ( lost | made | earned | spent | gained | was | paid | fell
            | rose | dropped ) ( about | around | up | down | by | over )? ( MONEY | PCT | NUM ) (
            <o_tail> | W ){0,4}
    """,
    "talk": """
        keep me ( posted | updated | informed | in the loop ) ( W ){0,3} ( <per_day> | every week |
            weekly | every few days )?
        ( let me know | tell me | write me ) ( when you are done | when it is done | when you're
            done | how it goes | how it went | what you did | what you bought | what you find |
            when it's done | when you finish )
        ( the gas is on me | gas is on me | i pay the gas | i pay for gas | i will pay the gas |
            i'll pay for gas )
        ( do not | don't | never ) ( buy | do | touch | use ) anything ( illegal | shady | dodgy |
            weird | fishy | adult )
        keep ( it | things ) ( safe | simple | boring | quiet | short | calm )
        keep ( a | an ) ( eye | log | record | diary | journal ) ( on | of )? ( W ){0,5}
        keep ( good | clean | clear | careful | tidy )? ( records | notes | logs ) ( of )? ( W
            ){0,5}
        ( send me | write me | give me | send | i want | post ) ( a | an )? ( short | brief | quick
            )? ( report | summary | update | note | overview ) ( <per_day> | every week | each week
            | weekly | once a day | once a week | every month | monthly | every evening | every
            morning | at the end | each evening | each morning )?
        report ( back )? ( to me )? ( <per_day> | every week | each week | weekly | once a day |
            once a week | every evening | every morning )?
        ( no questions asked | no rush | no hurry | no problem | no pressure | no surprises please
            | no surprises | not a big deal | do not panic | don't panic | never mind the noise |
            do not rush | don't rush )
        ( do not | don't | never ) ( do anything | be ) ( stupid | silly | risky | reckless | crazy
            | greedy | foolish | illegal )
        ( be | stay | please be ) ( careful | safe | patient | cautious | smart | conservative |
            nice ) ( with ( my | the | our ) money )? ( please )?
        be careful ( about | with ) ( losses | risk | risks | fees )
        ( low | minimal | little ) risk ( only | please )?
        ( do not | don't ) ( chase | gamble | overtrade )
        ( otherwise | for the rest | for everything else | apart from that | beyond that | other
            than that ) ,? ( you | the agent | it )? ( just | simply )? ( go ahead | act freely |
            you're free | you are free | do as you like | do as you see fit | carry on | do your
            thing | use your judgement | use your judgment | use your best judgement | use your best
            judgment | use your own judgement | it's up to you | its up to you | it is up to you |
            your call | be my guest )
        ( use | trust ) your ( own | best )? ( judgement | judgment | instincts | head | brain )
        ( keep | take | run | have ) ( the | a | any )? ( risk | risks | costs | gas | fees | gas
            costs | risk level | volatility ) ( low | small | minimal | down | to a minimum | as low
            as possible | very low | reasonable | moderate )
        ( avoid | stay away from | no | skip ) ( big | large | huge | unnecessary | crazy | needless
            | silly | risky | shady | high | too much )? ( risks | risk | gambles | bets | memecoins
            | meme coins | leverage | shitcoins | scams | stuff | coins | things | moves | trades |
            tokens )
        ( do not | don't | never ) ( take | do | make | run | touch ) ( any | big | large | huge |
            unnecessary | crazy | needless | silly | too much | too many | high | too big a )? (
            risks | risk | gambles | bets | memecoins | meme coins | leverage | shitcoins | scams |
            risky stuff | crazy stuff | stupid bets | stupid stuff | stupid things | silly things |
            wild bets )
        ( capital preservation | safety | preservation | safety first | protecting my capital |
            protecting capital | low risk | slow and steady ) ( is | comes | matters ) ( key | first
            | the priority | my priority | important | most important | what matters | everything )
        ( low | medium | moderate | high | minimal | very low ) risk ( appetite | profile |
            tolerance | strategy | approach | please | is fine | is ok | only )?
        ( be | stay | remain | play it ) ( safe | careful | cautious | prudent | frugal | thrifty |
            sensible | disciplined | reasonable | moderate | conservative )
        ( nothing | no ) ( fancy | crazy | risky | exotic | wild | silly )
        ( slow and steady | safety first | better safe than sorry | good luck | have fun | let's go
            | off you go | get to work | go for it | surprise me | happy hunting | happy trading |
            do your best | make me proud | make it count | that's all | that is all | that's
            everything | nothing else | details below | see below | as follows | thanks in advance |
            many thanks | cheers | thx | ty | best regards | kind regards | regards )
        ( with | and )? ( my | our | the )? ( very )? ( best | good | kind | kindest | warm |
            warmest | all good | sincere | many )? ( wishes | regards | greetings | thanks ) ( from
            W{1,5} | to you ( all )? | to all | and ( many )? ( thanks | thank you | best wishes ) |
            again | in advance | for everything )?
        all the ( best | very best ) ( from W{1,5} | to you | and thanks | for now )?
        ( yours ( sincerely | faithfully | truly | ever ) | sincerely ( yours )? | faithfully )
        ( many thanks | thanks | thank you | thx | ty | cheers | much appreciated | tysm | merci ) (
            so much | very much | a lot | lots | a million | a bunch | a ton | again | in advance |
            ever so much | kindly | for ( your | the | all your | all the ) W{1,3} | for W{1,4} | to
            you | everyone | mate | buddy | friend | bro | agent ){0,2}
        ( very )? ( much | greatly | really ) appreciated
        ( i )? ( really )? appreciate ( it | your help | the help | your work | this | that )
        ( i )? ( wish | wishing | wishes ) ( me | us | you | you all | everyone ) ( the best of |
            all the | good | lots of | much )? ( luck | well | the best | all the best | success )
        best of luck ( to you | to us )?
        have a ( very )? ( nice | good | great | lovely | wonderful | pleasant | fine ) ( day | week
            | weekend | one | evening | time | month | year | trip ) ( ahead )?
        ( i )? ( can't | cannot ) wait ( to ( see | hear ) ( W | how | what ){1,5} )?
        ( bye | goodbye | good bye | see you | talk soon | speak soon | later ) ( for now | then |
            soon | later | agent | in W{1,3} )?
        ( if | should ) ( you have | there are | you've got | there's | there is ) ( any | some | a
            )? ( questions | question | doubts | problems | trouble | issues ) ,? ( please | just )?
            ( ask | ask me | let me know | tell me | shout | get in touch | write to me | write |
            ask away )
        if ( anything | something ) is ( unclear | not clear | missing | confusing ) ,? ( please |
            just )? ( ask | ask me | let me know | tell me | get in touch )
        ( any | for any | with any ) ( other )? ( questions | doubts | problems ) ,? ( please | just
            )? ( ask | ask me | let me know | tell me | get in touch )
        ( please )? ( let me know | tell me | ask | ask me ) ( if | when | should ) ( ( you have |
            there are | you've got ) ( any )? ( questions | doubts | problems | issues ) | (
            anything | something ) is ( unclear | not clear | missing ) | you need anything
            else )
        ( that's | that is | that will be | that'd be ) all ( from me | from us | i need | for now |
            for today | there is to it | you need to know | i have to say | folks | really | then )
        ( please )? ( don't | do not ) ( let ( me | us ) down | disappoint ( me | us ) )
        ( i )? hope ( that's | that is | this is | that | this | it | it's | you | all ) ( ok | okay
            | clear | fine | alright | all right | is clear | is ok | is okay | is fine | makes
            sense | works | works for you | helps | is enough | enough | are well | are fine | finds
            you well | is all clear | well )
        ( happy | merry ) ( new year | christmas | holidays | easter | weekend | friday | monday )
        ( sorry | apologies | my apologies | excuse me | forgive me | excuse | forgive ) ( for |
            about )? ( the | this | my | such a | being )? ( W | short | long ){0,2} ( note |
            message | notice | email | text | length | brevity | rush | english | spelling | grammar
            | brief | short | blunt | formality | informality )
        sorry ( to ( bother | trouble | bore | rush | be ) you ( with this )? | to be ( so )? (
            brief | short | blunt | formal | W ) | if ( this | it ) is ( too | very | so | a bit )?
            ( short | long | brief | W ) )
        ( i want | i'd like | i prefer | i would like | we want | prefer | please keep it ) ( a )? (
            low risk | little risk | minimal risk | safe strategy | safe approach | low volatility |
            conservative approach | conservative strategy )
    """,
    "lead": """
        ( please | also | and also | then | make sure to | make sure you | make sure that | make
            sure that you | be sure to | remember to | remember that | note that | i want you to |
            i would like you to | i'd like you to | you should | the agent should | it should | you
            | the agent | additionally | finally | further | furthermore | moreover | in addition |
            as well as | with | plus | next | but | but please | and please | and make sure to |
            kindly | importantly | of course | always | i want the agent to | i'd like the agent to
            | i would like the agent to | let the agent | let it | let the bot | have the agent | i
            want my agent to | do it | do this | run it | run this | let's start small : | let's
            start small | leave it there | leave it in | keep it there | keep it in there | hold it
            | hold it there | as for limits : | the agent can | the agent may | you can | you may |
            it can | it may | i will let you | just | simply | my agent should | my agent can | the
            bot should | the bot can | the bot must | and then | so please | in short : | in short
            | overall : | in total : | yes | ok | okay | so | hi | hello | hey | thanks | thank you
            )
        ( here is the plan | here's the plan | the plan | plan | here are the limits | here are the
            rules | here are my rules | here are my limits | my conditions | my budget rules | the
            conditions | the details | the setup | setup | limits | rules | terms | mandate | task
            | caps | conditions | instructions | constraints | details | settings | summary |
            parameters | the limits | the rules | the terms | my limits | my rules | my terms | our
            terms | mandate terms | hard limits | risk limits | guardrails | budget and limits |
            limits are | the limits are | spending limits | caps are | risk | money | guard rails |
            boundaries | ground rules | the deal | deal ) ( : )
        ( keep it simple | let's keep it simple | simple | here is what i want | here's what i want
            | what i want | my wishes | your job | the job | your mandate | the mandate | your task
            | this is the deal | okay so | in short ) :
        ( run | work | trade | let it run | start )
        subject to
        ( hello | hi agent | hello agent | dear agent | whatever you do | whatever happens | all in
            all | bottom line | as a rule | in general | generally ) ( : )?
        ( and | also )? ( remember | note ) :
        ( for this job | for this | for that | a mandate | for the job | for this task | in this
            job | my wish | my plan ) ( : )?
        ( trade like a pro | spend it wisely | be smart ) :
        ( a | my | our | this is a | just a )? ( W ){0,2} ( test | trial | experiment | pilot |
            project | test run | trial run | mandate | agent | bot | hobby | side project | job |
            task | brief | mission | plan | request | setup | budget rules ) :
        ( a | my | our | this is a | just a | just ) ( small | little | short | first | quick | tiny
            | simple | weekend | weekly | hobby | side )? ( test | trial | experiment | pilot |
            project | test run | trial run | side project | hobby project )
        ( hello | hi | hey | dear | morning | good morning | good evening | good day | greetings |
            yo ) ( there | agent | bot | team | buddy | friend | all | robot | assistant | mate )? (
            : | ! )?
        ( let's say | say | basically | essentially | obviously | naturally | as always | as usual |
            same as always | to be clear | to be safe | for clarity | for safety | importantly |
            most importantly | above all | also please | one more thing | last thing | one last
            thing | oh and | ah and | p.s | ps | fyi ) ( : )?
        ( my | the | your | our )? ( limits | rules | conditions | terms | constraints | boundaries
            | requirements | wishes | instructions | caps | guardrails | parameters | guidelines |
            spending rules | spending limits | budget | money | numbers | the numbers | safety |
            safety rules | risk rules | risk | approvals | the money side | controls | restrictions
            ) ( are | are as follows | are simple | are these )? :
        ( i want the | i want a | i'd like a | i would like a | i'd like the | use a | have a | put
            a | there should be a | there is a | there's a | i set a | apply a | i need a | we want
            a | we need a | give it a | set | let there be a )
        ( as for | as to | regarding | concerning | about | on | when it comes to | in terms of |
            for ) ( the | my | your )? ( approvals | approval | fees | fee | time | timing | limits
            | limit | risk | risks | losses | loss | budget | spending | duration | trading | trades
            | purchases | payments | money | safety | caps | the rest | stop | stopping | length |
            horizon | costs ) ( , | : | - )
        ( agent | bot | dear bot | dear agent | assistant | to the agent | to whom it may concern |
            for the agent | for my agent | note to agent | instructions for the agent ) ( : | - )
        ( first | firstly | second | secondly | third | thirdly | lastly | last | finally | also |
            besides that | on top of that | to start | in case it matters | for starters | to begin
            with ) ( , | : )
        ( a )? ( conservative | low risk | balanced | aggressive | safe | careful | simple |
            cautious | moderate | defensive ) ( strategy | approach | style | investing | trading |
            investment | mandate )
        ( be | stay ) ( aggressive | careful | bold | cautious | conservative | frugal | patient |
            quick ) :
        ( a )? ( note | message | word | instruction | reminder ) ( for | to ) ( the | my | our )?
            ( agent | bot | assistant ) :
        ( small | slow | simple | cheap | quick | short | easy | safe | steady | modest | careful
            ) ( and ( small | slow | simple | cheap | quick | short | easy | safe | steady |
            modest | careful ) )? :
        ( here's | here is | this is ) the ( deal | plan | idea | setup | arrangement ) :
        ( we're | we are | i'm | i am ) ( just | only )? ( testing | experimenting | trying this
            out | starting small | new to this ) :
        ( i'd like | i would like | i want | i prefer | we want | we'd like ) a ( W ){1,2} (
            approach | strategy | style | setup ) :
        the ( rule | limit | deal | plan | task ) :
    """,
    "must": """
        ( you must | you have to | the agent must | the agent has to | it must | it has to | you
            need to | the agent needs to | i need the agent to | i need you to | the bot must |
            make sure to | make sure you | be sure to | always )
        ( has to | have to | must | needs to | need to | shall )
    """,
    "about": """
        ( on | for | to | towards | about ) W{1,8}
        for ( me | us )
        ( to <pverb> ) ( W | and ){0,8}
    """,
    "manner": """
        ( thanks | thank you | please | cheers | many thanks | thanks a lot | from now on |
            starting today | starting now | from today | from today on | as agreed | as discussed |
            ok | okay | no exceptions | without exception | no exceptions please | at all times |
            at any time | ever | for sure | of course | period | under any circumstances | no
            matter what )
        ( wisely | carefully | slowly | conservatively | prudently | sensibly | responsibly |
            safely | steadily | well )
        ( , not more | no more | and no more | and not more | not a cent more | for now | to
            begin with | at the start )
        ( for real | strictly | always | in any case | either way | under all circumstances | no
            matter what happens | whatever happens | please and thank you | if you can | as best you
            can | responsibly please | thx | ty | cheers | mate | buddy | and that's it | and that's
            all | that's it | that's all | and nothing else | and nothing more | nothing more |
            right away )
        ( but | and ) ( no more | not more | nothing more | not a dollar more | not a penny more |
            not one dollar more | not a cent more | no higher | that's it | that's all )
    """,
    "purpose": """
        ( please | i want you to | i would like you to | i'd like you to | your task is to | your
            job is to | the task is to | the job is to | the goal is to | you should | you are to |
            help me | help me to | i want to | we want to | i need to | i need you to | i want an
            agent to | i'd like an agent to | i'd like the agent to | i want the agent to | i would
            like the agent to | i'd like my agent to | we want an agent to | the agent needs to |
            my agent should | my agent will | let my agent | i want my agent to | i need an agent
            to | i am looking for an agent to | the agent should | the agent will | the agent is to
            | it should | let the agent | let it | use it to | use this to | use the money to | use
            the budget to | use them to | have the agent | i'd like to | i would like to | we need
            to | to | and | an agent to | this is to | this budget is to | the purpose is to |
            purpose : | task : | goal : | job : | purpose : to | task : to )? <pverb> ( W | and | ,
            ){0,14}
        ( for | this is for | it is for | it's for | purpose : | task : | goal : | job : ) ( W
            ){1,8}
        ( the | this | my | our ) ( wallet | money | budget | fund | agent | mandate | bot | vault |
            account | cash | pot ) is ( for | meant for | there for | used for | intended for |
            reserved for ) ( W | and ){1,9}
    """,
    "need": """
        ( we | i | my company | our team | our company ) ( need | want | would like | 'd like | am
            looking for | are looking for | am after | collect | sell | run | write | publish |
            build | research | study | breed | grow | teach | make ) ( W | and ){1,9}
        ( i'm | i am | we're | we are ) ( looking for | after | building | writing | running |
            researching | studying | working on | planning | preparing | making | learning |
            collecting ) ( W | and ){1,9}
    """,
    "wish": """
        ( i want to | i'd like to | i would like to | we want to | i only want to | we'd like to |
            i'm going to | i am going to | we will | i will | i'll | i can | we can | i could | i
            am happy to | i'm happy to | i am ready to | i'm ready to | i'm prepared to | i am
            prepared to | i plan to | we plan to | i intend to | i am willing to | i'm willing to )
    """,
    "link": """
        subject to
        ( with | plus | but | so | but please | and please | as well as | along with | together
            with | so please )
    """,
    "closing": """
        , ( no more | not more | and no more | nothing else | that is all | that's all | that's it
            | not a cent more | not a penny more )
        , ( but | and )? ( no more | not more | nothing more | not a dollar more | no higher | no
            more than that | that's the limit | that's the max | hard limit | hard cap | strictly |
            strict | period | full stop )
        , ( no exceptions | without exception | no exceptions please | without exceptions | ever |
            please | at all times )
        ,? ( and | so )? ( just | simply ) ( do your ( thing | job | best ) | get on with it | do it
            | go for it | carry on )
    """,
}
