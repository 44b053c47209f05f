"""The contracts of the files in `datasets`, `networks`, `metrics` and the like: what each kind of plugin defines.

Each plugin has its own options, so their type is not known here. Neither are the types of the layers above.
"""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pipeline.config.contract import Contract

if TYPE_CHECKING:  # torch takes seconds to import
    from torch import Generator, Tensor

    from pipeline.flow.vocabulary import Vocabulary


class DataSetPlugin(Contract):
    """A data set: tokens of text, crystals, images, or of a known distribution."""

    vocabulary: Annotated[Callable[[Any], "Vocabulary"], "vocabulary(options) -> Vocabulary: the tokens that there are"]
    TEXT: bool = False
    CRYSTALS: bool = False
    IMAGES: bool = False  # its images are prepared first
    CODES: bool = False  # a tokenizer turns the images into tokens

    def prepare(self, options: Any, seed: int, cache: Path) -> Any:
        """Return the tokens, as TokenData."""
        raise self._lacks("prepare", "prepare(options, seed, cache) -> TokenData: the tokens of all splits")

    def from_images(self, options: Any, images: Any) -> Any:
        """Return the tokens of prepared images, as TokenData."""
        raise self._lacks("from_images", "from_images(options, images) -> TokenData: the tokens of prepared images")

    def tokens_of(self, name: str, rows: Any, options: Any) -> Any:
        """Return the tokens of the structures that were read, as TokenData."""
        raise self._lacks("tokens_of", "tokens_of(name, rows, options) -> TokenData, from pipeline.crystals.dataset")

    def shuffle(self, tokens: "Tensor", generator: "Generator") -> "Tensor":
        """Return the same structures with their atoms in another order."""
        raise self._lacks("shuffle", "shuffle(tokens, generator) -> Tensor, from pipeline.crystals.dataset")

    def length(self, options: Any) -> int | None:
        """Return the number of tokens in a sequence; None: the file does not say."""
        return None

    def distances(self, options: Any) -> "Tensor | None":
        """Return the distances between tokens for metric paths, [K, K]; None: the difference of their numbers."""
        return None

    def entropy(self, options: Any) -> float | None:
        """Return the entropy of a sequence in nats; None: unknown."""
        return None

    def probabilities(self, options: Any) -> "Tensor | None":
        """Return the probability of every sequence, one axis per token; None: unknown."""
        return None

    def chain(self, options: Any) -> Any | None:
        """Return the hidden Markov chain that the sequences come from, as Chains; None: they come from none."""
        return None

    def evaluation_sets(self, options: Any) -> int:
        """Return how many further sets are evaluated, each as long as the test split."""
        return len(dict(options).get("evaluation", ()))


class CrystalSetPlugin(DataSetPlugin, mark="CRYSTALS"):
    """A data set of crystals; it takes all but `read` from `pipeline.crystals.dataset`."""

    read: Annotated[Callable[[Any, int, Path], Any], "read(options, seed, cache) -> DataFrame: all structures"]


class CorpusPlugin(Contract):
    """A corpus of text."""

    documents: Annotated[
        Callable[[Any, Path, str], Iterator[Any]], "documents(options, cache, split) -> Iterator[Document]"
    ]
    SPLITS: tuple[str, ...] = ()
    DETOKENISED: bool = False  # the text was put back together from words

    def splits(self, options: Any) -> tuple[str, ...]:
        """Return the splits that the corpus really has; `all`: one stream."""
        if not self.SPLITS:
            raise self._lacks("SPLITS", 'SPLITS = ("all",), or the splits that the corpus really has')
        return self.SPLITS

    def revision(self, options: Any) -> str | None:
        """Return the version that is read; None: there is only one."""
        return None


class ImageSetPlugin(Contract):
    """A set of images."""

    read: Annotated[Callable[[Any, int, Path], Any], "read(options, seed, cache) -> ImageData: the images"]
    levels: Annotated[Callable[[Any], int], "levels(options) -> int: the values that a pixel can have"]
    side: Annotated[Callable[[Any], int], "side(options) -> int: pixels along a side"]
    channels: Annotated[Callable[[Any], int], "channels(options) -> int: numbers of a pixel"]
    class_count: Annotated[Callable[[Any], int | None], "class_count(options) -> int | None: classes, None: unknown"]

    def augmentation(self, options: Any) -> Literal["none", "flip", "ten_crop"]:
        """Return which views of a training image are seen."""
        return dict(options).get("augmentation", "none")

    def margin(self, options: Any) -> float:
        """Return how many times larger images are stored than networks see them."""
        return float(dict(options).get("margin", 1.0))


class NetworkPlugin(Contract):
    """A network; one that is not autoregressive predicts x1 from x_t."""

    build: Annotated[Callable[..., Any], "build(options, vocabulary, length) -> nn.Module: the network"]
    AUTOREGRESSIVE: bool = False  # it predicts the next token: it has no time and needs no path
    OURS: tuple[str, ...] = ()  # options that the paper's networks do not have; the tables name them

    def is_told_classes(self, options: Any) -> bool:
        """Return whether the network takes the class of each sequence, as `labels`."""
        return bool(dict(options).get("conditional", False))

    def is_told_time(self, options: Any) -> bool:
        """Return whether the network is given the time."""
        return bool(dict(options).get("time", True))

    def knows_conflicts(self, options: Any) -> bool:
        """Return whether the network says which tokens of a sample contradict others."""
        return bool(dict(options).get("spacing", 0))

    def takes(self, keyword: str) -> bool:
        """Return whether `build` takes a keyword; those of networks for images are `grid` and `classes`."""
        return keyword in inspect.signature(self.build).parameters


class EnergyModelPlugin(Contract):
    """A model of the energy of crystals."""

    label: Annotated[Callable[[Any], str], "label(options) -> str: name and version of the model, for the tables"]
    load: Annotated[Callable[[Any, str], Any], "load(options, device) -> Calculator of ase, with its own energies"]
    CORRECTED: Annotated[bool, "CORRECTED = True if its energies already have the Materials Project's corrections"]
    PACKAGE: Annotated[str, 'PACKAGE = "<name>": the distribution that must be installed']
    SEVERAL: bool = False  # its calculator has compute(list of Atoms), for several crystals at once
    VERSIONS: str = ""  # those of the package that it works with, such as ">=0.5,<0.6"; empty: all

    def variant(self, options: Any) -> str:
        """Return what tells the model from the plugin's default one, such as the name of other weights."""
        return ""

    @property
    def requirement(self) -> str:
        """What must be installed, as pip takes it."""
        return f"{self.PACKAGE}{self.VERSIONS}"


class JudgePlugin(Contract):
    """A language model that judges texts."""

    label: Annotated[Callable[[Any], str], "label(options) -> str: what the tables call the judge"]
    load: Annotated[Callable[..., Any], "load(options, *, cache, weights, data, device) -> Judge"]

    def hub_name(self, options: Any) -> str | None:
        """Return the name on the model hub; None: it is not read from there."""
        return None

    def hub_names(self, options: Any) -> list[str]:
        """Return the name on the model hub, if there is one."""
        name = self.hub_name(options)
        return [] if name is None else [name]

    def run_of(self, options: Any) -> str | None:
        """Return the run of the experiment whose network judges; None: the judge is not a run."""
        return dict(options).get("run")


class FeaturesPlugin(Contract):
    """A network whose features are used to compare images."""

    label: Annotated[Callable[[Any], str], "label(options) -> str: what the tables call the features"]
    load: Annotated[Callable[..., Any], "load(options, *, cache, classifier, device) -> FeatureExtractor"]
    TRAINED: bool = False  # the workflow trains it, on the experiment's own images


class MetricPlugin(Contract):
    """A metric; one for crystals may also have `measure`. It needs only the table of the crystals."""

    score: Annotated[Callable[[Any, Any], dict[str, float]], "score(subject, options) -> dict[str, float]"]
    measure: Callable[[Any, Any, int], dict[str, float]] | None = None
    HEADLINE: str = ""  # the column to plot, if one says most and every row has it

    def conditions(self, subject: Any, options: Any) -> dict[str, Any]:
        """Return how it was measured, for the tables."""
        return {}

    def classifier_of(self, options: Any) -> bool:
        """Return whether the workflow trains a classifier for it."""
        return False


class JudgedMetricPlugin(MetricPlugin, mark="run_of"):
    """A metric for text that uses a judge."""

    run_of: Annotated[Callable[[Any], str | None], "run_of(options) -> str | None: the run that judges, None: no run"]


class ProtocolPlugin(Contract):
    """A protocol: under which choices a rate of stable, unique and novel crystals is measured."""

    rates: Annotated[Callable[[Any], list[Any]], "rates(evidence) -> list[Rate], see pipeline.crystals.protocols"]


class FigurePlugin(Contract):
    """A figure of the samples of an experiment."""

    draw: Annotated[Callable[[Any, Any, Any], Any], "draw(exhibits, data, options) -> Figure"]
    SCORES: bool = False  # it is given the scores of the samples
    TOKENS: bool = True  # it is given the samples themselves
