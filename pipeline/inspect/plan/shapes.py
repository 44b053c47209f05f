"""The shape of an experiment's data before they are prepared: vocabulary, length, grid, classes, and rows."""

from dataclasses import dataclass, field

from pipeline.config import Experiment
from pipeline.config.plugins import DATASETS
from pipeline.crystals.tokens import length_of
from pipeline.errors import KinoflowError
from pipeline.flow.vocabulary import Vocabulary
from pipeline.images.dataset import ImageSource, image_source
from pipeline.images.imagedata import VIEWS
from pipeline.images.networks.image_condition import Grid
from pipeline.images.vqvae import check_side
from pipeline.inspect.plan.sizes import CLASSES, Rows, images_of, rows_of
from pipeline.tokens.token_data import SPLITS


@dataclass(frozen=True)
class Images:
    """Prepared images: squares of side `kept`. Networks see a side of `side`, and `views` of each training image."""

    rows: Rows
    kept: int
    side: int
    channels: int
    levels: int
    views: int


@dataclass(frozen=True)
class Shape:
    """What the size of networks depends on, and how many rows there are, as far as known."""

    vocabulary: Vocabulary
    length: int
    rows: Rows
    grid: Grid | None = None
    classes: int = 0
    images: Images | None = None
    evaluation: int = 0  # further sets of the size of the test split
    notes: tuple[str, ...] = field(default=())


def shape_of(name: str, experiment: Experiment) -> Shape:
    """Return the shape of the data of the experiment `name`."""
    chosen = DATASETS.chosen(experiment.data)
    data_set, options = chosen.plugin, chosen.options
    vocabulary = data_set.vocabulary(options)
    if data_set.IMAGES:
        return _of_images(name, experiment, vocabulary, image_source(options))
    length = data_set.length(options)
    if length is None and data_set.CRYSTALS:
        length = length_of(options.max_atoms)
    if length is None:
        file = f"{chosen.module.replace('.', '/')}.py"
        raise KinoflowError(f"experiments.{name}.data: {file} does not say how long sequences are; add length(options)")
    rows = rows_of(chosen.name, options)
    unknown = [split for split in SPLITS if rows[split] is None]
    note = f"{name}: the number of rows of {', '.join(unknown)} in {chosen.name} is unknown until they are prepared"
    further = data_set.evaluation_sets(options)
    return Shape(vocabulary, length, rows, evaluation=further, notes=(note,) if unknown else ())


def _of_images(name: str, experiment: Experiment, vocabulary: Vocabulary, source: ImageSource) -> Shape:
    plugin, options = source.plugin, source.options
    side, channels, found = plugin.side(options), plugin.channels(options), images_of(source.name, options)
    views = VIEWS[plugin.augmentation(options)]
    kept = round(side * plugin.margin(options))
    images = Images(found, kept, side, channels, source.levels, views)
    grid = (side, side, channels)
    if experiment.tokenizer is not None:
        check_side(side, experiment.tokenizer.network)
        places = side // experiment.tokenizer.network.down
        grid = (places, places, 1)
    notes = []
    if any(number is None for number in found.values()):
        notes.append(f"{name}: the number of images in {source.name} is unknown until they are read")
    classes, note = _classes(name, source)
    rows = found | {"train": None if found["train"] is None else views * found["train"]}
    length = grid[0] * grid[1] * grid[2]
    return Shape(vocabulary, length, rows, grid, classes, images, notes=(*notes, *note))


def _classes(name: str, source: ImageSource) -> tuple[int, list[str]]:
    """Return the number of classes, and a note if it is a guess."""
    told = source.plugin.class_count(source.options)
    if told is not None:
        return told, []
    folders = {path.name for path in source.inputs if path.is_dir()}
    if len(folders) > 1:
        return len(folders), []
    published = CLASSES.get(source.name, 1)
    return published, [f"{name}: the folder of {source.name} is not there; assumed to have {published} classes"]
