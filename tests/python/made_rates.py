"""Profiles with rates that the reference profiles were not measured for."""

import dataclasses
from collections.abc import Mapping

import peakline
from conftest import GPU, ONE_GPU, reference
from peakline.profile.conclusions import Basis, Figure
from peakline.profile.measurement import Work


def with_ceilings(rates: Mapping[str, Mapping[Basis, float]]) -> peakline.Profile:
    """The profile of one GPU, with these FLOP/s by resource and basis."""
    base = reference(ONE_GPU)
    like = next(row for row in base.ceilings if row.resource == "tensor.fp8")
    rows = [
        dataclasses.replace(like, resource=resource, basis=basis, value=value)
        for resource, of in rates.items()
        for basis, value in of.items()
    ]
    return dataclasses.replace(base, ceilings=(*base.ceilings, *rows))


def with_blocks(rates: Mapping[str, Mapping[int, float]]) -> peakline.Profile:
    """The profile of one GPU, with these B/s of scattered blocks H2D, by way and bytes of one."""
    base = reference(ONE_GPU)
    like = base.of(GPU, "pcie.h2d.pinned")[0]
    made = [
        dataclasses.replace(
            like,
            id=f"pcie.blocks.{way}",
            params={"block": block, "direction": direction},
            value=rate * factor,
        )
        for way, of in rates.items()
        for block, rate in of.items()
        for direction, factor in (("h2d", 1.0), ("d2h", 100.0))
    ]
    return dataclasses.replace(base, measurements=(*base.measurements, *made))


def with_groups(rows: Mapping[int, tuple[float, float, float]]) -> peakline.Profile:
    """The profile of one GPU, with grouped GEMMs: by tokens of a group, their seconds, and the
    least seconds of their bytes and of their FLOPs."""
    base = reference(ONE_GPU)
    like = base.of(GPU, "gemm.skinny.bf16")[0]
    assert like.summary
    memory = base.bandwidth("hbm.read")
    computing = base.peak("bf16", basis="burst")
    made = [
        dataclasses.replace(
            like,
            id="gemm.grouped.even",
            params={"tokens": tokens},
            work=Work(
                bytes_read=0.75 * reading * memory,
                bytes_written=0.25 * reading * memory,
                flops=counting * computing,
            ),
            summary=dataclasses.replace(like.summary, median_s=seconds),
        )
        for tokens, (seconds, reading, counting) in rows.items()
    ]
    return dataclasses.replace(base, measurements=(*base.measurements, *made))


def with_energy(idle_w: float, hbm_read_j_per_byte: float, bf16_w: float) -> peakline.Profile:
    """The profile of one GPU, with what `peakline run --energy` adds: the idle power and the net
    energy of a byte; and with this power of BF16 GEMMs under load."""
    base = reference(ONE_GPU)
    figures = (
        Figure(id="energy.idle", name="power", value=idle_w, unit="W"),
        Figure(id="energy.hbm_read", name="net", value=hbm_read_j_per_byte, unit="J/B"),
    )
    curve = dataclasses.replace(base.curves[0], device=GPU, topic="energy", figures=figures)
    rows = [
        dataclasses.replace(row, conditions=dataclasses.replace(row.conditions, power_w=bf16_w))
        if (row.resource, row.basis) == ("tensor.bf16", "sustained")
        else row
        for row in base.ceilings
    ]
    return dataclasses.replace(base, curves=(*base.curves, curve), ceilings=tuple(rows))
