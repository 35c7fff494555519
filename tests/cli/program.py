"""The program under test, and variants of profiles.

$PEAKLINE is the executable. Signals and limits are real: the product has no test hooks.
"""

from __future__ import annotations

import bisect
import contextlib
import fcntl
import functools
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "corpus"))
from schemas import checked  # noqa: E402

PEAKLINE = os.environ.get("PEAKLINE", "peakline")  # wheel_test.py sets its own
SANITIZED = "PEAKLINE_SANITIZED" in os.environ
GOLDEN = SOURCE / "tests/golden/profile.json"
REFERENCE = SOURCE / "tests/golden/nvidia-h200.json"  # as it was once published
TWO_GPUS = SOURCE / "reports/reference/nvidia-h200-x2.json"

# A quick run of the host takes seconds, but longer on a busy machine or with sanitizers.
PATIENCE_S = 300
HOST = ("run", "--quick", "--device", "none")
# One point.
QUICKEST = (*HOST, "--filter", r"^host\.fma\.fp64")
# Several points of 0.1 s and more, so that a signal hits one in the middle.
SEVERAL = ("run", "--device", "none", "--filter", r"^host\.fma|^host\.roofline.*:1")


def peakline(*arguments: Any, code: int | None = None, **options: Any) -> Any:
    """Runs a command and checks its exit code, if given."""
    result = subprocess.run(
        [PEAKLINE, *map(str, arguments)],
        **{"capture_output": True, "text": True, "timeout": PATIENCE_S} | options,
    )
    assert code in (None, result.returncode), result.stderr
    return result


def stdout_of(*arguments: Any, code: int = 0, **options: Any) -> str:
    """Standard output of a command without standard error."""
    result = peakline(*arguments, code=code, **options)
    assert result.stderr == ""
    return result.stdout


def document(*arguments: Any, code: int = 0, **options: Any) -> Any:
    """The JSON that a command prints, checked against its schema."""
    return checked(json.loads(stdout_of(*arguments, "--json", code=code, **options)))


def of_package(name: str) -> Callable[..., Any]:
    """Runs a command of the Python package ("peakline-report"), which is not installed beside the
    program under test."""

    def run(*arguments: Any, **options: Any) -> Any:
        module = [sys.executable, "-m", "peakline", name.removeprefix("peakline-")]
        paths = os.environ | {"PYTHONPATH": str(SOURCE / "reports")}
        result = subprocess.run(
            [*module, *map(str, arguments)],
            **{"capture_output": True, "text": True, "timeout": PATIENCE_S, "env": paths} | options,
        )
        assert result.returncode == 0, result.stderr
        return result

    return run


def assert_usage_error(result: Any, *words: Any) -> None:
    """Checks for exit code 2, no standard output, and one printable error line with all words."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert re.fullmatch(r"peakline: [^\n]+\n", result.stderr), result.stderr
    assert result.stderr[:-1].isprintable(), result.stderr
    for word in words:
        assert str(word) in result.stderr


def refused(*arguments: Any, words: Any = (), **options: Any) -> str:
    """The error line of a usage error."""
    result = peakline(*arguments, **options)
    assert_usage_error(result, *words)
    return result.stderr


def read(path: Path) -> Any:
    """A profile, with defaults for fields that measurements leave out."""
    profile = json.loads(path.read_text())
    empty = {"params": {}, "reason": "", "flags": [], "verified": None}
    profile["measurements"] = [empty | row for row in profile["measurements"]]
    return profile


def point_name(row: Any) -> str:
    return "/".join([row["id"], *(f"{k}:{v}" for k, v in row.get("params", {}).items())])


def scale(profile: Any, factor: float, *resources: str) -> None:
    """As if these figures had been measured at `factor` times the rate; by default all."""
    points = {(row["device"], point_name(row)): row for row in profile.get("measurements", [])}
    for ceiling in profile["ceilings"]:
        measured = ceiling["basis"] not in ("theoretical", "datasheet")
        if measured and (not resources or ceiling["resource"] in resources):
            for key in {"value", "ci_low", "ci_high"} & ceiling.keys():
                ceiling[key] *= factor
            if point := points.get((ceiling["device"], ceiling["measurement"])):
                point["value"] = ceiling["value"]


@functools.cache
def judged() -> str:
    """The reference with nothing but what is judged: a fifth of the time to read."""
    profile = json.loads(REFERENCE.read_text())
    names = {row.get("measurement") for row in profile["ceilings"]}
    profile["measurements"] = [row for row in profile["measurements"] if point_name(row) in names]
    profile["curves"] = profile["rooflines"] = profile["memory_map"] = []
    return json.dumps(profile)


def write_changed(path: Path, change: Callable[[Any], None], base: Path | None = None) -> Path:
    """Writes a profile, or what is judged of the reference, after `change`."""
    profile = json.loads(base.read_text() if base else judged())
    change(profile)
    path.write_text(json.dumps(profile))
    return path


def slow_profile(path: Path) -> Path:
    def slow(profile: Any) -> None:
        for ceiling in profile["ceilings"]:
            if (ceiling["resource"], ceiling["basis"]) == ("tensor.bf16", "burst"):
                scale({**profile, "ceilings": [ceiling]}, 0.9)

    return write_changed(path, slow)


def write_cards(folder: Path, count: int, name: str = "NVIDIA H200") -> list[Path]:
    """Writes profiles of cards of one model, each in its own node."""
    folder.mkdir()
    uuid = json.loads(judged())["devices"][0]["uuid"]
    files = []
    for number in range(count):
        text = judged().replace(uuid, f"GPU-{number:08x}-0000-0000-0000-000000000000")
        profile = json.loads(text)
        profile["host"]["hostname"] = f"node{number}"
        profile["devices"][0]["name"] = name
        files.append(folder / f"node{number}.json")
        files[-1].write_text(json.dumps(profile))
    return files


def on_terminal(columns: int, *arguments: Any, stream: str = "stdout", code: int | None = 0) -> str:
    """The output of a command on a terminal of this width; checks its exit code, if given."""
    ours, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [PEAKLINE, *map(str, arguments)],
        env=os.environ | {"NO_COLOR": "1"},
        **{"stdout": subprocess.DEVNULL} | {stream: terminal},
    )
    os.close(terminal)
    text = b""
    with contextlib.suppress(OSError):  # the other side is closed
        while chunk := os.read(ours, 4096):
            text += chunk
    os.close(ours)
    assert process.wait(PATIENCE_S) == code or code is None
    return text.decode()


def cpu_seconds() -> float:
    """CPU time of all commands so far, independent of other load."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@functools.cache
def count_points(*run: str) -> int:
    return int(peakline(*run, "--dry-run", code=0).stdout.splitlines()[-1].split()[0])


def address_space(size: int) -> Callable[[], None]:
    return functools.partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))


@functools.cache
def bytes_to_start() -> int:
    """Address space of the executable and its libraries; cuBLASLt alone takes 0.5 GiB."""
    sizes = range(1 << 20, 1 << 32, 1 << 16)

    def starts(size: int) -> bool:
        return peakline("--version", preexec_fn=address_space(size)).returncode == 0

    return sizes[bisect.bisect_left(sizes, True, key=starts)]


def with_memory(mebibytes: int) -> Callable[[], None]:
    """For preexec_fn: limits the address space beyond that of the executable."""
    return address_space(bytes_to_start() + (mebibytes << 20))


def children_of(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for child in children.split()]


def started(process: Any) -> list[int]:
    """The workers of a process, once it has some or has ended."""
    while not (workers := children_of(process.pid)) and process.poll() is None:
        time.sleep(0.01)
    return workers


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_alive, pids))


def send_at_once(process: Any, *signals: int) -> None:
    """Sends signals to a stopped process, so that it receives them together."""
    for number in (signal.SIGSTOP, *signals, signal.SIGCONT):
        process.send_signal(number)


@contextlib.contextmanager
def starting(*arguments: Any, **options: Any) -> Iterator[Any]:
    """A running command with piped output, killed at the end."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([PEAKLINE, *map(str, arguments)], **pipes | options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def measuring(*arguments):
    with starting(*arguments, "--verbose") as process:
        for line in process.stderr:
            if line.startswith("host host."):
                break
        yield process
