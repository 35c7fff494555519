"""An estimate (not a bound) of a decode step by library kernels that run one after the other."""

import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from peakline.limits.collectives import ALL_REDUCES, interpolated, points
from peakline.models.inference import Serving, Work, all_reduced_bytes, all_reduces, decode_bound
from peakline.models.transformer import Transformer
from peakline.profile import PeakError, Profile

_LAUNCHES = 9  # per layer: norms, rotary embedding, attention, activation, 4 GEMMs
_LAUNCHES_OF_MIXTURE = 13
_PRODUCTS_AT_ONE = "gemm.model.bf16"
_CURVE = "gemm.skinny.bf16"
_GROUPED = "gemm.grouped.even"
_PARTS = ("qkv", "output", "up", "down")


@dataclass(frozen=True, slots=True)
class KernelsEstimate:
    """An estimate of one decode step by its kernels, as `decode_kernels` makes it, part by part."""

    seconds: float
    tokens_per_s: float
    products_s: float  # by the measured curves of skinny and grouped GEMMs
    attention_s: float
    launching_s: float
    reducing_s: float  # all-reduces
    experts_s: float  # the part of `products_s` that is grouped GEMMs of routed experts


_ONE = Serving()


def decode_kernels(
    profile: Profile, model: Transformer, serving: Serving = _ONE
) -> KernelsEstimate:
    """Estimates a decode step from measured skinny and grouped GEMMs, launches and all-reduces.

    A GEMM with M = 1 takes a + bytes / b, fitted to the profile's. Larger batches are slower by the
    measured curve over M in BF16, at the M with the same ratio of computing to reading: batch x
    (FLOPs of a token / P) / (bytes / P of BF16). P is the rate of large GEMMs from rest in each
    format, with its scales ("fp8block", "fp8row" of `Formats`) if the profile has that. So formats
    are taken to lose as much to small M as BF16 does.

    Routed experts of a layer take s x max(bytes / B, FLOPs / P): B reads memory, and s, at least 1,
    is by how much the measured BF16 GEMMs of 64 even groups (`gemm.grouped.even`) exceed the same
    maximum of their own bytes and FLOPs. s is interpolated over the logarithm of the tokens that a
    chosen expert gets, batch x k / (E (1 - (1 - k/E)^batch)), and constant beyond the measured
    numbers. That assumes balanced routing, and other formats to lose as much as BF16. Profiles
    without that measurement take experts as all other GEMMs.

    Raises PeakError if the profile lacks one of the others, or the all-reduce between exactly `tp`
    GPUs.
    """
    step, work = decode_bound(profile, model, serving), Work(profile, model, serving)
    uuid = work.device
    line = fixed, rate = _line(profile, uuid)
    experts = _experts(work, fixed)
    products = experts + _dense(work, line, step.weight_bytes, grouped=experts > 0)
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
        seconds, serving.batch / seconds, products, attention, launching, reducing, experts
    )


def _dense(work: Work, line: tuple[float, float], weight_bytes: float, *, grouped: bool) -> float:
    """Seconds of the GEMMs that all tokens use; without a measurement of grouped ones, those of
    routed experts too."""
    fixed, rate = line
    model, formats = work.model, work.formats
    count = 1 + len(model.rest.matrices)
    computing = 2.0 * model.table / work.gemm_rate(formats.gemm("head"))
    computing += 2.0 * model.rest.products / work.gemm_rate("bf16")
    for layer, (_, nbytes) in zip(model.layers, work.layer_bytes, strict=True):
        count += len(layer.products)
        sizes = layer.parts
        if one := layer.experts:
            del sizes["experts"]
            if grouped:
                weight_bytes -= nbytes * one.read_by(work.batch) / work.tp
            else:
                count += len(one.one.matrices)
                sizes["experts"] = one.chosen * one.one.products
        computing += sum(2.0 * n / work.gemm_rate(formats.gemm(part)) for part, n in sizes.items())
    same = computing / work.tp * work.gemm_rate("bf16") / weight_bytes
    turn = _turn(work.profile, work.device, work.batch * same)
    return (count * fixed + weight_bytes / rate) * turn


def _experts(work: Work, fixed: float) -> float:
    """Seconds of the routed experts' GEMMs by measured grouped ones; 0 without either."""
    curve, seconds = _slower_in_groups(work), 0.0
    if not curve:
        return 0.0
    rate = work.gemm_rate(work.formats.gemm("experts"))
    for layer, (_, nbytes) in zip(work.model.layers, work.layer_bytes, strict=True):
        if one := layer.experts:
            read, chosen = one.read_by(work.batch), work.batch * one.chosen
            reading = nbytes * read / work.memory.value
            computing = 2.0 * chosen * one.one.products / rate
            slower = _at(curve, chosen / (one.count * read))
            seconds += len(one.one.matrices) * fixed + slower * max(reading, computing) / work.tp
    return seconds


def _slower_in_groups(work: Work) -> dict[int, float]:
    """Seconds of grouped GEMMs over the larger of their bytes' and their FLOPs' least time, by
    tokens of a group."""
    rate = work.gemm_rate("bf16")
    return {
        tokens: max(1.0, m.summary.median_s / max(moved / work.memory.value, flops / rate))
        for m in work.profile.of(work.device, _GROUPED)
        if m.summary and (tokens := m.integer("tokens")) and (flops := m.work.flops)
        if (moved := m.work.bytes_read + m.work.bytes_written)
    }


def _at(curve: Mapping[int, float], place: float) -> float:
    """Linear over the logarithm between measured places, constant beyond."""
    places = sorted(curve)
    at = min(max(bisect_left(places, place), 1), len(places) - 1)
    if at < 1:
        return curve[places[0]]
    below, above = places[at - 1], places[at]
    share = math.log(place / below) / math.log(above / below)
    return curve[below] + min(max(share, 0.0), 1.0) * (curve[above] - curve[below])


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


def _turn(profile: Profile, device: str, batch: float) -> float:
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
