"""Telling the story: a readable one on a terminal, a plain log elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from rich.console import Console
from rich.panel import Panel
from rich.table import Table


class StepFailed(Exception):
    """A step of the story did not hold."""


class Story:
    """Prints chapters and facts, and insists on them."""

    def __init__(self) -> None:
        self._rich = sys.stdout.isatty()
        self._console = Console(highlight=False, soft_wrap=not self._rich)
        self.held = 0

    def chapter(self, number: int, title: str) -> None:
        """Open a step."""
        if self._rich:
            self._console.print(Panel(f"[bold]{number}. {title}[/bold]", expand=False))
        else:
            self._console.print(f"\n== {number}. {title}", markup=False)

    def print_line(self, text: str) -> None:
        """Tell a fact."""
        self._console.print(f"   {text}", markup=False)

    def hold(self, subject: str, *, truth: bool, shown: object = None) -> None:
        """Insist on a fact.

        Errors: StepFailed.
        """
        if not truth:
            raise StepFailed(f"{subject} (found: {shown})")
        self.held += 1
        mark = "✓" if self._rich else "ok"
        self._console.print(f"   {mark} {subject}", markup=False)

    def same(self, subject: str, actual: object, expected: object) -> None:
        """Insist on an equality."""
        self.hold(f"{subject}: {expected}", truth=actual == expected, shown=actual)

    def table(self, title: str, rows: Mapping[str, object]) -> None:
        """Show names and values."""
        if not self._rich:
            for name, value in rows.items():
                self.print_line(f"{name}: {value}")
            return
        table = Table(title=title, show_header=False)
        for name, value in rows.items():
            table.add_row(name, str(value))
        self._console.print(table)

    def fail(self, reason: str) -> None:
        """Tell what did not hold."""
        self._console.print(f"\nFAILED: {reason}", markup=False)

    def end(self, seconds: int) -> None:
        """Close the story."""
        self._console.print(f"\nEvery step held: {self.held} facts in {seconds} s.", markup=False)
