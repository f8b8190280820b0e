"""Whether a note is in plain English: one that is not is not read at all, lest half of it be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from domain.mandates.purpose.vocabulary import RESERVED

# Words that English does not have, or hardly: the small words, number words and money words of the languages most written.
FOREIGN: Final = frozenset(
    # German, Dutch, the Nordic languages
    "der das den dem des ein eine einen einem einer und oder nicht kein keine keinen mit ohne für von zum zur bis auf aus bei nach über unter vor"
    " ich du er wir ihr mich mir dich dir wenn falls pro täglich tag tage tagen tags woche wochen monat monate monaten jahr jahre höchstens"
    " maximal mindestens mehr als weniger gib gebe geben kaufe kaufen handel handle handeln frag frage fragen stoppe stopp verlust verluste"
    " gewinn gewinns gewinne gebühr gebühren prozent betrag grenze obergrenze eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
    " zwanzig dreißig dreissig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend fünfhundert zweihundert fuenfhundert fuenfzig jede jeder jedes"
    " jeden immer nie niemals nur bitte soll darf darfst kann kannst wird werden ist sind bist het een niet geen voor per-dag dag dagen weken maand maanden"
    " meer dan elke vraag winst verlies honderd vijf tien twintig vijftig och inte för eller jag med till dagar veckor ikke og om dagen uge uger"
    # Spanish, Portuguese, Italian, French, Catalan
    " el los las un una unos unas del al por para con sin que más menos máximo máxima maximo maxima mínimo minimo día días dia dias semana semanas mes"
    " meses año años ano anos gasta gastar compra comprar pregunta preguntar pregúntame preguntame avisa pierdas pierda perder pérdida perdida"
    " pérdidas ganancia ganancias beneficio beneficios comisión comision presupuesto dólares dolares nunca siempre cada hasta durante operación"
    " operacion uno dos tres cuatro cinco siete ocho nueve diez veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien ciento"
    " doscientos trescientos cuatrocientos quinientos mil millón millon um uma dois duas três quatro seis sete oito nove dez vinte trinta"
    " quarenta cinquenta cem duzentos quinhentos não nao até ate com sem orçamento lucro perda gaste pergunte por-favor il lo gli uno della dello"
    " degli delle di da nel nella sul sulla per-favore giorno giorni settimana settimane mese mesi anno anni massimo spendi spendere chiedi"
    " chiedere perdita perdite guadagno guadagni commissione due tre quattro cinque sei sette otto dieci venti trenta quaranta cinquanta cento"
    " duecento cinquecento mille le la les des du et ou pas ne jamais avec sans pour dans jour jours semaines mois année ans dépense depense"
    " dépenser demande demander demandez achète acheter perte pertes gains-de bénéfice bénéfices frais chaque toujours maximum-de deux trois quatre"
    " cinq sept huit neuf dix vingt trente quarante cinquante soixante cent cents-dollars est sont plus-de moins plafond vous nous je tu il elle i-sl"
    # Polish, Czech, Turkish, Indonesian, Vietnamese and others, in Latin letters
    " nie więcej wiecej dziennie dzień dni tydzień tygodni miesiąc miesiecy strata zysk zysku pytaj na maksymalnie dolarów dolarow pięćset piecset"
    " sto tysiąc tysiac bütçe butce günde gunde hafta ay yıl yil en-fazla kar zarar yüz yuz bin tidak lebih dari hari minggu bulan tahun setiap"
    " anggaran keuntungan kerugian ribu juta ratus lima puluh dolar không ngày tuần tháng đồng mỗi".split()
) - frozenset("per-dag en-fazla i-sl due plan on om due cents six sale a i me no is en la le el come pour on once son die al il ate elf handle lo kar na bin sto mil dig ay plus men handel seis tag sept cent los las um et pro-tools".split())  # fmt: skip
# English that is met beside foreign-looking words: enough of it says that the note is English.
COMMON: Final = frozenset(
    "a about account accounts across act action actions add after again agent agents all also always am an analysis and any anything api apis app"
    " are article articles as assets at available away back bad be because been before best better big bot both bot's build business but buy"
    " buying by call calls can care careful carefully chain charts check clean close cloud code coin coins collect company competitor compute"
    " content could course crypto currency data database dataset datasets day days deal decide deliver deployment design development do does domain"
    " done dollar during each earn easy email end energy english enough eth even every everything experiment feed feeds find fine first follow food for"
    " free from fund funds gather general get gets give given go going good got grow had has have help her here high hire his hold home hotel how i"
    " idea if images important in income index info information into invest investing is it its it's job just keep kind know language large last"
    " learn leave lend less let like list little live local long look looking low made main make making manage many market marketing markets may"
    " me means model models money month more most move much music must my name need needs never new news newsletter newsletters next no not"
    " note now of off office offers oil ok on once one online only open option options or order other our out over own paid paper papers part pay"
    " paying payments people per perpetual perps pick place plan platform play please podcast pool portfolio position positions power prediction predictions premium"
    " project purchase purchases put quality question questions quick quickly rate rates read reads real really records reliable report reports"
    " research results right run running safe safely same satellite save school search see sell send sensor server service services set shop"
    " short should signals simple site slow small so social software some something source sources sports stable stablecoin stay still stocks"
    " strategy stuff subscription subscriptions such supplies support sure swap swaps take task team tech test testing text than that the their them then"
    " there these they thing things think this those through time to today token tokens tool tools top trade trader traders trades trading"
    " traffic training travel treat try two under use used user using value very videos want was watch way we weather web website week weekly well what"
    " when where which while who will with without work working world would write year yes yield you your yourself thanks thank hello hi hey"
    " dear greetings regards cheers sincerely okay weeks months dollars usdc usd money flight flights tickets ticket hosting gpu domain names seo ads"
    " ad leads customers grocery groceries books book notes maps map translation translations api's endpoint endpoints premium feeds alpha gems defi vault"
    " vaults lending liquidity stable stables yields eth btc bitcoin ethereum spot futures options hedge hedging rebalance rebalancing momentum mean reversion"
    " arbitrage basis carry grid dca average averaging dip dips rallies breakouts volatility".split()
)  # fmt: skip
_KNOWN: Final = COMMON | RESERVED
_ACCENTED: Final = frozenset("café cafés naïve résumé résumés fiancé fiancée cliché déjà".split())


def foreign(words: Iterable[str], known: frozenset[str] | set[str]) -> str:
    """Why these words are no plain English, or an empty text. `known`: what the phrases hold."""
    strangers = friends = 0
    for word in words:
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
