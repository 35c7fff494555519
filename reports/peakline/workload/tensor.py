"""Whether counters cover all work of a kernel in the tensor pipe, by part and format."""

import re
from collections.abc import Iterator, Mapping

# By format: the pipe's part that runs it, the compute capability that introduced it, and ncu's name
# of its FLOP counter.
_FORMATS = {
    "fp16": ("hmma", 7.0, "fp16"),
    "bf16": ("hmma", 8.0, "bf16_dst_fp32"),
    "tf32": ("hmma", 8.0, "tf32_dst_fp32"),
    "fp8": ("hmma", 8.9, "fp8"),
    "fp4": ("hmma", 10.0, "fp4_dst_fp32"),
    "int8": ("imma", 7.2, "int8"),
    "fp64": ("dmma", 8.0, "fp64"),
}
_PARTS = ("hmma", "imma", "dmma")
_WITH_DMMA = (8.0, 9.0, 10.0, 10.3)
# Instructions that run in any part: warpgroup GEMMs, and tcgen05's.
_ACROSS = ("gmma", "tc")
# HMMA also runs packed half-precision arithmetic; the other parts run only GEMMs.
_WITH_PAIRS = ("tensor", "hmma")

# Activity of the pipe, in any form, shares included.
_NAME = r"(?P<{}>tensor|tc|tensor_(?:op|subpipe)_[a-z]+)"
ACTIVITY = re.compile(
    rf"(?:smsp|sm)__(?:pipe_{_NAME.format('active')}_cycles_active"
    rf"|inst_executed_pipe_{_NAME.format('issued')})"
    r"(?:_v2)?\.(?:sum|avg)(?:\.pct_of_peak_sustained_(?:active|elapsed)|\.per_[a-z_]+)?"
)
METRICS = {
    f"tensor.{name}": f"sm__ops_path_tensor_src_{counter}.sum"
    for name, (_, _, counter) in _FORMATS.items()
}
BUSY_METRIC = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"


class TensorPipe:
    """The tensor pipe during one launch. capability: None rules out no format."""

    def __init__(self, metrics: Mapping[str, float | None], capability: float | None) -> None:
        self._capability = capability
        self._activity: dict[str, list[float]] = {}
        # Instruction counters do not see tcgen05, so their 0 proves nothing.
        apart = capability is None or 10.0 <= capability < 12.0
        for metric, value in metrics.items():
            match = ACTIVITY.fullmatch(metric)
            if match is None or value is None or (match["issued"] and apart and value <= 0):
                continue
            part = re.sub("tensor_(?:op|subpipe)_", "", match["active"] or match["issued"])
            self._activity.setdefault(part, []).append(value)

    def is_idle(self, part: str = "tensor") -> bool:
        """Whether counters prove that a part, or the whole pipe, did nothing."""
        if part not in self._activity or self._is_busy(part):
            return False
        in_parts = any(self._is_busy(name) for name in _PARTS)
        across = any(self._is_busy(name) for name in _ACROSS)
        # Instructions that can use any part ran in a busy one if there is one, else anywhere.
        return not (in_parts or across) if part == "tensor" else in_parts or not across

    def _is_busy(self, part: str) -> bool:
        return any(value > 0 for value in self._activity.get(part, ()))

    def unknown(self, flops: Mapping[str, float]) -> Iterator[str]:
        """Units that may have run but are not in `flops`, as "tensor.fp8"; "tensor" if `flops` has
        all units, but nothing that explains the activity."""
        if self.is_idle():
            return
        units: dict[str, list[str]] = {part: [] for part in _PARTS}
        for name, (part, since, _) in _FORMATS.items():
            if self._has(name, since):
                units[part].append(f"tensor.{name}")
        missing = [
            unit
            for part, found in units.items()
            if not self.is_idle(part)
            for unit in found
            if unit not in flops
        ]
        yield from missing
        if not missing and any(
            self._is_busy(part)
            and not any(flops.get(unit, 0.0) for unit in units.get(part, METRICS))
            and not (part in _WITH_PAIRS and flops.get("cuda_core.fp16", 1.0))
            for part in ("tensor", *_PARTS, *_ACROSS)
        ):
            yield "tensor"

    def _has(self, name: str, since: float) -> bool:
        if self._capability is None:
            return True
        return self._capability >= since and (name != "fp64" or self._capability in _WITH_DMMA)
