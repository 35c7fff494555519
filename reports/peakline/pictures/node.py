"""Links between a node's GPUs by pair and size, and all GPUs at once."""

from collections.abc import Mapping
from typing import Any

from peakline import units
from peakline.pictures.canvas import (
    Canvas,
    EndLabel,
    Figure,
    end_labels,
    plain_log_ticks,
    round_values,
)
from peakline.pictures.curves import Points, amount, highest, plot, size_of, size_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import CARD, GRID, INK, LIMIT, MUTED, SERIES
from peakline.pictures.titles import says
from peakline.profile import Profile
from peakline.text import whole

_WAYS = {"p2p.read.ce": "reads", "p2p.write.ce": "writes", "p2p.bidirectional.ce": "both ways"}
_CEILINGS = {"reads": "nvlink.read", "writes": "nvlink.write", "both ways": "nvlink.bidirectional"}
_SIZES = {
    **{id_: f"{name}, copy engines" for id_, name in _WAYS.items()},
    **{id_.replace(".ce", ".sm"): f"{name}, kernel" for id_, name in _WAYS.items()},
}

Matrix = dict[tuple[int, int], float]


def links(profile: Profile, device: str) -> Picture | None:
    """The rate of each pair of GPUs, as a matrix."""
    matrices = {
        name: matrix for id_, name in _WAYS.items() if (matrix := _matrix(profile, device, id_))
    }
    if not matrices:
        return None
    gpus = sorted({gpu for matrix in matrices.values() for pair in matrix for gpu in pair})
    limits = _limits(profile, device)
    if len(gpus) == 2:
        return _pair(matrices, limits)

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.0, len(matrices), left=0.5)
        small = canvas.font - (1.0 if canvas.narrow or len(gpus) <= 4 else 2.5)
        for axes, (name, matrix) in zip(panels, matrices.items(), strict=True):
            best = max(matrix.values())
            for (one, other), rate in matrix.items():
                x, y = gpus.index(other), gpus.index(one)
                # Full colour for the best rate, none for half of it.
                share = max(0.0, 2 * rate / best - 1)
                at: dict[str, Any] = {
                    "left": x - 0.5,
                    "height": 1,
                    "color": SERIES[0],
                    "alpha": share,
                }
                (cell,) = axes.barh(y, 1, ec=GRID, **at)
                said = f"{name}, GPU {one} with GPU {other}: {units.rate(rate, 'B/s')}"
                of = f", {units.percent(rate / 1e9 / limits[name])} of the links" * (name in limits)
                says(cell, f"{said}, {units.percent(rate / best)} of the best pair{of}")
                color = CARD if share > 0.7 else INK
                text = f"{rate / 1e9:.0f}"
                axes.text(x, y, text, ha="center", va="center", fontsize=small, color=color)
            axes.set_xlim(-0.5, len(gpus) - 0.5)
            axes.set_ylim(len(gpus) - 0.5, -0.5)
            axes.set_xticks(range(len(gpus)), [str(gpu) for gpu in gpus])
            axes.set_yticks(range(len(gpus)), [f"GPU {gpu}" for gpu in gpus])
            axes.grid(visible=False)
            limit = f" of {limits[name]:.0f}" if name in limits else ""
            canvas.labels(axes, "with GPU", f"{name}, GB/s{limit}")
        return figure

    return Picture(
        "node-links",
        "Links: what each pair of GPUs moves",
        "A row is the GPU that copies, a column the one that it reads from or writes to, by its "
        "copy engines and in large copies; both ways counts the bytes of both directions. A pale "
        "cell is a pair that is slower than the best."
        + (" The heading of a panel ends with what the links' lanes carry." if limits else ""),
        draw,
        ("GPU to GPU",),
    )


_BETWEEN = {"reads": "GPU {} reads from GPU {}", "writes": "GPU {} writes to GPU {}"}


def _limits(profile: Profile, device: str) -> dict[str, float]:
    """Theoretical rates of NVLink between two GPUs in GB/s, by direction."""
    found = {
        name: profile.ceiling(device, resource, "theoretical")
        for name, resource in _CEILINGS.items()
    }
    return {name: row.value / 1e9 for name, row in found.items() if row}


def _pair(matrices: Mapping[str, Matrix], limits: Mapping[str, float]) -> Picture:
    """The rates of a single pair, as bars instead of a matrix."""
    bars = {
        _BETWEEN.get(name, name).format(*pair): (rate / 1e9, limits.get(name))
        for name, matrix in matrices.items()
        for pair, rate in sorted(matrix.items())
    }
    texts = [
        units.number(rate) + (f" of {units.number(limit)}" if limit else "")
        for rate, limit in bars.values()
    ]

    def draw(canvas: Canvas) -> Figure:
        figure, axes = canvas.row_panel(list(bars), 0.27, texts)
        axes.grid(axis="y", visible=False)
        for y, (name, (rate, limit)) in enumerate(bars.items()):
            (bar,) = axes.barh(y, rate, height=0.6, color=SERIES[0])
            of = f", {units.percent(rate / limit)} of the links" if limit else ""
            says(bar, f"{name}: {units.number(rate)} GB/s{of}")
            if limit:
                axes.plot([limit] * 2, [y - 0.42, y + 0.42], label=f"_limit {y}", **LIMIT)
        axes.set_xlim(0, 1.04 * max(max(rate, limit or 0) for rate, limit in bars.values()))
        canvas.labels(axes, "GB/s")
        return figure

    return Picture(
        "node-links",
        "Links: what two GPUs move",
        "Large copies by the copy engines; both ways counts the bytes of both directions."
        + (" The dashed line is what the links' lanes carry." if limits else ""),
        draw,
        ("GPU to GPU",),
    )


def _matrix(profile: Profile, device: str, id_: str) -> Matrix:
    rows = profile.of(device, id_)
    largest = max((size_of(m) or 0 for m in rows), default=0)
    found: Matrix = {}
    for m in rows:
        one, other = (whole(gpu) for gpu in str(m.params.get("pair")).partition("-")[::2])
        if size_of(m) != largest or one is None or other is None:
            continue
        found[one, other] = amount(m)
        if "bidirectional" in id_:
            found[other, one] = amount(m)
    return found


def sizes(profile: Profile, device: str) -> Picture | None:
    """The rate of one pair by size."""
    lines: dict[str, Points] = {}
    for id_, name in _SIZES.items():
        rows = profile.of(device, id_)
        pairs = [m.params.get("pair") for m in rows]
        most = max(pairs, key=pairs.count, default=None)
        line = highest([m for m in rows if m.params.get("pair") == most], size_of)
        if len(line) > 1:
            lines[name] = line
    if not lines:
        return None
    limits = _limits(profile, device)
    halves = [
        f"{name} of {units.size(figure.value)}"
        for id_, name in _WAYS.items()
        if name != "both ways"
        for figure in profile.figures(device, id=id_, name="half_rate")
    ]

    def draw(canvas: Canvas) -> Figure:
        drawn = {name: [(size, rate / 1e9) for size, rate in line] for name, line in lines.items()}
        texts = [f"{name} {line[-1][1]:.0f}" for name, line in drawn.items()]
        marks = {f"links, {way}": limit for way, limit in _named_once(limits).items()}
        named = [*texts, *(f"{name} {limit:.0f}" for name, limit in marks.items())]
        figure, (axes,) = canvas.figure(3.4, right=canvas.room(named, canvas.font - 1))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        labels = []
        for i, (name, line) in enumerate(drawn.items()):
            said = [f"{name}: {units.number(y)} GB/s, copies of {units.size(x)}" for x, y in line]
            (end, rate), color = line[-1], plot(axes, line, i, said, label=name)
            labels.append(EndLabel(rate, texts[i], color, end))
        for name, limit in marks.items():
            axes.axhline(limit, label=name, **LIMIT)
            labels.append(EndLabel(limit, f"{name} {limit:.0f}", MUTED))
        xs = [x for line in lines.values() for x, _ in line]
        size_ticks(axes.xaxis, min(xs), max(xs), 2 if canvas.narrow else 7)
        bottom, top = axes.get_ylim()
        rates = round_values(bottom, top, 5)
        plain_log_ticks(axes.yaxis, rates, [f"{v:g}" for v in rates])
        canvas.labels(axes, "bytes of one copy", "GB/s")
        end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "node-sizes",
        "Copies by size: between two GPUs",
        "Small copies cost a fixed time, large ones run at the rate of the links. The copy engines "
        "leave the SMs free; a kernel occupies some of them."
        + (" Dashed lines are what the links' lanes carry." if limits else ""),
        draw,
        headline=f"Half of the largest rate takes {' and '.join(halves)}" if halves else "",
    )


def _named_once(limits: Mapping[str, float]) -> dict[str, float]:
    """The limits by direction, with reads and writes merged if equal."""
    both = {name: limit for name, limit in limits.items() if name == "both ways"}
    one_way = {name: limit for name, limit in limits.items() if name != "both ways"}
    if len(set(one_way.values())) == 1:
        one_way = {"one way": next(iter(one_way.values()))}
    return {**one_way, **both}


def concurrent(profile: Profile, device: str) -> Picture | None:
    """The share of its rate that each GPU keeps when all work at once."""
    kinds = {
        "pcie.concurrent.h2d": "from the host",
        "pcie.concurrent.d2h": "to the host",
        "pcie.concurrent.both": "both ways",
        "hbm.concurrent": "memory reads",
        "gemm.concurrent": "BF16 GEMMs",
    }
    bars: list[tuple[str, float, str]] = []
    for id_, name in kinds.items():
        kept = {f.by.get("gpu"): f.value for f in profile.figures(device, id=id_, name="kept")}
        for m in profile.of(device, id_):
            if not kept or m.params.get("beside") != "all":
                continue
            gpu, rate = m.params.get("gpu"), units.rate(amount(m), m.unit)
            # One GPU stands for what all reach alone, where they are alike.
            share = f"{units.percent(kept[gpu])}: {rate}" if gpu in kept else rate
            bars.append((f"{name}, GPU {gpu}", kept.get(gpu, 0.0), share))
    if not bars:
        return None
    names, shares, texts = zip(*bars, strict=True)

    def draw(canvas: Canvas) -> Figure:
        figure, axes = canvas.row_panel(names, 0.24, texts)
        drawn = axes.barh(range(len(names)), shares, height=0.6, color=SERIES[0])
        for bar, name, text in zip(drawn, names, texts, strict=True):
            says(bar, f"{name}: {text}")
        axes.set_xlim(0, max(1.05, *shares))
        axes.axvline(1, color=INK, lw=0.9)
        canvas.labels(axes, "share of what the GPU reaches alone")
        return figure

    return Picture(
        "node-concurrent",
        "All GPUs at once: what is left to each",
        "A bar that reaches the line at 1 loses nothing to the other GPUs. Host links share "
        "switches, sockets and the host's memory; GEMMs share the node's power and cooling. A rate "
        "without a bar belongs to a GPU that was not run alone.",
        draw,
        ("host links at once", "GPUs at once"),
    )
