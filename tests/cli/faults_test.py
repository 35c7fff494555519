"""The real executable under faults: it loses nothing, leaves nothing behind, and reports all
failures.

$FAULTY and $JUMPING_CLOCK are libraries that make calls fail and clocks jump. Each case runs two
points of the host with one fault and states how the run ends; `Case.check` tests what holds for
every run.
"""

import concurrent.futures
import contextlib
import dataclasses
import errno
import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from program import (
    HOST,
    PATIENCE_S,
    PEAKLINE,
    SANITIZED,
    peakline,
    send_at_once,
    started,
    with_memory,
)

RUN = (*HOST, "--filter", r"^host\.fma")
POINTS = ["host.fma.fp32", "host.fma.fp64"]
# Most cases wait for a worker or a disk.
AT_ONCE = 2 * (os.cpu_count() or 1)
# Has no other processes, so that its limit counts only these.
LONELY_USER = 54321

OK, FINDING, USAGE, PARTIAL = 0, 1, 2, 3


@dataclasses.dataclass(frozen=True)
class Case:
    """One run with a fault.

    end: the exit code, below 0 for a signal. reasons: a part of each unmeasured point's reason;
    None: there is no profile. says: printed once on standard error. fault: environment variables.
    before: called in the new process. meanwhile: called with process and folder. at_least: points
    in the profile. stays: a temporary file stays.
    """

    name: str
    end: int
    reasons: tuple[str, ...] | None = ()
    says: str = ""
    fault: dict[str, str] = dataclasses.field(default_factory=dict)
    before: Callable[[], None] | None = None
    meanwhile: Callable[[subprocess.Popen, Path], None] | None = None
    at_least: int = len(POINTS)
    stays: bool = False

    def run(self, schema):
        with tempfile.TemporaryDirectory(prefix="peakline-fault-") as name:
            folder = Path(name) / "profiles"
            folder.mkdir()
            for path in (Path(name), folder):
                path.chmod(0o777)
            process = subprocess.Popen(
                [PEAKLINE, *RUN, "-o", folder / "profile.json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | self.fault,
                preexec_fn=self.before,
                start_new_session=True,
            )
            if self.meanwhile:
                self.meanwhile(process, folder)
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
            self.check(process, folder, stdout, stderr, schema)

    def check(self, process, folder, stdout, stderr, schema):
        assert process.returncode == self.end, stderr
        assert left_of_session(process.pid) == []
        left = {file.name for file in folder.iterdir()} if folder.exists() else set()
        assert len(left - {"profile.json"}) == self.stays, left
        assert "terminate called" not in stderr
        assert not self.says or stderr.count(self.says) == 1, stderr
        if self.reasons is None:
            assert "profile.json" not in left
            assert "profile:" not in stdout
            return
        profile = json.loads((folder / "profile.json").read_text())
        schema(profile)
        rows = profile.get("measurements", [])
        assert len(rows) >= self.at_least, profile
        assert profile["complete"] == (process.returncode in (OK, FINDING, USAGE))
        wrong = [row.get("reason", "") for row in rows if row["status"] != "ok"]
        assert len(wrong) == len(self.reasons), wrong
        for found, wanted in zip(wrong, self.reasons, strict=True):
            assert wanted in found
        if process.returncode == OK:
            assert [row["id"] for row in rows] == POINTS


def left_of_session(leader):
    """Processes of the session that are alive after up to 10 s."""
    deadline = time.monotonic() + 10
    while (alive := session(leader)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return alive


def session(leader):
    alive = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, its_session, *_ = stat.read_text().rpartition(")")[2].split()
            if int(its_session) == leader and state != "Z":
                alive.append(stat.parent.name)
    return alive


def preload(library, **variables):
    options = f"{os.environ.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0:detect_leaks=0"
    return {"LD_PRELOAD": os.environ[library], "ASAN_OPTIONS": options} | variables


def fault(where, call, at, does):
    names = {"FAULT_IN": where, "FAULT_CALL": call, "FAULT_AT": str(at), "FAULT_DOES": does}
    return preload("FAULTY", **names)


def failing(call, number, at=0):
    """All calls of the coordinator, or only the `at`-th, fail with this errno."""
    return fault("coordinator", call, at, f"error:{number}")


def struck(call, at, number):
    """The coordinator gets a signal at its `at`-th call."""
    return fault("coordinator", call, at, f"signal:{number}")


# A worker answers with its facts, then a line per point; 0 means every answer.
FACTS, FIRST, LAST = 0, 2, 3


def worker(does, at=FIRST):
    return fault("worker", "answer", at, does)


def signals():
    # Moments: the file gets its first name and content, a worker starts, the file is replaced.
    for call, at, reasons in (
        ("write", 1, None),
        ("fsync", 1, None),
        ("create", 1, None),
        ("fork", 1, ()),
        ("write", 2, ()),
        ("fsync", 2, ()),
        ("rename", 1, ()),
    ):
        at_call = struck(call, at, signal.SIGKILL)
        name = f"coordinator killed at {call} {at}"
        yield Case(name, -signal.SIGKILL, reasons, fault=at_call, at_least=0, stays=call != "fork")
    none_yet = "stopped by a signal after 0 of 2 points"
    for number in (signal.SIGINT, signal.SIGTERM):
        name = f"coordinator {number.name} at "
        at_fork = struck("fork", 1, number)
        yield Case(f"{name}fork 1", PARTIAL, says=none_yet, fault=at_fork, at_least=0)
        # By then everything is measured.
        yield Case(f"{name}rename", OK, fault=struck("rename", 1, number))
    both = (signal.SIGINT, signal.SIGTERM)
    twice = when_it_measures(lambda process, _: send_at_once(process, *both))
    yield Case("two signals at once", PARTIAL, meanwhile=twice, at_least=0)
    # The sanitizers handle SIGSEGV themselves.
    for number in (signal.SIGKILL, *(() if SANITIZED else (signal.SIGSEGV,))):
        how = f"the worker was killed by {number.name}"
        facts = f"cannot be started: {how}"
        for at, reasons in ((FIRST, (how, how)), (LAST, (how,)), (FACTS, (facts, facts))):
            name = f"worker {number.name} at answer {at}"
            yield Case(name, PARTIAL, reasons, fault=worker(f"signal:{number}", at))
    stop = worker(f"signal:{signal.SIGSTOP}", LAST)
    yield Case("worker stopped", PARTIAL, ("no answer in ",), fault=stop)


def when_it_measures(then):
    """Calls `then` with process and folder once a worker has started."""

    def wait(process, folder):
        started(process)
        then(process, folder)

    return wait


def limits():
    """Process limits of system, containers and schedulers."""
    none = ("cannot create another process or thread",) * 2
    no_leaks = {"ASAN_OPTIONS": "detect_leaks=0"}  # the leak check needs a process
    for count in (1, 3):
        before = functools.partial(with_processes, count)
        yield Case(f"{count} processes", PARTIAL, none, fault=no_leaks, before=before)
    yield Case("no fork", PARTIAL, none, none[0], failing("fork", errno.EAGAIN))
    # The coordinator works without a thread.
    yield Case("no thread in the coordinator", OK, fault=failing("thread", errno.EAGAIN))
    no_memory = ("fork: Cannot allocate memory",) * 2
    yield Case("one fork that fails", PARTIAL, no_memory, fault=failing("fork", errno.ENOMEM, 1))
    no_thread = fault("worker", "thread", 0, f"error:{errno.EAGAIN}")
    yield Case("no thread in the worker", PARTIAL, none, fault=no_thread)
    many = "Too many open files"
    yield Case("no pipe", PARTIAL, (f"pipe: {many}",) * 2, many, failing("pipe2", errno.EMFILE))
    yield Case("one CPU", OK, before=lambda: os.sched_setaffinity(0, [first_cpu()]))
    if SANITIZED:  # the sanitizers need descriptors and memory, too
        return
    before = functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, (9, 9))
    yield Case("9 descriptors", PARTIAL, (many, many), before=before)
    yield Case("no memory", PARTIAL, None, "out of memory", before=with_memory(0))
    # A thread's stack takes 8 MiB.
    yield Case("no memory for a thread", PARTIAL, none, before=with_memory(3))


@contextlib.contextmanager
def fifth_of_a_cpu():
    """A control group with that quota (v1 or v2); None if none can be made."""
    v1 = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}
    for root, settings in (("cpu", v1), ("", {"cpu.max": "20000 100000"})):
        group = Path("/sys/fs/cgroup", root, f"peakline-test-{os.getpid()}")
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                for file, value in settings.items():
                    (group / file).write_text(value)
                yield group
                return
            finally:
                group.rmdir()
    yield None


def joins(group):
    (group / "cgroup.procs").write_text(str(os.getpid()))


def with_processes(count):
    if os.geteuid() == 0:
        os.setresuid(LONELY_USER, LONELY_USER, LONELY_USER)
    resource.setrlimit(resource.RLIMIT_NPROC, (count, count))


def first_cpu():
    return min(os.sched_getaffinity(0))


def unwritable(number):
    return f"cannot be written: {os.strerror(number)}"


def disks():
    for call, number in (("write", errno.ENOSPC), ("fsync", errno.EIO), ("create", errno.EPERM)):
        at_first = failing(call, number, at=1)
        yield Case(f"{call} 1: {number}", USAGE, None, unwritable(number), at_first)
        if call != "create":
            later = failing(call, number, at=2)
            says = unwritable(number)
            yield Case(f"{call} 2: {number}", PARTIAL, says=says, fault=later, at_least=0)
    rename = failing("rename", errno.EACCES, at=1)
    says = "holds only the first 0 of 2 measurements"
    yield Case("rename", PARTIAL, says=says, fault=rename, at_least=0)
    for number in (errno.EINVAL, errno.ENOSYS):
        name = f"no rename that replaces nothing: {number}"
        yield Case(name, OK, fault=failing("create", number))
    gone = when_it_measures(lambda _, folder: shutil.rmtree(folder))
    yield Case("a folder that vanishes", PARTIAL, None, "there is no directory", meanwhile=gone)
    gone = when_it_measures(lambda _, folder: (folder / "profile.json").unlink())
    yield Case("a file that vanishes", OK, meanwhile=gone)


def streams():
    yield Case("nobody reads stdout", OK, before=lambda: os.dup2(unread_pipe(), 1))
    says = "cannot write to standard output"
    yield Case("stdout is full", USAGE, says=says, before=lambda: os.dup2(full_device(), 1))


def unread_pipe():
    read_end, write_end = os.pipe()
    os.close(read_end)
    return write_end


def full_device():
    return os.open("/dev/full", os.O_WRONLY)


def clocks():
    for readings in ("4", "400"):
        for seconds in ("3600", "-3600"):
            jump = preload("JUMPING_CLOCK", JUMP_AFTER=readings, JUMP_BACK_S=seconds)
            yield Case(f"{seconds} s back after {readings} readings", OK, fault=jump)
    # The clock jumps forward after the first checkpoint, which saves at once, to a full disk.
    both = f"{os.environ['JUMPING_CLOCK']} {os.environ['FAULTY']}"
    jump = {"LD_PRELOAD": both, "JUMP_AFTER": "8", "JUMP_BACK_S": "-11"}
    full = failing("write", errno.ENOSPC, at=2) | jump
    yield Case("a full disk in between", OK, says="results cannot be saved for now", fault=full)


def wrong_result():
    """A worker's answer for the first point, with two wrong words."""
    threads = int(peakline(*RUN, "--dry-run").stdout.split("threads:")[1].split()[0])
    row = {
        "id": POINTS[0],
        "params": {"threads": threads},
        "device": "host",
        "status": "ok",
        "launch": {"compared_words": 1000, "differing_words": 2, "first_difference": "word 7"},
        "launches_per_sample": 1,
        "samples_s": [0.01],
        "summary": dict.fromkeys(("median_s", "ci_low_s", "ci_high_s", "min_s", "max_s"), 0.01)
        | {"n": 1},
        "value": 1e9,
        "unit": "FLOP/s",
        "verified": False,
        "method_version": 1,
    }
    return json.dumps(row)


def workers():
    for at, count in ((FIRST, 2), (LAST, 1)):
        for name, does, reason in (
            ("ends well", "exit:0", "the worker exited with code 0"),
            ("says nonsense", "say:nonsense@", "not valid JSON"),
            ("says nothing", "say:@", "empty"),
            ("says an object", "say:{}@", "measurement record: "),
            ("swells", f"swell:{5 << 20}", "the worker sent an endless answer"),
        ):
            yield Case(f"{name} at {at}", PARTIAL, (reason,) * count, fault=worker(does, at))
    answered = ("the worker answered host.fma.fp32/threads:",)
    yield Case("answers twice", PARTIAL, answered, fault=worker("repeat"))
    record = json.dumps({"id": "host.fma.fp32", "device": "GPU-0", "status": "ok"})
    says = worker(f"say:{record}@")
    yield Case("answers for another", PARTIAL, ("measurement record",) * 2, fault=says)
    found = "2 of 1000 words that were compared. First in host.fma.fp32"
    says = worker(f"say:{wrong_result()}@")
    yield Case("gives wrong results", FINDING, says=found, fault=says)
    stopped = ("the worker stopped answering",) * 2
    yield Case("closes its answers", PARTIAL, stopped, fault=worker("close"))
    yield Case("flood", PARTIAL, ("no answer in ",), fault=worker("flood", LAST))
    yield Case("prints much", OK, fault=worker("print:8000000"))
    unusable = {"uuid": "host", "index": 0, "compute_major": 0, "compute_minor": 0}
    unusable |= {"pcie_read_under_load": False, "unusable": "no CPU today"}
    why = ("no CPU today",) * 2
    says = "no CPU today; 2 of its 2 points cannot be measured"
    no_cpu = worker(f"say:{json.dumps(unusable)}@", FACTS)
    yield Case("the device cannot be used", PARTIAL, why, says, no_cpu)
    why = ("the worker cannot be started: ",) * 2
    for name, does, reason in (
        ("facts are nonsense", "say:nonsense@", "not valid JSON"),
        ("no facts", "exit:7", "the worker exited with code 7"),
        ("no device", "exit:113", "the worker exited with code 113"),
    ):
        yield Case(name, PARTIAL, why, reason, worker(does, FACTS))


@pytest.mark.parametrize("family", [signals, limits, disks, streams, clocks, workers])
def test_faults(family, schema, subtests):
    """Runs the cases of a family in parallel."""
    validate = schema()
    with fifth_of_a_cpu() as group, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        cases = list(family())
        if group and family is limits:
            before = functools.partial(joins, group)
            cases.append(Case("a fifth of a CPU", OK, before=before))
        runs = {pool.submit(case.run, validate): case for case in cases}
        for run in concurrent.futures.as_completed(runs):
            with subtests.test(runs[run].name):
                run.result()
    print(f"{len(runs)} cases")
