"""The spread of a model's healthy GPUs, which `peakline check` compares a GPU with."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal

from peakline.profile import files, rules, schema, versions
from peakline.profile.build import build
from peakline.profile.conclusions import Basis
from peakline.profile.errors import FieldError, expected
from peakline.profile.peaks import PeakError


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """Facts that all cards of a population share; None: unknown, or not shared."""

    model: str  # "NVIDIA H200"
    sm_count: int | None = None
    memory_bytes: float | None = None
    power_limit_w: float | None = None
    sm_clock_max_hz: float | None = None
    memory_clock_max_hz: float | None = None
    ecc_enabled: bool | None = None
    mig_enabled: bool | None = None
    pcie_generation: int | None = None  # of the link, under load
    pcie_width: int | None = None
    nvlinks: int | None = None  # links that are up
    virtual_machine: bool | None = None
    compute_capability: int | None = None  # 90 of 9.0
    memory_bus_bits: int | None = None
    l2_bytes: float | None = None
    gpus: int | None = None  # of a node, which takes its other facts from its first GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationFigure:
    """A ceiling over the cards of a population, in `unit`: "B/s", "FLOP/s", "OP/s"."""

    resource: str  # "hbm.read"
    basis: Basis
    # Ratio (unit "1") to the geometric mean of the basis' other ceilings: BF16 to FP16, FP8, TF32.
    beside_siblings: bool = False
    unit: str
    method_version: int | None = None  # of the benchmark
    cards: int
    runs: int
    median: float  # of the cards' medians
    lowest_state: float  # median of the lower cards, if they form two groups
    highest_state: float  # median of the upper cards
    between_cards: float  # the cards' standard deviation, as a share of the median
    between_runs: float  # standard deviation of one card's runs, likewise
    limit: float  # lower values are not healthy
    theory: float | None = None  # the cards' theoretical peak
    datasheet: float | None = None  # their documented peak


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutCard:
    """A card that was excluded from a population, as an outlier or faulty."""

    card: str
    figure: str  # "hbm.read/measured", or the rule that failed: "health/xid"
    share: float | None = None  # of the cards' median


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Runs of comparable cards, in one mode."""

    facts: CardFacts
    mode: Literal["quick", "full"]
    cards: int
    runs: int
    drivers: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()  # of peakline
    first: str = ""  # time of the first run, as in `Profile.created`; "": unknown
    last: str = ""
    left_out: tuple[LeftOutCard, ...] = ()
    limit_deviations: float  # standard deviations of a limit below `lowest_state`
    figures: tuple[PopulationFigure, ...]

    def figure(
        self, resource: str, basis: str, *, beside_siblings: bool = False
    ) -> PopulationFigure:
        """The figure of a ceiling: `figure("tensor.bf16", "burst")`. Raises PeakError if there is
        none, listing those of the resource."""
        for row in self.figures:
            if (row.resource, row.basis, row.beside_siblings) == (resource, basis, beside_siblings):
                return row
        kind = " beside its siblings" if beside_siblings else ""
        there = [
            row.basis
            for row in self.figures
            if row.resource == resource and row.beside_siblings == beside_siblings
        ]
        known = ", ".join(there or dict.fromkeys(row.resource for row in self.figures))
        raise PeakError(
            f"no {basis} figure for {resource}{kind} in the population of {self.facts.model}, "
            f"{self.mode} runs; it has {known or 'none at all'}"
        )

    def limit(self, resource: str, basis: str, *, beside_siblings: bool = False) -> float:
        """The lowest value of a healthy run, in the figure's unit. Raises PeakError as `figure`."""
        return self.figure(resource, basis, beside_siblings=beside_siblings).limit


def population(model: str, mode: str) -> Population:
    """The spread of a model's healthy GPUs, which `peakline check` judges by.

    `population("h200", "quick")`. Raises ProfileError, which lists all models, if the package has
    none of this one, and PeakError as `load_population`.
    """
    return load_population(files.bundled("populations", "population", model), mode)


def load_populations(path: str | os.PathLike[str]) -> tuple[Population, ...]:
    """The populations of a file that `peakline fleet --write-reference` wrote. There is one for
    each model, mode and set of facts. Raises ProfileError, which names file and field."""
    return files.read(path, _populations)


def load_population(
    path: str | os.PathLike[str], mode: str, *, model: str | None = None
) -> Population:
    """The only population of a mode ("quick", "full") and, if given, of a model. Raises
    ProfileError as `load_populations`, and PeakError unless there is exactly one."""
    there = load_populations(path)
    found = [p for p in there if p.mode == mode and model in (None, p.facts.model)]
    if len(found) == 1:
        return found[0]
    wanted = f"of {mode} runs of {model}" if model else f"of {mode} runs"
    number = f"{len(found)} populations" if found else "no population"
    listed = ", ".join(f"{p.facts.model} {p.mode} ({p.cards} cards)" for p in there)
    raise PeakError(
        f"{path} has {number} {wanted}; load_populations gives all that it has: {listed or 'none'}"
    )


def _populations(document: Any) -> tuple[Population, ...]:
    if not isinstance(document, dict):
        raise expected("an object", document)
    for key in ("schema", "schema_version"):
        if key not in document:
            raise FieldError(f'"{key}" is missing')
    wanted = schema.document("population")["properties"]["schema"]["const"]
    if document["schema"] != wanted:
        raise expected(json.dumps(wanted), document["schema"], "schema")
    versions.update(document, "population")
    schema.check(document, "population")
    rules.check(document, "population")
    return tuple(build(Population, row) for row in document["populations"])
