"""What takes nothing back and says nothing: who writes, what he is at, thanks, excuses, farewells.

A `ground` is an `intro` that a mere amount behind it may belong to: what comes next has to say
what it is. A `label` names what its line is about, and says nothing of an amount.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "ground": """
        <i_am> <adverbs>? <at_work> <what_else>? ( <and_cant> | <and_like> )?
        <i_am> <adverbs>? ( a | an | the ) W{1,5} ( <and_cant> | <and_like> )
        ( i've | we've | i have | we have ) ( never | not ) ( really )? ( done | tried | used | had
            ) ( this | it | anything like this | this sort of thing | an agent | a bot | one ) (
            before | yet | until now )?
        <i_am> <adverbs>? <being> <whats>? ( <and_cant> | <and_like> )?
        ( i | we ) <adverbs>? <cant> <whats>? ( <and_like> )?
        ( i | we ) <adverbs>? ( study | teach | live | travel | write | paint | cook | drive | farm
            | fish | love | enjoy | like | hate | dislike | work | run | own | sell | make | help |
            play | read | garden | bake | know ) <what_else> ( <and_cant> | <and_like> )?
        ( i | we ) ( have | 've got | have got | 've | got ) ( a | an | no | my | our | the | little
            | very little | zero | some | exams | kids | a lot of | lots of | too many | not much |
            not enough | so many | too much ) <what_else> ( <and_cant> )?
        <because> <i_am> <whats> ( <and_cant> )?
        <because> ( i | we ) <adverbs>? ( have | want | need | like | prefer | work | <cant> | don't
            | do not | live | study | teach | run | know ) <what_else>? ( <and_cant> )?
        ( being | speaking as ) ( a | an ) <what_else>
        with ( exams | deadlines | a new baby | a newborn | a baby | school | work | my job | kids |
            the kids | my studies | the holidays | christmas | the move | everything going on )
            <what_else>?
        ( my | our ) ( job | work | schedule | life | week | days | weeks | shift | shifts | studies
            | children | kids | family | head | plate | hands ) ( is | are | keeps | keep | leaves |
            leave | takes | take ) ( me | us )? <what_else>
    """,
    "intro": """
        ( our | the | my ) ( club | team | family | group | board | company | committee |
            association | members | class | band | partners | treasurer ) ( has | have | 's )? (
            just | now | finally )? ( voted | decided | agreed | met | talked | discussed ) (
            <what_else> )?
    """,
    "label": """
        ( termination | remuneration | compensation | objective | scope | exit | security |
            safeguard | safeguards | duration | reporting | emergency | safety net | brake |
            emergency brake | protection | risk control | stop rule | stop condition | exit rule |
            end of mandate | end | markets | venue | where | how long | when to stop | your pay |
            your reward | time ) :
    """,
    "sorry": """
        ,? ( sorry for that | sorry about that | sorry | i'm sorry | so sorry | sorry about that |
            i'm afraid | sorry mate | sorry buddy | sorry friend | my apologies | apologies )
    """,
    "talk": """
        ( my | the ) ( english | spelling | grammar | typing ) ( is | isn't ) ( not )? ( so | very |
            too | that )? ( perfect | good | great | bad | poor | the best )
        let me be ( very | quite )? ( clear | brief | honest | precise | quick | frank | plain ) (
            about ( the | my )? ( W | limits | rules | money | terms | conditions ) )?
        ( sorry | apologies | excuse me | my apologies | forgive me ) ( for | about ) ( the | my |
            this | any ) ( short | brief | late | long | quick | messy | clumsy | bad | poor )? (
            note | message | notice | english | spelling | grammar | typing | typos | handwriting |
            wording | bother | trouble | rush | hurry | brevity | formality | long note | short
            message )
        ( best | warm | warmest | kind | kindest | good | with best | with kind | with warm | many |
            sunny | friendly ) ( wishes | greetings | regards ) <from_whom>?
        ( with )? ( best | kind | warm )? ( regards | greetings | thanks ) ( and regards )?
            <from_whom>?
        ( all the best | take care | yours | yours truly | yours sincerely | yours faithfully |
            sincerely | faithfully yours | sincerely yours | respectfully | love | cheers | lots of
            love | see you | talk soon | speak soon | ciao | bye | goodbye | bye for now | until
            soon | have a good one | have a nice day | have a good day | have a great day | have a
            lovely day | good luck to you | good luck to us | best of luck | fingers crossed | god
            bless | over and out | that's all folks | signed | yours ever | with love | enjoy |
            respectfully yours | with respect | xoxo | thank you kindly | ta | ta very much | much
            appreciated | much obliged | appreciated | appreciate it | i appreciate it | greatly
            appreciated | thanks a bunch | thanks a lot | thanks so much | thank you so much | thank
            you very much | thanks very much | many thanks | a thousand thanks | thanks a million |
            big thanks | thanks again | thank you again | thanks in advance | thank you in advance )
            <from_whom>?
        ( thanks | thank you | thx | cheers | many thanks | thanks a lot | thank you very much |
            thank you so much | thanks so much ) ( so much | very much | a lot | in advance | again
            )? for ( W | all | everything ){1,6}
        ( nice | good | great | lovely | glad | pleased | happy ) to ( meet you | have you | work
            with you | have you on board | hear from you | be working with you | see you | have you
            here )
        ( welcome | welcome aboard | welcome on board | welcome to the team | congratulations )
        ( hope | i hope | hoping ) ( you | you're | this | that | all | everything ) ( W ){1,8}
        ( this is | it's | i'm | my name is | i am | here is ) ( W ){1,2} ( here | from ( W ){1,4} |
            speaking | again )
        ( i | we ) ( trust | believe in | have faith in | have confidence in | have full confidence
            in | rely on | count on | am counting on | trust in | am relying on ) ( you | your (
            judgement | judgment | skill | skills | instincts | abilities | talent | sense | good
            sense ) | the agent ) ( fully | completely | with this | with it | on this )?
        ( do | you can do | you may do | feel free to do ) ( whatever | what | as ) ( you | you'd )
            ( like | want | think is best | think best | think is right | find best | think is
            sensible | believe is best | consider best | please | feel is right ) ( with it | with
            that | with the money | within these limits | within those limits )?
        ( you ) ( decide | choose | pick | figure out | work out ) ( how | what | which | where |
            when ) ( W | to use | to trade | to invest | to buy | to put ){0,5} ( it | best )?
        ( the rest | everything else | how you do it | how | the how | what you buy | what you trade
            | where | the details | the strategy ) ( is | 's ) ( all )? ( up to you | your call |
            yours to decide | your decision | your choice | your business )
        ( i | we ) ( won't | will not | don't | do not ) ( interfere | meddle | micromanage | look
            over your shoulder | bother you | disturb you | get in your way | check on you ) ( W
            ){0,4}
        ( questions | any questions | if anything is unclear | if something is unclear | if you have
            questions | if you have any questions | if in doubt ) ,? ( just )? ( W ){0,2} ( write |
            message | email | shout | write me | email me | message me | drop me a line )
        ( i'm | i am | we're | we are | it's ) ( so | very | really | quite | a bit | a little |
            super | pretty )? ( excited | curious | happy | glad | thrilled | keen | delighted |
            pleased | interested | nervous | hopeful ) ( about | to see | to try | to find out | for
            | to hear | to have | to start | to get ) ( W | this ){0,7}
        ( looking forward | i look forward | we look forward | i'm looking forward | can't wait ) (
            to ) ( W | this | it ){1,7}
    """,
    "lead": """
        ( bro | yo bro | hey bro | hey dude | hey man | hi mate | hey mate | hi friend | ok bro |
            hey buddy | ok dude | yo dude | heads up | quick note | right so | alright so | ok so
            like | ok like | so basically | ok so basically | so yeah | anyway so | hi all ) ( , | :
            )?
        ( dude | mate | buddy | pal | guys | folks | fam | sir | madam | sirs | dear sir | dear
            madam | robot | little robot | little bot | dear robot | dear assistant | dear ai | dear
            friend | captain | chief | champ | listen | look | see | well then | my friend | friend
            | man | hello friend | my dear agent | dear sir or madam ) ( , | : )
        ( ( please )? be ( advised | informed | aware | assured | notified ) that | i ( hereby )? (
            inform you | confirm | declare | state | advise you ) that | this is to ( inform you |
            confirm | say | let you know | advise you ) that | ( please )? ( take note | be so kind
            as to note | kindly note ) that | let it be known that | it is agreed that | it is
            understood that | we agree that | the parties agree that | i'd like to add that | i
            should add that | i should mention that | please keep in mind that | keep in mind that |
            bear in mind that | just so you know | just so we're clear | for the record | for the
            avoidance of doubt | for the sake of clarity | for the sake of good order | in plain
            words | in plain english | in simple terms | simply put | to put it simply | put simply
            | to sum up | to summarise | to summarize | in summary | all in all | in essence )
        ( i | we ) ( should | would ) like <you> to
        ( if | should | in case ) ( it | things | anything | something | all | everything | this ) (
            goes | go | went ) ( wrong | badly | south | sideways | pear shaped )
        ( here you go | here you are | here we are | there it is | take note ) ( , | : | - )
        ( now | this time | from here on | all i want now | and now )
        ( i'd | i would | we'd | we would ) ( prefer | rather like | be pleased | appreciate it if |
            love it if ) ( <you> ) ( to | could | would )?
        ( what i'd like | what i want | all i want | all i ask | my request | my idea | the idea |
            what i have in mind | what i need | here's what i need | here's what i'd like | here is
            my request | the arrangement | the assignment | your assignment | your mission | the
            mission | this is what i want | i ask the following | the brief | my brief | in detail |
            to be precise | more precisely | specifically | concretely ) ( is | is this )? :
        ( how about | what about | let's agree on | let us agree on | let's settle on | shall we say
            ) this :
        ( for | as for ) ( my | our ) ( W ){0,3} ( project | paper | thesis | essay | class | course
            | blog | studies | research | homework | dissertation | lessons | newsletter | podcast |
            report | coursework | unit | club | shop | business | startup | company | students )
    """,
}
PARTS: Final[Mapping[str, str]] = {
    "because": """
        since | as | because | while | now that | given that | seeing as | seeing that | whilst |
        considering | considering that
    """,
    "adverbs": """
        ( now | still | just | currently | also | always | often | already | only | usually |
        normally | sadly | unfortunately | honestly | simply | mostly | about to | going to be | on
        my way to | hoping to | quite | very | really | rather | a bit | a little | too | so |
        pretty ){1,2}
    """,
    "i_am": """
        i'm | i am | we're | we are | i'll be | we'll be | i will be | we will be | i've been | i
        have been | we've been
    """,
    "at_work": """
        saving | saving up | getting | moving | planning | trying | travelling | traveling | going |
        working | studying | learning | writing | teaching | running | marking | raising | preparing
        | building | renovating | retiring | expecting | thinking | heading | flying | hiking |
        sailing | camping | driving | leaving | living | sitting | recovering | training | reading |
        grading | caring | organising | organizing | opening | setting up | launching | taking time
        off | taking a break | having a baby | getting married | finishing | juggling | drowning in
        work | swamped with work | changing jobs | enjoying
    """,
    "being": """
        away | busy | abroad | retired | new | tired | offline | out | out of office | out of town |
        unavailable | swamped | ill | sick | in hospital | at sea | at work | at school | on holiday
        | on vacation | on leave | on a trip | on the road | on a plane | on a boat | on parental
        leave | on maternity leave | in meetings | in class | in the mountains | at a conference |
        at a wedding | asleep | no expert | not an expert | not good | bad | hopeless | terrible |
        clueless | cautious | careful | nervous | curious | lazy | old | young | a beginner | a
        newbie | a student | a teacher | a nurse | a pensioner | unemployed | between jobs |
        freelance | self employed | forgetful | impatient | patient | conservative | risk averse |
        afraid | scared | worried | happy | glad | excited | fond | sceptical | skeptical |
        travelling | traveling | hiking | camping | sailing
    """,
    "cant": """
        can't | cannot | can not | can't keep | cannot keep | won't be | will not be | won't be able
        to | will not be able to | am unable to | are unable to | won't have time to | don't have
        time to | do not have time to | don't have the time to | have no time to | don't know how to
        | don't know | don't understand | do not understand | know nothing about | know little about
        | am bad at | am not good at | don't like | never learned | never learned to
    """,
    "and_cant": """
        ,? ( and | so | but | or ) ( i | we )? ( also | just | really | simply )? <cant> <whats>
    """,
    "and_like": """
        ,? and ( i | we | i'd | we'd )? ( would | 'd | also | just | really )? ( like | love |
        prefer | want | need | enjoy | have ) <what_else>
    """,
    "plain_word": """
        W | all | every | no | too | not | out | off | over | this | that | next | about | around |
        much | many | both | now | nights | weekend | weekends | evenings | mornings | tonight |
        today | lot | lots | kids | children | busy | market | markets | charts | trading
    """,
    "what_else": """
        <plain_word> <plain_word>*
    """,
    "time_word": """
        <plain_word> | more | most | day | days | week | weeks | month | months | year | night |
        evening | morning | summer | winter | later | still | until | while | before | after |
        prices | anything | everything | enough | few | couple | several | monday | friday | sunday
        | january | february | march | december | christmas | easter
    """,
    "whats": """
        <time_word> <time_word>*
    """,
    "from_whom": """
        ,? ( from | to ) ( W | all | everyone | the | our | my | us | you ){1,5} | , ( W ){1,3}
    """,
}
