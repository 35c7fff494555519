"""peakline-report: pictures and a page from profiles."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from peakline import kernels as kernels_module
from peakline.headline import ceiling_table
from peakline.kernels import KernelsError, Placement
from peakline.page import comparison_page, devices_of, report_page
from peakline.pictures import DrawingUnavailable, Picture, pictures, render, require_matplotlib
from peakline.pictures.compare import ceilings_side_by_side
from peakline.pictures.roofline import overlay
from peakline.profile import HOST, PeakError, Profile, ProfileError, load

FORMATS = ("html", "png", "svg", "pdf")
# Devices of one model differ by power, heat and slot: a further one gets these pictures alone, so
# that a page of eight devices stays readable and quick to make.
EVERY_DEVICE = ("roofline", "ceilings", "sustained", "soak", "pcie")


def build(
    profiles: Sequence[Profile],
    formats: Sequence[str] = ("html",),
    placements: Sequence[Placement] = (),
) -> dict[str, bytes]:
    """The files of a report by name, made in memory.

    placements: kernels to be put on the roofline of the only profile. Raises DrawingUnavailable
    without matplotlib, ValueError without a profile.
    """
    require_matplotlib()
    if not profiles:
        raise ValueError("a report needs at least one profile")
    if len(profiles) == 1:
        return _build_one(profiles[0], formats, placements)
    return _build_several(profiles, formats)


def _build_one(
    profile: Profile, formats: Sequence[str], placements: Sequence[Placement]
) -> dict[str, bytes]:
    shown = devices_of(profile)
    drawn: dict[str, list[Picture]] = {}
    models: set[str] = set()
    for device in shown:
        marks = kernels_module.marks([p for p in placements if p.device == device])
        items = pictures(profile, device, marks)
        model = profile.device_name(device)
        drawn[device] = [p for p in items if model not in models or p.key in EVERY_DEVICE]
        models.add(model)
    files: dict[str, bytes] = {}
    if "html" in formats:
        files["report.html"] = report_page(profile, drawn, placements).encode("utf-8")
    gpus = [device for device in shown if device != HOST]
    for device, items in drawn.items():
        prefix = "host-" if device == HOST else ""
        if len(gpus) > 1 and device != HOST:
            prefix = f"gpu{next(d.index for d in profile.devices if d.uuid == device)}-"
        files |= _files(items, formats, prefix)
    return files


def _files(items: Sequence[Picture], formats: Sequence[str], prefix: str) -> dict[str, bytes]:
    return {
        f"{prefix}{picture.key}.{form}": render(picture, form)
        for picture in items
        for form in formats
        if form != "html"
    }


def _build_several(profiles: Sequence[Profile], formats: Sequence[str]) -> dict[str, bytes]:
    items = compared(profiles)
    drawn = [p for p in (overlay(items), ceilings_side_by_side(items)) if p is not None]
    files = _files(drawn, formats, "")
    if "html" in formats:
        files["report.html"] = comparison_page(items, drawn).encode("utf-8")
    return files


def compared(profiles: Sequence[Profile]) -> list[tuple[str, Profile, str]]:
    """(name, profile, device) of what is compared: each profile's first GPU, or its host.

    The hosts are compared where one of the profiles has no GPU.
    """
    firsts = [devices_of(p)[:1] for p in profiles]
    on_host = any(first in ([], [HOST]) for first in firsts)
    names = [Path(p.path).stem or f"profile {i}" for i, p in enumerate(profiles, start=1)]
    for i, name in enumerate(names):
        if names.count(name) > 1:
            names[i] = f"{name} ({i + 1})"
    return [
        (name, profile, HOST if on_host else first[0])
        for name, profile, first in zip(names, profiles, firsts, strict=True)
    ]


def write(files: dict[str, bytes], directory: Path) -> list[Path]:
    """Writes the files; each is either whole or untouched. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in files.items():
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".peakline-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            # mkstemp makes files for their owner alone; a report is as public as any other file.
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, directory / name)
        except BaseException:
            os.unlink(temporary)
            raise
        paths.append(directory / name)
    return paths


def _formats(text: str) -> list[str]:
    chosen = [part.strip().lower() for part in text.split(",") if part.strip()]
    unknown = [part for part in chosen if part not in FORMATS]
    if unknown or not chosen:
        raise argparse.ArgumentTypeError(
            f"{text!r}: use one or more of {','.join(FORMATS)}, separated by commas"
        )
    return chosen


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Draws profiles of peakline run: one self-contained report.html, or pictures.",
        epilog="Examples:\n"
        f"  {program} profiles/node7.json -o report\n"
        f"  {program} node7.json --kernels kernels.csv\n"
        f"  {program} old.json new.json --format html,png\n\n"
        f"Kernels for --kernels come from\n  {kernels_module.NCU_COMMAND}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("profiles", nargs="+", metavar="PROFILE", help="profile of peakline run")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where to write (default: beside PROFILE)"
    )
    parser.add_argument(
        "--format",
        type=_formats,
        default=["html"],
        metavar="LIST",
        help=f"{','.join(FORMATS)}, separated by commas (default: html)",
    )
    parser.add_argument(
        "--kernels",
        metavar="FILE",
        help="kernels to put on the roofline: ncu CSV, CSV of name,flop,bytes,seconds, or a "
        "torch.profiler trace",
    )
    parser.add_argument(
        "--device", help="device that the kernels ran on: index, UUID, model or host"
    )
    return parser


def main(arguments: Sequence[str] | None = None, program: str = "peakline-report") -> int:
    """Runs the command; returns its exit code: 0, or 2 for unusable input."""
    parser = _parser(program)
    options = parser.parse_args(arguments)
    if options.kernels and len(options.profiles) > 1:
        parser.error("--kernels takes one PROFILE: the machine that the kernels ran on")
    if options.device and not options.kernels:
        parser.error("--device is for --kernels: it tells on which device they ran")
    try:
        profiles = [load(path) for path in options.profiles]
        placements: list[Placement] = []
        if options.kernels:
            found = kernels_module.read(options.kernels)
            placements = kernels_module.place(profiles[0], found, options.device)
        files = build(profiles, options.format, placements)
        default = Path(options.profiles[0]).parent / Path(options.profiles[0]).stem
        paths = write(files, options.output or default)
    except (ProfileError, KernelsError, PeakError, DrawingUnavailable) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{program}: cannot write: {error}", file=sys.stderr)
        return 2
    if placements:
        print(kernels_module.table(placements))
        print(kernels_module.advice(placements))
    if not files:
        print(
            f"{program}: nothing to draw: the profile has no measurement that a picture shows",
            file=sys.stderr,
        )
        return 2
    if not any(ceiling_table(p, d)[1] for p in profiles for d in devices_of(p)):
        print(f"{program}: note: no ceilings in the profile", file=sys.stderr)
    for path in paths:
        print(path)
    return 0
