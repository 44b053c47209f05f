"""One figure of a study: what each recipe reaches."""

from pathlib import Path

import pandas as pd

from pipeline.store.atomic import replacing


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw the validation loss of each recipe, the best on top, and its shares of valid samples if there are any."""
    from matplotlib import pyplot as plt

    table = table.sort_values("validation_loss", ascending=False)
    if table["minutes"].nunique() > 1:
        table = table.assign(recipe=[f"{one.recipe} ({one.minutes:g} min)" for one in table.itertuples()])
    shares = [column for column in table.columns if column.endswith("_valid")]
    figure, axes = plt.subplots(1, 1 + bool(shares), figsize=(10, 1 + 0.35 * len(table)), sharey=True, squeeze=False)
    axes[0, 0].barh(table["recipe"], table["validation_loss"], color="#4878a8")
    axes[0, 0].set_xlim(left=0.9 * table["validation_loss"].min())
    axes[0, 0].set_xlabel("cross-entropy of held-out tokens (nats)")
    for column in shares:
        axes[0, 1].plot(table[column], table["recipe"], "o", label=column.removesuffix("_valid"))
    if shares:
        axes[0, 1].set_xlabel("share of samples that are valid")
        axes[0, 1].set_xlim(0, 1)
        axes[0, 1].legend()
    minutes = ", ".join(f"{value:g}" for value in sorted(table["minutes"].unique()))
    figure.suptitle(f"{minutes} core-minutes each")
    figure.tight_layout()
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=150, format="png")
    plt.close(figure)
