"""Template environment: escaping always on, an unknown name is an error, texts through
`_`.
"""

from __future__ import annotations

from functools import partial
from gettext import NullTranslations
from typing import Final

import jinja2

from app import assets
from app.fragments import FragmentCache
from app.replies import Record
from app.translated import TranslatedEnvironment
from app.words import addresses, clauses, money, policy, status, times, untrusted_text
from app.words.text import word

_LOADER: Final = jinja2.PackageLoader("app", "templates")


class _Templates(TranslatedEnvironment):
    def getattr(self, obj: object, attribute: str) -> object:
        """A field of a record. Errors: UndefinedError at once, before a test such as `is none`."""
        if not isinstance(obj, Record):
            return super().getattr(obj, attribute)
        if attribute not in obj:
            raise jinja2.UndefinedError(f"a record has no field {attribute!r}")
        return obj[attribute]


# English only so far: every text passes here, so that a catalogue of texts can take its place.
ENV: Final = _Templates(
    NullTranslations(),
    {"asset": assets.url},
    loader=_LOADER,
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
ENV.policies["ext.i18n.trimmed"] = True
# No template uses Jinja's own globals, and every import of a macro compares all of them.
ENV.globals = {n: ENV.globals[n] for n in ("_", "gettext", "ngettext")}
ENV.globals["fragment"] = FragmentCache()
ENV.filters.update(
    usdc=money.exact,
    est=money.est,
    worst=money.worst,
    gain=money.gain,
    integer=money.count,
    percent=money.percent,
    day=times.day,
    moment=times.moment,
    clock=times.clock,
    addr=addresses.full_address,
    short=addresses.short,
    quoted=untrusted_text.quote_untrusted,
    agent_label=untrusted_text.agent_label,
    plain=untrusted_text.plain,
    policy_field=partial(word, table=policy.FIELDS),
    policy_side=policy.side,
    hall_status=partial(word, table=status.IN_HALL),
    rank_need=partial(word, table=status.NEEDS),
    mandate_pill=status.pill,
    allowed_calls=clauses.allowed_calls,
    inactive=clauses.inactive,
)


def render(name: str, **context: object) -> str:
    """Fill a template. Errors: UndefinedError for a name that the view does not have."""
    return ENV.get_template(name).render(**context)
