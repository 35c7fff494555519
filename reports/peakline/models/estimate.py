"""An estimate (not a bound) of a decode step by library kernels that run one after the other."""

import statistics
from dataclasses import dataclass

from peakline.limits.collectives import ALL_REDUCES, interpolated, points
from peakline.models.inference import Serving, all_reduced_bytes, all_reduces, decode_bound
from peakline.models.transformer import Transformer
from peakline.profile import PeakError, Profile

_LAUNCHES = 9  # per layer: norms, rotary embedding, attention, activation, 4 GEMMs
_LAUNCHES_OF_MIXTURE = 13
_PRODUCTS_AT_ONE = "gemm.model.bf16"
_CURVE = "gemm.skinny.bf16"
_PARTS = ("qkv", "output", "up", "down")


@dataclass(frozen=True, slots=True)
class KernelsEstimate:
    """An estimate of one decode step by its kernels, as `decode_kernels` makes it, part by part."""

    seconds: float
    tokens_per_s: float
    products_s: float  # by the measured curve of skinny GEMMs
    attention_s: float
    launching_s: float
    reducing_s: float  # all-reduces


_ONE = Serving()


def decode_kernels(
    profile: Profile, model: Transformer, serving: Serving = _ONE
) -> KernelsEstimate:
    """Estimates a decode step from measured skinny GEMMs, launches and all-reduces.

    A GEMM with M = 1 takes a + bytes / b, fitted to the profile's; larger batches are slower by the
    measured curve over M. Raises PeakError if the profile lacks one of these, or the all-reduce
    between exactly `tp` GPUs.
    """
    step = decode_bound(profile, model, serving)
    uuid = profile.select_devices(serving.device)[0]
    fixed, rate = _line(profile, uuid)
    count = (
        1
        + len(model.rest.matrices)
        + sum(
            len(layer.products) + (len(layer.experts.one.matrices) if layer.experts else 0)
            for layer in model.layers
        )
    )
    products = (count * fixed + step.weight_bytes / rate) * _turn(profile, uuid, serving.batch)
    attending = [layer for layer in model.layers if layer.heads]
    again = sum(
        layer.borrowed * layer.attended(serving.context) / min(serving.tp, layer.kv_heads)
        for layer in attending
    )
    kv_bytes = step.kv_bytes + serving.batch * again * serving.formats.kv_bytes
    attention = len(attending) * fixed + kv_bytes / rate
    layers = [layer for layer in model.layers if layer.weights.products]
    nodes = sum(_LAUNCHES_OF_MIXTURE if x.experts else _LAUNCHES for x in layers)
    launching = nodes * _launch(profile, uuid)
    reducing = _reducing(profile, model, serving)
    seconds = products + attention + launching + reducing
    return KernelsEstimate(
        seconds, serving.batch / seconds, products, attention, launching, reducing
    )


def _by(profile: Profile, device: str, id_: str, name: str) -> dict[int, float]:
    """Seconds of each measurement by a parameter."""
    return {
        value: m.summary.median_s
        for m in profile.of(device, id_)
        if m.id == id_ and m.summary and (value := m.integer(name))
    }


def _line(profile: Profile, device: str) -> tuple[float, float]:
    """Seconds a and B/s b of GEMMs with M = 1: least squares of time over bytes."""
    rows = [
        (m.work.bytes_read, m.summary.median_s)
        for m in profile.of(device, _PRODUCTS_AT_ONE)
        if m.id == _PRODUCTS_AT_ONE and m.summary
        if m.params.get("tokens") == 1 and m.params.get("part") in _PARTS
    ]
    if len({nbytes for nbytes, _ in rows}) < 2:
        raise _missing(profile, device, "products of one row", "^gemm.model")
    slope, fixed = statistics.linear_regression(*zip(*rows, strict=True))
    if slope <= 0:
        raise PeakError(
            f"{profile.where}: products of one row take no longer with more bytes, so they tell no "
            "rate: no estimate of kernels"
        )
    return max(0.0, fixed), 1.0 / slope


def _turn(profile: Profile, device: str, batch: int) -> float:
    """Time of a GEMM with `batch` rows over one with a single row, at least 1."""
    curve = _by(profile, device, _CURVE, "m")
    if 1 not in curve:
        raise _missing(profile, device, "products by rows", "^gemm.skinny")
    return max(1.0, interpolated(curve, batch) / curve[1])


def _launch(profile: Profile, device: str) -> float:
    """Seconds per node of a CUDA graph."""
    curve = _by(profile, device, "launch.graph", "nodes")
    if len(curve) < 2:
        raise _missing(profile, device, "CUDA graphs", "^launch.graph")
    least, most = min(curve), max(curve)
    return (curve[most] - curve[least]) / (most - least)


def _reducing(profile: Profile, model: Transformer, serving: Serving) -> float:
    """Seconds of all all-reduces, by the curve measured between as many GPUs."""
    if serving.tp == 1:
        return 0.0
    curve = points(profile, ALL_REDUCES[serving.all_reduce], ranks=serving.tp)
    if not curve:
        named = "" if serving.all_reduce == "nccl" else f" by {serving.all_reduce}"
        more = " or more" if serving.tp.bit_count() == 1 and not named else ""
        raise PeakError(
            f"{profile.where} has no all-reduce{named} between {serving.tp} GPUs, which "
            "is not extrapolated from another number: no estimate of kernels; a full run on "
            f"{serving.tp}{more} GPUs measures it"
        )
    count = all_reduces(model)
    return count * interpolated(curve, all_reduced_bytes(model, serving.batch) / count)


def _missing(profile: Profile, device: str, what: str, pattern: str) -> PeakError:
    return PeakError(
        f"{profile.where} has no {what} of {profile.device_name(device)}: measure "
        f"with peakline run --filter '{pattern}'"
    )
