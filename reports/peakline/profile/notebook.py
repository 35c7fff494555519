"""A profile in a notebook: an HTML table, and measurements as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from peakline.profile.measurement import Measurement
from peakline.text import escape


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"<p>{escape(title)}</p><table>", _row("th", heads)]
    return "".join([*lines, *(_row("td", row) for row in rows), "</table>"])


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def row(m: Measurement, device: str) -> dict[str, Any]:
    low, high = m.interval() or (None, None)
    facts = {
        "device": device,
        "id": m.id,
        "status": m.status,
        "value": m.value,
        "unit": m.unit,
        "low": low,
        "high": high,
        "flags": ", ".join(m.flags),
        "sm_clock_hz": m.conditions.sm_clock_hz,
        "reason": m.reason,
    }
    # Facts take precedence over parameters of the same name.
    return facts | {name: value for name, value in m.params.items() if name not in facts}
