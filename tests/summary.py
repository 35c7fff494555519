"""Closes scripts/test: the table of its parts, what was skipped and why, and the counts.

Reads FOLDER/results.tsv (name, result, seconds, reason, count) and, where a part left them, its
JUnit file FOLDER/<name>.xml and what it printed, FOLDER/<name>.txt: tests that failed at first and
passed when ctest ran them again are named. Exit code 1 if anything failed.
"""

import csv
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def reason_of(case: ElementTree.Element, skipped: ElementTree.Element) -> str:
    """Why a test was skipped: the last line of its output under ctest, else the message."""
    output = (case.findtext("system-out") or "").strip()
    googletest = re.search(r"Skipped\n(.+)", output)
    if googletest:
        return googletest.group(1).strip()
    whole_file = re.search(r"'Skipped: (.+)'\)", skipped.text or "")  # the message says less
    if whole_file:
        return whole_file.group(1)
    return output.split("\n")[-1] or skipped.get("message") or "no reason given"


def count_junit(path: Path) -> tuple[dict[str, int], list[str], list[str]]:
    """Counts by result, the names of what failed, and a line for each reason to skip tests."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    failed: list[str] = []
    skips: dict[str, list[str]] = {}
    for case in ElementTree.parse(path).iter("testcase"):
        name = case.get("name", "?")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
            failed.append(name)
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            counts["skipped"] += 1
            why = "disabled" if skipped is None else reason_of(case, skipped)
            skips.setdefault(why, []).append(name)
        else:
            counts["passed"] += 1
            # A test of ctest may be a file of pytest's, of which some tests were skipped.
            output = case.findtext("system-out") or ""
            for some, why in re.findall(r"(?m)^SKIPPED \[(\d+)\] \S+: (.+)$", output):
                skips.setdefault(why, []).append(f"{some} of {name}")
    lines = [
        f"{names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}: {why}"
        for why, names in skips.items()
    ]
    return counts, failed, lines


def failed_at_first(output: str) -> list[str]:
    """Tests of which ctest printed a failed attempt, each once."""
    attempts = re.findall(r"Test +#\d+: (\S+) \.*\*\*\*(?!Skipped|Not Run)", output)
    return list(dict.fromkeys(attempts))


def main(folder: Path) -> int:
    total = {"passed": 0, "failed": 0, "skipped": 0}
    rows, notes = [], []
    with (folder / "results.tsv").open(newline="") as file:
        for name, result, seconds, why, count in csv.reader(file, delimiter="\t"):
            counts = {**dict.fromkeys(total, 0), result: int(count)}
            junit = folder / f"{name}.xml"
            if junit.exists():
                counts, failed, skips = count_junit(junit)
                notes += [f"failed   {name}: {test}" for test in failed]
                notes += [f"skipped  {name}: {skip}" for skip in skips]
                printed = folder / f"{name}.txt"
                again = failed_at_first(printed.read_text()) if printed.exists() else []
                notes += [f"repeated {name}: {test}" for test in again if test not in failed]
                if result == "failed" and counts["failed"] == 0:
                    counts["failed"] = 1
            if why:
                notes.append(f"{result:<8} {name}: {why}")
            elif result == "failed" and not junit.exists():
                notes.append(f"failed   {name}")
            rows.append((name, counts, seconds))
            for key in total:
                total[key] += counts[key]

    print(f"\n{'part':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'time':>8}")
    for name, counts, seconds in rows:
        print(
            f"{name:<14}{counts['passed']:>8}{counts['failed']:>8}{counts['skipped']:>9}"
            f"{seconds + ' s':>8}"
        )
    print("", *notes, sep="\n")
    print(f"\n{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
