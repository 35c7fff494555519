"""peakline-mfu: utilization against the peaks of profiles, and those peaks for other tools."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from peakline import units
from peakline.export import EXPORTS, export
from peakline.mfu import Utilization, attainable, hardware_flops, hfu, mfu, transformer_flops
from peakline.profile import (
    BASES,
    PUBLISHED_BASES,
    Peak,
    PeakError,
    Profile,
    ProfileError,
    fleet_peak,
    load,
)

# The bases of measured peaks, in the order in which they are printed.
_MEASURED_BASES = ("burst", "sustained", "measured", "instruction", "model_burst", "model_shaped")

_PLAIN_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def _number(text: str) -> float:
    value = float(text) if _PLAIN_NUMBER.fullmatch(text) else 0.0
    if not units.SMALLEST <= value <= units.LARGEST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number above 0 (7e9, 4096), "
            f"from {units.SMALLEST:g} to {units.LARGEST:g}"
        )
    return value


def _integer(text: str) -> int:
    value = _number(text)
    if not value.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(value)


def _peak_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile",
        nargs="+",
        required=True,
        metavar="FILE",
        help="profiles that peakline run wrote; of several (a fleet) the slowest device counts",
    )
    parser.add_argument(
        "--dtype",
        required=True,
        help="precision of the matrix products: bf16, fp16, tf32, fp8, fp32, ...",
    )
    parser.add_argument("--device", help="index, UUID, model or host (default: the GPUs)")


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Model FLOPs utilization by PaLM's convention, against published and measured "
        "peaks.",
        epilog="Examples:\n"
        f"  {program} --profile node7.json --dtype bf16 --tokens-per-second 11500 \\\n"
        "      --params 7e9 --layers 32 --heads 32 --head-dim 128 --sequence 4096\n"
        f"  {program} --profile node*.json --dtype bf16 --tokens-per-second 92000 --devices 8 \\\n"
        "      --flops-per-token 4.5e10 --intensity 300\n"
        f"  {program} export --for lightning --profile node7.json --dtype bf16 --basis datasheet",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _peak_options(parser)
    parser.add_argument(
        "--tokens-per-second", type=_number, required=True, metavar="X", help="over all devices"
    )
    parser.add_argument(
        "--devices",
        type=_integer,
        default=1,
        metavar="N",
        help="devices that make these tokens (default: 1)",
    )
    model = parser.add_argument_group("model (FLOPs per token = 6 N + 12 L H Q T)")
    model.add_argument(
        "--flops-per-token", type=_number, metavar="F", help="in place of the options below"
    )
    model.add_argument("--params", type=_number, metavar="N", help="all parameters")
    model.add_argument(
        "--active-params",
        type=_number,
        metavar="N",
        help="mixture of experts: parameters that one token passes through",
    )
    model.add_argument("--layers", type=_integer, metavar="L")
    model.add_argument("--heads", type=_integer, metavar="H", help="query heads")
    model.add_argument(
        "--kv-heads", type=_integer, metavar="G", help="grouped-query attention: heads of K and V"
    )
    model.add_argument("--head-dim", type=_integer, metavar="Q")
    model.add_argument("--sequence", type=_integer, metavar="T", help="tokens of a sequence")
    model.add_argument(
        "--causal",
        action="store_true",
        help="count half of the attention matrix; PaLM counts all of it",
    )
    model.add_argument(
        "--recompute",
        choices=("none", "attention", "full"),
        default="none",
        help="activation recomputation: also prints HFU",
    )
    parser.add_argument(
        "--intensity",
        type=_number,
        metavar="I",
        help="arithmetic intensity of the run in FLOP/byte: prints the roofline's limit",
    )
    parser.add_argument(
        "--allow-mixed",
        action="store_true",
        help="allow several GPU models: the slowest device counts",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _export_parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{program} export", description="Print a peak in the form that another tool takes."
    )
    parser.add_argument("--for", dest="tool", required=True, choices=tuple(EXPORTS))
    parser.add_argument("--profile", required=True, metavar="FILE")
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--device", help="index, UUID or model (default: the GPUs, the slowest)")
    parser.add_argument(
        "--basis",
        default="datasheet",
        choices=BASES,
        help="which peak (default: datasheet, as MFU is published)",
    )
    return parser


def _model_flops(
    options: argparse.Namespace, parser: argparse.ArgumentParser
) -> tuple[float, float | None]:
    """FLOPs per token of the model, and of the hardware where --recompute asks for it."""
    shape = {
        name: getattr(options, name)
        for name in ("params", "layers", "heads", "head_dim", "sequence")
    }
    flags = {f"--{name.replace('_', '-')}": value for name, value in shape.items()}
    if options.flops_per_token is not None:
        given = [flag for flag, value in flags.items() if value is not None]
        given += ["--recompute"] if options.recompute != "none" else []
        if given:
            parser.error(f"--flops-per-token is the whole count: leave out {', '.join(given)}")
        return options.flops_per_token, None
    missing = [flag for flag, value in flags.items() if value is None]
    if missing:
        parser.error(f"FLOPs per token need {', '.join(missing)}, or --flops-per-token alone")
    variants = {
        "causal": options.causal,
        "kv_heads": options.kv_heads,
        "active_params": options.active_params,
    }
    model = transformer_flops(**shape, **variants)
    if options.recompute == "none":
        return model, None
    return model, hardware_flops(**shape, **variants, recompute=options.recompute)


def _peaks(profiles: Sequence[Profile], options: argparse.Namespace) -> list[Peak]:
    """The published peak (datasheet, else theoretical) and every measured one."""
    found = {}
    failures = []
    for basis in (*PUBLISHED_BASES, *_MEASURED_BASES):
        try:
            found[basis] = fleet_peak(
                profiles,
                options.dtype,
                basis=basis,
                device=options.device,
                allow_mixed=options.allow_mixed,
            )
        except PeakError as error:
            failures.append(error)
    if not found:
        raise failures[0]
    published = found.get("datasheet") or found.get("theoretical")
    measured = [found[basis] for basis in _MEASURED_BASES if basis in found]
    return [*([published] if published else []), *measured]


def _bandwidth(profiles: Sequence[Profile], device: str | None, peak: Peak) -> Peak:
    memory = "memory" if peak.resource.startswith("cpu.") else "hbm"
    return min(profile.bandwidth(memory, device=device) for profile in profiles)


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> dict[str, Any]:
    model, hardware = _model_flops(options, parser)
    profiles = [load(path) for path in options.profile]
    peaks = _peaks(profiles, options)
    rate = options.tokens_per_second
    rows: list[dict[str, Any]] = []

    def row(share: Utilization, peak: Peak) -> None:
        rows.append(
            {
                "name": share.name,
                "share": float(share),
                "peak": float(peak),
                "unit": peak.unit,
                "resource": peak.resource,
                "basis": peak.basis,
                "device": peak.device,
                "source": peak.source,
            }
        )

    for peak in peaks:
        row(mfu(model * rate, 1.0, peak, devices=options.devices), peak)
    if hardware is not None:
        for peak in peaks:
            row(hfu(hardware * rate, 1.0, peak, devices=options.devices), peak)
    result: dict[str, Any] = {
        "schema": "peakline-mfu",
        "schema_version": 1,
        "flops_per_token": model,
        "hardware_flops_per_token": hardware,
        "tokens_per_second": rate,
        "devices": options.devices,
        "flops_per_s_per_device": model * rate / options.devices,
        "utilization": rows,
        "roofline": None,
    }
    if options.intensity is not None:
        best = next((p for p in peaks if not p.published), peaks[0])
        bandwidth = _bandwidth(profiles, options.device, best)
        limit = attainable(best, bandwidth, options.intensity)
        result["roofline"] = {
            "intensity": options.intensity,
            "limit_flops_per_s": limit,
            "ridge_intensity": best / bandwidth,
            "bound_by": bandwidth.resource if limit < best else best.resource,
            "share_of_limit": model * rate / options.devices / limit,
            "name": f"of the roofline ({best.basis.replace('_', '-')})",
        }
    return result


def _text(result: dict[str, Any]) -> str:
    achieved = result["flops_per_s_per_device"]
    hardware = result["hardware_flops_per_token"]
    lines = [
        f"model: {result['flops_per_token']:.4g} FLOP per token"
        + (f", with recomputation {hardware:.4g}" if hardware else ""),
        f"rate:  {result['tokens_per_second']:g} tokens/s on {result['devices']} device"
        f"{'' if result['devices'] == 1 else 's'}, {units.rate(achieved, 'FLOP/s')} each",
    ]
    width = max(len(row["name"]) for row in result["utilization"])
    for row in result["utilization"]:
        lines.append(
            f"{units.percent(row['share']):>8}  {row['name']:{width}}  of "
            f"{units.rate(row['peak'], row['unit'])}, {row['resource']}, {row['device']}"
        )
    roofline = result["roofline"]
    if roofline:
        lines.append(
            f"{units.percent(roofline['share_of_limit']):>8}  {roofline['name']:{width}}  of "
            f"{units.rate(roofline['limit_flops_per_s'], 'FLOP/s')} at "
            f"{units.intensity(roofline['intensity'])} FLOP/byte, bound by {roofline['bound_by']} "
            f"(ridge at {units.intensity(roofline['ridge_intensity'])})"
        )
    if len(result["utilization"]) > 1:
        lines.append(
            "Only MFU compares with published figures; of achievable is against what this hardware "
            "was measured to do."
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None, program: str = "peakline-mfu") -> int:
    """Runs the command; returns its exit code: 0, or 2 for unusable input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["export"]:
            options = _export_parser(program).parse_args(given[1:])
            print(
                export(
                    load(options.profile),
                    options.tool,
                    options.dtype,
                    basis=options.basis,
                    device=options.device,
                ),
                end="",
            )
            return 0
        parser = _parser(program)
        options = parser.parse_args(given)
        result = _run(options, parser)
    except (ProfileError, PeakError, ValueError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2) if options.json else _text(result))
    return 0
