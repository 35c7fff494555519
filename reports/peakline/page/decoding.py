"""The page's part on decoding with a language model."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from peakline import units
from peakline.models.served import first_tokens, restoring, turning
from peakline.page.html import card, cell, escape, figure, table
from peakline.page.sections import picture
from peakline.pictures import Picture


def of_decoding(
    document: Mapping[str, Any], drawn: Picture, numbers: Iterator[int], label: Callable[[str], str]
) -> str:
    """document: of `served.decoding`. numbers: one per drawing. label: of a resource."""
    body = [f'<h2 id="decoding" class=first>{escape(heading(document))}</h2>']
    body.append(picture(drawn, numbers, f"at-{drawn.key}"))
    texts = [first_tokens(document), restoring(document), turning(document), *document["notes"]]
    body.append(
        card(
            "decoding-table",
            f"<h3>By batch and context</h3>{_table(document, label)}"
            + "".join(f"<p>{escape(text)}</p>" for text in texts if text)
            + '<p class="how">At most: no program that makes one token a forward pass is faster. '
            "Library kernels: an estimate in tokens/s, one kernel after the other.</p>",
        )
    )
    return "".join(body)


def heading(document: Mapping[str, Any]) -> str:
    return f"Decoding {document['model']}"


def _table(document: Mapping[str, Any], label: Callable[[str], str]) -> str:
    heads = [
        "batch",
        "context",
        "tokens/s of all, at most",
        "library kernels",
        "limiter",
        "memory, GB",
    ]
    heads += ["fits", "largest batch"]
    energy = any(row["joules_per_token"] for row in document["decode"])
    if energy:
        heads.insert(4, "J/token")
    rows = []
    for row in document["decode"]:
        fits = {True: "yes", False: "no", None: "–"}[row["fits"]]
        cells = [
            figure(row["batch"], "{:d}".format),
            figure(row["context"], "{:d}".format),
            figure(row["tokens_per_s"], units.number),
            figure(row["kernels_tokens_per_s"], units.number),
            cell(label(row["limiter"])),
            figure(row["memory_bytes"] / 1e9, "{:.1f}".format),
            cell(fits),
            figure(row["largest_batch"], "{:d}".format),
        ]
        if energy:
            cells.insert(4, figure(row["joules_per_token"], units.number))
        rows.append(cells)
    return table("decoding", heads, rows)
