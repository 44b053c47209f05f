"""The shape of an experiment's data before they are prepared: vocabulary, length, grid, classes, and rows."""

from dataclasses import dataclass
from math import prod

from pipeline.config import Experiment
from pipeline.config.plugins import DATASETS
from pipeline.crystals.tokens import layout, length_of
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.dataset import ImageSource, image_source
from pipeline.images.imagedata import VIEWS
from pipeline.images.networks.image_condition import Grid
from pipeline.images.vqvae import check_side
from pipeline.tokens.token_data import SPLITS

Rows = dict[str, int | None]  # by split; None: not known before the data are read

# Rows of sets that are published in splits, and of those that are split here.
PUBLISHED: dict[str, Rows] = {
    "mp20": {"train": 27136, "validation": 9047, "test": 9046},  # of CDVAE, T. Xie et al., 2022
    "cifar10": {"train": 50_000, "test": 10_000},
    "mnist": {"train": 60_000, "test": 10_000},
    "imagenet": {"train": 1_281_167, "test": 50_000},  # of ILSVRC 2012
    "digits": {"train": 1797},
    "matbench_dielectric": {"train": 3811, "validation": 476, "test": 477},  # 4764 in shares of 0.8, 0.1, 0.1
}
CLASSES = {"imagenet": 1000}


@dataclass(frozen=True)
class Images:
    """Prepared images: squares of side `kept`, of which networks see a side of `side`."""

    rows: Rows
    kept: int
    side: int
    channels: int
    levels: int


@dataclass(frozen=True)
class Shape:
    """What the size of networks depends on, and the most rows that there are, as far as known."""

    vocabulary: Vocabulary
    length: int
    rows: Rows
    positions: tuple[int, ...] = ()  # their kinds, in a sequence of the full length; (): not known
    grid: Grid | None = None
    classes: int = 0
    images: Images | None = None
    evaluation: int = 0  # further sets of the size of the test split
    notes: tuple[str, ...] = ()


def shape_of(name: str, experiment: Experiment) -> Shape:
    """Return the shape of the data of the experiment `name`."""
    chosen = DATASETS.chosen(experiment.data)
    data_set, options = chosen.plugin, chosen.options
    vocabulary = data_set.vocabulary(options)
    if data_set.IMAGES:
        return _of_images(name, experiment, vocabulary, image_source(options))
    length = data_set.length(options)
    positions: tuple[int, ...] = ()
    if length is None and data_set.CRYSTALS:
        length = length_of(options.max_atoms)
        positions = tuple(layout(options.max_atoms, options.max_atoms).tolist())
    if length is None:
        file = f"{chosen.module.replace('.', '/')}.py"
        raise KinoflowError(f"experiments.{name}.data: {file} does not say how long sequences are; add length(options)")
    published, given = PUBLISHED.get(chosen.name, {}), dict(options)
    rows = {split: _least(published.get(split), given.get(split)) for split in SPLITS}
    unknown = ", ".join(split for split in SPLITS if rows[split] is None)
    note = f"{name}: the number of rows of {unknown} in {chosen.name} is unknown until they are prepared"
    further = data_set.evaluation_sets(options)
    if vocabulary.kinds == 1:
        positions = (0,) * length
    return Shape(vocabulary, length, rows, positions, evaluation=further, notes=(note,) if unknown else ())


def _of_images(name: str, experiment: Experiment, vocabulary: Vocabulary, source: ImageSource) -> Shape:
    plugin, options, notes = source.plugin, source.options, []
    side, channels, rows = plugin.side(options), plugin.channels(options), _image_rows(source)
    images = Images(rows, round(side * plugin.margin(options)), side, channels, source.levels)
    grid = (side, side, channels)
    if experiment.tokenizer is not None:
        check_side(side, experiment.tokenizer.network)
        places = side // experiment.tokenizer.network.down
        grid = (places, places, 1)
    if None in rows.values():
        notes.append(f"{name}: the number of images in {source.name} is unknown until they are read")
    classes = plugin.class_count(options)
    if classes is None:
        classes = len({path.name for path in source.inputs if path.is_dir()})
        if classes < 2:
            classes = CLASSES.get(source.name, 1)
            notes.append(f"{name}: the folder of {source.name} is not there; assumed to have {classes} classes")
    seen = None if rows["train"] is None else VIEWS[plugin.augmentation(options)] * rows["train"]
    rows, positions = rows | {"train": seen}, (0,) * prod(grid)
    return Shape(vocabulary, prod(grid), rows, positions, grid, classes, images, notes=tuple(notes))


def _image_rows(source: ImageSource) -> Rows:
    """Return the images of a set; a split that was not published is held out of the training images."""
    published, given, rows = PUBLISHED.get(source.name, {}), dict(source.options), Rows()
    train = whole = published.get("train")
    for split in ("validation", "test"):
        found = published.get(split)
        if split not in published and whole is not None and train is not None:
            found = max(1, round(given["held_out"] * whole)) if given.get("held_out") else given.get(split)
            train -= found or 0
        rows[split] = _least(found, given.get(split))
    return {"train": _least(train, given.get("train"))} | rows


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)
