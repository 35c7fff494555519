"""Standard output and standard error: nothing else of the package writes there."""

import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from peakline.text import printable, short

# Exit codes beside 0 and 1, a finding that was to fail.
REFUSED = 2  # bad usage, unreadable input
CANNOT_JUDGE = 3
_TRACEBACK = "PEAKLINE_TRACEBACK"
_MOST_OF_NOTE = 5000  # characters; a path may have 4096


_reader_left: list[BrokenPipeError] = []  # at most one


@contextlib.contextmanager
def _for_a_reader() -> Iterator[None]:
    """Drops what a closed pipe does not take: its reader has all it wants (`| head`)."""
    try:
        yield
    except BrokenPipeError as error:
        _reader_left[:] = [error]
        to_nowhere()


def end_as_read() -> None:
    """Ends this process as `peakline show` ends (by SIGPIPE) if its output was not read to the
    end; call it when all files are written."""
    if _reader_left:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)


def to_nowhere() -> None:
    """Points standard output at nothing, so that no later flush fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def show(lines: Iterable[object]) -> None:
    """Prints a result, line by line."""
    with _for_a_reader():
        for line in lines:
            print(printable(line))


def show_document(document: Mapping[str, Any]) -> None:
    """Prints a result as JSON, in ASCII."""
    with _for_a_reader():
        print(json.dumps(document, indent=2).replace("\x7f", "\\u007f"))


def flush() -> None:
    with _for_a_reader():
        print(end="", flush=True)


def note(program: str, text: object) -> None:
    """Prints a line on standard error."""
    print(printable(short(f"{program}: {text}", _MOST_OF_NOTE)), file=sys.stderr)


def broken(error: Exception) -> int:
    """Reports a defect of this package; returns the exit code of bad usage, since that of a failed
    program, 1, is a finding's."""
    frames = traceback.extract_tb(error.__traceback__)
    if os.environ.get(_TRACEBACK):
        for part in traceback.format_exception(error):
            for line in part.splitlines():
                note("peakline", line)
    return refused(
        "peakline",
        f"a defect of peakline, please report it: {type(error).__name__}: {short(str(error), 200)} "
        f"({Path(frames[-1].filename).name}:{frames[-1].lineno}; {_TRACEBACK}=1 shows more)",
    )


def refused(program: str, reason: object) -> int:
    """Says why a command does nothing; returns its exit code."""
    note(program, reason)
    return REFUSED
