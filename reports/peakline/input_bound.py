"""Which link between storage and GPU decides how many samples a second can reach it."""

from __future__ import annotations

from dataclasses import dataclass

from peakline import units
from peakline.profile import HOST, PeakError, Profile
from peakline.transformer import require_positive


@dataclass(frozen=True)
class InputLink:
    """One link of the way: its rate in B/s, and the share of it that is needed (1: all of it)."""

    label: str
    rate: float
    needed: float


@dataclass(frozen=True)
class InputBound:
    """What a rate of samples asks of each link.

    bytes_per_s: what is needed. links: those that were measured, the slowest first. missing: the
    labels of those that were not. samples_per_s: the most that the slowest of `links` lets through.
    """

    bytes_per_s: float
    links: tuple[InputLink, ...]
    missing: tuple[str, ...]
    samples_per_s: float

    @property
    def binding(self) -> InputLink:
        """The slowest link that was measured."""
        return self.links[0]

    @property
    def enough(self) -> bool | None:
        """Whether every link carries what is needed; None where one that may not was not
        measured."""
        if self.binding.needed > 1:
            return False
        return None if self.missing else True

    def __str__(self) -> str:
        slowest = self.binding
        text = (
            f"{units.rate(self.bytes_per_s, 'B/s')} needed; the slowest link measured, "
            f"{slowest.label}, carries {units.rate(slowest.rate, 'B/s')} ({self.samples_per_s:.4g} "
            "samples/s)"
        )
        if self.missing:
            text += f"; not measured: {', '.join(self.missing)}"
        return text


def input_bound(
    profile: Profile,
    bytes_per_sample: float,
    samples_per_s: float,
    *,
    device: str | int | None = None,
) -> InputBound:
    """Which link binds fresh data on their way to one GPU.

    bytes_per_sample: as they are stored, and as they cross to the GPU. samples_per_s: what this GPU
    is to get. device: as in `Profile.peak`, by default the slowest of all. The links: storage
    (`run --storage`), host memory, which every byte enters and leaves, so that it carries half of
    what its copies count; the host link; and the whole way at once (`input.pipeline`). Other GPUs
    share the first two: with N of them that load alike, ask for N times the samples. Raises
    PeakError where the profile has none of the links, ValueError for numbers that are not positive.
    """
    require_positive(bytes_per_sample=bytes_per_sample, samples_per_s=samples_per_s)
    needed = bytes_per_sample * samples_per_s
    gpus = profile.select_devices(device)
    ways = (
        ("storage", [HOST], ("storage.read",), 1.0),
        ("host memory", [HOST], ("memory.copy",), 0.5),
        ("the host link", gpus, ("pcie.h2d", "c2c.h2d"), 1.0),
        ("storage to GPU", gpus, ("input.pipeline",), 1.0),
    )
    links, missing = [], []
    for label, devices, resources, share in ways:
        found = [profile.ceiling(d, r, "measured") for d in devices for r in resources]
        rates = [share * ceiling.value for ceiling in found if ceiling is not None]
        if rates:
            links.append(InputLink(label, min(rates), needed / min(rates)))
        else:
            missing.append(label)
    if not links:
        raise PeakError(
            f"{profile.path or 'the profile'} has no rate of storage, host memory or host link; "
            "`peakline run --storage DIR` measures all of them"
        )
    links.sort(key=lambda link: link.rate)
    return InputBound(needed, tuple(links), tuple(missing), links[0].rate / bytes_per_sample)
