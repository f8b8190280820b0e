"""Documents that are made from the code are as the code makes them.

After a wanted change: `python -m tests.house.test_documents` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

from domain.refusals import REFUSALS
from tools.catalogue import OPERATIONS

DOCUMENT = Path(__file__).parents[2] / "docs" / "refusals.md"


def refusals() -> str:
    """The registry, one refusal a section."""
    parts = [
        "# Refusals, one by one",
        "",
        "Every refusal is one block, over HTTP with its status, over MCP as `structuredContent.refusal` with `isError: true`:",
        "`error`, `reason`, `retry_safe` (may the very same call be sent again), `who_fixes`, `next[]`, and where they mean something",
        "`remaining`, `retry_at` and `detail`. Act on `error`; `reason` is for people and may change.",
        "",
    ]
    for code in sorted(REFUSALS):
        kind = REFUSALS[code]
        met = sorted(f"`{op.name}`" for op in OPERATIONS if code in op.refusals)
        parts += [f"## `{code}` ({kind.status})", "", kind.sentence, ""]
        parts += [
            f"- **Who can fix it:** {kind.who_fixes}. **Same call again:** {'yes' if kind.retry_safe else 'no'}."
        ]
        parts += [
            f"- {step.text}"
            + (f": `{step.tool}`" if step.tool else "")
            + (f" (`{step.route}`)" if step.route else "")
            for step in kind.next
        ]
        parts += [f"- **Met at:** {', '.join(met)}"] if met else []
        parts.append("")
    return "\n".join(parts)


def test_the_refusals_are_documented_one_by_one() -> None:
    assert DOCUMENT.read_text() == refusals()


if __name__ == "__main__":
    DOCUMENT.write_text(refusals())
