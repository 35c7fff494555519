"""Drivers and devices, simulated by the fake driver library of tests/zoo."""

import json
import os
import re

import pytest
from program import SOURCE, assert_usage_error, peakline, read, refused

if "FAKE_NVML" not in os.environ:
    pytest.skip("a build without CUDA knows no GPU", allow_module_level=True)

ZOO = SOURCE / "tests/zoo/devices"
FIRST = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
SECOND = "GPU-bbbbbbbb-0000-0000-0000-000000000000"
NO_PERMISSION, DRIVER_NOT_LOADED, GPU_IS_LOST = "4", "9", "15"
READ = ("--filter", r"^hbm\.read")
IN_USE = "CANNOT JUDGE  in use: GPU 0: neighbour (4711)\n"


def environment(**variables):
    inherited = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    return inherited | {"LD_LIBRARY_PATH": os.environ["FAKE_NVML"]} | variables


@pytest.fixture
def run(profile):
    """Runs on fake devices; variables configure their driver."""

    def run_with(*arguments, code=None, **variables):
        command = ("run", "--quick", "-o", profile, *arguments)
        return peakline(*command, code=code, env=environment(**variables))

    return run_with


@pytest.fixture
def devices_of(run, profile):
    """Runs, removes the profile and returns its devices."""

    def devices(*arguments, **variables):
        run(*arguments, **variables)
        found = read(profile)["devices"]
        profile.unlink()
        return found

    return devices


@pytest.fixture
def zoo(tmp_path):
    """The variable that selects devices of the zoo, by name or by their NVML answers."""

    def variable(*devices):
        paths = []
        for number, device in enumerate(devices):
            path = ZOO / f"{device}.json"
            if isinstance(device, dict):
                path = tmp_path / f"device{number}.json"
                path.write_text(json.dumps({"reports": [{"constructed": "here", "nvml": device}]}))
            paths.append(str(path))
        return {"FAKE_NVML_DEVICES": ":".join(paths)}

    return variable


def planned(run, **variables):
    plan = run("--dry-run", "--filter", "^(hbm|pcie)", code=0, **variables)
    return {line[:5] for line in plan.stdout.splitlines()[1:-1]}


def test_selection(run):
    assert_usage_error(run("--device", "7"), "--device", FIRST, SECOND)
    assert_usage_error(run("--device", "GPU-cc"), FIRST, SECOND)
    assert planned(run) == {"GPU 0", "GPU 1"}
    assert planned(run, CUDA_VISIBLE_DEVICES="1") == {"GPU 1"}
    assert planned(run, CUDA_VISIBLE_DEVICES=FIRST) == {"GPU 0"}
    assert_usage_error(run("--device", "none", "--filter", "hbm"), "no GPU is measured")


def test_a_prolog_has_time_for_eight_gpus(run, zoo):
    """An estimate: no eight GPUs were timed. Four need 1.4 times theirs."""
    plan = run("--dry-run", code=0, **zoo(*8 * ["h200-sxm"]))
    (seconds,) = re.findall(r"on 10 devices, about (\d+) s", plan.stdout)
    script = (SOURCE / "scripts/slurm/peakline-slurm").read_text()
    (limit,) = re.findall(r"epilog_slurmd\) time_limit=(\d+)", script)
    # Failing figures are measured again: at most all of them.
    assert 1.4 * 2 * int(seconds) < int(limit)


def test_mig_instances_are_the_devices(run, devices_of, zoo):
    instances = [f"MIG-cccccccc-0000-0000-0000-00000000000{i}" for i in range(2)]
    card = {
        "name": "Fake GPU",
        "memory_bus_bits": 5120,
        "mig": True,
        "mig_instances": 2 * [{"name": "Fake GPU MIG 1g.10gb", "multiprocessors": 16}],
    }
    devices = zoo(card, {"name": "Fake GPU"})
    assert planned(run, **devices) == {"GPU 0", "GPU 1", "GPU 2"}
    found = devices_of(*READ, **devices)
    assert [device["uuid"] for device in found] == [*instances, SECOND]
    for device in found[:2]:
        assert (device["name"], device["sm_count"]) == ("Fake GPU MIG 1g.10gb", 16)
        assert not device.keys() & {"memory_bus_bits", "nvlinks"}
    run("--dry-run", "--device", instances[1], code=0, **devices)
    none = run("--device", "0", **zoo({"name": "Fake GPU", "mig": True}))
    assert_usage_error(none, "has no instances", "nvidia-smi mig -cgi")


def test_links_to_the_cpu(devices_of, zoo):
    links = {"enabled": 1, "links": 10, "down": [9], "mb_per_s": 44712}
    (device,) = devices_of("--device", "0", *READ, **zoo({"name": "Fake GPU", "c2c": links}))
    assert device["c2c"] == {"count": 9, "bytes_per_s": 44.712e9}
    # This device's driver reports none.
    (device,) = devices_of("--device", "0", *READ, **zoo("rtx-pro-6000-max-q"))
    assert "c2c" not in device


@pytest.mark.parametrize(
    ("code", "word"), [(DRIVER_NOT_LOADED, "driver"), (NO_PERMISSION, "/dev/nvidia")]
)
def test_driver_that_does_not_work(run, code, word):
    for device in ("all", "0", FIRST):
        result = run("--device", device, FAKE_NVML_INIT=code)
        assert_usage_error(result, f"--device {device}", word)
    result = run("--filter", r"fma\.fp64", code=0, FAKE_NVML_INIT=code)
    assert "measuring only the host" in result.stderr.splitlines()[0]


def test_driver_that_is_too_old(run, profile):
    result = run("--device", "0", FAKE_NVML_CUDA="12020")
    assert_usage_error(result, "535.104.05", "12.2", "update the driver")
    result = run("--filter", r"fma|hbm\.", code=3, FAKE_NVML_CUDA="12020")
    for device in read(profile)["devices"]:
        assert "update the driver" in device["unusable"]
    for m in read(profile)["measurements"]:
        assert m["status"] == ("ok" if m["device"] == "host" else "error"), m
    # One line per device, not per point.
    assert result.stderr.count("update the driver") == 2


def test_what_a_driver_answers_0_for_is_not_known(devices_of, zoo):
    keys = ("max_sm_clock_mhz", "max_memory_clock_mhz", "memory_bus_bits", "memory_mib")
    keys += tuple(f"power_limit{which}_w" for which in ("", "_default", "_max"))
    pcie = dict.fromkeys(("generation", "width", "max_generation", "max_width"), 0)
    zero = {"name": "Fake GPU", **dict.fromkeys(keys, 0), "pcie": pcie}
    (device,) = devices_of("--device", "0", *READ, **zoo(zero))
    assert not device.keys() & {"memory_bytes", "memory_free_bytes", "memory_bus_bits", "pcie"}
    assert not [key for key in device if key.endswith(("_w", "_hz"))]


@pytest.mark.parametrize(
    ("devices", "variables", "why"),
    [
        ("node", {"FAKE_NVML_DEVICE1": NO_PERMISSION}, "fewer than two GPUs can be measured"),
        ("node", {}, "cuda"),
        ("0,1", {}, "expected one GPU, node or host"),
    ],
)
def test_benchmarks_of_the_node_need_two_gpus(devices, variables, why):
    words = [f"--device {devices}: {why}"]
    refused("benchmark", "--device", devices, words=words, env=environment(**variables))


@pytest.mark.parametrize("came_later", [False, True])
def test_check_leaves_a_machine_alone_that_is_in_use(profile, came_later):
    variables = {"FAKE_NVML_ALONE": "1"} if came_later else {}  # while the host was measured
    command = ("check", "--if-idle", "-o", profile)
    result = peakline(*command, env=environment(**variables), code=3)
    assert result.stdout == IN_USE
    assert came_later or "partial profile: a GPU is in use" in result.stderr
    assert bool(read(profile)["measurements"]) == came_later


def test_device_without_permission(run, profile):
    variables = {"FAKE_NVML_DEVICE1": NO_PERMISSION}
    assert_usage_error(run("--device", "1", **variables), "GPU 1", "/dev/nvidia1")
    run("--filter", r"fma\.fp64/threads|hbm\.", code=3, **variables)
    devices = read(profile)["devices"]
    assert "/dev/nvidia1" in devices[1]["unusable"]
    assert len({d["uuid"] for d in devices}) == 2


def test_a_lost_device_does_not_keep_the_others_from_being_read(devices_of):
    devices = devices_of("--filter", r"hbm\.", code=3, FAKE_NVML_DEVICE1=GPU_IS_LOST)
    assert devices[1]["unusable"] == "Fake Error"
    assert "Fake Error" not in devices[0]["unusable"]
    assert devices[0]["processes"][0]["name"] == "neighbour"


@pytest.fixture
def links_of(run, profile):
    """Runs, and returns links, findings by code, and the profile."""

    def links(**variables):
        run("--filter", "^p2p.read.ce", code=3, **variables)
        written = read(profile)
        profile.unlink()
        found = {f["code"]: f for f in written["findings"] if f.get("device")}
        return [d["nvlinks"] for d in written["devices"]], found, written

    return links


def test_links_between_devices(links_of):
    links, found, profile = links_of()
    link = {"version": 4, "count": 4, "bytes_per_s": 26562000000.0, "to_switch": True}
    assert links == [link, link]
    peer = {"index": 1, "path": "PHB", "nvlinks": 4, "atomics": True}
    assert profile["devices"][0]["peers"] == [peer]
    assert not {"nvlink_down", "nvlink_slow", "peer_access_refused"} & set(found)
    assert all(m["device"] == "node" for m in profile["measurements"])


def test_links_that_are_down_or_slow(links_of):
    links, found, _ = links_of(FAKE_NVML_DOWN="2")
    assert [of.get("down") for of in links] == [None, [2]]
    down = found["nvlink_down"]
    assert (down["device"], down["severity"]) == (SECOND, "warning")
    assert "3 of 4" in down["message"]
    links, found, _ = links_of(FAKE_NVML_SLOW="0")
    assert [of.get("slow") for of in links] == [None, [0]]
    assert "NVLink 0 is slower" in found["nvlink_slow"]["message"]


def test_peer_access_that_is_refused(links_of):
    _, found, profile = links_of(FAKE_NVML_P2P="4")
    assert "turned off in the driver" in found["peer_access_refused"]["message"]
    assert not profile["devices"][0]["peers"][0]["atomics"]


def test_device_that_cuda_does_not_find(run, profile):
    result = run("--filter", r"fma\.fp64/threads|hbm\.", code=3)
    written = read(profile)
    assert [d["uuid"] for d in written["devices"]] == [FIRST, SECOND]
    assert all(d["unusable"] for d in written["devices"])
    assert written["devices"][0]["processes"][0]["name"] == "neighbour"
    assert written["software"]["driver"] == "535.104.05"
    measured = [m["device"] for m in written["measurements"]]
    assert list(dict.fromkeys(measured)) == ["host", FIRST, SECOND]
    assert "GPU 0" in result.stderr
