"""The files for Kubernetes, node-problem-detector, Slurm and systemd, and their commands."""

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from launching import MEASURE
from program import (
    PEAKLINE,
    REFERENCE,
    SOURCE,
    assert_gone,
    judged,
    slow_profile,
    started,
    starting,
)

MANIFESTS = SOURCE / "scripts/kubernetes"
# The oldest and newest that both kubernetes-validate and Kubernetes support.
KUBERNETES_VERSIONS = ("1.33", "1.37")


def manifests(file="*"):
    yaml = pytest.importorskip("yaml", reason="not installed: the Python package pyyaml")
    files = sorted(MANIFESTS.glob(f"{file}.yaml"))
    assert files
    return [each for path in files for each in yaml.safe_load_all(path.read_text())]


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
    for manifest in (*manifests("daemonset"), *manifests("job")):
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
    (manifest,) = manifests("daemonset")
    container = container_of(manifest["spec"]["template"]["spec"])
    codes = [run_container(site, container, f"exit {code}").returncode for code in (0, 2, 3)]
    assert [code == 0 for code in codes] == [True, False, True]


def test_a_cron_job_makes_way():
    priority, cron = manifests("cronjob")
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


LOG = "/dev/termination-log"
MOST_OF_MESSAGE = 4096  # bytes, of which the kubelet keeps the last
WARNING = "warning: the pod starts although its GPUs were not judged\n"


@pytest.fixture
def preflight():
    (job,) = manifests("preflight")
    return job["spec"]


@pytest.fixture
def preflight_command(site, preflight):
    """The init container's command, with its files in the site's folder."""
    text = json.dumps(container_of(preflight["template"]["spec"])["command"])
    for path in (LOG, "/tmp/verdict"):
        assert path in text
        text = text.replace(path, str(site.folder / Path(path).name))
    return json.loads(text)


def message_of(site):
    return (site.folder / Path(LOG).name).read_text()


def test_preflight_agrees_with_its_pod(preflight):
    pod = preflight["template"]["spec"]
    check, training = container_of(pod), pod["containers"][0]
    assert check["terminationMessagePath"] == LOG
    assert check["resources"] == training["resources"]
    (gpus,) = check["resources"]["limits"].values()
    assert f"peakline check --gpus {gpus} --if-idle " in check["command"][-1]
    # A policy for failed pods needs it.
    assert pod["restartPolicy"] == "Never"
    images = {container_of(each["spec"]["template"]["spec"])["image"] for each in manifests("job")}
    assert images == {check["image"]}


def test_preflight_pleases_shellcheck(preflight_command):
    if shutil.which("shellcheck") is None:
        pytest.skip("not installed: shellcheck")
    command = ["shellcheck", "--shell=sh", "-"]
    subprocess.run(command, input=preflight_command[-1], text=True, check=True)


# Which exit codes block a pod, and fail its Job at once.
@pytest.mark.parametrize(
    ("peakline", "code", "gives_up", "message"),
    [
        ("check {healthy} --gpus 1", 0, False, r"PASS  gpu0, NVIDIA H200: .*"),
        ("check {slow}", 1, False, r"FAIL  gpu0 \(H200\): .* below healthy.*"),
        ('"$@" --device none', 1, False, r"FAIL  no GPU was measured\n.* 0 of 8 GPUs .*"),
        ("check --device none", 0, False, WARNING + r"CANNOT JUDGE  no GPU was measured\n"),
        ('"$@" --gpu 8', 2, True, ""),
        ("check absent.json", 2, True, ""),
    ],
)
def test_preflight(site, preflight, preflight_command, peakline, code, gives_up, message):
    slow = slow_profile(site.folder / "slow.json")
    words = peakline.format(healthy=REFERENCE, slow=slow)
    done = site.launch(preflight_command, f"exec {PEAKLINE} {words}")
    assert done.returncode == code, done.stderr
    assert re.fullmatch(message, message_of(site), re.DOTALL), message_of(site)
    assert done.stdout == message_of(site)
    # The log takes the place of an empty message, and names the mistake.
    assert bool(message) or done.stderr.startswith("peakline: ")
    rule = preflight["podFailurePolicy"]["rules"][-1]
    assert (rule["action"], rule["onExitCodes"]["operator"]) == ("FailJob", "In")
    assert (code in rule["onExitCodes"]["values"]) == gives_up


@pytest.mark.parametrize(
    ("program", "code"), [("exec no-such-program", 127), ("exec /", 126), ("kill -9 $$", 137)]
)
def test_preflight_without_a_check_blocks(site, preflight_command, program, code):
    assert site.launch(preflight_command, program).returncode == code
    assert message_of(site) == ""


@pytest.mark.parametrize("code", [1, 3])
def test_preflight_keeps_the_first_lines(site, preflight_command, code):
    long = f"echo VERDICT; yes detail | head -n 5000; exit {code}"
    done = site.launch(preflight_command, long)
    assert len(message_of(site).encode()) == MOST_OF_MESSAGE
    assert message_of(site).removeprefix(WARNING).startswith("VERDICT\ndetail\n")
    assert len(done.stdout) > 5 * MOST_OF_MESSAGE


def test_preflight_ends_when_asked_to(site, preflight_command):
    site.script("peakline", f"echo $$ >{site.folder}/started; exec sleep 60")
    environment = os.environ | {"PATH": f"{site.folder}/bin:{os.environ['PATH']}"}
    with subprocess.Popen(preflight_command, env=environment) as process:
        begun = site.folder / "started"
        while not (begun.exists() and begun.read_text()):
            time.sleep(0.01)
        process.terminate()
        assert process.wait(5) == 128 + signal.SIGTERM
    assert_gone([int(begun.read_text())])


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


SLURM = SOURCE / "scripts/slurm/peakline-slurm"
IN_JOB = ("prolog_slurmd", "epilog_slurmd")
HEALTH_CHECK_S = 60  # slurmd kills a HealthCheckProgram after this time


def slurm_limits():
    """The script's time limits, of a health check and in a job."""
    in_job, health = map(int, re.findall(r"time_limit=(\d+)", SLURM.read_text()))
    return health, in_job


def longest(limit):
    """Seconds that the script may take: everything answers as it is killed."""
    text = SLURM.read_text()
    kill, patience = map(int, re.search(r"timeout --kill-after=(\d) (\d) ", text).groups())
    ends, more = map(int, re.search(r"=(\d) \$\(\(time_limit \+ (\d)\)\)", text).groups())
    return (patience + kill) * len(re.findall(r"\bask s", text)) + limit + more + ends


def test_slurm_waits_for_no_longer():
    health, in_job = slurm_limits()
    assert longest(health) < HEALTH_CHECK_S
    (start_timeout,) = re.findall(r"BatchStartTimeout=(\d+)", SLURM.read_text())
    assert longest(in_job) < int(start_timeout)


@pytest.fixture
def slurm(site):
    """Runs the script beside a fake controller; returns the result and what was recorded."""
    answers = {"sinfo": "echo idle", "squeue": "echo 7", "hostname": "echo node1"}
    records = dict.fromkeys(("scontrol", "logger"), f'echo "$0 $*" >>{site.folder}/record')
    site.script("recipe", re.sub(r"time_limit=\d+", "time_limit=1", SLURM.read_text()))

    def run(peakline, context="", **commands):
        for name, text in (answers | records | commands).items():
            site.script(name, text)
        (site.folder / "record").write_text("")
        result = site.launch(
            [site.folder / "bin/recipe"], peakline, SLURM_JOB_ID="7", SLURM_SCRIPT_CONTEXT=context
        )
        return result, (site.folder / "record").read_text().replace(f"{site.folder}/bin/", "")

    return run


def eight_gpus(site, slow=None):
    """A node of eight H200s without links, of which one may be slow in BF16."""
    parts = [json.loads(judged()), json.loads(slow_profile(site.folder / "slow.json").read_text())]
    node, uuid = parts[0], parts[0]["devices"][0]["uuid"]
    host = [row for row in node["measurements"] if row["device"] != uuid]
    whole = node | {"devices": [], "ceilings": [], "measurements": host}
    whole |= {"findings": [], "headlines": []}
    for index in range(8):
        part, name = parts[index == slow], f"GPU-{index:08x}"
        whole["devices"].append(part["devices"][0] | {"uuid": name, "index": index})
        for key in ("ceilings", "measurements"):
            rows = [row for row in part[key] if row["device"] == uuid]
            whole[key] += [row | {"device": name} for row in rows]
    file = site.folder / "eight.json"
    file.write_text(json.dumps(whole))
    return file


# Only FAIL drains; a prolog then fails too, so that its job goes elsewhere.
@pytest.mark.parametrize("context", ["", *IN_JOB])
@pytest.mark.parametrize(
    ("slow", "peakline", "reason", "logged"),
    [
        (
            5,
            "check {file} --exit-codes npd",
            r"peakline: gpu5 \(H200\): BF16 .* below healthy.*",
            "FAIL  gpu5 ",
        ),
        (None, "check {file} --exit-codes npd", None, "CANNOT JUDGE  "),
        (None, '"$@" --device none', None, "CANNOT JUDGE  "),
        (None, "check absent.json --exit-codes npd", None, "peakline check ended with exit code 2"),
    ],
)
def test_slurm_drains_one_of_eight(site, slurm, context, slow, peakline, reason, logged):
    peakline = peakline.format(file=eight_gpus(site, slow))
    result, record = slurm(f"exec {PEAKLINE} {peakline}", context)
    log, *drained = record.splitlines()
    assert log.startswith(f"logger -t peakline -- node1: {logged}")
    assert bool(drained) == bool(reason)
    assert result.returncode == bool(drained and context == "prolog_slurmd")
    for line in drained:
        drain = r"scontrol update NodeName=node1 State=DRAIN Reason="
        assert re.fullmatch(drain + reason, line), line


@pytest.mark.parametrize(
    ("commands", "checks"),
    [
        ({}, True),
        ({"sinfo": "echo drained"}, False),
        ({"squeue": "echo 8"}, False),
        ({"sinfo": "sleep 60"}, False),
        ({"squeue": "sleep 60"}, False),
    ],
)
def test_slurm_ends_in_time(slurm, commands, checks):
    start = time.monotonic()
    result, record = slurm("trap '' TERM; sleep 60 & wait; sleep 60", **commands)
    assert time.monotonic() - start < longest(1)
    assert result.returncode == 0
    assert ("ended with exit code 137" in record) == checks


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
