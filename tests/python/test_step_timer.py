"""Utilization in a training loop, with simulated device events and with real packages."""

import logging
import sys
import types
from pathlib import Path
from unittest import mock

import peakline
import pytest
from conftest import GPU, NO_TOOLS, ceiling, document_of, loaded, only, reference
from peakline.training import (
    StepTimer,
    lightning_callback,
    prometheus,
    tensorboard,
    trainer_callback,
)
from peakline.training.state import device_state

FLOPS = 1e13


class Device:
    """A device that reaches its marks `behind` steps late; times are seconds."""

    def __init__(self, behind=2):
        self.behind = behind
        self.now = 0.0
        self.marks = []

    def event(self):
        return Mark(self)


class Mark:
    def __init__(self, device):
        self.device = device
        self.place = -1
        self.at = 0.0

    def record(self):
        self.place, self.at = len(self.device.marks), self.device.now
        self.device.marks.append(self)

    def query(self):
        return len(self.device.marks) - self.place > self.device.behind

    def elapsed_time(self, end):
        assert self.query() and end.query(), "the device has not come to this mark"
        return (end.at - self.at) * 1e3


def run(timer, device, lengths):
    """The timer's figures after each step."""
    timer.step()
    for length in lengths:
        device.now += length
        yield timer.step()


def timed(*sinks, behind=0):
    """A timer for the reference's GPU, its device, and the figures that its sink received."""
    device, got = Device(behind), []
    sinks += (lambda number, figures: got.append((number, dict(figures))),)
    return StepTimer(reference(), FLOPS, "bf16", event=device.event, sinks=sinks), device, got


def test_shares_of_published_and_measured_peaks():
    timer, device, _ = timed(behind=2)
    said = list(run(timer, device, [0.02, 0.025, 0.04, 0.05]))
    # The figures come two steps late.
    assert said[:2] == [{}, {}]
    assert said[2]["peakline/step_s"] == pytest.approx(0.02)
    assert said[3] == timer.latest
    assert said[3] == pytest.approx(
        {
            "peakline/step_s": 0.025,
            "peakline/mfu": FLOPS / 0.025 / ceiling("tensor.bf16", "datasheet"),
            "peakline/of_burst": FLOPS / 0.025 / ceiling("tensor.bf16", "burst"),
            "peakline/of_achievable": FLOPS / 0.025 / ceiling("tensor.bf16", "sustained"),
        }
    )


def test_failing_sink_does_not_end_training(caplog):
    def broken(number, figures):
        raise ConnectionError("no server")

    def careless(number, figures):
        figures.clear()

    def impatient(number, figures):
        timer.step()

    timer, device, got = timed(broken, careless, impatient)
    said = list(run(timer, device, [0.1, 0.2, 0.3]))
    assert [number for number, _ in got] == [1, 2, 3]
    assert got[2][1] == said[2]
    assert said[2]["peakline/step_s"] == pytest.approx(0.3)
    first, second = caplog.records
    assert "broken" in first.message and "at step 1" in first.message
    assert "impatient" in second.message
    assert "no server" in caplog.text and "must not call step()" in caplog.text


def test_impossible_shares_warn_once(caplog):
    timer, device, got = timed()
    peak = ceiling("tensor.bf16", "datasheet")
    said = list(run(timer, device, [FLOPS / peak / 8.09, FLOPS / peak / 9, FLOPS / peak / 0.5]))
    assert [set(figures) for figures in said[:2]] == [{"peakline/step_s"}] * 2
    assert said[2]["peakline/mfu"] == pytest.approx(0.5)
    assert [figures for _, figures in got] == said
    (record,) = caplog.records
    assert "step 1 did 809 % of the published peak of tensor.bf16 (989 TFLOP/s)" in record.message


@pytest.mark.parametrize("length", [float("nan"), float("inf"), -1.0])
def test_a_time_that_is_none_is_said_once(length, caplog):
    timer, device, _ = timed()
    assert list(run(timer, device, [0.1, length]))[1] == {}
    assert next(run(timer, device, [length])) == {}
    assert timer.latest["peakline/step_s"] == pytest.approx(0.1)
    (record,) = caplog.records
    assert f"step 2 took {length:g} s" in record.message


def test_a_pause_keeps_the_steps_before_it():
    """The device reaches them later."""
    timer, device, got = timed(behind=2)
    timer.step()
    for number in range(20):
        device.now += 0.1
        timer.step()
        if number % 2:
            timer.pause()
            device.now += 5
    # The first mark after a pause ends no step.
    assert [number for number, _ in got] == [1, 2, *range(4, 19, 2)]
    assert [figures["peakline/step_s"] for _, figures in got] == pytest.approx([0.1] * len(got))


def test_a_slow_step_is_said_once(caplog, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    monkeypatch.setitem(sys.modules, "torch", torch_on("NVIDIA H200"))
    timer, device, _ = timed()
    usual = [0.1 + 0.0005 * (n % 5) for n in range(40)]
    with caplog.at_level(logging.WARNING, "peakline"):
        list(run(timer, device, [*usual, 0.103, 0.2, 0.21, *usual[:5], 0.3]))
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 2
    assert texts[0] == (
        "step 42 took 200 ms, where 101 ms are usual in this run (up to 107.1 ms); the device now: "
        "SM clock 1200 of 1980 MHz, 700 W, 80 °C, slowed down by power cap, hardware thermal "
        "slowdown"
    )
    assert texts[1].startswith("step 49 took 300 ms")


@pytest.mark.parametrize(
    "lengths",
    [
        [0.1 + 0.01 * (n * 7 % 13) for n in range(200)],  # sequences of varying length
        # An optimizer's step.
        [0.115 if n % 8 == 7 else 0.1 + 0.0003 * (n % 3) for n in range(800)],
        [0.3 if n % 10 == 9 else 0.1 for n in range(500)],
    ],
    ids=["scatter", "accumulation", "tenth"],
)
def test_a_run_that_scatters_has_no_slow_step(caplog, lengths):
    timer, device, _ = timed()
    with caplog.at_level(logging.WARNING, "peakline"):
        # Warm-up does not count.
        list(run(timer, device, [1.0, *lengths]))
    assert caplog.records == []


class NvmlError(Exception):
    pass


def nvml(**changes):
    """A fake pynvml with a throttled device."""
    answers = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetHandleByUUID": lambda uuid: "device",
        "nvmlDeviceGetClockInfo": lambda handle, kind: 1200,
        "nvmlDeviceGetMaxClockInfo": lambda handle, kind: 1980,
        "nvmlDeviceGetPowerUsage": lambda handle: 700_000,
        "nvmlDeviceGetTemperature": lambda handle, kind: 80,
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x45,
        "NVML_CLOCK_SM": 1,
        "NVML_TEMPERATURE_GPU": 0,
        "NVMLError": NvmlError,
    }
    return types.SimpleNamespace(**(answers | changes))


def failing(message):
    return mock.Mock(side_effect=NvmlError(message))


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"nvmlInit": failing("Driver Not Loaded")}, "not known: NVML says Driver Not Loaded"),
        (
            {"nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: 0x1},
            "SM clock 1200 of 1980 MHz, 700 W, 80 °C, not slowed down",
        ),
        # A MIG slice has no power, and an old binding lacks a function.
        (
            {
                "nvmlDeviceGetPowerUsage": failing("Not Supported"),
                "nvmlDeviceGetCurrentClocksThrottleReasons": None,
            },
            "SM clock 1200 of 1980 MHz, 80 °C",
        ),
    ],
)
def test_states_of_a_device(monkeypatch, changes, state):
    module = nvml(**changes)
    for name in [name for name, answer in changes.items() if answer is None]:
        delattr(module, name)
    module.nvmlDeviceGetHandleByUUID = mock.Mock()
    monkeypatch.setitem(sys.modules, "torch", torch_on("NVIDIA H200"))
    monkeypatch.setitem(sys.modules, "pynvml", module)
    assert device_state() == state
    asked = module.nvmlDeviceGetHandleByUUID.call_args_list
    assert asked == ([] if "nvmlInit" in changes else [mock.call(b"GPU-1")])


def test_without_packages_the_state_is_not_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    assert device_state() == "not known, since PyTorch does not say which GPU is in use"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert device_state() == "not known, since pynvml (nvidia-ml-py) is not installed"


def test_what_the_profile_does_not_have(profile):
    with pytest.raises(peakline.PeakError, match="fp4"):
        StepTimer(profile, FLOPS, "fp4")
    with pytest.raises(ValueError, match="flops"):
        StepTimer(profile, 0, "bf16")


@pytest.mark.parametrize("used", ["NVIDIA H100 80GB HBM3", "NVIDIA H200 NVL"])
def test_a_profile_of_another_model_is_refused(profile, monkeypatch, used):
    monkeypatch.setitem(sys.modules, "torch", torch_on(used))
    with pytest.raises(
        peakline.PeakError, match=f"is of NVIDIA H200, and this process uses {used}"
    ):
        StepTimer(profile, FLOPS, "bf16")
    StepTimer(profile, 1e6, "fp32", device="host")
    monkeypatch.setitem(sys.modules, "torch", torch_on("NVIDIA H200"))
    assert StepTimer(profile, FLOPS, "bf16").step() == {}


def torch_on(model):
    """A fake PyTorch on a GPU of a model."""
    cuda = types.SimpleNamespace(
        is_available=lambda: True,
        current_device=lambda: 1,
        get_device_name=lambda index: {1: model}[index],
        get_device_properties=lambda index: types.SimpleNamespace(uuid=index),
        Event=lambda enable_timing: types.SimpleNamespace(record=lambda: None),
    )
    return types.SimpleNamespace(cuda=cuda)


def test_without_a_device_the_host_tells_the_time(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    profile = loaded(only(document_of()))
    timer = StepTimer(profile, 1e6, "fp32", device="host")
    timer.step()
    figures = timer.step()
    assert 0 < figures["peakline/step_s"] < 1
    assert "peakline/mfu" not in figures  # the host has no published peak


def test_a_checkpoint_of_lightning_is_no_step(monkeypatch):
    lightning = types.SimpleNamespace(Callback=object)
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", lightning)
    module = types.SimpleNamespace(log_dict=lambda *_, **__: None)
    timer, device, _ = timed()
    callback = lightning_callback(timer)
    callback.on_train_batch_end(None, module)
    callback.on_save_checkpoint(None, module, {})
    device.now += 60
    callback.on_train_batch_end(None, module)
    assert timer.latest == {}


def test_only_logs_of_training_get_figures(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(TrainerCallback=object))
    timer, device, _ = timed()
    callback = trainer_callback(timer)
    list(run(timer, device, [0.1]))
    for name, got in (("loss", True), ("eval_loss", False)):
        logs = {name: 1.0}
        state = types.SimpleNamespace(log_history=[dict(logs)])
        callback.on_log(None, state, None, logs=logs)
        assert ("peakline/mfu" in logs, "peakline/mfu" in state.log_history[0]) == (got, got)


# --- Real packages -------------------------------------------------------------------------------


def test_prometheus():
    client = pytest.importorskip("prometheus_client", reason=NO_TOOLS)
    registry = client.CollectorRegistry()
    timer, device, _ = timed(prometheus(registry))
    list(run(timer, device, [0.1, 0.02]))
    text = client.generate_latest(registry).decode()
    assert "peakline_steps_total 2.0" in text
    assert "peakline_step_seconds 0.02" in text
    assert registry.get_sample_value("peakline_mfu_ratio") == pytest.approx(
        FLOPS / 0.02 / ceiling("tensor.bf16", "datasheet", GPU)
    )
    assert "peakline_of_achievable_ratio" in text


def test_tensorboard(tmp_path):
    pytest.importorskip("torch", reason=NO_TOOLS)
    pytest.importorskip("tensorboard", reason=NO_TOOLS)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        timer, device, _ = timed(tensorboard(writer))
        list(run(timer, device, [0.1, 0.02]))
    found = EventAccumulator(str(tmp_path)).Reload().Scalars("peakline/step_s")
    assert [(row.step, row.value) for row in found] == [
        (1, pytest.approx(0.1)),
        (2, pytest.approx(0.02)),
    ]


def test_lightning(profile, tmp_path):
    pytest.importorskip("lightning.pytorch", reason=NO_TOOLS)
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.loggers import CSVLogger

    class Model(LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, index):
            return self.layer(batch).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    timer = StepTimer(profile, 1e6, "bf16")
    trainer = Trainer(
        max_epochs=1,
        accelerator="cpu",
        log_every_n_steps=1,
        callbacks=[lightning_callback(timer)],
        logger=CSVLogger(str(tmp_path)),
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=1))
    assert timer.latest["peakline/step_s"] > 0
    assert trainer.logged_metrics["peakline/step_s"] == pytest.approx(
        timer.latest["peakline/step_s"]
    )
    assert "peakline/mfu" in (Path(trainer.logger.log_dir) / "metrics.csv").read_text()


def test_trainer_of_transformers(profile, tmp_path):
    pytest.importorskip("accelerate", reason=NO_TOOLS)
    transformers = pytest.importorskip("transformers", reason=NO_TOOLS)
    torch = pytest.importorskip("torch", reason=NO_TOOLS)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x):
            return {"loss": self.layer(x).mean()}

    class Reporting(transformers.TrainerCallback):
        """Like the loggers of `report_to`, which run before the user's callbacks."""

        def on_log(self, args, state, control, logs=None, **_):
            reported.append(dict(logs))

    reported = []
    timer = StepTimer(profile, 1e6, "bf16")
    trainer = transformers.Trainer(
        model=Model(),
        args=transformers.TrainingArguments(
            output_dir=str(tmp_path),
            max_steps=6,
            per_device_train_batch_size=1,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=[{"x": torch.ones(4)}] * 8,
        callbacks=[Reporting(), trainer_callback(timer)],
    )
    trainer.train()
    # The loggers run before the figures are added, as documented.
    assert reported and not any("peakline/mfu" in logs for logs in reported)
    rows = [row for row in trainer.state.log_history if "loss" in row]
    assert len(rows) == 6
    assert all(row["peakline/step_s"] > 0 and "peakline/mfu" in row for row in rows[2:])
