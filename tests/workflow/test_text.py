"""The workflow on text: from a folder of documents to perplexities, a figure and samples to read."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from project import Project
from tiny import TINY, TINY_TEXT, write_rhymes

SCALE = "rhymes"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with text only, after a run of the whole workflow."""
    project = Project.copy_to(tmp_path_factory.mktemp("text"))
    write_rhymes(project.folder)
    config = TINY | {"scale": SCALE, "experiments": {"text": TINY_TEXT}}
    (project.folder / f"config/{SCALE}.yaml").write_text(yaml.safe_dump(config))
    result = project.snakemake("--cores", "2", "--show-failed-logs", scale=SCALE)
    assert result.returncode == 0, result.stdout
    return project


def results_of(project: Project) -> Path:
    return project.folder / "results" / SCALE


def planned(project: Project, values: str) -> dict[str, int]:
    jobs = project.planned(scale=SCALE, values=values, experiment="text")
    return {rule: count for rule, count in jobs.items() if rule not in ("all", "total")}


def test_the_table_has_runs_swept_runs_references_and_the_papers_rows(finished: Project) -> None:
    with (results_of(finished) / "tables/text.csv").open() as stream:
        rows = {row["run"]: row for row in csv.DictReader(stream)}
    ours = [name for name, row in rows.items() if row["origin"] == "ours"]
    assert ours == ["ar", "mask_ko", "mask_ko_steps_2", "held-out data", "independent columns"]
    assert len(rows) == len(ours) + 5
    assert all(float(rows[name]["generative_perplexity"]) > 1 for name in ours)
    assert all(0 < float(rows[name]["token_entropy"]) < 3 for name in ours)
    assert (rows["ar"]["likelihood"], rows["mask_ko"]["likelihood"]) == ("exact", "bound")
    assert float(rows["ar"]["perplexity_files_error"]) == 0
    assert float(rows["mask_ko"]["perplexity_files_error"]) > 0
    assert float(rows["independent columns"]["perplexity_files"]) > 1
    assert rows["held-out data"]["perplexity_files"] == ""
    assert (rows["mask_ko_steps_2"]["perplexity_files"], rows["mask_ko_steps_2"]["weights"]) == ("", "mask_ko")
    assert (rows["mask_ko"]["NFE"], rows["mask_ko_steps_2"]["NFE"]) == ("4", "2")
    assert rows["DFM - Kinetic Optimal (mask)"]["paper_perplexity_wikitext2"] == "41.8"
    assert "ar" in rows["mask_ko"]["judge"]


@pytest.mark.parametrize("artefact", ["tables/text.csv", "figures/text.png", "texts/text/mask_ko.txt"])
def test_results_are_traced_to_the_documents(finished: Project, artefact: str) -> None:
    files = finished.traced(f"results/{SCALE}/{artefact}")
    assert files.keys() == {"unchanged", "no provenance"}
    assert sorted(files["no provenance"]) == [f"rhymes/{number:02d}.txt" for number in range(20)]


def test_there_are_texts_to_read_and_a_picture(finished: Project) -> None:
    folder = results_of(finished) / "texts/text"
    for name in ("ar", "mask_ko", "mask_ko_steps_2", "data", "independent"):
        assert (folder / f"{name}.txt").read_text().count(f"{name}, sample") == 6
        lines = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        assert [len(line["tokens"]) for line in lines] == [16] * 6
    assert "bottles" in (folder / "data.txt").read_text()
    assert (results_of(finished) / "figures/text.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_run_has_nothing_to_do(finished: Project) -> None:
    assert planned(finished, "{}") == {}


def test_more_points_only_score(finished: Project) -> None:
    jobs = planned(finished, "{scoring: {perplexity: {points: 5}}}")
    assert jobs == {"score": 5, "table": 1, "figure": 1, "report_page": 1}


def test_another_value_of_the_sweep_trains_nothing(finished: Project) -> None:
    jobs = planned(finished, "{sweep: {steps: [2, 3]}}")
    assert jobs == {"sample_whole": 1, "texts": 1, "score": 1, "table": 1, "figure": 1, "report_page": 1}


def test_a_judge_from_elsewhere_is_looked_for_by_a_rule(finished: Project) -> None:
    jobs = planned(finished, "{scoring: {generative_perplexity: {judge: {name: smollm2}}}}")
    assert (jobs["judge"], jobs["fetch"], jobs["score"]) == (1, 1, 5)
    assert "train" not in jobs


def test_the_judges_training_judges_all_anew(finished: Project) -> None:
    jobs = planned(finished, "{runs: {ar: {training: {learning_rate: 0.01}}}}")
    assert (jobs["train"], jobs["score"]) == (1, 5)


def test_text_is_generated_around_what_is_given(finished: Project) -> None:
    command = ("python", "-m", "pipeline", "generate-text", "--config", f"config/{SCALE}.yaml", "--run", "mask_ko")
    given = ("--prefix", "ten", "--suffix", "wall", "--count", "3", "--output", "out")
    result = finished.run(*command, *given)
    assert result.returncode == 0, result.stdout
    lines = [json.loads(line) for line in (finished.folder / "out/texts.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    assert all(line["text"].startswith("ten") and line["text"].endswith("wall") for line in lines)


def test_tokens_of_another_length_are_refused(finished: Project) -> None:
    values = "experiments.text.data.length=8"
    again = finished.run(
        *("python", "-m", "pipeline", "prepare", "--config", f"config/{SCALE}.yaml", "--set", values),
        *("--experiment", "text", "--output", "short.safetensors"),
    )
    assert again.returncode == 0, again.stdout
    result = finished.run(
        *("python", "-m", "pipeline", "generate-text", "--config", f"config/{SCALE}.yaml", "--run", "mask_ko"),
        *("--tokens", "short.safetensors", "--output", "out"),
    )
    assert result.returncode == 2
    assert "trained on sequences of 16 tokens, these have 8" in result.stdout
