"""The link between storage and GPU that limits the samples per second."""

from dataclasses import asdict, dataclass
from typing import Any

from peakline import units
from peakline.profile import HOST, PeakError, Profile
from peakline.profile.schema import require_positive

ALL_AT_ONCE = "storage to GPU"
# Label, whether it is the host's or the GPU's, resources, and the usable share of their rate. Host
# memory carries half of its copy rate, since every byte enters and leaves it.
_HOST, _GPU = True, False
_WAY = (
    ("storage", _HOST, ("storage.read",), 1.0),
    ("host memory", _HOST, ("memory.copy",), 0.5),
    ("the host link", _GPU, ("pcie.h2d", "c2c.h2d"), 1.0),
    (ALL_AT_ONCE, _GPU, ("input.pipeline",), 1.0),
)


@dataclass(frozen=True)
class InputNeed:
    """Samples that one GPU is to get per second; bytes as in storage and on the way."""

    bytes_per_sample: float
    samples_per_s: float


@dataclass(frozen=True)
class InputLink:
    """One link: its rate in B/s, and the share of it that is needed (1: all of it)."""

    label: str
    rate: float
    needed: float


@dataclass(frozen=True)
class InputBound:
    """The share of each link that a rate of samples needs.

    bytes_per_s: the need. links: the measured ones, the slowest first. missing: labels of those not
    measured. samples_per_s: the most that the slowest of `links` lets through.
    """

    bytes_per_s: float
    links: tuple[InputLink, ...]
    missing: tuple[str, ...]
    samples_per_s: float

    @property
    def binding(self) -> InputLink:
        return self.links[0]

    @property
    def enough(self) -> bool | None:
        """Whether every link is fast enough; None if an unmeasured one may be too slow."""
        if self.binding.needed > 1:
            return False
        return None if self.missing else True

    @property
    def words(self) -> str:
        words = {
            True: "Input keeps up",
            False: "Input does not keep up",
            None: "The links measured keep up",
        }
        return words[self.enough]

    def __str__(self) -> str:
        slowest = self.binding
        text = (
            f"{self.words}: "
            f"{units.rate(self.bytes_per_s, 'B/s')} needed; the slowest link measured, "
            f"{slowest.label}, carries {units.rate(slowest.rate, 'B/s')} "
            f"({units.number(self.samples_per_s)} samples/s)"
        )
        if self.missing:
            text += f"; not measured: {', '.join(self.missing)}"
        return text

    def document(self) -> dict[str, Any]:
        """The document of `--json`."""
        return {
            "schema": "peakline-input",
            "schema_version": 1,
            **asdict(self),
            "enough": self.enough,
        }


def input_rates(profile: Profile, device: str | int | None = None) -> dict[str, float]:
    """The rate in B/s of each measured link, by its label, from storage to GPU. device: as in
    `Profile.peak`, by default the slowest of all. Raises PeakError for an unknown device."""
    gpus = profile.select_devices(device)
    rates = {}
    for label, of_host, resources, share in _WAY:
        devices = [HOST] if of_host else gpus
        found = [profile.ceiling(d, r, "measured") for d in devices for r in resources]
        if known := [share * ceiling.value for ceiling in found if ceiling is not None]:
            rates[label] = min(known)
    return rates


def input_bound(
    profile: Profile,
    bytes_per_sample: float,
    samples_per_s: float,
    *,
    device: str | int | None = None,
) -> InputBound:
    """The link that limits how fast samples reach one GPU.

    bytes_per_sample, samples_per_s: as in `InputNeed`. device: as in `Profile.peak`, by default the
    slowest of all. The links: storage (`run --storage`), host memory (half its copy rate), the host
    link, and the whole path at once (`input.pipeline`). Other GPUs share the first two: if N of
    them load alike, ask for N times the samples. Raises PeakError if the profile has none of the
    links, ValueError for numbers that are not positive.
    """
    require_positive(bytes_per_sample=bytes_per_sample, samples_per_s=samples_per_s)
    needed = bytes_per_sample * samples_per_s
    require_positive(**{"bytes_per_sample * samples_per_s": needed})
    rates = input_rates(profile, device)
    if not rates:
        raise PeakError(
            f"{profile.where} has no rate of storage, host memory or host link; "
            "`peakline run --storage DIR` measures all of them"
        )
    links = [InputLink(label, rate, needed / rate) for label, rate in rates.items()]
    links.sort(key=lambda link: link.rate)
    return InputBound(
        needed,
        tuple(links),
        tuple(label for label, *_ in _WAY if label not in rates),
        links[0].rate / bytes_per_sample,
    )
