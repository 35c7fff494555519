"""Slurm and Open MPI profile a fleet, for real, on this host.

Each node writes its own profile into a shared folder, and `peakline fleet` reads them.
"""

import getpass
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from launching import NODES, PATIENCE_S
from program import PEAKLINE, REFERENCE, SOURCE, slow_profile

# Unpacked by scripts/test --launchers; otherwise the machine's packages are used.
UNPACKED = SOURCE / ".deps" / "launchers"
LIBRARIES = next(UNPACKED.glob("usr/lib/*-linux-gnu"), None)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="slurmd runs jobs as root only")

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
# The default that gives a task least: one of its job's cores.
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


@pytest.fixture(scope="module", autouse=True)
def unpacked():
    """The packages expect to be in / and /usr: tell them where they are."""
    if LIBRARIES is None:
        return
    libraries = [LIBRARIES, LIBRARIES / "slurm-wlm", UNPACKED / "lib" / LIBRARIES.name]
    libraries += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
    os.environ["LD_LIBRARY_PATH"] = ":".join(map(str, libraries))
    os.environ["PATH"] = f"{UNPACKED}/usr/bin:{UNPACKED}/usr/sbin:{os.environ['PATH']}"
    os.environ["OPAL_PREFIX"] = f"{UNPACKED}/usr"
    os.environ["PMIX_LIBDIR"] = str(LIBRARIES / "pmix2/lib")


def free_ports(count):
    """Free ports, bound at the same time so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def line_of_readme(launcher):
    lines = (SOURCE / "scripts/README.md").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{launcher} "))
    return line.partition("#")[0]


def need(*commands):
    missing = [command for command in commands if shutil.which(command) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (scripts/test --launchers)")


def hosts(site, command, **environment):
    """The number of usable CPUs and the finding about them, per node."""
    hosts = []
    for profile in site.written(site.launch(["bash", "-c", command], **environment)):
        (finding,) = [
            each["message"] for each in profile["findings"] if each["code"] == "cpu_binding"
        ] or [None]
        hosts.append((profile["host"]["usable_threads"], finding))
    return hosts


def assert_all_cpus(site, command, **environment):
    usable = unlaunched(site)["usable_threads"]
    assert hosts(site, command, **environment) == [(usable, None)] * NODES


def assert_bound(site, command, **environment):
    host = unlaunched(site)
    if min(host["cores"], host["usable_threads"]) == 1:
        pytest.skip("the machine has one core")
    for usable, finding in hosts(site, command, **environment):
        assert usable < host["usable_threads"]
        assert f"bound to {usable} of " in finding


def unlaunched(site):
    launched = site.launch(["peakline", "run", "--quick", "-o", "profiles/"])
    (profile,) = site.written(launched, count=1)
    return profile["host"]


def start(site, *command, **environment):
    with (site.folder / f"{Path(command[0]).name}.out").open("ab") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | environment
        )
    site.cleanup.callback(process.wait)
    site.cleanup.callback(process.terminate)


def start_slurm(site, settings=""):
    munge = site.folder / "munge"
    munge.mkdir(mode=0o755)
    key = munge / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    start(
        site,
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
        f"NodeName=node{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={os.cpu_count()}"
        for i, port in enumerate(daemons, start=1)
    )
    conf = site.folder / "slurm.conf"
    conf.write_text(
        SLURM_CONF.format(
            host=host, port=controller, user=getpass.getuser(), folder=site.folder, nodes=nodes
        )
        + (f"PluginDir={LIBRARIES}/slurm-wlm\n" if LIBRARIES else "")
        + settings
    )
    # Only this cgroup plugin starts in containers without cgroups.
    (site.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    (site.folder / "state").mkdir()
    start(site, "slurmctld", "-D", SLURM_CONF=str(conf))
    for i in range(1, NODES + 1):
        step = shutil.which("slurmstepd")
        start(site, "slurmd", "-D", "-N", f"node{i}", "-d", step, SLURM_CONF=str(conf))
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
    logs = [file.read_text(errors="replace")[-2000:] for file in site.folder.glob("*.log")]
    raise AssertionError("Slurm did not start: " + "\n".join(logs))


@as_root
def test_slurm(site):
    need("munged", "slurmctld", "slurmd", "slurmstepd", "salloc", "srun", "sinfo")
    environment = start_slurm(site)
    line = line_of_readme("salloc")
    assert f"-N {NODES} " in line
    assert_all_cpus(site, line, **environment)
    unbound = "--cpu-bind=none "
    assert unbound in line
    assert_bound(site, line.replace(unbound, ""), **environment)
    # A step with its own CPUs gets no more, bound or not.
    assert_bound(site, line.replace(unbound, f"{unbound} --exclusive "), **environment)


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found


@as_root
def test_slurm_drains_what_fails(site):
    need("munged", "slurmctld", "slurmd", "slurmstepd", "srun", "sbatch", "sinfo")
    recipe = (SOURCE / "scripts/slurm/peakline-slurm").read_text()
    site.script("recipe", re.sub(r"time_limit=\d+", "time_limit=2", recipe))
    slow = slow_profile(site.folder / "slow.json")
    site.script(
        "peakline",
        f"""
        echo "$*" >>{site.folder}/calls
        case $(cat {site.folder}/mode) in
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
    logged = site.folder / "logged"
    site.script("logger", f'shift 3; echo "$*" >>{logged}')
    conf = site.folder / "slurm.conf"
    # slurmd passes no environment on.
    paths = {"PATH": f"{site.folder}/bin:{os.environ['PATH']}", "SLURM_CONF": str(conf)}
    paths["LD_LIBRARY_PATH"] = os.environ.get("LD_LIBRARY_PATH", "")
    exports = "\n".join(f"export {name}='{value}'" for name, value in paths.items())
    settings = ""
    for name in ("HealthCheckProgram", "Prolog", "Epilog"):
        when = f'[ "$(cat {site.folder}/when)" = {name}-$SLURMD_NODENAME ] || exit 0'
        program = site.script(name, f"{exports}\n{when}\nexec {site.folder}/bin/recipe")
        settings += f"{name}={program}\n"
    # At shorter intervals slurmctld never pings a resumed node.
    settings += "HealthCheckInterval=3\nHealthCheckNodeState=IDLE\nBatchStartTimeout=90\n"
    (site.folder / "when").write_text("never")
    environment = os.environ | start_slurm(site, settings) | paths

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
        (site.folder / "calls").unlink(missing_ok=True)
        (site.folder / "mode").write_text(mode)
        (site.folder / "when").write_text(f"{when}-node1")

    def drained():
        return state() in ("drain", "drng")

    def resume():
        (site.folder / "when").write_text("never")
        slurm("scontrol", "update", "NodeName=node1", "State=RESUME")
        wait_until(lambda: state() == "idle")

    verdict = slurm(PEAKLINE, "check", slow, "--exit-codes", "npd").stdout.strip()
    why = verdict.replace("FAIL  ", "peakline: ")
    # A check without FAIL is logged, and leaves the node alone.
    for mode, words in (
        ("good", "node1: PASS  gpu0, NVIDIA H200: "),
        ("host", "node1: CANNOT JUDGE  "),
        ("hanging", "node1: peakline check ended with exit code 1"),
    ):
        put(mode, "HealthCheckProgram")
        wait_until(lambda words=words: words in log())
        assert state() == "idle"
    put("slow-beside-a-job", "HealthCheckProgram")
    wait_until(lambda: "not drained: a job came meanwhile" in log())
    wait_until(lambda: state() == "idle")

    put("slow", "HealthCheckProgram")
    wait_until(drained)
    assert reason() == why
    time.sleep(5)  # for checks that have begun
    calls = (site.folder / "calls").read_text()
    assert set(calls.splitlines()) == {"check --if-idle --time-limit 2 --exit-codes npd"}
    slurm("scontrol", "update", "NodeName=node1", "State=DRAIN", "Reason=mine")
    time.sleep(4)
    assert reason() == "mine"
    assert (site.folder / "calls").read_text() == calls
    resume()

    job = subprocess.Popen(["srun", "-w", "node1", "sleep", "4"], env=environment)
    site.cleanup.callback(job.wait)
    wait_until(lambda: state() in ("mix", "alloc"))
    put("slow", "Epilog")
    beside = subprocess.run(
        [site.folder / "bin/recipe"], env=environment | {"SLURMD_NODENAME": "node1"}
    )
    assert beside.returncode == 0
    assert not (site.folder / "calls").exists()
    assert job.poll() is None
    wait_until(drained)
    assert reason() == why
    assert job.wait() == 0
    resume()

    # A failing prolog returns the job to the queue.
    put("slow", "Prolog")
    ran = site.folder / "ran"
    job = slurm("sbatch", "-w", "node1", "-o", "/dev/null", "--wrap", f"touch {ran}").stdout
    wait_until(drained)
    assert reason() == why
    pending = ["squeue", "-h", "-t", "PD", "-o", "%A", "-j", job.split()[-1]]
    wait_until(lambda: slurm(*pending).stdout)
    assert not ran.exists()


def test_open_mpi(site):
    need("mpirun")
    # Both nodes are this host: a fake ssh runs the given command. Each has its own TMPDIR, since a
    # shared one sometimes collides.
    there = f'mkdir -p {site.folder}/$1; export TMPDIR={site.folder}/$1; shift; exec sh -c "$*"'
    (site.folder / "hosts").write_text("".join(f"node{i}\n" for i in range(NODES)))
    environment = {
        "OMPI_MCA_orte_default_hostfile": str(site.folder / "hosts"),
        "OMPI_MCA_plm_rsh_agent": str(site.script("there", there)),
        # Disables the topology in shared memory: Open MPI 4.1 looks for a hole in its address
        # space, takes one in its own stack in one run of twenty, and crashes.
        "OMPI_MCA_rtc_hwloc_vmhole": "none",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    line = line_of_readme("mpirun")
    assert_all_cpus(site, line, **environment)
    unbound = "--bind-to none "
    assert unbound in line
    assert_bound(site, line.replace(unbound, ""), **environment)
