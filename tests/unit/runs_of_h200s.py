"""Real runs of H200s on which the unit tests check promises: runs_of_h200s.csv.

usage: runs_of_h200s.py rows CARD PROFILE...   # the rows of one card's profiles, to append
       runs_of_h200s.py table CARD             # how far runs differ by kind, for bench/studies.md
"""

import csv
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "reports"))

import peakline

FILE = Path(__file__).with_suffix(".csv")
KINDS = {
    "hbm.": "device memory",
    "pcie.bidirectional": "PCIe both ways, in a virtual machine",
    "pcie.": "PCIe one way",
    "l1.": "L1, shared memory",
    "shared.": "L1, shared memory",
    "l2.": "L2",
    "cuda_core.": "CUDA cores",
}
KINDS_OF_PRODUCTS = {
    "instruction": "single instructions",
    "burst": "products from rest",
    "sustained": "products under sustained load",
    "model_burst": "model-shaped products",
    "model_shaped": "model-shaped products",
}


def kind_of(resource: str, basis: str) -> str:
    """The row of the table that a ceiling belongs to."""
    known = (kind for prefix, kind in KINDS.items() if resource.startswith(prefix))
    return next(known, "") or KINDS_OF_PRODUCTS[basis]


def rows(card: str, files: list[str]) -> Iterator[list[str]]:
    """The measured ceilings of one GPU, runs numbered in the order in which they were made."""
    runs: defaultdict[str, int] = defaultdict(int)
    for profile in sorted(map(peakline.load, files), key=lambda p: (p.mode, p.created)):
        runs[profile.mode] += 1
        for c in profile.ceilings:
            if c.spread is None or c.device == "host":
                continue
            spreads = (f"{part or 0:.3g}" for part in (c.spread.within, c.spread.sittings))
            run = str(runs[profile.mode])
            yield [card, profile.mode, run, c.resource, c.basis, f"{c.value:.6g}", *spreads]


def table(card: str) -> Iterator[str]:
    """The lines of the table: highest minus lowest run of the ceiling that differs most."""
    values: defaultdict[tuple[str, ...], list[float]] = defaultdict(list)
    with FILE.open() as file:
        for gpu, mode, _, resource, basis, value, *_ in csv.reader(
            line for line in file if not line.startswith("#")
        ):
            values[gpu, mode, resource, basis].append(float(value))
    spreads: defaultdict[str, dict[tuple[bool, str], float]] = defaultdict(dict)
    for (gpu, mode, resource, basis), runs in values.items():
        spread = (max(runs) - min(runs)) / statistics.median(runs)
        of_kind = spreads[kind_of(resource, basis)]
        for key in {(gpu == card, mode), (False, mode)}:
            of_kind[key] = max(spread, of_kind.get(key, 0))
    yield "| | this card, full | this card, quick | all, full | all, quick |"
    yield "|---|---|---|---|---|"
    for kind, by_key in spreads.items():
        cells = [by_key.get((own, mode)) for own in (True, False) for mode in ("full", "quick")]
        yield (
            f"| {kind} | "
            + " | ".join("" if s is None else f"{100 * s:.2f} %" for s in cells)
            + " |"
        )


def main(command: str, card: str, *files: str) -> None:
    """Prints what the command asks for."""
    if command == "rows":
        csv.writer(sys.stdout, lineterminator="\n").writerows(rows(card, list(files)))
    else:
        print("\n".join(table(card)))


if __name__ == "__main__":
    if sys.argv[1:2] not in (["rows"], ["table"]) or len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
