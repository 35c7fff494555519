"""Reads SQLite exports of Nsight Systems, and its reports through nsys.

A missing table or column was not recorded, and is never taken as zero.
"""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from peakline import units
from peakline.text import shell_word, short
from peakline.workload.kernel import WorkloadError
from peakline.workload.kineto import is_collective, operation_of
from peakline.workload.model import (
    Activity,
    Call,
    HostMemory,
    Kind,
    Message,
    Range,
    Trace,
    TraceFinding,
    Way,
)

# Codes: https://docs.nvidia.com/nsight-systems/2021.5/nsys-exporter/exported_data.html
_WAYS = {
    1: Way.TO_DEVICE, 2: Way.TO_HOST, 8: Way.WITHIN, 10: Way.BETWEEN,
    11: Way.MIGRATION, 12: Way.MIGRATION, 13: Way.MIGRATION,
}  # fmt: skip
_HOSTS = {0: HostMemory.PAGEABLE, 1: HostMemory.PINNED}
_COPY_NAMES = {
    Way.NONE: "copy", Way.TO_DEVICE: "copy to the device", Way.TO_HOST: "copy to the host",
    Way.WITHIN: "copy within the device's memory", Way.BETWEEN: "copy between devices",
    Way.MIGRATION: "migration of unified memory",
}  # fmt: skip
# Mask of the process in a global thread id.
_PROCESS = ~0xFFFFFF
_PID_BITS, _PID = 24, 0xFFFFFF  # position of the process's own id
_MOST_ROWS = 20_000_000
_WARNING = 2  # severity
_QUOTED = 4
# Such messages say that something is missing which the program does not use, so they come last.
_NOISE = re.compile(r"No .* (events|data|samples) (were )?collected|.*(NVTX|OpenGL|Vulkan|DX1)")
# Columns of activities, if a table has them.
_COMMON = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")
_MODEL = ("id", "name")
# A SQLite file's header has these, by place and bytes: size of a page, counter of changes, pages,
# and the counter for which that number of pages holds (https://www.sqlite.org/fileformat.html).
_HEADER = 100
_PAGES = [1 << power for power in range(9, 17)]
_FIELDS_OF_HEADER = ((16, 2), (24, 4), (28, 4), (92, 4))
_EXPORT = "nsys export --type sqlite REPORT.nsys-rep"
NSYS_SUFFIXES = (".nsys-rep", ".qdrep")
_MOST_S = 1800  # time limit of an export


def read_nsight(path: str | os.PathLike[str], name: str) -> Trace:
    _check_length(path, name)
    location = f"{Path(path).absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(location, uri=True)) as base:
            return _Export(base, name).trace()
    except (sqlite3.Error, OverflowError, TypeError, UnicodeDecodeError) as error:
        raise WorkloadError(
            f"{name}: not an export of Nsight Systems: {short(str(error), 200)}; export with "
            f"{_EXPORT}"
        ) from error


def _check_length(path: str | os.PathLike[str], name: str) -> None:
    """Raises WorkloadError for a file that is cut off. Its tables are in no order of time, so what
    is left is no part of the recording that could be read alone."""
    with open(path, "rb") as file:
        head = file.read(_HEADER)
        there = file.seek(0, os.SEEK_END)
    page, changed, pages, valid = (
        int.from_bytes(head[at : at + size], "big") for at, size in _FIELDS_OF_HEADER
    )
    page = 1 << 16 if page == 1 else page
    whole = page * pages if changed == valid and page in _PAGES else 0
    if len(head) < _HEADER or there < whole:
        of = f"{there} of {whole} bytes are there" if whole else f"it has {there} bytes"
        raise WorkloadError(
            f"{name}: an export of Nsight Systems that is cut off ({of}), and what is left cannot "
            f"be read alone: copy it again, or export it anew with {_EXPORT}"
        )


def read_nsys_report(path: str | os.PathLike[str]) -> Trace:
    """The trace in a report, through `nsys export`. Raises WorkloadError."""
    name, given = os.fspath(path), os.path.abspath(path)
    with tempfile.TemporaryDirectory(prefix="peakline-") as folder:
        target = os.path.join(folder, "report.sqlite")
        command = ["nsys", "export", "--type", "sqlite", "--output", target, given]
        if shutil.which("nsys") is None:
            raise WorkloadError(
                f"{name}: a report of Nsight Systems, and nsys, which reads it, is not on PATH: "
                f"export it with nsys export --type sqlite {shell_word(Path(name).name)}"
            )
        try:
            done = subprocess.run(command, capture_output=True, timeout=_MOST_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorkloadError(f"{name}: nsys export: {error}") from error
        if done.returncode or not os.path.exists(target):
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise WorkloadError(f"{name}: nsys export failed: {said[-300:] or 'no message'}")
        return read_nsight(target, name)


class _Export:
    def __init__(self, base: sqlite3.Connection, name: str) -> None:
        self._base, self._trace = base, Trace(name, tool="nsys")
        base.text_factory = lambda text: text.decode("utf-8", "replace")
        rows = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self._tables = {str(row[0]) for row in rows}
        self._strings: dict[int, str] = {}
        self._ids: dict[Any, int] = {}  # indices of names by the export's own ids
        # GPUs by process and device number, which CUDA_VISIBLE_DEVICES changes.
        self._gpus: dict[tuple[int, int], int] = {}
        self._users: dict[int, set[int]] = {}  # processes by device
        self._unnamed: set[int] = set()  # device numbers that cannot be mapped to a GPU

    def trace(self) -> Trace:
        self._strings = {
            number: str(value)
            for number, value in self._rows("StringIds", ("id", "value"))
            if isinstance(number, int)
        }
        for gpu, device, pid in self._rows("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid")):
            self._gpus[pid, device] = gpu
        self._kernels()
        self._graphs()
        self._copies()
        self._fills()
        self._calls()
        self._ranges()
        for start, end, thread in self._rows("PROFILER_OVERHEAD", ("start", "end", "globalTid")):
            name = self._trace.id_of("profiler")
            self._trace.overhead.add(Range(start, end, name, thread & _PROCESS, thread))
        self._models()
        self._migrations()
        quoted = self._diagnostics()
        if quoted:
            text = f"Nsight Systems warned while it recorded: {quoted}"
            self._trace.findings.append(TraceFinding("profiler_warned", "warning", text))
        if not len(self._trace.activities):
            raise WorkloadError(
                f"{self._trace.name}: the export holds nothing that ran on a GPU: "
                + (
                    f"Nsight Systems said {quoted}"
                    if quoted
                    else "record with nsys profile --trace=cuda,nvtx --cuda-graph-trace=node, then "
                    f"{_EXPORT}"
                )
            )
        return self._trace

    def _models(self) -> None:
        """Sets the devices' models. Raises WorkloadError for ambiguous devices."""
        models = {number: str(model) for number, model in self._rows("TARGET_INFO_GPU", _MODEL)}
        for device, users in self._users.items():
            if device in self._unnamed and len(users) > 1:
                raise WorkloadError(
                    f"{self._trace.name}: {len(users)} processes call a device {device}, and the "
                    "export does not tell whether it is one GPU (TARGET_INFO_CUDA_DEVICE): export "
                    "with a newer nsys, or record each process into a file of its own"
                )
            if device not in self._unnamed:
                self._trace.models[device] = models.get(device, "")
            elif len(set(models.values())) == 1:
                self._trace.models[device] = next(iter(models.values()))

    def _device(self, process: int, device: int) -> int:
        """The GPU of a process's device number, or that number if it cannot be mapped."""
        gpu = self._gpus.get((process >> _PID_BITS & _PID, device))
        if gpu is None:
            gpu = device
            self._unnamed.add(device)
        self._users.setdefault(gpu, set()).add(process)
        return gpu

    def _rows(self, table: str, columns: Sequence[str]) -> Iterator[Any]:
        """The rows of a table, if it exists. Missing values are 0, or -1 for a kind."""
        if table not in self._tables:
            return
        there = self._columns(table)
        if "start" in columns and not {"start", "end"} <= there:
            raise WorkloadError(f"{self._trace.name}: {table} has no start and end")
        absent = {c: -1 if c.endswith("Kind") else 0 for c in columns}
        chosen = ", ".join(
            f'COALESCE("{c}", {absent[c]})' if c in there else str(absent[c]) for c in columns
        )
        where = ' WHERE "end" IS NOT NULL AND "end" >= "start"' if "start" in columns else ""
        for index, row in enumerate(self._base.execute(f'SELECT {chosen} FROM "{table}"{where}')):
            if index >= _MOST_ROWS:
                raise WorkloadError(
                    f"{self._trace.name}: more than {_MOST_ROWS} rows of {table}, the most that "
                    "are read"
                )
            yield row

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self._base.execute(f'PRAGMA table_info("{table}")')}

    def _named(self, number: Any, otherwise: str) -> int:
        """The index of a name by the export's own id."""
        found = self._ids.get(number)
        if found is None:
            found = self._trace.id_of(self._strings.get(number, otherwise))
            self._ids[number] = found
        return found

    def _kernels(self) -> None:
        table = "CUPTI_ACTIVITY_KIND_KERNEL"
        called = "demangledName" if "demangledName" in self._columns(table) else "shortName"
        for *common, name in self._rows(table, (*_COMMON, called)):
            place = self._named(name, "kernel")
            text = self._trace.names[place]
            kind, message = Kind.COMPUTE, -1
            if is_collective(text):
                kind, message = Kind.COLLECTIVE, len(self._trace.messages)
                self._trace.messages.append(Message(operation_of(text), "", 0, 0))
            self._add(common, kind, place, message=message)

    def _graphs(self) -> None:
        count = 0
        for common in self._rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _COMMON):
            self._add(common, Kind.COMPUTE, self._trace.id_of("CUDA graph"))
            count += 1
        if count:
            text = f"{count} launches of CUDA graphs are one block each, whose kernels were not "
            text += "recorded: record with nsys profile --cuda-graph-trace=node."
            self._trace.findings.append(TraceFinding("graphs_as_blocks", "note", text, count))

    def _diagnostics(self) -> str:
        """Nsight Systems' own warnings about the recording."""
        rows = self._rows("DIAGNOSTIC_EVENT", ("severity", "text"))
        said = {str(text)[:300]: severity for severity, text in rows if severity >= _WARNING}
        order = sorted(said, key=lambda text: (_NOISE.match(text) is not None, -said[text]))
        return " ".join(f"“{text}”" for text in order[:_QUOTED])

    def _migrations(self) -> None:
        rows = self._trace.activities
        chosen = rows["way"] == Way.MIGRATION
        if not chosen.any():
            return
        moved = int(rows["bytes"][chosen].sum())
        time = int((rows["end"] - rows["start"])[chosen].sum())
        text = (
            f"Unified memory: {int(chosen.sum())} migrations of pages move {units.size(moved)} in "
            f"{units.time(time * 1e-9)}, and kernels wait for their page faults: move pages before "
            "they are needed (cudaMemPrefetchAsync), or allocate with cudaMalloc."
        )
        self._trace.findings.append(
            TraceFinding("unified_memory", "warning", text, int(chosen.sum()), len(rows))
        )

    def _copies(self) -> None:
        columns = (*_COMMON, "bytes", "copyKind", "srcKind", "dstKind")
        for *common, size, number, source, target in self._rows(
            "CUPTI_ACTIVITY_KIND_MEMCPY", columns
        ):
            way = _WAYS.get(number, Way.NONE)
            end = {Way.TO_DEVICE: source, Way.TO_HOST: target}.get(way, -1)
            kind = Kind.COMPUTE if way == Way.WITHIN else Kind.COPY
            name = self._trace.id_of(_COPY_NAMES[way])
            self._add(common, kind, name, size, way, _HOSTS.get(end, HostMemory.UNKNOWN))

    def _fills(self) -> None:
        name = self._trace.id_of("fill of the device's memory")
        for *common, size in self._rows("CUPTI_ACTIVITY_KIND_MEMSET", (*_COMMON, "bytes")):
            self._add(common, Kind.COMPUTE, name, size, Way.FILL)

    def _add(
        self,
        common: Sequence[int],
        kind: Kind,
        name: int,
        size: int = 0,
        way: Way = Way.NONE,
        host: HostMemory = HostMemory.UNKNOWN,
        message: int = -1,
    ) -> None:
        start, end, device, stream, correlation, process = common
        process &= _PROCESS
        device = self._device(process, device)
        self._trace.activities.add(
            Activity(
                start, end, kind, device, stream, name, correlation, process, -1, size, way, host,
                message,
            )
        )  # fmt: skip

    def _calls(self) -> None:
        columns = ("start", "end", "nameId", "correlationId", "globalTid")
        for start, end, name, correlation, thread in self._rows(
            "CUPTI_ACTIVITY_KIND_RUNTIME", columns
        ):
            place = self._named(name, "call")
            self._trace.calls.add(Call(start, end, place, correlation, thread & _PROCESS, thread))

    def _ranges(self) -> None:
        columns = ("start", "end", "text", "textId", "globalTid")
        for start, end, text, number, thread in self._rows("NVTX_EVENTS", columns):
            place = self._trace.id_of(text) if isinstance(text, str) else self._named(number, "")
            if self._trace.names[place]:
                self._trace.ranges.add(Range(start, end, place, thread & _PROCESS, thread))
