"""Signals, stalls and time limits during a run or a check, in real time."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time

import pytest
from program import (
    HOST,
    PATIENCE_S,
    PEAKLINE,
    QUICKEST,
    SANITIZED,
    SEVERAL,
    assert_gone,
    children_of,
    count_points,
    measuring,
    peakline,
    read,
    send_at_once,
    started,
    starting,
)

STALLED_RUNS = 2  # of dozens of stalls each
STOPPED = "CANNOT JUDGE  stopped by a signal\n"


def assert_partial(profile):
    """The profile is valid and marked as incomplete."""
    assert not read(profile)["complete"]
    peakline("show", profile, code=0)


def test_stalls_spoil_no_profile(profile):
    """Workers stall, as in a paused virtual machine or a throttled container."""
    moments = random.Random(20261123)
    for _ in range(STALLED_RUNS):
        with starting(*HOST, "-o", profile) as process:
            while process.poll() is None:
                time.sleep(moments.uniform(0.05, 0.4))
                for worker in children_of(process.pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGSTOP)
                        time.sleep(moments.uniform(0.06, 0.4))
                        os.kill(worker, signal.SIGCONT)
            _, stderr = process.communicate()
        assert process.returncode == 0, stderr
        peakline("show", profile, code=0)
        assert read(profile)["complete"]
        assert {m["status"] for m in read(profile)["measurements"]} == {"ok"}
        profile.unlink()


def test_ignored_hangup_stays_ignored(profile):
    nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen(["nohup", PEAKLINE, *QUICKEST, "-o", profile], **nowhere)
    while not profile.exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    assert process.wait(PATIENCE_S) == 0
    assert read(profile)["complete"]


def test_coordinator_that_is_killed_leaves_a_profile_and_no_worker(profile):
    with measuring(*SEVERAL, "-o", profile) as process:
        workers = children_of(process.pid)
        assert workers
        with open(f"/proc/{process.pid}/status") as status:
            (peak_kib,) = [int(line.split()[1]) for line in status if line.startswith("VmHWM:")]
        process.kill()
        process.wait(PATIENCE_S)
        assert_gone(workers)
    assert_partial(profile)
    assert peak_kib < 200 * 1024


def test_time_limit(profile):
    start = time.monotonic()
    result = peakline(*SEVERAL, "--time-limit", "0.4", "-o", profile, code=3)
    assert time.monotonic() - start < 6
    assert "the time limit was reached after" in result.stderr
    assert not read(profile)["complete"]
    assert len(read(profile)["measurements"]) < count_points(*SEVERAL)


def test_runs_that_the_time_limit_ends(profile):
    limits = ("--runs", "21", "--time-limit", "2")
    result = peakline(*QUICKEST, *limits, "-o", profile, code=3)
    assert "before every point was measured as often as planned" in result.stderr
    (measurement,) = read(profile)["measurements"]
    assert measurement["status"] == "ok"
    assert_partial(profile)


@pytest.fixture
def checking(tmp_path, profile):
    """Starts a check that measures the host; only its profile may be left at the end."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    @contextlib.contextmanager
    def check(*arguments):
        command = ("check", "--device", "none", "-o", profile, *arguments)
        with starting(*command, env=os.environ | {"TMPDIR": str(temporary)}) as process:
            workers = started(process)
            assert workers
            yield process, workers
            assert_gone(workers)
            assert list(temporary.iterdir()) == []
            assert_partial(profile)

    return check


@pytest.mark.parametrize(
    ("number", "arguments", "code"),
    [
        (signal.SIGINT, [], 3),
        (signal.SIGTERM, ["--exit-codes", "npd"], 2),
        (signal.SIGHUP, ["--exit-codes", "nagios"], 3),
    ],
)
def test_interrupted_check_says_so(checking, number, arguments, code):
    with checking(*arguments) as (process, _):
        start = time.monotonic()
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - start < (5 if SANITIZED else 1)
        assert (process.returncode, stdout) == (code, STOPPED), stderr


def test_document_of_an_interrupted_check(checking):
    with checking("--json") as (process, _):
        process.terminate()
        document = json.loads(process.communicate(timeout=PATIENCE_S)[0])
    assert (document["verdict"], document["profiles"]) == ("cannot_judge", [])
    assert document["why_none"] == "stopped by a signal"


def test_second_signal_ends_a_check_at_once(checking):
    with checking("--exit-codes", "npd") as (process, workers):
        send_at_once(process, signal.SIGTERM, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, stdout) == (2, STOPPED), stderr
        assert_gone(workers)


def test_time_limit_of_a_check(checking):
    start = time.monotonic()
    # A quick run may end before its limit.
    with checking("--full", "--time-limit", "2") as (process, _):
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - start < 6
        assert process.returncode == 3, stderr
        assert stdout.startswith("CANNOT JUDGE  ")
        assert stdout.index("\n") == len(stdout) - 1
        assert "the time limit was reached after" in stderr
