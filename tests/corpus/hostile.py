"""A hostile text, where it is planted, and what must not become of it when it is printed."""

import unicodedata
from typing import Any

# Markup, quotes, and what would steer a terminal or begin a line of its own.
HOSTILE = (
    "</script><script>alert(1)</script><img src=http://example.invalid/x onerror=alert(2)>\"'&"
    "\x1b[2J\x07\x7f\x85\u2028\u202e\u200b\ufffe\r\nFORGED"
)
NAME = HOSTILE.replace("/", "|")  # of a file
_FORGED = HOSTILE.rpartition("\n")[2]
_CLOSED = {"enum", "const", "pattern"}
_RESERVED = ("", "host", "node")  # devices


def assert_tame(text: str) -> None:
    """Checks that a text neither steers a terminal nor has a line that HOSTILE begins."""
    for line in text.split("\n"):
        odd = {c for c in line if not c.isprintable() and unicodedata.category(c) != "Zs"}
        assert not odd, line[:500]
        assert not line.lstrip().startswith(_FORGED), line[:500]


def planted(value: Any, schema: Any) -> Any:
    """Plants HOSTILE behind every text and key that a file's schema leaves open; what was equal
    stays equal, so that references still refer."""
    if isinstance(value, dict):
        inner, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        return {
            key + HOSTILE * (bool(others) and key not in inner): planted(
                one, inner.get(key, others)
            )
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [planted(one, schema.get("items", {})) for one in value]
    is_open = isinstance(value, str) and not _CLOSED & schema.keys()
    return value + HOSTILE if is_open and value not in _RESERVED else value


def in_texts(value: Any, kept: tuple[str, ...] = ()) -> Any:
    """Plants HOSTILE behind every text of a document, but those of these keys."""
    if isinstance(value, dict):
        return {key: one if key in kept else in_texts(one, kept) for key, one in value.items()}
    if isinstance(value, list):
        return [in_texts(one, kept) for one in value]
    return value + HOSTILE if isinstance(value, str) else value
