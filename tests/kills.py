"""Kill a run of the workflow at random moments, again and again, and compare what it makes with that of a calm run.

    python tests/kills.py /tmp/calm /tmp/disturbed --scale demo --kills 20 --seed 0

Both folders are copies of the project, made if they are not there; a calm run that is finished is used as it is. Each
kill is a SIGKILL, at a moment and of a victim that follow from the seed: a process of a job, Snakemake itself, or all
of them at once, as when the power fails. What stops is started again, as a user would. It ends with status 0 if all
artefacts are the same to the last byte.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARTS = ("Snakefile", "workflow", "profiles", "pipeline", "config", "envs")
VICTIMS = ("job", "snakemake", "everything")
UNLIKE = ("logs", "benchmarks", "checkpoints", "tensorboard", "journals", "report")  # they say when, or how often
FRUITLESS = 5  # runs in a row that may end with an error, without a kill, before this gives up


def main(arguments: Sequence[str] | None = None) -> int:
    """Make both runs and compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calm", type=Path, help="folder of the calm run")
    parser.add_argument("disturbed", type=Path, help="folder of the run that is killed; must not exist")
    parser.add_argument("--scale", default="demo", help="scale of both (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=20, help="how many (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=90, help="mean time between kills (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of moments and victims (default: %(default)s)")
    parser.add_argument("--targets", nargs="*", default=[], help="files to make (default: all)")
    given = parser.parse_args(arguments)
    copy_project(ROOT, given.calm)
    if run_calmly(given.calm, given.scale, given.targets) != 0:
        print(f"{given.calm}: the calm run failed", file=sys.stderr)
        return 2
    if given.disturbed.exists():
        print(f"{given.disturbed}: exists already; name another folder", file=sys.stderr)
        return 2
    copy_project(given.calm, given.disturbed)
    if (cache := given.calm / "data").is_dir():
        shutil.copytree(cache, given.disturbed / "data")  # a download is not what is tested here
    killed = disturb(given.disturbed, given.scale, given.targets, given.kills, given.seconds, random.Random(given.seed))
    if killed < given.kills:
        print(f"finished after {killed} of {given.kills} kills; lower --seconds", file=sys.stderr)
        return 2
    results = Path("results") / given.scale
    return compare(given.calm / results, given.disturbed / results, [Path(name) for name in given.targets])


def copy_project(origin: Path, folder: Path) -> None:
    """Copy the project from another folder, unless it is there."""
    for part in PARTS:
        source, target = origin / part, folder / part
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, target)


def command(scale: str, targets: Sequence[str]) -> list[str]:
    """Return what starts, or goes on with, a run."""
    snakemake = [sys.executable, "-m", "snakemake", *targets, "--cores", "all", "--rerun-incomplete", "--keep-going"]
    return [*snakemake, "--config", f"scale={scale}"]


def start(folder: Path, scale: str, targets: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a run in a process group of its own; its output goes to a file."""
    environment = os.environ | {"PYTHONPATH": str(folder.absolute()), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    with (folder / "snakemake.log").open("ab") as log:
        return subprocess.Popen(
            command(scale, targets), cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def run_calmly(folder: Path, scale: str, targets: Sequence[str]) -> int:
    """Run the workflow to its end, and return its exit status."""
    return start(folder, scale, targets).wait()


def disturb(folder: Path, scale: str, targets: Sequence[str], kills: int, seconds: float, chance: random.Random) -> int:
    """Run the workflow to its end, kill it or a part of it on the way, and return how often."""
    killed, fruitless = 0, 0
    while True:
        run = start(folder, scale, targets)
        while killed < kills:
            try:
                status = run.wait(timeout=seconds * chance.uniform(0.2, 1.8))
                break
            except subprocess.TimeoutExpired:
                victim = chance.choice(VICTIMS)
                if kill(run.pid, victim, chance):
                    killed, fruitless = killed + 1, 0
                    print(f"kill {killed} of {kills}: {victim}", flush=True)
                    time.sleep(1)
        status = run.wait()
        if status == 0:
            break
        fruitless += 1
        if fruitless > FRUITLESS:
            raise SystemExit(f"{folder}: ends with an error each time; see {folder / 'snakemake.log'}")
        end_orphans(run.pid)
        unlock = [*command(scale, []), "--unlock"]
        subprocess.run(unlock, cwd=folder, check=True, capture_output=True)
    print(f"finished after {killed} kills")
    return killed


def kill(leader: int, victim: str, chance: random.Random) -> bool:
    """Kill the victim among the processes of a run, if a job is at work; return whether one was."""
    jobs = [process for process in group_of(leader) if is_job(process)]
    if jobs and victim == "everything":
        os.killpg(leader, signal.SIGKILL)
    elif jobs:
        try:
            os.kill(leader if victim == "snakemake" else chance.choice(jobs), signal.SIGKILL)
        except ProcessLookupError:  # it has ended meanwhile
            return False
    return bool(jobs)


def group_of(leader: int) -> list[int]:
    """Return the processes of a group, sorted."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if os.getpgid(int(folder.name)) == leader:
                    found.append(int(folder.name))
            except ProcessLookupError:  # it has ended meanwhile
                continue
    return sorted(found)


def is_job(process: int) -> bool:
    """Return whether a process is a stage of the package, or a worker of one."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return False
    return b"pipeline" in command.split(b"\0") or b"multiprocessing.spawn" in command


def end_orphans(leader: int) -> None:
    """End what is left of a run whose Snakemake was killed: two runs must not write the same files."""
    for process in group_of(leader):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    while group_of(leader):
        time.sleep(0.1)


def compare(calm: Path, disturbed: Path, targets: Sequence[Path]) -> int:
    """Print which artefacts (or targets) are the same to the last byte; return 0 if all are."""
    names = [target.relative_to(Path(*calm.parts[-2:])) for target in targets] or sorted(
        file.relative_to(calm)
        for folder in calm.iterdir()
        if folder.name not in UNLIKE
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith(".provenance.json")
    )
    different = [
        name
        for name in names
        if not (disturbed / name).is_file() or (calm / name).read_bytes() != (disturbed / name).read_bytes()
    ]
    print(f"{len(names) - len(different)} of {len(names)} files are the same to the last byte")
    for name in different:
        print(f"different: {name}")
    return 1 if different or not names else 0


if __name__ == "__main__":
    sys.exit(main())
