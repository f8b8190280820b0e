"""The templates' surroundings: escaping always on, an unknown name is an error, texts through
`_`.
"""

from __future__ import annotations

from typing import Any, Final

import jinja2

from app import assets
from app.words import addresses, money, times, told

_LOADER: Final = jinja2.PackageLoader("app", "templates")
ENV: Final = jinja2.Environment(
    loader=_LOADER,
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=["jinja2.ext.i18n"],
    auto_reload=False,
)
ENV.policies["ext.i18n.trimmed"] = True
# English only so far: every text passes here, so that a catalogue of texts can take its place.
ENV.install_null_translations(newstyle=True)  # type: ignore[attr-defined]  # of the extension
ENV.globals["asset"] = assets.url
ENV.filters.update(
    usdc=money.exact,
    est=money.est,
    worst=money.worst,
    gain=money.gain,
    whole=money.whole,
    day=times.day,
    moment=times.moment,
    clock=times.clock,
    addr=addresses.whole,
    short=addresses.short,
    told=told.told,
    plain=told.plain,
)


def render(name: str, **context: Any) -> str:
    """Fill a template. Errors: UndefinedError for a name that the view does not have."""
    return ENV.get_template(name).render(**context)
