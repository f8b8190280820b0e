"""The markup of our pages, read token by token; what is no markup that we write is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from types import MappingProxyType

_ATTRIBUTE = r"""\s+([^\s"'<>/=]+)(?:=(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?"""
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TOKEN = re.compile(
    r"<!--.*?-->|<!doctype html>|<(/?)([a-z][a-z0-9-]*)((?:"
    + re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
    + r")*)\s*(/?)>",
    re.DOTALL | re.IGNORECASE,
)
# A text, and what ends where a token does that begins there: whether it is one, `_TOKEN` says.
_NEXT = re.compile(r"""([^<]*+)(<!--.*?-->|<(?:[^<>"']++|"[^"]*+"|'[^']*+')*+>|\Z)""", re.DOTALL)
VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})
_RAW = frozenset({"script", "style"})
Attributes = Mapping[str, str]


class MarkupReader:
    """Tells of each tag and each text of a page, in order, many times quicker than the library's
    reader, which also takes what is no markup.
    """

    def feed(self, source: str) -> None:
        at = 0
        while at < len(source):
            found = _NEXT.match(source, at)
            assert found, f"no markup: {source[source.index('<', at) :][:80]!r}"
            text, token = found.groups()
            at = found.end()
            if text:
                self.handle_data(unescape(text) if "&" in text else text)
            begins, ends, attributes = _read(token)
            if begins:
                self.handle_starttag(begins, attributes)
            if ends:
                self.handle_endtag(ends)
            elif begins in _RAW:
                end = source.index(f"</{begins}", at)
                if end > at:
                    self.handle_data(source[at:end])
                at = end

    def handle_starttag(self, tag: str, attributes: Attributes) -> None:
        """An element begins, or is there where it holds nothing."""

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""

    def handle_data(self, data: str) -> None:
        """A text between two tags."""


@lru_cache(maxsize=2**15)
def _read(token: str) -> tuple[str, str, Attributes]:
    """The element that a token begins and the one that it ends, if any, with its attributes; most
    tokens of a page are those of the page before.
    """
    read = _TOKEN.fullmatch(token) if token else None
    assert read or not token, f"no markup: {token[:80]!r}"
    if read is None or read[2] is None:
        return "", "", {}
    tag = read[2].lower()
    if read[1]:
        return "", tag, {}
    attributes = [
        (one[1].lower(), "" if one.lastindex == 1 else unescape(one[one.lastindex or 0]))
        for one in _ATTRIBUTES.finditer(read[3])
    ]
    told = dict(attributes)
    assert len(told) == len(attributes), f"an attribute twice in <{tag}>: {attributes}"
    return tag, tag if read[4] and tag not in VOID else "", MappingProxyType(told)
