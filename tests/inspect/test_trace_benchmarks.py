"""The benchmark of every rule lies where a trace looks for it."""

import re
from pathlib import Path

from pipeline.inspect.benchmarks import benchmark_of
from pipeline.store.places import Place

ROOT = Path(__file__).parents[2]
RULE = re.compile(r"^(?:rule|use rule (\w+) as) (\w+)(?: with)?:\n(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)


def test_every_submitted_rule_has_a_benchmark_that_is_found_from_its_first_output_and_its_command(
    tmp_path: Path,
) -> None:
    looked_at, commands = set(), {}
    for file in sorted((ROOT / "workflow/rules").glob("*.smk")):
        for used, name, body in RULE.findall(file.read_text()):
            benchmark = re.search(r'benchmark:\n\s+f"\{BENCHMARKS\}/(.+?)"', body)
            output = re.search(r'output:.*?at\(Place\.(\w+)(?:, "(.+?)")?\)', body, re.DOTALL)
            command = commands[name] = commands.get(used) or re.search(r"python -m pipeline ([a-z-]+)", body)
            if benchmark is None:
                assert not re.search(r"resources_of\(|runtime=", body), f"{name}: nobody measures what it takes"
                continue
            assert output is not None
            assert command is not None
            measured = tmp_path / "benchmarks" / benchmark[1].replace("{{", "{").replace("}}", "}")
            measured.parent.mkdir(parents=True, exist_ok=True)
            measured.touch()
            made = tmp_path / f"{Place[output[1]].value}{output[2] or ''}"
            found = benchmark_of(made, ["python", "-m", "pipeline", command[1], "--output", "x"])
            assert found == measured, name
            looked_at.add(name)
    assert {
        "train",
        "sample",
        "sample_whole",
        "score",
        "relax",
        "relax_whole",
        "describe",
        "describe_test",
        "encode",
    } <= looked_at


def test_a_command_of_others_and_a_file_outside_of_results_have_none(tmp_path: Path) -> None:
    (tmp_path / "benchmarks/train").mkdir(parents=True)
    (tmp_path / "benchmarks/train/run.tsv").touch()
    assert benchmark_of(tmp_path / "models/run.safetensors", ["python", "-m", "pipeline", "train"]) is not None
    assert benchmark_of(tmp_path / "models/run.safetensors", ["python", "script.py"]) is None
    assert benchmark_of(tmp_path / "models/run.safetensors", ["python", "-m", "pipeline"]) is None
    assert benchmark_of(tmp_path.parent / "models/run.safetensors", ["python", "-m", "pipeline", "train"]) is None
