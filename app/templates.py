"""Template environment: escaping always on, an unknown name is an error, texts through
`_`.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Final

import jinja2

from app import assets
from app.fragments import FragmentCache
from app.replies import Record
from app.translated import TranslatedEnvironment
from app.words import addresses, clauses, money, policy, refusals, status, times, untrusted_text
from app.words.other_layers import in_language
from app.words.text import ENGLISH, LANGUAGES, catalogue, word

_LOADER: Final = jinja2.PackageLoader("app", "templates")


class _Templates(TranslatedEnvironment):
    def getattr(self, obj: object, attribute: str) -> object:
        """A field of a record. Errors: UndefinedError at once, before a test such as `is none`."""
        if not isinstance(obj, Record):
            return super().getattr(obj, attribute)
        if attribute not in obj:
            raise jinja2.UndefinedError(f"a record has no field {attribute!r}")
        return obj[attribute]


_FILTERS: Final = {
    "usdc": money.exact,
    "rate": money.rate,
    "cost": money.cost,
    "figure": money.figure,
    "est": money.est,
    "worst": money.worst,
    "gain": money.gain,
    "change": money.change,
    "integer": money.count,
    "percent": money.percent,
    "percent_of_tenths": money.percent_of_tenths,
    "day": times.day,
    "date_text": times.date_text,
    "minute_text": times.minute_text,
    "moment": times.moment,
    "clock": times.clock,
    "addr": addresses.full_address,
    "short": addresses.short,
    "quoted": untrusted_text.quote_untrusted,
    "agent_label": untrusted_text.agent_label,
    "plain": untrusted_text.plain,
    "policy_field": partial(word, table=policy.FIELDS),
    "policy_side": policy.side,
    "status_name": status.state,
    "rank_need": partial(word, table=status.NEEDS),
    "mandate_pill": status.pill,
    "allowed_calls": clauses.allowed_calls,
    "in_language": in_language,
    "inactive": clauses.inactive,
    "in_fields": refusals.in_fields,
}


@cache
def environment(language: str) -> TranslatedEnvironment:
    """The templates in one language. Errors: FileNotFoundError for one without a catalogue."""
    env = _Templates(
        catalogue(language),
        {"asset": assets.url},
        loader=_LOADER,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.policies["ext.i18n.trimmed"] = True
    # No template uses Jinja's own globals, and every import of a macro compares all of them.
    env.globals = {n: env.globals[n] for n in ("_", "gettext", "ngettext")}
    env.globals |= {"fragment": FragmentCache(), "languages": LANGUAGES}
    env.filters.update(_FILTERS)
    return env


def render(name: str, language: str = ENGLISH, **context: object) -> str:
    """Fill a template. Errors: UndefinedError for a name that the view does not have."""
    return environment(language).get_template(name).render(**context)
