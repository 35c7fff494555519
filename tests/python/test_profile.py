"""The loader reads every profile, and refuses everything else with one clear error."""

import dataclasses
import functools
import json
import operator
import subprocess
import sys
import time
import typing

import jsonschema
import peakline
import pytest
from conftest import (
    GOLDEN,
    GPU,
    REFERENCES,
    ROOT,
    TWO_GPUS,
    ceiling,
    document_of,
    loaded,
    only,
    reference,
    scaled,
    text_of,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peakline import units
from peakline.page import report_page
from peakline.pictures import pictures, render
from peakline.profile import Curve, normalize_dtype

SCHEMA = json.loads((ROOT / "reports/peakline/profile.schema.json").read_text(encoding="utf-8"))
# The golden profile has every field, and is quick to load hundreds of times.
TEXT = text_of(GOLDEN).rstrip()
QUANTITY = "expected 0 or a number from 1e-30 to 1e+30"
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
# No shrinking: it is slow for a whole profile, whose size never changes.
CHECKS = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def load_or_error(data):
    """A profile, or the message of a ProfileError."""
    try:
        return peakline.loads(data, "hostile.json")
    except peakline.ProfileError as error:
        message = str(error)
        assert message.startswith("hostile.json: ")
        assert len(message) < 1000
        return message


@pytest.mark.parametrize("path", [GOLDEN, *REFERENCES], ids=lambda path: path.name)
def test_real_files_load(path):
    document = document_of(path)
    profile = peakline.load(path)
    assert [m.value for m in profile.measurements] == [
        m.get("value") for m in document["measurements"]
    ]
    assert [c.value for c in profile.ceilings] == [c["value"] for c in document["ceilings"]]
    assert profile.host.hostname == document["host"].get("hostname", "")  # missing if anonymized
    assert [d.uuid for d in profile.devices] == [d["uuid"] for d in document["devices"]]


def test_the_golden_profile_follows_the_schema():
    VALIDATOR.validate(document_of(GOLDEN))


def check_fields(schema, cls):
    """Fields of the loader are in the schema, and optional ones have a default."""
    fields = [f for f in dataclasses.fields(cls) if f.name != "path"]
    assert {f.name for f in fields} <= set(schema["properties"]), cls.__name__
    missing = dataclasses.MISSING
    always = {f.name for f in fields if f.default is missing and f.default_factory is missing}
    assert always <= set(schema.get("required", [])), cls.__name__
    hints = typing.get_type_hints(cls)
    for f in fields:
        sub = schema["properties"][f.name]
        inner = [hints[f.name], *typing.get_args(hints[f.name])]
        for candidate in filter(dataclasses.is_dataclass, inner):
            check_fields(sub.get("items", sub), typing.cast(type, candidate))


def test_loader_reads_what_the_schema_has():
    check_fields(SCHEMA, peakline.Profile)
    # All fields of measurements and conclusions are read.
    for cls, key in (
        (peakline.Measurement, "measurements"),
        (peakline.Ceiling, "ceilings"),
        (Curve, "curves"),
    ):
        known = SCHEMA["properties"][key]["items"]["properties"]
        assert {f.name for f in dataclasses.fields(cls)} == set(known)


GONE = object()


# tests/corpus has files with a single error.
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema_version", 0, "schema_version: expected 4, found 0"),
        ("host", GONE, 'json: "host" is missing'),
        ("mode", "slow", 'mode: expected one of "quick", "full", found "slow"'),
        ("devices.0.sm_count", "132", 'sm_count: expected an integer, found "132"'),
        ("devices.0.sm_count", 132.5, "devices[0].sm_count: expected an integer, found 132.5"),
        ("measurements.0.value", -1, f"value: {QUANTITY}, found -1"),
        ("measurements.0.value", "x" * 10**6, 'value: expected a number, found "x'),
        ("measurements.0.samples_s", [0], "samples_s[0]: expected a number from 1e-30 to"),
        ("measurements.0.id", "A b", "measurements[0].id: expected text that"),
        ("measurements.0.device", "GPU-9", "measurements[0].device: expected"),
        ("measurements.0.summary.median_s", 1e9, "measurements[0].summary: expected min_s <= ci_"),
        ("measurements.2.series.power_w", [1, 2], "power_w: expected 3 values, as in time_s"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_is_wrong_is_said_in_words(path, value, message):
    document = document_of(GOLDEN)
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]
    if value is GONE:
        del holder_of(document, keys)[keys[-1]]
    else:
        holder_of(document, keys)[keys[-1]] = value
    found = load_or_error(json.dumps(document))
    assert isinstance(found, str)
    assert message in found


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"schema":' * 50_000, "JSON"),
        (TEXT.replace("117.25", "1e300").encode(), f"duration_s: {QUANTITY}, found 1e+300"),
        (TEXT.replace("117.25", "9" * 5000).encode(), "JSON"),
        (TEXT.replace("117.25", "9" * 400).encode(), f"duration_s: {QUANTITY}, found 999"),
        (b"null", "not a peakline profile"),
    ],
    ids=range(5),
)
def test_hostile_files_are_refused(data, message):
    found = load_or_error(data)
    assert isinstance(found, str)
    assert message in found or (message == "JSON" and "deeper" in found)


def test_a_repeated_key_among_many_is_found_soon():
    keys = ", ".join(f'"{i}": 0' for i in range(50_000))
    start = time.process_time()
    assert 'the key "49999" is there twice' in str(load_or_error(f'{{{keys}, "49999": 0}}'))
    assert time.process_time() - start < 5


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths(value, at=()):
    """Every path in a document, with only the first elements of arrays."""
    found = [at]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += paths(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value[:2]):
            found += paths(inner, (*at, index))
    return found


PATHS = [path for path in paths(json.loads(TEXT)) if path]


def holder_of(document, path):
    """What holds the last key of a path."""
    return functools.reduce(operator.getitem, path[:-1], document)


@CHECKS
@given(st.sampled_from(PATHS), JSON_VALUES)
def test_any_value_loads_or_gives_one_error(path, value):
    document = json.loads(TEXT)
    holder_of(document, path)[path[-1]] = value
    found = load_or_error(json.dumps(document))
    if not VALIDATOR.is_valid(document):
        assert isinstance(found, str), "the schema refuses it"
    if isinstance(found, str):
        # The message names the changed field or its holder.
        assert any(key in found for key in path if isinstance(key, str))
        return
    # An accepted profile can be drawn.
    assert "<h1>" in report_page(found, {}, "")
    if path[0] == "curves":
        for device in found.measured_devices():
            for picture in pictures(found, device):
                render(picture, "svg")


@CHECKS
@given(st.sampled_from(PATHS))
def test_any_missing_key_is_named_or_unknown(path):
    if not isinstance(path[-1], str) or {"params", "launch", "evidence"} & {*path}:
        return
    document = json.loads(TEXT)
    holder = holder_of(document, path)
    holder.pop(path[-1], None)
    missing = load_or_error(json.dumps(document))
    if isinstance(missing, str):
        assert path[-1] in missing
        return
    holder[path[-1]] = None
    null = load_or_error(json.dumps(document))
    # Unknown values are left out.
    assert missing == null or (path[-1] in str(null) and "found null" in null)


def test_peak_and_bandwidth(profile):
    peak = profile.peak("bf16", basis="datasheet")
    assert peak == ceiling("tensor.bf16", "datasheet")
    assert (peak.resource, peak.basis, peak.unit) == ("tensor.bf16", "datasheet", "FLOP/s")
    assert peak.published
    assert profile.peak("torch.bfloat16", basis="burst") == ceiling("tensor.bf16", "burst")
    assert not profile.peak("bf16", basis="sustained").published
    # A bare precision means the Tensor Cores if they support it, else the CUDA cores.
    assert profile.peak("fp16", basis="burst").resource == "tensor.fp16"
    assert profile.peak("fp32", basis="burst").resource == "cuda_core.fp32"
    assert profile.peak("cuda_core.fp16", basis="burst").resource == "cuda_core.fp16"
    # A bare level means the roofline's first resource, even if writes are faster.
    assert profile.bandwidth("hbm").resource == "hbm.read"
    assert profile.bandwidth("hbm.write") > profile.bandwidth("hbm")
    assert profile.bandwidth("hbm.copy") == ceiling("hbm.copy", "measured")
    assert profile.peak("fp32", basis="measured", device="host").resource == "cpu.fp32"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": "fp7"}, "unknown precision 'fp7'"),
        ({"dtype": "fp4"}, "no fp4 peak"),
        ({"dtype": "bf16_sparse"}, "dense"),
        ({"basis": "peak"}, "unknown basis"),
        ({"basis": "measured"}, "it has tensor.bf16 theoretical"),
        ({"device": "A100"}, "no device 'A100'"),
        ({"device": 3}, "no device 3"),
    ],
)
def test_peaks_that_are_not_there(profile, arguments, message):
    with pytest.raises(peakline.PeakError, match=message):
        profile.peak(**{"dtype": "bf16", "basis": "burst", **arguments})


@pytest.mark.parametrize(
    ("word", "basis"),
    [("published", "datasheet"), ("achievable", "sustained"), ("model", "model_shaped")],
)
def test_words_of_the_first_screen_are_bases(profile, word, basis):
    peak = profile.peak("bf16", basis=word)
    assert (peak, peak.basis) == (ceiling("tensor.bf16", basis), basis)
    assert str(peak) == f"{units.rate(peak, 'FLOP/s')} {word} (tensor.bf16 of NVIDIA H200)"
    assert f"{peak}" == str(peak)
    called = "MFU (published)" if word == "published" else f"of {word}"
    assert str(peakline.mfu(peak / 2, 1.0, peak)) == f"50.0 % {called}"


def test_achievable_memory_and_hosts_are_measured(profile):
    assert profile.bandwidth("hbm", basis="achievable") == profile.bandwidth("hbm")
    assert profile.peak("fp32", basis="achievable", device="host").basis == "measured"


def test_ridges_are_those_of_the_profile(profile):
    (gpu,) = profile.select_devices()
    for point in profile.roofline(gpu).ridge_points:
        found = profile.ridge(point.compute, point.memory, basis=point.compute_basis)
        assert found == pytest.approx(point.intensity, rel=1e-5)
    achievable = profile.peak("bf16", basis="achievable") / profile.bandwidth("hbm")
    assert profile.ridge("bf16") == achievable
    published = profile.bandwidth("hbm", basis="published")
    assert profile.ridge("bf16", basis="published") * published == pytest.approx(
        profile.peak("bf16", basis="published")
    )
    assert profile.ridge("fp32", device="host") < profile.ridge("fp32")


def test_energy_is_the_boards_power_over_the_rate(profile):
    (gpu,) = profile.select_devices()
    row = profile.ceiling(gpu, "tensor.bf16", "sustained")
    assert profile.energy("bf16") == row.conditions.power_w / row.value
    assert 0.3e-12 < profile.energy("fp8") < profile.energy("bf16") < 2e-12
    for basis in ("burst", "published"):
        with pytest.raises(peakline.PeakError, match="no power was read"):
            profile.energy("bf16", basis=basis)
    for power in (None, 0.0):
        unknown = dataclasses.replace(
            row, conditions=dataclasses.replace(row.conditions, power_w=power)
        )
        assert unknown.joules_per_operation is None


def test_latency_is_that_of_the_memory_map(profile):
    (gpu,) = profile.select_devices()
    for level in profile.levels(gpu):
        assert profile.latency(level.level.upper()) == level.latency_s
    assert profile.latency("l2", far=True) > profile.latency("l2")
    with pytest.raises(peakline.PeakError, match=r"no latency of L3 .* it has shared, l1, l2, hbm"):
        profile.latency("L3")
    with pytest.raises(peakline.PeakError, match=r"no far latency of hbm .* it has l2"):
        profile.latency("hbm", far=True)


def test_help_begins_with_ten_names_that_matter():
    table = peakline.__doc__.partition("The ten names that matter:\n\n")[2].partition("\n\n")[0]
    first = {name.strip(",") for row in table.splitlines() for name in row[:23].split()}
    assert len(table.splitlines()) == 10
    assert first <= set(peakline.__all__)


def test_every_public_name_has_a_docstring():
    generated = [
        name
        for name in peakline.__all__
        if (known := getattr(peakline, name)).__doc__ and known.__doc__.startswith(f"{name}(")
    ]
    assert generated == []


def test_cuda_cores_replace_no_failed_tensor_peak(document):
    """As on an architecture whose theory is not known."""
    of_tensor = [row for row in document["ceilings"] if row["resource"] == "tensor.fp16"]
    document["ceilings"] = [row for row in document["ceilings"] if row not in of_tensor]
    document["missing_ceilings"] = [
        {"device": of_tensor[0]["device"], "resource": "tensor.fp16", "basis": "burst"}
        | {"reason": "failed"}
    ]
    with pytest.raises(peakline.PeakError, match=r"tensor\.fp16.*it has cuda_core\.fp16"):
        loaded(document).peak("fp16", basis="burst")


def test_many_ceilings_are_looked_up_quickly(document):
    rows = [{**document["ceilings"][0], "resource": f"made.up{i}"} for i in range(5000)]
    document["ceilings"] += rows
    profile = loaded({**only(document), "resources": []})
    device = rows[0]["device"]
    start = time.process_time()
    for resource in profile.resources_of(device):
        for basis in peakline.BASES:
            profile.ceiling(device, resource, basis)
        assert profile.label(resource)
    # Milliseconds with an index; tens of seconds if each query scans all rows.
    assert time.process_time() - start < 3


def test_slowest_device_of_one_model_counts():
    profile = reference(TWO_GPUS)
    bursts = {
        row["device"]: row["value"]
        for row in document_of(TWO_GPUS)["ceilings"]
        if (row["resource"], row["basis"]) == ("tensor.bf16", "burst")
    }
    assert len(set(bursts.values())) == 2
    assert profile.peak("bf16", basis="burst") == min(bursts.values())
    for index, device in enumerate(profile.devices):
        for name in (index, device.uuid):
            assert profile.peak("bf16", basis="burst", device=name) == bursts[device.uuid]


def test_mixed_models_are_refused():
    document = only(document_of(TWO_GPUS))
    document["devices"][0]["name"], document["devices"][1]["name"] = "A", "B"
    mixed = loaded(document)
    with pytest.raises(peakline.PeakError, match="different GPU models"):
        mixed.peak("bf16", basis="burst")
    assert mixed.peak("bf16", basis="burst", device="B").device == "B"
    one = loaded(only(document_of()))
    document = scaled(only(document_of()), 0.5, "tensor.")
    document["devices"][0]["name"] = "B"
    other = loaded(document)
    with pytest.raises(peakline.PeakError, match="mixed fleet"):
        peakline.fleet_peak([one, other], "bf16", basis="burst")
    slow = peakline.fleet_peak([one, other], "bf16", basis="burst", allow_mixed=True)
    assert slow == 0.5 * ceiling("tensor.bf16", "burst")
    assert peakline.fleet_peak([mixed], "bf16", basis="burst", allow_mixed=True).device in "AB"
    with pytest.raises(peakline.PeakError, match="at least one"):
        peakline.fleet_peak([], "bf16", basis="burst")


def test_intervals_of_rates_and_times(profile):
    row = next(m for m in profile.measurements if m.unit == "B/s" and m.estimate == "median")
    # The longest time gives the lowest rate.
    times = row.summary
    assert row.interval() == (
        pytest.approx(row.value * times.median_s / times.ci_high_s),
        pytest.approx(row.value * times.median_s / times.ci_low_s),
    )
    timed = next(m for m in profile.measurements if m.unit == "s" and m.estimate == "median")
    assert timed.interval() == (timed.summary.ci_low_s, timed.summary.ci_high_s)


def test_implausible_measurements_are_left_out(document):
    changed = only(document, "hbm.")
    before = loaded(changed).of(GPU, "hbm")
    next(m for m in changed["measurements"] if m["id"] == "hbm.read")["flags"] = ["implausible"]
    after = loaded(changed).of(GPU, "hbm")
    assert len(after) == len(before) - 1


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        *[("bf16", "bf16"), ("BFloat16", "bf16"), ("torch.float16", "fp16"), ("double", "fp64")],
        *[("tensor.half", "tensor.fp16"), ("float8_e4m3fn", "fp8"), ("fp8_block", "fp8_block")],
    ],
)
def test_names_of_precisions(given_name, name):
    assert normalize_dtype(given_name) == name


def test_import_needs_little():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); before = set(sys.modules); import peakline;"
        "import peakline.commands.mfu, peakline.workload.placement, peakline.pictures;"
        "new = {m.partition('.')[0] for m in set(sys.modules) - before} - {'peakline'};"
        "other = new - set(sys.stdlib_module_names); assert other == {'fastjsonschema'}, other"
    )
    subprocess.run([sys.executable, "-c", code, str(ROOT / "reports")], check=True)
