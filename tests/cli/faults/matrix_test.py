"""The real executable under faults: nothing is lost, nothing stays behind, nothing is silent.

Run as `matrix_test.py FAMILY`, one family of cases a ctest test, with the executable in $PEAKLINE,
and the libraries that make calls fail and clocks jump in $FAULTY and $JUMPING_CLOCK. A case is one
run of two points of the host with one fault. Whatever the fault, what holds of each run is checked
by `Case.check`; what a case says beside that is how it has to end.
"""

import concurrent.futures
import contextlib
import dataclasses
import errno
import functools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import cli_test
from cli_test import PATIENCE_S, PEAKLINE, SANITIZED

# Two points of a tenth of a second.
ARGUMENTS = ["run", "--quick", "--device", "none", "--filter", r"^host\.fma"]
POINTS = ["host.fma.fp32", "host.fma.fp64"]
# Most wait for a worker or a disk.
AT_ONCE = 2 * (os.cpu_count() or 1)
# Nothing else runs as this user, so that its limit on processes counts these alone.
LONELY_USER = 54321

OK, FINDING, USAGE, PARTIAL = 0, 1, 2, 3
KILLED = -signal.SIGKILL


@dataclasses.dataclass(frozen=True)
class Case:
    """One run with a fault.

    ends: the exit codes that are right, below 0 for a signal's. reasons: of the points that are not
    measured, and a part of each; None: there is no profile. says: what standard error tells, once.
    stays: a temporary file does, until another run writes there.
    """

    name: str
    ends: tuple[int, ...]
    reasons: tuple[str, ...] | None = ()
    says: str = ""
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    before: Callable[[], None] | None = None  # in the new process
    meanwhile: Callable[[subprocess.Popen, pathlib.Path], None] | None = None
    stays: bool = False
    at_least: int = len(POINTS)  # points that the profile has

    def run(self, test: unittest.TestCase, schema) -> None:
        with tempfile.TemporaryDirectory(prefix="peakline-fault-") as name:
            folder = pathlib.Path(name) / "profiles"
            folder.mkdir()
            for path in (pathlib.Path(name), folder):
                path.chmod(0o777)
            profile = folder / "profile.json"
            process = subprocess.Popen(
                [PEAKLINE, *ARGUMENTS, "-o", str(profile)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | self.environment,
                preexec_fn=self.before,
                start_new_session=True,
            )
            if self.meanwhile:
                self.meanwhile(process, folder)
            try:
                stdout, stderr = process.communicate(timeout=PATIENCE_S)
            finally:
                process.kill()
            self.check(test, process, folder, stdout, stderr, schema)
            if self.stays:
                another_run(folder)
                left = {file.name for file in folder.iterdir()}
                test.assertEqual(left, {"profile.json", "another.json"})

    def check(self, test, process, folder, stdout, stderr, schema):
        test.assertIn(process.returncode, self.ends, stderr)
        test.assertEqual(left_of_session(process.pid), [])
        left = {file.name for file in folder.iterdir()} if folder.exists() else set()
        if self.stays:
            test.assertEqual(len(left - {"profile.json"}), 1, left)
        else:
            test.assertLessEqual(left, {"profile.json"})
        test.assertNotIn("terminate called", stderr)
        if self.says:
            test.assertEqual(stderr.count(self.says), 1, stderr)
        if self.reasons is None:
            test.assertNotIn("profile.json", left)
            test.assertNotIn("profile:", stdout)
            return
        text = (folder / "profile.json").read_text()
        schema.validate(text)
        profile = json.loads(text)
        rows = profile.get("measurements", [])
        test.assertGreaterEqual(len(rows), self.at_least, text)
        test.assertEqual(profile["complete"], process.returncode in (OK, FINDING, USAGE))
        wrong = [row.get("reason", "") for row in rows if row["status"] != "ok"]
        test.assertEqual(len(wrong), len(self.reasons), wrong)
        for found, wanted in zip(wrong, self.reasons, strict=True):
            test.assertIn(wanted, found)
        if process.returncode == OK:
            test.assertEqual([row["id"] for row in rows], POINTS)


def another_run(folder):
    profile = folder / "another.json"
    subprocess.run([PEAKLINE, *ARGUMENTS, "-o", profile], check=True, capture_output=True)
    return profile


def left_of_session(leader):
    """The processes of its session that are alive, after a moment in which they may end."""
    deadline = time.monotonic() + 10
    while (alive := session(leader)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return alive


def session(leader):
    alive = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
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
    """The coordinator's calls fail with that errno, or the `at`-th does."""
    return fault("coordinator", call, at, f"error:{number}")


def limit(which, soft, hard=None):
    return functools.partial(resource.setrlimit, which, (soft, soft if hard is None else hard))


def signals():
    """Signals x moments x processes."""
    stop = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # The sanitizers have a say in the one.
    kill = (signal.SIGKILL, signal.SIGQUIT, *(() if SANITIZED else (signal.SIGSEGV,)))
    # The file gets its first name and its first state, a worker starts, the file is replaced.
    for call, at, exists in (
        ("write", 1, False),
        ("fsync", 1, False),
        ("linkat", 1, False),
        ("fork", 1, True),
        ("write", 2, True),
        ("fsync", 2, True),
    ):
        for number in kill:
            yield Case(
                f"coordinator {number.name} at {call} {at}",
                (-number,),
                () if exists else None,
                environment=fault("coordinator", call, at, f"signal:{number}"),
                at_least=0,
            )
    for number in stop:
        yield Case(
            f"coordinator {number.name} at fork 1",
            (PARTIAL,),
            says="stopped by a signal after 0 of 2 points",
            environment=fault("coordinator", "fork", 1, f"signal:{number}"),
            at_least=0,
        )
        # All is measured then.
        yield Case(
            f"coordinator {number.name} at rename",
            (OK,),
            environment=fault("coordinator", "rename", 1, f"signal:{number}"),
        )
        yield Case(
            f"two of {number.name} at once",
            (PARTIAL,),
            meanwhile=functools.partial(when_it_measures, twice(number)),
            at_least=0,
        )
    yield Case(
        "SIGKILL between the two names",
        (KILLED,),
        environment=fault("coordinator", "rename", 1, f"signal:{signal.SIGKILL}"),
        at_least=0,
        stays=True,
    )
    yield Case(
        "another run between the two names",
        (OK,),
        environment=fault("coordinator", "rename", 1, f"signal:{signal.SIGSTOP}"),
        meanwhile=between_the_names,
    )
    for number in (*kill, signal.SIGTERM, signal.SIGPIPE):
        how = f"the worker was killed by {number.name}"
        for at, reasons in ((2, (how,) * 2), (3, (how,)), (0, (f"cannot be started: {how}",) * 2)):
            yield Case(
                f"worker {number.name} at answer {at}",
                (PARTIAL,),
                reasons,
                environment=fault("worker", "answer", at, f"signal:{number}"),
            )
    yield Case(
        "worker stopped",
        (PARTIAL,),
        ("no answer in ",),
        environment=fault("worker", "answer", 3, f"signal:{signal.SIGSTOP}"),
    )


def when_it_measures(then, process, _folder):
    """Calls `then` with the process once that has started a worker."""
    while process.poll() is None and not cli_test.children_of(process.pid):
        time.sleep(0.01)
    then(process)


def between_the_names(process, folder):
    """Another run writes there while the process, which stops for it, has a temporary file."""
    while process.poll() is None and not any(folder.glob(".*")):
        time.sleep(0.01)
    another_run(folder).unlink()
    process.send_signal(signal.SIGCONT)


def twice(number):
    def send(process):
        process.send_signal(signal.SIGSTOP)  # so that it sees both
        process.send_signal(number)
        process.send_signal(signal.SIGINT if number != signal.SIGINT else signal.SIGTERM)
        process.send_signal(signal.SIGCONT)

    return send


def limits():
    """Of the system on a process, and what containers and schedulers set."""
    for size in (0, 1000):
        yield Case(
            f"files of {size} bytes",
            (USAGE,),
            None,
            says="cannot be written: File too large",
            before=limit(resource.RLIMIT_FSIZE, size),
        )
    for size in (2200, 3000):  # its beginning fits
        yield Case(
            f"files of {size} bytes",
            (PARTIAL,),
            says="holds only the first 0 of 2 measurements",
            before=limit(resource.RLIMIT_FSIZE, size),
            at_least=0,
        )
    none = "cannot create another process or thread"
    for count in range(1, 5):
        yield Case(
            f"{count} processes",
            (PARTIAL,),
            (none, none),
            environment={"ASAN_OPTIONS": "detect_leaks=0"},  # takes a process
            before=functools.partial(with_processes, count),
        )
    yield Case(
        "no fork", (PARTIAL,), (none, none), says=none, environment=failing("fork", errno.EAGAIN)
    )
    # It then does without its own.
    yield Case("no thread in the coordinator", (OK,), environment=failing("thread", errno.EAGAIN))
    yield Case(
        "one fork that fails",
        (PARTIAL,),
        ("fork: Cannot allocate memory",) * 2,
        environment=failing("fork", errno.ENOMEM, at=1),
    )
    yield Case(
        "no thread in the worker",
        (PARTIAL,),
        (none, none),
        environment=fault("worker", "thread", 0, f"error:{errno.EAGAIN}"),
    )
    yield Case(
        "no pipe",
        (PARTIAL,),
        ("pipe: Too many open files",) * 2,
        says="Too many open files",
        environment=failing("pipe2", errno.EMFILE),
    )
    yield Case("a minute of CPU time", (OK,), before=limit(resource.RLIMIT_CPU, 60))
    yield Case(
        "no CPU time for the worker",
        (PARTIAL,),
        ("the worker was killed by SIGXCPU",) * 2,
        environment=fault("worker", "answer", 2, f"signal:{signal.SIGXCPU}"),
    )
    yield Case("a small stack that may grow", (OK,), before=small_stack)
    yield Case("one CPU", (OK,), before=lambda: os.sched_setaffinity(0, [first_cpu()]))
    yield Case("the lowest priority", (OK,), before=lambda: os.nice(19))
    yield Case("only when idle", (OK,), before=idle_class)
    stack_kib = 64 if SANITIZED else 16
    yield Case(
        "a small stack",
        (USAGE,),
        None,
        says="ulimit -s",
        before=limit(resource.RLIMIT_STACK, stack_kib << 10),
    )
    if SANITIZED:  # the sanitizers need descriptors and memory too
        return
    for count in (8, 9, 10):
        yield Case(
            f"{count} descriptors",
            (PARTIAL,),
            ("Too many open files",) * 2,
            before=limit(resource.RLIMIT_NOFILE, count),
        )
    yield Case(
        "no descriptor for the profile",
        (USAGE,),
        None,
        says="cannot be written: Too many open files",
        before=limit(resource.RLIMIT_NOFILE, 6),
    )
    yield Case("no memory", (PARTIAL,), None, says="out of memory", before=cli_test.with_memory(0))
    # The stack of a thread takes 8 MiB.
    yield Case("no memory for a thread", (PARTIAL,), (none, none), before=cli_test.with_memory(3))


@contextlib.contextmanager
def fifth_of_a_cpu():
    """A control group that allows that, of either version; None where none can be made."""
    v1 = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}
    for root, settings in (("cpu", v1), ("", {"cpu.max": "20000 100000"})):
        group = pathlib.Path("/sys/fs/cgroup", root, f"peakline-test-{os.getpid()}")
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


def idle_class():
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def small_stack():
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, hard))


def disks():
    """Full, broken, other than most, and gone."""
    for call in ("write", "fsync"):
        for number in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            message = f"cannot be written: {os.strerror(number)}"
            yield Case(
                f"{call} 1: {number}",
                (USAGE,),
                None,
                says=message,
                environment=failing(call, number, at=1),
            )
            yield Case(
                f"{call} 2: {number}",
                (PARTIAL,),
                says=message,
                environment=failing(call, number, at=2),
                at_least=0,
            )
    for call, number in (("linkat", errno.EPERM), ("linkat", errno.EIO)):
        yield Case(
            f"{call}: {number}",
            (USAGE,),
            None,
            says=f"cannot be written: {os.strerror(number)}",
            environment=failing(call, number, at=1),
        )
    yield Case(
        "rename",
        (PARTIAL,),
        says=f"cannot be written: {os.strerror(errno.EACCES)}",
        environment=failing("rename", errno.EACCES, at=1),
        at_least=0,
    )
    yield Case(
        "a file system without files that have no name",
        (OK,),
        environment=failing("tmpfile", errno.EOPNOTSUPP),
    )
    yield Case(
        "a file system without links either",
        (OK,),
        environment=failing("tmpfile,linkat", errno.EOPNOTSUPP),
    )
    yield Case(
        "a folder that vanishes",
        (PARTIAL,),
        None,
        says="there is no directory",
        meanwhile=functools.partial(when_it_measures_in, shutil.rmtree),
    )
    yield Case(
        "a file that vanishes",
        (OK,),
        meanwhile=functools.partial(
            when_it_measures_in, lambda folder: (folder / "profile.json").unlink()
        ),
    )


def when_it_measures_in(change, process, folder):
    when_it_measures(lambda _: change(folder), process, folder)


def streams():
    """That are closed, end early or are full."""
    for closed in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
        yield Case(f"without {closed}", (OK,), before=functools.partial(close_all, closed))
    for number, name in ((1, "stdout"), (2, "stderr")):
        yield Case(
            f"nobody reads {name}", (OK,), before=functools.partial(onto, number, unread_pipe)
        )
    yield Case("stderr is full", (OK,), before=functools.partial(onto, 2, full_device))
    yield Case(
        "stdout is full",
        (USAGE,),
        says="cannot write to standard output",
        before=functools.partial(onto, 1, full_device),
    )


def close_all(descriptors):
    for number in descriptors:
        os.close(number)


def onto(number, make):
    os.dup2(make(), number)


def unread_pipe():
    read_end, write_end = os.pipe()
    os.close(read_end)
    return write_end


def full_device():
    return os.open("/dev/full", os.O_WRONLY)


def clocks():
    """That jump back, and forward, by an hour, early and late."""
    for readings in (0, 4, 40, 400):
        for seconds in (3600, -3600):
            yield Case(
                f"{seconds} s back after {readings} readings",
                (OK,),
                environment=preload(
                    "JUMPING_CLOCK", JUMP_AFTER=str(readings), JUMP_BACK_S=str(seconds)
                ),
            )
    # The clock jumps forward after the first state was written: the profile is saved meanwhile, for
    # which there is no room once.
    both = f"{os.environ['JUMPING_CLOCK']} {os.environ['FAULTY']}"
    full = failing("write", errno.ENOSPC, at=2)
    yield Case(
        "a full disk in between",
        (OK,),
        says="results cannot be saved for now",
        environment=full | {"LD_PRELOAD": both, "JUMP_AFTER": "8", "JUMP_BACK_S": "-11"},
    )


def wrong_result():
    """What a worker answers for the first point whose words differ from what they have to be."""
    plan = subprocess.run([PEAKLINE, *ARGUMENTS, "--dry-run"], capture_output=True, text=True)
    threads = int(plan.stdout.split("threads:")[1].split()[0])
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
    """That die, hang, flood or lie."""
    at_first = 2  # the facts are answer 1, of the next worker too
    for at, count in ((at_first, 2), (at_first + 1, 1)):
        for name, does, reason in (
            ("ends well", "exit:0", "the worker exited with code 0"),
            ("ends with an error", "exit:1", "the worker exited with code 1"),
            ("says nonsense", "say:nonsense@", "not valid JSON"),
            ("says nothing", "say:@", "empty"),
            ("says half of it", 'say:{"id": "host.f@', "not valid JSON"),
            ("says a list", "say:[]@", "measurement record: expected"),
            ("says an object", "say:{}@", "measurement record: "),
            ("says a number without end", f"say:{'9' * 5000}@", "number overflow"),
            ("says it in no encoding", "say:\udcff\udcfe@", "not valid JSON"),
            ("swells", f"swell:{5 << 20}", "the worker sent an endless answer"),
        ):
            yield Case(
                f"{name} at {at}",
                (PARTIAL,),
                (reason,) * count,
                environment=fault("worker", "answer", at, does),
            )
    yield Case(
        "answers twice",
        (PARTIAL,),
        ("the worker answered host.fma.fp32/threads:",),
        environment=fault("worker", "answer", at_first, "repeat"),
    )
    yield Case(
        "answers twice at the end", (OK,), environment=fault("worker", "answer", 3, "repeat")
    )
    record = json.dumps({"id": "host.fma.fp32", "device": "GPU-0", "status": "ok"})
    yield Case(
        "answers for another",
        (PARTIAL,),
        ("measurement record",) * 2,
        environment=fault("worker", "answer", at_first, f"say:{record}@"),
    )
    yield Case(
        "gives wrong results",
        (FINDING,),
        says="2 of 1000 words that were compared. First in host.fma.fp32",
        environment=fault("worker", "answer", at_first, f"say:{wrong_result()}@"),
    )
    yield Case(
        "closes its answers",
        (PARTIAL,),
        ("the worker stopped answering",) * 2,
        environment=fault("worker", "answer", at_first, "close"),
    )
    for does in ("flood", "drip"):
        yield Case(
            does,
            (PARTIAL,),
            ("no answer in ",),
            environment=fault("worker", "answer", at_first + 1, does),
        )
    for name, does in (
        ("prints much", "print:8000000"),
        ("prints a long line", "printraw:8000000"),
    ):
        yield Case(name, (OK,), environment=fault("worker", "answer", at_first, does))
    unusable = {"uuid": "host", "index": 0, "compute_major": 0, "compute_minor": 0}
    unusable |= {"pcie_read_under_load": False, "unusable": "no CPU today"}
    yield Case(
        "the device cannot be used",
        (PARTIAL,),
        ("no CPU today",) * 2,
        says="no CPU today; 2 of its 2 points cannot be measured",
        environment=fault("worker", "answer", 0, f"say:{json.dumps(unusable)}@"),
    )
    for name, does, reason in (
        ("facts are nonsense", "say:nonsense@", "not valid JSON"),
        ("facts are nothing", "say:@", "empty"),
        ("facts without end", f"swell:{5 << 20}", "the worker sent an endless answer"),
        ("no facts", "exit:7", "the worker exited with code 7"),
        ("no device", "exit:113", "the worker exited with code 113"),
    ):
        yield Case(
            name,
            (PARTIAL,),
            ("the worker cannot be started: ",) * 2,
            says=reason,
            environment=fault("worker", "answer", 0, does),
        )


class Matrix(unittest.TestCase):
    """Each test is one family, whose cases run next to each other."""

    def run_family(self, cases):
        schema = cli_test.Case.schema(self)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            runs = {pool.submit(case.run, self, schema): case for case in cases}
            for run in concurrent.futures.as_completed(runs):
                with self.subTest(runs[run].name):
                    run.result()
        print(f"{len(runs)} cases")

    def test_signals(self):
        self.run_family(signals())

    def test_limits(self):
        cases = list(limits())
        with fifth_of_a_cpu() as group:
            if group:
                cases.append(
                    Case("a fifth of a CPU", (OK,), before=functools.partial(joins, group))
                )
            self.run_family(cases)

    def test_disks(self):
        self.run_family(disks())

    def test_streams(self):
        self.run_family(streams())

    def test_clocks(self):
        self.run_family(clocks())

    def test_workers(self):
        self.run_family(workers())


if __name__ == "__main__":
    sys.exit(cli_test.main())
