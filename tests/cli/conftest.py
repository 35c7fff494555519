"""Fixtures for the tests of the command line. $PEAKLINE is the executable; see CMakeLists.txt."""

from __future__ import annotations

import json
import signal

import pytest

pytest.register_assert_rewrite("launching", "program")
from launching import new_site  # noqa: E402
from program import stdout_of, write_changed  # noqa: E402

# ctest shows a test with this exit code as skipped.
SKIPPED = 77
# Programs that tests start must get Ctrl-C, even if the tests run in the background and ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def profile(tmp_path):
    """Where a test writes its profile."""
    return tmp_path / "profile.json"


@pytest.fixture(scope="session")
def healthy(tmp_path_factory):
    """A healthy H200, as far as it is judged."""
    return write_changed(tmp_path_factory.mktemp("healthy") / "profile.json", lambda _: None)


@pytest.fixture
def schema():
    """Makes a validator from the program's own description of a kind of file."""
    library = pytest.importorskip("fastjsonschema")
    return lambda *kind: library.compile(json.loads(stdout_of("schema", *kind)))


@pytest.fixture
def site():
    """A folder that all nodes share; see launching.py."""
    with new_site() as made:
        yield made


def reasons(config):
    """Why tests were skipped, if all were."""
    stats = config.pluginmanager.get_plugin("terminalreporter").stats
    if any(stats.get(result) for result in ("passed", "failed", "error")):
        return set()
    return {report.longrepr[2].removeprefix("Skipped: ") for report in stats.get("skipped", [])}


def pytest_sessionfinish(session):
    if reasons(session.config):
        session.exitstatus = SKIPPED


def pytest_unconfigure(config):
    if why := reasons(config):  # scripts/test shows the last line in its summary
        print("; ".join(sorted(why)))
