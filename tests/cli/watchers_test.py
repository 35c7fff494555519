"""The files for Kubernetes, node-problem-detector and systemd, and their commands."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from launching import MEASURE
from program import PEAKLINE, REFERENCE, SOURCE, slow_profile, started, starting

MANIFESTS = SOURCE / "scripts/kubernetes"
# The oldest and newest that both kubernetes-validate and Kubernetes support.
KUBERNETES_VERSIONS = ("1.33", "1.37")


def manifests(*kinds):
    yaml = pytest.importorskip("yaml", reason="not installed: the Python package pyyaml")
    files = sorted(MANIFESTS.glob("*.yaml"))
    found = [each for file in files for each in yaml.safe_load_all(file.read_text())]
    chosen = [each for each in found if not kinds or each["kind"] in kinds]
    assert len(chosen) == len(kinds) or not kinds
    return chosen


def container_of(pod):
    """A pod's container that measures."""
    containers = [*pod.get("initContainers", ()), *pod["containers"]]
    return next(each for each in containers if each["name"] == "peakline")


def run_container(site, container, peakline=MEASURE):
    """Runs a container's command here, with a script as `peakline`."""
    (mount,) = container["volumeMounts"]
    command = container["command"]
    where = [word.replace(mount["mountPath"], str(site.profiles)) for word in command]
    assert where != command
    return site.launch(where, peakline)


def limit_of(words):
    return float(words[words.index("--time-limit") + 1])


def test_kubernetes(site):
    printed = ""
    for manifest in manifests("DaemonSet", "Job"):
        pod = manifest["spec"]["template"]["spec"]
        container = container_of(pod)
        (mount,) = container["volumeMounts"]
        assert mount["name"] in [volume["name"] for volume in pod["volumes"]]
        launched = run_container(site, container)
        assert launched.returncode == 0, launched.stderr
        printed += launched.stdout
    launched.stdout = printed
    site.written(launched)


def test_a_daemon_set_tries_again_what_wrote_no_profile(site):
    (manifest,) = manifests("DaemonSet")
    container = container_of(manifest["spec"]["template"]["spec"])
    codes = [run_container(site, container, f"exit {code}").returncode for code in (0, 2, 3)]
    assert [code == 0 for code in codes] == [True, False, True]


def test_a_cron_job_makes_way():
    priority, cron = manifests("PriorityClass", "CronJob")
    job = cron["spec"]["jobTemplate"]["spec"]
    pod = job["template"]["spec"]
    assert pod["priorityClassName"] == priority["metadata"]["name"]
    assert priority["preemptionPolicy"] == "Never"
    assert priority["value"] < 0
    program, *arguments = container_of(pod)["command"]
    assert program == "peakline"
    assert limit_of(arguments) < job["activeDeadlineSeconds"]
    with starting(*arguments, "--device", "none") as process:
        assert started(process)
        process.terminate()
        stdout, _ = process.communicate(timeout=pod["terminationGracePeriodSeconds"])
    assert (process.returncode, stdout) == (3, "CANNOT JUDGE  stopped by a signal\n")


def test_kubernetes_knows_every_field():
    why = "not installed: kubernetes-validate (scripts/test --tools)"
    validator = pytest.importorskip("kubernetes_validate", reason=why)
    for manifest in manifests():
        for version in KUBERNETES_VERSIONS:
            validator.validate(manifest, version, strict=True)


def seconds(duration):
    units = {"s": 1, "m": 60, "h": 3600}
    assert re.fullmatch(r"([0-9]+[smh])+", duration)
    return sum(int(n) * units[unit] for n, unit in re.findall(r"([0-9]+)([smh])", duration))


# Fields of a custom plugin (docs/custom_plugin_monitor.md of node-problem-detector).
PLUGIN_KEYS = {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
SETTINGS_KEYS = {
    "invoke_interval",
    "timeout",
    "max_output_length",
    "concurrency",
    "enable_message_change_based_condition_update",
    "skip_initial_status",
}
RULE_KEYS = {"type", "condition", "reason", "path", "args", "timeout"}


def test_plugin_of_node_problem_detector(site):
    plugin = json.loads((MANIFESTS / "node-problem-detector.json").read_text())
    assert set(plugin) == PLUGIN_KEYS
    assert plugin["plugin"] == "custom"
    settings = plugin["pluginConfig"]
    assert set(settings) == SETTINGS_KEYS
    (condition,), (rule,) = plugin["conditions"], plugin["rules"]
    assert set(condition) == {"type", "reason", "message"}
    assert set(rule) == RULE_KEYS
    assert (rule["type"], rule["condition"]) == ("permanent", condition["type"])
    # The detector refuses a rule whose timeout exceeds its own, and kills at the timeout.
    assert limit_of(rule["args"]) < seconds(rule["timeout"]) <= seconds(settings["timeout"])
    assert seconds(settings["timeout"]) < seconds(settings["invoke_interval"])

    slow = slow_profile(site.folder / "slow.json")
    program = Path(rule["path"]).name
    for peakline, code, verdict in (
        (f"exec {PEAKLINE} check {REFERENCE} --exit-codes npd", 0, "PASS"),
        (f"exec {PEAKLINE} check {slow} --exit-codes npd", 1, "FAIL"),
        (f'exec {PEAKLINE} "$@" --device none', 2, "CANNOT JUDGE"),
    ):
        result = site.launch([program, *rule["args"]], peakline)
        assert result.returncode == code, result.stderr
        assert re.fullmatch(rf"{verdict}  [^\n]{{10,78}}\n", result.stdout)
        assert len(result.stdout.strip()) <= 80
        assert len(result.stdout.encode()) <= settings["max_output_length"]


UNITS = sorted((SOURCE / "scripts/systemd").iterdir())


@pytest.fixture
def units():
    found = {}
    for file in UNITS:
        # Case matters, and a repeated key is an error.
        found[file.suffix] = configparser.ConfigParser(interpolation=None)
        found[file.suffix].optionxform = str
        found[file.suffix].read_string(file.read_text())
    return found


def test_units_of_systemd(site, units):
    service, timer = units[".service"]["Service"], units[".timer"]["Timer"]
    assert service["Type"] == "oneshot"
    assert "OnCalendar" in timer
    assert limit_of(shlex.split(service["ExecStart"])) < float(service["TimeoutStartSec"])
    if shutil.which("systemd-analyze") is None:
        pytest.skip("not installed: systemd-analyze")
    # systemd-analyze checks that the program exists.
    copies = [site.folder / file.name for file in UNITS]
    for file, copy in zip(UNITS, copies, strict=True):
        copy.write_text(file.read_text().replace("/usr/local/bin/peakline", PEAKLINE))
    verified = site.launch(["systemd-analyze", "verify", "--man=no", *copies])
    assert (verified.returncode, verified.stderr) == (0, "")


def test_service_of_systemd(site, units):
    service = units[".service"]["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    metrics = site.folder / "peakline.prom"
    assert arguments[-2] == "--prometheus"
    arguments[-1] = metrics
    slow = slow_profile(site.folder / "slow.json")
    for peakline, code in (
        (f'exec {PEAKLINE} "$@" --device none', int(service["SuccessExitStatus"])),
        (f"exec {PEAKLINE} check {slow} --prometheus {metrics}", 1),
    ):
        metrics.unlink(missing_ok=True)
        result = site.launch([Path(program).name, *arguments], peakline)
        assert result.returncode == code, result.stderr
        assert "# TYPE peakline_check_rules gauge" in metrics.read_text()
    assert 'outcome="fail"} 2' in metrics.read_text()
    if shutil.which("promtool") is None:
        pytest.skip("not installed: promtool")
    with metrics.open() as text:
        command = ["promtool", "check", "metrics"]
        checked = subprocess.run(command, stdin=text, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
