"""FLOPs per token by the options of peakline-mfu."""

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peakline.models.config import from_hf_config
from peakline.models.conventions import CONVENTIONS
from peakline.models.transformer import Transformer, attention_flops, recomputed
from peakline.peaks.mfu import transformer_flops


@dataclass(frozen=True, slots=True)
class CountedModel:
    flops: float
    hardware_flops: float | None = None  # with recomputation
    causal_flops: float | None = None  # with half of the attention matrix, if all of it counts
    convention: str | None = None
    # By name: total, active, and N of 6 N.
    parameters: Mapping[str, float] | None = None
    notes: tuple[str, ...] = ()  # what the count leaves out or assumes
    shape: Transformer | None = None


_SHAPE = ("params", "layers", "heads", "head_dim", "sequence")
_VARIANTS = ("active_params", "kv_heads", "causal", "convention", "hf_config")
_STEP = ("tokens_per_step", "strategy")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def given_flags(options: argparse.Namespace, names: Sequence[str]) -> str:
    # None and False: not given.
    return ", ".join(_flag(name) for name in names if getattr(options, name))


def model_flags(options: argparse.Namespace) -> str:
    return given_flags(options, ("flops_per_token", *_SHAPE, *_VARIANTS, *_STEP, "recompute"))


def counted_model(options: argparse.Namespace, parser: argparse.ArgumentParser) -> CountedModel:
    recompute = options.recompute or "none"
    if options.flops_per_token is not None:
        others = given_flags(
            options, (*_SHAPE, *_VARIANTS, *_STEP, *(("recompute",) if recompute != "none" else ()))
        )
        if others:
            parser.error(f"--flops-per-token is the whole count: leave out {others}")
        return CountedModel(options.flops_per_token)
    convention = options.convention or "palm"
    causal = options.causal or CONVENTIONS[convention].causal
    notes: tuple[str, ...] = ()
    transformer = None
    if options.strategy and not options.tokens_per_step:
        parser.error("--strategy needs --tokens-per-step, the tokens of a step over all devices")
    if options.tokens_per_step and not options.hf_config:
        parser.error("--tokens-per-step needs --hf-config, which tells the shape")
    if options.hf_config:
        others = given_flags(options, (*_SHAPE[:-1], *_VARIANTS[:2]))
        if others:
            parser.error(f"--hf-config tells the shape: leave out {others}")
        if options.sequence is None:
            corrected = shlex.join([parser.prog, *options.given, "--sequence", "4096"])
            parser.error(f"--hf-config needs --sequence, the tokens of a sequence: {corrected}")
        transformer = from_hf_config(options.hf_config)
        flops = transformer.flops(options.sequence, convention=convention, causal=causal)
        attention = transformer.attention_flops(
            options.sequence, convention=convention, causal=causal
        )
        params = transformer.params()
        counted = transformer.counted_params(convention)
        parameters = {"total": params.total, "active": params.active, "matmul": counted}
        notes = _notes(transformer, convention, options.sequence)
    else:
        missing = [_flag(name) for name in _SHAPE if getattr(options, name) is None]
        if missing:
            parser.error(
                f"FLOPs per token need {', '.join(missing)}, or --hf-config, or --flops-per-token"
            )
        sizes = {name: getattr(options, name) for name in (*_SHAPE, *_VARIANTS[:2])}
        flops = transformer_flops(**sizes, causal=causal)
        of_attention = {name: sizes[name] for name in (*_SHAPE[1:], "kv_heads")}
        attention = attention_flops(**of_attention, causal=causal)
        active = options.active_params or options.params
        parameters = {"total": options.params, "active": active, "matmul": active}
    hardware = None if recompute == "none" else recomputed(flops, attention, recompute)
    halved = None if causal else flops - 3 * attention / 2
    return CountedModel(flops, hardware, halved, convention, parameters, notes, transformer)


def _notes(transformer: Transformer, convention: str, sequence: int) -> tuple[str, ...]:
    notes = []
    if transformer.left_out:
        notes.append(f"Not counted: {transformer.left_out}.")
    sizes = [layer.seen.size for layer in transformer.layers if layer.seen]
    if not CONVENTIONS[convention].windows and min(sizes, default=sequence) < sequence:
        notes.append(
            f"By {convention}'s convention every layer counts {sequence} tokens, although "
            f"{len(sizes)} of {len(transformer.layers)} see at most {max(sizes)}: palm counts what "
            "they see."
        )
    return tuple(notes)
