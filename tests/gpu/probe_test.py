"""peakline.probe keeps its promises on a GPU: false alarms, the loss that it finds, cost, memory.

usage: probe_test.py NEIGHBOUR

Takes about 130 s. Exits with 77, which ctest shows as skipped, without PyTorch or a GPU.
"""

import contextlib
import dataclasses
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "reports"), str(ROOT / "reports/examples")]
SKIPPED = 77
try:
    import peakline
    import torch
    import train_gpt
    from neighbour_test import at_work
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

SHORT_S = 0.05
ALARMS_S = 20  # of probes, idle and beside a busy host each
# A neighbour's arguments, and the period in seconds in which it works for a millisecond or until
# its queue is empty; None: it never rests.
NEIGHBOURS = [
    (("pcie",), None),
    (("memory",), 0.05),
    (("memory",), 0.025),
    (("memory",), 0.0125),
    (("memory",), None),
    (("sms", "8"), None),
]
PROBES, FOUND = 10, 9
LARGE_LOSS = 0.1  # which must be found
STEPS, WARM_UP, EVERY = 80, 8, 3
BATCH = 4  # of the bundled GPT, for a card of 80 GB
MOST_COST = 0.01
SIDE, READ_BYTES = 4096, 1 << 30


def calibrate(folder: Path, seconds: float) -> None:
    start = time.perf_counter()
    limits = peakline.probe.calibrate(seconds=seconds, folder=folder)
    took = time.perf_counter() - start
    (file,) = folder.iterdir()
    document = json.loads(file.read_text())
    rounds = document["rounds"]
    print(f"calibrate({seconds:g} s): {took:.1f} s, {document['parts']}, {document['conditions']}")
    for name, key in (
        ("gemm", "gemm_flop_per_cycle"),
        ("hbm.read", "hbm_read_bytes_per_s"),
        ("clock", "clock_hz"),
    ):
        rested, loaded = ([r[key] for r in part] for part in (rounds[:32], rounds[32:]))
        middle = statistics.median(rested + loaded)
        shares = [f"{value / middle:.4f}" for value in (min(rested), statistics.median(rested))]
        shares += [f"{value / middle:.4f}" for value in (min(loaded), statistics.median(loaded))]
        limit = f", limit {limits[name]:.4f}" if name in limits else ""
        print(f"  {name:9}{middle:.5g}; rested {shares[0]} {shares[1]}", end="")
        print(f", loaded {shares[2]} {shares[3]} (lowest, median){limit}")


@contextlib.contextmanager
def busy_host():
    spin = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def false_alarms(folder: Path, host: str) -> list[str]:
    verdicts = []
    free = torch.cuda.mem_get_info()[0]
    end = time.monotonic() + ALARMS_S
    while time.monotonic() < end:
        verdicts.append(peakline.probe(seconds=SHORT_S, folder=folder))
    lost = free - torch.cuda.mem_get_info()[0]
    return judged(f"{host} host", verdicts) + (
        [f"{lost} bytes of the card are gone after {len(verdicts)} probes"] if lost > 0 else []
    )


def judged(where: str, verdicts: list[peakline.ProbeVerdict]) -> list[str]:
    """Prints how far healthy probes were from their limits; returns what must not be."""
    count = {o: sum(v.outcome == o for v in verdicts) for o in ("healthy", "slow", "unknown")}
    twice = sum(v.measurements == 2 for v in verdicts)
    print(f"{where}: {len(verdicts)} probes, {count}, measured twice {twice}")
    known = [v for v in verdicts if v.ratios]
    for name in ("gemm", "hbm.read"):
        ratios = [v.ratios[name] for v in known]
        if len(ratios) > 1:
            gap = min(v.ratios[name] - v.limits[name] for v in known)
            deviation = statistics.stdev(ratios)
            print(
                f"  {name:9}lowest {min(ratios):.4f}, median {statistics.median(ratios):.4f}, "
                f"deviation {deviation:.5f}; nearest to its limit {gap:+.4f}"
            )
    if known:
        clocks = sorted(v.clock_hz / 1e6 for v in known)
        print(f"  clock    {clocks[0]:.0f} to {clocks[-1]:.0f} MHz")
    for verdict in {v.outcome + v.reason[:40]: v for v in verdicts if v.reason}.values():
        print(f"  {verdict.outcome}: {verdict.reason}")
    failures = []
    if count["slow"] > len(verdicts) / 1000:
        failures.append(f"{where}: {count['slow']} false alarms in {len(verdicts)} probes")
    if count["unknown"] > len(verdicts) / 20:
        failures.append(f"{where}: {count['unknown']} of {len(verdicts)} probes are unknown")
    if any(v.memory_left for v in verdicts):
        failures.append(f"{where}: {max(v.memory_left for v in verdicts)} bytes left reserved")
    return failures


def plain_rates() -> dict[str, float]:
    """GEMMs and reads per second in 0.3 s of each, by one pair of events."""
    a = torch.zeros((SIDE, SIDE), dtype=torch.float16, device="cuda")
    out = torch.empty_like(a)
    words = torch.zeros(READ_BYTES // 4, device="cuda")

    def rate(launch, launches: int) -> float:
        launch()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(launches):
            launch()
        end.record()
        end.synchronize()
        return launches / (start.elapsed_time(end) * 1e-3)

    return {
        "gemm": rate(lambda: torch.mm(a, a, out=out), 2000),
        "hbm.read": rate(lambda: torch.sum(words), 900),
    }


@contextlib.contextmanager
def resting(process: subprocess.Popen, period_s: float | None):
    """Lets a process work for a millisecond each period."""
    done = threading.Event()

    def rest() -> None:
        while not done.is_set():
            process.send_signal(signal.SIGCONT)
            time.sleep(1e-3)
            process.send_signal(signal.SIGSTOP)
            done.wait(period_s - 1e-3)

    thread = threading.Thread(target=rest)
    if period_s:
        thread.start()
    try:
        yield
    finally:
        done.set()
        if period_s:
            thread.join()


def detection(folder: Path, neighbour: str) -> list[str]:
    failures, found_losses = [], []
    alone = plain_rates()
    again = plain_rates()
    print("alone again:", {n: f"{1 - again[n] / alone[n]:+.1%}" for n in alone}, "lost")
    for arguments, period_s in NEIGHBOURS:
        with at_work(neighbour, arguments) as process, resting(process, period_s):
            before = plain_rates()
            verdicts = [peakline.probe(folder=folder) for _ in range(PROBES)]
            after = plain_rates()
        losses = {n: 1 - (before[n] + after[n]) / 2 / alone[n] for n in alone}
        found = sum(v.outcome == "slow" for v in verdicts)
        seen = (
            {n: 1 - statistics.median(v.ratios[n] for v in verdicts if v.ratios) for n in alone}
            if any(v.ratios for v in verdicts)
            else {}
        )
        label = f"{' '.join(arguments)}{f' each {period_s * 1e3:g} ms' if period_s else ''}"
        print(
            f"{label:22} lost: gemm {losses['gemm']:6.1%}, hbm.read {losses['hbm.read']:6.1%}; "
            f"probes saw {', '.join(f'{n} {loss:.1%}' for n, loss in seen.items())}; "
            f"found {found} of {PROBES}"
        )
        worst = max(losses.values())
        if found >= FOUND:
            found_losses.append(worst)
        elif worst > LARGE_LOSS:
            failures.append(f"{label}: a loss of {worst:.1%} is found in {found} of {PROBES}")
    if found_losses:
        print(f"smallest loss found in {FOUND} of {PROBES}: {min(found_losses):.1%}")
    else:
        failures.append("no neighbour is found")
    return failures


def training(folder: Path) -> list[str]:
    """The cost of probes in the bundled GPT, by the steps with, after and without one."""
    verdicts: list[peakline.ProbeVerdict] = []
    free: list[int] = []

    def after_step(number: int) -> None:
        if number > WARM_UP and number % EVERY == 0:
            verdicts.append(peakline.probe(folder=folder))
            free.append(torch.cuda.mem_get_info()[0])

    size = dataclasses.replace(train_gpt.GPU_SIZE, batch=BATCH)
    steps = train_gpt.train(size, STEPS, "cuda", False, after_step=after_step)
    times = {kind: [] for kind in ("with", "after", "without")}
    for number, (seconds, _) in enumerate(steps, start=1):
        if number > WARM_UP + EVERY:
            times[("with", "after", "without")[number % EVERY]].append(seconds)
    middle = {kind: statistics.median(of_kind) for kind, of_kind in times.items()}
    step_s = middle["without"]
    cost_s = middle["with"] + middle["after"] - 2 * step_s
    every = peakline.probe.every(step_s)
    share = cost_s / (every * step_s)
    print(
        f"training: step {step_s * 1e3:.1f} ms, with a probe {middle['with'] * 1e3:.1f} ms, after "
        f"one {middle['after'] * 1e3:.1f} ms; a probe costs {cost_s * 1e3:.1f} ms, "
        f"{share:.2%} each {every} steps"
    )
    print(f"  free on the card after the first and last probe: {free[0]}, {free[-1]} bytes")
    failures = judged("training", verdicts)
    if share > MOST_COST:
        failures.append(f"a probe each {every} steps costs {share:.2%} of the time")
    if free[-1] < free[0]:
        failures.append(f"{free[0] - free[-1]} bytes of the card are gone")
    return failures


def main(neighbour: str) -> int:
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return SKIPPED
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        long, short = Path(folder, "long"), Path(folder, "short")
        calibrate(long, 0.2)
        calibrate(short, SHORT_S)
        failures = false_alarms(short, "idle")
        with busy_host():
            failures += false_alarms(short, "busy")
        failures += detection(long, neighbour)
        torch.cuda.empty_cache()
        failures += training(long)
    print(f"took {time.perf_counter() - start:.0f} s")
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
