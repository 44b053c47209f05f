"""Break one formula at a time and see whether the law tests notice: python tests/mutations.py [word in the name ...].

Each mutation is made in a copy of the package. The tests that guard the formula run on the copy and must fail.
"""

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTATIONS: dict[str, tuple[str, str, str, str]] = {}  # name: (tests that must notice, file, original text, replacement)
for _file in sorted((ROOT / "tests" / "laws" / "mutations").glob("*.py")):
    MUTATIONS |= runpy.run_path(str(_file))["MUTATIONS"]


def notices(name: str) -> bool:
    """Return whether the tests fail with the mutation `name`."""
    tests, file, old, new = MUTATIONS[name]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("pipeline", "tests", "examples", "benchmarks"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        target = copy / "pipeline" / "flow" / file
        text = target.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{name}: {file} has {text.count(old)} places with {old!r}; bring the mutation up to date")
        target.write_text(text.replace(old, new))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
        environment = os.environ | {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{name}: pytest could not run\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return run.returncode == 1


def main(words: list[str]) -> int:
    """Try the mutations whose names contain one of the words, or all; return how many went unnoticed."""
    names = [name for name in MUTATIONS if not words or any(word in name for word in words)]
    unnoticed = 0
    with ThreadPoolExecutor(2) as pool:
        for name, noticed in zip(names, pool.map(notices, names), strict=True):
            print(f"{'noticed  ' if noticed else 'UNNOTICED'}  {name}", flush=True)
            unnoticed += not noticed
    print(f"{len(names) - unnoticed} of {len(names)} broken formulas noticed")
    return unnoticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
