"""Time, bytes, FLOPs and launch shape from Nsight Compute's counters of one launch.

Names as listed by `ncu --query-metrics` for Turing to Blackwell. A missing or "n/a" counter is
unknown, never 0; an idle execution pipe proves that its work is 0.
"""

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

from peakline.workload.busy import CYCLES, busy_shares, is_busy_metric
from peakline.workload.kernel import Shape
from peakline.workload.tensor import ACTIVITY, BUSY_METRIC, METRICS, TensorPipe

# A counter's form: a sum over the launch, or a rate.
_FORM = r"(?P<form>\.sum(?:\.per_second|\.per_cycle_elapsed)?)"
_FORMS = (".sum", ".sum.per_second", ".sum.per_cycle_elapsed")
_TIMES = [f"gpu__time_duration.{form}" for form in ("sum", "avg", "max")]
_CLOCKS = [f"{prefix}__cycles_elapsed.avg.per_second" for prefix in ("smsp", "sm", "gpc")]
# Divided by their rate they give the duration, if it was not counted.
_ELAPSED = [
    f"{prefix}__cycles_elapsed.{form}"
    for prefix in ("smsp", "sm", "gpc")
    for form in ("avg", "max")
]
_MOVED = re.compile(
    r"(?:dram__(?:bytes|sectors)(?:_(?:op_)?(?:read|write))?"
    r"|l1tex__t_bytes|lts__t_sectors_srcunit_tex_op_(?:read|write))" + _FORM
)
# Launch shape and resident warps.
_BLOCKS, _WAVES, _SMS = (
    f"launch__{what}" for what in ("grid_size", "waves_per_multiprocessor", "sm_count")
)
_WARPS = "sm__warps_active.avg.per_cycle_active"
_OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_SHAPE = (_BLOCKS, _WAVES, _SMS, _WARPS, _OCCUPANCY)
_CORE = re.compile(
    r"(?P<derived>derived__)?(?P<prefix>smsp|sm)__sass_thread_inst_executed_op_"
    r"(?P<letter>[dfh])(?P<op>add|mul|fma)_pred_on(?P<weighted>_x\d)?" + _FORM + "?"
)
_TENSOR = re.compile(
    r"sm__ops_path_tensor_(?P<op>op_[a-z0-9]+_)?src_(?P<source>[a-z0-9]+(?:_[a-z0-9]+)*?)"
    r"(?:_dst_(?P<target>[a-z0-9]+))?(?P<sparsity>_sparsity_o(?:n|ff))?" + _FORM
)
# Activity of the CUDA cores' pipes, in any form, shares included.
_PIPE = re.compile(
    r"(?:smsp|sm)__inst_executed_pipe_(?P<pipe>fp16|fma_type_fp16|fp64)(?:_v2)?\.(?:sum|avg)"
    r"(?:\.pct_of_peak_sustained_(?:active|elapsed)|\.per_[a-z_]+)?"
)
_SECTOR_BYTES = 32
_LETTERS = {"d": "fp64", "f": "fp32", "h": "fp16"}
# FLOP per thread and instruction; half-precision instructions process pairs.
_FLOP = {"add": 1.0, "mul": 1.0, "fma": 2.0}
_LANES = {"d": 1.0, "f": 1.0, "h": 2.0}
# Joint names of formats, which run at the rate of the one on the right.
_SOURCES = {
    "fp16_bf16_tf32": "fp16",  # Turing, whose Tensor Cores take only FP16
    "fp4_fp6": "fp8",
    "fp4_fp6_fp8": "fp8",
}
# ncu may split these by accumulator format: FLOPs are known if both are.
_BY_TARGET = {"fp16", "fp8", "fp4_fp6_fp8"}
_OTHER_TARGET = {"fp16": "fp32", "fp32": "fp16"}


@functools.lru_cache(maxsize=8192)
def is_wanted(metric: str) -> bool:
    return (
        is_amount(metric)
        or ACTIVITY.fullmatch(metric) is not None
        or is_busy_metric(metric)
        or metric in _SHAPE
        or _PIPE.fullmatch(metric) is not None
    )


@functools.lru_cache(maxsize=8192)
def is_amount(metric: str) -> bool:
    """Whether a wanted column has a unit that matters, unlike shares and plain numbers."""
    return (
        is_time(metric)
        or metric in (*_CLOCKS, *_ELAPSED)
        or metric in CYCLES
        or any(pattern.fullmatch(metric) for pattern in (_MOVED, _CORE, _TENSOR))
    )


def is_time(metric: str) -> bool:
    """Whether a metric is the launch's duration, which must have a unit."""
    return metric in _TIMES


class Counters:
    """The wanted metrics of one launch in base units; None is "n/a"."""

    def __init__(
        self, metrics: Mapping[str, float | None], capability: float | None = None
    ) -> None:
        self._metrics = metrics
        self._pipe = TensorPipe(metrics, capability)
        self.seconds = next((value for name in _TIMES if (value := metrics.get(name))), None)
        self.clock_hz = next((value for name in _CLOCKS if (value := metrics.get(name))), None)
        cycles = next((value for name in _ELAPSED if (value := metrics.get(name))), None)
        if self.seconds is None and cycles and self.clock_hz:
            self.seconds = cycles / self.clock_hz
        self.busy, self.summaries = busy_shares(metrics)
        found = [metrics.get(name) for name in _SHAPE]
        self.shape = Shape(*found) if any(value is not None for value in found) else None
        self.bytes = dict(self._bytes())
        self.flops = {**self._core_flops(), **self._tensor_flops()}
        self.unknown = (
            *self._pipe.unknown(self.flops),
            *(
                f"cuda_core.{precision}"
                for precision in ("fp32", "fp64", "fp16")
                if f"cuda_core.{precision}" not in self.flops and not self._idle_core(precision)
            ),
            *([] if {"hbm", "hbm.read"} & set(self.bytes) else ["hbm"]),
        )

    def _total(self, form: str, value: float | None) -> float | None:
        """A counter as a sum over the launch."""
        if form == ".sum" or value is None:
            return value
        if self.seconds is None:
            return None
        if form == ".sum.per_second":
            return value * self.seconds
        return value * self.clock_hz * self.seconds if self.clock_hz else None

    def _counter(self, name: str) -> float | None:
        totals = (self._total(form, self._metrics.get(name + form)) for form in _FORMS)
        return next((total for total in totals if total is not None), None)

    def _bytes(self) -> Iterator[tuple[str, float]]:
        """Bytes of device memory, of the L2 as requested by the SMs, and of the L1."""
        counters = (("dram__bytes", 1), ("dram__sectors", _SECTOR_BYTES))
        for (name, size), op in itertools.product(counters, ("", "op_")):
            read, written = (self._counter(f"{name}_{op}{way}") for way in ("read", "write"))
            if read is not None and written is not None:
                yield from (("hbm.read", read * size), ("hbm.write", written * size))
                break
        else:
            totals = (
                total * size
                for name, size in counters
                if (total := self._counter(name)) is not None
            )
            yield from (("hbm", total) for total in itertools.islice(totals, 1))
        for way in ("read", "write"):
            sectors = self._counter(f"lts__t_sectors_srcunit_tex_op_{way}")
            if sectors is not None:
                yield f"l2.{way}", sectors * _SECTOR_BYTES
        through = self._counter("l1tex__t_bytes")
        if through is not None:
            yield "l1", through

    def _core_flops(self) -> dict[str, float]:
        """FLOPs of the CUDA cores by precision, if additions, multiplications and FMAs are all
        known. Of equivalent counters the sum and smsp's take precedence."""
        found: dict[tuple[str, str, str], dict[str, float]] = {}
        for metric, value in self._metrics.items():
            match = _CORE.fullmatch(metric)
            if match is None or not _counts_flops(match):
                continue
            form = match["form"] or ".sum.per_cycle_elapsed"
            letter, op = match["letter"], match["op"]
            weight = 1.0 if match["weighted"] else _FLOP[op] * _LANES[letter]
            total = self._total(form, value)
            if total is not None:
                found.setdefault((letter, match["prefix"], form), {})[op] = total * weight
        result: dict[str, float] = {}
        # The sum and smsp's first.
        for key in sorted(found, key=lambda key: (_FORMS.index(key[2]), key[1] != "smsp")):
            if len(found[key]) == len(_FLOP):
                result.setdefault(f"cuda_core.{_LETTERS[key[0]]}", sum(found[key].values()))
        return result

    def _tensor_flops(self) -> dict[str, float]:
        """FLOPs of the Tensor Cores by format.

        The counters form a tree: src > src_dst > op_src_dst_sparsity. The highest complete level
        includes those below, so levels are never added.
        """
        levels: dict[str, dict[tuple[int, int], list[float | None]]] = {}
        for metric, value in self._metrics.items():
            match = _TENSOR.fullmatch(metric)
            if match is None or self._is_part_of_a_sum(match) or self._lacks_other_sums(match):
                continue
            depth = 4 * bool(match["op"]) + 2 * bool(match["target"]) + bool(match["sparsity"])
            source = _SOURCES.get(match["source"], match["source"])
            key = (depth, _FORMS.index(match["form"]))
            level = levels.setdefault(source, {}).setdefault(key, [])
            level.append(self._total(match["form"], value))
        result = {}
        for source, found in levels.items():
            whole = [key for key, values in found.items() if None not in values]
            if whole:
                result[f"tensor.{source}"] = sum(v for v in found[min(whole)] if v is not None)
        return result

    def _is_part_of_a_sum(self, match: re.Match[str]) -> bool:
        """Whether a counter of sparse or dense GEMMs is included in another one."""
        sparsity = match["sparsity"]
        if not sparsity:
            return False
        return self._metrics.get(match.string.replace(sparsity, "")) is not None

    def _lacks_other_sums(self, match: re.Match[str]) -> bool:
        """Whether a counter covers only one accumulator format, and the other's is missing."""
        target = match["target"]
        if match["op"] or match["source"] not in _BY_TARGET or target not in _OTHER_TARGET:
            return False
        other = match.string.replace(f"_dst_{target}", f"_dst_{_OTHER_TARGET[target]}")
        return self._metrics.get(other) is None

    def _idle_core(self, precision: str) -> bool:
        if precision == "fp16":
            # Hopper runs packed half-precision arithmetic in the tensor pipe.
            half = [*self._active("fp16"), *self._active("fma_type_fp16")]
            tensor_idle = self._pipe.is_idle() or self._pipe.is_idle("hmma")
            return tensor_idle and bool(half) and not any(half)
        return 0.0 in self._active(precision)

    def _active(self, pipe: str) -> Iterator[float]:
        for metric, value in self._metrics.items():
            match = _PIPE.fullmatch(metric)
            if match is not None and value is not None and match["pipe"] == pipe:
                yield value


def _counts_flops(match: re.Match[str]) -> bool:
    """Whether a counter of the CUDA cores is a count: sections' charts also contain peak rates."""
    if match["derived"]:
        return match["prefix"] != "sm"
    return match["form"] is not None


# Metrics to collect for each kind of unknown work.
_ADD = {
    "time": ["gpu__time_duration.sum"],
    **{unit: [metric] for unit, metric in METRICS.items()},
    "hbm": ["dram__bytes.sum"],
    **{
        f"cuda_core.{precision}": [
            f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum" for op in _FLOP
        ]
        for letter, precision in _LETTERS.items()
    },
}


def metrics_for(unknown: Iterable[str]) -> list[str]:
    """ncu's metrics that provide unknown counts."""
    names = list(unknown)
    busy = [BUSY_METRIC] if any(name in METRICS for name in names) else []
    return [*busy, *(metric for name in names for metric in _ADD.get(name, ()))]
