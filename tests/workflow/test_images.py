"""The workflow on images: digits as pixels and as codes of a tokenizer, from files to distances, tables and figures."""

import csv
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from project import Project
from tiny import TINY, TINY_LATENTS, TINY_PIXELS

SCALE = "digits"
SWEPT = ["metric_steps_2", "metric_velocity_campbell_guidance_2", "metric_searched_2"]
RUNS = {"pixels": ["mask_cubic", "metric", *SWEPT], "latents": ["ar", "metric", "ar_guidance_2"]}
REFERENCES = {
    "pixels": {"data": "held-out data", "independent": "independent columns"},
    "latents": {
        "images": "held-out images",
        "data": "held-out data",
        "independent": "independent columns",
    },
}
GENERATE = (sys.executable, "-m", "pipeline", "generate-images", "--config", f"config/{SCALE}.yaml")
REPORTS = {"table": 1, "figure": 1, "sweeps": 1, "report_page": 1}  # what is made anew whenever a score is


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with images only, after a run of the whole workflow."""
    project = Project.copy_to(tmp_path_factory.mktemp("images"))
    config = TINY | {"scale": SCALE, "experiments": {"pixels": TINY_PIXELS, "latents": TINY_LATENTS}}
    (project.folder / f"config/{SCALE}.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    result = project.snakemake("--cores", "2", "--show-failed-logs", scale=SCALE)
    assert result.returncode == 0, result.stdout
    return project


def results_of(project: Project) -> Path:
    return project.folder / "results" / SCALE


def table(project: Project, name: str) -> list[dict[str, str]]:
    assert (results_of(project) / f"tables/{name}.md").read_text()
    with (results_of(project) / f"tables/{name}.csv").open() as stream:
        return list(csv.DictReader(stream))


def planned(project: Project, experiment: str, values: str) -> dict[str, int]:
    jobs = project.planned(scale=SCALE, values=values, experiment=experiment)
    return {rule: count for rule, count in jobs.items() if rule not in ("all", "total")}


@pytest.mark.parametrize(
    "artefact", ["tables/pixels", "tables/latents", "tables/pixels_sweeps", "tables/latents_tokenizer"]
)
def test_tables_are_traced_to_the_digits(finished: Project, artefact: str) -> None:
    files = finished.traced(f"results/{SCALE}/{artefact}.csv")
    assert files.keys() == {"unchanged", "fetched"}
    assert files["fetched"] == ["data/cache/digits/digits.csv.gz"]


@pytest.mark.parametrize("experiment, paper", [("pixels", 5), ("latents", 4)])
def test_the_table_has_runs_swept_and_searched_runs_references_and_the_papers_rows(
    experiment: str, paper: int, finished: Project
) -> None:
    rows = table(finished, experiment)
    ours = {row["run"]: row for row in rows if row["origin"] == "ours"}
    assert list(ours) == [*RUNS[experiment], *REFERENCES[experiment].values()]
    for row in ours.values():
        assert float(row["frechet_distance"]) > 0
        assert float(row["frechet_distance_error"]) > 0
        assert (row["n"], row["reference set"]) == ("24", "digits train, 60 images")
        assert row["features"] == "own classifier (4 features, 4 steps)"
    theirs = [row for row in rows if row["origin"] == "paper"]
    assert len(theirs) == len(rows) - len(ours) == paper
    assert {row["features"] for row in theirs} == {"Inception v3"}
    assert "grid" not in rows[0]


def test_the_table_says_how_each_run_was_sampled(finished: Project) -> None:
    pixels = {row["run"]: row for row in table(finished, "pixels")}
    said = ("NFE", "velocity", "guidance", "weights", "searched")
    steps, guided, found = ([pixels[run][key] for key in said] for run in SWEPT)
    assert steps == ["2", "kinetic_optimal", "1.0", "metric", ""]
    assert guided == ["4", "campbell", "2.0", "metric", ""]
    assert found[0] == "2"
    assert found[1] in ("kinetic_optimal", "power_infinity")
    assert found[2:] == ["1.0", "metric", "yes"]
    latents = {row["run"]: row for row in table(finished, "latents")}
    assert [latents["ar_guidance_2"][key] for key in ("NFE", "guidance", "weights")] == ["16", "2.0", "ar"]
    assert latents["independent columns"]["class_accuracy"] == ""
    assert latents["ar"]["class_accuracy"] != ""


def test_sweeps_have_tables_of_their_own_beside_the_papers(finished: Project) -> None:
    pixels = [(row["origin"], row["swept"], row["network"], row["NFE"]) for row in table(finished, "pixels_sweeps")]
    assert pixels == [("ours", "NFE", "metric", "2"), ("ours", "NFE", "metric", "4")]
    latents = table(finished, "latents_sweeps")
    ours = [(row["swept"], row["network"], row["guidance"]) for row in latents if row["origin"] == "ours"]
    assert ours == [("guidance", "ar", "1.0"), ("guidance", "ar", "2.0")]
    assert {row["swept"] for row in latents if row["origin"] == "paper"} == {"guidance"}
    distances = {row["run"]: row["frechet_distance"] for row in table(finished, "latents")}
    assert [row["frechet_distance"] for row in latents[:2]] == [distances["ar"], distances["ar_guidance_2"]]


def test_the_tokenizer_has_a_table_of_its_own(finished: Project) -> None:
    ours, papers = table(finished, "latents_tokenizer")
    assert (ours["origin"], ours["images"], ours["codes"]) == ("ours", "30", "16")
    assert float(ours["rfid"]) > 0
    assert 0 < float(ours["held_out_frechet_distance"]) < float(ours["frechet_distance"])
    assert (papers["origin"], papers["paper_rfid"]) == ("paper", "2.2")


def test_there_are_figures_paths_and_grids(finished: Project) -> None:
    folder = results_of(finished)
    names = [f"figures/{experiment}{ending}.png" for experiment in RUNS for ending in ("", "_path")]
    for experiment, runs in RUNS.items():
        names += [f"pictures/{experiment}/{name}.png" for name in (*runs, *REFERENCES[experiment])]
    for name in names:
        assert (folder / name).read_bytes().startswith(b"\x89PNG"), name


def test_a_second_run_has_nothing_to_do(finished: Project) -> None:
    assert planned(finished, "pixels", "{}") == {}


@pytest.mark.parametrize(
    "experiment, scored",
    [
        ("pixels", {"score": 7}),
        ("latents", {"score": 6, "tokenizer_report": 1}),
    ],
)
def test_another_number_of_neighbours_only_scores(experiment: str, scored: dict[str, int], finished: Project) -> None:
    jobs = planned(finished, experiment, "{scoring: {frechet_distance: {neighbours: 3}}}")
    assert jobs == REPORTS | scored


def test_more_images_for_neighbours_only_describe_the_reference_and_score(finished: Project) -> None:
    jobs = planned(finished, "latents", "{scoring: {frechet_distance: {compared: 20}}}")
    assert jobs == REPORTS | {"image_reference": 1, "score": 6, "tokenizer_report": 1}


def test_another_classifier_is_trained_and_judges_all_anew(finished: Project) -> None:
    jobs = planned(finished, "latents", "{scoring: {frechet_distance: {features: {steps: 5}}}}")
    scored = {"score": 6, "tokenizer_report": 1}
    assert jobs == REPORTS | scored | {"train_classifier": 1, "image_reference": 1}


def test_another_tokenizer_makes_codes_and_all_that_follows_anew(finished: Project) -> None:
    jobs = planned(finished, "latents", "{tokenizer: {training: {learning_rate: 0.01}}}")
    assert jobs == REPORTS | {
        "train_tokenizer": 1,
        "encode": 1,
        "tokenizer_report": 1,
        "conditional_path": 1,
        "train": 2,
        "sample_whole": 3,
        "reference": 3,
        "pictures": 6,
        "score": 6,
    }


def test_an_edit_of_a_loss_of_paths_trains_neither_tokenizer_nor_classifier(finished: Project) -> None:
    with finished.edited("pipeline/flow/elbo.py"):
        jobs = planned(finished, "latents", "{}")
    assert not {"train_tokenizer", "train_classifier", "encode", "image_reference"} & jobs.keys()
    assert jobs["train"] == 4  # the networks with paths, and those without: what they minimise is in one file


def test_another_value_of_the_sweep_trains_nothing(finished: Project) -> None:
    jobs = planned(finished, "latents", "{sweep: {runs: [ar], guidance: [2.0, 3.0]}}")
    assert jobs == REPORTS | {"sample_whole": 1, "pictures": 1, "score": 1}


def test_another_corrector_searches_and_samples_the_searched_run_alone(finished: Project) -> None:
    jobs = planned(finished, "pixels", "{search: {corrector: [0, 2]}}")
    assert jobs == REPORTS | {"search": 1, "sample_whole": 1, "pictures": 1, "score": 1}


def test_features_from_elsewhere_are_fetched_before_anything_is_compared(finished: Project) -> None:
    jobs = planned(finished, "pixels", "{scoring: {frechet_distance: {features: {name: inception}}}}")
    assert (jobs["fetch"], jobs["image_reference"], jobs["score"]) == (1, 1, 7)
    assert not {"train", "train_classifier", "prepare_images"} & jobs.keys()


def test_images_are_generated_of_one_class_or_of_each_in_turn(finished: Project) -> None:
    pixels = ("--experiment", "pixels", "--run", "metric", "--label", "7", "--count", "3", "--guidance", "2")
    for folder, count, given in (("seven", 3, pixels), ("turns", 16, ("--run", "ar"))):
        result = finished.run(*GENERATE, *given, "--output", folder)
        assert result.returncode == 0, result.stdout
        with zipfile.ZipFile(finished.folder / folder / "images.zip") as archive:
            assert archive.namelist() == [f"{number:05}.png" for number in range(count)]
        assert (finished.folder / folder / "grid.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "given, problem",
    [
        (("--run", "ar", "--label", "ten"), "--label 'ten': no such class"),
        (("--run", "metric_searched_2", "--experiment", "pixels"), "name 'metric' instead"),
    ],
)
def test_what_cannot_be_generated_is_refused(given: tuple[str, ...], problem: str, finished: Project) -> None:
    result = finished.run(*GENERATE, *given, "--output", "none")
    assert result.returncode == 2
    assert problem in result.stdout
