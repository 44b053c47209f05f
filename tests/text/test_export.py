"""Samples of text to read."""

import json
from pathlib import Path

import torch

from pipeline.flow.vocabulary import Vocabulary
from pipeline.sampling.samples import SampleSet
from pipeline.stages.texts import texts as texts_stage
from pipeline.store.provenance import file_hash, sidecar_of
from pipeline.text.tokenizer import single_bytes
from pipeline.tokens.token_data import TokenData


def test_samples_that_came_without_their_provenance_can_be_read_and_are_named_as_the_origin(tmp_path: Path) -> None:
    """Such as samples that `dvc pull` has brought."""
    paths = {name: tmp_path / name for name in ("samples", "tokens", "text", "lines")}
    tokenizer = single_bytes()
    words = torch.tensor([tokenizer.encode(["ab"])[0].tolist()])
    vocabulary = Vocabulary.single(tokenizer.size, words.shape[1])
    TokenData(words, words, words, vocabulary, {"name": "text"}, tokenizer=tokenizer.json).save(paths["tokens"])
    SampleSet(words, {"run": "ar", "n": 1, "seed": 5}).save(paths["samples"])
    assert not sidecar_of(paths["samples"]).exists()
    texts_stage(**paths)
    assert "ar, sample 0" in paths["text"].read_text()
    for artefact in (paths["text"], paths["lines"]):
        record = json.loads(sidecar_of(artefact).read_text())
        assert record["seed"] == 5
        assert record["sha256"] == file_hash(artefact)
        assert record["inputs"][str(paths["samples"])] == file_hash(paths["samples"])
