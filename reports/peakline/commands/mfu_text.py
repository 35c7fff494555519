"""What peakline-mfu prints of its document."""

from collections.abc import Mapping, Sequence
from typing import Any

from peakline import units
from peakline.names import basis_name
from peakline.peaks.mfu import MfuKind, share_name
from peakline.profile import PUBLISHED_BASES


def conversion(result: Mapping[str, Any], every: bool) -> str:
    """ "MFU (published) of 45.0 %, of 989 TFLOP/s, is 62.0 % of achievable (717 TFLOP/s)."."""
    shares = _shares(result) if every else _named(_shares(result))
    first, *others = (
        (units.percent(row["share"]), row["name"], units.rate(row["peak"], row["unit"]))
        for _, row in shares
    )
    measured = ", ".join(f"{share} {name} ({peak})" for share, name, peak in others)
    return f"{first[1]} of {first[0]}, of {first[2]}, is {measured or 'of no measured peak'}."


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


def kernel_lines(roofline: Mapping[str, Any]) -> list[str]:
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


def lines(result: dict[str, Any], every: bool) -> list[str]:
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
