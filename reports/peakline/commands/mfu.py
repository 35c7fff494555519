"""peakline-mfu: utilization against the peaks of profiles, and those peaks for other tools."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from peakline.commands.mfu_model import counted_model, given_flags, model_flags
from peakline.commands.mfu_options import export_parser, mfu_parser
from peakline.commands.mfu_text import conversion, kernel_lines, lines
from peakline.commands.terminal import refused, show, show_document
from peakline.models.training import train_bound
from peakline.models.transformer import Transformer
from peakline.names import basis_name
from peakline.peaks.export import export
from peakline.peaks.mfu import attainable, hfu, mfu, share_name
from peakline.profile import (
    PUBLISHED_BASES,
    Peak,
    PeakError,
    Profile,
    ProfileError,
    fleet_peak,
    load,
)
from peakline.profile.peaks import known_peaks

# Measured bases, in print order.
_MEASURED_BASES = ("burst", "sustained", "measured", "instruction", "model_burst", "model_shaped")


def _peaks(profiles: Sequence[Profile], options: argparse.Namespace) -> list[Peak]:
    """The published peak (datasheet, else theoretical) and every measured one."""
    found = known_peaks(
        (*PUBLISHED_BASES, *_MEASURED_BASES),
        lambda basis: fleet_peak(
            profiles,
            options.dtype,
            basis=basis,
            device=options.device,
            allow_mixed=options.allow_mixed,
        ),
    )
    published = "datasheet" if "datasheet" in found else "theoretical"
    return [found[basis] for basis in (published, *_MEASURED_BASES) if basis in found]


# The roof of a roofline: what holds under load, and for short work the burst.
_ROOFS = ("sustained", "measured", "burst")


def _roofline(
    peaks: Sequence[Peak],
    profiles: Sequence[Profile],
    options: argparse.Namespace,
    achieved: float | None,
) -> dict[str, Any] | None:
    """The roofline at --intensity, and the share of it that a run achieves in FLOP/s per device."""
    if options.intensity is None:
        return None
    by_basis = {peak.basis: peak for peak in peaks}
    found = [by_basis[basis] for basis in _ROOFS if basis in by_basis] or list(peaks[:1])
    memory = found[0].memory
    bandwidth = min(p.bandwidth(memory, device=options.device) for p in profiles)
    roofs: list[dict[str, Any]] = []
    for peak in found:
        limit = attainable(peak, bandwidth, options.intensity)
        roofs.append(
            {
                "basis": peak.basis,
                "peak": float(peak),
                "unit": peak.unit,
                "ridge_intensity": peak / bandwidth,
                "limit_flops_per_s": limit,
                "bound_by": bandwidth.resource if limit < peak else peak.resource,
            }
        )
    first = roofs[0]
    return {
        "intensity": options.intensity,
        **{key: first[key] for key in ("limit_flops_per_s", "ridge_intensity", "bound_by")},
        "share_of_limit": None if achieved is None else achieved / first["limit_flops_per_s"],
        "name": f"of the roofline ({basis_name(first['basis'])})",
        "bandwidth": float(bandwidth),
        "memory": bandwidth.resource,
        "device": found[0].device,
        "roofs": roofs,
    }


def _converted(peaks: Sequence[Peak], percent: float) -> dict[str, Any]:
    """Shares of all peaks that an MFU by the published peak stands for."""
    published = peaks[0]
    if published.basis not in PUBLISHED_BASES:
        raise PeakError("--mfu: the profile lacks the published peak, by which MFU divides")
    if not 0 < percent <= 100:
        raise ValueError(f"--mfu {percent:g}: a percentage above 0, up to 100")
    rate = percent / 100 * published
    rows = [
        {
            "name": share_name(peak.basis),
            "share": rate / peak,
            "peak": float(peak),
            "unit": peak.unit,
            "basis": peak.basis,
        }
        for peak in peaks
    ]
    return {
        "schema": "peakline-mfu",
        "schema_version": 1,
        "flops_per_s_per_device": rate,
        "hardware_flops_per_token": None,
        "utilization": rows,
    }


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> dict[str, Any]:
    rate = options.tokens_per_second
    if options.mfu is not None:
        others = given_flags(options, ("tokens_per_second", "intensity"))
        if others or model_flags(options):
            parser.error(f"--mfu is the result: leave out {others or model_flags(options)}")
        return _converted(_peaks([load(path) for path in options.profile], options), options.mfu)
    alone = rate is None and options.intensity is not None
    if rate is None and not alone:
        parser.error(
            "a run's MFU needs --tokens-per-second; --intensity alone tells where a kernel ends, "
            "--mfu alone converts one that is known"
        )
    if alone and model_flags(options):
        parser.error(f"{model_flags(options)}: a model's MFU needs --tokens-per-second")
    profiles = [load(path) for path in options.profile]
    if alone:
        roofline = _roofline(_peaks(profiles, options), profiles, options, None)
        return {"schema": "peakline-mfu", "schema_version": 1, "roofline": roofline}
    counted = counted_model(options, parser)
    model, hardware = counted.flops, counted.hardware_flops
    peaks = _peaks(profiles, options)
    shares = [(mfu(model * rate, 1.0, peak, devices=options.devices), peak) for peak in peaks]
    if hardware is not None:
        of_hardware = hardware * rate
        shares += [(hfu(of_hardware, 1.0, peak, devices=options.devices), peak) for peak in peaks]
    facts = ("unit", "resource", "basis", "work", "device", "source")
    rows = [
        {
            "name": share.name,
            "share": float(share),
            "peak": float(peak),
            **{key: getattr(peak, key) for key in facts},
        }
        for share, peak in shares
    ]
    result: dict[str, Any] = {
        "schema": "peakline-mfu",
        "schema_version": 1,
        "convention": counted.convention,
        "causal": options.causal,
        "sequence": options.sequence,
        "parameters": counted.parameters,
        "flops_per_token": model,
        "hardware_flops_per_token": hardware,
        "causal_flops_per_token": counted.causal_flops,
        "tokens_per_second": rate,
        "devices": options.devices,
        "flops_per_s_per_device": model * rate / options.devices,
        "utilization": rows,
        "publish": next(
            (
                {key: row[key] for key in ("name", "share")}
                for row in rows
                if row["basis"] in PUBLISHED_BASES
            ),
            None,
        ),
        "roofline": _roofline(peaks, profiles, options, model * rate / options.devices),
        "train_bound": _train_bound(profiles, counted.shape, options),
        "notes": [
            *counted.notes,
            *dict.fromkeys(said for p in profiles for said in p.disturbances(options.device)),
        ],
    }
    return result


def _train_bound(
    profiles: Sequence[Profile], shape: Transformer | None, options: argparse.Namespace
) -> dict[str, Any] | None:
    """The bound of a step of this shape on the slowest machine, and the run's share of it."""
    if shape is None or not options.tokens_per_step:
        return None
    bounds = [
        train_bound(
            profile,
            shape,
            options.tokens_per_step,
            options.devices,
            options.strategy or "ddp",
            sequence=options.sequence,
            dtype=options.dtype,
            device=options.device,
        )
        for profile in profiles
    ]
    slowest = max(bounds, key=float)
    share = options.tokens_per_second / slowest.tokens_per_s
    return {**asdict(slowest), "share": share}


def main(arguments: Sequence[str] | None = None, program: str = "peakline-mfu") -> int:
    """Runs the command; returns its exit code: 0, or 2 for unusable input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["export"]:
            options = export_parser(program).parse_args(given[1:])
            show(
                export(
                    load(options.profile),
                    options.tool,
                    options.dtype,
                    basis=options.basis,
                    device=options.device,
                ).splitlines()
            )
            return 0
        parser = mfu_parser(program)
        options = parser.parse_args(given, argparse.Namespace(given=given))
        result = _run(options, parser)
    except (ProfileError, PeakError, ValueError) as error:
        return refused(program, error)
    if options.json:
        show_document(result)
    else:
        alone = options.tokens_per_second is None
        if options.mfu is not None:
            show([conversion(result, options.every)])
            return 0
        show(kernel_lines(result["roofline"]) if alone else lines(result, options.every))
    return 0
