"""Steps that lose time to one known cause each, traced, with what is known of them.

    python trace_causes.py --output causes
    tar xzf causes/traces.tar.gz && peakline-report PROFILE --trace item.json.gz

Writes traces.tar.gz: a torch.profiler trace of some steps for each cause, and truth.json with what
clocks said of the same steps without a profiler: seconds of a step with the cause, of one without
it, and what was measured of the cause itself. Needs PyTorch and a GPU with 24 GB; takes less than a
minute. Nothing in the traces names the machine but the model of its GPU.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import needs_torch  # noqa: F401
import torch
from torch import nn

Step = Callable[[], object]
TIMED = 8
MIB = 1 << 20
# Arguments that readers need; the rest would be most of a file.
ARGUMENTS = (
    "External id", "correlation", "stream", "device", "bytes", "Input Dims", "Input type",
    "Concrete Inputs", "graph node id", "graph id", "wait_on_stream", "wait_on_cuda_event_id",
    "cuda_sync_kind", "cbid",
)  # fmt: skip


@dataclass
class Case:
    """A step with a cause, the step without it, and further facts."""

    cause: str
    step: Step
    without: Step | None = None
    known: dict[str, float] = field(default_factory=dict)
    traced: int = 4  # steps, of which the last has no end


def layers(count: int, width: int) -> nn.ModuleList:
    """GEMMs without a bias, in BF16."""
    made = [nn.Linear(width, width, bias=False) for _ in range(count)]
    return nn.ModuleList(made).to("cuda", torch.bfloat16).requires_grad_(False)


def random(*shape: int) -> torch.Tensor:
    """Normal random numbers in BF16."""
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16)


def products(count: int = 6, width: int = 4096, rows: int = 8192) -> Step:
    """GEMMs that take milliseconds, and that the host queues in a fraction of that."""
    weights, data = layers(count, width), random(rows, width)

    def step() -> None:
        x = data
        for layer in weights:
            x = layer(x)

    return step


def healthy() -> Case:
    """A training step whose GEMMs keep the device busy."""
    model = nn.Sequential(*(nn.Linear(4096, 4096, bias=False) for _ in range(4)))
    model = model.to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9, fused=True)
    data = random(8192, 4096)

    def step() -> None:
        model(data).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return Case("none", step)


def item() -> Case:
    """A value that the host reads after each layer."""
    weights, data = layers(32, 2048), random(4096, 2048)

    def step(reads: bool) -> None:
        x = data
        for layer in weights:
            x = layer(x)
            if reads:
                x[0, 0].item()

    return Case("synchronization", lambda: step(True), lambda: step(False), {"reads": 32})


def inputs(pinned: bool) -> Case:
    """Inputs from pageable or pinned memory that the device waits for."""
    compute, size = products(), 256 * MIB
    pageable, target = torch.ones(size, dtype=torch.uint8), torch.empty(size, dtype=torch.uint8)
    target = target.to("cuda")
    locked = pageable.pin_memory()
    side = torch.cuda.Stream()

    def step(source: torch.Tensor) -> None:
        target.copy_(source, non_blocking=source.is_pinned())
        compute()

    def hidden() -> None:
        with torch.cuda.stream(side):
            target.copy_(locked, non_blocking=True)
        compute()
        torch.cuda.current_stream().wait_stream(side)

    known = {
        "bytes": float(size),
        "copy_s": events_of(
            lambda: target.copy_(locked if pinned else pageable, non_blocking=pinned)
        ),
    }
    if pinned:
        return Case("copies", lambda: step(locked), hidden, known)
    return Case("copies", lambda: step(pageable), lambda: step(locked), known)


class Slow(torch.utils.data.Dataset[torch.Tensor]):
    """Rows that take 2 ms each to read."""

    def __init__(self) -> None:
        self.slept = 0.0

    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int) -> torch.Tensor:
        start = time.perf_counter()
        time.sleep(2e-3)
        self.slept += time.perf_counter() - start
        return torch.zeros(16)


def loader() -> Case:
    """A data loader without workers."""
    compute, rows = products(), Slow()
    batches = iter(torch.utils.data.DataLoader(rows, batch_size=8))

    def step() -> None:
        next(batches).to("cuda")
        compute()

    step()
    slept = rows.slept
    return Case("loader", step, compute, {"loader_s": slept})


def python() -> Case:
    """Python's work between GEMMs, outside of any range."""
    compute = products(2)

    def step() -> None:
        for _ in range(3):
            end = time.perf_counter() + 3e-3
            while time.perf_counter() < end:
                pass
            compute()
            torch.cuda.current_stream().query()

    return Case("python", step, lambda: [compute() for _ in range(3)], {"python_s": 9e-3})


def tiny() -> Case:
    """2,000 kernels shorter than their launches."""
    x = torch.zeros(1024, device="cuda")
    graph = captured(lambda: [x.add_(1) for _ in range(2000)])
    return Case(
        "launch", lambda: [x.add_(1) for _ in range(2000)], graph.replay, {"kernels": 2000}, 2
    )


def unaligned() -> Case:
    """A GEMM whose rows are not aligned to 16 bytes."""

    def step(size: int) -> Step:
        left, right = random(8192, size), random(size, 8192)
        return lambda: [left @ right for _ in range(3)]

    return Case("kernels", step(8191), step(8192))


def streams() -> Case:
    """Concurrent kernels on two streams, which share the time."""
    side, cycles = torch.cuda.Stream(), 1_000_000

    def step() -> None:
        main = torch.cuda.current_stream()
        side.wait_stream(main)
        for _ in range(4):
            torch.cuda._sleep(cycles)
            with torch.cuda.stream(side):
                torch.cuda._sleep(cycles)
        main.wait_stream(side)

    def one() -> None:
        for _ in range(8):
            torch.cuda._sleep(cycles)

    # The sum over both streams exceeds the step.
    return Case("none", step, one, {"kernel_s": events_of(lambda: torch.cuda._sleep(cycles))})


def captured(work: Step) -> torch.cuda.CUDAGraph:
    """A CUDA graph of some work."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def graph() -> Case:
    """A CUDA graph of 200 small kernels, replayed without a pause."""
    x = torch.zeros(1 << 16, device="cuda")

    def work() -> None:
        for _ in range(200):
            x.add_(1)

    made = captured(work)
    return Case("launch", lambda: [made.replay() for _ in range(3)], None, {"nodes": 200.0})


def allocation() -> Case:
    """Memory that each step allocates from the driver."""
    compute = products()

    def step(anew: bool) -> None:
        if anew:
            torch.cuda.empty_cache()
        kept = [torch.empty(512 * MIB, dtype=torch.uint8, device="cuda") for _ in range(8)]
        compute()
        del kept

    return Case("allocation", lambda: step(True), lambda: step(False), {"allocations": 8.0})


CASES: dict[str, Callable[[], Case]] = {
    "healthy": healthy,
    "item": item,
    "pageable": lambda: inputs(False),
    "exposed": lambda: inputs(True),
    "loader": loader,
    "python": python,
    "tiny": tiny,
    "unaligned": unaligned,
    "streams": streams,
    "graph": graph,
    "allocation": allocation,
}


def events_of(work: Step) -> float:
    """Median seconds of some work, by device events."""
    found = []
    for _ in range(5):
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        found.append(start.elapsed_time(end) * 1e-3)
    return sorted(found)[len(found) // 2]


def seconds_of(step: Step) -> float:
    """Seconds of a step by the host's clock, with steps queued back to back."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(TIMED):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / TIMED


def traced(case: Case, path: Path) -> list[float]:
    """Writes a trace; returns each step's seconds by device events. An event marks when the device
    reached it, so initial waiting for the host counts to the step before."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA],
        schedule=torch.profiler.schedule(wait=0, warmup=2, active=case.traced),
        record_shapes=True,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
    ) as profiler:
        marks = []
        for _ in range(2 + case.traced):
            marks.append(torch.cuda.Event(enable_timing=True))
            marks[-1].record()
            case.step()
            profiler.step()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e-3 for start, end in pairwise(marks[2:])]


def slimmed(path: Path) -> bytes:
    """A compressed trace without its machine's identity and unneeded fields."""
    document = json.loads(path.read_text())
    threads: dict[Any, int] = {}
    events = []
    for event in document["traceEvents"]:
        if event.get("ph") != "X":
            continue  # metadata, and arrows, which repeat the correlations
        given = event.get("args", {})
        kept = {key: given[key] for key in ARGUMENTS if key in given}
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation"):
            event["pid"] = 1 if event["pid"] not in (-1, "Spans") else event["pid"]
            event["tid"] = threads.setdefault(event["tid"], len(threads) + 1)
        events.append({key: value for key, value in event.items() if key != "args"})
        if kept:
            events[-1]["args"] = kept
    head = ("schemaVersion", "deviceProperties", "cuda_runtime_version", "cuda_driver_version",
            "record_shapes", "displayTimeUnit", "baseTimeNanoseconds")  # fmt: skip
    made = {key: document[key] for key in head if key in document} | {"traceEvents": events}
    text = json.dumps(made, separators=(",", ":"))
    assert socket.gethostname() not in text and "/home" not in text
    return gzip.compress(text.encode(), 9, mtime=0)


def nsight(folder: Path) -> str:
    """Records one case with Nsight Systems; returns "" or an error."""
    nsys = shutil.which("nsys")
    if nsys is None:
        return "nsys is not installed"
    report = folder / "report"
    command = [nsys, "profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none",
               "--cpuctxsw=none", f"--output={report}", sys.executable, __file__,
               "--plain", "item", "--output", str(folder)]  # fmt: skip
    export = [nsys, "export", "--type=sqlite", f"--output={folder / 'item.sqlite'}",
              f"{report}.nsys-rep"]  # fmt: skip
    for words in (command, export):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode:
            return (done.stderr or done.stdout).strip().splitlines()[-1][:200]
    return ""


def plain(case: Case) -> None:
    """The steps under NVTX ranges, for another profiler."""
    for number in range(2 + case.traced):
        with torch.cuda.nvtx.range(f"ProfilerStep#{number}"):
            case.step()
    torch.cuda.synchronize()


def main() -> int:
    """Writes the archive; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", type=Path, required=True, help="folder of traces.tar.gz")
    parser.add_argument("--plain", choices=CASES, help="run one case without tracing it")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")
    torch.manual_seed(1)
    if options.plain:
        plain(CASES[options.plain]())
        return 0
    options.output.mkdir(parents=True, exist_ok=True)
    truth: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cases": {},
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for called, make in CASES.items():
            case = make()
            row: dict[str, Any] = {
                "cause": case.cause,
                **case.known,
                "step_s": seconds_of(case.step),
            }
            if case.without:
                row["without_s"] = seconds_of(case.without)
            row["traced_s"] = traced(case, folder / "raw.json")
            (folder / f"{called}.json.gz").write_bytes(slimmed(folder / "raw.json"))
            truth["cases"][called] = row
            size = (folder / f"{called}.json.gz").stat().st_size
            print(f"{called}: {row['step_s'] * 1e3:.3f} ms a step, {size} bytes", flush=True)
            del case
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        truth["nsight_systems"] = nsight(folder) or "item.sqlite"
        (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        with tarfile.open(options.output / "traces.tar.gz", "w:gz") as archive:
            for path in sorted(folder.glob("*.json.gz")) + sorted(folder.glob("*.sqlite")):
                archive.add(path, path.name)
            archive.add(folder / "truth.json", "truth.json")
    print(f"nsys: {truth['nsight_systems']}")
    print(options.output / "traces.tar.gz")
    return 0


if __name__ == "__main__":
    sys.exit(main())
