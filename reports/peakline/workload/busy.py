"""Shares of a launch in which a device's units were busy, from Nsight Compute.

A share is a counter's `.avg.pct_of_peak_sustained_elapsed`: the part of the launch that the unit
would need at its peak, independent of the clock. Of a unit's stages the busiest counts. ncu's
summaries are maxima over units that they do not name, and only cap the possible gain.
"""

import re
from collections.abc import Mapping

from peakline.workload.tensor import ACTIVITY

# By unit: its printed name, and the names of its counters, without the form.
_UNITS = {
    "issue": ("issue slots", r"(?:smsp|sm)__(?:inst_issued|inst_executed|issue_active)"),
    "alu": ("ALU pipe", r"(?:smsp|sm)__(?:inst_executed_pipe_alu|pipe_alu_cycles_active)"),
    "fma": (
        "FMA pipe",
        r"(?:smsp|sm)__(?:inst_executed_pipe_fma(?:heavy|lite)?|pipe_fma(?:heavy)?_cycles_active)",
    ),
    "fp16": ("FP16 pipe", r"(?:smsp|sm)__(?:inst_executed_pipe_fp16|pipe_fp16_cycles_active)"),
    "fp64": ("FP64 pipe", r"(?:smsp|sm)__(?:inst_executed_pipe_fp64|pipe_fp64_cycles_active)"),
    "xu": ("XU pipe", r"(?:smsp|sm)__(?:inst_executed_pipe_xu|pipe_xu_cycles_active)"),
    "adu": ("address unit", r"(?:smsp|sm)__inst_executed_pipe_adu"),
    "cbu": ("branch unit", r"(?:smsp|sm)__inst_executed_pipe_cbu(?:_pred_on_any)?"),
    "uniform": ("uniform pipe", r"(?:smsp|sm)__inst_executed_pipe_uniform"),
    "tma": ("TMA unit", r"(?:smsp|sm)__(?:inst_executed_pipe_tma|pipe_tma_cycles_active)"),
    "tex": (
        "texture unit",
        r"(?:smsp|sm)__inst_executed_pipe_tex|l1tex__(?:data_pipe_tex|f)_wavefronts",
    ),
    "l1": (
        "LSU and L1 data",
        r"(?:smsp|sm)__inst_executed_pipe_lsu|l1tex__(?:data_pipe_lsu_wavefronts|lsuin_requests"
        r"|lsu_writeback_active|data_bank_(?:reads|writes))",
    ),
    "l2": (
        "L2",
        r"lts__(?:t_sectors|t_tag_requests|d_sectors(?:_fill_device)?|lts2xbar_cycles_active"
        r"|xbar2lts_cycles_active|t_sectors_srcunit_tex_op_(?:read|write))",
    ),
    "dram": ("DRAM", r"(?:gpu__dram|dram_)_throughput|dram__cycles_active"),
}
# Unless all of these were counted, another unit may be the busiest.
_ALL = {"issue", "alu", "fma", "xu", "l1", "l2", "dram", "tensor"}
_SUMMARIES = {
    "sm": ("an SM unit", r"sm__(?:throughput|instruction_throughput|memory_throughput)"),
    "l1": ("an L1 stage", r"l1tex__throughput"),
    "l2": ("an L2 stage", r"lts__throughput"),
    "memory": ("a memory stage", r"gpu__compute_memory_(?:access_|request_)?throughput"),
    "shared_pipe": ("the FP64 and tensor pipe", r"sm__pipe_shared_cycles_active"),
}
LABELS = {"tensor": "tensor pipe", **{name: label for name, (label, _) in _UNITS.items()}}
SUMMARY_LABELS = {name.replace("_", " "): label for name, (label, _) in _SUMMARIES.items()}
# Together these cover all units.
_EVERY_UNIT = {"sm", "memory"}
_FORM = r"\.(?:avg|sum)\.pct_of_peak_sustained_(?:elapsed|active)"
_UNIT, _SUMMARY = (
    re.compile(
        "(?:" + "|".join(f"(?P<{name}>{stem})" for name, (_, stem) in of.items()) + ")" + _FORM
    )
    for of in (_UNITS, _SUMMARIES)
)
# Factor from active to elapsed time: active / elapsed cycles, by the first counters available.
_ACTIVE = {
    unit: (f"{unit}__cycles_active.avg", [f"{unit}__cycles_elapsed.{x}" for x in ("avg", "max")])
    for unit in ("sm", "smsp", "l1tex", "lts")
}
_OF_ALL = "gpc__cycles_elapsed.max"  # replaces the SMs' own counter, which some exports lack
# Warpgroup GEMMs read shared memory directly, through the same stages as loads.
_GMMA = re.compile(
    r"(?:smsp|sm)__inst_executed_pipe_tensor_op_gmma\.(?:avg|sum).*"
    r"|smsp__sass_inst_executed_op_shared_gmma\.sum.*"
)
_STAGES = "l1tex__data_pipe_lsu_wavefronts"
_SHARED = f"{_STAGES}_mem_shared"
_LOADS_AND_STORES = (
    f"{_SHARED}_op_ld",
    f"{_SHARED}_op_st",
    f"{_SHARED}_op_atom",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts",
)
_SHARED_FORM = ".sum.pct_of_peak_sustained_elapsed"
_OF_SHARED = {name + _SHARED_FORM for name in (_SHARED, *_LOADS_AND_STORES)}
# Counters that convert shares.
CYCLES = {name for active, elapsed in _ACTIVE.values() for name in (active, *elapsed, _OF_ALL)}


def is_busy_metric(metric: str) -> bool:
    """Whether a metric says how busy a unit was, as a share or by instructions."""
    return metric in _OF_SHARED or any(p.fullmatch(metric) for p in (_UNIT, _SUMMARY, _GMMA))


def busy_shares(metrics: Mapping[str, float | None]) -> tuple[dict[str, float], dict[str, float]]:
    """Shares (0 to 1) of a launch's time, for its units and for ncu's summaries."""
    units: dict[str, float] = {}
    summaries: dict[str, float] = {}
    by_gmma = any((value or 0.0) > 0 for name, value in metrics.items() if _GMMA.fullmatch(name))
    for metric, value in metrics.items():
        share = _of_launch(metric, value, metrics)
        if share is None:
            continue
        match = _UNIT.fullmatch(metric)
        if match is not None:
            unit = str(match.lastgroup)
            if unit == "l1" and by_gmma:
                share = _without_gmma(metric, share, metrics)
            if share is not None:
                units[unit] = max(units.get(unit, 0.0), share)
        elif ACTIVITY.fullmatch(metric):
            unit = _tensor_unit(metric)
            units[unit] = max(units.get(unit, 0.0), share)
        elif (match := _SUMMARY.fullmatch(metric)) is not None:
            name = str(match.lastgroup).replace("_", " ")
            summaries[name] = max(summaries.get(name, 0.0), share)
    return units, summaries


def are_complete(units: Mapping[str, float], summaries: Mapping[str, float]) -> bool:
    """Whether no uncounted unit can be busier than these."""
    named = {"tensor" if unit.startswith("tensor") else unit for unit in units}
    return named >= _ALL or set(summaries) >= _EVERY_UNIT


def _of_launch(
    metric: str, value: float | None, metrics: Mapping[str, float | None]
) -> float | None:
    """A percentage as a share of the launch; None if it cannot be converted."""
    if value is None or not metric.endswith(("_elapsed", "_active")) or ".pct_" not in metric:
        return None
    share = max(0.0, value / 100)
    if metric.endswith("_elapsed"):
        return share
    unit = metric.partition("__")[0]
    if unit not in _ACTIVE:
        return None
    active, names = _ACTIVE[unit]
    if unit != "lts":
        names = [*names, _OF_ALL]
    cycles = metrics.get(active)
    elapsed = next((value for name in names if (value := metrics.get(name))), None)
    return share * min(1.0, cycles / elapsed) if cycles is not None and elapsed else None


def _without_gmma(metric: str, share: float, metrics: Mapping[str, float | None]) -> float | None:
    """A stage's share for loads and stores only: its share for GEMMs counts with the Tensor Cores.
    None if they cannot be separated."""
    if not metric.startswith("l1tex__"):
        return share
    if metric.partition(".")[0] != _STAGES:
        return None
    shared = metrics.get(_SHARED + _SHARED_FORM)
    parts = [metrics.get(name + _SHARED_FORM) for name in _LOADS_AND_STORES]
    if shared is None or parts[0] is None or parts[1] is None:
        return None
    own = sum(part for part in parts if part is not None)
    return max(0.0, share - max(0.0, shared - own) / 100)


def _tensor_unit(metric: str) -> str:
    part = re.search(r"tensor_(?:op|subpipe)_([a-z]+)", metric)
    return f"tensor {part[1]}" if part and part[1] != "gmma" else "tensor"
