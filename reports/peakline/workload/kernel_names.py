"""Kernels' labels in tables and pictures: short, but distinct for distinct names."""

import os
import re
from collections import Counter
from collections.abc import Iterable

# The look-behind tries a word only at its beginning; otherwise long names take minutes.
_NAMESPACE = re.compile(r"(?:(?<!\w)\w+|<unnamed>|\(anonymous namespace\))::")


def labels(names: Iterable[str]) -> dict[str, str]:
    """The shortest unique label per name: without template arguments, or without namespaces."""
    distinct = list(dict.fromkeys(names))
    plain = {name: _NAMESPACE.sub("", name) for name in distinct}
    ways = [{name: _brief(name) for name in distinct}, plain]
    counts = [Counter(way.values()) for way in ways]
    return {
        name: next(
            (way[name] for way, count in zip(ways, counts, strict=True) if count[way[name]] == 1),
            name,
        )
        for name in distinct
    }


def _brief(name: str) -> str:
    # CUTLASS's entry point is generic; its template argument names the kernel.
    wrapped = re.fullmatch(r"cutlass\w*::Kernel2?<(\w+)>", name)
    if wrapped:
        return wrapped[1]
    name = name.replace("<unnamed>::", "").replace("(anonymous namespace)::", "")
    return name.partition("<")[0].rpartition("::")[2] or name


def shortened(names: Iterable[str], width: int) -> dict[str, str]:
    """Each name in at most `width` characters (above 12); distinct names stay distinct. Long names
    with the same beginning keep a part of it, and the text where they differ."""
    result = {name: name for name in names}
    groups: dict[str, list[str]] = {}
    for name in result:
        if len(name) > width:
            groups.setdefault(name[: width // 2], []).append(name)
    parting = [(group, [0]) for group in groups.values()]
    while parting:
        group, starts = parting.pop()
        if len(group) > 1:
            starts = [*starts, _parting(group, width // 6)]
        cuts: dict[str, list[str]] = {}
        for name in group:
            cuts.setdefault(_cut(name, starts, width), []).append(name)
        for cut, same in cuts.items():
            if len(same) == 1 or len(starts) > width // 4:
                result.update(dict.fromkeys(same, cut))
            else:
                parting.append((same, starts))
    return result


def _parting(group: list[str], most: int) -> int:
    """Where names differ, moved back to the beginning of a word by up to `most` characters."""
    at = len(os.path.commonprefix(group))
    word = re.search(r"[^\W_]*$", group[0][:at])
    return word.start() if word and at - word.start() < most else at


def _cut(name: str, starts: list[int], width: int) -> str:
    """A name's pieces that begin at `starts`; the first takes the room that the last leaves."""
    size = width // max(3, len(starts))
    rest = width - size * (len(starts) - 1)
    last = name[starts[-1] :]
    pieces = [name[start : start + size - 1] for start in starts[:-1]]
    if pieces and len(last) < rest:
        pieces[0] = name[: min(size - 1 + rest - len(last), starts[1])]
    pieces.append(last if len(last) <= rest else f"{last[: rest - 1]}…")
    return "…".join(pieces)
