"""Whether a note is in plain English: one that is not is not read at all, lest half of it be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from domain.mandates.purpose.vocabulary import RESERVED, words

# Words that English does not have, or hardly: the small words, number words and money words of
# the languages most written.
FOREIGN: Final = words(
    "au aux par je une ses sur fois plafonner dépasse dépasser "
    "acheter acht achtzig achète als anggaran anni anno année ano anos ans até auf aus avec "
    "avisa año años bei beneficio beneficios betrag bis bist bitte bulan butce bénéfice "
    "bénéfices bütçe cada cem cento chaque chiedere chiedi cien ciento cinco cincuenta cinq "
    "cinquanta cinquante cinque cinquecento cinquenta com comision comisión commissione compra "
    "comprar con cuarenta cuatro cuatrocientos da dag dagar dagen dan dans darf darfst dari das "
    "degli del della delle dello dem demande demander demandez den depense der des deux dez di "
    "dia dias dich dieci diez dir dix dni dois dolar dolares dolarow dolarów dos doscientos "
    "drei dreissig dreißig du duas duecento durante duzentos dziennie dzień dépense dépenser "
    "día días dólares een ein eine einem einen einer eins elke elle eller er est falls frag "
    "frage fragen frais fuenfhundert fuenfzig för fünf fünfhundert fünfzig für ganancia "
    "ganancias gasta gastar gaste gebe geben gebühr gebühren geen gewinn gewinne gewinns gib "
    "giorni giorno gli grenze guadagni guadagno gunde günde hafta handeln hari hasta het "
    "honderd huit hundert höchstens ich ihr ikke immer inte ist jag jahr jahre jamais je jede "
    "jeden jeder jedes jour jours juta kann kannst kaufe kaufen kein keine keinen kerugian "
    "keuntungan không lebih les lima lucro maand maanden maksymalnie massimo maxima maximal "
    "maximo med meer mehr menos mes mese meses mesi mich miesiecy miesiąc mille millon millón "
    "mindestens minggu minimo mir mit moins mois monat monate monaten más máxima máximo mínimo "
    "mỗi nach nao ne nel nella neuf neun neunzig ngày nicht nie niemals niet nous nove noventa "
    "nueve nunca nur não obergrenze och ochenta ocho oder og ohne oito operacion operación "
    "orçamento otto ou para pas perda perder perdida perdita perdite pergunte perte pertes "
    "piecset pierda pierdas pięćset plafond por pregunta preguntame preguntar pregúntame "
    "presupuesto pro prozent puluh pytaj pérdida pérdidas quaranta quarante quarenta quatre "
    "quatro quattro que quinhentos quinientos ratus ribu sans sechs sechzig sei sem semaines "
    "semana semanas sesenta sete setenta setiap sette settimana settimane sieben siebzig "
    "siempre siete sin sind soixante soll sont spendere spendi stopp stoppe strata sul sulla "
    "tage tagen tags tahun tausend tháng tidak tien till toujours tre treinta trenta trente "
    "tres trescientos trinta trois três tu tuần twintig tydzień tygodni tysiac tysiąc täglich "
    "uge uger uma un una unas und uno unos unter veckor veinte venti verlies verlust verluste "
    "vier vierzig vijf vijftig vingt vinte von voor vor vous vraag weken weniger wenn werden "
    "wiecej winst wir wird więcej woche wochen yil yuz yüz yıl zarar zehn zum zur zwanzig zwei "
    "zweihundert zwölf zysk zysku über đồng"
)
# English that is met beside foreign-looking words: enough of it says that the note is English.
COMMON: Final = words(
    "a about account accounts across act action actions ad add ads after again agent agents all "
    "alpha also always am an analysis and any anything api api's apis app arbitrage are article "
    "articles as assets at available average averaging away back bad basis be because been "
    "before best better big bitcoin book books bot bot's both breakouts btc build business but "
    "buy buying by call calls can care careful carefully carry chain charts check cheers clean "
    "close cloud code coin coins collect company competitor compute content could course crypto "
    "currency customers data database dataset datasets day days dca deal dear decide defi "
    "deliver deployment design development dip dips do does dollar dollars domain done during "
    "each earn easy email end endpoint endpoints energy english enough eth ethereum even every "
    "everything experiment feed feeds find fine first flight flights follow food for free from "
    "fund funds futures gather gems general get gets give given go going good got gpu greetings "
    "grid groceries grocery grow had has have hedge hedging hello help her here hey hi high "
    "hire his hold home hosting hotel how i idea if images important in income index info "
    "information into invest investing is it it's its job just keep kind know language large "
    "last leads learn leave lend lending less let like liquidity list little live local long "
    "look looking low made main make making manage many map maps market marketing markets may "
    "me mean means model models momentum money month months more most move much music must my "
    "name names need needs never new news newsletter newsletters next no not note notes now of "
    "off offers office oil ok okay on once one online only open option options or order other "
    "our out over own paid paper papers part pay paying payments people per perpetual perps "
    "pick place plan platform play please podcast pool portfolio position positions power "
    "prediction predictions premium project purchase purchases put quality question questions "
    "quick quickly rallies rate rates read reads real really rebalance rebalancing records "
    "regards reliable report reports research results reversion right run running safe safely "
    "same satellite save school search see sell send sensor seo server service services set "
    "shop short should signals simple sincerely site slow small so social software some "
    "something source sources sports spot stable stablecoin stables stay still stocks strategy "
    "stuff subscription subscriptions such supplies support sure swap swaps take task team tech "
    "test testing text than thank thanks that the their them then there these they thing things "
    "think this those through ticket tickets time to today token tokens tool tools top trade "
    "trader traders trades trading traffic training translation translations travel treat try "
    "two under usd usdc use used user using value vault vaults very videos volatility want was "
    "watch way we weather web website week weekly weeks well what when where which while who "
    "will with without work working world would write year yes yield yields you your yourself"
)
_KNOWN: Final = COMMON | RESERVED
_ACCENTED: Final = words("café cafés cliché déjà fiancé fiancée naïve résumé résumés")


def foreign(said: Iterable[str], known: frozenset[str] | set[str]) -> str:
    """Why these words are no plain English, or an empty text. `known`: what the phrases hold."""
    strangers = friends = 0
    for word in said:
        if (word in FOREIGN and word not in known and word not in _KNOWN) or (
            not word.isascii() and word not in _ACCENTED
        ):
            return f'"{word}" is no word of plain English'
        if word in known or word in _KNOWN or _stem(word) in _KNOWN:
            friends += 1
        else:
            strangers += 1
    if strangers >= 2 and strangers > friends:
        return "most words of the note are not known"
    return ""


def _stem(word: str) -> str:
    for end in ("'s", "ing", "ed", "es", "s", "ly"):
        if word.endswith(end) and len(word) > len(end) + 2:
            return word[: -len(end)]
    return word
