"""The model card of weights: what they were trained on and how, what they reach, their limits, and how to cite them."""

from collections.abc import Mapping
from typing import Any

import yaml

from pipeline.config import Experiment
from pipeline.config.plugins import DATASETS
from pipeline.weights.folder import Index

CITATION = """```bibtex
@inproceedings{shaul2025flow,
  title = {Flow Matching with General Discrete Paths: A Kinetic-Optimal Perspective},
  author = {Neta Shaul and Itai Gat and Marton Havasi and Daniel Severo and Anuroop Sriram and Peter Holderrieth and
            Brian Karrer and Yaron Lipman and Ricky T. Q. Chen},
  booktitle = {International Conference on Learning Representations},
  year = {2025},
}
```"""


def card(name: str, experiment: Experiment, index: Index) -> str:
    """Return the card in Markdown, with the entries at its top that the Hugging Face Hub reads."""
    record, run = index.record, experiment.runs[index.run]
    training = run.training.model_dump(mode="json", exclude={"resources", "checkpoint_every", "log_every"})
    settings = {
        "data": experiment.data.model_dump(mode="json"),
        "path": run.path.model_dump(mode="json") if run.path else "none: autoregressive",
        "loss": run.loss.model_dump(mode="json") if run.loss else "cross-entropy of the next token",
        "model": run.model.model_dump(mode="json"),
        "training": training,
    }
    lines = [
        "---",
        yaml.safe_dump({"license": record["licence"].lower().replace(" ", "-"), "library_name": "kinoflow"}).strip(),
        "---",
        f"# {name}",
        "",
        f"A network of {record['parameters'] / 1e6:.2f} million parameters, in numbers of 16 bits, trained with "
        f"Kinoflow {record['code']}. To use it:",
        "",
        f"```bash\npython -m pipeline {command_of(experiment)} --weights {name} --output results/{name}\n```",
        "",
        f"In place of the name, `--weights` takes the path of this folder, or `hub:user/{name}` if it is on the Hub.",
        "",
        f"**Data.** {record['data']}",
        "",
        f"**Licence of these weights.** {record['licence']}",
        "",
        "**Training.** All settings:",
        "",
        "```yaml",
        yaml.safe_dump(settings, sort_keys=False, width=110).strip(),
        "```",
        "",
        *_measured(record["scores"]),
        f"**Limits.** {record['limits']}",
        "",
        "**To cite.** The paper of the method, and this project with the version above:",
        "",
        CITATION,
    ]
    return "\n".join(lines) + "\n"


def command_of(experiment: Experiment) -> str:
    """Return the command that generates with the weights of an experiment."""
    plugin = DATASETS.load(experiment.data.name)
    return "generate-crystals" if plugin.CRYSTALS else "generate-text" if plugin.TEXT else "generate-images"


def _measured(scores: Mapping[str, Any] | None) -> list[str]:
    """Return the table of a file of scores, under the conditions that it names."""
    if scores is None:
        return ["**Metrics.** None were measured.", ""]
    conditions, metrics = scores["conditions"], scores["metrics"]
    lines = ["**Metrics**, with 95 % intervals where there are any. Measured under these conditions:", ""]
    lines += [f"- {name}: {value}" for name, value in conditions.items() if value is not None]
    lines += ["", "| metric | value | interval |", "|---|---|---|"]
    for name, value in metrics.items():
        if not name.endswith(("_low", "_high", "_error")):
            bounds = [metrics[name + bound] for bound in ("_low", "_high") if name + bound in metrics]
            interval = f"[{bounds[0]:.4g}, {bounds[1]:.4g}]" if len(bounds) == 2 else ""
            lines.append(f"| {name.replace('_', ' ')} | {value:.4g} | {interval} |")
    return [*lines, ""]
