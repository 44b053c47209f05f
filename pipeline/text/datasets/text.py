"""Text: the tokens of a corpus, joined and cut into blocks of one length, and further sets for evaluation."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from pipeline.config import NameAlone, Strict
from pipeline.flow.vocabulary import Vocabulary
from pipeline.store.locks import exclusive
from pipeline.store.provenance import settings_hash
from pipeline.store.seeds import derive_seed
from pipeline.text.corpus import Corpus, CorpusChoice, CorpusError, Document, HeldOut
from pipeline.text.packing import Packer, PackingJournal, in_order, pack
from pipeline.text.tokenizer import Tokenizer, TokenizerChoice, build_tokenizer
from pipeline.tokens.token_data import SPLITS, TokenData

TEXT = True


class Options(Strict):
    """Which text, how it becomes tokens, and how much of it is used."""

    corpus: Annotated[CorpusChoice, NameAlone] = Field(description="corpus that is trained on, and its options")
    tokenizer: Annotated[TokenizerChoice, NameAlone] = Field(
        TokenizerChoice(name="gpt2"), description="gpt2, bytes, or bpe with its size: learnt from the corpus"
    )
    length: int = Field(1024, ge=1, description="tokens in a block")
    train: int | None = Field(None, ge=1, description="train on at most so many blocks; null: all")
    validation: int | None = Field(None, ge=1, description="at most so many blocks for the validation loss; null: all")
    test: int | None = Field(
        None, ge=1, description="at most so many blocks of the test split, and of each set for evaluation; null: all"
    )
    held_out: float = Field(
        0.05, gt=0, le=1 / 3, description="share of the documents for each split that the corpus does not have"
    )
    evaluation: tuple[Annotated[CorpusChoice, NameAlone], ...] = Field(
        (), description="other corpora whose test split is evaluated besides"
    )

    @field_validator("corpus")
    @classmethod
    def _corpus_to_train_on(cls, choice: CorpusChoice) -> CorpusChoice:
        splits = Corpus.of(choice).splits
        if not {"train", "all"} & set(splits):
            raise ValueError(f"{choice.name!r} has no training split, only {', '.join(splits)}; use it in `evaluation`")
        return choice

    @field_validator("evaluation")
    @classmethod
    def _known_sets(cls, choices: tuple[CorpusChoice, ...]) -> tuple[CorpusChoice, ...]:
        for number, choice in enumerate(choices):
            if not {"test", "all"} & set(Corpus.of(choice).splits):
                raise ValueError(f"{choice.name!r} has no test split; remove it")
            if choice.name in (other.name for other in choices[:number]):
                raise ValueError(f"{choice.name!r} is there twice; name each set once")
        return choices

    @model_validator(mode="after")
    def _nothing_that_is_trained_on(self) -> "Options":
        if (name := self.corpus.name) in (choice.name for choice in self.evaluation):
            raise ValueError(f"evaluation: {name!r} is trained on, and `test` is held out of it; remove it")
        return self


def vocabulary(options: Options) -> Vocabulary:
    """Return the tokens of the tokenizer, and a mask."""
    return Vocabulary.single(options.tokenizer.tokens, specials=1)


def length(options: Options) -> int:
    """Return the number of tokens in a block."""
    return options.length


def files(options: Options) -> list[str]:
    """Return the catalogue names of all files that are read."""
    names = [name for corpus in _corpora(options) for name in corpus.files]
    return list(dict.fromkeys([*names, *options.tokenizer.files]))


def modules(options: Options) -> list[str]:
    """Return the modules of the corpora, which are loaded by name."""
    return [module for corpus in _corpora(options) for module in corpus.modules]


def inputs(options: Options) -> list[Path]:
    """Return the user's files that the tokens are made from."""
    return list(dict.fromkeys(path for corpus in _corpora(options) for path in corpus.inputs))


def hub_names(options: Options) -> list[str]:
    """Return the repositories on the Hugging Face Hub that are read."""
    return [name for corpus in _corpora(options) for name in corpus.hub_names]


def prepare(options: Options, seed: int, cache: Path) -> TokenData:
    """Read and pack the corpus and the sets for evaluation."""
    cache.mkdir(parents=True, exist_ok=True)
    corpus = Corpus.of(options.corpus)
    wanted = 1 + len(corpus.missing)
    found = sum(1 for _ in islice(corpus.training_documents(cache), wanted))
    if found < wanted:
        few = f"{corpus.origin}: {found} documents, but {wanted} splits are to be made of them"
        fix = "cut a .txt file into documents by its `separator`, or give the other splits files of their own"
        raise CorpusError(f"{few}; give more, {fix}")
    held_out = HeldOut(options.held_out, corpus.missing, derive_seed(seed, "text"))
    training = (document.text for split, document in _assigned(corpus, held_out, cache) if split == "train")
    tokenizer = build_tokenizer(options.tokenizer, cache, training)
    sets, record = _packed_splits(options, corpus, held_out, tokenizer, cache)
    evaluation: dict[str, Tensor] = {}
    for choice in options.evaluation:
        blocks, record[choice.name] = _packed_evaluation(options, Corpus.of(choice), tokenizer, cache)
        evaluation[choice.name] = _shuffled(blocks, derive_seed(seed, "shuffle", choice.name))
    for split in ("validation", "test"):
        sets[split] = _shuffled(sets[split], derive_seed(seed, "shuffle", split))
    return TokenData(
        **sets,
        vocabulary=vocabulary(options),
        origin={"name": "text"} | options.model_dump(mode="json"),
        tokenizer=tokenizer.json,
        evaluation=evaluation,
        record={"sets": record, "split_rule": held_out.rule},
    )


def _packed_splits(
    options: Options, corpus: Corpus, held_out: HeldOut, tokenizer: Tokenizer, cache: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the blocks of the three splits, and the record of each."""
    described = corpus.described()
    meaning = {"options": options.model_dump(mode="json"), "rule": held_out.meaning, "tokenizer": tokenizer.json}
    folder = cache / "packing" / settings_hash(meaning | described)[:16]
    folder.parent.mkdir(exist_ok=True)
    with exclusive(folder.with_suffix(".lock"), f"packing {corpus.name}"):
        journal = PackingJournal(folder)
        packers = {
            split: Packer(split, tokenizer, options.length, getattr(options, split), cache, journal.file(split))
            for split in SPLITS
        }
        together = [packers[split] for split in ("train", *corpus.missing)]
        assigned = ((packers[split], document) for split, document in _assigned(corpus, held_out, cache))
        pack(assigned, together, stop=True, journal=journal)
        for packer in packers.values():
            if packer not in together:
                packer.restore(None)
                pack(in_order(packer, corpus.documents(cache, packer.name)), [packer], stop=True)
        records = {name: {"split": name} | described | packer.record() for name, packer in packers.items()}
        blocks = {name: packer.blocks(corpus.origin) for name, packer in packers.items()}
        journal.remove()
    return blocks, records


def _packed_evaluation(
    options: Options, corpus: Corpus, tokenizer: Tokenizer, cache: Path
) -> tuple[Tensor, dict[str, Any]]:
    """Return the blocks of a set for evaluation, and its record."""
    split = "test" if "test" in corpus.splits else "all"
    packer = Packer(corpus.name, tokenizer, options.length, options.test, cache)
    # A test split is read to its end, to count its words and tokens; a stream may have no end.
    pack(in_order(packer, corpus.documents(cache, split)), [packer], stop=split == "all")
    return packer.blocks(corpus.origin), {"split": split} | corpus.described() | packer.record()


def _shuffled(blocks: Tensor, seed: int) -> Tensor:
    """Return blocks [N, length] in a random order, so that the first ones are a sample of all documents."""
    return blocks[torch.randperm(len(blocks), generator=torch.Generator().manual_seed(seed))]


def _assigned(corpus: Corpus, held_out: HeldOut, cache: Path) -> Iterator[tuple[str, Document]]:
    """Yield each document of the training stream with its split: `train`, or one that is held out."""
    for number, document in enumerate(corpus.training_documents(cache)):
        yield held_out.split(number), document


def _corpora(options: Options) -> list[Corpus]:
    return [Corpus.of(choice) for choice in (options.corpus, *options.evaluation)]
