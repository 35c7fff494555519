"""Traces of torch.profiler and exports of Nsight Systems that tests make up, of known truth."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any


class Made:
    """A trace of torch.profiler; times are microseconds."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self._correlation = 1000  # no operator has such an identity

    def event(self, category: str, name: str, start: float, end: float, **more: Any) -> None:
        """An event of any kind; args and pid, tid as they are."""
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "ts": start, "dur": round(end - start, 3)}
            | {"pid": 1, "tid": 1}
            | more
        )

    def call(
        self, name: str, start: float, end: float, thread: int = 1, correlation: int = 0
    ) -> None:
        """A call into the runtime."""
        args = {"correlation": correlation} if correlation else {}
        self.event("cuda_runtime", name, start, end, tid=thread, args=args)

    def kernel(
        self,
        start: float,
        end: float,
        called: float | None = None,
        name: str = "kernel",
        call: str = "cudaLaunchKernel",
        lasts: float = 2.0,
        thread: int = 1,
        **args: Any,
    ) -> int:
        """A kernel, and its launch where `called` says when; returns its correlation."""
        return self.activity("kernel", name, start, end, called, call, lasts, thread, **args)

    def copy(
        self,
        start: float,
        end: float,
        called: float | None,
        size: int,
        name: str = "Memcpy HtoD (Pinned -> Device)",
        lasts: float = 2.0,
        **args: Any,
    ) -> int:
        """A copy over the link."""
        return self.activity(
            "gpu_memcpy", name, start, end, called, "cudaMemcpyAsync", lasts, 1, bytes=size, **args
        )

    def activity(
        self,
        category: str,
        name: str,
        start: float,
        end: float,
        called: float | None,
        call: str,
        lasts: float,
        thread: int,
        **args: Any,
    ) -> int:
        """Something on a device; `correlation` in args is that of a launch that is there."""
        correlation = args.get("correlation")
        if correlation is None:
            self._correlation += 1
            correlation = self._correlation
            if called is not None:
                self.call(call, called, called + lasts, thread, correlation)
        given = {"device": 0, "stream": 7, **args, "correlation": correlation}
        self.event(category, name, start, end, pid=0, tid=given["stream"], args=given)
        return int(correlation)

    def steps(self, *starts: float) -> None:
        """Ranges of steps, each until the next begins, the last for a second."""
        for number, (start, end) in enumerate(
            zip(starts, [*starts[1:], starts[-1] + 1e6], strict=True)
        ):
            self.event("user_annotation", f"ProfilerStep#{number}", start, end)

    def product(self, identity: int, rows: int, inner: int, columns: int) -> None:
        """An operator that multiplies BF16 matrices; its kernels have its identity."""
        self.operator("aten::mm", identity, [[rows, inner], [inner, columns]])

    def operator(
        self,
        name: str,
        identity: int,
        shapes: list[list[int]],
        types: list[str] | None = None,
        values: list[str] | None = None,
    ) -> None:
        """An operator, by default on BF16 tensors."""
        args = {
            "External id": identity,
            "Input Dims": shapes,
            "Input type": types or ["c10::BFloat16"] * len(shapes),
            "Concrete Inputs": values or [""] * len(shapes),
        }
        self.event("cpu_op", name, 0, 1, args=args)

    def write(self, path: Path, **beside: Any) -> Path:
        """The file."""
        document = {"deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], **beside}
        path.write_text(json.dumps({**document, "traceEvents": self.events}), encoding="utf-8")
        return path


TABLES = {
    "StringIds": "id, value",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start, end, deviceId, streamId, correlationId, globalPid, "
    "demangledName, shortName, graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start, end, deviceId, streamId, correlationId, globalPid, "
    "bytes, copyKind, srcKind, dstKind",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start, end, deviceId, streamId, correlationId, globalPid, bytes",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start, end, globalTid, correlationId, nameId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start, end, deviceId, streamId, correlationId, globalPid, "
    "graphId",
    "NVTX_EVENTS": "start, end, eventType, text, textId, globalTid",
    "PROFILER_OVERHEAD": "start, end, globalTid, nameId",
    "DIAGNOSTIC_EVENT": "severity, text",
    "TARGET_INFO_GPU": "id, name",
    "TARGET_INFO_CUDA_DEVICE": "gpuId, cudaId, pid, uuid",
}


def export(path: Path, rows: dict[str, list[tuple[Any, ...]]]) -> Path:
    """An export of Nsight Systems with these tables alone."""
    with sqlite3.connect(path) as base:
        for table, values in rows.items():
            base.execute(f'CREATE TABLE "{table}" ({TABLES[table]})'.replace("end,", '"end",'))
            marks = ", ".join("?" * len(TABLES[table].split(",")))
            base.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)
    base.close()
    return path
