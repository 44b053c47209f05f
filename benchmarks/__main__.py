"""Answer the questions of this folder: `python -m benchmarks [NAME ...]`, by default all of them.

Writes results/benchmarks.csv and .md, each row with its question. Answers to other questions that are already in the
table are kept, so one question can be asked again.
"""

import importlib
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import torch

from benchmarks.timing import Comparison, children
from pipeline.store.atomic import replacing

HERE = Path(__file__).parent
TABLE = HERE.parent / "results" / "benchmarks.csv"
QUESTIONS = sorted(file.stem for file in HERE.glob("*.py") if "\ndef answers(" in file.read_text(encoding="utf-8"))


def rows_of(question: str) -> pd.DataFrame:
    """Ask one question, and return its answers as rows of the table."""
    answers: list[Comparison] = importlib.import_module(f"benchmarks.{question}").answers()
    return pd.DataFrame(
        [
            {
                "question": question,
                "case": answer.case,
                "slow": answer.ways[0],
                "fast": answer.ways[1],
                "ratio": answer.ratio,
                "least": answer.least,
                "largest": answer.largest,
                "slow_seconds": answer.seconds[0],
                "fast_seconds": answer.seconds[1],
                "note": answer.note,
            }
            for answer in answers
        ]
    )


def spent() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    return time.process_time() + children()


def machine() -> str:
    """Describe the machine in one line."""
    cpu = next(
        (line.split(":")[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.processor()
    )
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    return f"{cpu}, {os.cpu_count()} cores, {gpu}, Python {platform.python_version()}, {packages}; one thread"


def _cpuinfo() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def write(table: pd.DataFrame) -> None:
    """Write the table as CSV, and as Markdown to read."""
    with replacing(TABLE) as temporary:
        table.to_csv(temporary, index=False, float_format="%.4g")
    lines = ["# Benchmarks", "", machine(), "", "Ratios of CPU times: how many times cheaper the second way is.", ""]
    lines += ["| question | case | ways | ratio | least to largest | note |", "|---|---|---|---|---|---|"]
    for row in table.fillna("").itertuples():
        spread = f"{row.least:.3g} to {row.largest:.3g}"
        lines.append(
            f"| {row.question} | {row.case} | {row.slow} / {row.fast} | {row.ratio:.3g} | {spread} | {row.note} |"
        )
    with replacing(TABLE.with_suffix(".md")) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(names: list[str]) -> None:
    """Ask the named questions, show the answers as they come, and write the table."""
    if unknown := [name for name in names if name not in QUESTIONS]:
        sys.exit(f"error: no benchmark {unknown[0]!r}; there are {', '.join(QUESTIONS)}")
    torch.set_num_threads(1)
    table = pd.read_csv(TABLE) if TABLE.exists() else pd.DataFrame({"question": []})
    for question in names or QUESTIONS:
        print(f"{question}: {importlib.import_module(f'benchmarks.{question}').__doc__.splitlines()[0]}", flush=True)
        begun = spent()
        rows = rows_of(question)
        print(rows[["case", "slow", "fast", "ratio", "least", "largest", "note"]].to_string(index=False), flush=True)
        print(f"{question} took {(spent() - begun) / 60:.1f} CPU minutes\n", flush=True)
        table = pd.concat([table[table["question"] != question], rows]).sort_values("question", kind="stable")
        write(table)
    print(f"{TABLE} and {TABLE.with_suffix('.md').name}: {machine()}")


if __name__ == "__main__":
    main(sys.argv[1:])
