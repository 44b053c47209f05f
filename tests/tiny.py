"""Configurations whose every stage takes a moment."""

import json
from pathlib import Path
from typing import Any

TINY: dict[str, Any] = {
    "scale": "tiny",
    "seed": 0,
    "experiments": {
        "checkerboard": {
            "data": {"name": "checkerboard", "levels": 8, "squares": 2, "train": 300, "validation": 40, "test": 120},
            "model": {"name": "mlp", "width": 16, "depth": 1, "dropout": 0.1},
            "training": {"steps": 20, "batch": 32, "checkpoint_every": 5, "validate_every": 10, "log_every": 4},
            "sampling": {"count": 110, "steps": 4, "block": 20, "shards": 2, "frames": [0, 0.5, 1]},
            "scoring": {"known_distribution": {}, "likelihood_bound": {"sequences": 20, "points": 4}},
            "figure": "boards",
            "runs": {
                "mask_linear": {"path": {"name": "mask", "scheduler": "linear"}, "loss": "mixture_elbo"},
                "metric": {"path": {"name": "metric", "lp": 2, "a": 1, "c": 3}, "loss": "cross_entropy"},
            },
        }
    },
}

# Of crystals: two runs on the user's own structures, which `write_salts` writes. The hull is given, so that nothing is
# fetched.
TINY_MATERIALS: dict[str, Any] = {
    "data": {"name": "structures", "path": "salts.extxyz", "max_atoms": 4},
    "model": {"name": "crystal_dit", "width": 16, "depth": 1, "heads": 2, "dropout": 0.1},
    "training": {"steps": 30, "batch": 8, "learning_rate": 0.01, "validate_every": 30, "log_every": 10, "ema": 0.5},
    "sampling": {"count": 3, "steps": 3, "block": 2, "temperature": 0.7},
    "scoring": {"crystal_validity": {}, "crystal_coverage": {}, "crystal_distributions": {}, "crystal_stability": {}},
    "figure": "crystals",
    "paper": "tab:material_generation",
    "crystals": {
        "relaxation": {"count": 1, "steps": 1},
        "hull": "entries.json",
        "calibration": 2,
        "prediction": {"compositions": 2, "samples": 2},
    },
    "runs": {
        "ar": {
            "path": None,
            "model": {"name": "crystal_autoregressive", "width": 16, "depth": 1, "heads": 2, "dropout": 0.1},
        },
        "metric": {
            "path": {"name": "metric", "lp": [2, 2, 2, 1, 1], "a": 2, "c": [100, 50, 10, 5, 1]},
            "loss": "cross_entropy",
        },
    },
}

# Of text: two runs on the user's own file, which `write_rhymes` writes; one judges the other.
TINY_TEXT: dict[str, Any] = {
    "data": {
        "name": "text",
        "corpus": {"name": "files", "path": "rhymes"},
        "tokenizer": "bytes",
        "length": 16,
        "held_out": 0.2,
    },
    "model": {"name": "text_dit", "width": 16, "depth": 1, "heads": 2, "dropout": 0.0, "condition": 8},
    "training": {"steps": 12, "batch": 8, "validate_every": 12, "log_every": 6, "ema": 0.5},
    "sampling": {"count": 6, "steps": 4, "block": 4},
    "sweep": {"steps": [2]},
    "scoring": {
        "perplexity": {"sequences": 6, "points": 4, "batch": 4},
        "generative_perplexity": {"judge": {"name": "run", "run": "ar"}},
    },
    "figure": "perplexities",
    "paper": "tab:elbo_comparison",
    "runs": {
        "ar": {
            "path": None,
            "model": {"name": "text_autoregressive", "width": 16, "depth": 1, "heads": 2, "dropout": 0.0},
        },
        "mask_ko": {"path": {"name": "mask", "scheduler": "kinetic_optimal"}, "loss": "mixture_elbo"},
    },
}


# Of images: digits that come with scikit-learn, so that no network is needed. A classifier of a few steps gives the
# features.
DIGITS: dict[str, Any] = {"name": "digits", "train": 60, "validation": 10, "test": 30}
TINY_FEATURES: dict[str, Any] = {"name": "classifier", "width": 8, "features": 4, "steps": 4, "batch": 16}

TINY_PIXELS: dict[str, Any] = {
    "data": {"name": "pixels", "images": DIGITS},
    "model": {
        "name": "image_unet",
        "channels": 8,
        "depth": 1,
        "multipliers": [1, 2],
        "head_channels": 8,
        "attention": [4],
        "dropout": 0.0,
        "conditional": True,
    },
    "training": {"steps": 4, "batch": 8, "validate_every": 4, "log_every": 2, "ema": 0.5},
    "sampling": {"count": 24, "steps": 4, "block": 24},
    "sweep": [{"runs": ["metric"], "steps": [2]}, {"runs": ["metric"], "velocity": ["campbell"], "guidance": [2.0]}],
    "search": {"runs": ["metric"], "steps": [2], "corrector": [0, 1], "count": 12},
    "scoring": {"frechet_distance": {"features": TINY_FEATURES}},
    "figure": "images",
    "paper": "fig:cifar10_fid_vs_nfe",
    "runs": {
        "mask_cubic": {"path": {"name": "mask", "scheduler": "cubic"}, "loss": "cross_entropy"},
        "metric": {"path": {"name": "metric", "lp": 2, "a": 1, "c": 3}, "loss": "cross_entropy"},
    },
}

TINY_LATENTS: dict[str, Any] = {
    "data": {"name": "codes", "images": DIGITS, "codes": 16},
    "tokenizer": {
        "network": {"channels": 8, "multipliers": [1, 2], "blocks": 1, "latent": 8, "code_features": 4},
        "loss": {
            "perceptual": 0,
            "adversarial": 0.1,
            "adversarial_from": 2,
            "discriminator_channels": 4,
            "discriminator_layers": 1,
        },
        "training": {"steps": 6, "batch": 8, "validate_every": 6, "log_every": 2, "ema": 0.5},
    },
    "model": {"name": "image_transformer", "width": 16, "depth": 1, "heads": 2, "multiple": 8},
    "training": {"steps": 4, "batch": 8, "validate_every": 4, "log_every": 2, "ema": 0.5},
    "sampling": {"count": 24, "steps": 4, "block": 24},
    "sweep": {"runs": ["ar"], "guidance": [2.0]},
    "scoring": {"frechet_distance": {"features": TINY_FEATURES}},
    "figure": "images",
    "paper": "tab:latent_imagenet",
    "runs": {
        "ar": {
            "path": None,
            "model": {"name": "image_autoregressive", "width": 16, "depth": 1, "heads": 2, "multiple": 8},
        },
        "metric": {"path": {"name": "metric", "lp": 2, "a": 1, "c": 3}, "loss": "cross_entropy"},
    },
}


def write_rhymes(folder: Path) -> None:
    """Write a folder of twenty short documents."""
    (folder / "rhymes").mkdir()
    for number in range(20):
        words = " ".join(f"{count} green bottles" for count in range(number, number + 12))
        (folder / "rhymes" / f"{number:02d}.txt").write_text(f"{words} hanging on the wall.\n")


def write_salts(folder: Path) -> None:
    """Write 40 alkali halides of two atoms as structures, and made-up energies of their elements and of NaCl."""
    alkali, halogens = ("Li", "Na", "K", "Rb", "Cs"), ("F", "Cl", "Br", "I")
    with (folder / "salts.extxyz").open("w") as stream:
        for number, metal, halogen in ((n, a, b) for n in range(2) for a in alkali for b in halogens):
            side = 2.8 + 0.2 * alkali.index(metal) + 0.3 * halogens.index(halogen) + 0.1 * number
            cell = " ".join(f"{side if row == column else 0:.3f}" for row in range(3) for column in range(3))
            stream.write(f'2\nLattice="{cell}" Properties=species:S:1:pos:R:3 pbc="T T T"\n')
            stream.write(f"{metal} 0 0 0\n{halogen} {side / 2} {side / 2} {side / 2}\n")
    entries = [
        {"entry_id": name, "composition": {name: 1}, "energy": -2.0, "correction": 0.0} for name in (*alkali, *halogens)
    ]
    entries.append({"entry_id": "NaCl", "composition": {"Na": 1, "Cl": 1}, "energy": -8.0, "correction": 0.0})
    modules = {"@module": "pymatgen.entries.computed_entries", "@class": "ComputedEntry"}
    (folder / "entries.json").write_text(json.dumps([entry | modules for entry in entries]))
