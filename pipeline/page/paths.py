"""How probability moves from noise to data: p_t(x | x1) of each path of an experiment at times from 0 to 1."""

from typing import Any

import torch

from pipeline.config import Experiment
from pipeline.networks.saved import path_for
from pipeline.sampling.conditions import label
from pipeline.tokens.token_data import TokenData

STEPS = 25
MOST = 64  # tokens that are shown
KINDS_OF_CRYSTALS = ("length", "angle", "fraction", "element")


def paths_of(block: Experiment, data: TokenData) -> list[dict[str, Any]]:
    """Return the distinct paths of an experiment's runs, each with the runs on it and its frames."""
    named: dict[str, dict[str, Any]] = {}
    for name, run in block.runs.items():
        if run.path is not None and not run.weights:
            key = run.path.model_dump_json()
            if key not in named:
                path = path_for(run.path, data)
                names = KINDS_OF_CRYSTALS if block.crystals else ()
                kinds = [frames_of(path, data, kind, names) for kind in range(data.vocabulary.kinds)]
                shown = [frames for frames in kinds if frames is not None]
                named[key] = {"label": label(run.path.name, run.path.options), "runs": [], "kinds": shown}
            named[key]["runs"].append(name)
    return list(named.values())


def frames_of(path: Any, data: TokenData, kind: int, names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the probabilities at positions of a kind for data x1 in its middle; None if it has one token only.

    Of a large vocabulary, the tokens that are likeliest at some time are shown; `rest` is what the others add up to.
    """
    vocabulary = data.vocabulary
    targets = vocabulary.targets(torch.tensor([kind]))[0].nonzero().squeeze(-1)
    if len(targets) < 2:
        return None
    x1, times = targets[len(targets) // 2], torch.arange(STEPS, dtype=torch.float64) / STEPS
    p = path.log_prob(x1.expand(STEPS), times).double().exp()
    at_the_end = torch.zeros_like(p[:1])
    at_the_end[0, x1] = 1
    p = torch.cat([p, at_the_end])
    reached = p.amax(0)
    reached[targets] += 1e-9 / (1 + (targets - x1).abs())  # among the others, those next to x1 come first
    tokens = reached.topk(min(int((reached > 0).sum()), MOST)).indices.sort().values
    special = vocabulary.kind_of.values[tokens] < 0
    first = int(targets[0])
    labels = ["mask" if alone else str(int(token) - first) for token, alone in zip(tokens, special, strict=True)]
    return {
        "name": names[kind] if kind < len(names) else "token",
        "x1": str(int(x1) - first),
        "tokens": labels,
        "times": [*times.tolist(), 1.0],
        "p": [[round(value, 5) for value in row] for row in p[:, tokens].tolist()],
        "rest": [round(max(0.0, value), 5) for value in (1 - p[:, tokens].sum(1)).tolist()],
    }
