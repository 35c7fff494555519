"""Measured limits of a machine's GPUs and CPUs, and the share of them that a program uses.

    import peakline
    profile = peakline.load("node7.json")          # or peakline.reference("h200")
    peak = profile.peak("bf16", basis="published")  # or "achievable", "model"
    flops = peakline.transformer_flops(7e9, layers=32, heads=32, head_dim=128, sequence=4096)
    print(peakline.mfu(flops * tokens, seconds, peak))  # 41.3 % MFU (published)

The ten names that matter:

    load, reference    a profile: of a file, of a GPU that the package knows
    Profile            peak("bf16", basis=...), bandwidth("hbm"), ridge("bf16"), latency("l2")
    peak_flops         the peak of a GPU by its name, without a profile
    transformer_flops  a model's FLOPs for one token
    from_hf_config     a model's shape, from its config.json
    mfu                a run's share of a peak
    decode_bound       the most tokens per second that a model can decode
    train_bound        the least time of a training step
    bound              the least time of some FLOPs and bytes, and what limits it
    StepTimer          MFU of each step of a training loop

This module needs `fastjsonschema` alone; `peakline.report` and `peakline.pictures` need matplotlib.
"""

from peakline.limits.bound import Bound, bound
from peakline.limits.collectives import collective_time
from peakline.models.checkpoint import Checkpoint, checkpoint
from peakline.models.config import from_hf_config
from peakline.models.conventions import CONVENTIONS
from peakline.models.decoder_layer import Compressed, Indexer, Layer, Window
from peakline.models.estimate import KernelsEstimate, decode_kernels
from peakline.models.formats import Formats
from peakline.models.inference import (
    Serving,
    TokenBound,
    Turns,
    decode_bound,
    mbu,
    prefill_bound,
    turning_batches,
)
from peakline.models.restoring import Restoring, kv_restoring
from peakline.models.training import TrainBound, train_bound
from peakline.models.transformer import Params, Transformer
from peakline.models.weights import Experts, Weights
from peakline.peaks.datasheets import Product, peak_flops, products
from peakline.peaks.mfu import (
    Utilization,
    attainable,
    hardware_flops,
    hfu,
    mfu,
    transformer_flops,
    utilization_name,
)
from peakline.peaks.storage import InputBound, InputLink, InputNeed, input_bound, input_rates
from peakline.profile import (
    BASES,
    Ceiling,
    Device,
    Measurement,
    Peak,
    PeakError,
    Population,
    PopulationFigure,
    Profile,
    ProfileError,
    fleet_peak,
    load,
    load_population,
    load_populations,
    loads,
    population,
    reference,
)
from peakline.training import StepTimer
from peakline.training.probe import ProbeVerdict, probe

__version__ = "0.2.0"  # CMake and the package's metadata read it here

__all__ = [
    "BASES",
    "CONVENTIONS",
    "Bound",
    "Ceiling",
    "Checkpoint",
    "Compressed",
    "Device",
    "Experts",
    "Formats",
    "Indexer",
    "InputBound",
    "InputLink",
    "InputNeed",
    "KernelsEstimate",
    "Layer",
    "Measurement",
    "Params",
    "Peak",
    "PeakError",
    "Population",
    "PopulationFigure",
    "ProbeVerdict",
    "Product",
    "Profile",
    "ProfileError",
    "Restoring",
    "Serving",
    "StepTimer",
    "TokenBound",
    "TrainBound",
    "Transformer",
    "Turns",
    "Utilization",
    "Weights",
    "Window",
    "attainable",
    "bound",
    "checkpoint",
    "collective_time",
    "decode_bound",
    "decode_kernels",
    "fleet_peak",
    "from_hf_config",
    "hardware_flops",
    "hfu",
    "input_bound",
    "input_rates",
    "kv_restoring",
    "load",
    "load_population",
    "load_populations",
    "loads",
    "mbu",
    "mfu",
    "peak_flops",
    "population",
    "prefill_bound",
    "probe",
    "products",
    "reference",
    "train_bound",
    "transformer_flops",
    "turning_batches",
    "utilization_name",
]
