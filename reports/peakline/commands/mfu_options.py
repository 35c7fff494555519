"""The options of peakline-mfu."""

import argparse

from peakline.commands.arguments import Parser, number, path
from peakline.models.conventions import CONVENTIONS
from peakline.names import BASIS_WORDS
from peakline.peaks.export import EXPORTS
from peakline.profile import BASES


def _integer(text: str) -> int:
    value = number(text)
    if not value.is_integer():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(value)


def _peak_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile",
        nargs="+",
        required=True,
        type=path,
        metavar="FILE",
        help="profiles that peakline run wrote; of several (a fleet) the slowest device counts",
    )
    parser.add_argument(
        "--dtype", required=True, help="precision of the GEMMs: bf16, fp16, tf32, fp8, fp32, ..."
    )
    parser.add_argument("--device", help="index, UUID, model or host (default: the GPUs)")


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
        f"  {program} --profile node7.json --dtype bf16 --intensity 40\n"
        f"  {program} --profile node7.json --dtype bf16 --mfu 45\n"
        f"  {program} export --for lightning --profile node7.json --dtype bf16 --basis published",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _peak_options(parser)
    parser.add_argument(
        "--tokens-per-second",
        type=number,
        metavar="X",
        help="total of all devices; only --intensity and --mfu can do without",
    )
    parser.add_argument(
        "--mfu",
        type=number,
        metavar="PERCENT",
        help="an MFU known by the published peak, in place of rate and model: prints its shares",
    )
    parser.add_argument(
        "--devices",
        type=_integer,
        default=1,
        metavar="N",
        help="devices that make these tokens (default: 1)",
    )
    model = parser.add_argument_group("model (FLOPs per token = 6 N + 12 L H Q T)")
    model.add_argument(
        "--flops-per-token", type=number, metavar="F", help="in place of the options below"
    )
    model.add_argument(
        "--hf-config",
        type=path,
        metavar="FILE",
        help="config.json of a model on Hugging Face, in place of the shape; needs --sequence",
    )
    model.add_argument(
        "--convention",
        choices=tuple(CONVENTIONS),
        help="what is counted, by the conventions listed at the end (default: palm)",
    )
    model.add_argument(
        "--params",
        type=number,
        metavar="N",
        help="parameters, without an input embedding that is not tied to the output",
    )
    model.add_argument(
        "--active-params",
        type=number,
        metavar="N",
        help="mixture of experts: parameters that one token passes through",
    )
    model.add_argument("--layers", type=_integer, metavar="L")
    model.add_argument("--heads", type=_integer, metavar="H", help="query heads")
    model.add_argument(
        "--kv-heads", type=_integer, metavar="G", help="grouped-query attention: heads of K and V"
    )
    model.add_argument("--head-dim", type=_integer, metavar="Q")
    model.add_argument("--sequence", type=_integer, metavar="T", help="tokens of a sequence")
    model.add_argument(
        "--causal",
        action="store_true",
        help="count half of the attention matrix, whatever the convention says",
    )
    model.add_argument(
        "--recompute",
        choices=("none", "attention", "full"),
        help="activation recomputation: also prints HFU",
    )
    model.add_argument(
        "--tokens-per-step",
        type=number,
        metavar="N",
        help="over all devices; with --hf-config, prints what this machine allows for a step",
    )
    model.add_argument(
        "--strategy",
        choices=("ddp", "fsdp"),
        help="what several devices exchange in a step (default: ddp); needs --tokens-per-step",
    )
    parser.add_argument(
        "--intensity",
        type=number,
        metavar="I",
        help="arithmetic intensity in FLOP/byte: prints where the roofline ends a kernel",
    )
    parser.add_argument(
        "--allow-mixed",
        action="store_true",
        help="allow several GPU models: the slowest device counts",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        dest="every",
        help="print shares of every peak (default: published, achievable, model)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, which has all of them")
    return parser


def export_parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=f"{program} export", description="Print a peak in the form that another tool takes."
    )
    parser.add_argument("--for", dest="tool", required=True, choices=tuple(EXPORTS))
    parser.add_argument("--profile", required=True, type=path, metavar="FILE")
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--device", help="index, UUID or model (default: the GPUs, the slowest)")
    parser.add_argument(
        "--basis",
        choices=(*BASIS_WORDS, *BASES),
        metavar="PEAK",
        help=f"which peak: {', '.join(BASIS_WORDS)}, or one of {', '.join(BASES)} (default: "
        "published, by which MFU divides; for tracelens burst, since it asks for achievable rates)",
    )
    return parser
