"""peakline-llm: bounds of a language model's tokens per second on a measured GPU."""

import argparse
import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from peakline import units
from peakline.commands.arguments import Parser, number, path
from peakline.commands.terminal import refused, show, show_document
from peakline.limits.collectives import ALL_REDUCES
from peakline.models.formats import CACHE_FORMATS, WEIGHT_FORMATS
from peakline.models.inference import Serving
from peakline.models.served import (
    BATCHES,
    CONTEXTS,
    answer,
    decoding,
    first_tokens,
    restoring,
    served,
    turning,
)
from peakline.pictures.decode import decode_picture
from peakline.pictures.picture import DrawingUnavailable, render, require_matplotlib
from peakline.profile import PeakError, ProfileError, load

_MOST = 1 << 30
_COUNT = re.compile(r"([1-9][0-9]{0,9})(k?)")


def _count(text: str) -> int:
    """A positive integer: "8192", or "8k" (x 1024)."""
    match = _COUNT.fullmatch(text.strip().lower())
    value = int(match[1]) * (1024 if match[2] else 1) if match else 0
    if not 0 < value <= _MOST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number above 0, such as 64, 8192 or 8k"
        )
    return value


def _counts(text: str) -> list[int]:
    return list(dict.fromkeys(_count(part) for part in text.split(",")))


def llm_parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=program,
        description="Bounds the tokens per second that a measured GPU can decode, and the time to "
        "the first token; estimates what library kernels reach.",
    )
    parser.add_argument(
        "--profile", type=path, required=True, metavar="FILE", help="that peakline run wrote"
    )
    parser.add_argument(
        "--hf-config", type=path, required=True, metavar="DIR|FILE", help="config.json of a model"
    )
    parser.add_argument("--device", help="index, UUID or model (default: the GPUs)")
    parser.add_argument(
        "--tp", type=_count, default=1, metavar="N", help="GPUs that share each layer (default: 1)"
    )
    parser.add_argument(
        "--all-reduce",
        choices=list(ALL_REDUCES),
        help="with --tp: what the estimate of library kernels takes for it (default: nccl)",
    )
    parser.add_argument(
        "--batch", type=_counts, default=list(BATCHES), metavar="B,...", help="default: 1,8,64"
    )
    parser.add_argument(
        "--context",
        type=_counts,
        default=list(CONTEXTS),
        metavar="C,...",
        help="tokens before the one that is decoded (default: 1k,8k,32k)",
    )
    parser.add_argument(
        "--weights",
        metavar="FORMAT",
        help=f"{', '.join(WEIGHT_FORMATS)} ; the output "
        "head stays bf16 (default: as the checkpoint says)",
    )
    parser.add_argument("--kv-cache", choices=CACHE_FORMATS, help="default: as the checkpoint says")
    parser.add_argument(
        "--tokens-per-second",
        type=number,
        metavar="X",
        help="achieved by all sequences: prints its share; needs one batch and one context",
    )
    parser.add_argument(
        "--joules-per-token",
        type=number,
        metavar="J",
        help="measured on all boards: prints how much of it the estimate explains; needs one batch "
        "and one context, and a profile of run --energy",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "-o",
        "--output",
        type=path,
        metavar="DIR",
        help="draw tokens/s by batch, a picture for each context",
    )
    return parser


def _run(
    options: argparse.Namespace, parser: argparse.ArgumentParser
) -> tuple[dict[str, Any], Callable[[str], str]]:
    """The document, and the labels of its resources."""
    rate, joules = options.tokens_per_second, options.joules_per_token
    for given, flag in ((rate, "--tokens-per-second"), (joules, "--joules-per-token")):
        if given and (len(options.batch) > 1 or len(options.context) > 1):
            parser.error(f"{flag} needs one --batch and one --context")
    if options.all_reduce and options.tp == 1:
        parser.error("--all-reduce needs --tp of 2 or more: one GPU has nothing to reduce")
    if options.output:
        require_matplotlib()
    by = options.all_reduce or "nccl"
    serving = Serving(tp=options.tp, device=options.device, all_reduce=by)
    of = served(options.hf_config, serving, weights=options.weights, kv_cache=options.kv_cache)
    profile = load(options.profile)
    if options.output:
        folder = Path(options.output)
        folder.mkdir(parents=True, exist_ok=True)
        for context in options.context:
            one = dataclasses.replace(of.serving, context=context)
            picture = decode_picture(profile, of.model, of.name, one)
            (folder / f"decode-{context}.png").write_bytes(render(picture, "png"))
    return decoding(profile, of, options.batch, options.context, rate, joules), profile.label


def _lines(result: dict[str, Any], label: Callable[[str], str]) -> list[str]:
    split = f" x {result['tp']}, all-reduce: {result['all_reduce']}" if result["tp"] > 1 else ""
    lines = [result["device"] + split]
    energy = any(row["joules_per_token"] for row in result["decode"])

    def line(*cells: object) -> str:
        batch, context, most, kernels, joules, limiter, memory = cells
        of_energy = f"{joules:>7}  " if energy else ""
        return f"{batch:>6} {context:>8} {most:>9} {kernels:>9}  {of_energy}{limiter:12} {memory}"

    def figure(value: float | None) -> str:
        return units.number(value) if value else "–"

    lines.append(f"{'':15} {'tokens/s':>9} {'library':>9}  (of all sequences)")
    lines.append(line("batch", "context", "at most", "kernels", "J/token", "limiter", "memory"))
    for row in result["decode"]:
        fits = {True: "", False: ", does not fit", None: ""}[row["fits"]]
        largest = row["largest_batch"]
        lines.append(
            line(
                row["batch"],
                row["context"],
                figure(row["tokens_per_s"]),
                figure(row["kernels_tokens_per_s"]),
                figure(row["joules_per_token"]),
                label(row["limiter"]),
                f"{row['memory_bytes'] / 1e9:.1f} GB{fits}"
                + (f" (largest batch {largest})" if largest is not None else ""),
            )
        )
    lines += [first_tokens(result), *filter(None, [restoring(result)])]
    lines.append(turning(result))
    same = result["decode"][-1]
    if same["same_experts_tokens_per_s"] > 1.001 * same["tokens_per_s"]:
        lines.append(
            f"If all {same['batch']} tokens chose the same experts: at most "
            f"{units.number(same['same_experts_tokens_per_s'])} tokens/s at context "
            f"{same['context']}."
        )
    achieved = result["achieved"]
    if achieved:
        shares = [
            f"{units.percent(achieved[f'mbu_{name}'])} of the {name} bandwidth"
            for name in ("published", "measured")
            if f"mbu_{name}" in achieved
        ]
        if shares:
            lines.append(f"MBU: {', '.join(shares)}.")
        if achieved["of_bound"] > 1:
            lines.append(
                "Above 100 %: check the format of weights and KV cache, speculative decoding, "
                "a prefix cache, and how experts were chosen."
            )
    return [*lines, *result["notes"], answer(result, label)]


def main(arguments: Sequence[str] | None = None, program: str = "peakline-llm") -> int:
    """Runs the command; returns its exit code: 0, or 2 for unusable input."""
    parser = llm_parser(program)
    options = parser.parse_args(arguments)
    try:
        result, label = _run(options, parser)
    except (ProfileError, PeakError, ValueError, OSError, DrawingUnavailable) as error:
        return refused(program, error)
    if options.json:
        show_document(result)
    else:
        show(_lines(result, label))
    return 0
