"""peakline-llm: how many tokens per second a measured GPU can decode at the most."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peakline import units
from peakline.arguments import Parser
from peakline.models.config import from_hf_config
from peakline.models.estimate import decode_kernels
from peakline.models.formats import (
    CACHE_FORMATS,
    WEIGHT_FORMATS,
    Formats,
    context_limit,
    stored_formats,
)
from peakline.models.inference import TokenBound, decode_bound, mbu, prefill_bound, turning_batches
from peakline.pictures.decode import decode_picture
from peakline.pictures.picture import DrawingUnavailable, render, require_matplotlib
from peakline.profile import PUBLISHED_BASES, PeakError, Profile, ProfileError, load

_MOST = 1 << 30
_COUNT = re.compile(r"([1-9][0-9]{0,9})(k?)")


def _count(text: str) -> int:
    """A whole number above 0: "8192" or "8k", of 1024."""
    match = _COUNT.fullmatch(text.strip().lower())
    value = int(match[1]) * (1024 if match[2] else 1) if match else 0
    if not 0 < value <= _MOST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number above 0, such as 64, 8192 or 8k"
        )
    return value


def _counts(text: str) -> list[int]:
    return list(dict.fromkeys(_count(part) for part in text.split(",")))


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=program,
        description="Bounds the tokens per second that a measured GPU can decode, and the time to "
        "the first token; estimates what library kernels reach.",
    )
    parser.add_argument("--profile", required=True, metavar="FILE", help="that peakline run wrote")
    parser.add_argument(
        "--hf-config", required=True, metavar="DIR|FILE", help="config.json of a model"
    )
    parser.add_argument("--device", help="index, UUID or model (default: the GPUs)")
    parser.add_argument(
        "--tp", type=_count, default=1, metavar="N", help="GPUs that share each layer (default: 1)"
    )
    parser.add_argument(
        "--batch", type=_counts, default=[1, 8, 64], metavar="B,...", help="default: 1,8,64"
    )
    parser.add_argument(
        "--context",
        type=_counts,
        default=[1024, 8192, 32768],
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
        type=_rate,
        metavar="X",
        help="achieved, over all sequences: prints its share; needs one batch and one context",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "-o", "--output", metavar="DIR", help="draw tokens/s by batch, a picture for each context"
    )
    return parser


def _formats(options: argparse.Namespace) -> Formats:
    if options.weights:
        return Formats(options.weights, options.kv_cache or "bf16")
    found = stored_formats(Path(options.hf_config))
    if options.kv_cache:
        return dataclasses.replace(found, kv_cache=options.kv_cache)
    return found


def _name(path: Path) -> str:
    """How a model is called: the folder of a config.json, else the file without its ending."""
    folder = path if path.is_dir() else path.resolve().parent
    return (
        folder.name
        if path.is_dir() or path.name == "config.json"
        else path.stem.removesuffix("_config")
    )


def _row(step: TokenBound, batch: int, context: int, kernels: float | None) -> dict[str, Any]:
    return {
        "batch": batch,
        "context": context,
        "tokens_per_s": step.tokens_per_s,
        "step_s": step.seconds,
        "limiter": step.limiter,
        "needs_s": dict(step.needs),
        "bytes": step.bytes,
        "flop": step.flop,
        "memory_bytes": step.memory_bytes,
        "fits": step.fits,
        "largest_batch": step.largest_batch,
        "same_experts_tokens_per_s": batch / step.one_choice_s,
        "kernels_tokens_per_s": kernels,
    }


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> dict[str, Any]:
    rate = options.tokens_per_second
    if rate and (len(options.batch) > 1 or len(options.context) > 1):
        parser.error("--tokens-per-second needs one --batch and one --context")
    if options.output:
        require_matplotlib()
    path = Path(options.hf_config)
    model = from_hf_config(path / "config.json" if path.is_dir() else path)
    formats, profile = _formats(options), load(options.profile)
    shared: dict[str, Any] = {"tp": options.tp, "formats": formats, "device": options.device}
    notes, rows, prefills = [], [], []
    kernels_missing = ""
    for context in options.context:
        for batch in options.batch:
            given = {"batch": batch, "context": context, **shared}
            step = decode_bound(profile, model, **given)
            estimate = None
            try:
                estimate = decode_kernels(profile, model, **given).tokens_per_s
            except PeakError as error:
                kernels_missing = str(error)
            rows.append(_row(step, batch, context, estimate))
        prefill = prefill_bound(profile, model, context=context, **shared)
        prefills.append(
            {"context": context, "seconds": prefill.seconds, "limiter": prefill.limiter}
        )
    notes += [*step.notes, *([kernels_missing] if kernels_missing else [])]
    if formats == Formats() and not options.weights:
        notes.append("No quantization is stated, so weights and KV cache are taken as BF16.")
    longest = context_limit(path)
    if longest and max(options.context) > longest:
        notes.append(f"The model's longest context is {longest} tokens.")
    if model.left_out:
        notes.append(f"Not counted: {model.left_out}.")
    if options.output:
        for context in options.context:
            picture = decode_picture(profile, model, _name(path), context=context, **shared)
            folder = Path(options.output)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"decode-{context}.png").write_bytes(render(picture, "png"))
    turns = turning_batches(profile, model, context=options.context[0], **shared)
    return {
        "schema": "peakline-llm",
        "schema_version": 1,
        "model": _name(path),
        "device": profile.device_name(profile.select_devices(options.device)[0]),
        "tp": options.tp,
        "formats": dataclasses.asdict(formats),
        "decode": rows,
        "prefill": prefills,
        "turning_batches": {"context": options.context[0], **dataclasses.asdict(turns)},
        "achieved": _achieved(profile, options, rows[0], step) if rate else None,
        "notes": notes,
    }


def _achieved(
    profile: Profile, options: argparse.Namespace, row: dict[str, Any], step: TokenBound
) -> dict[str, Any]:
    """Shares of the bound and of bandwidths, by name."""
    rate, batch = options.tokens_per_second, row["batch"]
    shares = {}
    for name, bases in (("published", PUBLISHED_BASES[::-1]), ("measured", ("measured",))):
        for basis in bases:
            try:
                bandwidth = profile.bandwidth("hbm.read", basis=basis, device=options.device)
            except PeakError:
                continue
            shares[f"mbu_{name}"] = mbu(step, rate, batch, bandwidth)
    return {"tokens_per_s": rate, "of_bound": rate / row["tokens_per_s"], **shares}


def _answer(result: dict[str, Any]) -> str:
    row = result["decode"][0]
    text = (
        f"{result['model']} {_called(result['formats'])}, batch {row['batch']}, context "
        f"{row['context']}: at most {units.number(row['tokens_per_s'])} tokens/s "
        f"({row['limiter']})"
    )
    if row["kernels_tokens_per_s"]:
        text += f", library kernels about {units.number(row['kernels_tokens_per_s'])}"
    achieved = result["achieved"]
    if achieved:
        text += f"; your {achieved['tokens_per_s']:g} are {units.percent(achieved['of_bound'])} of "
        text += "the bound"
    return text


def _called(formats: dict[str, Any]) -> str:
    """ "bf16", "bf16 with mxfp4 experts"."""
    experts = formats["experts"]
    return f"{formats['weights']}{f' with {experts} experts' if experts else ''}"


def _text(result: dict[str, Any]) -> str:
    lines = [result["device"] + (f" x {result['tp']}" if result["tp"] > 1 else "")]
    lines.append(
        f"{'batch':>6} {'context':>8} {'bound':>9} {'kernels':>9} tokens/s  {'limiter':12} memory"
    )
    for row in result["decode"]:
        kernels = row["kernels_tokens_per_s"]
        fits = {True: "", False: ", does not fit", None: ""}[row["fits"]]
        largest = row["largest_batch"]
        lines.append(
            f"{row['batch']:>6} {row['context']:>8} {units.number(row['tokens_per_s']):>9} "
            f"{units.number(kernels) if kernels else '–':>9}           {row['limiter']:12} "
            f"{row['memory_bytes'] / 1e9:.1f} GB{fits}"
            + (f" (largest batch {largest})" if largest is not None else "")
        )
    firsts = ", ".join(
        f"{units.time(row['seconds'])} after {row['context']} tokens" for row in result["prefill"]
    )
    lines.append(f"First token, at the least: {firsts}.")
    lines.append(_turning(result["turning_batches"]))
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
    return "\n".join([*lines, *result["notes"], _answer(result)])


def _turning(turns: dict[str, Any]) -> str:
    parts = [f"dense products at batch {turns['products']:.0f}"]
    if turns["experts"]:
        parts.append(f"experts at {turns['experts']:.0f}")
    if turns["kv_cache"]:
        parts.append(f"the KV cache exceeds the weights at {units.number(turns['kv_cache'])}")
    step = turns["step"]
    parts.append(f"the whole step at {step}" if step else "the whole step never")
    return f"Reading weights no longer binds (context {turns['context']}): {', '.join(parts)}."


def main(arguments: Sequence[str] | None = None, program: str = "peakline-llm") -> int:
    """Runs the command; returns its exit code: 0, or 2 for unusable input."""
    parser = _parser(program)
    options = parser.parse_args(arguments)
    try:
        result = _run(options, parser)
    except (ProfileError, PeakError, ValueError, OSError, DrawingUnavailable) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2) if options.json else _text(result))
    return 0
