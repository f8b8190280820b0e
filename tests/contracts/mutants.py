"""Small changes of the contracts' sources, each of which some test must notice (`mutation.py` runs them)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.contracts.harness import ROOT

CONTRACTS: Final = ROOT / "contracts"
SOURCES: Final = (
    "MandateVault.sol",
    "MandateVaultFactory.sol",
    "CallList.sol",
    "Probes.sol",
    "MandateTypes.sol",
    "VaultLens.sol",
    "SigCheck.sol",
    "Purse.sol",
    "PurseHub.sol",
    "PurseHubDeployer.sol",
)
KNOWN: Final = CONTRACTS / "survivors.txt"

# A pattern, and what it becomes; binary operators stand between spaces in these sources.
SWAPS: Final = (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "),
    (r" \+= ", " -= "), (r" -= ", " += "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"Math\.max\(", "Math.min("),
    (r"Math\.min\(", "Math.max("), (r"(?<=[(& ])!(?=[a-zA-Z_])", ""), (r" nonReentrant\b", ""),
)  # fmt: skip
NUMBER: Final = re.compile(r"(?<![\w.])(\d[\d_]*)(?![\w.])")
STATEMENT: Final = re.compile(
    r"^\s+(?:if \(.*\) (?:revert|return)\b.*;|(?:emit |_|USDC\.)?[\w.\[\]()]*(?: [-+|]?= |\().*;|return .*;|.* delete .*;)$"
)
DECLARATION: Final = re.compile(
    r"^\s*(?:uint|bool|bytes|address|IERC20|mapping|event|error|import|pragma|using|enum|struct|function|library|contract|\(|else)"
)


FUNCTION: Final = re.compile(r"^\s*(?:function (\w+)|(constructor))\b")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change: the text of a line, counted from 1, becomes another."""

    file: str
    function: str
    line: int
    text: str
    changed: str

    @property
    def place(self) -> str:
        """The source and the function; the source alone for what stands in none."""
        return f"{self.file} {self.function}".rstrip()

    @property
    def name(self) -> str:
        """What stays the same when other lines move."""
        return f"{self.place}: {self.text.strip()} => {self.changed.strip() or '(nothing)'}"

    def source(self) -> str:
        """The whole source with the change in it."""
        lines = (CONTRACTS / "src" / self.file).read_text().splitlines()
        lines[self.line - 1] = self.changed
        return "\n".join(lines) + "\n"


def code_lines(source: str) -> Iterator[tuple[int, str, str]]:
    """(line from 0, function, code) of the lines of functions, without comments, declarations of the
    outside and assembly."""
    depth, inside, function = 0, False, ""
    for number, line in enumerate(source.splitlines()):
        code = line.split("//")[0].rstrip()
        if depth <= 1 and (hit := FUNCTION.match(code)):
            function = hit[1] or hit[2]
        if "assembly" in code:
            inside = True
        if (
            not inside
            and (depth >= 2 or "constant" in code or "nonReentrant {" in code)
            and code.strip()
            and not code.strip().startswith(("///", "error", "event", "import"))
        ):
            yield number, "" if "constant" in code else function, code
        depth += code.count("{") - code.count("}")
        if inside and code.strip() == "}":
            inside = False


def mutants_of(file: str) -> list[Mutant]:
    """Every change of one source."""
    source = (CONTRACTS / "src" / file).read_text()
    found: dict[tuple[int, str], Mutant] = {}
    for number, function, text in code_lines(source):
        for changed in changes_of(text):
            if changed != text:
                made = Mutant(
                    file=file, function=function, line=number + 1, text=text, changed=changed
                )
                found.setdefault((number, changed), made)
    return list(found.values())


def changes_of(text: str) -> Iterator[str]:
    """The line with one thing of it changed, or without its statement."""
    for pattern, new in SWAPS:
        for hit in re.finditer(pattern, text):
            yield text[: hit.start()] + new + text[hit.end() :]
    if "0x" not in text:
        for hit in NUMBER.finditer(text):
            more = str(int(hit[1].replace("_", "")) + 1)
            yield text[: hit.start()] + more + text[hit.end() :]
    if STATEMENT.match(text) and not DECLARATION.match(text):
        yield text[: len(text) - len(text.lstrip())]
