"""Profiles of healthy GPUs, changed in known ways, with the verdicts that each change allows.

The same seed makes the same profiles. ctest judges a few hundred; before a release, 10,000 through
check and compare (ten minutes):

    PEAKLINE=build/dev/bench/peakline python tests/fuzz/mutate_profiles.py 10000

It prints how often each change was made, each unearned PASS and each wrong FAIL, and keeps the
profiles.
"""

from __future__ import annotations

import argparse
import copy
import functools
import gzip
import itertools
import json
import os
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "reports/reference"
PEAKLINE = os.environ.get("PEAKLINE", "peakline")

Profile = dict[str, Any]
Row = dict[str, Any]
Words = frozenset[str]

HEALTHY: Words = frozenset({"pass"})
FAILS: Words = frozenset({"fail"})
UNKNOWN: Words = frozenset({"cannot_judge", "refused"})  # something is missing or contradictory
LOW = FAILS | UNKNOWN
LINK = LOW | {"warn"}  # a virtual machine's neighbours may be the cause

# The largest loss that a figure may hide behind its scatter within the run, by basis or part.
MOST_HIDDEN = {
    "hbm": 0.041,
    "l2": 0.042,
    "l1": 0.046,
    "shared": 0.046,
    "cuda_core": 0.05,
    "gemm": 0.091,
    "nvlink": 0.05,
    "p2p": 0.05,
    "nccl": 0.16,
    "pcie": 0.30,
    "instruction": 0.096,
    "burst": 0.072,
    "model_burst": 0.092,
    "sustained": 0.078,
    "model_shaped": 0.078,
}
ONE_WAY = ("pcie.h2d", "pcie.d2h")
MOST_HIDDEN_ONE_WAY = 0.105
# Scatter within the run, or a step, from which a figure is unsteady.
UNSTEADY_FROM = {
    "hbm": 0.01,
    "l2": 0.012,
    "l1": 0.02,
    "shared": 0.02,
    "nvlink": 0.02,
    "cuda_core": 0.02,
    "gemm": 0.02,
    "instruction": 0.03,
    "tensor": 0.02,
}
GROUPS = {
    "memory": ("hbm", "l2", "l1", "shared"),
    "compute": ("cuda_core", "gemm"),
    "tensor": ("tensor",),
    "host_link": ("pcie",),
    "gpu_links": ("nvlink", "nccl"),
}
UNDER_LOAD = ("hbm.concurrent", "gemm.concurrent")
TOGETHER = (
    *UNDER_LOAD,
    "p2p.latency",
    *(f"pcie.concurrent.{way}" for way in ("h2d", "d2h", "both")),
)


def name_of(row: Row) -> str:
    return "/".join([row["id"], *(f"{k}:{v}" for k, v in row.get("params", {}).items())])


def part_of(resource: str) -> str:
    return resource.split(".", maxsplit=1)[0]


def measured(profile: Profile, *parts: str) -> list[Row]:
    """Measured ceilings of GPUs and the node, of these parts."""
    return [
        row
        for row in profile["ceilings"]
        if row.get("measurement")
        and row["device"] != "host"
        and (not parts or part_of(row["resource"]) in parts)
    ]


def under_load(profile: Profile) -> list[Row]:
    """The measurements that were taken while all GPUs were busy."""
    return [
        row
        for row in profile["measurements"]
        if row["id"] in UNDER_LOAD and row.get("params", {}).get("beside", "all") == "all"
    ]


def judged_alone(profile: Profile) -> list[Row]:
    """Measured ceilings besides those of pairs, of which the slowest counts."""
    return [row for row in measured(profile) if row["device"] != "node"]


def sources(profile: Profile, ceiling: Row) -> list[Row]:
    return [
        row
        for row in profile["measurements"]
        if row["device"] == ceiling["device"] and name_of(row) == ceiling["measurement"]
    ]


def theories(profile: Profile) -> dict[tuple[str, str], float]:
    """Theory by device and resource."""
    return {
        (row["device"], row["resource"]): row["value"]
        for row in profile["ceilings"]
        if row["basis"] == "theoretical"
    }


def most_hidden(row: Row) -> float:
    if row["resource"] in ONE_WAY:
        return MOST_HIDDEN_ONE_WAY
    part = part_of(row["resource"])
    return MOST_HIDDEN.get(part) or MOST_HIDDEN[row["basis"]]


@functools.cache
def _healthy() -> dict[tuple[str, ...], float]:
    """What healthy devices reach, by model, mode, resource and basis."""
    levels: dict[tuple[str, ...], float] = {}
    for file in sorted((REFERENCE / "populations").glob("*.json")):
        for population in json.loads(file.read_text())["populations"]:
            for row in population["figures"]:
                if not row.get("beside_siblings"):
                    of = (population["facts"]["model"], population["mode"])
                    levels[(*of, row["resource"], row["basis"])] = row["lowest_state"]
    return levels


def healthy(profile: Profile, row: Row) -> float:
    """What a healthy device reaches; without knowledge of any, what this one does."""
    gpus = profile["devices"]
    of_node = row["device"] == "node"
    model = f"{len(gpus)} x {gpus[0]['name']}" if of_node else gpus[0]["name"]
    resource = row["resource"]
    if "-" in resource:  # of a pair
        resource = resource.rsplit(".", maxsplit=1)[0]
    return _healthy().get((model, profile["mode"], resource, row["basis"]), float(row["value"]))


def reduced(profile: Profile) -> Profile:
    """The profile with nothing but what is judged, which is read ten times as fast."""
    judged = {row.get("measurement") for row in profile["ceilings"]}
    profile["measurements"] = [
        row for row in profile["measurements"] if row["id"] in TOGETHER or name_of(row) in judged
    ]
    for row in profile["measurements"]:
        for key in ("series", "samples_s", "sittings", "launch"):
            row.pop(key, None)
    profile["curves"] = profile["rooflines"] = profile["memory_map"] = []
    return profile


Change = Callable[[Profile, random.Random], Words | None]
CHANGES: dict[str, Change] = {}
BENIGN: list[str] = []
NOT_OF_COMPARE: set[str] = set()


def mutation(benign: bool = False, of_compare: bool = True) -> Callable[[Change], Change]:
    """Registers a change. It returns the verdicts allowed, or None if it does not apply."""

    def register(change: Change) -> Change:
        name = change.__name__
        CHANGES[name] = change
        if benign:
            BENIGN.append(name)
        if not of_compare:
            NOT_OF_COMPARE.add(name)
        return change

    return register


def scale(profile: Profile, ceiling: Row, factor: float) -> None:
    """Changes a figure, where it was measured, and others that stand for the same."""
    point = (ceiling["device"], ceiling["measurement"])
    for row in profile["ceilings"]:
        if (row["device"], row.get("measurement")) == point:
            for key in {"value", "ci_low", "ci_high"} & row.keys():
                row[key] *= factor
    for row in sources(profile, ceiling):
        row["value"] = ceiling["value"]


def lose(profile: Profile, rng: random.Random, row: Row, most: float = 0.9) -> Words:
    """Makes a figure slower than what scatter can hide, here and among healthy devices."""
    least = most_hidden(row)
    loss = rng.choice([least, least, rng.uniform(least, most)]) + 0.001
    scale(profile, row, min(1, healthy(profile, row) / row["value"]) * (1 - loss))
    one_way = row["resource"] in ONE_WAY
    shared = part_of(row["resource"]) == "pcie" and not one_way
    return LINK if shared and loss <= 0.65 else LOW


def lose_each(profile: Profile, rng: random.Random, rows: list[Row]) -> Words | None:
    return min((lose(profile, rng, row) for row in rows), key=len, default=None)


# Losses.


@mutation()
def slow_figure(profile: Profile, rng: random.Random) -> Words | None:
    return lose(profile, rng, rng.choice(measured(profile)))


@mutation()
def slow_part(profile: Profile, rng: random.Random) -> Words | None:
    part = rng.choice(sorted({part_of(row["resource"]) for row in measured(profile)}))
    return lose_each(profile, rng, measured(profile, part))


@mutation()
def slow_gpu(profile: Profile, rng: random.Random) -> Words | None:
    uuid = rng.choice(profile["devices"])["uuid"]
    return lose_each(profile, rng, [row for row in measured(profile) if row["device"] == uuid])


@mutation()
def slow_alike(profile: Profile, rng: random.Random) -> Words | None:
    """Everything is slower by one share, so that ratios stay."""
    factor = rng.uniform(0.02, 0.83)
    for row in measured(profile):
        scale(profile, row, factor)
    return LOW


@mutation()
def slow_and_scattered(profile: Profile, rng: random.Random) -> Words | None:
    part = rng.choice(sorted({part_of(row["resource"]) for row in measured(profile)}))
    rows = measured(profile, part)
    wide = rng.choice([0.002, 0.004, 0.009, 0.011, 0.019, 0.029, 0.059, 0.3])
    for row in rows:
        row["spread"] = {**row["spread"], rng.choice(["within", "sittings"]): wide}
    return lose_each(profile, rng, rows if rng.random() < 0.5 else [rng.choice(rows)])


@mutation()
def unsteady(profile: Profile, rng: random.Random) -> Words | None:
    row = rng.choice(measured(profile))
    part = part_of(row["resource"])
    key = "instruction" if row["basis"] == "instruction" else part
    if key not in UNSTEADY_FROM:
        return None
    where = rng.choice(["within", "sittings", "step"])
    row["spread"] = {**row["spread"], where: UNSTEADY_FROM[key] * rng.uniform(1.02, 20)}
    return LOW


@mutation()
def slow_under_joint_load(profile: Profile, rng: random.Random) -> Words | None:
    rows = under_load(profile)
    if not rows:
        return None
    # Their healthy rates are those of the slowest GPU.
    least = min(row["value"] for row in rows)
    for row in rng.sample(rows, rng.randint(1, len(rows))):
        row["value"] = least * rng.uniform(0.05, 0.85)
    return LOW


@mutation()
def slow_pairs(profile: Profile, rng: random.Random) -> Words | None:
    rows = [row for row in measured(profile, "nvlink") if "-" in row["resource"]]
    if not rows:
        return None
    return lose_each(profile, rng, rng.sample(rows, rng.randint(1, len(rows))))


@mutation()
def slow_p2p_latency(profile: Profile, rng: random.Random) -> Words | None:
    rows = [row for row in profile["measurements"] if row["id"] == "p2p.latency"]
    if not rows:
        return None
    for row in rng.sample(rows, rng.randint(1, len(rows))):
        row["value"] *= rng.uniform(1.1, 20)
    return LOW


# What a run lacks, or contradicts itself in.


@mutation()
def lost_ceiling(profile: Profile, rng: random.Random) -> Words | None:
    row = rng.choice(measured(profile))
    if part_of(row["resource"]) == "nccl":  # NCCL may be missing
        return None
    if row["device"] == "node" and "-" not in row["resource"]:  # the same of a pair is there
        return None
    profile["ceilings"].remove(row)
    if rng.random() < 0.5:
        profile["measurements"] = [
            each for each in profile["measurements"] if each not in sources(profile, row)
        ]
    return UNKNOWN


@mutation()
def lost_group(profile: Profile, rng: random.Random) -> Words | None:
    group = rng.choice(list(GROUPS))
    gone = measured(profile, *GROUPS[group])
    if not gone:
        return None
    if len(profile["devices"]) > 1 and group != "gpu_links" and rng.random() < 0.5:
        uuid = rng.choice(profile["devices"])["uuid"]
        gone = [row for row in gone if row["device"] == uuid]
    profile["ceilings"] = [row for row in profile["ceilings"] if row not in gone]
    return UNKNOWN


@mutation()
def lost_measurements(profile: Profile, rng: random.Random) -> Words | None:
    names = {(row["device"], row["measurement"]) for row in measured(profile)}
    gone = set(rng.sample(sorted(names), rng.choice([1, 3, len(names)])))
    profile["measurements"] = [
        row for row in profile["measurements"] if (row["device"], name_of(row)) not in gone
    ]
    return UNKNOWN


@mutation()
def lost_of_joint_load(profile: Profile, rng: random.Random) -> Words | None:
    ids = {row["id"] for row in profile["measurements"]} & set(UNDER_LOAD)
    if not ids:
        return None
    gone = rng.choice(sorted(ids))
    profile["measurements"] = [row for row in profile["measurements"] if row["id"] != gone]
    return UNKNOWN


@mutation()
def lost_one_of_joint_load(profile: Profile, rng: random.Random) -> Words | None:
    """One GPU's rate while all are busy, which may be the slowest."""
    rows = under_load(profile)
    if not rows:
        return None
    profile["measurements"].remove(rng.choice(rows))
    return UNKNOWN


@mutation()
def lost_direction(profile: Profile, rng: random.Random) -> Words | None:
    rows = [row for row in measured(profile, "nvlink") if "-" in row["resource"]]
    if not rows:
        return None
    profile["ceilings"].remove(rng.choice(rows))
    return UNKNOWN


@mutation()
def lost_gpu_rows(profile: Profile, rng: random.Random) -> Words | None:
    uuid = rng.choice(profile["devices"])["uuid"]
    for rows in ("ceilings", "measurements", "findings", "missing_ceilings", "headlines"):
        profile[rows] = [row for row in profile.get(rows, []) if row["device"] != uuid]
    return UNKNOWN


@mutation()
def lost_gpu(profile: Profile, rng: random.Random) -> Words | None:
    gone = rng.choice(profile["devices"])
    profile["devices"].remove(gone)
    for rows in ("ceilings", "measurements", "findings", "missing_ceilings", "headlines"):
        profile[rows] = [row for row in profile.get(rows, []) if row["device"] != gone["uuid"]]
    return LOW


@mutation()
def ended_early(profile: Profile, rng: random.Random) -> Words | None:
    profile["complete"] = False
    return UNKNOWN


@mutation(of_compare=False)
def other_mode(profile: Profile, rng: random.Random) -> Words | None:
    profile["mode"] = "quick" if profile["mode"] == "full" else "full"
    return UNKNOWN if profile["mode"] == "full" else UNKNOWN | HEALTHY | {"warn"}


@mutation()
def not_verified(profile: Profile, rng: random.Random) -> Words | None:
    profile.setdefault("asked", {})["verify"] = False
    return UNKNOWN


@mutation()
def verification_lost(profile: Profile, rng: random.Random) -> Words | None:
    rows = [
        row
        for row in profile["measurements"]
        if row["status"] == "ok" and row["unit"] != "s" and row["device"] != "host"
    ]
    for row in rng.sample(rows, rng.choice([1, 1, len(rows)])):
        row.pop("verified", None)
    return UNKNOWN


@mutation()
def wrong_result(profile: Profile, rng: random.Random) -> Words | None:
    rows = [
        row
        for row in profile["measurements"]
        if row["status"] == "ok" and row["device"] != "host" and row.get("verified")
    ]
    for row in rng.sample(rows, rng.choice([1, 1, 3])):
        row["verified"] = False
    return FAILS


@mutation()
def source_failed(profile: Profile, rng: random.Random) -> Words | None:
    """A ceiling whose measurement is no sound one."""
    found = sources(profile, rng.choice(measured(profile)))
    for row in found:
        row["status"] = rng.choice(["error", "skipped"])
        row["reason"] = "CUDA error"
        for key in ("value", "unit", "summary", "samples_s", "verified", "launches_per_sample"):
            row.pop(key, None)
    return LOW if found else None


@mutation()
def source_is_slower(profile: Profile, rng: random.Random) -> Words | None:
    """A ceiling above what was measured."""
    row = rng.choice(measured(profile))
    found = sources(profile, row)
    for each in found:
        each["value"] = row["value"] * rng.uniform(0.1, 0.5)
    return LOW if found else None


@mutation()
def source_of_another(profile: Profile, rng: random.Random) -> Words | None:
    """A ceiling that names another benchmark's measurement."""
    rows = measured(profile)
    row = rng.choice(rows)
    others = [
        each
        for each in rows
        if each["device"] == row["device"] and part_of(each["resource"]) != part_of(row["resource"])
    ]
    if not others:
        return None
    row["measurement"] = rng.choice(others)["measurement"]
    return LOW


@mutation()
def implausible(profile: Profile, rng: random.Random) -> Words | None:
    found = sources(profile, rng.choice(measured(profile)))
    for row in found:
        row["flags"] = sorted({*row.get("flags", []), "implausible"})
    return UNKNOWN if found else None


@mutation(of_compare=False)
def too_fast(profile: Profile, rng: random.Random) -> Words | None:
    row = rng.choice([row for row in measured(profile) if part_of(row["resource"]) != "pcie"])
    scale(profile, row, rng.uniform(2.1, 100))
    return UNKNOWN | FAILS  # beside it, others of its kind look slow


@mutation()
def other_method(profile: Profile, rng: random.Random) -> Words | None:
    found = sources(profile, rng.choice(judged_alone(profile)))
    for row in found:
        row["method_version"] += 1
    return UNKNOWN if found else None


@mutation()
def twice(profile: Profile, rng: random.Random) -> Words | None:
    rows = profile[rng.choice(["ceilings", "measurements", "devices"])]
    doubled = copy.deepcopy(rng.choice(rows))
    if isinstance(doubled.get("value"), (int, float)):
        doubled["value"] *= rng.choice([0.5, 1, 1.1])
    rows.insert(rng.randint(0, len(rows)), doubled)
    return UNKNOWN


@mutation()
def other_unit(profile: Profile, rng: random.Random) -> Words | None:
    row = rng.choice(measured(profile))
    row["unit"] = rng.choice(["B/s", "FLOP/s", "s", "1", "load/s", "B", "Hz", "OP/s", "GB/s"])
    return None if row["unit"] == sources(profile, row)[0]["unit"] else UNKNOWN | FAILS


# Facts.

LESS = {
    "sm_count": (1, 131),
    "memory_bytes": (1e9, 8.3e10),
    "memory_bus_bits": (64, 5000),
    "l2_bytes": (1e6, 5e7),
    "power_limit_w": (100, 690),
    "sm_clock_max_hz": (3e8, 1.96e9),
    "memory_clock_max_hz": (3e8, 2.5e9),
}


@mutation()
def less_hardware(profile: Profile, rng: random.Random) -> Words | None:
    gpu = rng.choice(profile["devices"])
    what = rng.choice([*LESS, "ecc", "pcie_width", "pcie_generation"])
    if what == "ecc":
        gpu["ecc_enabled"] = False
    elif what.startswith("pcie_"):
        key = what.removeprefix("pcie_")
        gpu["pcie"][key] = rng.choice([1, 2, 4] if key == "generation" else [1, 4, 8])
        if not gpu["pcie_read_under_load"]:
            return None
    else:
        low, high = LESS[what]
        gpu[what] = int(rng.uniform(low, high))
    # Theory changes too, so that figures may look implausible.
    return LOW


@mutation(of_compare=False)
def more_hardware(profile: Profile, rng: random.Random) -> Words | None:
    gpu = rng.choice(profile["devices"])
    gpu[rng.choice(list(LESS))] *= 2
    return LOW  # theory is higher, too


@mutation()
def links_down(profile: Profile, rng: random.Random) -> Words | None:
    if len(profile["devices"]) < 2:
        return None
    gpu = rng.choice(profile["devices"])
    gpu["nvlinks"]["down"] = sorted(rng.sample(range(18), rng.randint(1, 18)))
    return FAILS


@mutation()
def fact_not_read(profile: Profile, rng: random.Random) -> Words | None:
    gpu = rng.choice(profile["devices"])
    what = rng.choice([*LESS, "ecc_enabled", "mig_enabled", "pcie_read_under_load", "nvlinks"])
    if what == "nvlinks" and len(profile["devices"]) < 2:
        return None
    if what == "pcie_read_under_load":
        gpu[what] = False
    else:
        gpu.pop(what, None)
    return UNKNOWN


@mutation()
def mig_on(profile: Profile, rng: random.Random) -> Words | None:
    rng.choice(profile["devices"])["mig_enabled"] = True
    return LOW


@mutation()
def other_model(profile: Profile, rng: random.Random) -> Words | None:
    """A slow card under a name that is not known."""
    for gpu in profile["devices"]:
        gpu["name"] = rng.choice(["NVIDIA H999", "NVIDIA H100 NVL", "NVIDIA GH200 480GB"])
    for row in measured(profile):
        if part_of(row["resource"]) != "nccl":
            scale(profile, row, rng.uniform(0.05, 0.6))
    return LOW


@mutation(of_compare=False)
def other_architecture(profile: Profile, rng: random.Random) -> Words | None:
    for gpu in profile["devices"]:
        gpu["name"] = "NVIDIA B200"
        gpu["compute_major"] = 10
    return UNKNOWN


@mutation()
def other_known_model(profile: Profile, rng: random.Random) -> Words | None:
    names = {"NVIDIA H200": "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3": "NVIDIA H200"}
    for gpu in profile["devices"]:
        gpu["name"] = names[gpu["name"]]
    return LOW


# Health.


@mutation()
def sick(profile: Profile, rng: random.Random) -> Words | None:
    gpu = rng.choice(profile["devices"])
    kind = rng.choice(
        ["xid", "uncorrected", "in_run", "remap_failed", "pending", "remapped", "pair", "unusable"]
    )
    after = gpu["after"]
    if kind == "xid":
        gpu["xids"] = [rng.choice([13, 48, 63, 64, 74, 79, 94, 95, 119])]
    elif kind == "uncorrected":
        gpu["before"]["ecc"]["uncorrected"] = after["ecc"]["uncorrected"] = rng.randint(1, 9)
    elif kind == "in_run":
        after["ecc"]["uncorrected"] = rng.randint(1, 9)
    elif kind == "remap_failed":
        after["remap_failed"] = True
        if rng.random() < 0.5:
            gpu["before"]["remap_failed"] = True
    elif kind == "pending":
        after["remap_pending"] = True
    elif kind == "remapped":
        after[rng.choice(["remapped_rows_correctable", "remapped_rows_uncorrectable"])] += 1
    elif kind == "unusable":
        gpu["unusable"] = rng.choice(["no permission", "fell off the bus"])
    else:
        rows = [row for row in profile["measurements"] if row.get("params", {}).get("pair")]
        if not rows:
            return None
        rng.choice(rows)["verified"] = False
    return FAILS


@mutation()
def finding_of_error(profile: Profile, rng: random.Random) -> Words | None:
    device = rng.choice([gpu["uuid"] for gpu in profile["devices"]])
    code = rng.choice(["ecc_errors", "row_remap", "xid", "nvlink_down", "new"])
    row = {"code": code, "severity": "error", "device": device, "message": "Bad.", "evidence": {}}
    profile["findings"].insert(0, row)
    return FAILS


@mutation()
def machine_finding(profile: Profile, rng: random.Random) -> Words | None:
    row = {"code": "new", "severity": "error", "device": "", "message": "Bad.", "evidence": {}}
    profile["findings"].insert(0, row)
    return LOW


@mutation(of_compare=False)
def fabric_not_started(profile: Profile, rng: random.Random) -> Words | None:
    gpu = rng.choice(profile["devices"])
    if "fabric" not in gpu:
        return None
    gpu["fabric"] = rng.choice(["in progress", "not started"])
    return LINK


@mutation()
def counters_lost(profile: Profile, rng: random.Random) -> Words | None:
    after = rng.choice(profile["devices"])["after"]
    for key in rng.choice([["ecc"], ["ecc", "remap_failed"], list(after)]):
        after.pop(key, None)
    return UNKNOWN


@mutation()
def remap_state_lost(profile: Profile, rng: random.Random) -> Words | None:
    """The counters of remapped rows are gone after the run, which may have needed some."""
    gpu = rng.choice(profile["devices"])
    gpu["after"].pop(rng.choice(["remap_failed", "remap_pending"]), None)
    return UNKNOWN | HEALTHY


@mutation(of_compare=False)
def thermal_limit(profile: Profile, rng: random.Random) -> Words | None:
    """A limit that held the clock, without the finding."""
    row = sources(profile, rng.choice(judged_alone(profile)))[0]
    conditions = row.setdefault("conditions", {})
    conditions["throttle_reasons"] = [rng.choice(["hw_thermal", "sw_thermal"])]
    conditions["sm_clock_hz"] = 1.3e9
    return LINK


@mutation()
def excuses(profile: Profile, rng: random.Random) -> Words | None:
    """What may explain a loss, and never excuses it."""
    gpu = rng.choice(profile["devices"])
    for kind in rng.sample(range(9), rng.randint(1, 3)):
        if kind == 0:
            gpu["processes"] = [{"pid": 4711, "name": "python3", "when": "before"}]
        elif kind == 1:
            gpu["sm_clock_seen_max_hz"] = rng.choice([1.995e9, 2.01e9, 3e9])
        elif kind == 2:
            profile["host"]["virtualization"] = rng.choice(["", "docker", "kvm", "vmware"])
        elif kind == 3:
            gpu["integrated"] = rng.choice([True, False])
        elif kind == 4:
            gpu["confidential_computing"] = rng.choice(["on", "protected PCIe"])
        elif kind == 5:
            for row in profile["ceilings"]:
                row["conditions"] = {"throttle_reasons": ["sw_power_cap"], "power_cap_share": 1}
        elif kind == 6:
            basis = rng.choice(["theoretical", "datasheet"])
            profile["ceilings"] = [row for row in profile["ceilings"] if row["basis"] != basis]
        elif kind == 7:
            gpu["vbios"] = gpu["pci_device_id"] = ""
        else:
            for row in profile["ceilings"]:
                if row["basis"] in ("theoretical", "datasheet"):
                    row["value"] *= rng.choice([0.5, 2])
    return HEALTHY | LINK


@mutation(of_compare=False)
def indices(profile: Profile, rng: random.Random) -> Words | None:
    """Two GPUs of one index: which pairs were measured is not known."""
    if len(profile["devices"]) < 2:
        return None
    one, other = rng.sample(profile["devices"], 2)
    one["index"] = other["index"]
    return UNKNOWN | FAILS


@mutation()
def peers_lost(profile: Profile, rng: random.Random) -> Words | None:
    """A pair that no fact and no measurement names."""
    if len(profile["devices"]) < 2:
        return None
    one, other = (gpu["index"] for gpu in rng.sample(profile["devices"], 2))
    pairs = (f"{one}-{other}", f"{other}-{one}")
    for rows in ("measurements", "ceilings", "missing_ceilings"):
        profile[rows] = [
            row
            for row in profile[rows]
            if row.get("params", {}).get("pair") not in pairs
            and not row.get("resource", "").endswith(pairs)
        ]
    for gpu in profile["devices"]:
        gpu["peers"] = [
            peer for peer in gpu["peers"] if {gpu["index"], peer["index"]} != {one, other}
        ]
    return LOW


@mutation()
def pair_not_measured(profile: Profile, rng: random.Random) -> Words | None:
    """One of several rows of the node, of which the slowest counts."""
    rows = [
        row
        for row in profile["measurements"]
        if row["id"] == "p2p.latency" or row["id"].startswith("pcie.concurrent")
        if row.get("params", {}).get("beside", "all") == "all"
    ]
    if not rows:
        return None
    profile["measurements"].remove(rng.choice(rows))
    return UNKNOWN


# What says nothing against a machine.

TEXTS = ["", "skipped: no NCCL", "implausible", "failed", "wrong result", "PASS", "never run on"]


@mutation(benign=True)
def texts(profile: Profile, rng: random.Random) -> Words | None:
    def scrambled(text: str) -> str:
        words = text.split()
        rng.shuffle(words)
        return rng.choice([" ".join(words), *TEXTS, text.upper()])

    for rows, keys in {
        "measurements": ["reason"],
        "missing_ceilings": ["reason"],
        "findings": ["message"],
        "ceilings": ["note"],
        "resources": ["label"],
        "headlines": ["label", "missing"],
    }.items():
        for row in profile.get(rows, []):
            for key in keys:
                if key in row and rng.random() < 0.5:
                    row[key] = scrambled(row[key])
    return HEALTHY


@mutation(benign=True)
def software(profile: Profile, rng: random.Random) -> Words | None:
    profile["software"]["driver"] = rng.choice(["590.1", "570.99.1", ""])
    profile["tool"] = "peakline 9"
    profile["command"] = ["peakline", "run", "--quick"]
    return HEALTHY


@mutation(benign=True, of_compare=False)  # other versions may lack benchmarks
def version(profile: Profile, rng: random.Random) -> Words | None:
    profile["software"]["git_revision"] = rng.choice(["abcdef0", ""])
    return HEALTHY


@mutation(benign=True)
def dates(profile: Profile, rng: random.Random) -> Words | None:
    profile["created"] = rng.choice(
        ["2000-01-01T00:00:00Z", "2024-02-29T23:59:59Z", "2099-12-31T00:00:00Z"]
    )
    profile["duration_s"] = rng.choice([0.1, 1e6])
    return HEALTHY


@mutation(benign=True)
def order(profile: Profile, rng: random.Random) -> Words | None:
    for rows in ("measurements", "ceilings", "findings", "missing_ceilings", "resources"):
        rng.shuffle(profile.get(rows, []))
    return HEALTHY


@mutation(benign=True, of_compare=False)
def uuids(profile: Profile, rng: random.Random) -> Words | None:
    text = json.dumps(profile)
    for gpu in profile["devices"]:
        text = text.replace(gpu["uuid"], f"GPU-{rng.getrandbits(32):08x}")
    profile.clear()
    profile.update(json.loads(text))
    return HEALTHY


@mutation(benign=True)
def host(profile: Profile, rng: random.Random) -> Words | None:
    """A virtual machine's CPUs are never judged."""
    for row in profile["ceilings"]:
        if row["device"] == "host" and row.get("measurement"):
            scale(profile, row, rng.uniform(0.1, 3))
    profile["host"]["cpu_model"] = "AMD EPYC 9654"
    profile["host"]["hostname"] = f"node{rng.randint(0, 999)}"
    return HEALTHY


@mutation(benign=True)
def noise(profile: Profile, rng: random.Random) -> Words | None:
    """What healthy runs differ by."""
    for row in measured(profile):
        factor = rng.uniform(0.999, 1.001)
        if row["value"] * factor >= healthy(profile, row) * 0.975:
            scale(profile, row, factor)
    return HEALTHY


@mutation(benign=True)
def other_guests(profile: Profile, rng: random.Random) -> Words | None:
    """What others on the host take of links that all GPUs use at once."""
    rows = [row for row in profile["measurements"] if row["id"].startswith("pcie.concurrent")]
    for row in rows:
        row["value"] *= rng.uniform(0.93, 1.05)
    return HEALTHY if rows else None


@mutation(benign=True)
def faster(profile: Profile, rng: random.Random) -> Words | None:
    device = rng.choice(profile["devices"])["uuid"]
    for row in measured(profile, "tensor", "cuda_core"):
        theory = theories(profile).get((device, row["resource"]), 0)
        if row["device"] == device and row["value"] * 1.02 < theory:
            scale(profile, row, 1.02)
    return HEALTHY


@mutation(benign=True)
def usual_errors(profile: Profile, rng: random.Random) -> Words | None:
    """Corrected errors, and what earlier runs remapped and replayed."""
    gpu = rng.choice(profile["devices"])
    gpu["after"]["ecc"]["corrected"] += rng.randint(0, 5)
    replays = rng.randint(0, 3)
    for side in ("before", "after"):
        gpu[side]["remapped_rows_correctable"] = 2
        gpu[side]["pcie_replays"] = replays
    gpu["after"]["temperature_c"] = rng.randint(30, 80)
    return HEALTHY


@mutation(benign=True)
def clock_step(profile: Profile, rng: random.Random) -> Words | None:
    """Versions of a card's VBIOS state maximum clocks that differ by a step."""
    for gpu in profile["devices"]:
        gpu["sm_clock_max_hz"] = 1.995e9
    return HEALTHY


@mutation(benign=True)
def steadier(profile: Profile, rng: random.Random) -> Words | None:
    for row in measured(profile):
        row["spread"]["within"] /= 2
    return HEALTHY


@mutation(benign=True)
def findings_gone(profile: Profile, rng: random.Random) -> Words | None:
    profile["findings"] = [row for row in profile["findings"] if row["severity"] == "error"]
    return HEALTHY


def combined(found: list[Words]) -> Words:
    """What several changes at once allow."""
    bad = [allowed for allowed in found if "pass" not in allowed]
    if not bad:
        return frozenset().union(*found)
    if len(bad) > 1:
        return LOW if any("warn" not in allowed for allowed in bad) else LINK
    return bad[0] if found.count(HEALTHY) == len(found) - 1 else bad[0] | LOW


@functools.cache
def base_of(file: Path) -> str:
    """A reference, as a document."""
    raw = file.read_bytes()
    return json.dumps(reduced(json.loads(gzip.decompress(raw) if file.suffix == ".gz" else raw)))


def bases() -> list[Path]:
    """References that pass."""
    warm = ("s-full2-at-1995-mhz", "tu-full1", "vw-full1")
    files = [*REFERENCE.glob("cards/*/*.json.gz"), *REFERENCE.glob("nvidia-h200*.json")]
    return sorted(file for file in files if file.name.removesuffix(".json.gz") not in warm)


@dataclass
class Mutant:
    base: Path
    names: list[str]
    profile: Profile
    allowed: Words

    @property
    def of_compare(self) -> bool:
        """Whether compare promises as much."""
        return NOT_OF_COMPARE.isdisjoint(self.names)

    def why_wrong(self, found: str, compared: bool = False) -> str | None:
        """The fault of a verdict. A comparison fails for what is newly missing."""
        if found in self.allowed or (compared and self.allowed == UNKNOWN and found == "fail"):
            return None
        kind = {"fail": "wrong FAIL", "pass": "unearned PASS", "warn": "unearned WARN"}
        changes = " + ".join(self.names)
        return f"{kind.get(found, found)}: {changes} ({self.base.name}): {sorted(self.allowed)}"


def mutants(count: int, seed: int) -> Iterator[Mutant]:
    """References with one to four changes, at most two of which speak against the machine."""
    rng = random.Random(seed)
    files, changes, benign = bases(), list(CHANGES.values()), [CHANGES[name] for name in BENIGN]
    for number in itertools.count():
        if count == 0:
            return
        # Each change has its turn; some need several GPUs.
        chosen = [*rng.sample(benign, rng.choice([0, 0, 1, 2])), changes[number % len(changes)]]
        if rng.random() < 0.15:
            chosen.insert(-1, rng.choice(changes))
        chosen = list(dict.fromkeys(chosen))  # a second time, some undo themselves
        chosen.sort(key=lambda change: change.__name__ not in BENIGN)  # none repairs a fault
        file = rng.choice(files)
        profile: Profile = json.loads(base_of(file))
        try:
            found = [(change.__name__, change(profile, rng)) for change in chosen]
        except (KeyError, ValueError, IndexError):  # an earlier change left nothing to change
            continue
        made = [(name, allowed) for name, allowed in found if allowed]
        if found[-1][1] is None:
            continue
        count -= 1
        yield Mutant(
            file, [name for name, _ in made], profile, combined([words for _, words in made])
        )


WORDS = {0: "pass", 1: "fail", 2: "refused", 3: "cannot_judge"}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    result = subprocess.run([PEAKLINE, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode in WORDS, (arguments, result.returncode, result.stderr)
    return result


def verdicts(files: list[Path], gpus: int) -> list[str]:
    """Of each profile: "refused" if it is none."""
    result = run("check", "--json", "--gpus", gpus, *files)
    if result.returncode != 2:
        return [profile["verdict"] for profile in json.loads(result.stdout)["profiles"]]
    half = len(files) // 2
    return verdicts(files[:half], gpus) + verdicts(files[half:], gpus) if half else ["refused"]


def check_mutants(made: list[Mutant], folder: Path) -> list[str]:
    """Wrong verdicts, of a few dozen profiles in a process."""
    by_gpus: dict[int, list[tuple[Path, Mutant]]] = {}
    for number, mutant in enumerate(made):
        file = folder / f"{number}.json"
        file.write_text(json.dumps(mutant.profile))
        gpus = len(json.loads(base_of(mutant.base))["devices"])
        by_gpus.setdefault(gpus, []).append((file, mutant))
    wrong = []
    for gpus, rows in by_gpus.items():
        for start in range(0, len(rows), 32):
            files, some = zip(*rows[start : start + 32], strict=True)
            for file, mutant, found in zip(files, some, verdicts(list(files), gpus), strict=True):
                if why := mutant.why_wrong(found):
                    wrong.append(f"check {file}: {why}")
    return wrong


def compare_mutants(made: list[Mutant], folder: Path) -> list[str]:
    """Wrong verdicts of the gate, against the base of each."""
    wrong = []
    for number, mutant in enumerate(made):
        if not mutant.of_compare:
            continue
        base, changed = folder / f"{number}-base.json", folder / f"{number}.json"
        base.write_text(base_of(mutant.base))
        changed.write_text(json.dumps(mutant.profile))
        result = run("compare", base, "--", changed, "--fail-on", "regression")
        if why := mutant.why_wrong(WORDS[result.returncode], compared=True):
            wrong.append(f"compare {base} -- {changed}: {why}")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    times: Counter[str] = Counter()
    wrong = controls = compared = 0
    source = mutants(options.count, options.seed)
    while made := list(itertools.islice(source, 500)):
        part = Path(tempfile.mkdtemp(dir=folder))
        found = check_mutants(made, part) + compare_mutants(made, part)
        print(*found, sep="\n", end="\n" * bool(found), flush=True)
        times.update(name for mutant in made for name in mutant.names)
        wrong += len(found)
        controls += sum(mutant.allowed == HEALTHY for mutant in made)
        compared += sum(mutant.of_compare for mutant in made)
    for name, count in sorted(times.items()):
        print(f"{count:6} {name}{' (healthy)' if name in BENIGN else ''}")
    print(
        f"{options.count} profiles in {folder}, {controls} of them healthy, {compared} compared:"
        f" {wrong} wrong verdicts"
    )
