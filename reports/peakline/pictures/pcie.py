"""The host link: copies between host and device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peakline.pictures.canvas import Canvas, EndLabel, end_labels, plain_log_ticks
from peakline.pictures.curves import all_x, ceiling_or_last, curve, plot_all, size_of, size_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, MUTED
from peakline.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(profile: Profile, device: str) -> Picture | None:
    """Copy rate between host and device against size."""
    names = {
        "pcie.h2d.pinned": "to device, pinned",
        "pcie.d2h.pinned": "to host, pinned",
        "pcie.h2d.pageable": "to device, pageable",
        "pcie.d2h.pageable": "to host, pageable",
        "pcie.bidirectional.pinned": "both ways, pinned",
    }
    rows = profile.of(device, "pcie")
    lines = {
        id_: line
        for id_, name in names.items()
        if (line := curve(name, [m for m in rows if m.id == id_], size_of)).x
    }
    if not lines:
        return None
    limits = _limits(profile, device)

    def draw(canvas: Canvas) -> Figure:
        font = canvas.font - (1.5 if canvas.narrow else 1)
        texts = [
            f"{line.name} {ceiling_or_last(profile, device, id_, line) / 1e9:.1f}"
            for id_, line in lines.items()
        ]
        shown = [*texts, *(f"{name} 000.0" for name in limits)]
        figure, (axes,) = canvas.figure(3.6, right=canvas.room(shown, font) + 0.1)
        xs = all_x(lines.values())
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        labels = plot_all(axes, list(lines.values()), texts)
        for name, value in limits.items():
            axes.axhline(value, label=name, **LIMIT)
            labels.append(EndLabel(value, f"{name} {value / 1e9:.1f}", MUTED))
        bottom, top = axes.get_ylim()
        size_ticks(axes.xaxis, xs[0], xs[-1], 3 if canvas.narrow else 7)
        decades = [10.0**e for e in range(6, 13) if bottom <= 10.0**e <= top]
        plain_log_ticks(axes.yaxis, decades, [f"{v / 1e9:g}" for v in decades])
        canvas.labels(axes, "bytes of one copy", "GB/s")
        end_labels(axes, labels, font)
        return figure

    return Picture(
        "pcie",
        "Host link: copies between host and device",
        "Small copies cost a fixed time, large ones run at the link's rate; a line bends at the "
        "size from which bandwidth matters. Dashed: what the lanes carry, and what of it is left "
        "for data after the headers of packets. Both ways counts the bytes of both directions.",
        draw,
        ("PCIe copies",),
    )


def _limits(profile: Profile, device: str) -> dict[str, float]:
    """What a link carries in B/s, raw and after the headers of packets, in each way and in both."""
    found = {}
    for name, way in (("link", "h2d"), ("both ways", "bidirectional")):
        resource = f"pcie.{way}"
        raw = profile.ceiling(device, resource, "theoretical")
        measured = profile.ceiling(device, resource, "measured")
        if raw is None:
            continue
        found[f"{name}, raw"] = raw.value
        packets = {f.name: f.value for f in measured.factors} if measured else {}
        if "packets" in packets:
            found[f"{name}, data"] = raw.value * packets["packets"]
    return found
