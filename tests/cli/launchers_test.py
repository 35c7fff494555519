"""A fleet is profiled by the launchers that people use, and checked by what watches over nodes:
Slurm and Open MPI, for real, on this host; of Kubernetes and systemd, what their files would run.

Run as `launchers_test.py CLASS`, with the executable in $PEAKLINE. Ends in 77, which ctest shows as
skipped, where nothing is installed. Each node writes a profile of its own into one shared folder,
and `peakline fleet` reads them.
"""

import configparser
import getpass
import importlib
import json
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from cli_test import PEAKLINE, REFERENCE, SOURCE, children_of, main, slow_profile

MANIFESTS = SOURCE / "scripts" / "kubernetes"
# scripts/test --launchers unpacks packages here; without them, those of the machine are used.
UNPACKED = SOURCE / ".deps" / "launchers"
LIBRARIES = next(UNPACKED.glob("usr/lib/*-linux-gnu"), None)
# The oldest and the newest that kubernetes-validate and the makers both care for.
KUBERNETES_VERSIONS = ("1.33", "1.37")
NODES = 2
PATIENCE_S = 120
# One point: what is tested is the launching.
MEASURE = f'exec {PEAKLINE} "$@" -q --device none --filter ^host.fma.fp64'

SLURM_CONF = """\
ClusterName=peakline
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
# The default that gives a task least: a core of those that its job has.
TaskPlugin=task/affinity
TaskPluginParam=Cores
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def find_unpacked():
    """What was unpacked was built to lie in / and /usr: says where it is instead."""
    libraries = [LIBRARIES, LIBRARIES / "slurm-wlm", UNPACKED / "lib" / LIBRARIES.name]
    libraries += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    os.environ["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
    os.environ["PATH"] = f"{UNPACKED}/usr/bin:{UNPACKED}/usr/sbin:{os.environ['PATH']}"
    os.environ["OPAL_PREFIX"] = f"{UNPACKED}/usr"
    os.environ["PMIX_LIBDIR"] = str(LIBRARIES / "pmix2/lib")


def free_ports(count):
    """Ports that nobody listens on; all bound at once, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def line_of_readme(launcher):
    """The README's command with this launcher, without its comment."""
    lines = (SOURCE / "scripts/README.md").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{launcher} "))
    return line.partition("#")[0]


class Launched(unittest.TestCase):
    def setUp(self):
        # A short path: a socket's may have 107 characters.
        folder = tempfile.TemporaryDirectory(prefix="peakline-", dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.profiles = self.folder / "profiles"

    def script(self, name, text):
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    def launch(self, command, peakline=MEASURE, **environment):
        """Runs a command, with this script for `peakline`."""
        path = f"{self.script('peakline', peakline).parent}:{os.environ['PATH']}"
        return subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=os.environ | environment | {"PATH": path},
            timeout=PATIENCE_S,
        )

    def written(self, launched, count=NODES):
        """The profiles that were written since the last call."""
        self.assertEqual(launched.returncode, 0, launched.stderr)
        files = sorted(self.profiles.glob("*.json"))
        self.assertEqual(len(files), count, [file.name for file in files])
        found = []
        for file in files:
            profile = json.loads(file.read_text())
            self.assertTrue(profile["complete"])
            self.assertIn(file.name, launched.stdout)
            found.append(profile)
        if count > 1:
            self.assert_fleet()
        shutil.rmtree(self.profiles)
        return found

    def assert_fleet(self):
        fleet = subprocess.run(
            [PEAKLINE, "fleet", self.profiles, "--json"], capture_output=True, text=True, check=True
        )
        document = json.loads(fleet.stdout)
        # One host by two names: of what was measured twice the newer run counts.
        self.assertEqual((document["profiles"], document["superseded"]), (NODES, NODES - 1))


class Launchers(Launched):
    def need(self, *commands):
        missing = [command for command in commands if shutil.which(command) is None]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)} (scripts/test --launchers)")

    def hosts(self, command, **environment):
        """What each node's profile says of its CPUs: how many are usable, and the finding."""
        hosts = []
        for profile in self.written(self.launch(["bash", "-c", command], **environment)):
            (finding,) = [
                each["message"] for each in profile["findings"] if each["code"] == "cpu_binding"
            ] or [None]
            hosts.append((profile["host"]["usable_threads"], finding))
        return hosts

    def assert_all_cpus(self, command, **environment):
        usable = self.unlaunched()["usable_threads"]
        self.assertEqual(self.hosts(command, **environment), [(usable, None)] * NODES)

    def assert_bound(self, command, **environment):
        host = self.unlaunched()
        if min(host["cores"], host["usable_threads"]) == 1:
            self.skipTest("the machine has one core")
        for usable, finding in self.hosts(command, **environment):
            self.assertLess(usable, host["usable_threads"])
            self.assertIn(f"bound to {usable} of ", finding)

    def unlaunched(self):
        launched = self.launch(["peakline", "run", "--quick", "-o", "profiles/"])
        (profile,) = self.written(launched, count=1)
        return profile["host"]

    def start(self, *command, **environment):
        log = (self.folder / f"{pathlib.Path(command[0]).name}.out").open("ab")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | environment
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def start_slurm(self, settings=""):
        munge = self.folder / "munge"
        munge.mkdir(mode=0o755)
        key = munge / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self.start(
            "munged",
            "--foreground",
            "--force",  # the folder is not root's own
            f"--key-file={key}",
            f"--socket={munge}/socket",
            f"--pid-file={munge}/pid",
            f"--log-file={munge}/log",
            f"--seed-file={munge}/seed",
        )
        controller, *daemons = free_ports(1 + NODES)
        host = socket.gethostname().partition(".")[0]
        nodes = "\n".join(
            f"NodeName=node{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
            f"CPUs={os.cpu_count()}"
            for i, port in enumerate(daemons, start=1)
        )
        conf = self.folder / "slurm.conf"
        conf.write_text(
            SLURM_CONF.format(
                host=host, port=controller, user=getpass.getuser(), folder=self.folder, nodes=nodes
            )
            + (f"PluginDir={LIBRARIES}/slurm-wlm\n" if LIBRARIES else "")
            + settings
        )
        # This is the plugin for cgroups that starts in containers without any.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (self.folder / "state").mkdir()
        self.start("slurmctld", "-D", SLURM_CONF=str(conf))
        for i in range(1, NODES + 1):
            step = shutil.which("slurmstepd")
            self.start("slurmd", "-D", "-N", f"node{i}", "-d", step, SLURM_CONF=str(conf))
        environment = {"SLURM_CONF": str(conf)}
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            states = subprocess.run(
                ["sinfo", "-N", "-h", "-o", "%t"],
                capture_output=True,
                text=True,
                env=os.environ | environment,
            )
            if states.stdout.split() == ["idle"] * NODES:
                return environment
            time.sleep(0.2)
        logs = [file.read_text(errors="replace")[-2000:] for file in self.folder.glob("*.log")]
        raise AssertionError("Slurm did not start: " + "\n".join(logs))

    def test_slurm(self):
        self.need("munged", "slurmctld", "slurmd", "slurmstepd", "salloc", "srun", "sinfo")
        if os.geteuid() != 0:
            self.skipTest("slurmd runs jobs as root only")
        environment = self.start_slurm()
        line = line_of_readme("salloc")
        self.assertIn(f"-N {NODES} ", line)
        self.assert_all_cpus(line, **environment)
        unbound = "--cpu-bind=none "
        self.assertIn(unbound, line)
        self.assert_bound(line.replace(unbound, ""), **environment)
        # A step with a count of its own gets no more, bound or not.
        self.assert_bound(line.replace(unbound, f"{unbound} --exclusive "), **environment)

    def wait_until(self, condition, *arguments):
        deadline = time.monotonic() + PATIENCE_S
        while not (found := condition(*arguments)) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertTrue(found)
        return found

    def test_slurm_drains_what_fails(self):
        self.need("munged", "slurmctld", "slurmd", "slurmstepd", "srun", "sbatch", "sinfo")
        if os.geteuid() != 0:
            self.skipTest("slurmd runs jobs as root only")
        recipe = (SOURCE / "scripts/slurm/peakline-slurm").read_text()
        self.assertIn("time_limit=35 ", recipe)
        self.script("recipe", recipe.replace("time_limit=35 ", "time_limit=2 "))
        slow = slow_profile(self.folder / "slow.json")
        # What the node's GPUs would measure is in a profile.
        self.script(
            "peakline",
            f"""
            echo "$*" >>{self.folder}/calls
            case $(cat {self.folder}/mode) in
              good) exec {PEAKLINE} check {REFERENCE} --exit-codes npd ;;
              slow) exec {PEAKLINE} check {slow} --exit-codes npd ;;
              slow-beside-a-job)
                srun -w node1 sleep 6 >/dev/null 2>&1 &
                sleep 1
                exec {PEAKLINE} check {slow} --exit-codes npd ;;
              host) exec {PEAKLINE} "$@" --device none ;;
              hanging) trap '' TERM; sleep 30 & wait; sleep 30 ;;
            esac""",
        )
        logged = self.folder / "logged"
        self.script("logger", f'shift 3; echo "$*" >>{logged}')
        conf = self.folder / "slurm.conf"
        # slurmd passes on neither a PATH nor what else is set here.
        paths = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SLURM_CONF": str(conf)}
        paths["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
        exports = "\n".join(f"export {name}='{value}'" for name, value in paths.items())
        settings = ""
        for name in ("HealthCheckProgram", "Prolog", "Epilog"):
            when = f'[ "$(cat {self.folder}/when)" = {name}-$SLURMD_NODENAME ] || exit 0'
            program = self.script(name, f"{exports}\n{when}\nexec {self.folder}/bin/recipe")
            settings += f"{name}={program}\n"
        # At shorter intervals a resumed node is never asked whether it is there.
        settings += "HealthCheckInterval=3\nHealthCheckNodeState=IDLE\nBatchStartTimeout=90\n"
        (self.folder / "when").write_text("never")
        environment = os.environ | self.start_slurm(settings) | paths

        def slurm(*command):
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
            )

        def state():
            return slurm("sinfo", "-Nhn", "node1", "-o", "%t").stdout.strip()

        def reason():
            return slurm("sinfo", "-Nhn", "node1", "-o", "%E").stdout.strip()

        def log():
            return logged.read_text() if logged.exists() else ""

        def put(mode, when):
            logged.unlink(missing_ok=True)
            (self.folder / "calls").unlink(missing_ok=True)
            (self.folder / "mode").write_text(mode)
            (self.folder / "when").write_text(f"{when}-node1")

        def drained():
            return state() in ("drain", "drng")

        def resume():
            (self.folder / "when").write_text("never")
            slurm("scontrol", "update", "NodeName=node1", "State=RESUME")
            self.wait_until(lambda: state() == "idle")

        verdict = slurm(PEAKLINE, "check", slow, "--exit-codes", "npd").stdout.strip()
        why = verdict.replace("FAIL  ", "peakline: ")
        # What does not fail leaves the node alone, and says why in the log.
        for mode, words in (
            ("good", "node1: PASS  gpu0, NVIDIA H200: "),
            ("host", "node1: CANNOT JUDGE  "),
            ("hanging", "node1: peakline check ended with exit code 1"),
        ):
            put(mode, "HealthCheckProgram")
            self.wait_until(lambda words=words: words in log())
            self.assertEqual(state(), "idle")
        put("slow-beside-a-job", "HealthCheckProgram")
        self.wait_until(lambda: "not drained: a job came meanwhile" in log())
        self.wait_until(lambda: state() == "idle")

        # Once it is drained, nothing is measured any more.
        put("slow", "HealthCheckProgram")
        self.wait_until(drained)
        self.assertEqual(reason(), why)
        time.sleep(2)  # for those that have begun
        calls = (self.folder / "calls").read_text()
        self.assertEqual(
            set(calls.splitlines()), {"check --if-idle --time-limit 2 --exit-codes npd"}
        )
        slurm("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=mine")
        time.sleep(4)
        self.assertEqual(reason(), "mine")
        self.assertEqual((self.folder / "calls").read_text(), calls)
        resume()

        # Beside a job nothing is measured, but after it.
        job = subprocess.Popen(["srun", "-w", "node1", "sleep", "4"], env=environment)
        self.addCleanup(job.wait)
        self.wait_until(lambda: state() in ("mix", "alloc"))
        put("slow", "Epilog")
        beside = subprocess.run(
            [self.folder / "bin/recipe"], env=environment | {"SLURMD_NODENAME": "node1"}
        )
        self.assertEqual(beside.returncode, 0)
        self.assertFalse((self.folder / "calls").exists())
        self.assertIsNone(job.poll())
        self.wait_until(drained)
        self.assertEqual(reason(), why)
        self.assertEqual(job.wait(), 0)
        resume()

        # A job whose node fails before it has started goes back into the queue.
        put("slow", "Prolog")
        ran = self.folder / "ran"
        job = slurm("sbatch", "-w", "node1", "-o", "/dev/null", "--wrap", f"touch {ran}").stdout
        self.wait_until(drained)
        self.assertEqual(reason(), why)
        pending = ["squeue", "-h", "-t", "PD", "-o", "%A", "-j", job.split()[-1]]
        self.wait_until(lambda: slurm(*pending).stdout)
        self.assertFalse(ran.exists())

    def test_open_mpi(self):
        self.need("mpirun")
        # Two nodes: each is this host, where what stands in for ssh runs what it is given. Each has
        # a folder for its files, as two that share one now and then get in each other's way.
        there = f'mkdir -p {self.folder}/$1; export TMPDIR={self.folder}/$1; shift; exec sh -c "$*"'
        (self.folder / "hosts").write_text("".join(f"node{i}\n" for i in range(NODES)))
        environment = {
            "OMPI_MCA_orte_default_hostfile": str(self.folder / "hosts"),
            "OMPI_MCA_plm_rsh_agent": str(self.script("there", there)),
            # No map of the machine in shared memory: Open MPI 4.1 looks for a hole in its address
            # space for one, takes it from its own stack in one run of twenty, and crashes.
            "OMPI_MCA_rtc_hwloc_vmhole": "none",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        line = line_of_readme("mpirun")
        self.assert_all_cpus(line, **environment)
        unbound = "--bind-to none "
        self.assertIn(unbound, line)
        self.assert_bound(line.replace(unbound, ""), **environment)


def manifests(*kinds):
    """The manifests of these kinds, or all."""
    try:
        yaml = importlib.import_module("yaml")
    except ImportError:
        raise unittest.SkipTest("not installed: the Python package pyyaml") from None
    files = sorted(MANIFESTS.glob("*.yaml"))
    found = [each for file in files for each in yaml.safe_load_all(file.read_text())]
    chosen = [each for each in found if not kinds or each["kind"] in kinds]
    assert len(chosen) == len(kinds) or not kinds
    return chosen


class Kubernetes(Launched):
    def container(self, manifest):
        """The pod of a manifest, and its container that measures."""
        pod = manifest["spec"]["template"]["spec"]
        containers = [*pod.get("initContainers", ()), *pod["containers"]]
        return pod, next(c for c in containers if c["name"] == "peakline")

    def run_container(self, container, peakline=MEASURE):
        """Runs a container's command here, with this script for `peakline`."""
        (mount,) = container["volumeMounts"]
        where = [
            word.replace(mount["mountPath"], str(self.profiles)) for word in container["command"]
        ]
        self.assertNotEqual(where, container["command"])
        return self.launch(where, peakline)

    def test_kubernetes(self):
        printed = ""
        for manifest in manifests("DaemonSet", "Job"):
            pod, container = self.container(manifest)
            (mount,) = container["volumeMounts"]
            self.assertIn(mount["name"], [volume["name"] for volume in pod["volumes"]])
            launched = self.run_container(container)
            self.assertEqual(launched.returncode, 0, launched.stderr)
            printed += launched.stdout
        launched.stdout = printed
        self.written(launched)

    def test_a_daemon_set_tries_again_what_wrote_no_profile(self):
        (manifest,) = manifests("DaemonSet")
        _, container = self.container(manifest)
        codes = [self.run_container(container, f"exit {code}").returncode for code in (0, 2, 3)]
        self.assertEqual([code == 0 for code in codes], [True, False, True])

    def test_a_cron_job_makes_way(self):
        priority, cron = manifests("PriorityClass", "CronJob")
        job = cron["spec"]["jobTemplate"]["spec"]
        pod, container = self.container({"spec": job})
        self.assertEqual(pod["priorityClassName"], priority["metadata"]["name"])
        self.assertEqual(priority["preemptionPolicy"], "Never")
        self.assertLess(priority["value"], 0)
        limit = container["command"].index("--time-limit") + 1
        self.assertLess(float(container["command"][limit]), job["activeDeadlineSeconds"])
        program, *arguments = container["command"]
        self.assertEqual(program, "peakline")
        process = subprocess.Popen(
            [PEAKLINE, *arguments, "--device", "none"], stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(process.kill)
        while not (workers := children_of(process.pid)) and process.poll() is None:
            time.sleep(0.01)
        self.assertTrue(workers)
        process.terminate()
        stdout, _ = process.communicate(timeout=pod["terminationGracePeriodSeconds"])
        self.assertEqual((process.returncode, stdout), (3, "CANNOT JUDGE  stopped by a signal\n"))


class NodeProblemDetector(Launched):
    def seconds(self, duration):
        units = {"s": 1, "m": 60, "h": 3600}
        self.assertRegex(duration, r"\A([0-9]+[smh])+\Z")
        return sum(int(n) * units[unit] for n, unit in re.findall(r"([0-9]+)([smh])", duration))

    def test_plugin(self):
        plugin = json.loads((MANIFESTS / "node-problem-detector.json").read_text())
        # These are what its custom plugin monitor reads (docs/custom_plugin_monitor.md there).
        keys = {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
        self.assertEqual(set(plugin), keys)
        self.assertEqual(plugin["plugin"], "custom")
        settings = plugin["pluginConfig"]
        keys = {"invoke_interval", "timeout", "max_output_length", "concurrency"}
        keys |= {"enable_message_change_based_condition_update", "skip_initial_status"}
        self.assertEqual(set(settings), keys)
        (condition,), (rule,) = plugin["conditions"], plugin["rules"]
        self.assertEqual(set(condition), {"type", "reason", "message"})
        keys = {"type", "condition", "reason", "path", "args", "timeout"}
        self.assertEqual(set(rule), keys)
        self.assertEqual((rule["type"], rule["condition"]), ("permanent", condition["type"]))
        # It refuses a rule that may take longer than the whole, and kills what takes longer.
        self.assertLessEqual(self.seconds(rule["timeout"]), self.seconds(settings["timeout"]))
        limit = float(rule["args"][rule["args"].index("--time-limit") + 1])
        self.assertLess(limit, self.seconds(rule["timeout"]))
        self.assertLess(
            self.seconds(settings["timeout"]), self.seconds(settings["invoke_interval"])
        )

        slow = slow_profile(self.folder / "slow.json")
        program = pathlib.Path(rule["path"]).name
        for peakline, code, verdict in (
            (f"exec {PEAKLINE} check {REFERENCE} --exit-codes npd", 0, "PASS"),
            (f"exec {PEAKLINE} check {slow} --exit-codes npd", 1, "FAIL"),
            (f'exec {PEAKLINE} "$@" --device none', 2, "CANNOT JUDGE"),
        ):
            result = self.launch([program, *rule["args"]], peakline)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertRegex(result.stdout, rf"\A{verdict}  [^\n]{{10,78}}\n\Z")
            self.assertLessEqual(len(result.stdout.strip()), 80)
            self.assertLessEqual(len(result.stdout.encode()), settings["max_output_length"])


class Systemd(Launched):
    def setUp(self):
        super().setUp()
        (self.folder / "units").mkdir()
        self.units = {}
        for file in (SOURCE / "scripts/systemd").iterdir():
            text = file.read_text()
            # Its keys are read as they are, and none may be there twice.
            self.units[file.suffix] = configparser.ConfigParser(interpolation=None)
            self.units[file.suffix].optionxform = str
            self.units[file.suffix].read_string(text)
            # The check of the units looks for the program.
            copy = self.folder / "units" / file.name
            copy.write_text(text.replace("/usr/local/bin/peakline", PEAKLINE))

    def test_units(self):
        service, timer = self.units[".service"]["Service"], self.units[".timer"]["Timer"]
        self.assertEqual(service["Type"], "oneshot")
        self.assertIn("OnCalendar", timer)
        words = shlex.split(service["ExecStart"])
        limit = float(words[words.index("--time-limit") + 1])
        self.assertLess(limit, float(service["TimeoutStartSec"]))
        if shutil.which("systemd-analyze") is None:
            self.skipTest("not installed: systemd-analyze")
        units = sorted((self.folder / "units").iterdir())
        verified = self.launch(["systemd-analyze", "verify", "--man=no", *units])
        self.assertEqual((verified.returncode, verified.stderr), (0, ""))

    def test_service(self):
        service = self.units[".service"]["Service"]
        program, *arguments = shlex.split(service["ExecStart"])
        metrics = self.folder / "peakline.prom"
        self.assertEqual(arguments[-2], "--prometheus")
        arguments[-1] = metrics
        slow = slow_profile(self.folder / "slow.json")
        for peakline, code in (
            (f'exec {PEAKLINE} "$@" --device none', int(service["SuccessExitStatus"])),
            (f"exec {PEAKLINE} check {slow} --prometheus {metrics}", 1),
        ):
            metrics.unlink(missing_ok=True)
            result = self.launch([pathlib.Path(program).name, *arguments], peakline)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn("# TYPE peakline_check_rules gauge", metrics.read_text())
        self.assertIn('outcome="fail"} 2', metrics.read_text())
        if shutil.which("promtool") is None:
            self.skipTest("not installed: promtool")
        with metrics.open() as text:
            checked = subprocess.run(
                ["promtool", "check", "metrics"], stdin=text, capture_output=True, text=True
            )
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))


class ManifestFields(unittest.TestCase):
    def test_kubernetes_knows_every_field(self):
        try:
            validator = importlib.import_module("kubernetes_validate")
        except ImportError:
            self.skipTest("not installed: kubernetes-validate (scripts/test --tools)")
        for manifest in manifests():
            for version in KUBERNETES_VERSIONS:
                validator.validate(manifest, version, strict=True)


if __name__ == "__main__":
    if LIBRARIES:
        find_unpacked()
    sys.exit(main())
