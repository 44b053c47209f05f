"""Generative perplexity: by whom, of what, how certain; and the variety that it has to be read beside."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.config import ModelChoice
from pipeline.config.problems import problems_of
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.saved import Description, load_network, new_network, save_network
from pipeline.sampling.samples import SampleSet
from pipeline.scoring.subject import Subject
from pipeline.text.metrics import generative_perplexity
from pipeline.text.metrics.generative_perplexity import Options, conditions, files, perplexity, run_of, score
from pipeline.text.tokenizer import single_bytes
from pipeline.tokens.token_data import TokenData

MASK = 257
SAMPLES = torch.tensor([list(b"to be or"), list(b"not to b"), list(b"aaaaaaaa")])
DATA = TokenData(
    *([SAMPLES[:2]] * 3), Vocabulary.single(257, specials=1), {"name": "text"}, tokenizer=single_bytes().json
)
NUMBERS = {f"generative_perplexity{end}" for end in ("", "_low", "_high")}
VARIETY = {"token_entropy", "distinct_1", "distinct_2", "distinct_3"}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the weights of a network of random opinions."""
    model = ModelChoice(name="text_autoregressive", width=8, depth=1, heads=2, dropout=0.0)
    torch.manual_seed(0)
    network = new_network(model, DATA)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    path = tmp_path_factory.mktemp("weights") / "ar.safetensors"
    meaning = {"length": DATA.length, "vocabulary": DATA.vocabulary_hash}
    save_network(path, network, Description(run="ar", model=model, path=None, loss=None, seed=0, **meaning))
    return path


def options(**values: Any) -> Options:
    return Options(**{"judge": {"name": "run", "run": "ar"}} | values)


def subject(weights: Path | None, tokens: torch.Tensor = SAMPLES, data: TokenData = DATA) -> Subject:
    return Subject(
        SampleSet(tokens, {"run": "mask"}), data, None, 0, files={"judge_weights": weights} if weights else {}
    )


def test_the_perplexity_is_of_all_tokens_of_all_samples_together(weights: Path) -> None:
    network = load_network(weights, DATA, "ar").network
    with torch.no_grad():
        log_prob = network(SAMPLES)[..., :257].double().log_softmax(-1)
    nats = -log_prob.gather(-1, SAMPLES[..., None])[:, 1:]
    scores = score(subject(weights), options())
    assert scores.keys() == NUMBERS | VARIETY
    assert scores["generative_perplexity"] == pytest.approx(float(nats.mean().exp()), rel=1e-5)
    assert scores["generative_perplexity_low"] <= scores["generative_perplexity"]
    assert scores["generative_perplexity"] <= scores["generative_perplexity_high"]


def test_no_more_samples_are_judged_than_asked_for(weights: Path) -> None:
    assert score(subject(weights), options(samples=2)) == score(subject(weights, SAMPLES[:2]), options())
    assert score(subject(weights), options(samples=2)) != score(subject(weights), options())


def test_samples_that_repeat_one_token_have_no_entropy(weights: Path) -> None:
    varied, dull = (score(subject(weights, tokens), options()) for tokens in (SAMPLES[:2], SAMPLES[2:]))
    assert dull["token_entropy"] == pytest.approx(0.0, abs=1e-12)
    assert all(dull[name] < varied[name] for name in VARIETY)
    assert (dull["distinct_1"], dull["distinct_3"]) == pytest.approx((1 / 8, 1 / 6))


def test_a_mask_that_is_left_is_judged_as_a_block(weights: Path) -> None:
    masked, block = torch.tensor([[97, MASK, 98]]), "a█b".encode()
    data = TokenData(*([torch.tensor([list(block)])] * 3), DATA.vocabulary, DATA.origin, tokenizer=DATA.tokenizer)
    judged = score(subject(weights, masked), options())["generative_perplexity"]
    assert len(block) == data.length == 5
    assert judged == score(subject(weights, data.train), options())["generative_perplexity"]


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator, covered = np.random.default_rng(0), 0
    for seed in range(200):
        tokens = generator.integers(50, 100, size=60)
        nats = tokens * generator.normal(3.0, 0.4, size=60)
        scores = perplexity(nats, tokens, seed)
        covered += scores["generative_perplexity_low"] <= math.exp(3.0) <= scores["generative_perplexity_high"]
    assert 180 <= covered <= 199


def test_the_interval_is_the_same_for_the_same_seed_only() -> None:
    nats, tokens = np.linspace(10, 60, 20), np.full(20, 10)
    assert perplexity(nats, tokens, 1) == perplexity(nats, tokens, 1)
    assert perplexity(nats, tokens, 1) != perplexity(nats, tokens, 2)


def test_samples_without_a_token_to_judge_do_not_count() -> None:
    nats, tokens = np.array([0.0, 6.0, 0.0, 2.0]), np.array([0, 3, 0, 1])
    assert perplexity(nats, tokens, 0) == perplexity(nats[tokens > 0], tokens[tokens > 0], 0)
    assert perplexity(nats, tokens, 0)["generative_perplexity"] == pytest.approx(math.exp(2.0))
    assert perplexity(np.zeros(2), np.zeros(2, dtype=np.int64), 0) == {}


def test_tokens_that_are_no_text_are_an_error_that_names_the_data(weights: Path) -> None:
    data = TokenData(*([SAMPLES] * 3), DATA.vocabulary, {"name": "markov"})
    with pytest.raises(KinoflowError, match="'markov'"):
        score(subject(weights, data=data), options())


@pytest.mark.parametrize(
    "judge, label, needed, run",
    [
        ({"name": "run", "run": "ar"}, "run ar", [], "ar"),
        ("smollm2", "SmolLM2-135M-Instruct (Q4_1)", ["smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"], None),
        ("transformers", "openai-community/gpt2-large", [], None),
        ({"name": "transformers", "model": "a/b", "revision": "v1"}, "a/b at v1", [], None),
    ],
)
def test_the_judge_says_what_it_is_called_and_what_it_needs(
    judge: Any, label: str, needed: list[str], run: str | None
) -> None:
    chosen = options(judge=judge)
    assert conditions(subject(None), chosen) == {"judge": label}
    assert (files(chosen), run_of(chosen)) == (needed, run)


@pytest.mark.parametrize(
    "judge, message",
    [
        ("smollm", "judge: unknown judge 'smollm'; did you mean 'smollm2'? allowed: run, smollm2, transformers"),
        ({"name": "smollm2", "windw": 5}, "judge: smollm2.windw = 5: unknown key; did you mean 'window'?"),
        ({"name": "smollm2", "window": 1}, "judge: smollm2.window = 1: must be at least 2"),
        ({"name": "run"}, "judge: run.run: is missing; add it"),
        ({"name": "transformers", "precision": "int8"}, 'judge: transformers.precision = "int8": not allowed;'),
    ],
)
def test_a_wrong_judge_is_found_with_the_configuration(judge: Any, message: str) -> None:
    _, problems = problems_of(Options, {"judge": judge})
    assert [str(problem)[: len(message)] for problem in problems] == [message]


def test_the_workflow_can_ask_for_files_without_waiting_for_torch() -> None:
    name = generative_perplexity.__name__
    ask = f"import sys, {name} as metric; metric.files(metric.Options()); print('torch' in sys.modules)"
    asked = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert asked.stdout == "False\n"
