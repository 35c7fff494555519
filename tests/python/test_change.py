"""peakline-report --trace --against: changes between two runs, and what is not comparable."""

import functools
import re

import pytest
from conftest import CAUSES, ONE_GPU, RECORDED, figure_of, reference, unfolded
from made_traces import Made
from peakline.pictures import Canvas
from peakline.pictures.waterfall import change_pictures
from peakline.workload.analysis import analyze
from peakline.workload.change import compare
from peakline.workload.change_text import headline
from peakline.workload.part import Part

BEFORE, AFTER = (str(RECORDED / f"{name}.json.gz") for name in ("before", "after"))
OTHER = str(CAUSES / "item.json.gz")  # of another model


@functools.cache
def recorded():
    """One model with attention by GEMMs and softmax, then by cuDNN."""
    return compare(*(analyze(reference(ONE_GPU), [path]) for path in (BEFORE, AFTER)))


def made(path, length, rows=4096, name="gemm", **beside):
    """Three steps of one GEMM each. length: of its kernel in µs; rows: of the GEMM."""
    trace = Made()
    trace.steps(0, 1000, 2000)
    for number, start in enumerate((0, 1000, 2000), start=1):
        trace.product(number, rows, 4096, 4096)
        args = {"External id": number}
        trace.kernel(start + 10, start + 10 + length, start, name, **args)
    return trace.write(path, **beside)


def changed(before, after):
    return compare(*(analyze(reference(ONE_GPU), [path]) for path in (before, after)))


def row(change, name):
    (found,) = (row for row in change.kernels if row.name.startswith(name))
    return found


def test_changes_of_parts_and_kernels_add_up():
    change = recorded()
    assert sum(r.change_s for r in change.parts) == pytest.approx(change.change_s)
    busy = sum(r.change_s for r in change.parts if not Part(r.name).is_idle)
    assert sum(r.change_s for r in change.kernels) == pytest.approx(busy)
    assert change.change_s == pytest.approx(change.after.step_s - change.before.step_s)


def test_attention_is_what_changed_on_the_device():
    modules = {r.name: r for r in recorded().modules}
    attention = modules["Sequential / Block / Attention"]
    assert attention.before and attention.after
    assert attention.before.seconds == pytest.approx(5.83e-3, rel=0.01)
    assert attention.after.seconds == pytest.approx(1.28e-3, rel=0.01)
    # The rest of the model is unchanged.
    mlp = modules["Sequential / Block / Sequential"]
    assert abs(mlp.change_s) < 0.05 * (mlp.before.seconds if mlp.before else 0)
    softmax = row(recorded(), "softmax_warp_forward")
    assert (softmax.after, softmax.note) == (None, "only before")


def test_a_module_stands_before_those_within_it():
    names = [r.name for r in recorded().modules]
    for place, name in enumerate(names):
        outer = name.rpartition(" / ")[0]
        assert not outer or outer in names[:place]


def test_a_kernel_of_the_same_work_is_compared(tmp_path):
    change = changed(made(tmp_path / "a.json", 400), made(tmp_path / "b.json", 300))
    found = row(change, "gemm")
    assert found.comparable and found.change_s == pytest.approx(-100e-6)
    assert found.before.launches == 1
    assert headline(change) == "A step takes 1.00 ms in both runs"


def test_other_shapes_are_not_compared(tmp_path):
    change = changed(made(tmp_path / "a.json", 400), made(tmp_path / "b.json", 300, rows=2048))
    found = row(change, "gemm")
    assert (found.comparable, found.note) == (False, "other shapes")
    (said,) = (f.text for f in change.findings if f.code == "other_work")
    assert said.startswith("Not comparable: 1 kernel of the same name (300 µs of a step after)")


def test_missing_shapes_prevent_comparison(tmp_path):
    shapeless = made(tmp_path / "a.json", 400)
    text = shapeless.read_text().replace('"Input Dims": [[4096, 4096], [4096, 4096]]', '"x": 1')
    shapeless.write_text(text.replace('"Concrete Inputs"', '"y"'))
    change = changed(shapeless, made(tmp_path / "b.json", 300))
    found = {f.code: f.text for f in change.findings}
    said = "the recording was without shapes before and is with shapes after"
    assert said in found["other_shapes"]
    assert row(change, "gemm").note == "its work is not known in both runs"
    (said,) = (f.text for f in changed(shapeless, shapeless).findings)
    assert said == "Shapes were not recorded, so kernels of one name may do other work."


def test_another_kernel_for_the_same_product(tmp_path):
    change = changed(made(tmp_path / "a.json", 400), made(tmp_path / "b.json", 300, name="nvjet"))
    (found,) = change.kernels
    assert found.comparable and found.change_s == pytest.approx(-100e-6)
    assert found.note.startswith("the same product by another kernel: nvjet (4096 x 4096")


def test_other_devices_and_ranks_are_named(tmp_path):
    first = made(tmp_path / "a.json", 400)
    other = made(tmp_path / "b.json", 400, deviceProperties=[{"id": 0, "name": "NVIDIA B200"}])
    found = {f.code: f.text for f in changed(first, other).findings}
    assert found["other_devices"] == (
        "Not comparable: the device was NVIDIA H200 before and is NVIDIA B200 after."
    )
    ranks = [made(tmp_path / f"{n}.json", 400, distributedInfo={"rank": n}) for n in (0, 1)]
    profile = reference(ONE_GPU)
    several = compare(analyze(profile, [first]), analyze(profile, ranks))
    assert "the number of ranks was 1 before and is 2 after" in several.findings[0].text
    assert not several.comparable and not changed(first, other).comparable
    assert not changed(first, first).findings and changed(first, first).comparable


def test_change_within_scatter_says_so(tmp_path):
    paths = []
    for name, lengths in (("a", (900, 1000, 1100)), ("b", (920, 1040, 1120))):
        trace = Made()
        starts = [sum(lengths[:n]) for n in range(4)]
        trace.steps(*starts)
        for start in starts:
            trace.kernel(start, start + 500, start)
        paths.append(trace.write(tmp_path / f"{name}.json"))
    assert headline(changed(*paths)).endswith("+2.7 %, within the scatter of the steps")
    assert "scatter" not in headline(recorded())


def test_the_terminal_the_document_and_the_page(report, tmp_path):
    options = (ONE_GPU, "--trace", BEFORE, "--against", AFTER)
    text = report.stdout(*options, "--format", "html,svg", "-o", tmp_path)
    assert "A step takes 17.1 ms instead of 11.2 ms, +52.5 %" in " ".join(text.split())
    assert re.search(r"^the step +11\.2 ms +17\.1 ms +\+5\.90 ms +\+52\.5 %$", text, re.MULTILINE)
    assert "before: This ran on NVIDIA H100" in " ".join(text.split())
    assert re.search(r"^all others +\S", text, re.MULTILINE)  # the sum of small changes
    page = unfolded((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "<title>peakline: What changed on " in page
    for kind in ("change", "change-parts", "change-modules", "change-kernels", "change-notes"):
        assert f'data-picture="{kind}"' in page
    assert ">softmax_warp_backward<small>2 to 0 launches</small></td>" in page
    assert 'data-picture="roofline"' not in page and (tmp_path / "change.svg").exists()
    found = report.document(*options)
    assert (found["schema"], found["schema_version"]) == ("peakline-change", 1)
    assert sum(part["change_s"] for part in found["parts"]) == pytest.approx(found["change_s"])
    assert found["before"]["step_s"] + found["change_s"] == pytest.approx(found["after"]["step_s"])


def test_bars_lead_from_one_step_to_the_other():
    (picture,) = change_pictures(recorded())
    for canvas in (Canvas(), Canvas(True)):
        (axes,) = figure_of(picture, canvas).axes
        bars = [bar for container in axes.containers for bar in container]
        assert bars[0].get_width() == pytest.approx(recorded().before.step_s * 1e3)
        assert bars[-1].get_width() == pytest.approx(recorded().after.step_s * 1e3)
        ends = [bar.get_x() + bar.get_width() for bar in bars[:-1]]
        assert ends[-1] == pytest.approx(recorded().after.step_s * 1e3)
        assert [bar.get_x() for bar in bars[1:-1]] == pytest.approx(ends[:-1])


@pytest.mark.parametrize(
    ("before", "after", "what", "code"),
    [
        (BEFORE, AFTER, "slower>50%", 1),
        (BEFORE, AFTER, "slower>53%", 0),
        (AFTER, BEFORE, "slower>1%", 0),
        (BEFORE, BEFORE, "slower>0%", 0),
        (BEFORE, OTHER, "slower>99%", 3),
        (OTHER, BEFORE, "", 3),
    ],
)
def test_failing_where_a_step_became_slower(report, before, after, what, code):
    options = ["--trace", before, "--against", after, "--json"]
    assert report(ONE_GPU, *options, *(["--fail-on", what] if what else []))[0] == code
