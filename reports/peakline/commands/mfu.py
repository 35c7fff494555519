"""peakline-mfu: utilization against the peaks of profiles, and those peaks for other tools."""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from peakline import units
from peakline.commands.mfu_options import export_parser, mfu_parser
from peakline.commands.terminal import refused, show, show_document
from peakline.models.config import from_hf_config
from peakline.models.conventions import CONVENTIONS
from peakline.models.training import train_bound
from peakline.models.transformer import Transformer, attention_flops, recomputed
from peakline.names import basis_name
from peakline.peaks.export import export
from peakline.peaks.mfu import MfuKind, attainable, hfu, mfu, share_name, transformer_flops
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


@dataclass(frozen=True, slots=True)
class _Model:
    flops: float
    hardware_flops: float | None = None  # with recomputation
    causal_flops: float | None = None  # with half of the attention matrix, if all of it counts
    convention: str | None = None
    # By name: total, active, and N of 6 N.
    parameters: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()  # what the count leaves out or assumes
    shape: Transformer | None = None


_SHAPE = ("params", "layers", "heads", "head_dim", "sequence")
_VARIANTS = ("active_params", "kv_heads", "causal", "convention", "hf_config")
_STEP = ("tokens_per_step", "strategy")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _given(options: argparse.Namespace, names: Sequence[str]) -> str:
    # None and False: not given.
    return ", ".join(_flag(name) for name in names if getattr(options, name))


def _model_flags(options: argparse.Namespace) -> str:
    return _given(options, ("flops_per_token", *_SHAPE, *_VARIANTS, *_STEP, "recompute"))


def _model(options: argparse.Namespace, parser: argparse.ArgumentParser) -> _Model:
    recompute = options.recompute or "none"
    if options.flops_per_token is not None:
        others = _given(
            options, (*_SHAPE, *_VARIANTS, *_STEP, *(("recompute",) if recompute != "none" else ()))
        )
        if others:
            parser.error(f"--flops-per-token is the whole count: leave out {others}")
        return _Model(options.flops_per_token)
    convention = options.convention or "palm"
    causal = options.causal or CONVENTIONS[convention].causal
    notes: tuple[str, ...] = ()
    transformer = None
    if options.strategy and not options.tokens_per_step:
        parser.error("--strategy needs --tokens-per-step, the tokens of a step over all devices")
    if options.tokens_per_step and not options.hf_config:
        parser.error("--tokens-per-step needs --hf-config, which tells the shape")
    if options.hf_config:
        others = _given(options, (*_SHAPE[:-1], *_VARIANTS[:2]))
        if others:
            parser.error(f"--hf-config tells the shape: leave out {others}")
        if options.sequence is None:
            corrected = shlex.join([parser.prog, *options.given, "--sequence", "4096"])
            parser.error(f"--hf-config needs --sequence, the tokens of a sequence: {corrected}")
        transformer = from_hf_config(options.hf_config)
        flops = transformer.flops(options.sequence, convention=convention, causal=causal)
        attention = transformer.attention_flops(
            options.sequence, convention=convention, causal=causal
        )
        params = transformer.params()
        counted = transformer.counted_params(convention)
        parameters = {"total": params.total, "active": params.active, "matmul": counted}
        notes = _notes(transformer, convention, options.sequence)
    else:
        missing = [_flag(name) for name in _SHAPE if getattr(options, name) is None]
        if missing:
            parser.error(
                f"FLOPs per token need {', '.join(missing)}, or --hf-config, or --flops-per-token"
            )
        sizes = {name: getattr(options, name) for name in (*_SHAPE, *_VARIANTS[:2])}
        flops = transformer_flops(**sizes, causal=causal)
        of_attention = {name: sizes[name] for name in (*_SHAPE[1:], "kv_heads")}
        attention = attention_flops(**of_attention, causal=causal)
        active = options.active_params or options.params
        parameters = {"total": options.params, "active": active, "matmul": active}
    hardware = None if recompute == "none" else recomputed(flops, attention, recompute)
    halved = None if causal else flops - 3 * attention / 2
    return _Model(flops, hardware, halved, convention, parameters, notes, transformer)


def _notes(transformer: Transformer, convention: str, sequence: int) -> tuple[str, ...]:
    notes = []
    if transformer.left_out:
        notes.append(f"Not counted: {transformer.left_out}.")
    sizes = [layer.seen.size for layer in transformer.layers if layer.seen]
    if not CONVENTIONS[convention].windows and min(sizes, default=sequence) < sequence:
        notes.append(
            f"By {convention}'s convention every layer counts {sequence} tokens, although "
            f"{len(sizes)} of {len(transformer.layers)} see at most {max(sizes)}: palm counts what "
            "they see."
        )
    return tuple(notes)


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


def _conversion(result: Mapping[str, Any], every: bool) -> str:
    """ "MFU (published) of 45.0 %, of 989 TFLOP/s, is 62.0 % of achievable (717 TFLOP/s)."."""
    shares = _shares(result) if every else _named(_shares(result))
    first, *others = (
        (units.percent(row["share"]), row["name"], units.rate(row["peak"], row["unit"]))
        for _, row in shares
    )
    measured = ", ".join(f"{share} {name} ({peak})" for share, name, peak in others)
    return f"{first[1]} of {first[0]}, of {first[2]}, is {measured or 'of no measured peak'}."


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> dict[str, Any]:
    rate = options.tokens_per_second
    if options.mfu is not None:
        others = _given(options, ("tokens_per_second", "intensity"))
        if others or _model_flags(options):
            parser.error(f"--mfu is the result: leave out {others or _model_flags(options)}")
        return _converted(_peaks([load(path) for path in options.profile], options), options.mfu)
    alone = rate is None and options.intensity is not None
    if rate is None and not alone:
        parser.error(
            "a run's MFU needs --tokens-per-second; --intensity alone tells where a kernel ends, "
            "--mfu alone converts one that is known"
        )
    if alone and _model_flags(options):
        parser.error(f"{_model_flags(options)}: a model's MFU needs --tokens-per-second")
    profiles = [load(path) for path in options.profile]
    if alone:
        roofline = _roofline(_peaks(profiles, options), profiles, options, None)
        return {"schema": "peakline-mfu", "schema_version": 1, "roofline": roofline}
    counted = _model(options, parser)
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


def _allowed(step: Mapping[str, Any]) -> str:
    missing = f"; not known: {', '.join(step['missing'])}" if step["missing"] else ""
    return (
        f"This run is at {units.percent(step['share'])} of what this machine allows for its shape: "
        f"{units.number(step['tokens_per_s'])} tokens/s, bound by {step['limiter']}{missing}."
    )


def _counts(parameters: Mapping[str, float]) -> str:
    """ "46,702,792,704 parameters, 12,879,925,248 for a token, 12,748,853,248 in GEMMs (N)"."""
    total, active, matmul = (parameters[key] for key in ("total", "active", "matmul"))
    parts = [f"{total:,.0f} parameters"]
    if active != total:
        parts.append(f"{active:,.0f} of them for a token")
    parts.append(f"{matmul:,.0f} in GEMMs (N)")
    return ", ".join(parts)


def _published(result: dict[str, Any]) -> str:
    """The one figure that others can compare with, and what it takes to read it."""
    found = [share for share in _shares(result) if share[1]["basis"] in PUBLISHED_BASES]
    if not found:
        return (
            "Nothing to publish: MFU divides by the datasheet's peak, which this profile lacks; "
            "the other shares divide by what this hardware was measured to do."
        )
    how = [f"{result['convention']}'s convention"] if result["convention"] else []
    if result["causal"]:
        how.append("half of the attention matrix")
    if result["sequence"]:
        how.append(f"{result['sequence']} tokens a sequence")
    return (
        f"To publish: {units.percent(found[0][1]['share'])} {_called(found[0])}"
        f"{', by ' + ', '.join(how) if how else ''}. Shares of measured peaks do not compare with "
        "published figures."
    )


# Peaks that `peakline show` names, each by its first known basis.
_NAMED = (
    ("datasheet", "theoretical"),
    ("sustained", "burst", "measured", "instruction"),
    ("model_shaped",),
)


# A share with its kind.
_Share = tuple[MfuKind, Mapping[str, Any]]


def _shares(result: Mapping[str, Any]) -> list[_Share]:
    """All shares; with recomputation, those of hardware FLOPs follow the others."""
    rows = result["utilization"]
    count = len(rows) // 2 if result["hardware_flops_per_token"] else len(rows)
    return [("MFU" if place < count else "HFU", row) for place, row in enumerate(rows)]


def _called(share: _Share) -> str:
    return share_name(share[1]["basis"], share[0])


def _named(shares: Sequence[_Share]) -> list[_Share]:
    found: list[_Share] = []
    for kind in ("MFU", "HFU"):
        by_basis = {share[1]["basis"]: share for share in shares if share[0] == kind}
        for bases in _NAMED:
            found += [by_basis[basis] for basis in bases if basis in by_basis][:1]
    return found


def _ridges(roofline: Mapping[str, Any]) -> str:
    """ "memory binds below 155 FLOP/byte achievable, 185 burst"."""
    first, *others = (
        (units.intensity(roof["ridge_intensity"]), basis_name(roof["basis"]))
        for roof in roofline["roofs"]
    )
    more = "".join(f", {ridge} {basis}" for ridge, basis in others if basis == "burst")
    return f"memory binds below {first[0]} FLOP/byte {first[1]}{more}"


def _of_a_kernel(roofline: Mapping[str, Any]) -> list[str]:
    """Where a kernel with an intensity ends: its rate, and the roof above it."""
    intensity = units.intensity(roofline["intensity"])
    lines = [f"A kernel with {intensity} FLOP/byte on {roofline['device']} reaches at most"]
    for roof in roofline["roofs"]:
        rate = units.rate(roof["limit_flops_per_s"], roof["unit"])
        cause = (
            f"memory binds: {intensity} FLOP/byte × {units.rate(roofline['bandwidth'], 'B/s')}"
            if roof["bound_by"] == roofline["memory"]
            else "arithmetic binds"
        )
        lines.append(f"  {basis_name(roof['basis']):11} {rate:>12}  {roof['bound_by']}, {cause}")
    return [*lines, f"M{_ridges(roofline)[1:]}."]


def _if_causal(result: Mapping[str, Any]) -> str:
    """A hint for runs whose attention is counted in full: causal kernels skip half of it."""
    if not result["causal_flops_per_token"]:
        return ""
    less = 1 - result["causal_flops_per_token"] / result["flops_per_token"]
    return (
        f", or count half of the attention matrix if the kernels skip its masked half (--causal, "
        f"or a --convention that does: {units.percent(less)} fewer FLOPs)"
    )


def _lines(result: dict[str, Any], every: bool) -> list[str]:
    """The result in lines; every: shares of all peaks, not just the named ones."""
    achieved = result["flops_per_s_per_device"]
    hardware = result["hardware_flops_per_token"]
    lines = [
        f"model: {result['flops_per_token']:.5g} FLOP per token"
        f" ({result['convention'] or 'as given'})"
        + (f", with recomputation {hardware:.5g}" if hardware else ""),
        *([f"       {_counts(result['parameters'])}"] if result["parameters"] else []),
        f"rate:  {result['tokens_per_second']:g} tokens/s on "
        f"{units.counted(result['devices'], 'device')}, {units.rate(achieved, 'FLOP/s')} each",
    ]
    shares = _shares(result) if every else _named(_shares(result))
    width = max(len(_called(share)) for share in shares)
    for share in shares:
        row = share[1]
        lines.append(
            f"{units.percent(row['share']):>8}  {_called(share):{width}}  of "
            f"{units.rate(row['peak'], row['unit'])}, {row['resource']}"
            f"{' (' + row['work'] + ')' if row['work'] else ''}, {row['device']}"
        )
    roofline = result["roofline"]
    if roofline:
        lines.append(
            f"{units.percent(roofline['share_of_limit']):>8}  {roofline['name']:{width}}  of "
            f"{units.rate(roofline['limit_flops_per_s'], 'FLOP/s')} at "
            f"{units.intensity(roofline['intensity'])} FLOP/byte, bound by {roofline['bound_by']}; "
            f"{_ridges(roofline)}"
        )
    if result["train_bound"]:
        lines.append(_allowed(result["train_bound"]))
    above = [_called(share) for share in shares if share[1]["share"] > 1]
    if roofline and roofline["share_of_limit"] > 1:
        if roofline["intensity"] < roofline["ridge_intensity"]:
            lines.append(
                f"Above 100 %: {roofline['name']}. The run's intensity is higher than --intensity, "
                "or its bytes came from a cache."
            )
        else:  # the limit is the peak
            above.append(roofline["name"])
    if above:
        lines.append(
            f"Above 100 %: {', '.join(above)}. No run does more than the hardware can: check "
            f"--dtype and --devices{_if_causal(result)}, or measure again; a run in bursts may "
            "exceed what is achievable under load."
        )
    return [*lines, *result["notes"], _published(result)]


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
            show([_conversion(result, options.every)])
            return 0
        show(_of_a_kernel(result["roofline"]) if alone else _lines(result, options.every))
    return 0
