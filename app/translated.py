"""Translated templates: constant texts are inserted when a template is compiled, in the one
language of its environment, and the addresses of its files. When a page is filled they are data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from gettext import NullTranslations
from typing import Any, Final

import jinja2
from jinja2 import nodes
from jinja2.visitor import NodeTransformer

Constant = Callable[[str], str]

_TEXTS: Final = frozenset({"_", "gettext"})
_VARIABLE: Final = re.compile(r"%\((\w+)\)s")


class TranslatedEnvironment(jinja2.Environment):
    """An environment with the i18n extension whose templates are compiled in one language.

    What `_("…")` and `{% trans %}` say becomes data of the template, with its variables in place;
    a text that is made at run time, and one with a plural, asks the catalogue `texts` then.
    `constants` are functions that answer a text by a text, always the same one.
    """

    def __init__(self, texts: NullTranslations, constants: Mapping[str, Constant], **options: Any):
        super().__init__(extensions=["jinja2.ext.i18n"], **options)
        self.install_gettext_translations(texts, newstyle=True)  # type: ignore[attr-defined]  # of the extension
        self._compiled = _Compiled(texts.gettext, constants)

    def _generate(
        self,
        source: nodes.Template,
        name: str | None,
        filename: str | None,
        defer_init: bool = False,
    ) -> str:
        """Jinja's own hook between a parsed template and its code."""
        return super()._generate(self._compiled.visit(source), name, filename, defer_init)


class _Compiled(NodeTransformer):
    def __init__(self, translate: Constant, constants: Mapping[str, Constant]):
        self._translate, self._constants = translate, constants

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802  # as Jinja calls it
        """A text with variables is the texts around them, and they between."""
        node = self.generic_visit(node)  # type: ignore[assignment]  # it gives back what it took
        node.nodes = [part for child in node.nodes for part in self._parts(child)]
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802  # as Jinja calls it
        """A text without variables is markup, wherever it stands; any other constant is text."""
        node = self.generic_visit(node)  # type: ignore[assignment]  # it gives back what it took
        called = _called(node)
        if called is None or node.kwargs:
            return node
        name, argument = called
        if name in _TEXTS:
            return nodes.TemplateData(self._translate(argument) % {}, lineno=node.lineno)
        if name in self._constants:
            return nodes.Const(self._constants[name](argument), lineno=node.lineno)
        return node

    def _parts(self, node: nodes.Expr) -> Iterator[nodes.Expr]:
        called = _called(node)
        if called is None or called[0] not in _TEXTS or not isinstance(node, nodes.Call):
            yield node
            return
        values = {k.key: k.value for k in node.kwargs}
        for n, part in enumerate(_VARIABLE.split(self._translate(called[1]))):
            yield values[part] if n % 2 else nodes.TemplateData(part % {}, lineno=node.lineno)


def _called(node: nodes.Node) -> tuple[str, str] | None:
    """(the function, the text) of a call by name with one literal text; its keywords apart."""
    if not isinstance(node, nodes.Call) or not isinstance(node.node, nodes.Name):
        return None
    if len(node.args) != 1 or node.dyn_args or node.dyn_kwargs:
        return None
    (argument,) = node.args
    if not isinstance(argument, nodes.Const) or not isinstance(argument.value, str):
        return None
    return node.node.name, argument.value
