"""A SLURM of one machine, for tests: its daemons run in the foreground, and stop with the block that started them.

`python tests/cluster/one_node_slurm.py snakemake --profile slurm` runs one command in it; without one, a shell.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
# Job steps forget SLURM_CONF: the configuration must be where everybody looks for it.
SYSTEM_FOLDER = Path("/etc/slurm")
FILES = ("slurm.conf", "gres.conf")
OWNER = "owner.pid"
SECONDS = 30  # that a daemon has to answer

CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=300
KillWait=15
GresTypes=gpu
{nodes}
PartitionName=cpu Nodes=ALL Default=YES MaxTime=INFINITE
PartitionName=gpu Nodes=ALL MaxTime=INFINITE
"""


class ClusterError(Exception):
    """The cluster cannot be had here."""


def install() -> None:
    """Install SLURM from Debian's packages, unless it is there."""
    if all(shutil.which(name) for name in ("slurmctld", "slurmd", "sbatch", "munged")):
        return
    if not shutil.which("apt-get"):
        raise ClusterError("there is no apt-get here: the test of the cluster needs Debian, or an installed SLURM")
    if os.geteuid() != 0:
        raise ClusterError(f"only root may install {', '.join(PACKAGES)}: run as root, or install them before")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        subprocess.run(["apt-get", "-q", *command], env=environment, check=True)


@contextmanager
def one_node_slurm(cpus: int = 2, nodes: int = 1) -> Iterator[Path]:
    """Run the daemons with `nodes` nodes on this machine, the first with a GPU that is none; give their folder."""
    install()
    if os.geteuid() != 0:
        raise ClusterError("the daemons of SLURM run jobs as other users: run as root")
    with _leave_on_sigterm(), ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        (folder / OWNER).write_text(str(os.getpid()))
        stack.enter_context(_linked(folder))
        for attempt in (1, 2):  # the ports may have been taken between their choice and their use
            try:
                running = stack.enter_context(_daemons(folder, cpus, nodes))
                break
            except ClusterError:
                if attempt == 2:
                    raise
        stack.callback(_cancel_all, running)
        yield folder


@contextmanager
def _leave_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that the daemons are stopped."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def _linked(folder: Path) -> Iterator[None]:
    """Link the configuration from the system's folder; a real configuration is left alone, with an error."""
    SYSTEM_FOLDER.mkdir(exist_ok=True)
    links = [SYSTEM_FOLDER / name for name in FILES]
    for link in links:
        if link.is_symlink() and _is_left_over(link.readlink().parent):
            link.unlink()
        if link.is_symlink() or link.exists():
            raise ClusterError(f"{link} is there: this machine belongs to a cluster, and the tests would take it over")
    try:
        for link in links:
            link.symlink_to(folder / link.name)
        yield
    finally:
        for link in links:
            if link.is_symlink() and link.readlink().parent == folder:
                link.unlink()


def _is_left_over(folder: Path) -> bool:
    """Return whether the folder is of a cluster of ours whose process was killed."""
    owner = folder / OWNER
    return not folder.exists() or (owner.exists() and not Path("/proc", owner.read_text()).exists())


@contextmanager
def _daemons(folder: Path, cpus: int, nodes: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start munged, slurmctld and a slurmd for each node, wait until they answer, and stop them in the end."""
    host = socket.gethostname().partition(".")[0]
    names = [host] if nodes == 1 else [f"node{number}" for number in range(nodes)]
    _configure(folder, host, names, cpus)
    key = folder / "munge.key"
    if not key.exists():
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
    folder.chmod(0o755)  # munge wants to be reached by everybody
    started: list[subprocess.Popen[bytes]] = []
    munged = ["munged", "-F", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
    munged += [f"--{kind}-file={folder}/munged.{kind}" for kind in ("pid", "log", "seed")]
    try:
        _start(started, folder, munged, (folder / "munge.socket").exists)
        _start(started, folder, ["slurmctld", "-D", "-i"], lambda: _succeeds("scontrol", "ping"))
        for name in names:
            _start(started, folder, ["slurmd", "-D", "-N", name], lambda name=name: _is_idle(name))
        yield started
    finally:
        for process in reversed(started):
            _stop(process)


def _configure(folder: Path, host: str, names: list[str], cpus: int) -> None:
    controller, *ports = _free_ports(1 + len(names))
    lines = [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=64000 State=UNKNOWN"
        + (" Gres=gpu:fake:1" if name == names[0] else "")
        for name, port in zip(names, ports, strict=True)
    ]
    (folder / "state").mkdir(exist_ok=True)
    text = CONFIGURATION.format(host=host, controller=controller, folder=folder, nodes="\n".join(lines))
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(f"AutoDetect=off\nNodeName={names[0]} Name=gpu Type=fake File=/dev/null\n")


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now; all are held at once, so that they differ."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for opened in sockets:
            opened.bind(("127.0.0.1", 0))
        return [opened.getsockname()[1] for opened in sockets]


def _start(
    started: list[subprocess.Popen[bytes]], folder: Path, command: list[str], is_ready: Callable[[], bool]
) -> None:
    """Start a daemon in a session of its own, out of reach of a Ctrl-C, and wait until it is ready."""
    output = folder / f"{command[0]}.out"
    with output.open("ab") as stream:
        process = subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True)
    started.append(process)
    for _ in range(SECONDS * 4):
        if process.poll() is not None:
            break
        if is_ready():
            return
        time.sleep(0.25)
    raise ClusterError(f"{' '.join(command)} does not answer; it says:\n{output.read_text()[-2000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _cancel_all(running: list[subprocess.Popen[bytes]]) -> None:
    """End the jobs that are left; the processes of a job would outlive the daemons."""
    if all(process.poll() is None for process in running):
        subprocess.run(["scancel", "--user=root"], check=False)
        subprocess.run(["scancel", "--user=root", "--signal=KILL", "--full"], check=False, stderr=subprocess.DEVNULL)
        for _ in range(SECONDS * 2):
            if not subprocess.run(["squeue", "--noheader"], capture_output=True, check=False).stdout.strip():
                return
            time.sleep(0.5)


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _is_idle(node: str) -> bool:
    command = ("sinfo", "--noheader", f"--nodes={node}", "--format=%T")
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()[:1] == ["idle"]


if __name__ == "__main__":
    try:
        with one_node_slurm(nodes=int(os.environ.get("NODES", "1"))):
            result = subprocess.run(sys.argv[1:] or [os.environ.get("SHELL", "bash")], check=False)
    except ClusterError as error:
        sys.exit(f"error: {error}")
    sys.exit(result.returncode)
