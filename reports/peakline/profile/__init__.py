"""The profile: what one run of `peakline run` measured, and the peaks that follow from it.

Times are seconds, rates are per second, sizes are bytes, clocks are Hz; `None` means "not known".
"""

from peakline.profile.conclusions import (
    BASES,
    PUBLISHED_BASES,
    Basis,
    Ceiling,
    Finding,
    RidgePoint,
    Roofline,
    RooflinePoint,
)
from peakline.profile.facts import Device, Host, Software
from peakline.profile.measurement import Conditions, Measurement, Series, Summary, Work
from peakline.profile.peaks import Peak, PeakError, normalize_dtype
from peakline.profile.profile import HOST, Profile, fleet_peak
from peakline.profile.reader import ProfileError, load, loads

__all__ = [
    "BASES",
    "HOST",
    "PUBLISHED_BASES",
    "Basis",
    "Ceiling",
    "Conditions",
    "Device",
    "Finding",
    "Host",
    "Measurement",
    "Peak",
    "PeakError",
    "Profile",
    "ProfileError",
    "RidgePoint",
    "Roofline",
    "RooflinePoint",
    "Series",
    "Software",
    "Summary",
    "Work",
    "fleet_peak",
    "load",
    "loads",
    "normalize_dtype",
]
