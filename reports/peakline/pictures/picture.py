"""A picture's description and group, and its rendering as a figure, a file or part of a page."""

import importlib.util
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from peakline.names import level_of
from peakline.pictures import titles
from peakline.pictures.canvas import Canvas, Figure, enlarge, text_width
from peakline.pictures.style import CSS_VARIABLES, INK, MUTED, style
from peakline.profile import HOST, NODE, Profile
from peakline.text import escape, printable


class DrawingUnavailable(RuntimeError):
    """matplotlib is not installed."""


def require_matplotlib() -> None:
    """Raises DrawingUnavailable, which says what to install."""
    if importlib.util.find_spec("matplotlib") is None:
        raise DrawingUnavailable("drawing needs matplotlib: pip install matplotlib")


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture of one device: its texts, and how to draw it."""

    key: str
    title: str  # subject, and after a colon its details
    how: str  # one sentence on how to read it
    draw: Callable[[Canvas], Figure]
    topics: tuple[str, ...] = ()  # profile's curves that it shows
    every_device: bool = False  # whether devices of one model differ in it, by power, heat or slot
    group: str = ""  # part of a page
    headline: str = ""  # main conclusion
    warning: str = ""  # what of it varied
    stamp: str = ""  # what was measured, when, and by which version

    @property
    def subject(self) -> str:
        return self.title.partition(":")[0]


def stamp(profile: Profile, device: str) -> str:
    return f"{profile.device_name(device)}, {profile.created[:10]}, {profile.tool}"


def render(picture: Picture, file_format: str, canvas: Canvas | None = None) -> bytes:
    """The picture as a file with heading and stamp: "svg", "png" (150 dpi) or "pdf"."""
    chosen = canvas or Canvas()
    with style():
        figure = picture.draw(chosen)
        add_frame(figure, picture, chosen)
        return _saved(figure, file_format, picture)


def _saved(figure: Figure, file_format: str, picture: Picture) -> bytes:
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file_format, {})
    about = {"Title": printable(f"{picture.headline or picture.title} ({picture.stamp})")}
    target = io.BytesIO()
    if file_format == "svg":
        titles.complete(figure)
    figure.savefig(target, format=file_format, dpi=150, metadata={**dates, **about})
    if file_format == "svg":
        return titles.in_svg(target.getvalue().decode("utf-8")).encode("utf-8")
    return target.getvalue()


def draw(picture: Picture, canvas: Canvas | None = None) -> Figure:
    """The matplotlib figure, to be extended."""
    with style():
        return picture.draw(canvas or Canvas())


def add_frame(figure: Figure, picture: Picture, canvas: Canvas) -> None:
    """Writes the headline above the picture, and title and stamp below."""
    width, height = map(float, figure.get_size_inches())
    margin, size, line = 0.12, canvas.font + 2.5, (canvas.font + 2.5) * 1.3 / 72
    room = (width - 2 * margin) * 72 * _FITTED
    heading = _wrapped(picture.headline or picture.title, room, size, "bold")
    below = f"{picture.title} | {picture.stamp}" if picture.headline else picture.stamp
    foot = _wrapped(below, room, canvas.font - 1.5)
    small = (canvas.font - 1.5) * 1.3 / 72
    top, bottom = 0.14 + line * len(heading), 0.1 + small * len(foot)
    whole = height + top + bottom
    enlarge(figure, top, bottom)
    figure.text(
        margin / width,
        1 - 0.08 / whole,
        "\n".join(heading),
        fontsize=size,
        fontweight="bold",
        color=INK,
        va="top",
    )
    figure.text(
        margin / width,
        0.07 / whole,
        "\n".join(foot),
        fontsize=canvas.font - 1.5,
        color=MUTED,
        va="bottom",
    )


# Share of a line to fill: glyphs fitted to pixels may be wider than measured.
_FITTED = 0.95
# Limits long device names.
_MOST_LINES = 3
_NO_BREAK = "\N{NO-BREAK SPACE}"


def unbroken(text: str) -> str:
    """A single-line text with no break between a number and what follows, or a GPU's name."""
    return re.sub(r"(?<=\d) (?=\D)|(?<=\bGPU) (?=\d)", _NO_BREAK, " ".join(text.split()))


def _wrapped(text: str, room: float, font: float, weight: str = "normal") -> list[str]:
    """A text in lines of at most `room` points; longer words are cut."""
    lines = [""]
    for word in unbroken(text).split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if text_width(longer, font, weight) <= room:
            lines[-1] = longer
            continue
        while text_width(word, font, weight) > room:
            word = word[: len(word) * 3 // 4].rstrip("…") + "…"
        lines.append(word)
    return [line.replace(_NO_BREAK, " ") for line in lines if line][:_MOST_LINES]


_ID = re.compile(r'(\bid="|url\(#|xlink:href="#)([^")]+)')
_COLOR = re.compile("|".join(CSS_VARIABLES), re.IGNORECASE)
# Invisible in a page: indentation, blanks in styles, names of groups, rotations by 0, and the font.
# scour (0.38) leaves 14 % more and takes seven times as long, 1.5 s per page.
_UNSEEN = re.compile(
    r"""<!--.*?--> | (?<=>)\s+(?=<) | (?<=<g)\ id="[^"]*"
    | \ transform="rotate\(-?0\ [^"]*" | font-family:\ 'DejaVu\ Sans';[ ]
    | (?<=[:;])\ (?=[^<>"]*"[^<>]*>)""",
    re.DOTALL | re.VERBOSE,
)
# Coordinates in tenths of a point, a fifth of a pixel on a laptop.
_PLACE = re.compile(r'(?<= [xy]=")[^"]*')
_PATH = re.compile(r'(?<= d=")[^"]*')
_STEP = re.compile(r"([A-Za-z])([^A-Za-z]*)")


def _tenths(value: int) -> str:
    return f"{value / 10:g}"


def _pair(x: int, y: int) -> str:
    return f"{_tenths(x)}{'' if y < 0 else ' '}{_tenths(y)}"


def _path(match: re.Match[str]) -> str:
    """A path with relative straight lines, which take fewer digits."""
    steps = []
    start = here = (0, 0)
    for command, numbers in _STEP.findall(match[0]):
        values = [round(10 * float(number)) for number in numbers.split()]
        points = list(zip(values[::2], values[1::2], strict=True))
        if command == "L":
            x, y = points[0][0] - here[0], points[0][1] - here[1]
            flat = f"v{_tenths(y)}" if not x else f"h{_tenths(x)}"
            steps.append(f"l{_pair(x, y)}" if x and y else flat)
        else:
            steps.append(command + " ".join(_pair(x, y) for x, y in points))
        if command == "M":
            start = points[0]
        here = points[-1] if points else start
    return "".join(steps)


# A group without a title is useless; a title is shown on hovering.
_GROUP = re.compile(r"(<g>(?!<title>))|(<g[ >][^<]*|</g>)")


def _grouped(body: str) -> str:
    kept: list[bool] = []  # of open groups

    def shown(match: re.Match[str]) -> str:
        if match[0] == "</g>":
            return match[0] if kept.pop() else ""
        kept.append(match[1] is None)
        return match[0] if kept[-1] else ""

    return _GROUP.sub(shown, body)


def inline_svg(picture: Picture, canvas: Canvas, prefix: str) -> str:
    """SVG for an HTML page: scales with its column, with the page's colours and font. prefix:
    distinguishes its ids from those of the page's other pictures."""
    with style():
        text = _saved(picture.draw(canvas), "svg", picture).decode("utf-8")
    text = text[text.index("<svg") :]
    head, _, body = text.partition(">")
    view_box = re.search(r'viewBox="[^"]*"', head)
    assert view_box is not None
    # Drop matplotlib's metadata, and its style sheet, which would apply to the whole page.
    body = body[body.index("</defs>") + len("</defs>") :]
    ids: dict[str, str] = {}
    # SVG 2 uses plain "href".
    body = _ID.sub(
        lambda m: m[1].removeprefix("xlink:") + ids.setdefault(m[2], f"{prefix}{len(ids)}"), body
    )
    body = _COLOR.sub(lambda match: f"var({CSS_VARIABLES[match.group(0).lower()]})", body)
    # Room measured for DejaVu Sans suffices for any other font.
    body = _grouped(_UNSEEN.sub("", body))
    body = _PLACE.sub(lambda match: _tenths(round(10 * float(match[0]))), body)
    body = _PATH.sub(_path, body)
    about = escape(f"{picture.title}. {picture.headline}".strip())
    return f'<svg {view_box.group(0)} role="group" aria-label="{about}">{body}'


LIMITS, COMPUTE, MEMORY, LINKS = "Limits", "Compute", "Memory", "Links"
LAUNCH, ON_HOST, OTHER = "Launch and synchronization", "Host", "Other"
GROUPS = (LIMITS, COMPUTE, MEMORY, LINKS, LAUNCH, ON_HOST, OTHER)

_OF_AREA = {
    "roofline": LIMITS,
    **dict.fromkeys(("atomics", "divergence", "fma", "gemm", "instruction"), COMPUTE),
    **dict.fromkeys(("sms", "soak"), COMPUTE),
    **dict.fromkeys(("alignment", "cache", "copy", "dsmem", "hbm", "l1", "latency"), MEMORY),
    **dict.fromkeys(("layout", "occupancy", "random", "shared", "update"), MEMORY),
    **dict.fromkeys(("allocation", "c2c", "input", "nccl", "p2p", "pcie", "storage"), LINKS),
    **dict.fromkeys(("fusion", "launch", "overlap", "synchronization"), LAUNCH),
    "host": ON_HOST,
}


def group_of(device: str, ids: Sequence[str]) -> str:
    """The group of a picture by its first benchmark; without any it is about the whole device."""
    if device in (NODE, HOST):
        return LINKS if device == NODE else ON_HOST
    return _OF_AREA.get(level_of(ids[0]), OTHER) if ids else LIMITS
