"""The page of `peakline compare`, with pictures and tables."""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from peakline import units
from peakline.page.answers import verdict
from peakline.page.html import card, cell, escape, figure, folded, table
from peakline.page.pages import page
from peakline.page.sections import list_of, picture
from peakline.pictures import with_signs
from peakline.pictures.comparison import VERDICTS, ceiling_name, ratios, tally, verdict_name
from peakline.text import listed

# Word and CSS class of the overall verdict.
_OVERALL = {
    "slower": ("SLOWER", "fail"),
    "unsteady": ("UNSTEADY", "fail"),
    "different": ("DIFFERENT", "open"),
    "cannot_judge": ("CANNOT JUDGE", "open"),
    "faster": ("FASTER", "pass"),
    "same": ("SAME", "pass"),
}

_SEVERITY = {"fail": "error"}  # by outcome; what cannot be judged is no error

_MOST_DRAWN = 12  # devices of a fleet

# A device and one of its ceilings.
_Row = tuple[Mapping[str, Any], Mapping[str, Any]]


def comparison_page(document: Mapping[str, Any]) -> str:
    """The page of `peakline compare --json` (schema "peakline-comparison", version 2)."""
    numbers = itertools.count(1)
    word, look = _OVERALL.get(document["verdict"], (str(document["verdict"]).upper(), "open"))
    title = _title(document)
    sides = [_files(document, side) for side in ("base", "new")]
    body = [
        f"<header><h1>{escape(title)}</h1>{verdict(word, look, answer(document))}"
        f'<p class="lead">Base: {sides[0]}, new: {sides[1]}. Changes below '
        f"{document['threshold'] * 100:g} % do not count. A ratio above 1 means that new is "
        f"faster.</p>{_reasons(document)}</header>"
    ]
    entries = []
    if fleet := list(document.get("fleet", ())):
        entries.append(("fleet", "The fleet as a whole", True))
        body.append(_fleet(fleet))
    drawn, others = _drawn(document)
    for number, device in enumerate(drawn):
        entries.append((f"device-{number}", _heading(device), True))
        body += _device(device, document["threshold"], number, numbers)
    if others:
        entries.append(("others", "The other devices", True))
        body.append(_others(others))
    return page(f"{title}, {word.lower()}", entries, body)


def _drawn(document: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """The devices with pictures, and the others: of a fleet those that a reason names, so that a
    page of a thousand cards can be read."""
    devices = list(document["devices"])
    if not document.get("machines"):
        return devices, []
    named = tuple(r["name"] for r in document["gate"]["reasons"] if not r["allowed"])
    drawn: list[Any] = []
    others: list[Any] = []
    for device in devices:
        rules = f"{device['machine']}/{device['device']}/"
        blamed = len(drawn) < _MOST_DRAWN and any(name.startswith(rules) for name in named)
        (drawn if blamed else others).append(device)
    return drawn, others


def _others(devices: Sequence[Mapping[str, Any]]) -> str:
    """The devices without pictures, each with the ceiling that lost most."""
    heads = ["device", "lowest ratio", "of", "verdict", "ceilings"]
    rows = []
    for device in devices:
        line = [cell(f"{device['machine']} {device['device']} · {_model(device['new'])}")]
        worst = min(device["ceilings"], key=lambda row: row["ratio"], default=None)
        if worst is None:
            line += [_ratio(None), cell(""), cell("")]
        else:
            line += [_ratio(worst["ratio"]), cell(ceiling_name(worst))]
            line.append(cell(verdict_name(worst["verdict"])))
        rows.append([*line, cell(tally(device["ceilings"]))])
    return (
        '<h2 id="others">The other devices</h2><p>No reason of the verdict names them.</p>'
        + card("others", table("other-devices", heads, rows))
    )


def _heading(device: Mapping[str, Any]) -> str:
    machine, base, new = device.get("machine"), str(device["base"]), str(device["new"])
    name = base if base == new else f"{base} against {new}"
    return f"{machine} · {name}" if machine else name


def _fleet(shifts: Sequence[Mapping[str, Any]]) -> str:
    """How far all cards of a model moved together, the largest shifts first."""
    heads = ["figure", "model", "cards", "median ratio", "from", "to", "verdict"]
    rows = [
        [
            cell(shift["label"]),
            cell(shift["model"]),
            figure(shift["cards"], "{:d}".format),
            *(_ratio(shift[key]) for key in ("ratio", "ratio_low", "ratio_high")),
            cell(verdict_name(shift["verdict"])),
        ]
        for shift in sorted(shifts, key=lambda shift: -abs(shift["ratio"] - 1))
    ]
    return (
        '<h2 id="fleet">The fleet as a whole</h2>'
        "<p>The median of all cards' ratios, with its 95 % interval: a shift that "
        "they share is told apart from the scatter of each.</p>"
        + card("fleet", table("fleet-shifts", heads, rows))
    )


def _files(document: Mapping[str, Any], side: str) -> str:
    """A side's profiles, by name where they are few and the program tells."""
    names = [Path(str(path)).name for path in document.get(f"{side}_files", ())]
    return listed(names, 3) if names else units.counted(document[f"{side}_profiles"], "profile")


def _title(document: Mapping[str, Any]) -> str:
    """The title: "NVIDIA H200 against NVIDIA H100", or one model's two sides."""
    for device in document["devices"]:
        if not device["same_model"]:
            return f"{_model(device['new'])} against {_model(device['base'])}"
    gpus = [d for d in document["devices"] if str(d.get("device", "")).startswith("gpu")]
    models = Counter(_model(device["base"]) for device in gpus or document["devices"])
    if not models:
        return "Nothing in common: new against base"
    if models.total() == 1:
        return f"{next(iter(models))}: new against base"
    counted = (f"{count} × {model}" for model, count in models.items())
    return f"{', '.join(counted)}: new against base"


def _model(name: str) -> str:
    """A device's model: "NVIDIA H200" of "GPU 0 · NVIDIA H200"."""
    return str(name).partition(" · ")[2] or str(name)


def answer(document: Mapping[str, Any]) -> str:
    """One sentence: which side is faster, by how much and where; the program's own, unless two
    models are compared."""
    for device in document["devices"]:
        if not document.get("machines") and not device["same_model"]:
            return _of_models(device)
    return with_signs(f"{document['sentence']}.")


def _of_models(device: Mapping[str, Any]) -> str:
    """The ratios between two models, without verdicts."""
    new, base = _model(device["new"]), _model(device["base"])
    rows = device["ceilings"]
    faster, slower = (
        [r for r in rows if r["ratio_low"] > 1],
        [r for r in rows if r["ratio_high"] < 1],
    )
    parts = []
    for found, word, pick in ((faster, "faster", max), (slower, "slower", min)):
        if found:
            most = pick(found, key=lambda row: row["ratio"])
            parts.append(
                f"{word} in {len(found)} of {units.counted(len(rows), 'ceiling')}, most in "
                f"{ceiling_name(most)} ({units.number(most['ratio'])} ×)"
            )
    said = "; ".join(parts) or "neither faster nor slower in any ceiling"
    return f"{new} against {base}: {said}. Two models are compared, not judged."


def _reasons(document: Mapping[str, Any]) -> str:
    """Losses, missing and failed figures, and figures of only one side."""
    named = {}
    for device in document["devices"]:
        for row in device["ceilings"]:
            named[f"/{row['resource']}/{row['basis']}"] = ceiling_name(row)
        for row in device["curves"]:
            named[f"/{row['id']}"] = str(row.get("label", row["id"]))
    rows = [
        (
            "info" if reason["allowed"] else _SEVERITY.get(reason["outcome"], "warning"),
            f"{_printed(str(reason['name']), named)}: {reason['text']}",
        )
        for reason in document["gate"]["reasons"]
        # The pictures of a fleet's devices have them.
        if not (document.get("machines") and reason["code"] == "slower")
    ]
    rows += [
        (
            _SEVERITY.get(rule["outcome"], "warning"),
            # The text begins with the ceiling's name.
            f"{_printed(str(rule['name']), named).partition(', ')[0]}: {rule['text']}",
        )
        for rule in document["gate"].get("warnings", ())  # older programs have none
    ]
    for side in ("base", "new"):
        rows += [("info", f"{name}: only in {side}") for name in document[f"only_{side}"]]
    return list_of(rows)


def _printed(name: str, named: Mapping[str, str]) -> str:
    """A rule's name with that of its ceiling or curve: "gpu0, HBM read"."""
    whole = name.removesuffix("/steady")
    for end, ceiling in named.items():
        if whole.endswith(end):
            return f"{whole.removesuffix(end)}, {ceiling}"
    return name


def _device(
    device: Mapping[str, Any], threshold: float, number: int, numbers: Iterator[int]
) -> Iterator[str]:
    yield f'<h2 id="device-{number}">{escape(_heading(device))}</h2>'
    if not device["same_model"]:
        yield "<p>Two models: their ratios are facts about them, not verdicts.</p>"
    elif device["shared_host"]:
        yield "<p>Not judged: a virtual machine's neighbours use its CPUs and memory too.</p>"
    drawn = ratios(device, threshold)
    if drawn:
        yield picture(drawn, numbers, f"at-ratios-{number}")
        yield _ceilings(device, threshold, f"ceilings-{number}")
    yield from _curves(device, f"curves-{number}")
    yield from _differences(device, f"differences-{number}")


def _ratio(value: float | None) -> str:
    return figure(value, "{:.3f}".format)


def _why(row: Mapping[str, Any], threshold: float) -> str:
    """The program's reason, or how an interval leaves a verdict open."""
    if row.get("why") or row["verdict"] != "inconclusive":
        return str(row.get("why") or "")
    low, high = row["ratio_low"] - 1, row["ratio_high"] - 1
    if low < -threshold and high > threshold:
        return f"too noisy: between {units.change(low)} and {units.change(high)}"
    outer = high if high > threshold else low
    if abs(outer) > threshold:
        return f"may exceed {threshold * 100:g} %: up to {units.change(outer)}"
    return "cards of the model differ as much"


def _ceilings(device: Mapping[str, Any], threshold: float, identity: str) -> str:
    """The ceilings in figures, most severe verdicts first; ratio and verdict next to the name,
    where a phone shows them."""
    order = list(VERDICTS)
    heads = ["ceiling", "ratio", "verdict", "base", "new", "ratio from", "to", "why"]
    rows = [
        [
            cell(ceiling_name(row)),
            _ratio(row["ratio"]),
            cell(verdict_name(row["verdict"])),
            *(
                figure(row[side]["value"], functools.partial(units.rate, unit=row["unit"]))
                for side in ("base", "new")
            ),
            _ratio(row["ratio_low"]),
            _ratio(row["ratio_high"]),
            cell(_why(row, threshold)),
        ]
        for row in sorted(
            device["ceilings"],
            key=lambda row: order.index(row["verdict"]) if row["verdict"] in order else -1,
        )
    ]
    return card("ceiling-table", f"<h3>Ceilings in figures</h3>{table(identity, heads, rows)}")


def _curves(device: Mapping[str, Any], identity: str) -> Iterator[str]:
    """What deviates, and is not told by a ceiling, is open, the rest folded."""
    deviating = [
        curve
        for curve in device["curves"]
        if curve["verdict"] in ("slower", "faster", "uneven") and not curve.get("repeats_ceiling")
    ]
    if deviating:
        yield card("curves", f"<h3>Curves that deviate</h3>{_of_curves(deviating, identity)}")
    if rest := [c for c in device["curves"] if c not in deviating]:
        summary = f"{units.counted(len(rest), 'curve')}: {tally(rest)}"
        yield card("curves", folded(summary, _of_curves(rest, f"{identity}-rest")))


def _of_curves(curves: Sequence[Mapping[str, Any]], identity: str) -> str:
    heads = ["curve (ratio of speeds)", "median", "verdict", "from", "to", "where it parts"]
    rows = [
        [
            cell(row.get("label", row["id"])),  # documents of 0.1.0 have no label
            _ratio(row["median_ratio"]),
            cell(verdict_name(row["verdict"])),
            _ratio(row.get("ratio_low")),
            _ratio(row.get("ratio_high")),
            cell(_part(row)),
        ]
        for row in curves
    ]
    return table(identity, heads, rows)


def _part(curve: Mapping[str, Any]) -> str:
    """The points that changed in one direction: "nodes:64 to nodes:1024"."""
    part = curve.get("parts")
    if not part:
        return ""
    if part["points"] == len(curve["points"]):
        return "all points" if part["points"] > 1 else ""
    return part["from"] if part["points"] == 1 else f"{part['from']} to {part['to']}"


def _differences(device: Mapping[str, Any], identity: str) -> Iterator[str]:
    rows = [
        [cell(row["what"]), cell(row["base"]), cell(row["new"])] for row in device["differences"]
    ]
    if rows:
        heads = ["what differs", "base", "new"]
        yield card("differences", f"<h3>What else differs</h3>{table(identity, heads, rows)}")
    for side in ("base", "new"):
        names = device[f"only_{side}"]
        if names:
            summary = f"Only in {side}: {units.counted(len(names), 'measurement')}"
            only = table(f"{identity}-{side}", ["measured"], [[cell(name)] for name in names])
            yield card("differences", folded(summary, only))
