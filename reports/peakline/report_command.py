"""peakline-report: pictures and a page from profiles."""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peakline import kernels as kernels_module
from peakline.arguments import Parser
from peakline.ceilings import ceiling_table
from peakline.documents import FLEET, read_document
from peakline.kernels import KernelsError, Placement
from peakline.page import comparison_page, fleet_page
from peakline.pictures import DrawingUnavailable
from peakline.profile import PeakError, ProfileError, load, shown_path
from peakline.report import build, stem, write

FORMATS = ("html", "png", "svg", "pdf")


def _formats(text: str) -> list[str]:
    chosen = [part.strip().lower() for part in text.split(",") if part.strip()]
    unknown = [part for part in chosen if part not in FORMATS]
    if unknown or not chosen:
        raise argparse.ArgumentTypeError(
            f"{text!r}: use one or more of {','.join(FORMATS)}, separated by commas"
        )
    return chosen


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=program,
        description="Draws profiles of peakline run: one self-contained report.html, or pictures.",
        epilog="Examples:\n"
        f"  {program} profiles/node7.json -o report\n"
        f"  {program} node7.json --kernels kernels.csv\n"
        f"  {program} node7.json --kernels kernels.csv --json --fail-on impossible\n"
        f"  {program} old.json new.json --format html,png\n"
        f"  peakline compare old.json -- new.json --json > comparison.json; {program} "
        "comparison.json\n"
        f"  peakline fleet profiles/ --json > fleet.json; {program} fleet.json\n\n"
        f"Kernels for --kernels come from\n  {kernels_module.NCU_COMMAND}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "profiles",
        nargs="+",
        metavar="PROFILE",
        help="a profile that peakline run wrote, or what peakline compare or fleet printed with "
        "--json; of several profiles, ratios without a verdict",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where to write (default: beside PROFILE)"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace files of an earlier report"
    )
    parser.add_argument(
        "--format",
        type=_formats,
        metavar="LIST",
        help=f"{','.join(FORMATS)}, separated by commas (default: html)",
    )
    parser.add_argument(
        "--kernels",
        metavar="FILE",
        help="kernels to hold against the ceilings: the raw page of ncu as CSV, a torch.profiler "
        "trace (.json, .json.gz), or a CSV of name,flop,bytes,seconds",
    )
    parser.add_argument(
        "--device", help="the device that the kernels ran on: index, UUID, model or host"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print what --kernels finds as a JSON document, and draw nothing",
    )
    parser.add_argument(
        "--fail-on",
        choices=["impossible"],
        help="exit with 1 where a kernel does more than a ceiling allows, so that a count, a time "
        "or the device is wrong",
    )
    return parser


def _write_document(document: Mapping[str, Any], options: argparse.Namespace, program: str) -> int:
    fleet = document["schema"] == FLEET
    name, made = ("fleet", fleet_page) if fleet else ("comparison", comparison_page)
    if (options.format or ["html"]) != ["html"] or options.kernels:
        print(f"{program}: a {name} has one page, without --kernels or --format", file=sys.stderr)
        return 2
    path = options.profiles[0]
    try:
        page = made(document).encode("utf-8")
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ProfileError(
            f"{shown_path(path)}: not what peakline {'fleet' if fleet else 'compare'} --json "
            f"prints: {error!r:.200}"
        ) from error
    folder = options.output or Path(path).with_suffix("")
    for path in write({f"{name}.html": page}, folder, options.overwrite):
        print(shown_path(path))
    return 0


def main(arguments: Sequence[str] | None = None, program: str = "peakline-report") -> int:
    """Runs the command; returns its exit code: 0, 1 for what --fail-on names, 2 for unusable
    input."""
    # A figure is thousands of objects in cycles. Python would look through all of them every 700,
    # which is a tenth of the time that a page takes.
    gc.set_threshold(100_000)
    parser = _parser(program)
    options = parser.parse_args(arguments)
    if options.kernels and len(options.profiles) > 1:
        parser.error("--kernels needs exactly one PROFILE: that of the machine the kernels ran on")
    if options.device and not options.kernels:
        parser.error("--device only goes with --kernels: it says which device they ran on")
    for option, given in (("--json", options.json), ("--fail-on", options.fail_on)):
        if given and not options.kernels:
            parser.error(f"{option} only goes with --kernels")
    if options.json and (options.output or options.format):
        parser.error("--json draws nothing: leave --output and --format away")
    try:
        if len(options.profiles) == 1 and (document := read_document(options.profiles[0])):
            return _write_document(document, options, program)
        profiles = [load(path) for path in options.profiles]
        placements: list[Placement] = []
        if options.kernels:
            found = kernels_module.read(options.kernels)
            placements = kernels_module.place(profiles[0], found, options.device)
        if options.json:
            print(json.dumps(kernels_module.document(profiles[0], placements), indent=2))
            return _failed(placements, options)
        files = build(profiles, options.format or ["html"], placements)
        default = Path(options.profiles[0]).parent / stem(options.profiles[0])
        paths = write(files, options.output or default, options.overwrite)
    except (ProfileError, KernelsError, PeakError, DrawingUnavailable) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except FileExistsError as error:
        print(
            f"{program}: {shown_path(error.filename)} already exists and is not overwritten: give "
            "--overwrite, or another directory by -o",
            file=sys.stderr,
        )
        return 2
    except OSError as error:
        where = shown_path(error.filename) if error.filename else "the report"
        print(f"{program}: {where} cannot be written: {error.strerror or error}", file=sys.stderr)
        return 2
    if placements:
        width = shutil.get_terminal_size().columns
        print(kernels_module.table(profiles[0], placements, width))
        for text in kernels_module.advice(profiles[0], placements):
            print(textwrap.fill(text, max(width, 40), break_long_words=False))
    if not files:
        print(
            f"{program}: nothing to draw: the profile has no measurement that a picture shows",
            file=sys.stderr,
        )
        return 2
    if not any(ceiling_table(p, d)[1] for p in profiles for d in p.measured_devices()):
        print(f"{program}: note: the profile has no ceilings", file=sys.stderr)
    for path in paths:
        print(shown_path(path))
    return _failed(placements, options)


def _failed(placements: Sequence[Placement], options: argparse.Namespace) -> int:
    """1 where --fail-on asks for it."""
    return int(options.fail_on == "impossible" and any(p.impossible for p in placements))
