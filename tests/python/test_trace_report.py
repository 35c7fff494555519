"""peakline-report --trace: terminal, page, document and exit code."""

import re

import pytest
from conftest import CAUSES, GPU, ONE_GPU, document_of, figure_of, loaded, only, reference
from made_traces import Made
from peakline import units
from peakline.commands.condition import condition
from peakline.peaks.mfu import Utilization
from peakline.pictures import Canvas
from peakline.pictures.waterfall import RULES, sawtooth, waterfall_pictures
from peakline.report import build
from peakline.text import escape
from peakline.workload.analysis import analyze
from peakline.workload.lanes import Look, lanes
from peakline.workload.part import Part
from peakline.workload.step_text import headline, lines, table

ITEM = str(CAUSES / "item.json.gz")
QUICK = loaded(only(document_of()))  # a page with only ceilings


def test_the_terminal_gets_parts_that_add_up(report, profile, ceilings_path, tmp_path):
    text = report.stdout(ceilings_path, "--trace", ITEM, "-o", tmp_path / "out")
    assert text.startswith("A step takes 2.86 ms, of which kernels at their lower bound need 46.")
    rows = re.findall(r"^(\S.*?) +(\d+\.\d{3}) +(\d+\.\d) %$", text, re.MULTILINE)
    *parts, whole = rows
    assert whole[0] == "the step"
    assert sum(round(1000 * float(ms)) for _, ms, _ in parts) == round(1000 * float(whole[1]))
    assert "1. Up to 860 µs (30.0 % of a step): 32 times a step the CPU reads" in text
    assert "These savings overlap and do not add up: all together save at most" in text
    assert "Of kernels alone, the most is in" in text and "Start with" not in text
    # A profile with only ceilings lacks launch costs, so they are assumed, and marked as such.
    assert (
        "assumed: 5 µs for a launch call, 10 µs from the call to the kernel's start, 10 µs between "
        "queued kernels. Measure it"
    ) in " ".join(text.split())
    # The table has the figures of a step, as all that stands above it.
    beyond = analyze(profile, [ITEM]).parts[Part.KERNELS_BEYOND] / 3 * 1e-9
    assert f"takes {units.time(beyond)} a step more than its lower bound" in " ".join(text.split())
    row = r"Your kernels in a step:\n.*\n +1  nvjet_sm90_tst\S+ +32 +1\.44 ms +100\.0 %\n"
    assert re.search(row + f".* at most {units.time(beyond)} to gain\n", text)
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert page.index('id="steps"') < page.index('id="kernels-of-0"')
    # Pictures of the machine are on its own page.
    assert 'data-picture="ceiling-table"' not in page and 'data-picture="roofline"' not in page
    assert "<code>peakline-report ceilings.json</code> draws that machine itself" in page
    for kind in ("waterfall", "step-advice", "sawtooth", "step-table", "kernel-table"):
        assert f'data-picture="{kind}"' in page


def test_another_gpus_trace_is_held_against_the_profile(report, tmp_path):
    trace = str(CAUSES.parent / "h200_trace.json.gz")
    other = tmp_path / "other.json"
    other.write_text(ONE_GPU.read_text().replace("NVIDIA H200", "NVIDIA H20"))
    for profile, title in ((ONE_GPU, "goes on NVIDIA H200"), (other, "goes, against NVIDIA H20")):
        report.stdout(profile, "--trace", trace, "-o", tmp_path / "out", "--overwrite")
        page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
        assert f"<h1>Where the time of a step {title}</h1>" in page


def test_ten_kernels_are_printed_unless_all(report, tmp_path):
    trace = str(CAUSES.parent / "h200_trace.json.gz")

    def shown(*options):
        text = report.stdout(
            ONE_GPU, "--trace", trace, "-o", tmp_path / "out", "--overwrite", *options
        )
        return len(re.findall(r"^ {1,2}\d+  \S", text, re.MULTILINE)), text

    few, text = shown()
    every, whole = shown("--all")
    assert few == 10 < every
    assert f"{every - few} other kernels" in text and "other kernel" not in whole


def test_the_document_says_the_same(report):
    found = report.document(ONE_GPU, "--trace", ITEM)
    assert (found["schema"], found["schema_version"]) == ("peakline-trace", 1)
    assert found["device"]["uuid"] == GPU
    assert found["steps"] == 3
    (rank,) = found["ranks"]
    assert sum(part["nanoseconds"] for part in found["parts"]) == rank["nanoseconds"]
    assert all(sum(s["parts"].values()) == s["nanoseconds"] for s in rank["steps"])
    assert sum(part["share"] for part in found["parts"]) == pytest.approx(1)
    assert sum(part["time_s"] for part in found["parts"]) == pytest.approx(found["step_s"])
    assert found["losses"][0]["name"] == "synchronization"
    assert found["advice"][0]["part"] == "synchronization"
    assert found["idle"] == pytest.approx(sum(p["share"] for p in found["parts"] if p["idle"]))
    assert found["kernels"][0]["launches"] == 96
    assert found["utilization"] == []


def test_mfu_of_a_step(report):
    flop = 32 * 2 * 4096 * 2048 * 2048
    found = report.document(ONE_GPU, "--trace", ITEM, "--step-flop", flop, "--dtype", "bf16")
    shares = {row["name"]: row["share"] for row in found["utilization"]}
    peak = reference(ONE_GPU).peak("bf16", basis="datasheet")
    assert shares["MFU (published)"] == pytest.approx(flop / found["step_s"] / peak)
    assert "of achievable" in shares
    printed = {basis: Utilization(0.5, "") for basis in ("datasheet", "burst", "sustained")}
    text = "A step reaches 50.0 % MFU (published), 50.0 % of burst, 50.0 % of achievable."
    assert text in lines(analyze(reference(ONE_GPU), [ITEM]), printed, 80)


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("idle>10%", 1),
        ("idle > 90 %", 0),
        ("synchronization>20%", 1),
        ("synchronization>31%", 0),
        ("launches>50%", 0),
        ("impossible", 0),
    ],
)
def test_failing_on_a_part(report, what, code):
    assert report(ONE_GPU, "--trace", ITEM, "--json", "--fail-on", what)[0] == code


@pytest.mark.parametrize(
    "text", ["idle", "idle>", "idle>x", "sleep>10%", "idle<10%", "idle>101%", "idle>0.1"]
)
def test_a_condition_that_is_none(text):
    with pytest.raises(ValueError, match="such as idle>10%"):
        condition(text)


def test_the_picture_of_the_parts():
    analysis = analyze(reference(ONE_GPU), [ITEM])
    _, waterfall, idle = waterfall_pictures(analysis)
    assert waterfall.headline.startswith("A step takes 2.86 ms")
    assert RULES in waterfall.how
    for canvas in (Canvas(), Canvas(True)):
        (axes,) = figure_of(waterfall, canvas).axes
        bars = [bar for container in axes.containers for bar in container]
        assert len(bars) == len(analysis.parts)
        # Each bar begins where the one above ends; the last ends with the step.
        ends = [0.0, *(bar.get_x() + bar.get_width() for bar in bars)]
        assert [bar.get_x() for bar in bars] == pytest.approx(ends[:-1])
        assert ends[-1] == pytest.approx(analysis.step_s * 1e3, abs=1e-3)
        texts = " ".join(text.get_text() for text in axes.texts)
        assert "860 µs, 30.0 %" in texts
        assert (Part.SYNCHRONIZATION.label in texts) == canvas.narrow
        (under,) = figure_of(idle, canvas).axes
        assert under.get_ylim() == (0, 100)


def test_a_step_has_lanes_with_its_waits():
    (rank,) = analyze(reference(ONE_GPU), [ITEM]).ranks
    step = rank.steps[0]
    found = lanes(rank, step)
    assert list(found) == ["host", "launches", "stream 7", "nothing runs"]
    waits = [bar for bar in found["host"] if bar.look == Look.HOST_WAITS]
    assert len(waits) >= 32  # it waits 32 times a step
    assert {bar.look for bar in found["nothing runs"]} == {Look.WAIT}
    for bars in found.values():
        assert all(0 <= bar.start < bar.end <= step.length for bar in bars)
    idle = sum(bar.end - bar.start for bar in found["nothing runs"])
    assert idle / step.length == pytest.approx(0.48, abs=0.02)


def test_idle_over_time_adds_up(analyzed):
    made = Made()
    made.kernel(0, 2500, 0.0)
    made.kernel(7500, 10_000, 10)
    found = sawtooth(analyzed(made).ranks[0])
    assert found.bin_s == pytest.approx(1e-3)
    assert found.idle == pytest.approx([0, 0, 0.5, 1, 1, 1, 1, 0.5, 0, 0])
    assert found.marks == [0]


def test_several_ranks_have_columns(tmp_path):
    paths = []
    for rank in (2, 5):
        made = Made()
        made.steps(0, 1000, 2000)
        for start in (0, 1000, 2000):
            made.kernel(start, start + 1000 - 900 * (rank == 5), start)
        paths.append(made.write(tmp_path / f"{rank}.json", distributedInfo={"rank": rank}))
    analysis = analyze(reference(ONE_GPU), paths)
    assert sum(analysis.parts.values()) == analysis.nanoseconds
    page = build([QUICK], ["html"], (), analysis)["report.html"].decode()
    # Each figure is a mean of the ranks, or names its rank.
    mean = "(mean of 2 ranks)"
    assert f"The step in figures {mean}" in page
    assert all(f">of step, rank {rank}<" in page for rank in (2, 5))
    assert headline(analysis).startswith(f"A step takes 1.00 ms {mean}")
    assert table(analysis)[0].startswith(f"part of a step {mean} ")
    one_step, waterfall, _ = waterfall_pictures(analysis)
    assert [axes.get_title(loc="left") for axes in figure_of(waterfall).axes] == [
        "rank 2: 1.00 ms, mean of 2 steps",
        "rank 5: 1.00 ms, mean of 2 steps",
    ]
    assert one_step.headline == (
        "Rank 2: a step takes 1.00 ms (drawn: the median of 2, 1.00 ms), 0.0 % idle; "
        "rank 5: a step takes 1.00 ms (drawn: the median of 2, 1.00 ms), 90.0 % idle"
    )
    assert analysis.kernels_called == "Kernels of rank 2 in a step"
    assert not analyze(reference(ONE_GPU), paths[:1]).mean
    assert escape("2 steps on each of 2 ranks") in page
    # A picture of one rank is that of the rank which idles most.
    *_, idle = waterfall_pictures(analysis)
    assert analysis.idle == pytest.approx(0.45)
    assert (
        idle.headline == "Over 2 steps nothing runs on the device of rank 5 in 90.0 % of the time"
    )


def test_what_is_assumed_of_a_launch_is_named():
    document = document_of(ONE_GPU)
    document["measurements"] = [
        m for m in document["measurements"] if m["id"] != "launch.round_trip"
    ]
    (note,) = [note for note in analyze(loaded(document), [ITEM]).notes if "assumed" in note]
    assert note.startswith("Not in the profile, so assumed: 10 µs from the call to the kernel's")
    assert "5 µs" not in note
