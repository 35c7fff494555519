"""peakline-report: pictures and a page from profiles."""

import argparse
import gc
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peakline.commands.arguments import Parser, number, path, size
from peakline.commands.condition import SLOWER, Condition, condition
from peakline.commands.documents import page_of
from peakline.commands.terminal import CANNOT_JUDGE, note, refused, show, show_document
from peakline.limits.ceilings import ceiling_table
from peakline.models.inference import Serving
from peakline.models.served import BATCHES, CONTEXTS, Served, answer, decoding, served
from peakline.page import first_screen
from peakline.peaks.mfu import Utilization, mfu
from peakline.peaks.storage import InputBound, InputNeed, input_bound
from peakline.pictures import DrawingUnavailable
from peakline.profile import PeakError, Profile, ProfileError, load
from peakline.profile.peaks import known_peaks
from peakline.report import build, is_page_of, refuse_existing, stem, write
from peakline.workload import change_text, kernel_text
from peakline.workload.analysis import Analysis, analyze
from peakline.workload.change import Change, compare
from peakline.workload.document import document, kernel_document
from peakline.workload.kernel import WorkloadError
from peakline.workload.ncu import NCU_COMMAND
from peakline.workload.placement import Placement, place
from peakline.workload.read import read_kernels
from peakline.workload.step_text import lines, wrapped

FORMATS = ("html", "png", "svg", "pdf")


def _formats(text: str) -> list[str]:
    chosen = [part.strip().lower() for part in text.split(",") if part.strip()]
    unknown = [part for part in chosen if part not in FORMATS]
    if unknown or not chosen:
        raise argparse.ArgumentTypeError(
            f"{text!r}: use one or more of {','.join(FORMATS)}, separated by commas"
        )
    return chosen


def report_parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=program,
        description="Draws profiles of peakline run: one self-contained report.html, or pictures.",
        epilog="Examples:\n"
        f"  {program} profiles/node7.json -o report\n"
        f"  {program} node7.json --kernels kernels.csv\n"
        f"  {program} node7.json --kernels kernels.csv --json --fail-on impossible\n"
        f"  {program} node7.json --trace trace.json.gz --fail-on 'idle>10%'\n"
        f"  {program} node7.json --trace before.json.gz --against after.json.gz\n"
        f"  {program} node7.json --bytes-per-sample 150kB --samples-per-s 3000\n"
        f"  {program} node7.json --hf-config Llama-3.1-8B/\n"
        f"  {program} old.json new.json --format html,png\n"
        f"  peakline compare old.json -- new.json --json > comparison.json; {program} "
        "comparison.json\n"
        f"  peakline fleet profiles/ --json > fleet.json; {program} fleet.json\n\n"
        f"Kernels for --kernels come from\n  {NCU_COMMAND}",
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
        "-o", "--output", type=path, metavar="DIR", help="where to write (default: beside PROFILE)"
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace any existing files; pages of the same files are replaced in any case",
    )
    parser.add_argument(
        "--format",
        type=_formats,
        metavar="LIST",
        help=f"{','.join(FORMATS)}, separated by commas (default: html)",
    )
    parser.add_argument(
        "--kernels",
        type=path,
        metavar="FILE",
        help="kernels to hold against the ceilings: a report of ncu (.ncu-rep) or its raw page as "
        "CSV, a torch.profiler trace (.json, .json.gz), or a CSV of name,flop,bytes,seconds",
    )
    parser.add_argument(
        "--device",
        help="the device that the kernels or steps ran on, or the samples or the model are for: "
        "index, UUID, model or host",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        dest="every",
        help=f"print every kernel (default: {_MOST_KERNELS})",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print what --kernels, --trace or --bytes-per-sample finds as a JSON document, and "
        "draw nothing",
    )
    parser.add_argument(
        "--fail-on",
        metavar="WHAT",
        type=_failing,
        help="exit with 1 where WHAT holds: impossible (a kernel does more than a ceiling allows, "
        "so that a count, a time or the device is wrong), or with --trace a part of the step that "
        "takes more than a share: idle>10%%, or another part by its name in --json; with --against "
        "slower>5%%",
    )
    steps = parser.add_argument_group("where the time of a step goes")
    steps.add_argument(
        "--trace",
        nargs="+",
        action="extend",
        type=path,
        metavar="FILE",
        help="a torch.profiler trace (.json, .json.gz), or a report of Nsight Systems (.nsys-rep) "
        "or its SQLite export; one file per rank",
    )
    steps.add_argument(
        "--against",
        nargs="+",
        action="extend",
        type=path,
        metavar="FILE",
        help="traces of a later run: what changed from those of --trace, part by part and kernel "
        "by kernel; exit code 3 where the runs are not comparable",
    )
    steps.add_argument(
        "--range",
        default="",
        metavar="NAME",
        help="the ranges that are steps, by name, beginning or pattern (execute_*), or decode, "
        "prefill or mixed (default: ProfilerStep#, a range called step, or a server's steps)",
    )
    steps.add_argument(
        "--step-flop",
        type=number,
        metavar="F",
        help="FLOPs of the model in a step on one device, for MFU: those of a token, as "
        "peakline-mfu counts them, times the tokens",
    )
    steps.add_argument(
        "--dtype", metavar="D", help="precision of the step's products, for MFU: bf16, fp8, ..."
    )
    samples = parser.add_argument_group("whether storage keeps up (run --storage)")
    samples.add_argument(
        "--bytes-per-sample",
        type=size,
        metavar="SIZE",
        help="what a sample takes on storage, such as 150kB",
    )
    samples.add_argument(
        "--samples-per-s", type=number, metavar="N", help="how many a GPU is to get each second"
    )
    parser.add_argument_group("what a language model may decode").add_argument(
        "--hf-config",
        type=path,
        metavar="DIR|FILE",
        help="config.json of a model: the bounds of peakline-llm, as a table and a picture",
    )
    return parser


def _failing(text: str) -> str | Condition:
    if text == "impossible":
        return text
    try:
        return condition(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; or impossible") from error


# Options that need one PROFILE (and which), need one of others, go in pairs, or exclude each other.
_WORK = ("--kernels", "--trace")
_ABOUT = (*_WORK, "--bytes-per-sample", "--hf-config")
_OF_CHANGE, _OF_PART, _OF_RUN = "--fail-on 'slower>5%'", "--fail-on PART>...", "this --fail-on"
_ONE_PROFILE = {
    **dict.fromkeys(_ABOUT, "that of the machine"),
    **dict.fromkeys(_WORK, "that of the machine it ran on"),
}
_NEEDS = {
    "--fail-on": _WORK,
    **dict.fromkeys(("--device", "--json"), _ABOUT),
    **dict.fromkeys(("--range", "--step-flop", "--against", _OF_PART), ("--trace",)),
    _OF_CHANGE: ("--against",),
}
_PAIRS = {
    ("--bytes-per-sample", "--samples-per-s"): "they tell the need",
    ("--step-flop", "--dtype"): "they tell MFU",
}
_APART: dict[tuple[str, ...], str] = {
    _WORK: "use one of both; a trace has a table of kernels too",
    ("--hf-config", "--json"): "peakline-llm --json prints its document",
    **dict.fromkeys((("--hf-config", x) for x in _WORK), "use one of both; a model needs no run"),
    **{("--json", "--bytes-per-sample", x): "--json prints one document" for x in _WORK},
    **{(x, "--against"): f"{x} is about one run" for x in ("--step-flop", "--bytes-per-sample")},
    ("--against", _OF_RUN): f"use {_OF_CHANGE}",
    **{("--json", x): "--json draws nothing" for x in ("--output", "--format")},
}


def _listed(options: Sequence[str], last: str) -> str:
    return f"{', '.join(options[:-1])} {last} {options[-1]}" if options[1:] else options[0]


def _check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    given = {f"--{name.replace('_', '-')}" for name, value in vars(options).items() if value}
    if isinstance(options.fail_on, Condition):
        given.add(_OF_CHANGE if options.fail_on.name == SLOWER else _OF_PART)
    if options.fail_on and _OF_CHANGE not in given:
        given.add(_OF_RUN)
    for option, which in _ONE_PROFILE.items():
        if option in given and len(options.profiles) > 1:
            parser.error(f"{option} needs exactly one PROFILE: {which}")
    for option, needed in _NEEDS.items():
        if option in given and given.isdisjoint(needed):
            parser.error(f"{option} only goes with {_listed(needed, 'or')}")
    for pair, why in _PAIRS.items():
        if len(given.intersection(pair)) == 1:
            parser.error(f"{_listed(pair, 'and')} only go together: {why}")
    for apart, why in _APART.items():
        if given.issuperset(apart):
            parser.error(f"{_listed(apart, 'and')}: {why}")


@dataclass(frozen=True, slots=True)
class _Found:
    """Kernels, and a run's steps or the change between two, as requested."""

    placements: Sequence[Placement] = ()
    ran: Analysis | Change | None = None
    shares: Mapping[str, Utilization] = field(default_factory=dict)  # by basis


def _found(profile: Profile, options: argparse.Namespace) -> _Found:
    if options.kernels:
        return _Found(place(profile, read_kernels(options.kernels), options.device))
    if not options.trace:
        return _Found()
    analysis = analyze(profile, options.trace, options.device, options.range)
    if options.against:
        after = analyze(profile, options.against, options.device, options.range)
        return _Found(ran=compare(analysis, after))
    return _Found(analysis.kernels_of_step, analysis, _shares(profile, analysis, options))


def _write_page(name: str, page: str, options: argparse.Namespace, program: str) -> int:
    others = (options.kernels, options.trace, options.bytes_per_sample, options.hf_config)
    if (options.format or ["html"]) != ["html"] or any(others):
        return refused(
            program,
            f"a {name} has one page, without --kernels, --trace, --format, samples or --hf-config",
        )
    folder = Path(options.output or Path(options.profiles[0]).with_suffix(""))
    show(_write({f"{name}.html": page.encode("utf-8")}, folder, options, program))
    return 0


def _write(
    files: dict[str, bytes], folder: Path, options: argparse.Namespace, program: str
) -> list[Path]:
    """Writes the files, and says which pages of the same input they replace unasked."""
    made_from = _inputs(options)
    replaced = [path for name in files if is_page_of(path := folder / name, made_from)]
    paths = write(files, folder, options.overwrite, made_from)
    for path in () if options.overwrite else replaced:
        note(program, f"replaced {path}, an earlier report of the same files")
    return paths


def _inputs(options: argparse.Namespace) -> str:
    """The files that a report is made from, by which a later one knows its pages."""
    asked = (options.kernels, *(options.trace or ()), *(options.against or ()), options.hf_config)
    return "\n".join(str(Path(name).resolve()) for name in (*options.profiles, *asked) if name)


def main(arguments: Sequence[str] | None = None, program: str = "peakline-report") -> int:
    """Runs the command; returns 0, 1 for what --fail-on names, 2 for unusable input, or 3 for runs
    that are not comparable."""
    # Figures have thousands of cyclic objects; the default collection costs 10 % of a page's time.
    gc.set_threshold(100_000)
    # The environment's backend may be missing here: a notebook's shell names Jupyter's.
    os.environ["MPLBACKEND"] = "agg"
    parser = report_parser(program)
    options = parser.parse_args(arguments)
    _check(options, parser)
    try:
        if len(options.profiles) == 1 and (other := page_of(options.profiles[0])):
            return _write_page(*other, options, program)
        profiles = [load(path) for path in options.profiles]
        formats = options.format or ["html"]
        beside = Path(options.profiles[0]).parent / stem(options.profiles[0])
        folder = Path(options.output or beside)
        if "html" in formats and not (options.json or options.overwrite):
            # Before half a minute of drawing.
            refuse_existing([folder / "report.html"], _inputs(options))
        found = _found(profiles[0], options)
        need, bound, model = _asked(profiles[0], options)
        if options.json:
            show_document(_document(profiles[0], found, bound))
            return _failed(found, options)
        screens = [first_screen(path) for path in options.profiles] if "html" in formats else []
        files = build(profiles, formats, found.placements, found.ran, need, model, screens)
        paths = _write(files, folder, options, program)
    except (ProfileError, WorkloadError, PeakError, DrawingUnavailable) as error:
        return refused(program, error)
    except FileExistsError as error:
        return refused(
            program,
            f"{error.filename} already exists and is no unchanged page of these files: give "
            "--overwrite, or another directory by -o",
        )
    except OSError as error:
        if error.filename is None:  # of standard output
            raise
        return refused(program, f"{error.filename} cannot be written: {error.strerror or error}")
    _print(profiles[0], found, bound, model, options.every)
    if not files:
        return refused(
            program, "nothing to draw: the profile has no measurement that a picture shows"
        )
    if not any(ceiling_table(p, d)[1] for p in profiles for d in p.measured_devices()):
        note(program, "note: the profile has no ceilings")
    show(paths)
    return _failed(found, options)


# Kernels that are printed; more would hide what stands before them.
_MOST_KERNELS = 10


def _print(
    profile: Profile, found: _Found, bound: InputBound | None, model: Served | None, every: bool
) -> None:
    width = shutil.get_terminal_size().columns
    said: list[str] = []
    called = kernel_text.YOURS
    if isinstance(found.ran, Change):
        show(change_text.lines(found.ran, width))
    elif found.ran:
        called = found.ran.kernels_called
        show([*lines(found.ran, found.shares, width), f"{called}:"])
    if found.placements:
        most = None if every else _MOST_KERNELS
        first = list(kernel_text.lead(profile, found.placements, called))
        if found.ran:  # steps have an answer of their own
            said += first
        else:
            show([line for text in first for line in wrapped(text, width)] + [""])
        show(kernel_text.table(profile, found.placements, width, most))
        said += kernel_text.remarks(profile, found.placements)
    said += [str(bound)] if bound else []
    if model:
        said.append(answer(decoding(profile, model, BATCHES[:1], CONTEXTS[:1]), profile.label))
    for text in said:
        show(wrapped(text, width))


def _document(profile: Profile, found: _Found, bound: InputBound | None) -> dict[str, Any]:
    if bound:
        return bound.document()
    if isinstance(found.ran, Change):
        return change_text.document(found.ran)
    if found.ran:
        return document(found.ran, found.shares.values())
    return kernel_document(profile, found.placements)


def _asked(
    profile: Profile, options: argparse.Namespace
) -> tuple[InputNeed | None, InputBound | None, Served | None]:
    """The need of the GPUs with the link that binds it, and the model to bound, if given."""
    need = bound = model = None
    try:
        if options.bytes_per_sample:
            sample = options.bytes_per_sample, options.samples_per_s
            need, bound = InputNeed(*sample), input_bound(profile, *sample, device=options.device)
        if options.hf_config:
            model = served(options.hf_config, Serving(device=options.device))
    except ValueError as error:
        raise PeakError(str(error)) from error
    return need, bound, model


def _shares(
    profile: Profile, analysis: Analysis, options: argparse.Namespace
) -> dict[str, Utilization]:
    """MFU of a step, and its shares of the measured peaks, by basis; none without its FLOPs."""
    if not options.step_flop:
        return {}
    unmarked = [rank.timeline.trace.name for rank in analysis.ranks if not rank.by]
    if unmarked:
        raise WorkloadError(
            f"--step-flop: no steps are marked in {unmarked[0]}; name their ranges by --range"
        )
    try:
        peaks = known_peaks(
            ("datasheet", "theoretical", "burst", "sustained"),
            lambda basis: profile.peak(options.dtype, basis=basis, device=options.device),
        )
    except PeakError as error:
        raise PeakError(f"--dtype: {error}") from error
    if "datasheet" in peaks:
        peaks.pop("theoretical", None)
    try:
        return {b: mfu(options.step_flop, analysis.step_s, peak) for b, peak in peaks.items()}
    except ValueError as error:
        raise WorkloadError(f"--step-flop: {error}") from error


def _failed(found: _Found, options: argparse.Namespace) -> int:
    if isinstance(found.ran, Change) and not found.ran.comparable:
        return CANNOT_JUDGE
    if isinstance(options.fail_on, Condition):
        return int(found.ran is not None and options.fail_on.holds(found.ran))
    return int(options.fail_on == "impossible" and any(p.impossible for p in found.placements))
