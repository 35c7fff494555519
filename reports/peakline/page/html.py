"""Pieces of HTML. Every text that comes from a profile passes `escape`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def escape(text: object) -> str:
    """Text as it may stand anywhere in HTML, attributes in quotes included."""
    return html.escape(str(text), quote=True)


def cell(text: object, *, number: bool = False, raw: object = None) -> str:
    attributes = ' class="n"' if number else ""
    if raw is not None:
        attributes += f' data-raw="{escape(raw)}"'
    return f"<td{attributes}>{escape(text)}</td>"


def table(identity: str, heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(
        f'<th scope="col"{" class=n" if number else ""}>{escape(text)}</th>'
        for text, number in heads
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table id="{escape(identity)}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def copy_button(identity: str) -> str:
    return f'<p><button type="button" data-table="{escape(identity)}">Copy the table</button></p>'
