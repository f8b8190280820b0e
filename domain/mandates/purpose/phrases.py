"""The phrases that are read, by what they say: the whole of what a note can state.

A phrase holds at most one figure. Every word of a clause has to stand in a phrase, negation included; a phrase that could mean
two things stands under two actions, which makes the clause unclear. Notation: `automaton`. Figures: AMT is MONEY or NUM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ACTIONS: Final[Mapping[str, str]] = {
    "budget": """
        <my>? ( ( total | overall | whole | full | max | maximum | entire | initial | starting | trading | spending | agent's )? budget | total | total budget | grand total | allowance | overall limit | total limit | budget cap | budget limit | total spend | total spending | overall budget | overall cap | total cap | max spend in total | max spend | maximum spend | max total spend | maximum total spend | max total | maximum total | spending limit in total | money | capital | starting capital | initial capital | trading capital ) ( for ( this | everything | you | the agent | it | the whole thing | all of it | <what> ) )? ( <is> | is <max> | is capped at | is limited to | up to | max )? <amt> ( in total | total | overall | max | maximum | altogether | at most | only | to start with | to start )? <for_what>?
        ( a | with a | on a | you have a | it has a | there is a | there's a | set a | the agent has a | here is a | here's a | i give you a | i am giving you a | set the | set my | give it a | give the agent a | give you a | i set a | i'm setting a | with | make the | work with a | have a | use a | within a ) ( total | overall | max | maximum | fixed | small | strict | hard | initial | starting | spending )? budget ( of | to | at | is | : )? ( up to | max | at most | exactly )? <amt> ( in total | total )? <for_what>?
        ( MONEY | NUM ) ( is | as | for ) ( the | my | your | a )? ( total | whole | full | overall )? budget
        MONEY ( budget | total budget | total | in total | in all | altogether | overall | allowance | of budget | of capital | capital | all in | max in total | budget in total | total max | spending budget | mandate | trading budget | maximum in total | tops in total ) <for_what>?
        NUM ( budget | total budget | in total | in all | altogether | overall | total ) <for_what>?
        ( ( you | the agent | it | the bot | agent )? ( <may> )? ( spend | use | invest | trade | deploy | commit | manage | work with | trade with | invest up to | handle ) | the agent gets | you get | give <you> | i give <you> | i will give <you> | i'll give <you> | i am giving <you> | i'm giving <you> | giving <you> | here is | here are | here's | i trust <you> with | trust <you> with | i'll fund it with | i will fund it with | i fund it with | i will fund the vault with | grow | grow the | grow my | on | on a budget of | lend | supply | stake | park | place | lend out | let's start with | let's use | we start with | start off with | you start with | it starts with | you will manage | you'll manage | you manage | the agent manages | the agent will manage | the agent will have | i'm funding it with | i'm funding this with | funding | i'm lending you | lending you | i'll give it | i'll give the agent | i'm putting in | i am depositing | i'm depositing | i've deposited | i have deposited | take | take the | take my | take these | you can use | you may use | you can invest | you may invest | you can trade with | you may trade with | <you> can work with | you have access to | you are getting | you're getting | you receive | you will get | you'll get | <you> should have | <you> shall have | <you> will have | the agent will get | the agent receives | get me <what> for | we give <you> | i allow <you> | i allow | i grant <you> | i hand <you> | i let you use | i let you spend | the wallet holds | here you have | put aside | i reserve | purchase up to | buy up to | there are | <you> can have | the agent has access to | you have up to | loaded with | my agent gets | my agent has | invest my | invest the | manage my | manage the | use my | use the | for a total of | with a total of | totalling | totaling | in total | overall | give it | we have | i am starting with | i'm starting with | you have a total of | <you> <may> <spendv> | feel free to spend | spend at most | spend | we're giving <you> | we are giving <you> | experiment with | play with | you have a float of | pay out at most | keep spending under | keep total spending under | keep the total under | keep the total below | keep total spending below | keep the total spend under | keep overall spending under | keep overall spending below | keep all spending under | you have | the agent has | it has | <you> may have | fund it with | fund <you> with | fund this with | start with | starting with | i want to invest | i want to spend | i want to put | i'd like to invest | i'd like to spend | i would like to invest | i would like to spend | i want you to spend | i want you to manage | i want you to invest | i want you to use | i want you to trade | manage | trade with | work with | allocate | i allocate | deploy | i am allocating | i'm allocating | put | i am putting | i'm putting | put in | i put in | i am putting in | i'm putting in | i deposit | deposit | i will deposit | i'll deposit | i will fund | we allocate | we give <you> | with | using | there is | there's | you can have | you're getting | you are getting | you will have | you'll have | i set aside | i have set aside | i've set aside | set aside | hand <you> | let it spend | let the agent spend | let the bot spend | let the agent use | let the agent manage | let the agent trade with | let the agent trade | let it use | let it manage | let it trade with | let it trade | allow the agent to spend | allow it to spend | allow <you> to spend | you're allowed to spend | the agent is allowed to spend | i authorize | i authorise | authorize | authorise | budgeting ) ( up to | a total of | a maximum of | at most | exactly | only | a budget of | no more than | an amount of | up to a total of | not more than | just | the | these | this | about no more than )? ( MONEY ) ( in total | total | altogether | at most | overall | max | maximum | in all | and no more | only )? ( to work | from me | at its disposal | at your disposal | worth | to start with | to start | to begin with | as a budget | as budget | as the budget | for a start )? <for_what>? ( in total | overall | altogether )?
        ( spend | invest | i give <you> | you have | you get | use | you can spend | you may spend | the agent may spend | the agent can spend ) ( up to | a total of | a maximum of | at most | only | no more than )? NUM ( in total | altogether | overall | in all ) <for_what>?
        ( spend | invest | i give <you> ) ( up to | a total of )? NUM <for_what>
        invest NUM
        ( never | do not | don't | must not ) ( spend | use | invest | exceed ) ( more than | over )? <amt> ( in total | overall | altogether | in all | total )
        ( no more than | at most | max | maximum | not more than | up to | maximum of | max of | a total of | a maximum of | limit of | cap of | a cap of ) <amt> ( in total | overall | altogether | in all | total | all together | for everything )
        ( total | overall ) ( spend | spending | cost | costs | outlay ) ( must | should | may | can )? ( not exceed | stay under | stay below | be at most | never exceed | <is> at most | is limited to | is capped at | limited to | capped at | under | never above ) <amt>
        ( limit | cap ) ( total spending | the total | total spend | overall spending | my total spending | the total spend | spending overall ) ( to | at ) <amt>
        up to MONEY <for_what>
        i ( have | 've got | have got ) MONEY ( for this | for you | for <you> | for the agent to use | to invest | to spend | to trade | to trade with | to put to work | for this agent | for this job | for this task )
        for ( up to | at most | a total of )? MONEY ( in total | total )?
    """,
    "budget_bare": """
        MONEY ( only | total )? <for_what>?
    """,
    "tx": """
        ( and | with | <you> | you <may> | <you> <may> )? ( <spendv> | risk )? <max>? <amt> <maxtail>? ,? <per_act> <maxtail>?
        ( <you> | <you> <may> | you )? ( <not> ) ( <spendv> | risk | go over | exceed | go above ) ( more than | over | above )? <amt> ( ( in | on | for | with ) )? <per_act>
        ( per | each | every | any | a | one | any one | any single ) ( single | individual | one )? <act> ( cap | limit | max | maximum | budget | size | spend | amount | allowance | ceiling | size limit | spend limit | spending limit | maximum size ){0,1} ( <is> | <max> | is <max> | can be <max> | may be <max> | must be <max> | should be <max> | at | stays under | must stay under | should stay under | must not exceed | should not exceed | may not exceed | cannot exceed | can't exceed | shall not exceed | must not be more than | should be under | must be under | may cost <max> | can cost <max> | may cost at most | may be worth <max> | can be worth <max> | is allowed <max> | should take <max> | may take <max> | may use <max> | can use <max> | gets <max> | should use <max> | must use <max> | may spend <max> | can spend <max> | up to | is capped at | is limited to | may use up to | must stay below | should stay below | must be below | can't be more than | cannot be more than | should not be more than | shouldn't be more than | may not be more than | should cost <max> | must cost <max> | can go up to | may go up to | to be <max> | must not cost more than | should not cost more than | shouldn't exceed | mustn't exceed | capped at | limited to | never more than | never above | never over )? <amt> <maxtail>?
        ( trades | transactions | payments | purchases | orders | actions | a trade | a transaction | a payment | a purchase | an order | an action | any trade | any payment | any purchase | any transaction | single trades | individual trades ) ( can't be | cannot be | can not be | must not be | may not be | should not be | shouldn't be | mustn't be | are never | must never be | should never be | must never exceed | must not exceed | should not exceed | may not exceed | should never exceed | can't exceed | cannot exceed ) ( larger than | bigger than | more than | above | over | greater than | higher than )? <amt>
        ( trades | transactions | payments | purchases | orders | actions | a trade | a transaction | a payment | a purchase ) ( <over> ) <amt> ( is | are ) ( not allowed | forbidden | not ok | not okay | never allowed | prohibited | not permitted | off limits ) ( <per_act> )?
        ( keep | make ) ( trades | purchases | orders | payments | transactions ) ( small | tiny | modest | short ) : <max>? <amt> ( at most | max | maximum | or less | each | tops )?
        ( do not | don't | never ) let ( it | the agent | the bot ) ( <spendv> ) ( more than | over ) <amt> ( in | on | for )? <per_act>
        ( spending | spend ) ( limit | cap ) ( of | : )? <amt> <per_act>
        ( i | we ) ( allow | permit | accept ) <max>? <amt> <per_act>
        no ( single | one | individual )? <act> ( is | are | may be | should be | can be | must be | to be | may exceed | should exceed | can exceed | over | above | larger | bigger | exceeding | more | to exceed | of more | goes | may go | should go | shall exceed | must exceed | should cost | may cost | costing | shall be | worth ) ( larger | bigger | more | greater | higher )? ( than | over | above )? <amt>
        ( max | maximum | largest | biggest | highest | the max | the maximum | the largest | my max ) ( single | individual | allowed )? <act> ( size | amount | value | spend | cost )? <is>? <amt>
        ( max | maximum | the max | the maximum ) ( spend | amount | size | cost | limit | spending )? <per_act> <is>? <amt>
        ( <act> | single <act> | individual <act> ) ( size | amount )? ( cap | limit | ceiling | size ) <is>? ( max )? <amt>
        ( single <act> | individual <act> | <act> size | <act> amount ) ( max | maximum ) <is>? <amt>
        ( trades | actions | transactions | purchases | orders | payments | swaps | bets | single <act> | individual <act> | <act> size | <act> sizes ) ( capped at | limited to | of at most | of up to | of no more than | up to | under | no larger than | no bigger than | max | at most | never above | never over | must be under | must stay under | should stay under | must not exceed | should not exceed | no more than ) <amt> ( each | apiece | per trade )?
        ( cap | limit | caps | limits | spending cap | spending limit | spend limit | spend cap | a cap | a limit | the cap | the limit | set the cap | set a cap | set a limit | set the limit | ceiling | hard cap | hard limit ) ( <per_act> ) <is>? <amt>
        ( a | the | my | with a | set a | set the | caps of | cap of | limit of | limits of | limits : | caps : | a limit of | a cap of )? <amt> ( cap | limit | max | maximum | ceiling ) ( <per_act> | for each <act> | on each <act> | on single <act> | for single <act> | on every <act> | on individual <act> | on <act> )
        ( caps | limits | cap | limit ) ( of | : | are | at | = ) <amt> <per_act>
        ( a | the | my | with a | set a | set the | my | our )? ( per )? ( <act> ) ( cap | limit | budget | spending limit | spend limit ) <is>? <amt>
        ( a | the | my | with a | set a | set the | my | our )? ( per <act> ) ( max | maximum ) <is>? <amt>
        ( a | the | my | with a | set a | set the )? ( per )? ( <act> ) ( cap | limit | maximum ) ( of | to | at ) <amt>
        ( a | an | the | with a | with an )? <amt> ( per )? ( <act> ) ( cap | limit | max | maximum | size limit )
        ( cap | limit | keep | restrict ) ( each | every | any | all | individual | single | the | my )? ( single | individual )? <act> ( size | sizes )? ( to | at | under | below | within | at or below | at or under | to at most | to a maximum of | to no more than | to max | down to at most | smaller than ) ( most )? <amt> ( each | apiece | max | or less | at most )?
        ( make | place | do | take | execute ) ( no | only ) <act> ( over | above | bigger than | larger than | of up to | up to | of at most | below | under | of more than ) <amt>
        ( never | do not | don't ) ( make | place | do | open | execute | approve | take | send | put through ) ( a | any | a single | any single )? <act> ( over | above | bigger than | larger than | of more than | exceeding | that is more than | that costs more than | worth more than | for more than ) <amt>
        ( in | with | using ) ( <act> | chunks | tranches | steps ) of ( at most | up to | no more than | max | maximum ) <amt> ( each )?
        <max> <amt> each
        the most ( <you> )? ( <may> )? ( ever )? ( <spendv> | risk ) ( in | on | per | for ) ( one | a | a single | any | any one | any single | each )? <act> is <amt>
        ( <you> )? ( must | should | may | can ) ( not | never ) ( <spendv> | exceed ) ( more than | over )? <amt> ( in | on | for )? <per_act>
    """,
    "tx_share": """
        ( <spendv> )? <max> PCT ( <budget_of> )? <per_act>
        ( <spendv> )? PCT ( max | maximum | at most | tops | or less ) <per_act>
        ( <spendv> )? PCT ( <budget_of> ) ( max | maximum | at most )? <per_act>
        ( <spendv> )? PCT ( <budget_of> ) ( cap | limit ) <per_act>
        <per_act> ( <max> | at most | up to | is <max> | cap : | limit : | cap | limit | : ) PCT ( <budget_of> )?
        <per_act> PCT <budget_of>
        ( cap | limit | keep ) ( each | every | any | all | single )? <act> ( to | at | under | below | at most )? PCT ( <budget_of> )
        ( <not> ) ( <spendv> | put | risk ) ( more than | over ) PCT <budget_of> ( in | on | into | for )? <per_act>
        <per_act> ( must | should | may | can ) ( not exceed | be at most | use at most | be no more than | use up to | be up to ) PCT <budget_of>
        no ( single )? <act> ( over | above | larger than | bigger than | of more than | may exceed | should exceed | exceeding | can exceed | may be more than | should be more than ) PCT <budget_of>
        ( max | maximum ) ( <act> size | per <act> | size per <act> | <act> ) <is>? PCT <budget_of>
    """,
    "day": """
        ( and | with | at | <you> <may> )? ( <spendv> | risk )? <max>? <amt> <maxtail>? ,? ( in total | total | overall )? <per_day> ( <maxtail> | in total | overall | total )?
        ( <you> | <you> <may> | you )? ( <not> ) ( <spendv> | exceed | go over | go above ) ( more than | over | above )? <amt> ( in total | total )? ( in | on )? <per_day>
        <per_day> ( cap | limit | max | maximum | budget | spend | spending | total | allowance | spend limit | spending limit | spend cap | spending cap | ceiling | amount ){0,1} ( <is> | <max> | is <max> | is capped at | is limited to | must not exceed | should not exceed | may not exceed | cannot exceed | can't exceed | shall not exceed | stays under | must stay under | should stay under | no more than | you can spend | you may spend | spend at most | spend up to | spend no more than | can be <max> | may be <max> | should be <max> | capped at | limited to | must be <max> | must stay below | never more than | shouldn't exceed | mustn't exceed | it may spend | it may spend up to | you may spend up to | you can spend up to | the agent may spend up to | the agent can spend up to | use at most | use no more than | use up to | never above | never over )? <amt> ( in total )? <maxtail>?
        ( a | the | my | with a | set a | set the | our )? ( max | maximum | hard | strict )? ( daily | day | per day | every day | each day | total daily ) ( spend | spending | trading )? ( cap | limit | max | maximum | budget | spend | spending | total | allowance | ceiling | amount | volume cap ) <is>? ( max | at most | up to )? <amt> ( max | maximum | in total )?
        ( max | maximum | the max | the maximum ) ( daily | total daily ) ( spend | spending | amount | total | volume )? <is>? <amt>
        ( max | maximum | the max | the maximum ) ( spend | spending | amount | total )? <per_day> <is>? <amt>
        ( cap | limit | caps | limits | spending cap | spending limit | spend limit | spend cap | a cap | a limit | the cap | the limit | set the cap | set a cap | set a limit | set the limit | ceiling | hard cap | hard limit | budget | total | spend | spending | allowance ) <per_day> <is>? <amt>
        ( a | the | my | with a | set a | set the | caps of | cap of | limit of | limits of | limits : | caps : | a limit of | a cap of )? <amt> ( cap | limit | max | maximum | ceiling | budget | allowance | total | spend ) ( <per_day> | on each day | for each day | for the day | on daily spend | on daily spending )
        ( caps | limits | cap | limit ) ( of | : | are | at | = ) <amt> <per_day>
        ( a | an | the | with a | with an )? <amt> ( daily | day | per day ) ( cap | limit | max | maximum | budget | allowance | spend | spending limit | spend limit | total )
        ( cap | limit | keep | restrict | hold ) ( daily spending | spending | daily spend | the daily spend | the daily total | daily totals | the daily spending | total daily spending | it | the total | the agent | my daily spend | daily trading | total spending | activity | each day's spending | daily costs ) ( to | at | under | below | within | to at most | to a maximum of | to no more than ) <amt> <per_day>
        ( cap | limit | keep | restrict | hold ) ( daily spending | daily spend | the daily spend | the daily total | daily totals | the daily spending | total daily spending | my daily spend | each day's spending | daily totals ) ( to | at | under | below | within | to at most | to a maximum of | to no more than ) <amt>
        ( daily | each day's | a day's ) ( spending | spend | total | totals | purchases | trades ) ( must | should | may | can )? ( not exceed | stay under | stay below | be at most | never exceed | add up to at most ) <amt>
        no more than <amt> ( should | may | can | is to | must )? ( be spent | leave | go out | be used | be traded | be moved ) <per_day>
        spend <amt> ( or less )? <per_day>
        the most ( <you> )? ( <may> )? ( ever )? <spendv> ( in | on | per | for ) ( one | a | a single | any | any one | any single | each )? day is <amt>
        ( <you> )? ( must | should | may | can ) ( not | never ) ( <spendv> | exceed ) ( more than | over )? <amt> ( in | on )? <per_day>
        ( do not | don't | never ) let ( it | the agent | the bot ) ( <spendv> ) ( more than | over ) <amt> ( in | on | for )? <per_day>
        ( i | we ) ( allow | permit | accept ) <max>? <amt> <per_day>
        ( spending | spend ) ( limit | cap ) ( of | : )? <amt> <per_day>
        ( spend it slowly : | spread it out : | slowly : | pace yourself : ) <amt> <per_day>
        ( no day | no single day ) ( over | above | with more than | may exceed | should exceed | can exceed ) <amt>
    """,
    "day_share": """
        ( <spendv> )? <max> PCT ( <budget_of> )? <per_day>
        ( <spendv> )? PCT ( max | maximum | at most | tops | or less ) <per_day>
        ( <spendv> )? PCT ( <budget_of> ) ( max | maximum | at most )? <per_day>
        <per_day> ( <max> | at most | up to | is <max> | cap : | limit : | cap | limit | cap of | limit of | : ) PCT ( <budget_of> )?
        <per_day> PCT <budget_of>
        ( a | the )? ( daily | per day ) ( cap | limit | max | budget ) <is>? PCT ( <budget_of> )?
        ( <not> ) ( <spendv> ) ( more than | over ) PCT <budget_of> ( in | on )? <per_day>
    """,
    "tx_or": """
        ( or | nor ) ( more than | over )? <amt> ( in total )? ( <per_act> )
    """,
    "day_or": """
        ( or | nor ) ( more than | over )? <amt> ( in total )? ( <per_day> )
    """,
    "lost": """
        <not> ( <you> )? ( ever )? lose ( more than | over | beyond | in excess of ) <val> <ofbud>?
        <not> ( <subj> | let it | let the <money_noun> )? ( drop | fall | go down | decline ) ( by )? more than <val> ( <budget_of> )?
        ( do not | don't | never ) let ( it | me | us | the agent | the bot | the <money_noun> ) lose ( more than | over ) <val> <ofbud>?
        ( i | we ) ( do not | don't | never ) want to lose ( more than | over ) <val> <ofbud>?
        ( i | we ) ( am | are | 'm )? ( willing to | ready to | prepared to | ok to | okay to | can accept to | can afford to | am ready to ) lose ( up to | at most | no more than | max | a maximum of ) <val> <ofbud>?
        ( i can lose | i could lose | you can lose | you may lose | it may lose | it can lose | the agent may lose | the agent can lose | we can lose | i'm ok losing | i am ok losing | i accept losing | i'm fine losing | i can afford to lose | i can afford losing ) ( up to | at most | no more than | a maximum of | max ) <val> <ofbud>?
        ( i | we ) ( can | will )? ( accept | tolerate | take | stomach ) ( a | losses of | a loss of )? ( max | maximum )? ( loss | losses | drawdown )? ( of )? ( up to | at most | no more than | max | maximum ) <val> ( loss | losses | in losses | drawdown )? <ofbud>?
        <halt> ( and <halt> )? ( <when> ) <subj>? <lose> <by_more>? <val> ( or more )? <ofbud>?
        <halt> ( <when> ) ( <subj> )? ( has | have | shows | hits | reaches | is at ) ( lost | a loss of | an overall loss of | a total loss of | a drawdown of | losses of ) <by_more>? <val> ( or more )? <ofbud>?
        ( <when> ) <subj>? <lose> <by_more>? <val> ( or more )? <ofbud>? ,? ( then )? ( please | you must | you should )? <halt>
        ( <when> ) <subj>? ( has | have | shows | hits | reaches ) ( lost | a loss of | a drawdown of ) <by_more>? <val> ( or more )? <ofbud>? ,? ( then )? ( please )? <halt>
        <halt> ( <when> ) ( the | my | our | total | overall )? <loss_noun> ( reach | reaches | exceed | exceeds | hit | hits | go over | goes over | is | are | get to | gets to | go above | goes above | is more than | are more than | pass | passes | climb above ) ( over | above | more than | at )? <val> <ofbud>?
        ( <when> ) ( the | my | our | total | overall )? <loss_noun> ( reach | reaches | exceed | exceeds | hit | hits | go over | goes over | is | are | get to | gets to | go above | goes above | is more than | are more than | pass | passes ) ( over | above | more than | at )? <val> <ofbud>? ,? ( then )? ( please )? <halt>
        <halt> ( at | after | on ) ( a | an )? ( total | overall | max | maximum )? <loss_noun> of <val> <ofbud>?
        <halt> ( at | after | on ) ( a | an )? <val> ( total | overall )? ( loss | drawdown | losses | down )
        ( the | a | with a | my | set a )? ( max | maximum | maximal | largest | highest | acceptable | allowed | tolerable | total max | worst | biggest | hard | max allowed | maximum allowed | maximum acceptable | max acceptable | max tolerable | maximum tolerable | max total | maximum total ) ( allowed | acceptable | tolerable )? <loss_noun> ( allowed )? <is>? ( up to | at most )? <val> <ofbud>?
        ( a | the | with a | set a )? <val> ( max | maximum | max allowed | maximum allowed ) ( total | overall )? <loss_noun>
        <loss_noun> ( limit | cap | max | maximum | tolerance | ceiling ) <is>? <val> <ofbud>?
        ( a | the | with a | set a | my )? <loss_noun> ( limit | cap | max | maximum | tolerance ) ( of | at | is | : )? <val> <ofbud>?
        ( a | the | with a | set a )? <val> ( total | overall )? <loss_noun> ( limit | cap | max | maximum | tolerance )
        ( a | the | with a | set a | set the | my | use a | put a | have a )? ( stop loss | stoploss | stop loss limit ) <is>? <share> <ofbud>?
        ( a | the | with a | set a | my )? ( stop loss | stoploss ) of MONEY
        ( a | the | with a | set a | use a | have a | put a )? <share> ( stop loss | stoploss )
        ( lose | losing | lose in total | risk losing | loss of | losses of | drawdown of ) ( no more than | not more than | at most | up to | a maximum of | max | maximum | at maximum | never more than ) <val> <ofbud>?
        ( limit | cap | keep | hold | restrict ) ( the | my | total | any | overall | our | all | your )? <loss_noun> ( to | at | under | below | within | to at most | to a maximum of | to no more than ) ( most )? <val> <ofbud>?
        ( total | the | any | overall | my )? <loss_noun> ( must | should | may | can | shall | is to )? ( not exceed | never exceed | stay under | stay below | be at most | never be more than | not be more than | be capped at | be limited to | capped at | limited to | is capped at | are capped at | is limited to | are limited to | of at most | of up to | never above | not above | no higher than | no more than | at most ) <val> <ofbud>?
        no more than <val> ( may | can | should | must | is to | to )? ( be lost | be at risk of loss | loss | drawdown | in losses | of losses | of loss )
        ( the | a | my | set a | set the | with a | with the )? stop ( line | level )? <is>? BPS
        ( a | the | with a )? BPS stop ( line | level )?
        ( the | a | my | set a | set the | with a )? stop ( line | level )? <is>? <share> ( below | under | beneath ) ( the | my )? ( budget | start | starting value | initial value | starting capital | initial budget | starting balance )
        <halt> ( <when> ) <subj> ( is | are | falls | drops | goes | gets | 's )? <val> ( below | under ) ( the | my | its )? ( budget | start | starting value | initial value | starting capital | initial budget | starting balance | initial balance | starting point )
        <halt> ( <when> ) ( more than | over ) <val> ( is | has been | are | have been | gets | of it is | of the budget is | of the money is ) ( lost | gone )
        ( <when> ) ( more than | over ) <val> ( is | has been | are | have been | gets ) ( lost | gone ) ,? <halt>
        ( <when> ) ( i | we | you | it ) ( lose | loses | have lost | has lost ) <by_more>? <val> <ofbud>? ,? ( then )? ( please )? ( it's over | it is over | that's it | we're done | we stop | shut it down | pull the plug | call it a day )
        ( the most | the maximum ) ( i | we | you | it | the agent ) ( can | may | could | want to | am willing to | will | am ready to )? ( lose | afford to lose ) is <val> <ofbud>?
        ( i | we ) ( am | 'm | are )? ( ok | okay | fine ) with ( losing | a loss of | losses of ) ( up to | at most | no more than | max )? <val> ( at most | max | maximum )? <ofbud>?
        ( i'm | i am | we're | we are ) ( ok | okay | fine | comfortable ) with ( losing | a loss of | losses of ) ( up to | at most | no more than | max ) <val> <ofbud>?
        ( i'm | i am ) ( ok | okay | fine | comfortable ) with ( losing ) <val> ( at most | max | maximum ) <ofbud>?
        ( a | any )? ( total | overall )? ( loss | losses | drawdown ) ( of )? ( more than | over | above | beyond | greater than | larger than ) <val> ( is | are ) ( not acceptable | unacceptable | not ok | not okay | not allowed | too much | not tolerable | out of the question | not fine ) ( to me | for me )?
        ( my | the )? ( pain threshold | loss tolerance | risk tolerance ) is ( a )? <val> ( loss | drawdown )?
        risk ( at most | no more than | up to | a maximum of | max | only ) <val> ( in total | overall | of the total | of the budget in total | altogether )
    """,
    "lost_all": """
        ( with )? no ( stop line | stop loss | stoploss | floor )
        no ( stop line | stop loss | stoploss ) ( needed | please | required | at all )
        ( there is | there's | set ) no ( stop line | stop loss | stoploss )
        without ( a | any )? ( stop line | stop loss | stoploss )
    """,
    "half_lost": """
        <not> ( ever )? lose ( more than | over ) half ( ( of )? ( it | ( <my> ) ( budget | money | capital | funds | total ) ) )?
        <halt> ( <when> ) <subj>? ( loses | lose | lost | has lost | have lost ) half ( ( of )? ( it | its value | ( <my> ) ( budget | money | capital | funds | total | value ) ) )?
        <halt> ( <when> ) half ( ( of )? ( <my> ) ( budget | money | capital | funds | total ) )? ( is | has been | are ) ( lost | gone )
    """,
    "left": """
        <halt> ( <when> ) <subj>? <fall> ( <below> | down to | to ) <amt>
        <halt> ( <when> ) <subj> ( is | gets | becomes | are ) worth ( less than | under | below ) <amt>
        ( <when> ) <subj> ( is | gets | becomes | are ) worth ( less than | under | below ) <amt> ,? ( then )? ( please )? <halt>
        <halt> ( <when> ) <subj>? ( reaches | hits ) a ( low | minimum | floor ) of <amt>
        <halt> ( <when> ) <subj>? <fall> ( <below> | down to | to ) PCT <budget_of>
        <halt> ( <when> ) ( there is | there's | only | there are )? ( less than | under | below ) <amt> ( is | are )? ( left | remains | remaining | remain )
        <halt> ( <when> ) ( only | just ) <amt> ( is | are )? ( left | remains | remaining | remain )
        <halt> ( <when> ) ( i | we | you | it ) ( have | has ) ( less than | under | only | below ) <amt> ( left | remaining )
        ( <when> ) <subj>? <fall> ( <below> | down to | to ) <amt> ,? ( then )? ( please )? <halt>
        ( <when> ) <subj>? <fall> ( <below> | down to | to ) PCT <budget_of> ,? ( then )? ( please )? <halt>
        <halt> ( below | under ) <amt>
        <halt> ( below | under ) PCT <budget_of>
        <halt> at PCT <budget_of>
        <not> ( let )? <subj>? ( ever )? ( go | fall | drop | get | sink | dip | be | going | falling | dropping ) <below> <val> ( <budget_of> )?
        ( do not | don't | never ) let ( it | the <money_noun> | my <money_noun> | us | things ) ( ever )? ( go | fall | drop | get | sink | dip | slip ) <below> <val> ( <budget_of> )?
        ( <subj> ) ( must | should | may | can | is to | shall | has to ) ( not | never ) ( ever )? ( go | fall | drop | get | sink | dip | be ) <below> <val> ( <budget_of> )?
        ( <subj> ) ( must | should | has to | is to ) ( stay | remain | be kept | always be | always stay | always remain ) ( above | at or above | over | at least at | at least ) <val> ( <budget_of> )?
        ( keep | hold | maintain ) ( the | my | its )? <money_noun> ( above | at or above | over | at least at ) <val> ( <budget_of> )?
        ( keep | preserve | protect | retain | maintain ) ( at least | a minimum of | no less than | not less than ) <share> <budget_of>
        ( the | a | my | with a | set a | set the | put a | put the | use a | have a | hard )? floor ( value | level )? <is>? MONEY
        ( the | a | my | with a | set a | set the | put a | put the | use a | have a )? floor ( value | level )? <is>? NUM
        ( the | a | my | with a | set a | set the | hard )? floor ( value | level )? <is>? PCT <budget_of>
        ( a | with a | set a | hard )? MONEY floor
        ( the | a | my | with a | set a | set the | put the | put a | have a )? ( stop line | stop level ) <is>? ( at )? PCT <budget_of> ( left | remaining )
    """,
    "line": """
        ( the | a | my | with a | set a | set the | put a | put the | have a | use a )? ( stop line | stop level | stop ) <is>? <amt>
        ( a | with a )? MONEY stop ( line | level )
        <halt> ( at | when it reaches | if it reaches | when it hits | if it hits | once it hits | once it reaches | when we reach | if we hit | when the balance hits | if the balance hits | when the balance reaches ) <amt>
        ( the | a | my | with a | set a | set the )? ( stop loss | stoploss ) ( at | : )? <amt>
        ( the | a | my | with a | set a | set the | put a | put the | have a | use a )? ( stop line | stop level | stop ) <is>? PCT ( <budget_of> )?
        ( the | a | my | with a | set a | set the | hard )? floor ( value | level )? <is>? <share>
        ( a | with a )? PCT ( stop line | floor | stop level )
        <halt> at <share>
        <halt> ( <when> ) <subj>? <fall> ( <below> | down to | to ) <share>
    """,
    "close_there": """
        <at_line> ,? ( then | please )? ( just | simply )? <close_all>
        <close_all> ,? ( <at_line> | there | then )
        ( on floor | at floor | at stop | at the floor | at the stop line ) ( : | = )? close
    """,
    "keep_there": """
        <at_line> ,? ( then | please )? ( just | simply )? ( <keep_all> | do nothing | sell nothing | keep holding | keep everything | hold everything | hold | close nothing )
        ( <keep_all> | do nothing | sell nothing | keep everything | hold everything ) ,? <at_line>
        ( on floor | at floor | at stop | at the floor | at the stop line ) ( : | = )? keep
    """,
    "close_then": """
        ( then | there | and then )? ( also )? <close_all> ( then | there | at that point | immediately | too | as well )?
    """,
    "keep_then": """
        ( then | there | and then )? ( but | just | simply )? ( <keep_all> | keep everything | hold everything | sell nothing | close nothing ) ( then | there | at that point )?
    """,
    "fee": """
        ( you'll receive | you'll get | you'll keep | you'll earn | you will earn | you will keep | <you> will earn | <you> will keep | <you> will take ) ( a fee of | a share of )? PCT <gain> ( as ( your | a | its | the )? ( fee | reward | performance fee | agent fee ) )?
        profit split : PCT ( to | for ) ( the agent | you | it )
        ( <you> ( get | gets | keep | keeps | take | takes | earn | earns | receive | receives | can keep | may keep | may take | can take | will get | will receive | is paid | are paid | shall get | gets to keep | get to keep | can have ) ( a fee of | a share of | a cut of | up to )? )? PCT <gain> ( as ( your | a | its | the )? ( fee | reward | pay | payment | commission | cut | performance fee | agent fee | share ) | for your work | as compensation | for your trouble | if there is any )?
        ( keep | take | earn | get ) ( a fee of )? PCT <gain> ( as ( your | a | its | the )? ( fee | reward | pay | payment | commission | cut | performance fee | share ) | for yourself )?
        ( keep | take ) PCT as ( your | a | its | the ) ( fee | performance fee | commission | reward )
        ( i pay | i will pay | i'll pay | pay | give | i give | we pay | paying | i am paying | i'm paying | i will give | i'll give | i offer | offering | we offer ) ( <you> | the agent | yourself | an agent )? ( a fee of | a fee : | a share of | a cut of )? PCT <gain>
        ( i pay | i will pay | i'll pay | pay | we pay | i offer | i am offering | i'm offering ) ( <you> | the agent | yourself )? ( a )? PCT ( performance | success | agent | profit )? ( fee | commission | cut ) ( <gain> )?
        ( a | the | your | its | agent | the agent's | agent's | my | with a | for a | agent's )? ( agent | performance | success | profit )? <fee_noun> ( <is> | of | : | at )? PCT ( <gain> )?
        ( a | with a | for a | your | the )? PCT ( performance | success | agent | profit | gain | incentive )? ( fee | commission | cut | share ) ( for you | for the agent | to the agent | to you )? ( on | of | from | over )? ( <gain> )?
        PCT <gain> ( goes | go | is | are | belong | belongs | will go ) ( to )? ( you | the agent | yours | the agent's | your fee | the agent's fee | the fee )
        PCT profit share ( for you | for the agent )?
        ( fee | fees | agent fee ) ( : | is | = )? PCT ( of | on )? ( profit | profits | gain | gains )
    """,
    "no_fee": """
        ( there is | there's | with | you get | the agent gets | i pay | we pay | pay )? ( no | zero ) ( agent | performance | success | agent's )? ( fee | fees | commission | commissions | profit share ) ( for you | for the agent | to the agent | please | at all )?
        ( fee | fees | commission | agent fee | performance fee ) ( is | : | = | are )? ( none | zero | nothing | nil )
        ( i | we ) ( won't | will not | do not | don't ) pay ( a | any | you a | you any | the agent a | the agent any )? ( fee | fees | commission )
        ( you | the agent | it ) ( work | works | does this | do this | does it | do it ) ( for free | free of charge | without pay | without a fee )
        ( free of charge | for free )
        without ( a | any | an )? ( agent | performance )? ( fee | fees | commission )
        ( you | the agent ) ( get | gets | take | takes | charge | charges | earn | earns | receive | receives ) no ( fee | fees | share | commission | cut )
    """,
    "ask": """
        ( <ask> | always <ask> | please <ask> ) ( <objw> ){0,7} <over> <amt> ( <per_act> | each | in size | in value | total | in one trade )?
        ( <ask> ) ( <objw> ){0,5} ( that )? ( exceeds | exceed | costs over | is over | goes over | going over | that exceed ) <amt> ( <per_act> | each )?
        ( <over> ) <amt> ,? ( : | - | always | you must | you have to | please | you need to | first | i want you to | the agent must | the agent has to )? ( <ask> )
        ( for | on | with )? <thing> ( <over> ) <amt> ,? ( : | - | always | you must | you have to | please | you need to | first | i want you to | the agent must | the agent has to | it must | it has to )? ( <ask> )
        ( for | on | with )? <thing> ( <over> | exceeding | exceeds ) <amt> ( in size | in value )? ( <needs> ) <approval> ( first )?
        ( anything | everything | any <act> | every <act> | all <act> ) ( that | which )? ( costs | cost | is | exceeds | goes | are ) <over>? <amt> ( <needs> | must have ) <approval> ( first )?
        ( above | over | beyond ) <amt> ( needs | need | requires | only with ) <approval>
        ( for | on | with )? <thing> ( <over> ) <amt> ( must | has to | have to | should | needs to | need to | shall | is to | are to | can only ) ( first )? ( be )? ( approved | confirmed | be approved | go through me | be confirmed | run by me | signed off | be run by me | come to me | happen if i approve | happen with <approval> ) ( by me | by the owner | first | by me first )?
        <thing> ( <over> ) <amt> only with <approval>
        ( if | when | whenever | should ) ( <objw> | spend | trading | is | exceeds | exceed | payment ){1,6} ( <over> )? <amt> ,? ( then )? ( please | always | you must | first )? ( <ask> )
        ( i | we ) ( want | need | would like | wish | 'd like | have | like ) to ( approve | confirm | ok | okay | sign off on | sign off | be asked about | be asked before | be asked for | see and approve | review | be asked ) ( <objw> | spend ){0,5} ( <over> ) <amt>
        ( i | we ) ( must | will | shall | should ) ( approve | confirm | ok | okay | sign off on | be asked about | be asked before ) ( <objw> ){0,5} ( <over> ) <amt>
        ( i'd | i would ) like to ( approve | confirm | ok | sign off on | be asked about | be asked before ) ( <objw> ){0,5} ( <over> ) <amt>
        let me ( approve | confirm | ok | sign off on | decide on | decide about ) ( <objw> ){0,5} ( <over> ) <amt>
        ( my | an | our | owner | manual | explicit )? ( approval | confirmation | permission | sign off ) ( is )? ( needed | required | necessary | threshold | amount | limit | line | level )? ( for | on | <objw> ){0,4} ( <over> | threshold | : | from above | limit : | threshold : | threshold is | threshold of | amount : ) <amt>
        ( approval | approvals | asking | ask ) ( threshold | amount | limit | line | level ) <is>? <amt>
        ( set | the | a | my )? ( approval | asking ) ( threshold | amount | limit | line ) <is>? <amt>
        ( require | requires | needs | need ) ( my | an | explicit )? ( approval | confirmation | permission | sign off ) ( <objw> ){0,5} ( <over> ) <amt>
        ( nothing | no <act> | no single <act> | no payment | no purchase | no trades ) ( <over> | costing more than | of more than | worth more than ) <amt> ( goes through | happens | may happen | is allowed | goes out | should happen | leaves )? ( without | unless with | before ) ( asking me | asking | <approval> | my approving it | checking with me | asking me first ) ( first )?
        ( never | do not | don't | must not | you must not | you may not | may not ) ( <spendv> | make | place | do | go | pay | buy | book | order | purchase | sign | execute | commit to | accept | take | send | enter | open | transfer | approve | swap ) ( anything | <act> | a <act> | any <act> | amounts | a single <act> | sums | a payment | trades )? ( <over> | worth more than | of more than | costing more than | for more than | larger than ) <amt> ( without | before ) ( asking me | asking | <approval> | checking with me | asking me first ) ( first )?
        ( <you> <may> | you | feel free to ) ( <spendv> | act | go | trade | make purchases | decide ) ( freely | alone )? ( up to ) <amt> without ( asking | asking me | <approval> | checking with me | asking first )
        ( up to ) <amt> ( you can | you may | you needn't | you don't need to | you do not need to | no need to | the agent may | the agent can ) ( act alone | ask | act on your own | decide alone | decide yourself | act without asking | go ahead without asking | decide on your own | go ahead )
        ( no approval | no approvals | no need for approval | approval is not needed | no approval needed | no approval is needed ) up to <amt>
        ask <is>? ( above | over ) ( : | = )? <amt>
        ( ask | approval ) above ( : | = | is ) <amt>
    """,
    "ask_from": """
        ( <ask> | always <ask> ) ( <objw> ){0,6} <amt> ( or | and ) ( more | above | up | over | higher | larger | upwards )
        ( <ask> | always <ask> ) ( <objw> ){0,6} from <amt> ( up | upwards | on | onwards | and up | and above | on up )
        ( <ask> | always <ask> ) ( <objw> ){0,6} ( of | at ) ( least ) <amt>
        <thing> of <amt> ( or | and ) ( more | above | up | over ) ( <needs> ) <approval>
    """,
    "ask_never": """
        ( never | no need to | you need not | you needn't | you do not need to | you don't need to | you do not have to | you don't have to ) ask ( me | us )? ( first | for approval | for permission | for anything | about anything )?
        ( do not | don't ) ( bother )? ( ask | asking ) ( me | us )? ( for approval | for permission | for anything | about anything )?
        ( no | without ) ( approval | approvals | confirmation | confirmations | permission ) ( is | are )? ( needed | required | necessary )?
        ( act | trade | decide | work | operate | spend ) ( <for_what> )? ( without asking | without asking me | on your own | autonomously | fully autonomously | without approval | without my approval )
        ( you | the agent | the bot | it ) ( can | may | is allowed to | are allowed to | should ) ( act | trade | decide | work | operate | spend ) ( freely | fully )? ( without asking | without asking me | on your own | on its own | autonomously | without my approval | without approval )
        without asking ( me )? ( first | for approval | anything )?
        ( fully autonomous | full autonomy | you have full autonomy | the agent is fully autonomous | the agent acts on its own | you are fully autonomous | it acts on its own | the agent may act alone | run autonomously | run fully autonomously )
    """,
    "ask_always": """
        ( please )? ( always )? ( <ask> ) ( every time | each time | always | for everything | about everything | for anything | about anything )
        ( please )? always ( <ask> ) ( before ( you )? ( act | anything | acting | doing anything | you act | trading | spending | you trade | you spend | you do anything | any <act> | each <act> | every <act> | a <act> | making a <act> | buying | spending anything ) )?
        ( please )? ( <ask> ) before ( you )? ( every | each | any | all | making any | making each | making a | a | placing any | doing any | executing any | you make a | you make any )? ( single )? ( <act> | anything | acting | you act | doing anything | spending | trading | spending anything | you spend | you trade | you do anything | buying | buying anything | you buy | you spend anything | you buy anything | you act )
        ( <not> ) ( act | spend | trade | buy | do | move | pay | go ahead | proceed | make | invest | execute | use ) ( anything | money | <act> | any <act> | a <act> | my money | any money | a single <act> | the money | a cent | a dime )? ( without | before | unless ) ( asking me | asking | <approval> | checking with me | i approve | i say so | you ask me | asking me first | you asked me | i agree | i confirm | i ok it | i approve it | you have <approval> ) ( first | before )?
        ( i | we ) ( want | need | would like | 'd like | have | must | will | wish ) ( to )? ( approve | confirm | sign off on | ok | be asked about | be asked before | review ) ( everything | every <act> | each <act> | all <act> | any <act> | every single <act> | anything | all of it | each and every <act> )
        ( approve | i approve ) ( everything | every <act> | each <act> | all <act> ) ( myself )?
        ( every | each | all | any | every single ) ( <act> )? ( needs | need | requires | require | must have | has to have ) <approval> ( first )?
        ( everything | anything ) ( needs | requires | must have | has to have ) <approval> ( first )?
        ( every | each | all | any ) <act> ( must | has to | have to | should | needs to ) be ( approved | confirmed ) ( by me )? ( first )?
        ( nothing | no <act> | no single <act> ) ( without | before ) ( <approval> | asking me | asking | my saying so )
        i ( want to | must ) be asked ( every time | always | first | each time | about everything | before everything )
    """,
    "span": """
        ( for | over | within | during | lasting | lasts | last | run for | runs for | running for | valid for | good for | over the course of | across | throughout | it runs for | keep it running for | run this for | run it for | live for | works for | active for | should run for | should last | must last | will last | will run for | use it over | spread over | to be used over | for a total of | for a period of | over a period of | for a duration of ) ( the | these | this )? ( next | coming | following | full | first | whole | entire | a period of | exactly | a total of )? SPAN ( only | in total | long | from now | from today | starting now | starting today | total )?
        SPAN ( horizon | period | mandate | run | term | duration | long | in total | only | timeframe | time frame | window | time horizon | trial | from now | from today | starting now | starting today | trial run | total | of runtime | max )?
        ( a | an | the | with a | for a | set a | on a ) SPAN ( horizon | period | mandate | run | term | duration | timeframe | time frame | window | time horizon | trial | trial run | test | experiment | trial period )
        ( the | a | my | total | with a | set a | set the )? ( duration | horizon | period | term | time | length | timeframe | time frame | runtime | time horizon | time limit | lifetime | how long | run time | run | mandate length | mandate period | running time | window | deadline ) ( <is> | : | of )? SPAN ( from now | from today | long | in total )?
        ( ends | end | end it | stop it | finish | it ends | ending | expire | expires | it expires | expiring | done | wrap up | stops | finished | terminate | terminates | it stops | wind down | return the money | give it back | stop trading | the mandate ends | the mandate expires ) ( after | in | within ) SPAN
        ( it should be over in | it should be over after | be done in | be done within | be finished in | it is over after | should be over in ) SPAN
        ( it | this | the mandate | the budget | the job | the task | the deal | you | the agreement | the agent | this mandate ) ( is for | lasts | runs | runs for | ends in | ends after | is valid for | should last | should run for | has | have | should run | will run for | is good for | covers | expires in | expires after | must last | is to last ) SPAN
    """,
    "week": """
        ( for | over | within | during | lasting | run for | runs for | across ) ( a | one | the next | the coming | one full | a full | a single | the following ) week
        ( a | one ) week ( long | only | in total | from now | from today )?
        ( duration | horizon | period | term | time | length | timeframe | runtime | time horizon ) ( <is> | : )? ( a | one ) week
        a one week ( run | period | trial | mandate | horizon )
    """,
    "fortnight": """
        ( for | over | within | during | lasting | run for | across )? ( a | one | the next | the coming | one full ) fortnight
    """,
    "month": """
        ( for | over | within | during | lasting | run for | runs for | across ) ( a | one | the next | the coming | one full | a full | a single | the following ) month
        ( a | one ) month ( long | only | in total | from now | from today )?
        ( duration | horizon | period | term | time | length | timeframe | runtime | time horizon ) ( <is> | : )? ( a | one ) month
    """,
    "year": """
        ( for | over | within | during | lasting | run for | runs for | across ) ( a | one | the next | the coming | one full | a full ) year
        ( a | one ) year ( long | only | in total | from now | from today )?
        ( duration | horizon | period | term | time | length | timeframe ) ( <is> | : )? ( a | one ) year
    """,
    "until": """
        ( until | till | til | through | up until | up to and including | lasting until | lasts until | valid until | running until | run until | runs until | good until | good through | keep going until | from now until | from today until | from now to | starting now until | from now through | ending | ends | end | ends on | end on | ending on | it ends | it ends on | ending by | expires | expires on | expiring | expiring on | expire on | it expires on | it runs until | it lasts until | not beyond | not after | no later than | by | to be finished by | finish by | end by | done by | stop on | stop trading on | end date | end date : | end date is | ends : | until : | the mandate ends on | the mandate runs until | the mandate ends | the deal runs until | the deal ends on | this runs until | the agreement runs until | this ends on | this is until | work until | works until | works through | trade until | go on until | continue until | you have until | the agent works until | keep trading until | finish before the end of | active until | and ends on | the end date is | deadline | deadline : | deadline is | the deadline is | close out by | wrap up by | with an end date of | ending at | end : | it should end on | should end on | should run until | must end by | must end on | last until ) ( the )? DATE ( at the latest | included | inclusive | inclusively )?
    """,
    "before": """
        ( until before | ends before | ending before | end before | done before | finish before | before ) ( the )? DATE
    """,
    "aim": """
        ( <aimw> ) ( for )? ( a | an )? ( total | overall | target )? ( return | gain | profit | growth )? ( of )? PCT ( return | gain | profit | growth | total return )? ( in total | overall | altogether )?
        ( the | a | my | with a | our )? ( target | goal | objective | profit target | return target | target return | target gain | target profit | gain target | aim ) ( <is> | : | is a gain of | is a return of | is a profit of | is to make | is to gain )? PCT ( gain | return | profit | growth )? ( in total | overall )?
        ( a | with a | the )? PCT ( target | goal | return target | profit target | gain target | target return )
        aim to ( make | earn | gain | return | grow it by ) PCT ( in total | overall )?
    """,
    "aim_money": """
        ( <aimw> ) ( for )? ( a | an )? ( total | overall )? ( return | gain | profit ) of MONEY
        ( <aimw> ) for MONEY ( of )? ( profit | gain | gains | in profit )
        aim to ( make | earn | gain ) MONEY
    """,
    "markets": """
        ( please )? ( only | just )? ( trade | use | buy | invest in | put it in | put it into | put it all in | put it all into | invest it in | deploy it in | put the money in | put the money into | put everything in | put everything into | work in | stick to | trade in | trade on | lend on | lend in | deposit into | deposit in | supply to | invest the money in | use only | trade only | invest only in | only invest in | only use | only trade | work with | supply it to | lend it on | place it in | earn on | earn yield on | earn yield in | earn interest on | run on | stay in ) ( only | just )? MARKET ( only )?
        ( allowed )? ( market | markets | venue | venues | targets | target ) ( : | = | is | are | allowed : )? ( only )? MARKET ( only )?
        ( in | into | on | to | with | via | through | using | for ) ( only )? MARKET ( only )?
        ( to | to be | and )? ( put it | put | invest | trade | use | lend | buy | deposit | invested | used | lent | deposited | supply | work | put to work ) ( in | into | on | with | to )? ( only )? MARKET ( only )?
        ( i want you to | i would like you to | i'd like you to | i want to | i'd like to | your job is to | the agent should | you should | help me ) ( trade | use | buy | invest in | work in | trade in | trade on | lend on | lend in | deposit into ) ( only )? MARKET ( only )?
        MARKET only
        only MARKET
        MARKET
        ( you | the agent | it ) ( may | can | should | must ) ( only )? ( use | trade | invest in | work in | trade in | trade on | deposit into | work with ) ( only )? MARKET ( only )?
    """,
    "other": """
        <o_det>? <o_thing> W{0,3} ( <o_verb> ) ( about | around | roughly | some | a | an | near | at | at about | approximately | up to | as much as | between | nearly | almost ){0,2} ( MONEY | NUM | PCT | BPS | SPAN | DATE ) ( <o_tail> ){0,5}
        ( there is | there's | expect | note that there is | mind | be aware of | be aware that there is | note ) ( a | an | about | around | some )? ( MONEY | PCT | BPS ) ( <o_thing> | fee ) ( at the venue | on the exchange | there | on top | per <act> | on each <act> | on every <act> | for each <act> | by the venue )?
        <o_det>? <o_coin> ( is | trades | trades at | is trading | costs | stands | is at | was at | sits at | was | is trading near | trades near | trades around | trades for | is worth | closed at | is priced at | is around | is near | went | rose | fell | dropped ) ( about | around | at | near | roughly | for | at about | at around | by | up | down ){0,2} ( MONEY | PCT ) ( <o_tail> ){0,4}
        the price of <o_coin> ( is | was | stands at | is at | is about | is around ) ( about | around | at | near | roughly )? MONEY ( <o_tail> ){0,4}
        ( my | her | his | their | our ) ( <o_person> | <o_owned> ) W{0,3} ( is | was | costs | costs me | pays | earns | has | had | gets | got | lost | made | spent | spends | turns | lives | is about | comes to | makes | owes | owes me | bought | sold | runs ) ( about | around | on | at | over | roughly | some | a | for | up | nearly ){0,2} ( MONEY | NUM | PCT | SPAN | DATE ) ( <o_tail> | W ){0,5}
        ( my | her | his | their | our ) ( <o_person> | <o_owned> ) W{0,3} ( is | was ) on DATE
        i ( am | 'm ) ( NUM | SPAN ) ( years )? old
        ( today is | it is | it's | today's date is | the date is ) ( the )? DATE
        i ( earn | make | owe | get paid | pay ) ( about | around | roughly )? MONEY ( <o_tail> | in rent | in taxes | at work | at my job | for rent ){0,4}
        ( last | this | the last | the past ) ( year | month | week | time ) ( it | i | we | <o_coin> | the market | the bot | my bot | another bot | he | she | they | an agent | another agent | my friend ) ( lost | made | earned | spent | gained | was | paid | fell | rose | dropped ) ( about | around | up | down | by | over )? ( MONEY | PCT | NUM ) ( <o_tail> | W ){0,4}
    """,
    "talk": """
        keep me ( posted | updated | informed | in the loop ) ( W ){0,3} ( <per_day> | every week | weekly | every few days )?
        ( let me know | tell me | write me ) ( when you are done | when it is done | when you're done | how it goes | how it went | what you did | what you bought | what you find | when it's done | when you finish )
        ( the gas is on me | gas is on me | i pay the gas | i pay for gas | i will pay the gas | i'll pay for gas )
        ( do not | don't | never ) ( buy | do | touch | use ) anything ( illegal | shady | dodgy | weird | fishy | adult )
        keep ( it | things ) ( safe | simple | boring | quiet | short | calm )
        keep ( a | an ) ( eye | log | record | diary | journal ) ( on | of )? ( W ){0,5}
        keep ( good | clean | clear | careful | tidy )? ( records | notes | logs ) ( of )? ( W ){0,5}
        ( send me | write me | give me | send | i want | post ) ( a | an )? ( short | brief | quick )? ( report | summary | update | note | overview ) ( <per_day> | every week | each week | weekly | once a day | once a week | every month | monthly | every evening | every morning | at the end | each evening | each morning )?
        report ( back )? ( to me )? ( <per_day> | every week | each week | weekly | once a day | once a week | every evening | every morning )?
        ( no questions asked | no rush | no hurry | no problem | no pressure | no surprises please | no surprises | not a big deal | do not panic | don't panic | never mind the noise | do not rush | don't rush )
        ( do not | don't | never ) ( do anything | be ) ( stupid | silly | risky | reckless | crazy | greedy | foolish | illegal )
        ( be | stay | please be ) ( careful | safe | patient | cautious | smart | conservative | nice ) ( with ( my | the | our ) money )? ( please )?
        be careful ( about | with ) ( losses | risk | risks | fees )
        ( low | minimal | little ) risk ( only | please )?
        ( do not | don't ) ( chase | gamble | overtrade )
    """,
    "lead": """
        ( please | also | and also | then | make sure to | make sure you | make sure that | make sure that you | be sure to | remember to | remember that | note that | i want you to | i would like you to | i'd like you to | you should | you must | you have to | the agent should | the agent must | the agent has to | it should | it must | you need to | the agent needs to | you | the agent | additionally | finally | further | furthermore | moreover | in addition | as well as | with | plus | next | but | but please | and please | and make sure to | kindly | importantly | of course | always | i want the agent to | i'd like the agent to | i would like the agent to | let the agent | let it | let the bot | have the agent | i want my agent to | i need the agent to | i need you to | do it | do this | run it | run this | let's start small : | let's start small | leave it there | leave it in | keep it there | keep it in there | hold it | hold it there | as for limits : | the agent can | the agent may | you can | you may | it can | it may | i will let you | just | simply | my agent should | my agent can | the bot should | the bot can | the bot must | and then | so please | in short : | in short | overall : | in total : | yes | ok | okay | so | hi | hello | hey | thanks | thank you )
        ( here is the plan | here's the plan | the plan | plan | here are the limits | here are the rules | here are my rules | here are my limits | my conditions | my budget rules | the conditions | the details | the setup | setup | limits | rules | terms | mandate | task | caps | conditions | instructions | constraints | details | settings | summary | parameters | the limits | the rules | the terms | my limits | my rules | my terms | our terms | mandate terms | hard limits | risk limits | guardrails | budget and limits | limits are | the limits are | spending limits | caps are | risk | money | guard rails | boundaries | ground rules | the deal | deal ) ( : )
    """,
    "about": """
        ( on | for | to | towards ) W{1,8}
        for ( me | us )
        ( to <pverb> ) ( W | and ){0,8}
    """,
    "manner": """
        ( thanks | thank you | please | cheers | many thanks | thanks a lot | from now on | starting today | starting now | from today | from today on | as agreed | as discussed | ok | okay | no exceptions | without exception | no exceptions please | at all times | at any time | ever | for sure | of course | period | under any circumstances | no matter what )
    """,
    "purpose": """
        ( please | i want you to | i would like you to | i'd like you to | your task is to | your job is to | the task is to | the job is to | the goal is to | you should | you are to | help me | help me to | i want to | we want to | i need to | i need you to | i want an agent to | i'd like an agent to | i'd like the agent to | i want the agent to | i would like the agent to | i'd like my agent to | we want an agent to | the agent needs to | my agent should | my agent will | let my agent | i want my agent to | i need an agent to | i am looking for an agent to | the agent should | the agent will | the agent is to | it should | let the agent | let it | use it to | use this to | use the money to | use the budget to | use them to | have the agent | i'd like to | i would like to | we need to | to | and | an agent to | this is to | this budget is to | the purpose is to | purpose : | task : | goal : | job : | purpose : to | task : to )? <pverb> ( W | and | , ){0,14}
        ( for | this is for | it is for | it's for | purpose : | task : | goal : | job : ) ( W ){1,8}
    """,
}  # fmt: skip
