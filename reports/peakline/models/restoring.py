"""How long a KV cache takes back from the host's memory, and whether that pays."""

import dataclasses
from dataclasses import dataclass

from peakline.limits.collectives import interpolated
from peakline.models.inference import STATE_BYTES, Serving, Work, prefill_bound
from peakline.models.transformer import Transformer
from peakline.profile import PeakError, Profile

BLOCK_TOKENS = 16  # of one layer, the block of vLLM and others on NVIDIA GPUs
# The ways of `pcie.blocks.*`, by their ids' last part.
WAYS = ("loop", "batch", "kernel")
_ID = "pcie.blocks"

_ONE = Serving()


@dataclass(frozen=True, slots=True)
class Restoring:
    """The KV cache of `context` tokens on its way from the host to a GPU, by `kv_restoring`."""

    seconds: float
    way: str  # the fastest of WAYS
    bytes: float  # of one GPU
    block_bytes: float  # the mean
    # The bound of a prefill over `seconds`: restoring is at least so many times as fast as
    # computing the cache again, since no prefill is faster than its bound.
    least_speedup: float
    # How many times as long reads of device memory take meanwhile, as those of decoding; in blocks
    # of 256 KiB. None: not measured.
    read_slowdown: float | None = None

    def __float__(self) -> float:
        return self.seconds


def kv_restoring(profile: Profile, model: Transformer, serving: Serving = _ONE) -> Restoring:
    """The time in which the KV cache of one sequence of `context` tokens moves from host to GPU.

    seconds = sum over layers of bytes / r(block), by the fastest of three ways: a copy call for
    each block ("loop"), one call for all ("batch"), or a kernel that reads mapped memory
    ("kernel"). bytes: elements that a layer keeps of `context` tokens (those in its window; of
    latent attention the latent, of a compressed cache its entries) x bytes of an element. block: 16
    tokens of one layer, keys and values together: 16 x 2 x KV heads x head dimension elements in
    grouped-query attention; the constant state of a layer is one block. r: measured B/s of
    scattered blocks H2D (`pcie.blocks.*`); the time of a block is linear between measured sizes,
    that of the smallest below, and proportional to the bytes above.

    Assumed: all blocks in pinned memory of the GPU's NUMA node, nothing else on the link, and an
    idle GPU. With tensor parallelism
    each GPU takes the heads that are its own, over a link of its own. Ignores `serving.batch`.
    Raises PeakError if the profile has no such rates, else as `prefill_bound`.
    """
    serving = dataclasses.replace(serving, batch=1)
    work = Work(profile, model, serving)
    moved: list[tuple[float, float]] = []  # bytes of all blocks, and of one
    for layer in model.layers:
        element = serving.formats.kv_bytes * work.share(layer)
        if layer.written:
            kept = layer.kept(serving.context)
            moved.append((kept * element, BLOCK_TOKENS * layer.written * element))
        if layer.state:
            moved.append((layer.state * STATE_BYTES / serving.tp,) * 2)
    times = {}
    for way in WAYS:
        curve = {
            block: block / m.value
            for m in profile.of(work.device, f"{_ID}.{way}")
            if m.params.get("direction") == "h2d" and m.value and (block := m.integer("block"))
        }
        if curve:
            times[way] = sum(of / block * interpolated(curve, block) for of, block in moved)
    if not times:
        raise PeakError(
            f"{profile.where} has no rates of scattered blocks: measure with peakline run --filter "
            f"'^{_ID}'"
        )
    total, blocks = sum(of for of, _ in moved), sum(of / block for of, block in moved)
    if not total:
        raise PeakError("the model keeps no KV cache")
    way, seconds = min(times.items(), key=lambda item: item[1])
    speedup = prefill_bound(profile, model, serving).seconds / seconds
    beside = profile.figures(
        work.device, id=f"{_ID}.beside_read", name="read_slowdown", by=way, direction="h2d"
    )
    slowdown = beside[0].value if beside and beside[0].value > 0 else None
    return Restoring(seconds, way, total, total / blocks, speedup, slowdown)
