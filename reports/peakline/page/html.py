"""Pieces of HTML. All texts from profiles must pass `escape`."""

import base64
import gzip
import re
from collections.abc import Callable, Sequence

from peakline.page.cells import MARKED
from peakline.text import escape

_NUMBER = '<td class="n'
_NO_BREAK = "\N{NO-BREAK SPACE}"


def cell(
    text: object, *, number: bool = False, raw: object = None, head: str = "", look: str = ""
) -> str:
    """A cell; raw: copied instead of the text; head: its column's, which phones show beside it;
    look: a number's further CSS class."""
    copied = "" if raw is None else f' data-raw="{escape(raw)}"'
    copied += f' data-head="{escape(head)}"' if head else ""
    if number:
        classes = f'{_NUMBER} {look}"' if look else f'{_NUMBER}"'
        return f"{classes}{copied}>{escape(text)}</td>"
    unbroken = re.sub(r"(?<=\d) (?=%)", _NO_BREAK, str(text))
    return f"<td{copied}>{escape(unbroken)}</td>"


def figure(value: float | None, shown: Callable[[float], str], outcome: str = "") -> str:
    """The cell of a number in the format `shown`, with the word of an outcome that marks it; a dash
    for None."""
    if value is None:
        return cell("–", number=True, raw="")
    word, look = MARKED.get(outcome, ("", ""))
    return cell(f"{shown(value)} {word}".strip(), number=True, raw=value, look=look)


def table(identity: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A sortable table with a copy button."""
    shown = _table(heads, rows, ' tabindex="0"', f' id="{escape(identity)}"')
    return (
        f'<div class="scroll">{shown}</div>'
        f'<p><button type="button" data-table="{escape(identity)}">Copy the table</button></p>'
    )


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A static table; without column names it has no header."""
    return f'<div class="scroll">{_table(heads, rows)}</div>'


def _table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], head_with: str = "", table_with: str = ""
) -> str:
    """A table whose first row decides which columns are numeric."""
    head = "".join(
        f'<th scope="col"{head_with}{" class=n" if first.startswith(_NUMBER) else ""}>'
        f"{escape(text)}</th>"
        for text, first in zip(heads, rows[0] if rows else heads, strict=True)
    )
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    names = f"<thead><tr>{head}</tr></thead>" if any(heads) else ""
    return f"<table{table_with}>{names}<tbody>{body}</tbody></table>"


def folded(summary: str, content: str) -> str:
    """A line that opens: page.js unpacks its content. Rarely read tables would be half of a page of
    one GPU, and most of one of eight."""
    packed = base64.b64encode(gzip.compress(content.encode("utf-8"), mtime=0)).decode("ascii")
    return (
        f'<details data-packed="{packed}"><summary>{escape(summary)}</summary>'
        "<p>This table needs a browser of 2023 or later, with scripts.</p></details>"
    )


def card(kind: str, content: str, identity: str = "") -> str:
    """A section of the page. kind: for script and tests. identity: target of the contents."""
    anchor = f' id="{escape(identity)}"' if identity else ""
    return f'<section class="card"{anchor} data-picture="{escape(kind)}">{content}</section>'
