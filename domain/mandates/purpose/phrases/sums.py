"""The sum that is handed over, with what it is called, where it comes from, and whose care it is
put into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTS: Final[Mapping[str, str]] = {
    "kind_of_sum": """
        ( total | overall | whole | full | initial | starting | treasury | trading | spending |
        small | fixed | entire | available | test | working | research | data | shopping |
        marketing | travel | project | investment | experimental | reading | news | learning |
        agent ){0,2}
    """,
    "sum_noun": """
        fund | funds | sum | pot | kitty | purse | stake | principal | capital | budget | allowance
        | money | total | amount | endowment | allocation | deposit | bankroll | envelope | float |
        stash | mandate
    """,
    "amounts": """
        is | are | : | = | amounts to | comes to | comes out at | stands at | is set at | is fixed
        at | is set to | equals | totals | adds up to | makes | will be | shall be | is to be |
        should be | is going to be | is exactly | is just | is only | of | of up to | of at most |
        of no more than | of exactly | is up to | is at most | is no more than | is not to exceed |
        is capped at | is limited to
    """,
    "in_care": """
        ( in | into | under ) ( your | the agent's | its | my agent's ) ( care | hands | charge |
        keeping | custody | management | trust ) | at ( your | its | the agent's ) disposal | in
        trust with you | in trust to you | to your care | to your charge
    """,
    "came_from": """
        ( left | left over | leftover | saved | saved up | spare )? ( from | out of ) ( selling |
        trading | working )? ( the | my | our | a | an | some | last | this )? ( W | savings |
        last year's ){1,4} | left | left over | saved up | to spare | lying around | lying idle |
        sitting idle | idle
    """,
    "to_use": """
        to ( invest | trade | spend | use | work with | play with | manage | put to work | grow |
        trade with | start with | try this with | try it with | lend | lend out | deploy )
    """,
}
PHRASES: Final[Mapping[str, str]] = {
    "budget": """
        ( <my> | a | an | with a | with an )? <kind_of_sum> <sum_noun> ( for ( this | you | it | the
            agent | the job | <what> ) )? ( <amounts> ) <exactly>? MONEY ( <ofall> | at most | max |
            maximum | tops | only | or less | and no more )? <for_what>?
        ( <my> | a )? ( total | overall | whole | full | maximum | max ) ( spend | spending | outlay
            | cost | costs | expenditure ) ( <amounts> ) <exactly>? MONEY ( <ofall> | at most | max
            )? <for_what>?
        ( bro | dude | man | mate | ser | fam | buddy | bruh ) ( take | use | have | manage | trade
            | invest ) ( my | the | these )? MONEY ( of mine )?
        ( <my> | a | an )? ( treasury | dao | team | club | total | initial | fixed )? ( allocation
            | endowment | commitment | allotment | earmark ) ( of | : | is ) <exactly>? MONEY
        ( i'm | i am | we're | we are | i | we | i've | i have | we've | we have | i'd like to | i
            want to | i will | i'll | we'll | we will | i hereby | we hereby ) ( now | hereby |
            today )? ( placing | putting | leaving | laying | entrusting | handing | giving | place
            | put | leave | lay | entrust | placed | left | transfer | transferred | transferring |
            commit | committed | committing ) ( <exactly> )? MONEY ( of mine | of ours | of my money
            | of our money )? ( <in_care> )
        ( administer | oversee | steward | supervise | run | handle | manage | look after | take
            charge of | take care of | invest | employ | deploy | watch over | mind | use | take |
            accept | trade | work with ) ( for me | for us )? ( the sum of | a sum of | an amount of
            | the amount of | a total of | a pot of | a fund of | this sum of | my sum of | funds of
            | assets of | a capital of | capital of | the total of ) MONEY ( <forme> )? <for_what>?
        ( you | the agent | it ) ( control | controls | command | commands | administer |
            administers | oversee | oversees | handle | handles ) <exactly>? MONEY <for_what>?
        the ( owner | undersigned | principal | grantor | sponsor ) ( hereby )? <hands_over>
            <exactly>? MONEY
        ( the | my | your | our | this ) ( purse | pot | kitty | fund | mandate ) ( holds | has |
            contains | carries ) <exactly>? MONEY ( in it | in total | in all )?
        ( spend | use | invest | take ) ( whatever | what | as much as ) ( you | it ) ( need | needs
            | want | like | think fit | think best | see fit ) ,? ( up to | but no more than | but
            at most | but not more than | within | to a maximum of ) MONEY ( in total | overall |
            altogether )?
        ( manage | look after | handle | take care of | administer | invest ) ( my | our | the ) ( W
            ){1,2} MONEY
        ( i'll | i will | i'd like to | i want to | we'd like to | let me | we'll )? ( set | fit |
            start | kit ) <you> ( up | out | off ) with <exactly>? MONEY
        ( i'd like | i would like | i want | we want | we'd like | have | i'd love | please have ) (
            my | our | the | these ) MONEY ( to be )? ( lent | lent out | invested | managed |
            traded | deposited | placed | supplied | kept | looked after | put to work | put )
        keep ( my | the | our | these ) MONEY ( safe | secure | growing | earning | productive ) (
            for ( me | us ) )?
        your ( wallet | vault | account ) ( gets | receives ) <exactly>? MONEY
        for ( my | our | these ) MONEY
        ( <my> )? ( budget's | total's | limit's ) MONEY
        ( i | we ) ( hereby )? ( approve | release | sanction | earmark | pledge | assign | allot )
            ( <exactly> )? MONEY ( <to_whom> )?
        you've MONEY ( in total | altogether )? <for_what>?
        all ( that )? ( i | we | you ) ( have | get | 've got | can spare | can afford | can give (
            you )? | am giving you | are giving you | have got ) is MONEY
        all ( i've | we've | you've ) ( got )? is MONEY
        ( administer | oversee | steward | take charge of | watch over | mind | employ ) ( my | the
            | these | our )? MONEY ( <forme> )? <for_what>?
        ( i | we )? ( have | 've got | 've | got | have got ) ( about | some )? MONEY ( <came_from>
            )? ( <to_use> | for you <to_use> | for you | for this )
        ( i've | we've ) ( got )? MONEY ( <came_from> )? ( <to_use> | for you <to_use> | for you |
            for this )
        MONEY ( from | out of ) ( the | my | our ) ( W ){0,2} ( treasury | savings | company | fund
            | team | club | family | dao | account | wallet | household | bonus | sales | till |
            takings | community | reserves | piggy bank | pocket money | allowance | coffers |
            budget ) <to_use>?
        ( here's | here is | here are | here you have | heres ) ( my | the | a | your | another )? (
            first | last | spare | total of )? MONEY ( <came_from> )? <to_use>?
        ( use | spend | invest | trade | put in | deploy | commit ) MONEY ( and not | not ) ( a cent
            | a penny | a dollar | one cent | one penny | any ) more
        ( i'm | i am | we're | we are ) ( starting | beginning | going in | coming in | joining |
            opening | testing | trying this | trying it | trying ) ( off | out )? ( with | on )
            <exactly>? MONEY
        ( the | my | our ) ( max | maximum | most | upper limit | limit ) ( <you> | you | i'll | i
            will | i )? ( <may> | can )? ( use | spend | invest | put in | have )? ( <ofall> ) is
            <amt>
        ( do | try ) ( what | all ) you can with ( my | the | these | just | only )? MONEY
        ( work | make ) ( your | some )? ( magic | wonders ) with ( my | the | these | just | only
            )? MONEY
    """,
}
