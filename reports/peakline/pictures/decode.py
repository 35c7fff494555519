"""Tokens per second by batch: a language model's bound on a device, and an estimate."""

import contextlib
import dataclasses
import math

from peakline import units
from peakline.models.estimate import KernelsEstimate, decode_kernels
from peakline.models.inference import Serving, TokenBound, decode_bound
from peakline.models.transformer import Transformer
from peakline.pictures.canvas import Canvas, Figure, engineering_ticks, note
from peakline.pictures.curves import integer_ticks
from peakline.pictures.picture import Picture
from peakline.pictures.style import LIMIT, SERIES
from peakline.profile import PeakError, Profile

_ONE = Serving()
_BATCHES = tuple(1 << power for power in range(11))


def decode_picture(
    profile: Profile, model: Transformer, name: str, serving: Serving = _ONE
) -> Picture:
    """The bound, the estimate if available, and the batch that memory limits. name: of the model.
    Ignores `serving.batch`. Errors as in `decode_bound`."""
    bounds: dict[int, TokenBound] = {}
    kernels: dict[int, KernelsEstimate] = {}
    for batch in _BATCHES:
        one = dataclasses.replace(serving, batch=batch)
        bounds[batch] = decode_bound(profile, model, one)
        with contextlib.suppress(PeakError):
            kernels[batch] = decode_kernels(profile, model, one)
    where = profile.device_name(profile.select_devices(serving.device)[0])
    largest = bounds[1].largest_batch
    # The curves end where memory does. A model that does not fit at all has whole curves.
    most = largest if largest and largest < max(bounds) else None
    ends = " The vertical line is the largest batch whose KV cache fits beside the weights."
    return Picture(
        "decode",
        f"Decoding {name} after {serving.context} tokens: tokens/s by batch",
        "Solid: no program that makes one token a forward pass is faster. Dashed: library kernels "
        "one after the other, an estimate; dotted, its GEMMs alone, by the measured curve of "
        f"skinny GEMMs.{ends if most else ''}",
        lambda canvas: _draw(canvas, bounds, kernels, most),
        headline=f"{name} decodes at most {units.number(bounds[1].tokens_per_s)} tokens/s "
        f"at batch 1 on {where if serving.tp == 1 else f'{serving.tp} x {where}'}"
        + ("" if largest != 0 else ", but it does not fit in memory"),
        stamp=f"{where}, {profile.created}",
    )


def _draw(
    canvas: Canvas,
    bounds: dict[int, TokenBound],
    kernels: dict[int, KernelsEstimate],
    most: int | None,
) -> Figure:
    if most is not None:
        bounds = {batch: step for batch, step in bounds.items() if batch <= most}
        kernels = {batch: step for batch, step in kernels.items() if batch <= most}
    names = ["bound", "GEMMs alone, measured", "library kernels (estimate)"]
    figure, (axes,) = canvas.figure(3.2, left=0.75)
    rates = [step.tokens_per_s for step in bounds.values()]
    axes.plot(list(bounds), rates, "o-", color=SERIES[0], label=names[0])
    if kernels:
        products = [batch / step.products_s for batch, step in kernels.items()]
        axes.plot(list(kernels), products, ":", color=SERIES[2], label=names[1])
        estimates = [step.tokens_per_s for step in kernels.values()]
        axes.plot(list(kernels), estimates, "s--", color=SERIES[1], label=names[2])
        rates += [*products, *estimates]
    axes.set_xscale("log")
    axes.set_yscale("log")
    integer_ticks(axes.xaxis, list(bounds), 6 if canvas.narrow else 12)
    # Start at a whole decade, so that the axis has more than one number.
    low = 10.0 ** math.floor(math.log10(min(rates)))
    high = max(rates) * 2
    axes.set_ylim(low, high)
    engineering_ticks(axes.yaxis, low, high)
    if most is not None:
        axes.axvline(most, **LIMIT)
        text, of = f"memory ends at batch {most}", ("data", "axes fraction")
        style = {"ha": "right", "va": "baseline"}
        note(axes, text, (most, 0.02), (-3, 0), of, fontsize=canvas.font - 1, **style)
    # The curves rise to the right; below them, and above the note, is room.
    place = {"loc": "lower right", "bbox_to_anchor": (0.95, 0.07)}
    axes.legend(frameon=False, fontsize=canvas.font - 1, **place)
    canvas.labels(axes, "sequences in a batch, log scale", "tokens/s, log scale")
    return figure
