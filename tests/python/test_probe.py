"""Probes of a simulated card, whose PyTorch launches no kernels but counts their time."""

import contextlib
import itertools
import json
import math
import os
import random
import re
import sys
import types

import peakline
import pytest
from peakline.training import probe as probing
from schemas import checked

UUID = "0f3c"
FREE = 1 << 30
OVERHEAD_S = 2e-6  # of an empty kernel


class Card:
    """Times of a card with 0.1 % of scatter; losses are shares of a rate, by measurement."""

    __version__ = "2.11.0+cu130"
    float16, float32 = 2, 4

    def __init__(self):
        self.clock_hz, self.flop_per_cycle, self.bytes_per_s = 1.8e9, 4e5, 3e12
        self.losses = {"gemm": lambda number: 0.0, "hbm.read": lambda number: 0.0}
        self.measurement = 0  # that is being enqueued
        self.now, self.reserved, self.late = 0.0, 0, False
        self.random = random.Random(1)
        self.cuda = types.SimpleNamespace(
            is_available=lambda: True,
            current_device=lambda: 0,
            get_device_name=lambda index: "NVIDIA H100",
            get_device_properties=lambda index: types.SimpleNamespace(uuid=UUID),
            is_current_stream_capturing=lambda: False,
            mem_get_info=lambda: (FREE, FREE),
            memory_reserved=lambda: self.reserved,
            device=lambda index: contextlib.nullcontext(),
            use_mem_pool=lambda pool: contextlib.nullcontext(),
            MemPool=object,
            Event=lambda enable_timing: Mark(self),
            _sleep=lambda cycles: self.takes(cycles / self.clock_hz),
        )

    def takes(self, seconds, name=""):
        loss = self.losses[name](self.measurement) if name else 0.0
        self.now += OVERHEAD_S + seconds / (1 - loss) * self.random.gauss(1, 1e-3)

    def lose(self, name, loss):
        """From the next measurement on."""
        self.measurement = 0
        self.losses[name] = loss if callable(loss) else lambda number: loss

    def device(self, text):
        kind, _, index = str(text).partition(":")
        return types.SimpleNamespace(type=kind, index=int(index) if index else None)

    no_grad = staticmethod(contextlib.nullcontext)

    def zeros(self, *_, **__):
        return Tensor()

    empty = zeros

    def empty_like(self, _):
        return Tensor()

    def Generator(self, _):
        return types.SimpleNamespace(manual_seed=lambda seed: None)

    def mm(self, a, b, out=None):
        self.takes(2 * 4096**3 / (self.flop_per_cycle * self.clock_hz), "gemm")

    def sum(self, words, dimension, out):
        self.takes((256 << 20) / self.bytes_per_s, "hbm.read")


class Tensor:
    def view(self, *_, **__):
        return self

    normal_ = view

    def __getitem__(self, _):
        return [self, self, self]

    def __iter__(self):
        return iter((self, self))


class Mark:
    def __init__(self, card):
        self.card = card

    def record(self):
        self.at = self.card.now

    def query(self):
        return self.card.late

    def synchronize(self):
        self.card.measurement += 1

    def elapsed_time(self, end):
        return (end.at - self.at) * 1e3


@pytest.fixture
def card(monkeypatch):
    found = Card()
    monkeypatch.setitem(sys.modules, "torch", found)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(probing, "_PAUSE_S", 0.0)
    monkeypatch.setattr(probing, "_LOAD_S", 0.0)
    return found


@pytest.fixture
def folder(card, tmp_path):
    peakline.probe.calibrate(folder=tmp_path)
    return tmp_path


def stored(folder):
    return folder / f"GPU-{UUID}.json"


@contextlib.contextmanager
def changed(folder):
    """The stored calibration, for changes."""
    document = json.loads(stored(folder).read_text())
    yield document
    stored(folder).write_text(json.dumps(document))


def test_limits_follow_from_scatter(card, tmp_path):
    limits = peakline.probe.calibrate(folder=tmp_path)
    assert all(0.985 < limit < 0.99 for limit in limits.values())
    checked(json.loads(stored(tmp_path).read_text()))
    verdict = peakline.probe(folder=tmp_path)
    assert (verdict.outcome, verdict.reason, verdict.memory_left) == ("healthy", "", 0)
    assert verdict.limits == limits
    assert verdict.ratios == pytest.approx({"gemm": 1, "hbm.read": 1}, abs=1e-3)
    assert verdict.clock_hz == pytest.approx(1.8e9, rel=1e-3)
    assert verdict.calibrated_clock_hz == pytest.approx(1.8e9, rel=1e-3)


@pytest.mark.parametrize("name", ["gemm", "hbm.read"])
def test_a_slow_card_is_found(card, folder, name):
    card.lose(name, 0.03)
    verdict = peakline.probe(folder=folder)
    assert verdict.outcome == "slow"
    assert verdict.reason.startswith(
        f"{name} {1 - verdict.ratios[name]:.1%} below its calibration (limit 1."
    )
    assert "pynvml (nvidia-ml-py) is not installed" in verdict.reason
    assert verdict.ratios == pytest.approx({"gemm": 1, "hbm.read": 1} | {name: 0.97}, abs=1e-3)
    assert verdict.measurements == 2


def test_a_broken_nvml_hides_no_slow_card(card, folder, monkeypatch):
    def broken():
        raise OSError("libnvidia-ml.so.1")

    nvml = types.SimpleNamespace(nvmlInit=broken, NVMLError=ValueError)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    card.lose("gemm", 0.1)
    verdict = peakline.probe(folder=folder)
    assert verdict.outcome == "slow"
    assert verdict.reason.endswith("not known: libnvidia-ml.so.1")


@pytest.mark.parametrize(
    "losses",
    [
        {"gemm": lambda number: 0.1 * (number == 0)},  # not slow when measured again
        {
            "gemm": lambda number: 0.1 * (number == 0),
            "hbm.read": lambda number: 0.1 * (number == 1),
        },
    ],
    ids=["gone", "another"],
)
def test_a_loss_of_a_moment_is_not_slow(card, folder, losses):
    for name, loss in losses.items():
        card.lose(name, loss)
    assert peakline.probe(folder=folder).outcome == "healthy"
    assert card.measurement == 2


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_a_lower_clock_is_not_slow(card, folder, share):
    """Reads may lose as much as the clock, GEMMs are compared per cycle."""
    card.clock_hz *= share
    card.lose("hbm.read", 1 - share)
    verdict = peakline.probe(folder=folder)
    assert verdict.outcome == "healthy"
    card.lose("hbm.read", 1 - 0.95 * share)
    assert peakline.probe(folder=folder).outcome == "slow"


def test_healthy_probes_do_not_alarm(folder):
    verdicts = [peakline.probe(folder=folder) for _ in range(50)]
    assert {(verdict.outcome, verdict.measurements) for verdict in verdicts} == {("healthy", 1)}


def test_a_copy_beside_a_probe_is_not_slow(card, folder):
    """A tenth of the GEMMs run at half their rate."""
    launches = itertools.count()
    card.lose("gemm", lambda number: 0.5 * (next(launches) % 500 < 50))
    verdict = peakline.probe(folder=folder)
    assert (verdict.outcome, verdict.measurements) == ("healthy", 1)


def raising(*_, **__):
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda card: card.cuda.__setattr__("is_available", lambda: False), "finds no GPU"),
        (lambda card: card.cuda.__setattr__("get_device_properties", raising), "which GPU"),
        (lambda card: card.cuda.__setattr__("mem_get_info", lambda: (1, FREE)), "320 MiB"),
        (lambda card: card.cuda.__setattr__("is_current_stream_capturing", lambda: True), "graph"),
        (lambda card: card.cuda.__delattr__("MemPool"), "AttributeError: .*MemPool"),
        (lambda card: setattr(card, "mm", raising), "RuntimeError: CUDA error: an illegal"),
        (lambda card: setattr(card, "late", True), "the host is too busy"),
        (lambda card: setattr(card, "clock_hz", 1.98e9), "SM clock 1980 MHz, calibrated up to 18"),
        (lambda card: setattr(card, "__version__", "2.12"), "torch 2.11.0.cu130, not 2.12"),
    ],
)
def test_what_cannot_be_judged_is_unknown(card, folder, change, reason):
    change(card)
    verdict = peakline.probe(folder=folder)
    assert verdict.outcome == "unknown"
    assert re.search(reason, verdict.reason)


def test_without_torch_a_probe_is_unknown(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    verdict = peakline.ProbeVerdict("unknown", "PyTorch is not installed")
    assert peakline.probe() == verdict
    with pytest.raises(RuntimeError, match=verdict.reason):
        peakline.probe.calibrate()


@pytest.mark.parametrize("seconds", [math.nan, math.inf, 0, -1, "x", None])
def test_seconds_that_are_none_are_named(folder, seconds):
    said = f"seconds is {seconds!r}: a number above 0 is needed"
    assert peakline.probe(seconds=seconds, folder=folder).reason == said
    with pytest.raises(RuntimeError, match=re.escape(said)):
        peakline.probe.calibrate(seconds=seconds, folder=folder)
    with pytest.raises(RuntimeError, match="step_s is"):
        peakline.probe.every(seconds)


def test_a_folder_that_is_a_file_is_found_before_measuring(card, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match="file"):
        peakline.probe.calibrate(folder=tmp_path / "file")
    assert card.measurement == 0


def test_calls_that_do_not_fit_are_unknown(folder):
    assert "too short" in peakline.probe(seconds=0.1, folder=folder).reason
    assert peakline.probe("cpu", folder=folder).reason.endswith("is no GPU")
    assert peakline.probe("cuda:0", seconds=0.4, folder=folder).outcome == "healthy"


@pytest.mark.parametrize(
    ("key", "value"),
    [("card", "NVIDIA H100 GPU-1"), ("torch", "2.4.0"), ("driver", "550.1"), ("method_version", 0)],
)
def test_other_conditions_are_unknown(folder, key, value):
    with changed(folder) as document:
        document["conditions"][key] = value
    verdict = peakline.probe(folder=folder)
    assert verdict.outcome == "unknown"
    assert f"calibrated with {key} {value}, not " in verdict.reason


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"schema": "peakline-probe", "schema_version": 2}',
        '{"schema": "peakline-probe", "schema_version": 1}',
    ],
)
def test_damaged_calibrations_are_unknown(folder, content):
    stored(folder).write_text(content)
    verdict = peakline.probe(folder=folder)
    assert verdict.outcome == "unknown" and str(stored(folder)) in verdict.reason


@pytest.mark.parametrize("value", [0, -1, "1", None, 1e400])
def test_impossible_rates_are_unknown(folder, value):
    with changed(folder) as document:
        document["rounds"][3]["clock_hz"] = value
    assert peakline.probe(folder=folder).outcome == "unknown"


@pytest.mark.parametrize("damage", [lambda rounds: rounds[:1], lambda rounds: rounds + rounds[:1]])
def test_calibrations_of_other_rounds_are_unknown(folder, damage):
    with changed(folder) as document:
        document["rounds"] = damage(document["rounds"])
    assert "expected 64 rounds" in peakline.probe(folder=folder).reason


def test_a_calibration_that_finds_nothing_slow_is_unknown(folder):
    with changed(folder) as document:
        document["rounds"][3]["gemm_flop_per_cycle"] = 1e-300
    assert "differ by at most 10%" in peakline.probe(folder=folder).reason


def test_a_missing_calibration_says_what_to_do(card, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = stored(tmp_path / "peakline/probe")
    reason = f"{path} is missing: call peakline.probe.calibrate() on the idle card"
    assert peakline.probe() == peakline.ProbeVerdict("unknown", reason)
    peakline.probe.calibrate()
    assert peakline.probe().outcome == "healthy"


def test_a_busy_card_is_not_calibrated(card, tmp_path):
    card.lose("gemm", lambda number: 0.2 * (number == 40))
    with pytest.raises(RuntimeError, match=r"more than 10%: the card is not idle"):
        peakline.probe.calibrate(folder=tmp_path)
    with pytest.raises(RuntimeError, match=r"0\.01 s is too short for this card"):
        peakline.probe.calibrate(seconds=0.01, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_calibration_is_stored_whole(folder, monkeypatch):
    before = stored(folder).read_bytes()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        peakline.probe.calibrate(folder=folder)
    assert [path.read_bytes() for path in folder.iterdir()] == [before]


def test_steps_between_probes_keep_their_share():
    assert peakline.probe.every(0.28) == 72
    assert peakline.probe.every(100.0) == 1
    assert peakline.probe.every(0.1, seconds=0.1, share=0.1) == 10


def test_two_healthy_measurements_rarely_alarm():
    """Whatever their distribution: both are below all rounds once in (n + 1) (n + 2) / 2."""
    rounds = probing._ROUNDS
    assert 2 * 2 / ((rounds + 1) * (rounds + 2)) < 1 / 1000
