"""Exports of peaks to other tools, tested with each tool that is installed."""

import ast
import datetime
import importlib
import json
import time
import types

import peakline
import pytest
import yaml
from conftest import NO_TOOLS, ONE_GPU, ceiling, document_of, loaded, only
from hostile import HOSTILE
from peakline.names import basis_name
from peakline.peaks.export import EXPORTS, export

DOCUMENTS = ("json", "tracelens", "simumax")
NAME = document_of()["devices"][0]["name"]
PEAK = ceiling("tensor.bf16", "datasheet")
BANDWIDTH = ceiling("hbm.read", "datasheet")
BURST, SUSTAINED = (ceiling("tensor.bf16", basis) for basis in ("burst", "sustained"))


def test_the_peaks_of_the_first_screen_are_bases(mfu, ceilings_path):
    command = ["export", "--for", "json", "--profile", ceilings_path, "--dtype", "bf16", "--basis"]
    bases = ("published", "datasheet", "achievable", "sustained", "model", "model_shaped")
    printed = [json.loads(mfu.stdout(*command, basis)) for basis in bases]
    assert printed[::2] == printed[1::2]
    assert len({document["basis"] for document in printed}) == 3


@pytest.mark.parametrize("tool", [t for t in EXPORTS if t not in (*DOCUMENTS, "aiconfigurator")])
@pytest.mark.parametrize("basis", ["datasheet", "burst", "model_shaped"])
def test_exports_are_code_with_provenance(profile, tool, basis):
    text = export(profile, tool, "bf16", basis=basis)
    ast.parse(text)
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    assert f"{basis_name(basis)}, dense" in comments
    assert ONE_GPU.name in comments
    assert (f" of {basis_name(basis)}, larger" in comments) == (basis != "datasheet")


def value_of(text, names):
    """The variables that a snippet sets, run without its imports."""
    code = "\n".join(
        line for line in text.splitlines() if not line.startswith(("from ", "import "))
    )
    exec(code, names)
    return names


def test_values_of_the_exports(profile):
    processor = types.SimpleNamespace()
    trainer = types.SimpleNamespace(metrics_processor=processor)
    value_of(export(profile, "torchtitan", "bf16"), {"trainer": trainer})
    assert processor.gpu_peak_flops == PEAK
    assert value_of(export(profile, "nanogpt", "bf16"), {})["flops_promised"] == PEAK
    flops_counter = types.SimpleNamespace(_DEVICE_FLOPS={"H200": 1.0})
    value_of(export(profile, "verl", "bf16"), {"flops_counter": flops_counter})
    assert flops_counter._DEVICE_FLOPS == {"H200": 1.0, NAME: PEAK}
    # verl's own look-up.
    keys = sorted(flops_counter._DEVICE_FLOPS, reverse=True)
    assert next(key for key in keys if key in NAME) == NAME
    flops_tracker = types.SimpleNamespace(THEORETICAL_TFLOPS={})
    torch = types.SimpleNamespace(bfloat16="bf16")
    value_of(export(profile, "nemo-rl", "bf16"), {"flops_tracker": flops_tracker, "torch": torch})
    assert flops_tracker.THEORETICAL_TFLOPS == {(NAME, "bf16"): PEAK / 1e12}
    counter = type("PerfCounter", (), {})
    value_of(export(profile, "prime-rl", "bf16"), {"PerfCounter": counter})
    assert counter()._get_peak_flops(NAME) == PEAK
    keywords = dict
    assert value_of(export(profile, "composer", "bf16"), {"SpeedMonitor": keywords})[
        "speed_monitor"
    ] == {"gpu_flops_available": PEAK}
    olmo = value_of(export(profile, "olmo-core", "bf16"), {"SpeedMonitorCallback": keywords})
    assert olmo["speed_monitor"] == {"device_peak_flops_per_second": int(PEAK)}
    assert isinstance(olmo["speed_monitor"]["device_peak_flops_per_second"], int)
    specs = {}
    value_of(export(profile, "torchao", "bf16"), {"gpu_name_to_specs": specs})
    assert specs == {
        NAME: {
            "bf16_peak_tops": PEAK,
            "fp8_peak_tops": ceiling("tensor.fp8", "datasheet"),
            "peak_mem_bw_bytes_sec": BANDWIDTH,
            "pct_achievable_gemm_tops": pytest.approx(SUSTAINED / PEAK),
            "pct_achievable_mem_bw": pytest.approx(ceiling("hbm.read", "measured") / BANDWIDTH),
        }
    }
    value_of(export(profile, "torchao", "bf16", basis="burst"), {"gpu_name_to_specs": specs})
    assert specs[NAME]["pct_achievable_gemm_tops"] == 1
    assert specs[NAME]["pct_achievable_mem_bw"] == 1
    document = json.loads(export(profile, "json", "bf16", basis="burst"))
    assert document["value"] == BURST
    assert document["dense"] is True
    assert document["share_is_called"] == "of burst"


TEXTS = (
    HOSTILE,
    'X"\nimport os\n# \\',
    "coding: utf-7 +AAo-import os",
    "'''",
    "{peak}",
    "%d",
    "😀",
)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_no_code_in_exports(document, text):
    plain = loaded(only(document))
    document["devices"][0]["name"] = text
    for row in document["ceilings"]:
        row |= {"note": text, "measurement": text} if row["unit"] == "B/s" else {"note": text}
    changed = loaded(only(document), text)
    for tool in EXPORTS:
        usual, found = (export(of, tool, "bf16", basis="burst") for of in (plain, changed))
        if tool in DOCUMENTS:
            usual, found = (json.loads(document) for document in (usual, found))
            assert text in found.values()
            assert found.keys() == usual.keys()
        elif tool == "aiconfigurator":
            assert yaml.safe_load(found) == yaml.safe_load(usual)
        else:
            # Bytes, as in a file: their comments may state an encoding.
            usual, found = (ast.dump(ast.parse(code.encode())) for code in (usual, found))
            assert found == usual.replace(repr(NAME), repr(text))


def test_export_command(mfu, ceilings_path):
    arguments = ["export", "--for", "nanogpt", "--profile", ceilings_path, "--dtype"]
    assert f"flops_promised = {PEAK!r}" in mfu.stdout(*arguments, "bf16")
    assert "no fp4 peak" in mfu.refused(*arguments, "fp4")


def test_lightning_takes_the_export(profile):
    module = None
    for name in ("lightning.fabric.utilities.throughput", "lightning_fabric.utilities.throughput"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        break
    if module is None:
        pytest.skip(NO_TOOLS)
    names = value_of(export(profile, "lightning", "bf16"), {"Throughput": module.Throughput})
    throughput = names["throughput"]
    # Lightning reports after a window of 100 updates: 1e14 FLOP every 2 s.
    for i in range(1, 101):
        throughput.update(time=2.0 * i, batches=i, samples=i, flops=int(1e14))
    assert throughput.compute()["device/mfu"] == pytest.approx(1e14 / 2 / PEAK)


def test_torchtitan_takes_the_export(profile):
    metrics = pytest.importorskip("torchtitan.components.metrics", reason=NO_TOOLS)
    logged = {}
    # The attributes that log() reads.
    processor = object.__new__(metrics.MetricsProcessor)
    processor.config = types.SimpleNamespace(log_freq=1)
    processor.color = metrics.NoColor()
    processor.parallel_dims = types.SimpleNamespace(non_data_parallel_size=1)
    processor.logger = types.SimpleNamespace(log=lambda found, step: logged.update(found))
    processor.device_memory_monitor = types.SimpleNamespace(
        get_peak_stats=lambda: metrics.DeviceMemStats(0, 0, 0, 0, 0, 0),
        reset_peak_stats=lambda: None,
    )
    processor.has_quantization = False
    processor.num_flops_per_token = 58e9
    processor.ntokens_since_last_log = 8192
    processor.data_loading_times = [0.0]
    processor.time_last_log = time.perf_counter() - 1
    trainer = types.SimpleNamespace(metrics_processor=processor)
    exec(export(profile, "torchtitan", "bf16"), {"trainer": trainer})
    processor.log(1, 2.0, 2.0, 1.0)
    assert logged["mfu(%)"] == pytest.approx(100 * 58e9 * logged["throughput(tps)"] / PEAK)


def test_composer_takes_the_export(profile):
    pytest.importorskip("composer.callbacks", reason=NO_TOOLS)
    from composer.models.base import ComposerModel

    names = {}
    exec(export(profile, "composer", "bf16"), names)
    logged = {}
    logger = types.SimpleNamespace(log_metrics=logged.update)

    class Model(ComposerModel):
        def forward(self, batch): ...
        def loss(self, outputs, batch): ...
        def flops_per_batch(self, batch):
            return 1e14

    device = types.SimpleNamespace(tensor_to_device=lambda tensor: tensor)
    state = types.SimpleNamespace(model=Model(), batch=None, device=device)
    # Composer's window is 100 batches, here one every 2 s.
    for i in range(102):
        state.timestamp = types.SimpleNamespace(
            sample=types.SimpleNamespace(value=i),
            token=types.SimpleNamespace(value=i),
            total_wct=datetime.timedelta(seconds=2 * i),
        )
        names["speed_monitor"].batch_end(state, logger)
    assert logged["throughput/device/mfu"] == pytest.approx(1e14 / 2 / PEAK)


def test_inductor_takes_the_export(profile):
    device_info = pytest.importorskip("torch._inductor.analysis.device_info", reason=NO_TOOLS)
    exec(export(profile, "inductor", "bf16"), {})
    import torch

    found = device_info.lookup_device_info(NAME)
    assert found.tops[torch.bfloat16] == pytest.approx(PEAK / 1e12)
    assert found.dram_bw_gbs == pytest.approx(BANDWIDTH / 1e9)


def test_torchao_takes_the_export(profile):
    roofline_utils = pytest.importorskip("torchao.testing.training.roofline_utils", reason=NO_TOOLS)
    import torch

    # torchao computes with the measured peak for either basis.
    for basis, rate in (("datasheet", SUSTAINED), ("burst", BURST)):
        exec(export(profile, "torchao", "bf16", basis=basis), {})
        seconds = roofline_utils.get_individual_gemm_time_sympy(
            8192, 8192, 8192, torch.bfloat16, None, gpu_name=NAME
        )
        assert float(seconds) == pytest.approx(2 * 8192**3 / rate)


def test_olmo_core_takes_the_export(profile):
    pytest.importorskip("olmo_core.train.callbacks", reason=NO_TOOLS)
    names = {}
    exec(export(profile, "olmo-core", "bf16"), names)
    assert names["speed_monitor"].device_peak_flops_per_second == int(PEAK)


@pytest.mark.parametrize("tool", DOCUMENTS)
@pytest.mark.parametrize("basis", ["datasheet", "burst"])
def test_documents_say_where_they_come_from(profile, tool, basis):
    text = export(profile, tool, "bf16", basis=basis)
    assert json.loads(text)
    assert f"{ONE_GPU.name} of 2026-11-" in text
    assert basis_name(basis) in text
    assert ("of burst" in text) == (basis == "burst")


def test_triton_draws_the_measured_roofs(profile):
    roofline = types.SimpleNamespace()
    value_of(export(profile, "triton", "bf16", basis="burst"), {"roofline": roofline})
    # Called by plot_roofline, in TB/s and TFLOP/s.
    assert roofline.get_memset_tbps() == profile.bandwidth("hbm") / 1e12
    assert roofline.get_cublas_tflops("bf16") == profile.peak("bf16", basis="burst") / 1e12


def test_tracelens_has_matrix_and_vector_units(profile):
    found = json.loads(export(profile, "tracelens", "bf16"))
    tflops = found["max_achievable_tflops"]

    def burst(name):
        return profile.peak(name, basis="burst") / 1e12

    assert tflops["matrix_bf16"] == burst("bf16")
    assert tflops["matrix_fp32"] == burst("gemm.fp32") < tflops["vector_fp32"] == burst("fp32")
    assert tflops["vector_fp16"] == burst("cuda_core.fp16")
    assert "matrix_fp4" not in tflops
    assert found["memory_gb"] == pytest.approx(150.75, abs=0.01)
    # A datasheet has no FP32 GEMM on the CUDA cores.
    sheet = json.loads(export(profile, "tracelens", "bf16", basis="datasheet"))
    rates = sheet["max_achievable_tflops"]
    assert rates["matrix_fp32"] == rates["vector_fp32"] == pytest.approx(66.9)


@pytest.mark.parametrize("basis", ["", "burst", "sustained", "datasheet"])
def test_tracelens_gets_achievable_rates(mfu, profile, basis):
    arguments = ["export", "--for", "tracelens", "--profile", profile.path, "--dtype", "bf16"]
    found = json.loads(mfu.stdout(*arguments, *(["--basis", basis] if basis else [])))
    stated = basis or "burst"
    rate = profile.peak("bf16", basis=stated) / 1e12
    assert found["max_achievable_tflops"]["matrix_bf16"] == rate
    assert found["mem_bw_gbps"] == 4800
    assert found["_reference"].startswith(f"max_achievable_tflops: {basis_name(stated)}; ")
    assert ".;" not in found["_reference"]
    assert found["_reference"].endswith("mem_bw_gbps: hbm.read, published: 4.8e+12 B/s")


def empty_kernel_s(profile):
    (value,) = (m.value for m in profile.measurements if m.id == "launch.empty_kernel")
    return value


def test_simumax_has_measured_shares(profile):
    accelerator = json.loads(export(profile, "simumax", "bf16"))["accelerator"]
    sheet, sustained = (profile.peak("bf16", basis=b) for b in ("datasheet", "sustained"))
    matmul = accelerator["op"]["matmul"]
    assert matmul == {"tflops": sheet / 1e12, "efficient_factor": sustained / sheet}
    assert accelerator["op"]["fp8_matmul"]["tflops"] == pytest.approx(2 * 989.4, rel=1e-3)
    memory = accelerator["bandwidth"]["default"]
    assert memory["gbps"] == 4800
    assert memory["efficient_factor"] == profile.bandwidth("hbm") / 4.8e12
    assert memory["latency_us"] == pytest.approx(empty_kernel_s(profile) * 1e6, rel=1e-2)
    # A measured peak is achieved by definition.
    measured = json.loads(export(profile, "simumax", "bf16", basis="burst"))["accelerator"]
    assert measured["op"]["default"]["efficient_factor"] == 1
    assert measured["bandwidth"]["default"]["efficient_factor"] == 1


def gpu_section(profile, basis):
    """aiconfigurator's section, parsed as simple YAML."""
    lines = export(profile, "aiconfigurator", "bf16", basis=basis).splitlines()
    start = lines.index("gpu:")
    assert all(line.startswith("# ") for line in lines[:start])
    pairs = (line.strip().split(": ") for line in lines[start + 1 :])
    return {key: float(value) for key, value in pairs}


def test_aiconfigurator_has_measured_shares(profile):
    section = gpu_section(profile, "datasheet")
    # The keys of aiconfigurator's own system files, such as h200_sxm.yaml.
    assert set(section) == {
        *("mem_bw", "mem_bw_empirical_scaling_factor", "mem_empirical_constant_latency"),
        *("mem_capacity", "bfloat16_tc_flops", "int8_tc_flops", "fp8_tc_flops", "power"),
        "sm_version",
    }
    assert section["mem_bw"] == 4.8e12
    measured = profile.bandwidth("hbm") / section["mem_bw"]
    assert 0.9 < measured < 1
    assert section["mem_bw_empirical_scaling_factor"] == pytest.approx(measured)
    latency_s = section["mem_empirical_constant_latency"]
    assert latency_s == pytest.approx(empty_kernel_s(profile), rel=1e-2)
    assert (section["sm_version"], section["power"]) == (90, 700)
    assert section["bfloat16_tc_flops"] == 989.4e12
    assert gpu_section(profile, "burst")["mem_bw_empirical_scaling_factor"] == 1
    # YAML 1.1 reads 2e-06 as text.
    assert "e-" not in export(profile, "aiconfigurator", "bf16").partition("gpu:")[2]


def test_aiconfigurator_takes_the_export(profile):
    common = pytest.importorskip("aiconfigurator_core.sdk.common")
    import yaml

    spec = yaml.safe_load(export(profile, "aiconfigurator", "bf16"))
    assert common.get_quant_tc_flops(spec, common.GEMMQuantMode.bfloat16) == 989.4e12
    assert common.get_quant_tc_flops(spec, common.GEMMQuantMode.fp8) == 1978.9e12


def test_exports_without_bandwidth_are_refused(document):
    document["ceilings"] = [c for c in document["ceilings"] if "hbm" not in c["resource"]]
    profile = loaded({**only(document), "rooflines": []})
    for tool in ("triton", "tracelens", "simumax", "aiconfigurator"):
        with pytest.raises(peakline.PeakError, match="needs the memory's bandwidth"):
            export(profile, tool, "bf16")
