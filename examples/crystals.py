"""Crystals in ten lines: a trained network generates them, CHGNet relaxes them, and they are evaluated."""

import kinoflow

if __name__ == "__main__":  # relaxing starts processes, which read this file again
    model = kinoflow.load_weights("mp20_part_ordered")  # or, after the demo, kinoflow.trained("mask_ko")
    structures = model.generate(4, formula="NaCl", seed=0)
    relaxed = kinoflow.relax(structures, steps=20)
    for structure, after in zip(structures, relaxed, strict=True):
        print(structure.composition.formula, f"{after.energy_per_atom:.3f} eV/atom", after.reason)
    scores = kinoflow.evaluate(structures, "results/evaluated", relax=1, weights="mp20_part_ordered")
    print({name: value for name, value in scores.items() if name in ("structural_validity", "uniqueness", "novelty")})
