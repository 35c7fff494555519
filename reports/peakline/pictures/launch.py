"""What starting work costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline import units
from peakline.pictures.canvas import Canvas, EndLabel, end_labels
from peakline.pictures.curves import Curve, amount, curve, log2_x, plot
from peakline.pictures.picture import Picture
from peakline.pictures.style import DASHES, INK, SERIES
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LAUNCHES = {
    "launch.submit": "submit: host time of the call",
    "launch.back_to_back": "back to back: one of many",
    "launch.round_trip": "round trip: launch to finish",
    "launch.empty_kernel": "empty kernel: time on device",
}


def picture(profile: Profile, device: str) -> Picture | None:
    """What starting work costs, one by one and as a graph."""
    rows = profile.of(device, "launch")
    graph = curve(
        "graph", [m for m in rows if m.id == "launch.graph"], lambda m: m.integer("nodes") or None
    )
    # A benchmark with parameters (other than the graph) is listed once for each.
    single: dict[str, float] = {}
    for m in rows:
        if m.id != "launch.graph":
            suffix = ", ".join(f"{k} {v}" for k, v in m.params.items())
            name = _LAUNCHES.get(m.id, m.id.removeprefix("launch.").replace("_", " "))
            single[f"{name} ({suffix})" if suffix else name] = amount(m)
    if not single and not graph.x:
        return None
    ordered = sorted(single.items(), key=lambda item: item[1])
    per_node = Curve("graph", graph.x, tuple(y / x for x, y in zip(graph.x, graph.y, strict=True)))

    def draw(canvas: Canvas) -> Figure:
        panels_wanted = [bool(ordered), len(graph.x) > 1]
        figure, panels = canvas.figure(3.0, sum(panels_wanted), right=canvas.room(["stream"]))
        remaining = list(panels)
        if ordered:
            axes = remaining.pop(0)
            values = [v * 1e6 for _, v in ordered]
            bars = axes.barh(range(len(ordered)), values, height=0.42, color=SERIES[0])
            shown = [f" {units.time(value)}" for _, value in ordered]
            axes.bar_label(bars, shown, fontsize=canvas.font - 1, color=INK)
            for y, (name, _) in enumerate(ordered):
                axes.annotate(
                    name,
                    xy=(0, y - 0.3),
                    xytext=(4, 0),
                    textcoords="offset points",
                    fontsize=canvas.font - 1,
                    color=INK,
                    va="bottom",
                )
            axes.set_ylim(len(ordered) - 0.5, -0.8)
            axes.set_xlim(0, max(values) * 1.12)
            axes.set_yticks([])
            axes.grid(axis="y", visible=False)
            canvas.labels(axes, "µs", "one launch")
        if len(graph.x) > 1:
            axes = remaining.pop(0)
            plot(axes, per_node, 1, 1e-6)
            back = single.get(_LAUNCHES["launch.back_to_back"])
            labels = [EndLabel(per_node.y[-1] * 1e6, "graph", SERIES[1])]
            if back:
                axes.axhline(
                    back * 1e6, color=SERIES[0], linestyle=DASHES[1], lw=1.2, label="back to back"
                )
                labels.append(EndLabel(back * 1e6, "stream", SERIES[0]))
            log2_x(axes, [graph], 7)
            axes.set_ylim(bottom=0)
            canvas.labels(axes, "nodes of a graph", "µs for each kernel")
            end_labels(axes, labels, canvas.font - 1)
        return figure

    return Picture(
        "launch",
        "Launches: what starting work costs",
        "Five different quantities: the host's time to submit, the time from launch to finish, the "
        "time per kernel in a full stream, the kernel's own time, and the time per node of a "
        "graph, which spreads its fixed cost over its nodes.",
        draw,
        ("kernel launch",),
    )
