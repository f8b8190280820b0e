"""How a note opens, and what it says beside its terms: on whose behalf, by whose decision, to whom,
that something is fine, where the writer is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PHRASES: Final[Mapping[str, str]] = {
    "lead": """
        ( gm | gn | yo | hey | hi | hello | sup | ok | okay | alright | aight | morning | right |
            listen | look | so | well | lfg | wagmi | dear )? ( ser | sir | madam | fren | frens |
            fam | bro | bruh | dude | man | mate | buddy | pal | anon | chief ) ( , | : )
        ( i'm | i am | we're | we are ) ( happy | fine | ok | okay | glad | content | willing ) (
            for <you> to | to let <you> | to have <you> | to allow <you> to )
        subject to ( the following | these conditions )? ( : )?
        ( here you go | here you are | there you go | here it is | take this | here we are | voila )
            ( then | again )? ( : | , )
        ( gm | gn ) ( ser | fren | frens | fam | bro | anon )? ( , | : )?
        ( lfg | wagmi | yo | sup | aight | oi | alright | hear me | hear me out | listen up | let's
            go | here we go | let's do this | ready | attention ) ( , | : )
        ( per | as per | following | in line with | in accordance with | pursuant to | as decided in
            | as decided by | as agreed in | as voted in ) ( the | our | this ) ( last | latest |
            recent | last night's )? ( W )? ( vote | proposal | decision | meeting | resolution |
            discussion | call | agreement | chat | talk | conversation | governance vote | snapshot
            ) ,
        ( on | in ) ( behalf | the name ) of ( the | our | my | a )? ( W ){0,2} ( dao | team |
            company | club | family | treasury | board | committee | fund | firm | group |
            foundation | association | council | cooperative | household | community | members ) ( ,
            | : )
        ( for | as ) ( my | our | the | this | a | an ) ( very )? ( first | little | small | short |
            quick | initial | simple | tiny | new ){0,2} ( try | attempt | test | trial | experiment
            | run | go | pilot | start | mandate | agent | round | step | trade ) ( ever | here |
            with this | with you )? ( , | : )
        ( here is | here's | heres | this is | that's | that is | the following is | below is ) (
            exactly | just | all | roughly )? ( what | how | all ) ( i'd | i would | we'd | we would
            | i | we | i am | i'm | we're ) ( like | want | need | have in mind | thinking of | wish
            | prefer | ask | ask for | expect | imagine | asking for | asking | am asking ) ( from
            you | of you | you to do | it to be | to do | it )? :
        ( what | all | here's all | here is all ) ( i'd | i would | we'd | we would | i | we ) (
            like | want | need | have in mind | wish | ask | expect ) ( from you | of you | you to
            do )? ( is | : | is this : )
        ( yield | income | interest | steady income | safe yield | stable yield ) only ( please )? (
            : | , )
        ( i | we ) ( have | 've )? ( decided | agreed | settled | resolved | voted ) : ( on )?
        ( thanks | thank you | many thanks ) for ( helping | helping me | your help | your time |
            doing this | taking this on | being patient | your patience | looking after this |
            reading this ) ( with this | with me )? ( , | : | - )
    """,
    "manner": """
        with ( great | due | the utmost | some | all due | extreme )? ( care | caution | prudence |
            restraint | patience | discipline )
    """,
    "talk": """
        ( that's | that is | which is | this is | it's | it is | all of this is | and that's ) (
            perfectly | totally | absolutely | quite | all )? ( fine | ok | okay | alright | right |
            good | fair | great | enough ) ( with | by | for ) ( me | us )
        ( i | we )? hope ( that | this | i | it ) ( is | 's | makes | works | have | got | explained
            )? ( this | that | it | all )? ( right | clear | ok | okay | fine | sense | enough |
            alright | helps | correct | understandable | works | correctly | clearly )
        ( so | and )? ( aim | go | shoot | try ) for ( that | it | this )
        ( i | we ) ( have | 've | 'll | will )? ( read | studied | gone through | been through |
            went through | looked through ) ( the | your | this | all the | everything in the ) ( W
            ){1,3} ( twice | three times | carefully | again | already )?
        ( i'm | i am | we're | we are | i'll be | i will be | we'll be ) ( behind | at | in | on |
            out | away | with | off ) ( the | my | our | a )? ( W ){1,3} ( all day | all the time |
            most of the day | most of the time | all week | all month | every day | until late | for
            most of the day | day and night )
        ( i'm | i am | we're | we are | i'll be | i will be | we'll be ) ( often | mostly | usually
            | always | hardly ever | rarely )? ( behind the counter | at work | at sea | at school |
            in meetings | in class | in the shop | in the field | on the road | on site | on shift |
            out of reach | offline | asleep | online | at my desk | at my phone | near my phone | on
            a plane | at the computer | at my computer )
        ( i | we ) ( trust | believe in | count on | rely on | have faith in ) ( you | your (
            judgement | judgment | skills | skill | work ) ) ( fully | completely | with that | with
            this )?
        ( i'm | i am | we're | we are ) ( grateful | thankful | obliged | curious | excited | happy
            ) ( for ( your help | this | your time ) | to see W{1,4} | about this )?
        ( i | we ) ( look forward to | am looking forward to | are looking forward to ) ( W ){1,5}
    """,
}
