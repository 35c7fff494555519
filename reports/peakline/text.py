"""Text where it leaves the package: for terminals, pages, code and messages of errors.

Texts of files and of the command line are untrusted, and stay as they are until then.
"""

import html
import re
import shlex
import unicodedata
from collections.abc import Sequence

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_MOST_SHOWN = 60
_WHOLE = re.compile("[0-9]{1,18}")


def printable(text: object) -> str:
    """One line of text. Control characters, line breaks, and what is invisible or changes the
    direction of text become U+FFFD, one each."""
    line = str(text)
    return line if line.isprintable() else "".join(map(_shown, line))


def _shown(char: str) -> str:
    # Python counts all blanks but the common one as not printable.
    return char if char.isprintable() or unicodedata.category(char) == "Zs" else _REPLACEMENT


def escape(text: object) -> str:
    """As `printable`, for anywhere in HTML, quoted attributes included."""
    return html.escape(printable(text), quote=True)


def whole(text: object) -> int | None:
    """The number of up to 18 digits that a text is, else None. `str.isdigit` is true of "²", too,
    of which `int` makes no number."""
    return int(str(text)) if _WHOLE.fullmatch(str(text)) else None


def shell_word(name: str) -> str:
    """A file's name as an argument of a command for a shell; "" for none."""
    safe = f"./{name}" if name.startswith("-") else name
    return shlex.quote(safe) if name else ""


def short(text: str, most: int = _MOST_SHOWN) -> str:
    """A text of at most `most` characters, with an ellipsis if it is longer."""
    return text if len(text) <= most else text[:most] + "..."


def listed(names: Sequence[str], most: int) -> str:
    """Names with commas between them, of which `most` are shown: "a, b and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


class OneLine(Exception):
    """An error whose message is `printable`."""

    def __str__(self) -> str:
        return printable(super().__str__())
