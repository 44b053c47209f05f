"""The job script beside VASP inputs: it runs the listed folders, as an array of SLURM or one after the other."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.store.atomic import write_text

JOB, FOLDERS = "job.sh", "folders.txt"
SCRIPT = """\
#!/bin/bash
# Runs VASP in the folders of folders.txt. It may be run again: folders with a finished vasprun.xml are skipped.
#
#   on a cluster    sbatch --array=1-$(wc -l < folders.txt)%10 job.sh     one task per folder, at most 10 at a time
#   elsewhere       bash job.sh                                           one folder after the other
#
# Submit it from this folder. If the cluster takes fewer tasks than there are folders, submit a part: --array=1-1000%10.
# Edit what follows; a line with two # is off, and one # turns it on.
#SBATCH --job-name=vasp
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=32
#SBATCH --time=24:00:00
##SBATCH --partition=NAME_OF_PARTITION
##SBATCH --account=NAME_OF_ACCOUNT

# What makes VASP available here, such as:
# module load vasp/6.4.3
VASP=${VASP:-srun vasp_std}  # elsewhere for example: mpirun -np 8 vasp_std

cd "${SLURM_SUBMIT_DIR:-$(dirname "$0")}" || exit 1

run() {
    if grep -q "</modeling>" "$1/vasprun.xml" 2> /dev/null; then
        echo "$1: finished already"
    elif [ ! -f "$1/POTCAR" ]; then
        echo "$1: no POTCAR; make it from the names in POTCAR.spec" >&2
        return 1
    else
        (cd "$1" && $VASP > vasp.out 2>&1) || { echo "$1: VASP failed; see $1/vasp.out" >&2; return 1; }
    fi
}

if [ -n "$SLURM_ARRAY_TASK_ID" ]; then
    run "$(sed -n "${SLURM_ARRAY_TASK_ID}p" folders.txt)"
else
    failed=0
    while read -r folder; do
        run "$folder" < /dev/null || failed=1
    done < folders.txt
    exit $failed
fi
"""


def write_job(folder: Path, folders: Sequence[str]) -> None:
    """Write the list of folders, and the script if there is none: the user may have edited it."""
    write_text(folder / FOLDERS, "".join(f"{name}\n" for name in folders))
    if not (folder / JOB).exists():
        write_text(folder / JOB, SCRIPT)
