"""The command lines' parser, with one-line errors that suggest corrections."""

import argparse
import math
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from peakline.commands.terminal import refused, show
from peakline.profile.schema import magnitudes


def meant(word: str, names: Sequence[str]) -> str:
    """ "; did you mean X?" for the name most like a word; empty where none resembles it."""
    close = get_close_matches(word, names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


_SIZES = {
    "": 1.0,
    **{f"{prefix}B": 1e3**power for power, prefix in enumerate(("", "k", "M", "G"))},
    **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate(("K", "M", "G"), start=1)},
}


def size(text: str) -> float:
    """Bytes: "600e3", "150kB", "1.5 MiB"."""
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*", text)
    try:
        value = float(match[1]) * _SIZES[match[2]] if match else 0.0
    except (KeyError, ValueError):
        value = 0.0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size above 0, such as 150kB, 1.5MiB or 600000"
        )
    return value


def path(text: str) -> str:
    """The name of a file or a folder; "" would mean the working directory, or nothing."""
    if not text:
        raise argparse.ArgumentTypeError("'' is not a name of a file or a folder")
    return text


_PLAIN_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def number(text: str) -> float:
    value = float(text) if _PLAIN_NUMBER.fullmatch(text) else 0.0
    least, most = magnitudes()
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number above 0 (7e9, 4096), from {least:g} to {most:g}"
        )
    return value


class Parser(argparse.ArgumentParser):
    """An argparse parser with one-line errors; unknown options are reported first."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but reports an unknown option even if a required one is missing."""
        names = list(self._option_string_actions)
        for word in args or ():
            if word == "--":
                break
            name = word.partition("=")[0]
            if name.startswith("--") and not any(known.startswith(name) for known in names):
                self.error(f"{name}: not an option{meant(name, names)}")
        return super().parse_known_args(args, namespace)

    def print_help(self, file: object = None) -> None:
        """argparse's own swallows the error of a closed pipe."""
        show(self.format_help().splitlines())

    def error(self, message: str) -> NoReturn:
        """Ends the program with the exit code of bad usage."""
        self.exit(refused(self.prog, f"{message} (see {self.prog} --help)"))
