"""Terms in few words, as a form, a headline or a memo has them: a ceiling on the whole, a run that
is shut down, a loss limit that is reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "ceiling": """
        limit | ceiling | cap | maximum | max | upper limit
    """,
    "of_all": """
        total | overall | whole | spending | global | absolute overall | total spending | overall
        spending | hard overall | overall hard | hard total | spend
    """,
    "the_run": """
        ( the | this | my | our | your ) ( job | experiment | test | trial | mandate | pilot | run |
        thing | whole thing | strategy | project | sandbox | task | programme | program | contract |
        agreement | engagement | arrangement )
    """,
    "shut": """
        ( shut | close | power | wind ) ( it | this | the ( bot | agent | experiment | test | thing
        | whole thing | run ) )? down | ( shut | power | wind | close ) down ( it | this | the ( bot
        | agent | experiment | test | thing | whole thing | run ) )? | ( kill | terminate | retire |
        decommission | end | finish | stop ) ( it | this | the ( bot | agent | experiment | test |
        thing | whole thing | run | pilot | trial ) ) | ( switch | turn | shut ) ( it | this | the (
        bot | agent ) ) off | ( it | the agent | the bot | this ) ( shuts down | shuts off |
        switches off | turns off ) | stop everything | ( switch | turn ) off ( the ( bot | agent )
        )? | terminate | pull the plug
    """,
    "we_end": """
        ( ( we | i | you | we'll | you'll | i'll ) ( will | shall | must | should | have to | want
        to | are to )? )? ( end | stop | close | finish | conclude | wrap up | terminate | shut down
        | kill | halt ) ( <the_run> | it | this )
    """,
    "loss_line": """
        loss limit | loss cap | drawdown limit | stop loss | stoploss | maximum loss | max loss |
        loss threshold | loss ceiling | drawdown cap
    """,
    "met": """
        ( is | be | gets | has been | was | 's )? ( reached | hit | touched | triggered | crossed |
        breached | exceeded )
    """,
    "left_open": """
        ( ( with | leaving | keeping )? <positions> ( left | kept | staying | remaining ) ( open |
        untouched | as they are | in place ) | ( leaving | keeping ) <positions> ( open | untouched
        | as they are | in place ) )
    """,
    "a_club": """
        ( club | school | finance | steering | investment | executive | parish | village | student |
        managing | whole | town | household | investments )? ( committee | board | council | dao |
        treasury | team | club | association | society | company | foundation | cooperative | group
        | family | assembly | members | trustees )
    """,
    "a_shop": """
        ( shop | store | business | company | club | team | bakery | cafe | studio | firm | charity
        | school | workshop | farm | restaurant | agency | startup | family | household | society |
        association | choir | library | practice | garage )
    """,
}
PHRASES: Final[Mapping[str, str]] = {
    "budget": """
        ( a | an | the | my | our | your | its | with a | with an | with the | under a | within a |
            within an | set a | set an )? ( <of_all> ) <ceiling> ( is | of | : | = | at | is set at
            | stands at | will be )? ( up to )? MONEY ( <ofall> | at most | max )?
        ( with )? MONEY ( is | as | being | for ) ( the | my | your | our | a | an )? ( hard | firm
            | strict | absolute )? ( total | overall | whole | global ) ( hard )? ( spending | spend
            )? ( <ceiling> | budget | spend | outlay )
        ( operate | work | stay | remain | act | trade | run | keep | live | move ) ( within | under
            | inside ) ( a | the | an | my | our ) ( ( <of_all> )? ceiling | ( <of_all> ) <ceiling>
            | budget | allowance ) of MONEY <ofall>?
        <not> ( go | get | spend | run | climb ) ( past | higher than ) <amt> ( <ofall> )
        ( cap | limit | keep | hold | restrict ) ( the whole thing | the whole | it all | the lot |
            the whole ( run | job | test | experiment ) | ( the )? ( overall | total | whole ) (
            spend | spending | outlay | expenditure | amount | budget | cost | costs ) ) ( at | to |
            under | below | within ) <amt>
        ( MONEY ) ( float | kitty | trading book | trading account | trading pot | perp book | perps
            book | working budget | project budget | research budget )
        MONEY book ,
        ( a | an | with a | with an )? MONEY ( <of_all> ) ( limit | ceiling | maximum | upper limit
            )
        ( cap | limit | keep | hold ) ( the | my | your ) ( total )? budget ( at | to ) <amt>
        ( a | with a | set a )? ( hard | firm | strict | absolute ) <ceiling> ( of | : | at )? MONEY
            <ofall>
        ( the | our | my ) <a_club> ( has | have )? ( hereby | now | already | just )? ( approved |
            authorised | authorized | allocated | granted | released | voted | set aside | earmarked
            | budgeted | agreed | agreed on | agreed to ) MONEY ( for | to ) ( this | you | the
            agent | this mandate | this agent | this job | this task | this purpose | this trial |
            this experiment | it )
        ( my | our ) ( little | small | flower | corner | coffee | online | book | tiny | family |
            local | village | music | pet | repair | web | design | photo | vegetable | tea | bike
            )? <a_shop> ( can | could | will ) ( spare | afford | put in | put up | give <you> |
            contribute | commit | provide ) ( you )? MONEY
        ( look after | manage | take care of | invest | handle | administer ) MONEY of ( my | our |
            the ) ( W )? ( savings | reserves | cash | funds | money | treasury | capital )
        ( the | our | my )? ( reserve | sum | amount | money | capital | fund | funds | stake | pot
            | treasury ) ( that )? ( i've | we've | i have | we have | i | we | is | are )? ( placed
            | left | lodged | deposited | put ) ( with | in the hands of | in the care of ) <you> (
            is | : | comes to | amounts to | totals ) MONEY
    """,
    "tx": """
        ( paying | spending | using | trading | investing | putting in | committing ) <amt>
            <per_act_too> ( at the most | at most | max | tops | or less | maximum )
        <acts> ,? each ( at most | at the most | up to | no more than | not more than | capped at |
            limited to | max | under ) <amt>
        ( with )? <amt> ( as | is | being ) ( the | my | your | a )? ( per <act> | <act> | single
            <act> ) <ceiling>
        no ( single | one | individual )? <act> ( exceeds | exceeding | goes over | goes above |
            costs more than | costs over | is over | is above | is more than | surpasses | gets past
            ) <amt>
    """,
    "tx_one": """
        each ( at most | at the most | up to | no more than | not more than | capped at | limited to
            | max ) <amt>
    """,
    "day": """
        ( paying | spending | using | trading | investing | putting in | committing ) <amt>
            <per_day_too> ( at the most | at most | max | tops | or less | maximum )
        ( with )? <amt> ( as | is | being ) ( the | my | your | a )? ( hard )? ( daily | per day |
            day ) ( spending )? <ceiling>
        no ( single | one )? ( day | day's ( spend | spending | total | trading | purchases | costs
            ) ) ( exceeds | exceeding | goes over | goes above | above | over | is over | is above |
            is more than | may exceed | should exceed | must exceed ) <amt>
    """,
    "span": """
        ( <shut> ) ( after | in ) ( exactly )? SPAN
        let <the_run> ( run | go on | work | last | continue | operate | go ) ( for )? SPAN
        ( ttl | time to live | max runtime | maximum runtime | run length | max duration | maximum
            duration ) ( : | = | is | of )? SPAN
        ( the | your | my )? time ( available | allowed | allotted | given | at your disposal | you
            have | you get ) ( is | : ) SPAN
        ( act | perform | function | serve ) for ( the next )? SPAN
    """,
    "week": """
        ( <shut> ) ( after | in ) ( a | one ) week
        let <the_run> ( run | go on | work | last | continue ) for ( a | one ) week
    """,
    "month": """
        ( <shut> ) ( after | in ) ( a | one ) month
        let <the_run> ( run | go on | work | last | continue ) for ( a | one ) month
    """,
    "until": """
        ( <shut> ) on ( the )? DATE
        <we_end> on ( the )? DATE
        ( we | this ) ( end | stop | finish | ends | stops | finishes ) on ( the )? DATE
        let <the_run> ( run | go on | work | last | continue ) ( until | till | to ) ( the )? DATE
    """,
    "lost": """
        <val> <ofit>? is ( the | my )? ( most | maximum | max | limit ) ( that )? ( you | it | the
            agent | i | we ) ( may | can | should | could | are allowed to | is allowed to | must )?
            ( ever )? lose
        <not> lose ( me | us ) ( more than | over ) <val> <ofit>?
    """,
    "part_risked": """
        <not> lose ( me | us ) ( more than | over ) <val>
    """,
    "lost_if": """
        ( <when> ) ( the | my | a | our | your )? ( <loss_line> ) ( of | at ) <share> ( <met> )
        ( <when> ) ( the | my | a | our | your )? <share> ( <loss_line> ) ( <met> )
    """,
    "left": """
        ( with )? ( a | the )? ( minimum | lowest | floor ) ( balance | value | worth | account
            value ) of MONEY ( at | below | under ) which ( <stopping> | ( you | it | the agent |
            the bot | trading ) <shall> ( stop | halt | quit | cease | end ) ( trading )? )
    """,
    "part_left": """
        ( <when> ) ( only | just ) PCT
    """,
    "keep_if": """
        <left_open>
    """,
    "keep_then": """
        ( and )? <left_open> ( then | there )?
    """,
    "aim": """
        ( <you> | you )? ( ( aims | is aiming | are aiming | shoots | tries ) for | targets | is
            targeting | are targeting ) ( a | an )? PCT ( return | gain | profit | growth ) ( in
            total | overall )?
        to ( make | earn | gain | get | achieve | generate | produce | reach | bring in | bring me )
            ( a | an )? PCT ( return | gain | profit | growth )
        ( i | we ) want plus PCT
        ( earn | make | generate | produce | achieve ) ( me | us )? ( a | an )? PCT ( profit |
            profits | gain | gains )
    """,
    "grow_more": """
        ( grow )? by ( at least | about )? MONEY
    """,
    "ask": """
        nothing ( <beyond> ) <amt> ( may | should | can | must | shall | is to | is ) ( ( be )? (
            done | bought | spent | paid | ordered | booked | traded | executed | allowed ) | happen
            | go out | go through | proceed | go ahead ) ( without | before ) ( <consulting> ) (
            first )?
    """,
    "ask_never": """
        ( approval | approvals | consent | permission | sign off ) not ( needed | required |
            necessary )
        ( <never_need> ) ( <consult> ) ( about | for | on ) ( any of it | any of this | any of that
            | it | a thing | any of them )
    """,
    "no_fee": """
        ( without | never | not | don't | do not | may not | must not | <you> may not | <you> must
            not ) ( charging | taking | asking for | keeping | claiming | deducting | charge |
            deduct ) ( me | us )? ( a | any )? ( fee | fees | commission | cut | performance fee )
        ( charge | charges | charging | take ) ( me | us )? no ( fee | fees | commission | cut |
            performance fee )
    """,
    "markets": """
        ( only | just )? ( across | among | between | amongst ) ( both )? MARKET ( equally | evenly
            )?
        <only>? ( scalping | swinging | swing trading | day trading | farming | swing | pays for |
            buys | purchases | trades | lends on | invests in ) <only>? MARKET <lastly>{0,2}
        to ( sit | stay | rest | work | earn | be ( spent | used | lent | placed | invested | put to
            work | kept | put | deposited | deployed ) ) <only>? <placed_in> <only>? MARKET
            <lastly>{0,2}
    """,
    "talk": """
        ( business | the season | the year | this year | work | sales | the harvest | things | life
            | trade ) ( has been | have been | is | are ) ( very | quite | really | rather )? ( good
            | great | fine | slow | quiet | brisk | kind | well | lively | steady )
    """,
    "lead": """
        ( a | an | this )? ( simple | small | long running | long term | short term | short lived |
            little )? ( yield | trading | research | data | reading | dca | grid | scalping | swing
            | lending | test | prototype | perp | perps | savings | news | paper ) ( bot | agent ) (
            , | : )
        ( want | need | would like ) ( you | the agent ) to
        ( a | an | the )? agent for ( my | our | the | a ) ( W ){1,3} :
        as ( the | a | an )? ( treasurer | owner | chair | chairman | chairwoman | chairperson |
            head | secretary | manager | founder | director | president | captain | trustee | leader
            | chief | keeper ) of ( our | my | the | this | a | an ) ( W ){1,4} ,?
    """,
}
