"""The report of some devices of the zoo: whoever has one of them gets a whole page, with pictures.

usage: pages.py PEAKLINE_ZOO, the program of the C++ tests, which writes the profiles
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# One each of: Tensor Cores of FP16 alone, NVLink-C2C, hardly anything known.
DEVICES = ("t4", "gh200_480gb", "thor")
SKIPPED = 77
MOST_EMPTY = 10  # pictures of a page on which hardly anything is known


def main() -> int:
    try:
        from peakline.pictures import require_matplotlib
        from peakline.profile import load
        from peakline.report import build

        require_matplotlib()
    except Exception as error:
        print(f"skipped: {error}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        wanted = ":".join(f"*/{device}" for device in DEVICES)
        subprocess.run(
            [sys.argv[1], f"--gtest_filter={wanted}"],
            env={**os.environ, "ZOO_PROFILES": folder},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        profiles = sorted(Path(folder).glob("*.json"))
        assert len(profiles) == len(DEVICES), profiles
        for profile in profiles:
            page = build([load(profile)])["report.html"].decode()
            assert page.count("<svg") > MOST_EMPTY, f"{profile.name}: too few pictures"
            assert "nan" not in page.split(), profile.name
    return 0


if __name__ == "__main__":
    sys.exit(main())
