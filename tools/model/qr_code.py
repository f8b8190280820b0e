"""QR codes as SVG."""

from __future__ import annotations

import io

import segno


def qr_svg(text: str) -> str:
    """The code of a text."""
    out = io.BytesIO()
    segno.make(text, micro=False).save(out, kind="svg", scale=4, border=2)
    return out.getvalue().decode()
