"""Traces of several ranks: what their collectives cost, who is waited for, and why."""

import dataclasses
import json
import re

import peakline
import pytest
from conftest import ONE_GPU, RECORDED, ROOT, TWO_GPUS, document_of, reference
from made_traces import Made
from peakline.limits.collectives import points
from peakline.workload.advice import advice
from peakline.workload.analysis import analyze
from peakline.workload.costs import Links
from peakline.workload.kernel import WorkloadError
from peakline.workload.model import Kind, Message
from peakline.workload.part import COLLECTIVES, Part
from peakline.workload.step_text import headline, said


def rank_file(path, rank, starts, ends, size, busy=0.0, **changes):
    """busy: how long a kernel hides each collective; changes: of a collective's arguments."""
    made = Made()
    for start, end in zip(starts, ends, strict=True):
        made.kernel(start - 100, start + busy, start - 150)
        collective(made, start, end, start - 140, size, stream=9, **changes)
    return made.write(path, distributedInfo={"rank": rank})


def collective(made, start, end, called, size, lasts=2.0, **changes):
    message = {"Collective name": "allreduce", "In msg nelems": size, "Out msg nelems": size}
    message |= {"dtype": "BFloat16", "Group size": 2, "Process Group Name": "0", **changes}
    kernel = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    made.kernel(start, end, called, kernel, lasts=lasts, **message)


def test_collectives_of_ranks_wait_for_the_last(tmp_path):
    profile = reference(TWO_GPUS)
    size = 1 << 26
    # The second rank's clock is offset, and the rank is 300 µs late.
    first = rank_file(tmp_path / "0.json", 0, [1000, 3000], [2000, 4000], size // 2)
    second = rank_file(tmp_path / "1.json", 1, [51_300, 53_300], [52_000, 54_000], size // 2)
    found = analyze(profile, [first, second])
    transfer = peakline.collective_time(profile, "all_reduce", size) * 1e9
    assert transfer < 700_000
    assert found.parts[Part.COLLECTIVES_WAITING] == 2 * 300_000
    assert found.parts[Part.COLLECTIVES] == pytest.approx(4 * transfer, abs=4)
    assert found.parts[Part.COLLECTIVES_BEYOND] == pytest.approx(4 * (700_000 - transfer), abs=4)
    # The cause (a late host on the second rank) is reported, not the first one's waiting.
    assert all(one.code != Part.COLLECTIVES_WAITING for one in advice(found))
    (late,) = [one for one in advice(found) if one.code == Part.PYTHON]
    assert (late.rank, late.saving_s) == (1, pytest.approx(1150e-6))
    alone = analyze(profile, [first])
    assert Part.COLLECTIVES_WAITING not in alone.parts
    assert alone.parts[Part.COLLECTIVES_BEYOND] > 2 * 300_000


def test_kernels_hide_collectives_waiting_first(tmp_path):
    """A kernel hides the first rank's waiting; the visible parts are the transfer."""
    first = rank_file(tmp_path / "0.json", 0, [1000], [2500], 1 << 25, busy=1000)
    second = rank_file(tmp_path / "1.json", 1, [1800], [2500], 1 << 25, busy=200)
    found = analyze(reference(TWO_GPUS), [first, second])
    assert Part.COLLECTIVES_WAITING not in found.parts
    assert not any("rank" in one.text for one in advice(found))
    # 300 µs of the waiting are exposed.
    first = rank_file(tmp_path / "0.json", 0, [1000], [2500], 1 << 25, busy=500)
    found = analyze(reference(TWO_GPUS), [first, second])
    assert found.parts[Part.COLLECTIVES_WAITING] == 300_000


@pytest.mark.parametrize(("alone", "lost_us"), [(True, 80), (False, 0)])
def test_kernels_slower_beside_collectives_are_apart(tmp_path, alone, lost_us):
    """Of one kernel, two launches touch a collective and take 40 µs more than the others."""
    made = Made()
    for turn, length in enumerate((100, 140, 100, 140)):
        start = 1000 + 500 * turn
        called = "kernel" if alone or length == 140 else "another"
        made.kernel(start, start + length, start - 5, called)
        if length == 140:
            collective(made, start + 10, start + 110, start - 4, 1 << 20, stream=9)
    found = analyze(reference(TWO_GPUS), [made.write(tmp_path / "0.json")])
    assert found.parts.get(Part.KERNELS_BESIDE, 0) == lost_us * 1000
    assert found.parts[Part.KERNELS_UNKNOWN] == (480 - lost_us) * 1000


def test_who_is_waited_for_is_in_the_group(tmp_path):
    """Not a rank with hidden waiting, nor ranks of a group in which nobody waits."""
    paths = [
        rank_file(tmp_path / f"{rank}.json", rank, [start], [end], 1 << 25, busy, **group)
        for rank, start, end, busy, group in (
            (0, 1000, 2500, 1000, {"Process Group Name": "a", "Group size": 3}),
            (1, 1000, 2500, 0, {"Process Group Name": "a", "Group size": 3}),
            (2, 1800, 2500, 200, {"Process Group Name": "a", "Group size": 3}),
            (3, 1000, 1500, 0, {"Process Group Name": "b"}),
            (4, 1000, 1500, 0, {"Process Group Name": "b"}),
        )
    ]
    found = analyze(reference(TWO_GPUS), paths)
    assert found.parts[Part.COLLECTIVES_WAITING] == 800_000
    (one,) = [one for one in advice(found) if one.code == Part.COLLECTIVES_WAITING]
    assert re.match(r"rank 1 waits \d+ µs for rank 2, ", one.text)


@pytest.mark.parametrize(
    ("lengths", "said", "saving_us"),
    [
        ([150, 600, 75], "whose kernels take 1.50 x as long for the same work: a slow GPU", 275),
        ([100, 400, 450], "whose kernel c takes 450 µs a step instead of 50.0 µs", 400),
        ([100, 400, 52], "look at what that one does longer", 0),
    ],
)
def test_a_slow_gpu_is_told_from_a_slow_kernel(tmp_path, lengths, said, saving_us):
    """Three kernels are as long or longer on the second rank, then both ranks meet."""
    paths = []
    for rank, of_rank in enumerate(([100, 400, 50], lengths)):
        made, at = Made(), 10.0
        for number, length in enumerate(of_rank):
            made.kernel(at, at + length, float(number), "abc"[number], lasts=0.5)
            at += length
        collective(made, at, 1000 if rank == 0 else at + 20, 4.0, 1 << 20, lasts=0.5)
        paths.append(made.write(tmp_path / f"{rank}.json", distributedInfo={"rank": rank}))
    found = analyze(reference(TWO_GPUS), paths)
    (one,) = [one for one in advice(found) if one.code == Part.COLLECTIVES_WAITING]
    assert re.match(r"rank 0 waits \S+ µs for rank 1", one.text)
    assert said in one.text
    assert one.saving_s >= saving_us * 1e-6


def ranks_that_meet(folder, kernels, steps=2):
    """A trace for each rank: its kernels (name, length, and a GEMM's rows) one after the other in
    each step, which the slowest rank ends with a collective; the others wait there."""
    longest = max(sum(length for _, length, *_ in of_rank) for of_rank in kernels)
    paths = []
    for rank, of_rank in enumerate(kernels):
        made, at = Made(), 10.0
        made.steps(*(10.0 + step * (longest + 120) - 5 for step in range(steps + 1)))
        for step in range(steps):
            at = begin = 10.0 + step * (longest + 120)
            for number, (name, length, *rows) in enumerate(of_rank):
                if rows:
                    made.product(identity := 100 * step + number, rows[0], 64, 64)
                else:
                    identity = -1
                called = begin - 4 + 0.1 * number
                made.kernel(at, at + length, called, name, lasts=0.1, **{"External id": identity})
                at += length
            last = begin + longest + 100
            collective(made, at, last, begin, 1 << 20, lasts=0.5, **{"Group size": len(kernels)})
        at = 10.0 + steps * (longest + 120)
        made.kernel(at, at + 1, at - 1)
        paths.append(made.write(folder / f"{rank}.json", distributedInfo={"rank": rank}))
    return paths


@pytest.mark.parametrize(
    ("extra", "said", "saved"),
    [
        # Three GEMMs that no other rank has, few among many kernels.
        ([("g", 400, 9)] * 3, "as it runs g (9 x 64 x 64) 3 times instead of never: more", 1200),
        # One more launch of a kernel that all have, one kernel more of another name.
        ([("k", 100), ("m", 300)], "400 µs more a step, as it runs m once instead of never", 400),
        # Another kernel than the others: the difference counts.
        ([("l", 500), ("m", -100)], "400 µs more a step, as it runs l once instead of never", 400),
    ],
)
def test_more_work_in_few_kernels_is_named(tmp_path, extra, said, saved):
    common = [("k", 100)] * 38
    others = [common + [(name, -length) for name, length, *_ in extra if length < 0]] * 3
    late = common + [row for row in extra if row[1] > 0]
    found = analyze(reference(TWO_GPUS), ranks_that_meet(tmp_path, [*others, late]))
    first = advice(found)[0]
    assert (first.code, first.rank) == (Part.COLLECTIVES_WAITING.value, 3)
    assert "s for rank 3, whose kernels take" in first.text
    assert said in first.text
    assert "more work, not a slow GPU" in first.text
    assert first.saving_s == pytest.approx(saved * 1e-6)
    assert first.step_s == pytest.approx(found.ranks[3].step_s)


def test_healthy_ranks_are_not_named(tmp_path):
    """Each of four ranks is late in its turn."""
    ranks = [[("k", 1000 + 100 * (number == rank)) for number in range(4)] for rank in range(4)]
    for rank, of_rank in enumerate(ranks):
        of_rank += [("k", 100)] * rank  # and a little more
        of_rank += [("l", 100)] * (3 - rank)
    found = analyze(reference(TWO_GPUS), ranks_that_meet(tmp_path, ranks))
    assert not [one for one in advice(found) if one.code == Part.COLLECTIVES_WAITING]


@pytest.mark.parametrize("steps", [(10, 40), (40, 10), (10, 10, 60, 20)])
def test_savings_are_of_the_ranks_own_step(tmp_path, steps):
    """All but 5 ms of the longest rank's step is a collective, of a group that is not named."""
    paths = []
    for rank, step in enumerate(steps):
        made = Made()
        made.steps(0, 100_000)
        made.kernel(10, 5010, 5)
        collective(made, 5010, 1000 * step + 10, 6, 1 << 20, **{"Process Group Name": ""})
        paths.append(made.write(tmp_path / f"{rank}.json", distributedInfo={"rank": rank}))
    found = analyze(reference(TWO_GPUS), paths)
    (one,) = [one for one in advice(found) if "collectives take" in one.text]
    longest = max(steps)
    assert one.rank == steps.index(longest)
    assert one.saving_s == pytest.approx((longest - 5) * 1e-3)
    share = 100 * (longest - 5) / longest
    of = f"{share:.1f} % of rank {one.rank}'s"
    assert f"({of} step of {longest}.0 ms): collectives" in said(one)
    assert f"at most {longest - 5}.0 ms ({of} {longest}.0 ms)" in headline(found)


@pytest.mark.parametrize(
    ("count", "changes", "said"),
    [
        (1, {}, "not as many on every rank"),
        (2, {"Group size": 8}, "traces of some ranks of their groups are not given"),
        (2, {"Process Group Name": ""}, "do not name the groups"),
        (2, {"Collective name": "send"}, "sends and receives do not tell their partner"),
    ],
)
def test_collectives_that_do_not_match_are_told(tmp_path, count, changes, said):
    starts, ends = [1000, 3000], [2000, 4000]
    first = rank_file(tmp_path / "0.json", 0, starts, ends, 1024, **changes)
    ends = [1500, 3500]
    second = rank_file(tmp_path / "1.json", 1, starts[:count], ends[:count], 1024, **changes)
    found = analyze(reference(TWO_GPUS), [first, second])
    assert Part.COLLECTIVES_WAITING not in found.parts
    assert any(said in note for note in found.notes)


@pytest.mark.parametrize(
    ("operation", "ranks", "share"),
    [
        ("all_reduce", 2, None),  # from the curve
        ("all_reduce", 3, 4 / 3),
        ("all_reduce", 8, 9 / 8),  # the switches may reduce
        ("all_gather", 8, 7 / 8 / (1 / 2)),
        ("broadcast", 8, 1.0),
    ],
)
def test_collective_bound_follows_ranks(operation, ranks, share):
    """The curves are for two ranks, each of which sends the whole array in an all-reduce."""
    profile, size = reference(TWO_GPUS), 1 << 30
    curve = points(profile, f"nccl.{operation}", 2)
    found = Links(profile, "").collective(Message(operation, "", ranks, size))
    best = size / max(nbytes / seconds for nbytes, seconds in curve.items())
    assert found == pytest.approx((curve[size] if share is None else share * best) * 1e9, abs=1)
    assert Links(reference(ONE_GPU), "").collective(Message(operation, "", ranks, size)) is None
    assert Links(profile, "").collective(Message(operation, "", 0, size)) is None


def test_a_rank_is_given_once(tmp_path):
    first = rank_file(tmp_path / "0.json", 0, [1000], [2000], 1024)
    again = rank_file(tmp_path / "again.json", 0, [1000], [2000], 1024)
    with pytest.raises(WorkloadError, match=r"again.json is of the same rank as \S*0.json"):
        analyze(reference(TWO_GPUS), [first, again])
    made = Made()
    made.kernel(0, 10)
    plain = made.write(tmp_path / "plain.json")
    with pytest.raises(WorkloadError, match="one file per rank"):
        analyze(reference(ONE_GPU), [plain, plain])


@pytest.mark.parametrize("rank", ["9" * 5000, 10**400, -1, "²", 1.5, None, True, [1]])
def test_a_rank_that_is_none_is_not_known(tmp_path, rank):
    made = Made()
    made.kernel(0, 10)
    path = made.write(tmp_path / "t.json", distributedInfo={"rank": "RANK"})
    text = rank if rank == "9" * 5000 else json.dumps(rank)
    path.write_text(path.read_text().replace('"RANK"', text))
    assert analyze(reference(), [path]).ranks[0].timeline.trace.rank is None


# --- Curves of collectives ---


# These are seconds by bytes, as they stand in the file.
SECONDS = {
    m["params"]["bytes"]: m["summary"]["median_s"]
    for m in document_of(TWO_GPUS)["measurements"]
    if m["id"] == "nccl.all_reduce"
}
SIZES = sorted(SECONDS)


def seconds(nbytes):
    return peakline.collective_time(reference(TWO_GPUS), "all_reduce", nbytes)


def test_collective_time_is_interpolated():
    assert {size: seconds(size) for size in SIZES} == pytest.approx(SECONDS)
    low, high = SIZES[-3:-1]
    expected = 0.75 * SECONDS[low] + 0.25 * SECONDS[high]
    assert seconds(0.75 * low + 0.25 * high) == pytest.approx(expected)


def test_time_beyond_the_curve():
    assert seconds(SIZES[0] / 8) == SECONDS[SIZES[0]]
    assert seconds(4 * SIZES[-1]) == pytest.approx(4 * SECONDS[SIZES[-1]])


def test_a_part_of_a_node_has_its_own_times():
    four = reference(ROOT / "reports/reference/cards/nvidia-h200/abcd-full1.json.gz")
    between_two = [
        dataclasses.replace(m, id=m.id + ".subgroup")
        for m in reference(TWO_GPUS).measurements
        if m.id == "nccl.all_reduce"
    ]
    node = dataclasses.replace(four, measurements=(*four.measurements, *between_two))
    with pytest.raises(peakline.PeakError, match="'all_reduce' between 2 GPUs"):
        peakline.collective_time(four, "all_reduce", SIZES[-1], ranks=2)
    of_all = peakline.collective_time(node, "all_reduce", SIZES[-1])
    assert of_all == peakline.collective_time(node, "all_reduce", SIZES[-1], ranks=4)
    of_two = peakline.collective_time(node, "all_reduce", SIZES[-1], ranks=2)
    assert of_two == SECONDS[SIZES[-1]] != of_all
    # Several groups of GPUs share this id.
    with pytest.raises(peakline.PeakError, match=r"'all_reduce\.subgroup'"):
        peakline.collective_time(node, "all_reduce.subgroup", SIZES[-1])


@pytest.mark.parametrize(
    "left_out",
    [
        lambda m: m.params["bytes"] > SIZES[3],
        lambda m: m.params["bytes"] < SIZES[-1],
        lambda m: {"flags": ("implausible",)},
        lambda m: {"verified": False},
    ],
    ids=["large sizes", "small sizes", "plausible times", "right results"],
)
def test_collective_time_needs_sound_sizes(left_out):
    rows = []
    for m in reference(TWO_GPUS).measurements:
        change = left_out(m) if m.id == "nccl.all_reduce" else {}
        if change is not True:
            rows.append(dataclasses.replace(m, **(change or {})))
    node = dataclasses.replace(reference(TWO_GPUS), measurements=tuple(rows))
    with pytest.raises(peakline.PeakError, match="'all_reduce' between 2 GPUs"):
        peakline.collective_time(node, "all_reduce", 1 << 20, ranks=2)


def test_unmeasured_collective_is_an_error(profile):
    with pytest.raises(peakline.PeakError, match=r"'reduce'.* it has all_gather, "):
        peakline.collective_time(reference(TWO_GPUS), "reduce", 8)
    with pytest.raises(peakline.PeakError, match="none at all"):
        peakline.collective_time(profile, "all_reduce", 8)
    with pytest.raises(ValueError, match="nbytes"):
        seconds(0)


# --- Recorded ---


# Seconds of a step without the profiler: as it is, and where rank 1 does as rank 0.
HOST_S, WORK_S, SAME_S = 27.6e-3, 6.98e-3, 4.39e-3
# These ranks ran a larger model, with a gather before each step: rank 1's indices are scattered,
# then in order.
# Without the gather, gradients are reduced beside the backward pass, or not at all.
KERNEL_S, ORDERED_S, HIDDEN_S, ALONE_S = 26.15e-3, 23.93e-3, 22.44e-3, 22.37e-3


def recorded(name):
    paths = [RECORDED / f"{name}{rank}.json.gz" for rank in (0, 1)]
    return analyze(reference(TWO_GPUS), paths)


def test_a_late_host_is_named():
    """Rank 1 computes for 20 ms on its CPU before each step."""
    found = recorded("host")
    first = advice(found)[0]
    assert (first.code, first.rank) == (Part.PYTHON.value, 1)
    assert first.saving_s == pytest.approx(HOST_S - SAME_S, rel=0.05)
    assert re.search(r"waiting for the CPU \(Python\), .* of rank 1's ", headline(found))
    # Rank 0 only waits for it and loses nothing itself.
    assert not [f for f in advice(found) if f.code == Part.COLLECTIVES_WAITING.value]


def test_more_work_is_named():
    """Rank 1 runs three more forward passes in each step."""
    found = recorded("work")
    first = advice(found)[0]
    assert (first.code, first.rank) == (Part.COLLECTIVES_WAITING.value, 1)
    assert WORK_S - SAME_S < first.saving_s < 1.15 * (WORK_S - SAME_S)
    said = (
        r"rank 0 waits (\S+) ms for rank 1, which runs 184 kernels a step instead of 112: more "
        r"work, not a slow GPU \(.*\). In all that is (\S+) ms of kernels, more than rank 0 waits"
    )
    waited, extra = map(float, re.fullmatch(said, first.text).groups())
    assert waited < extra == pytest.approx(first.saving_s * 1e3, abs=0.006)
    assert "; the most to save is rank 1's longer work, " in headline(found)


def test_late_collectives_are_exposed():
    """Gradients are reduced one after the other when all of them are there."""
    found = recorded("exposed")
    exposed = max(
        sum(rank.parts.get(part, 0) for part in COLLECTIVES) / len(rank.steps)
        for rank in found.ranks
    )
    said = [f for f in advice(found) if "collectives take" in f.text]
    assert [f.saving_s for f in said] == [pytest.approx(exposed * 1e-9)]
    # Eight weights of 3072 x 3072 and their biases, by the measured curve of two GPUs.
    assert found.share(Part.COLLECTIVES) > 0.8 * sum(found.share(part) for part in COLLECTIVES)


@pytest.mark.parametrize(
    ("step", "remedy"),
    [("step", "a bucket of gradients"), ("step[DECODE bs=1]", "over fewer GPUs (tensor parallel")],
)
def test_advice_on_collectives_is_about_the_work(tmp_path, step, remedy):
    made = Made()
    for at in (0, 1000):
        made.event("user_annotation", step, at, at + 990)
        made.kernel(at, at + 400, at)
        collective(made, at + 400, at + 990, at + 10, 1 << 20)
    (found,) = advice(analyze(reference(TWO_GPUS), [made.write(tmp_path / "trace.json")]))
    assert remedy in found.text


def test_one_slow_kernel_is_named():
    """Rank 1 gathers from all over an array, rank 0 in order: other kernels are as fast on both."""
    found = recorded("kernel")
    first = advice(found)[0]
    assert (first.code, first.rank) == (Part.COLLECTIVES_WAITING.value, 1)
    assert "whose kernel _scatter_gather_elementwise_kernel takes 3.69 ms" in first.text
    assert "for the same work: that kernel, not a slow GPU. In all that is" in first.text
    # Most of the waiting is hidden, and slows the kernels that hide it.
    assert KERNEL_S - ORDERED_S < first.saving_s < 1.5 * (KERNEL_S - ORDERED_S)
    assert "; the most to save is rank 1's longer work, " in headline(found)


def test_overlapped_collectives_are_hidden():
    found = recorded("hidden")
    exposed = sum(found.share(part) for part in COLLECTIVES)
    assert exposed < 0.01
    assert exposed * found.step_s == pytest.approx(HIDDEN_S - ALONE_S, abs=2e-4)
    assert not [f for f in advice(found) if "collectives take" in f.text]
    # They took place all the same, for longer than that.
    rank = found.ranks[0]
    rows, (step, _) = rank.timeline.rows, rank.steps
    of_step = (rows["kind"] == Kind.COLLECTIVE) & (rows["start"] >= step.start)
    of_step &= rows["end"] <= step.end
    messages = (rank.timeline.trace.messages[m] for m in rows["message"][of_step])
    assert sum(m.bytes for m in messages) == 8 * 4096 * 4097 * 2
    assert (rows["end"] - rows["start"])[of_step].sum() * 1e-9 > 5 * exposed * found.step_s
