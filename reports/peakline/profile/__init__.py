"""The profile of one run of `peakline run`, and the peaks that follow from it.

Times are seconds, rates are per second, sizes are bytes, clocks are Hz; `None` is unknown.
"""

from peakline.profile.conclusions import (
    BASES,
    PUBLISHED_BASES,
    Ceiling,
    Curve,
    Figure,
    Finding,
    Headline,
    MemoryLevel,
    Resource,
    Roofline,
    RooflinePoint,
)
from peakline.profile.errors import ProfileError
from peakline.profile.facts import Device
from peakline.profile.measurement import Measurement, Series
from peakline.profile.peaks import Peak, PeakError, normalize_dtype
from peakline.profile.population import (
    CardFacts,
    Population,
    PopulationFigure,
    load_population,
    load_populations,
    population,
)
from peakline.profile.profile import HOST, NODE, Profile, fleet_peak
from peakline.profile.reader import load, loads, reference
