"""The options of peakline-mfu."""

from __future__ import annotations

import argparse
import functools

from peakline.commands.arguments import Parser, flag, number, option
from peakline.models.conventions import CONVENTIONS
from peakline.peaks.export import EXPORTS
from peakline.profile import BASES


def _integer(text: str) -> int:
    value = number(text)
    if not value.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(value)


def mfu_parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=program,
        description="Model FLOPs utilization against published and measured peaks.",
        epilog="Conventions:\n"
        + "".join(f"  {name}: {rule.text}\n" for name, rule in CONVENTIONS.items())
        + "with N parameters, L layers, H heads, Q dimensions of a head, T tokens of a sequence; "
        "of --params, N is as given.\n\nExamples:\n"
        f"  {program} --profile node7.json --dtype bf16 --tokens-per-second 11500 \\\n"
        "      --params 7e9 --layers 32 --heads 32 --head-dim 128 --sequence 4096\n"
        f"  {program} --profile node7.json --dtype bf16 --tokens-per-second 11500 \\\n"
        "      --hf-config config.json --sequence 8192 --convention torchtitan\n"
        f"  {program} --profile node*.json --dtype bf16 --tokens-per-second 92000 --devices 8 \\\n"
        "      --flops-per-token 4.5e10 --intensity 300\n"
        f"  {program} export --for lightning --profile node7.json --dtype bf16 --basis datasheet",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = functools.partial(option, parser)
    text = "profiles that peakline run wrote; of several (a fleet) the slowest device counts"
    add("--profile", str, "FILE", text, nargs="+", required=True)
    text = "precision of the GEMMs: bf16, fp16, tf32, fp8, fp32, ..."
    add("--dtype", str, text=text, required=True)
    add("--device", str, text="index, UUID, model or host (default: the GPUs)")
    add("--tokens-per-second", number, "X", "total of all devices", required=True)
    add("--devices", _integer, "N", "devices that make these tokens (default: 1)", default=1)
    model = parser.add_argument_group("model (FLOPs per token = 6 N + 12 L H Q T)")
    of_model = functools.partial(option, model)
    of_model("--flops-per-token", number, "F", "in place of the options below")
    text = "config.json of a model on Hugging Face, in place of the shape; needs --sequence"
    of_model("--hf-config", str, "FILE", text)
    text = "what is counted, by the conventions listed at the end (default: palm)"
    of_model("--convention", tuple(CONVENTIONS), text=text)
    text = "parameters, without an input embedding that is not tied to the output"
    of_model("--params", number, "N", text)
    text = "mixture of experts: parameters that one token passes through"
    of_model("--active-params", number, "N", text)
    of_model("--layers", _integer, "L")
    of_model("--heads", _integer, "H", "query heads")
    of_model("--kv-heads", _integer, "G", "grouped-query attention: heads of K and V")
    of_model("--head-dim", _integer, "Q")
    of_model("--sequence", _integer, "T", "tokens of a sequence")
    flag(model, "--causal", "count half of the attention matrix, whatever the convention says")
    text = "activation recomputation: also prints HFU"
    of_model("--recompute", ("none", "attention", "full"), text=text)
    text = "over all devices; with --hf-config, prints what this machine allows for a step"
    of_model("--tokens-per-step", number, "N", text)
    text = "what several devices exchange in a step (default: ddp); needs --tokens-per-step"
    of_model("--strategy", ("ddp", "fsdp"), text=text)
    text = "arithmetic intensity of the run in FLOP/byte: prints the roofline's limit"
    add("--intensity", number, "I", text)
    flag(parser, "--allow-mixed", "allow several GPU models: the slowest device counts")
    text = "print shares of every peak (default: published, achievable, model)"
    flag(parser, "--all", text, dest="every")
    flag(parser, "--json", "print JSON, which has all of them")
    return parser


# Bases of the peaks that `peakline show` names.
_NAMED = {"published": "datasheet", "achievable": "sustained", "model": "model_shaped"}


def export_parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"{program} export", description="Print a peak in the form that another tool takes."
    )
    add = functools.partial(option, parser)
    add("--for", tuple(EXPORTS), dest="tool", required=True)
    add("--profile", str, "FILE", required=True)
    add("--dtype", str, required=True)
    add("--device", str, text="index, UUID or model (default: the GPUs, the slowest)")
    parser.add_argument(
        "--basis",
        type=lambda name: _NAMED.get(name, name),
        choices=BASES,
        metavar="PEAK",
        help=f"which peak: {', '.join(_NAMED)}, or one of {', '.join(BASES)} (default: datasheet, "
        "as MFU is published; for tracelens burst, since it asks for achievable rates)",
    )
    return parser
