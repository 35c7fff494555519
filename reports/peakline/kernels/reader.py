"""A file of kernels of any of the three kinds."""

from __future__ import annotations

import os

from peakline.kernels.kernel import Kernel, KernelsError
from peakline.kernels.ncu import parse_ncu
from peakline.kernels.plain import parse_plain
from peakline.kernels.trace import parse_trace


def read(path: str | os.PathLike[str]) -> list[Kernel]:
    """The kernels of a file of any of the three kinds. Raises KernelsError."""
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except OSError as error:
        raise KernelsError(f"{name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise KernelsError(f"{name}: not UTF-8 text, so neither a CSV nor a trace") from error
    return parse(text, name)


def parse(text: str, name: str = "kernels") -> list[Kernel]:
    """As `read`, from the file's content."""
    if text.lstrip()[:1] in ("{", "["):
        return parse_trace(text, name)
    if "Kernel Name" in text and "__" in text:
        return parse_ncu(text, name)
    if "ERR_NVGPUCTRPERM" in text:
        raise KernelsError(
            f"{name}: ncu was not allowed to read the counters (ERR_NVGPUCTRPERM): run it as root, "
            "or ask for NVreg_RestrictProfilingToAdminUsers=0, or give a plain CSV of "
            "name,flop,bytes,seconds"
        )
    return parse_plain(text, name)
