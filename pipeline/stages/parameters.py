"""The parameters of stages and commands: how the command line reads them, and the help that several share."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

READ, WRITTEN, FOLDER = "read", "written", "folder"  # marks of parameters: files to read and write, folders to write to

Input = Annotated[Path, READ]
OptionalInput = Annotated[Path | None, READ]
Inputs = Annotated[list[Path], Parameter(consume_multiple=True, negative=()), READ]
OptionalInputs = Annotated[tuple[Path, ...], Parameter(consume_multiple=True, negative=(), show_default=False), READ]
Output = Annotated[Path, WRITTEN]
Outputs = Annotated[list[Path], Parameter(consume_multiple=True, negative=()), WRITTEN]
OptionalOutput = Annotated[Path | None, WRITTEN]
OutputFolder = Annotated[Path, FOLDER]
Texts = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative=(), show_default=False)]
Count = Annotated[int, Parameter(validator=Number(gte=0))]
Positive = Annotated[int, Parameter(validator=Number(gte=1))]
Seed = Annotated[int, Parameter(help="seed of the draws", validator=Number(gte=0))]

# What several take, with its help.
ConfigFile = Annotated[Path, Parameter(help="YAML file; what it leaves out is that of its scale, config/SCALE.yaml")]
Settings = Annotated[
    tuple[str, ...],
    Parameter(
        consume_multiple=True,
        negative=(),
        show_default=False,
        help="values over those of the file, e.g. experiments.checkerboard.training.steps=100",
    ),
]
Experiment = Annotated[str, Parameter(help="name of the experiment in the configuration")]
Run = Annotated[str, Parameter(help="name of the run in the experiment")]
NewTokens = Annotated[Path, Parameter(help="tokens to write (.safetensors)"), WRITTEN]
Tokens = Annotated[Path, Parameter(help="tokens from `prepare`, `prepare-pixels` or `encode`"), READ]
Weights = Annotated[Path, Parameter(help="weights from `train`"), READ]
Samples = Annotated[Path, Parameter(help="samples from `sample`, `gather` or `reference`"), READ]
NewSamples = Annotated[Path, Parameter(help="samples to write (.safetensors)"), WRITTEN]
NewScores = Annotated[Path, Parameter(help="scores to write (.json)"), WRITTEN]
NewTable = Annotated[Path, Parameter(help="table to write (.parquet)"), WRITTEN]
NewPicture = Annotated[Path, Parameter(help="picture to write (.png)"), WRITTEN]
Scores = Annotated[OptionalInputs, Parameter(help="scores from `score`")]
Images = Annotated[Path, Parameter(help="images from `prepare-images`"), READ]
Rows = Annotated[Path, Parameter(help="the data set's structures from `prepare`"), READ]
HullPoints = Annotated[Path, Parameter(help="hull from `hull`"), READ]
ImageReference = Annotated[Path, Parameter(help="description from `image-reference`"), READ]
TrainedTokenizer = Annotated[Path, Parameter(help="weights from `train-tokenizer`"), READ]
Tokenizer = Annotated[Path | None, Parameter(help="weights from `train-tokenizer`, for codes only"), READ]
Classifier = Annotated[Path | None, Parameter(help="weights from `train-classifier`, if its features are used"), READ]
CheckpointFolder = Annotated[Path, Parameter(help="folder of checkpoints, which are kept"), FOLDER]
EventFolder = Annotated[Path | None, Parameter(help="folder for TensorBoard (default: none is written)"), FOLDER]
JournalFolder = Annotated[
    Path | None, Parameter(help="folder of finished work, to go on from (default: none is kept)"), FOLDER
]
NewWeights = Annotated[Path, Parameter(help="weights to write (.safetensors)"), WRITTEN]
Metrics = Annotated[Path, Parameter(help="last losses to write (.json)"), WRITTEN]
History = Annotated[Path, Parameter(help="losses along the training to write (.csv)"), WRITTEN]
Csv = Annotated[Path, Parameter(help="table to write, with all digits"), WRITTEN]
Markdown = Annotated[Path, Parameter(help="table to write, rounded"), WRITTEN]
Numbers = Annotated[Path, Parameter(help="numbers of our rows to write, to compare versions by (.json)"), WRITTEN]
Gpus = Annotated[int, Parameter(help="GPUs to use, on each node; 0 is the CPU", validator=Number(gte=0))]
Nodes = Annotated[int, Parameter(help="nodes of the SLURM job to use", validator=Number(gte=1))]
Shard = Annotated[int, Parameter(help="number of this shard, from 0", validator=Number(gte=0))]
Shards = Annotated[int, Parameter(help="number of shards", validator=Number(gte=1))]
