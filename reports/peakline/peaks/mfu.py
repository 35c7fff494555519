"""Model FLOPs utilization (MFU), with the standard library alone.

MFU divides a model's FLOPs by what the hardware could do in the same time. It leaves out
recomputation, which hardware FLOPs utilization (HFU) counts. Convention: PaLM (Chowdhery et al.
2022, arXiv:2204.02311, appendix B). An FMA is 2 FLOP, a training step costs three forward passes
(two of them for the backward pass), and each parameter takes part in one FMA per token:

    FLOPs per token = 6 N + 12 L H Q T

with N parameters, L layers, H heads, Q dimensions of a head and T tokens of a sequence. An input
embedding that is not tied to the output does not count: `Params.matmul_params` is N without it.
`Transformer.flops` knows other projects' conventions.
"""

from __future__ import annotations

from typing import Literal

from peakline.models.transformer import Recompute, attention_flops, recomputed
from peakline.names import basis_name
from peakline.profile import PUBLISHED_BASES, Peak
from peakline.profile.errors import shown_argument
from peakline.profile.schema import is_amount, require_positive

# A share of a published peak above this, rounding included, means a wrong denominator.
MOST_OF_PEAK = 1.02


class Utilization(float):
    """A share of a peak, 0..1: a `float` that knows its name."""

    name: str

    def __new__(cls, value: float, name: str) -> Utilization:
        """name: with the kind of peak, "MFU (published)" or "of achievable"."""
        share = super().__new__(cls, value)
        share.name = name
        return share

    def __str__(self) -> str:
        return f"{float(self) * 100:.1f} % {self.name}"

    def __reduce__(self) -> tuple[type[Utilization], tuple[float, str]]:
        return Utilization, (float(self), self.name)


MfuKind = Literal["MFU", "HFU"]


def share_name(basis: str, kind: MfuKind = "MFU") -> str:
    """The name of a share of a basis: "MFU (published)", "of achievable", "of burst"."""
    if basis in PUBLISHED_BASES:
        return f"{kind} ({basis_name(basis)})"
    return f"{'' if kind == 'MFU' else 'hardware FLOPs, '}of {basis_name(basis)}"


def utilization_name(peak: float, kind: MfuKind = "MFU") -> str:
    """The name of a share of this peak.

    It is MFU (or HFU) for a published peak, "of achievable", "of model" or "of burst" for a
    measured one, whose shares are larger. A plain number keeps the kind, with its basis as not
    stated.
    """
    if not isinstance(peak, Peak):
        return f"{kind} (basis not stated)"
    return share_name(peak.basis, kind)


def _share(flops: float, seconds: float, peak: float, devices: int, kind: MfuKind) -> Utilization:
    require_positive(seconds=seconds, peak=peak, devices=devices)
    if not is_amount(flops):
        raise ValueError(f"flops must be a number of at least 0, not {shown_argument(flops)}")
    if isinstance(peak, Peak) and peak.unit == "B/s":
        raise ValueError(f"peak is a bandwidth ({peak.resource}), not a rate of FLOPs")
    share = flops / (seconds * peak * devices)
    if isinstance(peak, Peak) and peak.published and share > MOST_OF_PEAK:
        raise ValueError(
            f"{kind} of {share * 100:.0f} % of the {basis_name(peak.basis)} peak of "
            f"{peak.resource} is impossible: check the precision, the number of devices, that "
            "FLOPs and seconds span the same work, and that causal attention counts half "
            "(--causal, causal=True) if its kernels skip the other half"
        )
    return Utilization(share, utilization_name(peak, kind))


def mfu(flops: float, seconds: float, peak: float, *, devices: int = 1) -> Utilization:
    """Model FLOPs utilization, a share: flops / (seconds x peak x devices).

    flops: the model's FLOPs for the work done in `seconds`, over all devices, without recomputation
    (`transformer_flops` x tokens). peak: FLOP/s of one device; a `Profile.peak` also names the
    result, "of achievable" rather than MFU if it was measured. Raises ValueError for invalid
    values, and for a share above MOST_OF_PEAK (102 %) of a published peak, which no rounding
    explains. Shares of measured peaks and of plain numbers may exceed 1.
    """
    return _share(flops, seconds, peak, devices, "MFU")


def hfu(flops: float, seconds: float, peak: float, *, devices: int = 1) -> Utilization:
    """As `mfu`, with FLOPs that include recomputation (`hardware_flops`)."""
    return _share(flops, seconds, peak, devices, "HFU")


def attainable(peak: float, bandwidth: float, intensity: float) -> float:
    """The roofline's limit in FLOP/s: min(peak, bandwidth x intensity). bandwidth in B/s, intensity
    in FLOP/byte (Williams, Waterman, Patterson 2009). Raises ValueError."""
    require_positive(peak=peak, bandwidth=bandwidth, intensity=intensity)
    return min(float(peak), float(bandwidth) * intensity)


def transformer_flops(
    params: float,
    layers: int,
    heads: int,
    head_dim: int,
    sequence: int,
    *,
    causal: bool = False,
    kv_heads: int | None = None,
    active_params: float | None = None,
    training: bool = True,
) -> float:
    """Model FLOPs of a transformer for one token, by PaLM's convention: 6 N + 12 L H Q T.

    params: N, without parameters that are only looked up (`Params.matmul_params`). causal: count
    half of the attention matrix, as Megatron-LM does; PaLM counts all of it. kv_heads: checked, but
    without effect: with grouped-query attention N already reflects the fewer heads of K and V, and
    each query head still has its own products. active_params: the parameters that one token passes
    through in a mixture of experts (`Params.active`); they replace N. training: False counts the
    forward pass alone, a third. Raises ValueError.
    """
    require_positive(params=params)
    attention = attention_flops(layers, heads, head_dim, sequence, causal, kv_heads)
    if active_params is not None:
        require_positive(active_params=active_params)
        if active_params > params:
            raise ValueError(
                f"active_params ({active_params:g}) cannot be more than params ({params:g})"
            )
        params = active_params
    forward = 2.0 * params + attention
    return 3.0 * forward if training else forward


def hardware_flops(
    params: float,
    layers: int,
    heads: int,
    head_dim: int,
    sequence: int,
    *,
    recompute: Recompute,
    causal: bool = False,
    kv_heads: int | None = None,
    active_params: float | None = None,
) -> float:
    """FLOPs that the hardware does for one token in training, with recomputation; for `hfu`.

    recompute: "none"; "attention", the attention products once more (selective activation
    recomputation, Korthikanti et al. 2022, arXiv:2205.05198); "full", the whole forward pass once
    more, so 4/3 of the model's FLOPs. Raises ValueError.
    """
    model = transformer_flops(
        params,
        layers,
        heads,
        head_dim,
        sequence,
        causal=causal,
        kv_heads=kv_heads,
        active_params=active_params,
    )
    attention = attention_flops(layers, heads, head_dim, sequence, causal, kv_heads)
    return recomputed(model, attention, recompute)
