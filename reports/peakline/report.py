"""The files of a report, made in memory and written whole."""

import dataclasses
import errno
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from peakline.models.served import Served, decoding
from peakline.page import Screen, report_page, side_by_side_page, work_page
from peakline.peaks.storage import InputNeed
from peakline.pictures import Picture, pictures, render, require_matplotlib
from peakline.pictures.decode import decode_picture
from peakline.pictures.side_by_side import ceilings_side_by_side, overlay
from peakline.pictures.waterfall import change_pictures, waterfall_pictures
from peakline.profile import HOST, NODE, Profile
from peakline.profile.files import write_whole
from peakline.workload.advice import advice
from peakline.workload.analysis import Analysis
from peakline.workload.change import Change
from peakline.workload.kernel_text import YOURS
from peakline.workload.placement import Placement

_OF_WORK = ("kernels", "kernel-roofline", "input")


def build(
    profiles: Sequence[Profile],
    formats: Sequence[str] = ("html",),
    placements: Sequence[Placement] = (),
    steps: Analysis | Change | None = None,
    need: InputNeed | None = None,
    model: Served | None = None,
    screens: Sequence[Screen | str] = (),
) -> dict[str, bytes]:
    """The files of a report by name, made in memory.

    placements: kernels that ran on a device of the only profile. steps: the steps of a run there,
    or the change between two runs. need: the samples that each GPU is to get from storage. model: a
    language model to bound. screens: the first screen of each profile, or why there is none.
    Raises DrawingUnavailable without matplotlib, ValueError without a profile, PeakError if the
    profile cannot bound the model.
    """
    require_matplotlib()
    if not profiles:
        raise ValueError("a report needs at least one profile")
    screens = screens or ["it was not asked for"] * len(profiles)
    if len(profiles) > 1:
        return _build_several(profiles, formats, screens)
    (screen,) = screens
    if placements or steps:
        return _build_work(profiles[0], formats, placements, steps, need, screen)
    return _build_one(profiles[0], formats, need, model, screen)


def _build_one(
    profile: Profile,
    formats: Sequence[str],
    need: InputNeed | None,
    model: Served | None,
    screen: Screen | str,
) -> dict[str, bytes]:
    shown = profile.measured_devices()
    drawn: dict[str, list[Picture]] = {}
    names: set[str] = set()
    for device in shown:
        items = pictures(profile, device, (), need)
        name = profile.device_name(device)
        # Keeps a page of eight devices readable and quick to make.
        drawn[device] = [p for p in items if name not in names or p.every_device]
        names.add(name)
    decoded = None
    if model:
        picture = decode_picture(profile, model.model, model.name, model.serving)
        decoded = decoding(profile, model), picture
    files = _files(decoded[1:] if decoded else (), formats, "")
    if "html" in formats:
        files["report.html"] = report_page(
            profile, drawn, screen, decoded, need is not None
        ).encode("utf-8")
    for device, items in drawn.items():
        files |= _files(items, formats, _prefix(profile, device))
    return files


def _build_work(
    profile: Profile,
    formats: Sequence[str],
    placements: Sequence[Placement],
    steps: Analysis | Change | None,
    need: InputNeed | None,
    screen: Screen | str,
) -> dict[str, bytes]:
    """The files about work that ran on a machine, with only the pictures that matter for it."""
    of_steps = waterfall_pictures(steps) if isinstance(steps, Analysis) else []
    if isinstance(steps, Change):
        of_steps = change_pictures(steps)
    called = steps.kernels_called if isinstance(steps, Analysis) else YOURS
    topics = {p.reason.topic for p in placements if p.reason}
    if isinstance(steps, Analysis):
        topics |= {found.topic for found in advice(steps)}
    drawn: dict[str, list[Picture]] = {}
    for device in dict.fromkeys(p.device for p in placements):
        mine = [p for p in placements if p.device == device]
        drawn[device] = [
            picture
            for picture in pictures(profile, device, mine, need, called)
            if picture.key in _OF_WORK or topics.intersection(picture.topics)
        ]
    files = {}
    if "html" in formats:
        page = work_page(profile, placements, drawn, screen, steps, of_steps)
        files["report.html"] = page.encode("utf-8")
    files |= _files(of_steps, formats, "")
    for device, items in drawn.items():
        files |= _files(items, formats, _prefix(profile, device))
    return files


def _prefix(profile: Profile, device: str) -> str:
    gpus = [d for d in profile.measured_devices() if d not in (HOST, NODE)]
    gpu = profile.gpu(device)
    if gpu and len(gpus) > 1:
        return f"gpu{gpu.index}-"
    return "host-" if device == HOST else ""


def _files(items: Sequence[Picture], formats: Sequence[str], prefix: str) -> dict[str, bytes]:
    return {
        f"{prefix}{picture.key}.{form}": render(picture, form)
        for picture in items
        for form in formats
        if form != "html"
    }


def _build_several(
    profiles: Sequence[Profile], formats: Sequence[str], screens: Sequence[Screen | str]
) -> dict[str, bytes]:
    failing = {
        (id(profile), rule.device)
        for profile, screen in zip(profiles, screens, strict=True)
        if isinstance(screen, Screen)
        for rule in screen.marked()
        if rule.outcome == "fail"
    }
    # Every legend and table marks a failing device by its name.
    items = [
        (f"{name} (FAIL)" if (id(profile), device) in failing else name, profile, device)
        for name, profile, device in compared(profiles)
    ]
    drawn = [p for p in (overlay(items), ceilings_side_by_side(items)) if p is not None]
    files = _files(drawn, formats, "")
    if "html" in formats:
        files["report.html"] = side_by_side_page(
            items, drawn, [_named(*one) for one in zip(profiles, screens, strict=True)]
        ).encode("utf-8")
    return files


def _named(profile: Profile, screen: Screen | str) -> tuple[Profile, Screen | str]:
    """A profile and its first screen, whose verdict names the file."""
    if isinstance(screen, str):
        return profile, screen
    name = stem(profile.path)
    return profile, dataclasses.replace(screen, sentence=f"{name}: {screen.sentence}")


def compared(profiles: Sequence[Profile]) -> list[tuple[str, Profile, str]]:
    """(name, profile, device) of each GPU to compare, or of each host if a profile has no GPU. A
    GPU's name has its index if its profile has several."""
    gpus = [[d for d in p.measured_devices() if d not in (HOST, NODE)] for p in profiles]
    on_host = not all(gpus)
    names = [stem(p.path) or f"profile {i}" for i, p in enumerate(profiles, start=1)]
    for i, name in enumerate(names):
        if names.count(name) > 1:
            names[i] = f"{name} ({i + 1})"
    if on_host:
        return [(name, profile, HOST) for name, profile in zip(names, profiles, strict=True)]
    return [
        (f"{name} GPU {gpu.index}" if len(found) > 1 else name, profile, gpu.uuid)
        for name, profile, found in zip(names, profiles, gpus, strict=True)
        for gpu in profile.devices
        if gpu.uuid in found
    ]


def stem(path: str) -> str:
    """The name of a profile's file: "node7" of "profiles/node7.json.gz"."""
    return Path(path.removesuffix(".gz")).stem


def write(
    files: dict[str, bytes], directory: Path, overwrite: bool = False, made_from: str = ""
) -> list[Path]:
    """Writes the files; each is either whole or untouched. Raises OSError, which names the file;
    FileExistsError, before anything is written, if `overwrite` is False and a file exists that is
    no unchanged page of the same `made_from`."""
    paths = [directory / name for name in files]
    if not overwrite:
        refuse_existing(paths, made_from)
    if directory.exists() and not directory.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory))
    directory.mkdir(parents=True, exist_ok=True)
    for path, content in zip(paths, files.values(), strict=True):
        try:
            write_whole(path, _signed(content, made_from) if path.suffix == ".html" else content)
        except OSError as error:  # has no name after a write, else the temporary file's
            raise OSError(error.errno, error.strerror, str(path)) from error
    return paths


def refuse_existing(paths: Sequence[Path], made_from: str) -> None:
    """Raises FileExistsError for the first path that `write` would refuse to replace."""
    for path in paths:
        if os.path.lexists(path) and not is_page_of(path, made_from):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


# Larger than any page; a signature is not looked for in a larger file.
_MOST_OF_PAGE = 1 << 28


def is_page_of(path: Path, made_from: str) -> bool:
    """Whether `write` made this page from the same input, and nobody changed it since."""
    if not made_from or path.is_symlink() or not path.is_file():
        return False
    if path.stat().st_size > _MOST_OF_PAGE:
        return False
    page, _, _ = (content := path.read_bytes()).rpartition(_SIGNATURE)
    return content == _signed(page, made_from)


_SIGNATURE = b"<!-- peakline-report "


def _signed(page: bytes, made_from: str) -> bytes:
    """The page with a comment at its end that identifies its input and its content."""
    if not made_from:
        return page
    digest = hashlib.sha256(made_from.encode("utf-8", "surrogateescape") + b"\0" + page)
    return page + _SIGNATURE + digest.hexdigest().encode() + b" -->\n"
