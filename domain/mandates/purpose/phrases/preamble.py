"""What people say before and beside the terms: who they are, why, how they would like it kept.

An `intro` is followed by nothing but a comma, a colon or "so": what comes next is a clause of its
own. A `reason` stands behind what was granted, and ends its clause.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "intro": """
        ( a | an | not a | not an | not much of a | just a )? ( W ){0,2} ( student | newbie |
            beginner | nurse | teacher | dad | mum | mom | retiree | pensioner | first timer | noob
            | designer | writer | developer | engineer | freelancer | trader | gambler | expert |
            artist | farmer | plumber | driver | cook | chef | lawyer | doctor ) here
        ( money | time | cash | sleep ) ( is | 's ) ( a bit | a little | very | quite | rather )? (
            tight | short | scarce | low ) ( this year | this month | this week | these days |
            right now | at the moment | today | here )?
        ( same | usual ) ( plan | deal | idea | thing | setup ) as ( always | every W | usual )
        ( i'm | i am | we're | we are ) ( just | only | still | also | but )? ( a | an | the ) ( W
            | single ){1,7}
        ( i'm | i am | we're | we are | i'm just | it's | it is ) ( very | quite | rather | really
            | too | always | pretty | so | still | a bit | a little | generally | usually )? ( busy
            | new | careful | cautious | curious | tired | retired | lazy | nervous | conservative
            | risk averse | away | travelling | traveling | in a hurry | in a rush | on the road |
            on holiday | on leave | no expert | not an expert | no pro | not a pro | not rich | not
            greedy | not a gambler | not in a hurry | no trader | not a trader | not technical |
            inexperienced | excited | thrifty | frugal | cheap | poor | broke | old fashioned | my
            first time | early days ) ( W ){0,4} ( this week | this month | this year | these days
            | today | right now | at the moment | now | at work | lately | this time )?
        as ( a | an ) ( W ){1,4} ( i | we ) ( really | always | usually | do | just )? ( like |
            love | prefer | want | need | appreciate | value | believe in | favour | favor | care
            about ) <rules>
        ( i | we ) ( really | always | usually | do | just )? ( like | love | prefer | want | need
            | appreciate | value | believe in | favour | favor | care about | set ) <rules>
        ( this is | it's | it is | that's | this is just | this is only | it's just | it's only ) (
            my | our | some | all | a | a bit of | just | only ){0,3} ( small | little | first |
            short | tiny | fun | play | pocket | spare | hobby | toy | beer | mad | pin | extra |
            leftover ){0,2} ( money | cash | experiment | test | trial | pilot | first time | time
            | try | attempt | go | hobby )
        ( ( i | i've | i have | i'm | we | we've ) ( only | finally | recently )? ( just )? | just
            | only just | finally ) ( finished | got back | got home | came back | came home | back
            | home | got off | started | moved | retired | woke up | got up | arrived | returned |
            sat down ) ( W | a double shift | double shifts | a night shift | night shifts ){1,9}
        ( because | since this | since it | since it's | as this is | as it's | since my | since
            our | since i'm | since we're | since i am | since we are | since the | since there's |
            given that | seeing that | now that ) <why>
    """,
    "manner": """
        ( as | however | whatever way | any way ) you ( see fit | like | please | think best | want
            | wish | prefer | think is best )
        ( freely | at your discretion | at your own discretion | to your liking | on your own terms
            )
        ,? ( whichever | whatever | wherever ) ( one )? ( pays | yields | earns | offers | gives |
            is | looks | seems | works ) ( more | most | better | best | the most | the best |
            higher | the highest | safer | safest )
    """,
    "purpose": """
        ( please | i want you to | i'd like you to | i would like you to | help me | help me to | i
            want to | i'd like to )? <pverb> ( W | and | birthday ){0,8} for ( ( my | our | the |
            his | her ) <o_person> | her | him | them | us | me | a friend | friends | everyone ) (
            W | and | birthday ){0,4}
    """,
    "reason": """
        ( because | as | since ) ( a | my | our | the | some ) ( <o_person> ) ( of ( mine | ours )
            )? ( trusts | likes | uses | recommends | recommended | knows | loves | praises | works
            there | swears by ) ( it | them | that | this | both )?
        ( because | cause | as | since ) ( my | our | the | i | i'm | we | we're | it | it's |
            there | there's | that | this | of | inflation | interest | banks | rates | nobody |
            nothing ) <why>?
    """,
    "other": """
        ( i | we ) ( have | 've got | have got | got ) NUM ( W ){0,2} ( kids | children | little
            ones | cats | dogs | jobs | babies | toddlers | boys | girls | sons | daughters |
            grandchildren | pets | horses | mouths to feed ) ( W ){0,4}
        ( i've | we've ) got NUM ( W ){0,2} ( kids | children | little ones | cats | dogs | jobs |
            babies | toddlers | boys | girls | sons | daughters | grandchildren | pets )
        ( we're | we are ) NUM ( of us | ( W ){1,4} )
    """,
    "apposed": """
        ( i | we ) , ( a | an | the | two | both | as a ) ( W ){1,5} ,
    """,
    "other_apposed": """
        ( we | i ) , ( a | an | the ) ( family | team | group | couple | club | household | band |
            crew | pair | circle | class ) of NUM ( W ){0,3} ,
    """,
    "talk": """
        ( think of | see | treat | consider | regard ) ( it | this ) ( as )? ( my | our | a | an |
            your | some )? ( W )? ( money | cash | experiment | test | trial | own )
        treat ( it | this | my money | the money ) ( well | carefully | kindly | nicely | gently |
            wisely | with care | with respect | like your own | as if it were yours )
        ( go easy | take it easy | take it slow | take it slowly | go slow | go slowly | go gently
            | tread lightly | tread carefully | play it safe | be gentle | go carefully ) ( please
            | on me | with me | at first | with it | with my money )?
        ( no need for | please no | don't do | do not do | don't try | i don't want | i don't need
            ) anything ( too | very | really | that | all that )? ( serious | big | fancy | crazy |
            risky | wild | complicated | special | dramatic | heavy | ambitious | clever )
        ( to | let's | let us | i'd like to | i want to | i would like to | i'll | i will | we'll |
            we'd like to | please | just | i'm trying to | i like to | try to )? keep ( it | this |
            things | that | everything | this one | the thing ) ( very | really | nice and | quite
            | pretty | as )? <modest> ( and <modest> )? <at_first>?
        ( let's | let us | we'll | i'll | i'd like to | i want to ) ( start | begin | go | stay |
            take it | go in | ease in ) ( off )? ( very | really | nice and | quite )? <modest> (
            and <modest> )? <at_first>?
        ( let's | let us | i'd like to | i want to | we'll | i'll ) ( do | try | run ) ( it | this
            | things )? ( as )? ( a | an ) ( <modest> )? ( test | trial | experiment | pilot | try
            | one | run ) <at_first>?
        nothing ( too | very | really | that | all that )? ( serious | big | fancy | crazy | risky
            | wild | complicated | special | dramatic | heavy | ambitious | clever )
        ( i | we ) ( have | 've got | have got | don't have | do not have | have very ) ( no |
            little | not much | hardly any | zero | much | not enough | enough | a lot of | very
            little ) ( spare | free )? time ( for ( this | it | trading | that | myself ) | to
            trade | to watch <it_all> | to look after <it_all> | to do <it_all> ( myself )? | to
            check <it_all> | myself )?
        ( and )? ( no | little | not much ) ( spare | free )? time ( for ( this | it | that ) )?
        ( it | that | this | the money | the pot ) ( is | 's ) ( all )? yours to ( manage | use |
            invest | trade | trade with | spend | work with | play with | look after | grow )
        ( it's | that's ) ( all )? yours to ( manage | use | invest | trade | trade with | spend |
            work with | play with | look after | grow )
        ( that's | that is | this is | it's | it is ) all ( you get | you will get | you'll get |
            there is | i have | i can spare | you have | we have | i've got | i can afford | i can
            give )
        ( see | show me | find out | let's see | i'd like to see | i want to see | we'll see | let
            me see ) ( what | how far | how well | how much ) ( you | the agent | it | we ) ( can |
            could )? ( do | make | get | go | achieve | earn | manage ) ( with | of | out of | from
            )? <it_all>?
        ( i'll | i will | let me | i'd like to | we'll | i want to | to | i'm going to ) ( be |
            make it | make this | keep it ) ( very | really )? ( quick | brief | short | simple |
            fast )
        keeping ( it | this | things ) ( very | really | nice and )? <modest> <at_first>?
        ( briefly | in brief | in a nutshell | long story short | short note | quick note | short
            on time | pressed for time | long day | busy day | busy week | first attempt | first
            try | first time | my first time | my first try | please and thank you | thanks in
            advance | short version | the short version | in a word | in one line ) ( today | here
            | again )?
        ( ( the | this | my | your | our )? ( mandate | term | agreement | job | period | run |
            deal ) | it | you | we ) ( begins | starts | begin | start ) ( today | now |
            immediately | right away | at once | straight away | on signing | with the signature )
        ( let's | let us | i'll | we'll | i'd like to | i want to ) give ( this | it | you ) a (
            try | go | shot | chance | whirl )
    """,
    "span": """
        ( see | show me | find out | let's see | i'd like to see | i want to see | we'll see | let
            me see ) ( what | how far | how well | how much ) ( you | the agent | it | we ) ( can |
            could )? ( do | make | get | go | achieve | earn | manage ) ( with | of | out of | from
            )? <it_all>? ( in | within | inside | over | after ) ( the next )? SPAN
    """,
    "lead": """
        and ( may | can )
        ( hiya | heya | howdy | ahoy | hullo | welcome | good afternoon | good night | salutations
            | hi hi | hello hello | hey hey ) ( there | agent | bot | team | buddy | friend | all |
            robot | assistant | mate )?
        ( i'd | i would | we'd | we would | i'll | i will ) be ( very | really | so | most | much |
            extremely | ever so )? ( grateful | thankful | happy | glad | delighted | pleased |
            obliged ) if ( you | the agent ) ( could | would | can | 'd ) ( please )?
        it ( would | 'd ) be ( very | really | so )? ( great | nice | good | lovely | wonderful |
            kind | helpful | super | perfect | ideal | best ) if ( you | the agent ) ( could |
            would | can ) ( please )?
        ( i'd | i would | we'd | we would ) ( really )? ( appreciate it | love it | like it ) if (
            you | the agent ) ( could | would ) ( please )?
        ( i'd | i would | we'd | we would ) ( really )? love ( you | the agent ) to
        would you be so ( kind | good ) ( as )? to
        be so ( kind | good ) ( as )? ( to | and )
        ( i'm | i am | we're | we are )? ( looking for | searching for | seeking | in need of ) (
            an agent | someone | somebody | a bot | help ) ( to | who can | who will | that can |
            that will )
        ( wanted | needed ) : ( an agent | someone | a bot ) ( to | who can | for )?
        ( i | we | i'm | we're ) ( was | were | am | are )? ( just )? ( hoping | wondering if |
            thinking | hoping that ) ( you | the agent ) ( could | would | can | might )
        ( i'd like to | i want to | i would like to | i'm | i am | we're | may i | let me | i | we
            | can i | we'd like to ) ( ask | asking ) ( you | the agent ) to
        ( here it is | here it goes | here they are | here's the thing | here is the thing | here's
            the idea | here's the situation | send it | let's go | here goes | here we go | there
            you go | do it | go | yolo | test run | trial run | quick one | short one | ok here
            goes | right then | now then | all right ) :
    """,
}
PARTS: Final[Mapping[str, str]] = {
    "rules": """
        ( W ){0,2} ( limits | rules | numbers | boundaries | caps | instructions | terms | safety |
        control | certainty | clarity | things kept simple | things simple | it simple | simple
        things | order | structure )
    """,
    "modest": """
        small | simple | short | tiny | modest | light | low key | easy | cheap | tight | quick |
        brief | safe | boring | friendly | clean | clear | sensible | reasonable | cautious |
        conservative | slow | steady | gentle | calm | low risk | little | minimal | short and
        sweet | nice and easy
    """,
    "at_first": """
        this time | for now | today | for today | at first | for a start | to start with | to begin
        with | here | please | as possible | this once | for once | for the moment | for me | for
        us | again | this time around | as a test | for starters
    """,
    "it_all": """
        it | that | this | them | the money | these | everything | it all | all this | all of it
    """,
    "why": """
        ( W | all | every | next | best | first | second | third | try | trial | go | no | not |
        nothing | don't | do not | can't | cannot | doesn't | does not | isn't | won't | savings |
        bank | bank's | banks | pension | interest | much | more | less | inflation | almost |
        nearly | anyway | only | yet | now | day | days | wife | husband | kids | children | rates |
        insurance | hardly | ever | never | many | was | had | has | been | must | should | would |
        will | can | could | rent | income | today | hours | years | after that ){1,12}
    """,
}
