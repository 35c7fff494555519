"""An estimate of the energy of a decoded token."""

from dataclasses import dataclass

from peakline.models.estimate import decode_kernels
from peakline.models.inference import Serving, decode_bound
from peakline.models.transformer import Transformer
from peakline.profile import PeakError, Profile

_ONE = Serving()


@dataclass(frozen=True, slots=True)
class TokenEnergy:
    """Joules of one decoded token on all GPUs of the model together, as `decode_energy` estimates
    them, part by part."""

    joules: float
    memory: float  # weights and KV cache, read from device memory
    computing: float
    idle: float  # the boards' idle power, for as long as the step takes
    seconds: float  # of a step, by `decode_kernels`


def decode_energy(profile: Profile, model: Transformer, serving: Serving = _ONE) -> TokenEnergy:
    """Estimates the energy of a decoded token from what `peakline run --energy` measured.

    joules = (bytes x net J/B of device memory reads + FLOPs x net J/FLOP of GEMMs under load
    + idle power x seconds of a step) x GPUs / batch. Net is what a load adds to the power of the
    idle board, over its rate. Assumed: each GPU has the profile's clocks and power limit; a byte
    and a FLOP take as much as in a load of their own; reads from caches and links take nothing; the
    step takes as long as `decode_kernels` says. The counter is the board's: CPUs, fans and power
    supplies are not in it. Kernels also compute what nobody asked for (rows that fill a tile), and
    move data on the chip: PyTorch's decode of an 8B shape took 1.2 to 1.6 times the estimate on an
    H100 and an H200 (reports/models.md). Raises PeakError where the profile lacks one of these.
    """
    step = decode_bound(profile, model, serving)
    seconds = decode_kernels(profile, model, serving).seconds
    uuid = profile.select_devices(serving.device)[0]
    idle = _figure(profile, uuid, "energy.idle", "power")
    per_byte = _figure(profile, uuid, "energy.hbm_read", "net")
    computed_by = next(name for name in step.needs if name.startswith("tensor."))
    peak = profile.peak(computed_by, basis="achievable", device=uuid)
    gross = profile.energy(computed_by, basis="achievable", device=uuid)
    per_flop = gross - idle / peak
    if idle <= 0:
        raise PeakError(f"{profile.where}: energy.idle has a power of {idle:g} W")
    if per_byte <= 0 or per_flop <= 0:
        raise PeakError(f"{profile.where}: under load the board drew no more than idle")
    share = serving.tp / serving.batch
    parts = (step.bytes * per_byte * share, step.flop * per_flop * share, idle * seconds * share)
    return TokenEnergy(sum(parts), *parts, seconds)


def _figure(profile: Profile, device: str, id_: str, name: str) -> float:
    found = profile.figures(device, id=id_, name=name)
    if not found:
        raise PeakError(f"{profile.where} has no {id_}: peakline run --energy measures it")
    return found[0].value
