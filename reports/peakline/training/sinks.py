"""Sinks for step figures: TensorBoard and Prometheus."""

from collections.abc import Mapping
from typing import Any

from peakline.training.step_timer import Sink


def tensorboard(writer: Any) -> Sink:
    """Writes figures as scalars to a SummaryWriter."""

    def write(step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            writer.add_scalar(name, value, step)

    return write


def prometheus(registry: Any = None) -> Sink:
    """Sets gauges of prometheus_client: peakline_step_seconds, peakline_mfu_ratio, ... registry: a
    CollectorRegistry; by default prometheus_client's own."""
    from prometheus_client import REGISTRY, Counter, Gauge

    gauges: dict[str, Any] = {}
    chosen = REGISTRY if registry is None else registry
    steps = Counter("peakline_steps", "Steps that were timed", registry=chosen)

    def write(step: int, figures: Mapping[str, float]) -> None:
        steps.inc()
        for name, value in figures.items():
            if name not in gauges:
                gauges[name] = Gauge(_metric(name), _HELP.get(name, name), registry=chosen)
            gauges[name].set(value)

    return write


_HELP = {
    "peakline/step_s": "Time of the last finished step",
    "peakline/mfu": "Model FLOPs utilization of the last finished step, against the published peak",
}


def _metric(name: str) -> str:
    """A metric name by Prometheus' conventions: base units, shares as ratios."""
    plain = name.replace("/", "_")
    return plain.removesuffix("_s") + "_seconds" if plain.endswith("_s") else f"{plain}_ratio"
