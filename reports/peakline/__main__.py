"""`python -m peakline report ...`, `... mfu ...`, `... llm ...`, and the three as commands."""

import contextlib
import importlib
import io
import sys

from peakline.commands.arguments import meant
from peakline.commands.terminal import (
    REFUSED,
    broken,
    end_as_read,
    flush,
    refused,
    show,
    to_nowhere,
)

USAGE = """usage: python -m peakline report PROFILE... [options]
       python -m peakline mfu [options]
       python -m peakline llm [options]
       python -m peakline man COMMAND

report  draws profiles (--help for its options)
mfu     model FLOPs utilization against a profile's peaks (--help for its options)
llm     bounds of a language model's tokens per second (--help for its options)
man     the manual page of one of these, for man -l -
"""
COMMANDS = ("report", "mfu", "llm", "man")
# 128 + SIGINT, as shells report a program ended by Ctrl-C.
INTERRUPTED = 130


def main() -> int:
    return _guarded((sys.argv[1:2] or [""])[0], sys.argv[2:])


def report() -> int:
    return _guarded("report", sys.argv[1:])


def mfu() -> int:
    return _guarded("mfu", sys.argv[1:])


def llm() -> int:
    return _guarded("llm", sys.argv[1:])


def _guarded(command: str, arguments: list[str]) -> int:
    """Runs a command; interrupts end it quietly."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # not all encodings have µ
    try:
        try:
            return _run(command, arguments)
        finally:
            flush()  # here: a failure at exit is a traceback
            end_as_read()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:  # of standard output; the commands handle their own files
        if error.filename is not None:
            return refused("peakline", f"{error.filename}: {error.strerror}")
        to_nowhere()
        with contextlib.suppress(OSError):
            refused("peakline", f"cannot write to standard output: {error.strerror or error}")
        return REFUSED
    except MemoryError:
        return refused("peakline", "out of memory")
    except Exception as error:
        return broken(error)


def _run(command: str, arguments: list[str]) -> int:
    if command in COMMANDS:
        module = importlib.import_module(f"peakline.commands.{command}")
        return int(module.main(arguments, f"peakline-{command}"))
    if command in ("-h", "--help"):
        show(USAGE.splitlines())
        return 0
    what = f"{command}: not a command" if command else "a command is missing"
    page = "see python -m peakline --help; measuring and judging: peakline --help"
    return refused("peakline", f"{what}{meant(command, COMMANDS)} ({page})")


if __name__ == "__main__":
    sys.exit(main())
