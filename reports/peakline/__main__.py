"""`python -m peakline report ...` and `python -m peakline mfu ...`."""

from __future__ import annotations

import sys

USAGE = """usage: python -m peakline report PROFILE... [options]
       python -m peakline mfu [options]

report  draws profiles (--help for its options)
mfu     model FLOPs utilization against a profile's peaks (--help for its options)
"""


def main() -> int:
    """Hands over to the command named first; returns its exit code."""
    command, arguments = (sys.argv[1:2] or [""])[0], sys.argv[2:]
    if command == "report":
        from peakline.report_command import main as report

        return report(arguments, "peakline-report")
    if command == "mfu":
        from peakline.mfu_command import main as mfu

        return mfu(arguments, "peakline-mfu")
    if command in ("-h", "--help"):
        print(USAGE, end="")
        return 0
    print(USAGE, end="", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
