"""The products of a transformer's layer against the number of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from peakline.names import format_name
from peakline.pictures.canvas import Canvas
from peakline.pictures.curves import Curve, curve, log2_x, plot
from peakline.pictures.matrix.rows import ceiling_value, format_of, formats_of
from peakline.pictures.picture import Picture
from peakline.pictures.style import DASHED, MUTED
from peakline.profile import Measurement, Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_PARTS = ("layer", "qkv", "output", "up", "down")
_PART_NAMES = {"qkv": "QKV"}


def _tokens(m: Measurement) -> int | None:
    return m.integer("tokens") or None


def _layer_lines(
    profile: Profile, device: str, rows: Sequence[Measurement]
) -> dict[tuple[str, str], Curve]:
    """Shares of the format's burst ceiling over tokens, by format and part."""
    lines = {}
    for name in formats_of(rows):
        burst = ceiling_value(profile, device, name, "burst")
        for part in _PARTS:
            of_part = [m for m in rows if format_of(m) == name and m.params.get("part") == part]
            line = curve(
                f"{format_name(name)} layer" if part == "layer" else _PART_NAMES.get(part, part),
                of_part,
                _tokens,
            )
            if burst and len(line.x) > 1:
                lines[name, part] = line.over(burst)
    return lines


def picture(profile: Profile, device: str) -> Picture | None:
    """The products of a transformer's layer against the number of tokens."""
    rows = profile.of(device, "gemm.model")
    drawn = {}
    for hidden in sorted({m.integer("hidden") or 0 for m in rows} - {0}):
        of_size = [m for m in rows if m.integer("hidden") == hidden]
        if lines := _layer_lines(profile, device, of_size):
            drawn[hidden] = lines
    if not drawn:
        return None
    main = next(iter(drawn[max(drawn)]))[0]
    burst = ceiling_value(profile, device, main, "burst")
    held = ceiling_value(profile, device, main, "sustained")
    sustained = held / burst if held and burst else None

    def draw(canvas: Canvas) -> Figure:
        figure, panels = canvas.figure(3.4, len(drawn))
        for axes, (hidden, lines) in zip(panels, drawn.items(), strict=True):
            for i, ((_, part), line) in enumerate(lines.items()):
                lw, size, zorder = (2.4, 4.5, 3) if part == "layer" else (1.0, 3, 2)
                plot(axes, line, i, 0.01, lw=lw, markersize=size, zorder=zorder)
            if sustained:
                axes.axhline(
                    sustained * 100,
                    color=MUTED,
                    linestyle=DASHED,
                    lw=0.9,
                    zorder=1,
                    label=f"{format_name(main)} sustained",
                )
            log2_x(axes, lines.values(), 4)
            axes.set_ylim(0, max(105.0, *(y * 105 for line in lines.values() for y in line.y)))
            canvas.labels(axes, "M, tokens", f"% of burst, hidden size {hidden}")
        # Many tokens reach much in any format: the lower right is free. At their ends the lines lie
        # less apart than labels would.
        panels[0].legend(
            fontsize=canvas.font - 1,
            loc="lower right",
            frameon=False,
            handlelength=2.6,
            labelspacing=0.3,
            borderaxespad=0.1,
        )
        return figure

    return Picture(
        "model",
        "Transformer layer: its matrix products",
        "Each line is one product of a layer over the tokens of a batch (M), and the strong line "
        "the four in a row; 100 % is the format's burst ceiling, the dashed line its sustained "
        "one. The card is warm here: a long series of products is closer to sustained than to "
        "burst.",
        draw,
        ("model layer",),
    )
