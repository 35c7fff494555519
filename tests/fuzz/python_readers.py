"""The Python readers under damaged files: each says what is in one, or in one line why not.

`tests/python/test_fuzz.py` does so for a moment in every run of the tests. For longer, led by the
coverage, with atheris (PyPI has it for Python 3.11 and 3.12):

    python tests/fuzz/python_readers.py READER [SECONDS]

which prints the runs and their rate, and leaves a file `crash-...` where a reader failed.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import gzip
import io
import json
import math
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    import atheris

    # Their coverage leads it: what is imported later keeps it.
    with atheris.instrument_imports(include=["peakline"]):
        import peakline.commands.documents
        import peakline.workload.analysis

import peakline
from peakline.commands.documents import page_of
from peakline.models.fields import ConfigError
from peakline.profile import ProfileError
from peakline.workload.analysis import Analysis, analyze
from peakline.workload.counters import is_wanted
from peakline.workload.kernel import Kernel, WorkloadError
from peakline.workload.read import read_kernels

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/python/data"
MOST_BYTES = 4096  # of a seed, so that runs are fast


@dataclass(frozen=True)
class Reader:
    """A reader of the package, with small files that it takes and what must hold of the result."""

    read: Callable[[Path], Any]
    error: type[ValueError]  # the only one that may leave it
    holds: Callable[[Any], bool]
    seeds: Callable[[], list[bytes]]


def check(reader: Reader, data: bytes, path: Path) -> bool:
    """Whether the data, written to a file, are taken; AssertionError where the reader is wrong."""
    path.write_bytes(data)
    try:
        found = reader.read(path)
    except reader.error as error:
        text = str(error)
        assert type(error) is reader.error, f"{type(error).__name__} instead of a message: {text}"
        assert text.startswith(str(path)), text
        assert text.isprintable(), repr(text)
        assert len(text) < len(str(path)) + 600, text
        return False
    assert reader.holds(found)
    return True


def _finite(values: Iterable[float]) -> bool:
    return all(math.isfinite(value) and value >= 0 for value in values)


def _kernels_hold(found: list[Kernel]) -> bool:
    return bool(found) and all(
        kernel.launches >= 1
        and _finite((kernel.seconds or 0.0, *kernel.flops.values(), *kernel.bytes.values()))
        for kernel in found
    )


def _model_holds(found: peakline.Transformer) -> bool:
    params, states = found.params(), any(layer.state for layer in found.layers)
    return 0 < params.active <= params.total and all(
        _finite([found.flops(4096, convention=name)])
        for name, rule in peakline.CONVENTIONS.items()
        if rule.states or not states
    )


def _profile_holds(found: peakline.Profile) -> bool:
    return all(math.isfinite(row.value) for row in found.ceilings) and all(
        found.device_name(device) for device in found.measured_devices()
    )


def _ncu() -> list[bytes]:
    """An export of Nsight Compute: what is read of two kernels."""
    with gzip.open(DATA / "h200_ncu_full.csv.gz", "rt", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if len(row) > 20][:4]
    kept = [
        i
        for i, name in enumerate(rows[0])
        if name in ("ID", "Kernel Name", "CC") or is_wanted(name)
    ]
    table = io.StringIO()
    writer = csv.writer(table, quoting=csv.QUOTE_ALL)
    writer.writerows([row[i] for i in kept[:40]] for row in rows)
    details = '"ID","Kernel Name","CC","Metric Name","Metric Unit","Metric Value"\n' + "".join(
        f'"{i}","k<1>(int)","9.0","{metric}","{unit}","{value}"\n'
        for i in range(2)
        for metric, unit, value in (
            ("gpu__time_duration.sum", "us", "12.5"),
            ("dram__bytes_read.sum", "Mbyte", "1,234.5"),
        )
    )
    plain = "name,flop,bytes,seconds,precision,launches\na,1e9,2e6,1e-3,bf16,2\nb,0,5,0.5,,\n"
    return [text.encode() for text in (table.getvalue(), details, plain)]


def _traces() -> list[bytes]:
    """A trace of torch.profiler: operators with the kernels that they launched."""
    with gzip.open(DATA / "h200_trace.json.gz") as file:
        events = json.load(file)["traceEvents"]
    by_id: dict[object, list[Any]] = {}
    for event in events:
        if str(event.get("cat")) in ("cpu_op", "kernel"):
            by_id.setdefault(event["args"].get("External id"), []).append(event)
    launching = [group for group in by_id.values() if any(e["cat"] == "kernel" for e in group)]
    small = sorted((json.dumps({"traceEvents": g}).encode() for g in launching), key=len)
    packed = gzip.compress(small[0], mtime=0)
    return [*[text for text in small if len(text) < MOST_BYTES][:12], packed]


def _timelines() -> list[bytes]:
    """A few events of each kind around some kernels, and an export of Nsight Systems."""
    with gzip.open(DATA / "causes/item.json.gz") as file:
        events = json.load(file)["traceEvents"]
    by_kind: dict[tuple[Any, str], list[Any]] = {}
    for event in events:
        by_kind.setdefault((event["cat"], event["name"][:12]), []).append(event)
    chosen = [event for group in by_kind.values() for event in group[:3]]
    chosen.append({"ph": "X", "cat": "overhead", "name": "x", "ts": 1, "dur": 2.5, "tid": 1})
    ran = [event for event in chosen if event["cat"] in ("kernel", "gpu_memcpy")]
    parts = [[*ran[:2], *chosen[i : i + 8]] for i in range(0, len(chosen), 8)]
    return [json.dumps({"traceEvents": part}).encode() for part in parts]


def _exports() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as base:
            base.execute("PRAGMA page_size = 512")
            base.execute("CREATE TABLE StringIds (id, value)")
            base.execute(
                "INSERT INTO StringIds VALUES (1, 'kernel'), (2, 'cudaLaunchKernel_v7000')"
            )
            kernels_ = "start, 'end', deviceId, streamId, correlationId, globalPid, demangledName"
            base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({kernels_})")
            rows = "(0, 90, 0, 7, 1, 16777216, 1), (120, 130, 0, 7, 2, 16777216, 1)"
            base.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {rows}")
            calls = "start, 'end', globalTid, correlationId, nameId"
            base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME ({calls})")
            rows = "(0, 5, 16777219, 1, 2), (100, 105, 16777219, 2, 2)"
            base.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES {rows}")
            base.commit()
        return [path.read_bytes()]


@functools.cache
def _profile() -> peakline.Profile:
    return peakline.load(ROOT / "reports/reference/nvidia-h200.json")


def _analyzed(path: Path) -> Analysis:
    return analyze(_profile(), [path])


def _adds_up(found: Analysis) -> bool:
    return sum(found.parts.values()) == found.nanoseconds > 0


def _configs() -> list[bytes]:
    return [path.read_bytes() for path in sorted((DATA / "configs").iterdir())]


def _profiles() -> list[bytes]:
    text = (ROOT / "tests/golden/profile.json").read_bytes()
    document = json.loads(text)
    lists = [key for key, value in document.items() if isinstance(value, list)]
    return [
        text,
        json.dumps({**document, **{key: document[key][:1] for key in lists}}).encode(),
        gzip.compress(text, mtime=0),
    ]


def _populations() -> list[bytes]:
    folder = ROOT / "reports/peakline/reference_profiles/populations"
    return [min((p.read_bytes() for p in folder.iterdir()), key=len)]


def _fleets() -> list[bytes]:
    ends = dict.fromkeys(("median", "p5", "p25", "p75", "p95", "lowest", "highest"), 4.6e12)
    ceiling = {"resource": "hbm.read", "basis": "measured"}
    member = {
        "node": "a",
        "device": "GPU 0",
        "uuid": "GPU-a",
        "verdict": "pass",
        "sound": True,
        "rules": [],
        "reasons": [],
        "ceilings": [{**ceiling, "value": 4.6e12, "deviation": 0.0, "standing": "usual"}],
    }
    group = {
        "model": "NVIDIA H200",
        "mode": "full",
        "judged": True,
        "labels": {},
        "ceilings": [{**ceiling, **ends, "unit": "B/s", "devices": 1, "low": 0}],
        "members": [member],
    }
    document = {"schema": "peakline-fleet", "schema_version": 2, "verdict": "pass"}
    document |= {"profiles": 1, "superseded": 0, "groups": [group]}
    return [json.dumps(document).encode()]


READERS = {
    "fleet": Reader(page_of, ProfileError, lambda found: True, _fleets),
    "hf_config": Reader(peakline.from_hf_config, ConfigError, _model_holds, _configs),
    "ncu": Reader(read_kernels, WorkloadError, _kernels_hold, _ncu),
    "population": Reader(peakline.load_populations, ProfileError, bool, _populations),
    "profile": Reader(peakline.load, ProfileError, _profile_holds, _profiles),
    "nsight_systems": Reader(_analyzed, WorkloadError, _adds_up, _exports),
    "timeline": Reader(_analyzed, WorkloadError, _adds_up, _timelines),
    "trace": Reader(read_kernels, WorkloadError, _kernels_hold, _traces),
}


def main() -> None:
    reader, seconds = READERS[sys.argv[1]], (sys.argv[2:] or ["20"])[0]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for index, seed in enumerate(reader.seeds()):
            (corpus / str(index)).write_bytes(seed)
        path = Path(folder) / "input"
        options = [f"-max_total_time={seconds}", "-print_final_stats=1", "-timeout=10"]
        atheris.Setup(
            [sys.argv[0], *options, str(corpus)], functools.partial(_one, reader=reader, path=path)
        )
        atheris.Fuzz()


def _one(data: bytes, reader: Reader, path: Path) -> None:
    check(reader, data, path)


if __name__ == "__main__":
    main()
