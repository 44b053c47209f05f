"""The cluster of the tests leaves nothing behind, and takes nothing over."""

import signal
import subprocess
import sys
from pathlib import Path

import one_node_slurm
import pytest
from one_node_slurm import ClusterError


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_daemons_and_removes_the_link(number: signal.Signals, tmp_path: Path) -> None:
    told = tmp_path / "daemons"
    inside = f"(pgrep -f ^slurm[cd]; readlink -e /etc/slurm/slurm.conf) > {told}; echo ready; exec sleep 600"
    command = [sys.executable, one_node_slurm.__file__, "bash", "-c", inside]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        *pids, configuration = told.read_text().split()
        process.send_signal(number)
    assert len(pids) >= 2
    assert not [pid for pid in pids if Path("/proc", pid).exists()]
    assert not Path(configuration).exists()
    assert not Path("/etc/slurm/slurm.conf").is_symlink()


def test_the_configuration_of_a_real_cluster_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=real\n")
    monkeypatch.setattr(one_node_slurm, "SYSTEM_FOLDER", tmp_path)
    with pytest.raises(ClusterError, match="belongs to a cluster"), one_node_slurm.one_node_slurm():
        pass
    assert (tmp_path / "slurm.conf").read_text() == "ClusterName=real\n"


def test_links_of_a_killed_test_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system, dead = tmp_path / "etc", tmp_path / "dead"
    system.mkdir()
    dead.mkdir()
    (dead / one_node_slurm.OWNER).write_text("4194305")  # above the largest number of a process
    (system / "slurm.conf").symlink_to(dead / "slurm.conf")
    monkeypatch.setattr(one_node_slurm, "SYSTEM_FOLDER", system)
    with one_node_slurm._linked(tmp_path):
        assert (system / "slurm.conf").readlink() == tmp_path / "slurm.conf"
    assert not list(system.iterdir())


def test_the_machine_is_refused_without_root_and_without_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_node_slurm.shutil, "which", lambda name: None)
    with pytest.raises(ClusterError, match="needs Debian"):
        one_node_slurm.install()
    monkeypatch.setattr(one_node_slurm.shutil, "which", lambda name: "/x" if name == "apt-get" else None)
    monkeypatch.setattr(one_node_slurm.os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match="only root"):
        one_node_slurm.install()


def test_two_nodes_of_one_machine_run_one_job() -> None:
    with one_node_slurm.one_node_slurm(nodes=2):
        command = ["srun", "--nodes=2", "printenv", "SLURMD_NODENAME"]
        nodes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert sorted(nodes) == ["node0", "node1"]
