"""Judges: nats as computed by hand, windows, where they come from, and what is said if they cannot be had."""

import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_gguf import write_gguf
from tiny_language_model import LETTERS, save_language_model

from pipeline.config import ModelChoice, PathChoice
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.networks.saved import Description, load_network, new_network, save_network
from pipeline.text.judge import ChosenJudge, JudgeChoice
from pipeline.text.judges import likelihood
from pipeline.text.judges.likelihood import Judge
from pipeline.text.tokenizer import single_bytes
from pipeline.tokens.token_data import TokenData

CPU = torch.device("cpu")
WAYS = ("{name: transformers, model: /path", "{name: smollm2}", "{name: run, run: ar}")
TEXT = "abcdefgh hgfedcba"
BYTES = TokenData(
    *([torch.tensor([[97, 98, 256, 97, 98, 99]])] * 3),
    Vocabulary.single(257, specials=1),
    {"name": "text"},
    tokenizer=single_bytes().json,
)


def load(name: str, *, cache: Path = Path("none"), weights: Path | None = None, **options: Any) -> Judge:
    chosen = ChosenJudge.of(JudgeChoice(name=name, **options))
    return chosen.load(cache=cache, weights=weights, data=BYTES, device=CPU)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_language_model(tmp_path_factory.mktemp("judge") / "tiny")


@pytest.fixture
def judge(model: Path) -> Judge:
    return load("transformers", model=str(model), window=16)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let every attempt to look up a host fail, and list them."""
    attempts: list[Any] = []

    def refuse(*arguments: Any, **_: Any) -> None:
        attempts.append(arguments)
        raise socket.gaierror("no network in tests")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return attempts


def by_hand(model: Path, tokens: list[int]) -> float:
    """Return the nats of all tokens but the first, one forward pass and one softmax for each."""
    from transformers import GPT2LMHeadModel

    network, nats = GPT2LMHeadModel.from_pretrained(model).eval(), 0.0
    for place in range(1, len(tokens)):
        with torch.no_grad():
            probabilities = network(torch.tensor([tokens[:place]])).logits[0, -1].double().softmax(-1)
        nats -= float(probabilities[tokens[place]].log())
    return nats


def letters(text: str) -> list[int]:
    return [LETTERS.index(letter) for letter in text]


def test_nats_are_those_computed_token_by_token(judge: Judge, model: Path) -> None:
    nats, tokens = judge.negative_log_likelihood(["abc def", "hh"])
    assert nats == pytest.approx([by_hand(model, letters("abc def")), by_hand(model, letters("hh"))], rel=1e-5)
    assert tokens.tolist() == [6, 1]
    assert (nats.dtype, tokens.dtype) == (np.float64, np.int64)


def test_nats_do_not_depend_on_what_is_judged_together_or_in_which_order(judge: Judge) -> None:
    texts = ["abc", "a", "hgfedcba", "", "bead cafe", "ab"]
    together, tokens = judge.negative_log_likelihood(texts)
    assert together == pytest.approx([judge.negative_log_likelihood([text])[0][0] for text in texts], rel=1e-5)
    assert tokens.tolist() == [2, 0, 7, 0, 8, 1]
    backwards, _ = judge.negative_log_likelihood(texts[::-1])
    assert backwards[::-1] == pytest.approx(together, rel=1e-5)


def test_small_batches_give_the_same_nats(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["abc", "hgfedcba", "bead cafe", "ab"]
    expected, _ = judge.negative_log_likelihood(texts)
    monkeypatch.setattr(likelihood, "_TOKENS", 1)
    assert judge.negative_log_likelihood(texts)[0] == pytest.approx(expected, rel=1e-5)


def test_a_long_text_is_judged_in_windows_whose_first_token_is_not_counted(model: Path) -> None:
    nats, tokens = load("transformers", model=str(model), window=7).negative_log_likelihood([TEXT])
    parts = [TEXT[:7], TEXT[7:14], TEXT[14:]]
    assert nats[0] == pytest.approx(sum(by_hand(model, letters(part)) for part in parts), rel=1e-5)
    assert tokens.tolist() == [6 + 6 + 2]


def test_a_token_that_is_left_over_alone_is_not_judged(judge: Judge) -> None:
    whole, tokens = judge.negative_log_likelihood([TEXT])  # of 17 letters, in windows of 16
    assert tokens.tolist() == [15]
    assert whole[0] == pytest.approx(judge.negative_log_likelihood([TEXT[:16]])[0][0], rel=1e-5)


def test_nothing_to_judge_gives_no_nats(judge: Judge) -> None:
    assert [part.tolist() for part in judge.negative_log_likelihood([])] == [[], []]
    assert [part.tolist() for part in judge.negative_log_likelihood([""])] == [[0.0], [0]]


def test_the_end_of_a_document_is_the_one_token_that_the_judge_knows_it_by(judge: Judge, model: Path) -> None:
    nats, tokens = judge.negative_log_likelihood(["ab<|endoftext|>cd", "<|endoftext|>a"])
    assert tokens.tolist() == [4, 1]
    end = len(LETTERS)
    expected = [by_hand(model, [*letters("ab"), end, *letters("cd")]), by_hand(model, [end, *letters("a")])]
    assert nats == pytest.approx(expected, rel=1e-5)


def test_loading_from_a_directory_prints_nothing_and_asks_nobody(
    model: Path, no_network: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    judge = load("transformers", model=str(model), window=16)
    assert capfd.readouterr() == ("", "")
    assert no_network == []
    assert {file.name for file in judge.files} >= {"config.json", "model.safetensors", "tokenizer.json"}


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    model = save_language_model(tmp_path / "pickled", safe=False)
    with pytest.raises(KinoflowError, match=r"pickled.*safetensors"):
        load("transformers", model=str(model), window=16)


def test_damaged_weights_are_an_error_that_names_the_directory(tmp_path: Path) -> None:
    model = save_language_model(tmp_path / "damaged")
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(KinoflowError, match=r"damaged.*cannot be read"):
        load("transformers", model=str(model), window=16)


def test_a_model_without_weights_for_all_of_its_parts_is_refused(tmp_path: Path) -> None:
    model = save_language_model(tmp_path / "deep")
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"n_layer": 2}))
    with pytest.raises(KinoflowError, match=r"weights of transformer\.h\.1\.\S+ are missing"):
        load("transformers", model=str(model), window=16)


def test_a_window_longer_than_the_model_sees_is_an_error(model: Path) -> None:
    with pytest.raises(KinoflowError, match=r"judge\.window = 17: .* at most 16 tokens"):
        load("transformers", model=str(model), window=17)


@pytest.mark.parametrize(
    "judge, reason",
    [
        ({"name": "transformers", "model": "/no/such/model"}, "no such directory"),
        ({"name": "transformers", "model": "nobody/nothing"}, "could not be downloaded"),
        ({"name": "smollm2"}, "python -m pipeline fetch smollm2"),
        ({"name": "run", "run": "ar"}, "no weights"),
    ],
    ids=["directory", "hub", "smollm2", "run"],
)
def test_a_judge_that_is_not_there_is_an_error_with_three_ways_to_have_one(
    judge: dict[str, Any], reason: str, tmp_path: Path, no_network: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # or it would try again and again
    with pytest.raises(KinoflowError) as caught:
        load(cache=tmp_path, **judge)
    assert reason in str(caught.value)
    assert all(way in str(caught.value) for way in WAYS)


def saved_run(path: Path, *, autoregressive: bool) -> Path:
    """Write the random weights of a network on bytes, six at a time."""
    size = {"width": 8, "depth": 1, "heads": 2, "dropout": 0.0}
    model = ModelChoice(name="text_autoregressive" if autoregressive else "text_dit", **size)
    torch.manual_seed(0)
    network = new_network(model, BYTES)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    description = Description(
        run="ar",
        model=model,
        path=None if autoregressive else PathChoice(name="mask"),
        loss=None,
        seed=0,
        length=BYTES.length,
        vocabulary=BYTES.vocabulary_hash,
    )
    save_network(path, network, description)
    return path


def test_a_run_judges_with_the_tokens_of_its_data_and_never_expects_a_mask(tmp_path: Path) -> None:
    weights = saved_run(tmp_path / "ar.safetensors", autoregressive=True)
    nats, tokens = load("run", run="ar", weights=weights).negative_log_likelihood(["ab<|endoftext|>abcdefgh", "é"])
    assert tokens.tolist() == [5 + 4, 1]  # windows of six tokens and of five; two bytes
    network = load_network(weights, BYTES, "ar").network
    with torch.no_grad():
        logits = network(torch.tensor([list("é".encode())]))[0, 1, :257].double()
    assert nats[1] == pytest.approx(-float(logits.log_softmax(-1)["é".encode()[1]]), rel=1e-5)


def test_a_run_with_a_path_cannot_judge(tmp_path: Path) -> None:
    weights = saved_run(tmp_path / "mask.safetensors", autoregressive=False)
    with pytest.raises(KinoflowError, match="path 'mask' and is not autoregressive; name a run with path: null"):
        load("run", run="ar", weights=weights)


def test_smollm2_judges_from_its_file_alone_with_every_digit_a_token(
    tmp_path: Path, no_network: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "smollm2").mkdir()
    path = tmp_path / "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    written = write_gguf(path)
    judge = load("smollm2", cache=tmp_path)
    assert capfd.readouterr() == ("", "")
    assert judge.encode(["ab 12"]) == [[261, 220, 17 - 1, 17]]  # the pair `ab`, a space, the bytes 1 and 2
    nats, tokens = judge.negative_log_likelihood(["ab 12<|endoftext|>"])
    x = torch.tensor([[261, 220, 16, 17, 256]])
    with torch.no_grad():
        surprise = torch.nn.functional.cross_entropy(written(x).logits[0, :-1], x[0, 1:], reduction="sum")
    assert nats[0] == pytest.approx(float(surprise), rel=1e-5)
    assert tokens.tolist() == [4]
    assert no_network == []
