"""The decoding bounds of a published model on a measured GPU, as one document."""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peakline import units
from peakline.models.checkpoint import Checkpoint, checkpoint
from peakline.models.config import from_hf_config
from peakline.models.energy import decode_energy
from peakline.models.estimate import decode_kernels
from peakline.models.formats import Formats
from peakline.models.inference import (
    Serving,
    TokenBound,
    decode_bound,
    mbu,
    prefill_bound,
    turning_batches,
    weights_stored,
)
from peakline.models.restoring import kv_restoring
from peakline.models.transformer import Transformer
from peakline.profile import PUBLISHED_BASES, PeakError, Profile

BATCHES = (1, 8, 64)
CONTEXTS = (1024, 8192, 32768)
_ONE = Serving()
# A larger ratio of file size to counted size means that they describe different weights.
_SAME_BYTES = 1.1
_OF_KERNELS = (
    "Library kernels: small operations are fused, and attention reads the KV cache as fast as "
    "products read weights, which takes a kernel that splits the cache of a sequence over the GPU."
)
_OF_EXPERTS = (
    "Library kernels lose as much in routed experts as the measured BF16 GEMMs in even groups."
)
_OF_ENERGY = (
    "J/token is a low estimate at the speed of library kernels: the energy of the bytes read and "
    "the FLOPs, each measured in a load of its own, and idle power; of the GPU's board, not the "
    "wall. PyTorch took 1.2 to 1.6 times as much for an 8B model."
)


@dataclass(frozen=True, slots=True)
class Served:
    name: str
    model: Transformer
    checkpoint: Checkpoint
    serving: Serving
    assumed: bool  # whether BF16 weights are an assumption


def served(
    path: str | os.PathLike[str],
    serving: Serving = _ONE,
    *,
    weights: str | None = None,
    kv_cache: str | None = None,
) -> Served:
    """The model in a folder or a config.json; formats are the stated ones, unless given. Raises
    ValueError for an unknown model or quantization."""
    files, model = checkpoint(path), from_hf_config(path)
    formats = Formats(weights, kv_cache or "bf16") if weights else files.formats(model)
    if kv_cache:
        formats = dataclasses.replace(formats, kv_cache=kv_cache)
    serving = dataclasses.replace(serving, formats=formats)
    return Served(_name(Path(path)), model, files, serving, not (weights or files.stated))


def _name(path: Path) -> str:
    """A model's name: its folder's, or the file's unless that is config.json."""
    if path.is_dir() or path.name == "config.json":
        return (path if path.is_dir() else path.parent).resolve().name
    return path.stem.removesuffix("_config")


def decoding(
    profile: Profile,
    of: Served,
    batches: Sequence[int] = BATCHES,
    contexts: Sequence[int] = CONTEXTS,
    rate: float | None = None,
    joules: float | None = None,
) -> dict[str, Any]:
    """The document of `peakline-llm --json`: bounds and estimates by batch and context, and notes.

    rate: tokens/s achieved at the first batch and context, over all sequences. joules: measured
    there for a token, on all boards. Raises ValueError and PeakError as `decode_bound` does, and
    with `joules` as `decode_energy` does.
    """
    model, serving = of.model, of.serving
    rows, prefills, restored, notes = [], [], [], dict[str, None]()
    for context in contexts:
        for batch in batches:
            one = dataclasses.replace(serving, batch=batch, context=context)
            step = decode_bound(profile, model, one)
            kernels = None
            try:
                kernels = decode_kernels(profile, model, one)
            except PeakError as error:
                notes[str(error)] = None
            notes |= dict.fromkeys(step.notes)
            if kernels:
                notes[_OF_KERNELS] = None
            if kernels and kernels.experts_s:
                notes[_OF_EXPERTS] = None
            energy = None
            try:
                energy = decode_energy(profile, model, one)
                notes[_OF_ENERGY] = None
            except PeakError:
                if joules:
                    raise
            rows.append(
                _row(step, one, kernels.tokens_per_s if kernels else None)
                | {"joules_per_token": energy.joules if energy else None}
            )
        prefill = prefill_bound(profile, model, dataclasses.replace(serving, context=context))
        prefills.append(
            {"context": context, "seconds": prefill.seconds, "limiter": prefill.limiter}
        )
        with contextlib.suppress(PeakError):
            found = kv_restoring(profile, model, dataclasses.replace(serving, context=context))
            restored.append({"context": context, **dataclasses.asdict(found)})
    first = dataclasses.replace(serving, batch=batches[0], context=contexts[0])
    turns = turning_batches(profile, model, first)
    return {
        "schema": "peakline-llm",
        "schema_version": 1,
        "model": of.name,
        "device": profile.device_name(profile.select_devices(serving.device)[0]),
        "tp": serving.tp,
        "all_reduce": serving.all_reduce if serving.tp > 1 else None,
        "formats": dataclasses.asdict(serving.formats),
        "decode": rows,
        "prefill": prefills,
        "kv_restoring": restored,
        "turning_batches": {"context": first.context, **dataclasses.asdict(turns)},
        "achieved": _achieved(profile, model, first, rate) if rate else None,
        "energy": _energy(rows[0]["joules_per_token"], joules) if joules else None,
        "disturbances": (disturbed := profile.disturbances(serving.device)),
        "notes": [*notes, *_notes(of, max(contexts)), *disturbed],
    }


def _row(step: TokenBound, serving: Serving, kernels: float | None) -> dict[str, Any]:
    return {
        "batch": serving.batch,
        "context": serving.context,
        "tokens_per_s": step.tokens_per_s,
        "step_s": step.seconds,
        "limiter": step.limiter,
        "needs_s": dict(step.needs),
        "bytes": step.bytes,
        "flop": step.flop,
        "memory_bytes": step.memory_bytes,
        "fits": step.fits,
        "largest_batch": step.largest_batch,
        "same_experts_tokens_per_s": serving.batch / step.one_choice_s,
        "kernels_tokens_per_s": kernels,
    }


def _notes(of: Served, context: int) -> list[str]:
    """Notes on missing or contradictory statements of the files."""
    notes, files = [], of.checkpoint
    if of.assumed:
        notes.append("No quantization is stated, so weights and KV cache are taken as BF16.")
    if files.longest_context and context > files.longest_context:
        notes.append(f"The model's longest context is {files.longest_context} tokens.")
    if of.model.left_out:
        notes.append(f"Not counted: {of.model.left_out}.")
    if files.bytes:
        made = of.serving.formats
        counted = weights_stored(of.model, made)
        if max(counted / files.bytes, files.bytes / counted) > _SAME_BYTES:
            notes.append(
                f"The files hold {files.bytes / 1e9:.1f} GB, but the shape in {made} makes "
                f"{counted / 1e9:.1f} GB: check --weights."
            )
    return notes


def _achieved(
    profile: Profile, model: Transformer, serving: Serving, rate: float
) -> dict[str, Any]:
    step = decode_bound(profile, model, serving)
    shares = {}
    for name, bases in (("published", PUBLISHED_BASES[::-1]), ("measured", ("measured",))):
        for basis in bases:
            try:
                bandwidth = profile.bandwidth("hbm.read", basis=basis, device=serving.device)
            except PeakError:
                continue
            shares[f"mbu_{name}"] = mbu(step, rate, serving.batch, bandwidth)
    return {"tokens_per_s": rate, "of_bound": rate / step.tokens_per_s, **shares}


def _energy(estimate: float, joules: float) -> dict[str, Any]:
    return {"joules_per_token": joules, "estimate_of_it": estimate / joules}


def answer(document: Mapping[str, Any], label: Callable[[str], str]) -> str:
    """The headline: the bound, the estimate, and the achieved share. label: of a resource."""
    row, formats = document["decode"][0], Formats(**document["formats"])
    text = (
        f"{document['model']} {formats}, batch {row['batch']}, context {row['context']}: at most "
        f"{units.number(row['tokens_per_s'])} tokens/s"
        f"{' of all sequences' if row['batch'] > 1 else ''} ({label(row['limiter'])})"
    )
    if document["disturbances"]:
        text += ", by a disturbed measurement"
    if row["kernels_tokens_per_s"]:
        text += f", library kernels about {units.number(row['kernels_tokens_per_s'])}"
    if row["fits"] is False:
        text += ", but it does not fit in memory"
    if achieved := document["achieved"]:
        text += f"; your {achieved['tokens_per_s']:g} are {units.percent(achieved['of_bound'])} of "
        text += "the bound"
    if energy := document["energy"]:
        text += f"; of your {energy['joules_per_token']:g} J per token, "
        text += f"{units.percent(energy['estimate_of_it'])} are estimated"
    return text


def first_tokens(document: Mapping[str, Any]) -> str:
    times = ", ".join(
        f"{units.time(row['seconds'])} for {row['context']} tokens" for row in document["prefill"]
    )
    return f"First token, by the length of the prompt, no sooner than: {times}."


_WAYS = {
    "loop": "a copy call for each block",
    "batch": "one call for all blocks",
    "kernel": "a kernel",
}


def restoring(document: Mapping[str, Any]) -> str:
    """The time of the KV cache from the host's memory; empty if it is not known."""
    rows = document["kv_restoring"]
    if not rows:
        return ""
    ways = " or ".join(dict.fromkeys(_WAYS[row["way"]] for row in rows))
    times = ", ".join(f"{units.time(row['seconds'])} for {row['context']} tokens" for row in rows)
    again = ", ".join(f"{row['least_speedup']:.3g}" for row in rows)
    sizes = ", ".join(dict.fromkeys(units.size(row["block_bytes"]) for row in rows))
    text = (
        f"KV cache back from the host over an idle link, in blocks of {sizes} by "
        f"{ways}: {times}. Computing it again takes at least {again} times as long."
    )
    slowdown = max((row["read_slowdown"] or 1 for row in rows), default=1)
    if slowdown > 1:
        text += f" Reads of device memory take {slowdown:.3g} times as long meanwhile."
    return text


def turning(document: Mapping[str, Any]) -> str:
    turns = document["turning_batches"]
    text = ""
    if turns["kv_cache"]:
        text = (
            f"At context {turns['context']} weights are most of the traffic up to batch "
            f"{units.number(turns['kv_cache'])}, the KV cache above. "
        )
    experts = f"experts at {turns['experts']:.0f}, " if turns["experts"] else ""
    step = f"at {turns['step']}" if turns["step"] else "never"
    return (
        f"{text}Dense GEMMs turn compute-bound at batch {turns['products']:.0f}, {experts}the "
        f"whole step {step}."
    )
