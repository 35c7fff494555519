"""Verdicts on recorded kernels, compared with verdicts that were derived by hand from ncu's
counters.

Each line of TRUTH was computed without this package, from the columns of the export and the
profile's ceilings. All shares are of the launch's time.
"""

import dataclasses
import json
import re
from typing import NamedTuple

import peakline
import pytest
from conftest import QUICK, ceiling, document_of, loaded, only
from made_kernels import FULL_EXPORT, parse, table_of, text_of
from peakline.workload.busy import busy_shares
from peakline.workload.document import kernel_document
from peakline.workload.kernel import Kernel, Shape
from peakline.workload.kernel_text import advice, described, table, total
from peakline.workload.placement import place
from peakline.workload.read import read_kernels as read

EXPORT = FULL_EXPORT
IDLE = EXPORT.with_name("h200_ncu_idle.csv.gz")


class Truth(NamedTuple):
    part: str  # of the kernel's name
    unit: str  # the busiest
    busy: float  # %, by ncu
    gain_us: float  # as written, at most
    rewritten: str  # the limiter of the same bytes of device memory and FLOPs
    rewritten_gain_us: float


# Times and shares are in the export; the ceilings are BF16 831.4 TFLOP/s at 1569 MHz, HBM copy 4302
# and triad 4401 GB/s, and so on.
TRUTH = [
    # sm__pipe_tensor_op_hmma 93.40 %; l1tex 94.57 %, 76 points of it shared memory read by wgmma.
    # 1.1167 TFLOP in 1384.3 us at 1597 MHz: 95.3 % of 846 TFLOP/s.
    Truth("nvjet_sm90_tst_320x128", "tensor hmma", 93.40, 64.7, "tensor.bf16", 64.7),
    # sm__inst_issued 76.91 %, dram 25.89 %. 519 MB, half of it written: 29.0 % of copy.
    Truth("cunn_SoftMaxForwardReg", "issue", 76.91, 96.2, "hbm.copy", 295.9),
    # sm__inst_issued 80.16 %, dram 54.21 %; 521 MB in 199.8 us: 60.6 % of copy.
    Truth("vectorized_layer_norm_kernel", "issue", 80.16, 39.6, "hbm.copy", 78.7),
    # gpu__dram_throughput 90.35 %; 537 MB read and 252 MB written in 181.4 us: 98.8 % of triad.
    Truth("vectorized_elementwise_kernel", "dram", 90.35, 2.2, "hbm.triad", 2.2),
    # gpu__dram_throughput 74.17 %, 82.9 % of copy; lts__throughput 86.97 % names no unit.
    Truth("vectorized_gather_kernel", "dram", 74.17, 17.6, "hbm.copy", 23.1),
    # 128 tiles on 132 SMs; sm__pipe_tensor_op_hmma 72.43 %.
    Truth("nvjet_sm90_hsh", "tensor hmma", 72.43, 6.8, "tensor.fp16", 6.8),
    # sm__inst_issued 84.51 %, FMA pipe 75.76 %: 50.1 of 65.7 TFLOP/s.
    Truth("simt_sgemm", "issue", 84.51, 53.1, "cuda_core.fp32", 81.7),
    Truth("tf32f32", "tensor hmma", 72.66, 12.9, "tensor.tf32", 12.9),
    Truth("gemm_f64f64", "tensor dmma", 91.33, 19.7, "tensor.fp64", 19.7),
    Truth("nvjet_sm90_qqtst", "tensor hmma", 55.11, 7.2, "tensor.fp8", 7.2),
    # No wgmma: l1tex__data_pipe_lsu_wavefronts 67.95 % are ldmatrix and cp.async.
    Truth("i16832gemm_s8", "l1", 67.95, 9.2, "tensor.int8", 19.4),
    Truth("sdpa_sm90_flash", "tensor hmma", 54.09, 66.5, "tensor.bf16", 66.5),
]


def placed_by_part(profile, kernels):
    found = place(profile, kernels, "0")
    return {t.part: next(p for p in found if t.part in p.kernel.name) for t in TRUTH}


@pytest.fixture(scope="module")
def placed(profile):
    return placed_by_part(profile, read(EXPORT))


@pytest.mark.parametrize("truth", TRUTH, ids=lambda truth: truth.part)
def test_the_busiest_unit_and_what_is_to_gain(placed, truth):
    p = placed[truth.part]
    assert p.as_written.units == (truth.unit,)
    assert 100 * p.shares[truth.unit] == pytest.approx(truth.busy, abs=0.01)
    assert 1e6 * p.gain_s(p.as_written) == pytest.approx(truth.gain_us, abs=0.06)
    assert p.rewritten.units == (truth.rewritten,)
    assert 1e6 * p.gain_s(p.rewritten) == pytest.approx(truth.rewritten_gain_us, abs=0.06)
    assert p.as_written.complete and p.rewritten.complete
    assert p.gain_s(p.as_written) <= p.gain_s(p.rewritten)
    assert (p.missing, p.impossible, p.reason) == ((), (), None)


def test_ncu_summaries_cap_the_gain(placed):
    """The gain never exceeds what ncu's own maxima leave, whichever unit was named."""
    header, _, *launches = table_of()
    for p in placed.values():
        (row,) = [r for r in launches if p.kernel.name in r[header.index("Kernel Name")]]
        maxima = [
            float(row[header.index(f"{name}.avg.pct_of_peak_sustained_elapsed")])
            for name in ("sm__throughput", "gpu__compute_memory_throughput", "lts__throughput")
        ]
        left = (1 - max(maxima) / 100) * p.kernel.seconds
        # Only an L2 stage that ncu does not name is busier than the named units.
        assert p.gain_s(p.as_written) <= left * (1 + 1e-9)
        named = max(p.shares[unit] for unit in p.kernel.busy if unit in p.shares)
        assert p.as_written.capped_by == ("l2" if "gather" in p.label else "")
        assert max(maxima[:2]) / 100 - named < 0.03


def test_the_sum_is_as_written(profile, placed):
    found = sorted(placed.values(), key=lambda p: -(p.gain_s(p.as_written) if p.as_written else 0))
    written = total(found, lambda p: p.as_written)
    assert written.share == pytest.approx(sum(t.gain_us for t in TRUTH) / 3219.5, abs=2e-4)
    assert f"{100 * written.share:.1f}" == "12.3"
    text = advice(profile, found)
    assert text[0] == (
        "Start with cunn_SoftMaxForwardReg: up to 96.2 µs (3.0 % of kernel time) to gain as "
        "written, 296 µs (9.2 %) rewritten; all your kernels: 12.3 % and 21.1 % of 3.22 ms."
    )
    assert text[1].startswith("Rewritten, with the same FLOPs and bytes")
    assert "at most 21.1 % to gain" in text[1]
    assert text[2].startswith("SM clock of the export: 1597 MHz to 1971 MHz; ceilings that follow")


def test_clocked_ceilings_follow_kernel_clock(placed):
    p = placed["nvjet_sm90_tst_320x128"]
    (row,) = (
        c
        for c in document_of()["ceilings"]
        if (c["resource"], c["basis"]) == ("tensor.bf16", "burst")
        and c["value"] == ceiling("tensor.bf16", "burst")
    )
    clock = row["conditions"]["sm_clock_hz"]
    assert p.kernel.clock_hz == pytest.approx(1.597378e9, rel=1e-6)
    assert clock != pytest.approx(p.kernel.clock_hz, rel=0.01)
    scaled = row["value"] * p.kernel.clock_hz / clock
    flops = 2 * 8320 * 8192 * 8192  # tiles extend beyond 8192 rows
    assert p.shares["tensor.bf16"] == pytest.approx(flops / scaled / 1384.32e-6, rel=1e-4)
    # Memory ceilings do not follow the SM clock.
    moved = 536886272 + 251725312
    triad = ceiling("hbm.triad", "measured")
    add = placed["vectorized_elementwise_kernel"]
    assert add.shares["hbm.triad"] == pytest.approx(moved / triad / 181.408e-6, rel=1e-4)


def test_gemm_reads_count_with_tensor_cores():
    """ncu reports the L1's stages as busier than the tensor pipe of this GEMM."""
    header, _, first, *_ = table_of()
    named = dict(zip(header, first, strict=True))
    stages = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"
    assert float(named[stages]) > 94
    found = {k.name: k for k in read(EXPORT)}
    product = next(k for name, k in found.items() if name.startswith("nvjet_sm90_tst"))
    # 94.57 minus what is neither loaded nor stored: 94.55 - 14.97 - 3.31.
    assert product.busy["l1"] / product.seconds == pytest.approx(0.1830, abs=1e-4)
    # Without wgmma all of it is the L1's own; without the parts nothing is attributed to it.
    wavefronts = "l1tex__data_pipe_lsu_wavefronts"
    shares = {
        stages: 90.0,
        f"{wavefronts}_mem_shared.sum.pct_of_peak_sustained_elapsed": 80.0,
        f"{wavefronts}_mem_shared_op_ld.sum.pct_of_peak_sustained_elapsed": 10.0,
        f"{wavefronts}_mem_shared_op_st.sum.pct_of_peak_sustained_elapsed": 5.0,
    }
    gmma = {"sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed": 5.0}
    assert busy_shares(shares)[0]["l1"] == pytest.approx(0.9)
    assert busy_shares({**shares, **gmma})[0]["l1"] == pytest.approx(0.25)
    assert "l1" not in busy_shares({stages: 90.0, **gmma})[0]


def test_equally_busy_units_are_named_together(profile):
    def units(**busy):
        kernel = Kernel("k", 1, 1e-3, {}, {}, busy={u: s * 1e-3 for u, s in busy.items()})
        (p,) = place(profile, [kernel])
        return p.as_written.units

    assert units(issue=0.80, dram=0.775, l2=0.5) == ("issue", "dram")
    assert units(issue=0.80, dram=0.76) == ("issue",)
    # A pipe and its part are one unit.
    tensor = {"tensor": 0.9, "tensor hmma": 0.9}
    kernel = Kernel("k", 1, 1e-3, {}, {}, busy={u: s * 1e-3 for u, s in tensor.items()})
    (p,) = place(profile, [kernel])
    assert p.as_written.units == ("tensor hmma",)


@pytest.mark.parametrize(
    ("parts", "unit", "shares"),
    [
        # Active shares: converted, the part is now above, now below the whole's 72 %.
        ([80.0015, 79.9985, 80.0015, 79.9985], "tensor hmma", 1),
        ([79.9985] * 2, "tensor hmma", 1),
        ([80.0015, 70.0, 79.9], "tensor", 2),
        ([0.0, 0.0], "tensor", 2),
    ],
)
def test_launches_of_a_kernel_are_one_row(profile, parts, unit, shares):
    whole, part = "sm__pipe_tensor_cycles_active", "sm__pipe_tensor_op_hmma_cycles_active"
    table = [["ID", "Kernel Name", "gpu__time_duration.sum"], ["", "", "ns"]]
    table[0] += ["sm__cycles_active.avg", "sm__cycles_elapsed.avg"]
    table[0] += [f"{whole}.avg.pct_of_peak_sustained_elapsed"]
    table[0] += [f"{part}.avg.pct_of_peak_sustained_active"]
    table[1] += ["cycle", "cycle", "%", "%"]
    for number, active in enumerate(parts):
        table.append([number, "gemm(float *)", 400_000 + number, 900_000, 1_000_000, 72.0, active])
    (p,) = place(profile, parse(text_of(table)))
    assert (p.kernel.name, p.kernel.launches, p.as_written.units) == ("gemm", len(parts), (unit,))
    assert p.as_written.share == pytest.approx(0.72, abs=1e-4)
    assert sum(name.startswith("tensor") for name in p.shares) == shares


def metrics_alone(pattern):
    """The kernels of the export with these metrics alone."""
    found = table_of()
    kept = rf"{pattern}|ID|Kernel Name|CC|gpu__time_duration\.sum"
    columns = [i for i, name in enumerate(found[0]) if re.fullmatch(kept, name)]
    return parse(text_of([[row[i] for i in columns] for row in found]))


def test_summaries_cap_the_gain_and_name_no_unit(profile):
    """ncu's maxima of units, as from `--section SpeedOfLight`."""
    summaries = r"(sm|gpu__compute_memory)__?throughput\.avg\.pct_of_peak_sustained_elapsed"
    found = placed_by_part(profile, metrics_alone(summaries))
    softmax = found["cunn_SoftMaxForwardReg"]
    assert softmax.as_written.units == ()
    assert softmax.gain_s(softmax.as_written) == pytest.approx(
        (1 - 0.769086) * 416.512e-6, rel=1e-4
    )
    assert softmax.as_written.complete  # both are maxima over all units
    assert described(profile, softmax, softmax.as_written) == "an SM unit 76.9 %"
    assert softmax.rewritten is None
    assert all(p.as_written for p in found.values())


def test_few_metrics_claim_what_is_known(profile):
    metrics = metrics_alone(r"gpu__dram_throughput\.avg\.pct.*elapsed")
    placed = placed_by_part(profile, metrics)
    add = placed["vectorized_elementwise_kernel"]
    assert not add.as_written.complete
    assert described(profile, add, add.as_written) == "at least 90.4 % of DRAM"
    assert add.gain_s(add.as_written) == pytest.approx((1 - 0.90351) * 181.408e-6, rel=1e-3)
    assert all(p.as_written is not None for p in placed.values())
    assert '"At least": not every unit was counted' in " ".join(advice(profile, [add]))


def as_older_device(name, capability):
    """The export as for a device without wgmma and with other counters: shares of pipes relate to
    active time, and `gpu__dram_throughput` is missing."""
    header, units, *launches = table_of()
    drop = re.compile(r".*(gmma|_type_hmma_).*|sm__pipe_.*elapsed|sm__inst_executed_pipe_.*elapsed")
    keep = [i for i, column in enumerate(header) if not drop.fullmatch(column)]
    renamed = {
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": (
            "dram__throughput.avg.pct_of_peak_sustained_elapsed"
        )
    }
    table = [[renamed.get(header[i], header[i]) for i in keep], [units[i] for i in keep]]
    for launch in launches:
        cells = dict(zip(header, launch, strict=True))
        cells |= {"CC": capability, "device__attribute_display_name": name}
        table.append([cells[header[i]] for i in keep])
    return text_of(table)


@pytest.mark.parametrize(
    ("name", "capability"), [("NVIDIA A100-SXM4-80GB", "8.0"), ("NVIDIA GeForce RTX 4090", "8.9")]
)
def test_exports_of_older_devices_hold_too(profile, name, capability):
    found = placed_by_part(profile, parse(as_older_device(name, capability)))
    for part in ("cunn_SoftMaxForwardReg", "layer_norm", "simt_sgemm", "elementwise", "f64f64"):
        (truth,) = [t for t in TRUTH if part in t.part]
        p = found[truth.part]
        assert p.as_written.complete
        assert p.as_written.units == (truth.unit,), truth.part
        # Shares of active time are converted to shares of elapsed time.
        assert 100 * p.shares[truth.unit] == pytest.approx(truth.busy, abs=0.1)
    text = advice(profile, list(found.values()))
    assert text[0].startswith(f"This ran on {name} of compute capability")


def unknown_device():
    """A profile of a device that no table knows: only measured values."""
    document = document_of()
    document["devices"][0]["name"] = "Something New"
    document["ceilings"] = [
        c for c in document["ceilings"] if c["basis"] not in ("theoretical", "datasheet")
    ]
    return loaded(only(document))


def test_an_unknown_device_holds_too(placed):
    found = placed_by_part(unknown_device(), read(EXPORT))
    for part, p in found.items():
        assert (p.as_written, p.rewritten) == (placed[part].as_written, placed[part].rewritten)


def test_a_quick_profile_holds_too():
    """A quick profile lacks FP64 and INT8 GEMMs, the L2, and all curves but the launch's."""
    profile = peakline.load(QUICK)
    assert profile.mode == "quick"
    found = placed_by_part(profile, read(EXPORT))
    for truth in TRUTH:
        p = found[truth.part]
        assert p.as_written.units == (truth.unit,)
        assert p.rewritten.units == (truth.rewritten,)
        specified = truth.rewritten in ("tensor.fp64", "tensor.int8")
        assert p.published == ({truth.rewritten} if specified else set())
    double = found["gemm_f64f64"]
    assert "FP64 Tensor Cores (theoretical) 91.3 %" in "".join(table(profile, [double], 200))
    (reason,) = [p.reason for p in place(profile, [idle(blocks=20.0, sms=132.0)])]
    assert (reason.kind, reason.topic) == ("waves", "")


class Waiting(NamedTuple):
    part: str  # of the kernel's name
    units: tuple[str, ...]
    busy: float  # %, by ncu
    gain_us: float  # as written, at most
    kind: str  # why no unit is busy; "" if one is


# Also by hand from the columns: time, busiest units, launch.
WAITING = [
    # 20 blocks of 132 SMs: sm__inst_issued 7.48 % in 48.6 us.
    Waiting("few_blocks", ("issue", "fma"), 7.48, 45.0, "waves"),
    # launch__waves_per_multiprocessor 1.10.
    Waiting("one_past_a_wave", ("issue",), 27.57, 69.3, "tail"),
    # One warp of 64: 9.00 % of DRAM; lts__throughput 16.67 % leaves 83.33 % of 2298.7 us.
    Waiting("chase", ("dram", "l2"), 9.00, 1915.5, "occupancy"),
    # 1.86 and 1.70 us, shorter than an empty kernel (2.24).
    Waiting("CUDAFunctorOnSelf_add", ("l2",), 0.53, 1.85, "launch"),
    Waiting("DeviceScanInitKernel", ("l2",), 0.64, 1.69, "launch"),
    # lts__throughput 50.73 %: a stage of the L2 is busy for half of the time.
    Waiting("DeviceScanKernel", ("dram",), 36.92, 7.5, ""),
    # 263 MB written and 0.07 MB read, but instructions are the limit.
    Waiting("distribution_elementwise", ("issue",), 76.19, 37.2, ""),
    Waiting("direct_copy", ("issue",), 55.26, 84.6, ""),
    Waiting("CUDAFunctor_add", ("dram",), 83.03, 4.8, ""),
]


@pytest.mark.parametrize("truth", WAITING, ids=lambda truth: truth.part)
def test_what_a_real_kernel_waits_for(profile, truth):
    (p,) = [p for p in place(profile, read(IDLE), "0") if truth.part in p.kernel.name]
    assert p.as_written.complete
    assert p.as_written.units == truth.units
    assert 100 * p.shares[truth.units[0]] == pytest.approx(truth.busy, abs=0.01)
    assert 1e6 * p.gain_s(p.as_written) == pytest.approx(truth.gain_us, abs=0.06)
    assert (p.reason.kind if p.reason else "") == truth.kind


def test_random_numbers_are_held_against_writes(profile):
    (p,) = [p for p in place(profile, read(IDLE), "0") if "distribution" in p.kernel.name]
    assert p.rewritten.units == ("hbm.write",)
    moved = 262726656 + 70400
    assert p.rewritten.share == pytest.approx(
        moved / ceiling("hbm.write", "measured") / 156.224e-6, rel=1e-6
    )


def test_a_clock_above_the_highest_is_noise(profile):
    """Cycles / 1.7 us give 2050 MHz, on a card with at most 1980."""
    placed = place(profile, read(IDLE), "0")
    assert max(p.kernel.clock_hz or 0.0 for p in placed) > 2.04e9
    assert max(p.clock_hz or 0.0 for p in placed) == 1.98e9
    assert "SM clock of the export: 1941 MHz to 1980 MHz" in " ".join(advice(profile, placed))


UNITS = ("issue", "alu", "fma", "xu", "l1", "l2", "dram", "tensor")


def idle(seconds=1e-3, most=0.4, **shape):
    """A kernel with every unit below half of its peak."""
    busy = dict.fromkeys(UNITS, 0.3 * seconds) | {"issue": most * seconds}
    return Kernel("k", 1, seconds, {}, {}, busy=busy, shape=Shape(**shape))


# Points of the waves curve nearest to 40 of 132 SMs, and to 1.1 of 2 waves.
SHOWN = {
    "waves": "a product that fills 33.3 % of the SMs runs at 35.3 % of its rate",
    "tail": "a product that fills 54.2 % of the SMs runs at 55.2 % of its rate",
}


@pytest.mark.parametrize(
    ("kernel", "kind", "text", "topic"),
    [
        (idle(3e-6), "launch", "launch-bound: it takes 3.00 µs, an empty kernel 2.24 µs", "launch"),
        (idle(blocks=40, sms=132, waves=0.3), "waves", "too few blocks: 40 on 132 SMs", "waves"),
        (idle(blocks=40), "waves", "too few blocks: 40 on 132 SMs", "waves"),  # by the profile
        (
            idle(blocks=145, sms=132, waves=1.1, occupancy_percent=12.5),
            "tail",
            "tail: its 1.10 waves of blocks take as long as 2, so the SMs are filled to 55.0 %",
            "waves",
        ),
        (
            idle(blocks=1e5, sms=132, waves=80.2, warps_per_sm=8.1, occupancy_percent=12.6),
            "occupancy",
            "latency-bound by occupancy: 8.1 warps per SM, 13 % of what an SM holds",
            "occupancy",
        ),
        (
            idle(blocks=1e5, sms=132, waves=80.2, warps_per_sm=60.0, occupancy_percent=94.0),
            "latency",
            "latency-bound although 94 % of the warps that an SM holds are resident",
            "memory latency",
        ),
        (idle(), "latency", "and the occupancy was not counted", "memory latency"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_why_no_unit_is_busy(profile, kernel, kind, text, topic):
    (p,) = place(profile, [kernel], "0")
    assert p.reason.kind == kind
    assert text in p.reason.text
    # The device's curve of that effect is shown, too.
    assert topic in p.reason.topic
    curve = profile.curve(p.device, p.reason.topic)
    expected = SHOWN.get(p.reason.kind) or curve.title
    assert p.reason.shown == expected
    assert p.reason.shown in " ".join(" ".join(table(profile, [p], 400)).split())


@pytest.mark.parametrize(
    "kernel",
    [
        idle(most=0.51),  # a unit is busy
        # A summary is busy, or an uncounted unit may be.
        dataclasses.replace(idle(), summaries={"sm": 0.6e-3}),
        dataclasses.replace(idle(), busy={"issue": 0.2e-3}),
    ],
)
def test_busy_unit_needs_no_other_reason(profile, kernel):
    (p,) = place(profile, [kernel], "0")
    assert p.reason is None


def test_launches_of_one_kernel_are_merged():
    """Merged launches have the longest one's shape, and sums and time-weighted means."""
    header, units, first, *_ = table_of()
    other = list(first)
    changes = {
        "gpu__time_duration.sum": "4.152960",  # three times as long
        "sm__inst_issued.avg.pct_of_peak_sustained_elapsed": "31.379892",  # twice
        "sm__issue_active.avg.pct_of_peak_sustained_elapsed": "31.379892",
        "smsp__cycles_elapsed.avg.per_second": "1.197378",
        "launch__grid_size": "264",
    }
    for column, value in changes.items():
        other[header.index(column)] = value
    (kernel,) = parse(text_of([header, units, first, other]))
    assert kernel.launches == 2
    assert kernel.seconds == pytest.approx(4 * 1384.32e-6)
    assert kernel.busy["issue"] / 1384.32e-6 == pytest.approx(0.15689946 + 3 * 0.31379892)
    assert kernel.clock_hz == pytest.approx((1.597378e9 + 3 * 1.197378e9) / 4)
    assert kernel.shape.blocks == 264


def test_shares_beyond_a_peak_are_impossible(profile):
    (p,) = place(profile, [idle(most=1.2)])
    assert p.impossible == ("issue",)
    assert (p.as_written, p.reason) == (None, None)
    assert json.dumps(kernel_document(profile, [p]))
