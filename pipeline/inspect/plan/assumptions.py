"""What the numbers of a sheet assume and what they leave out, in words."""

from pipeline.inspect.plan.disk import COPIES, MOMENTS
from pipeline.inspect.plan.estimate import Estimate
from pipeline.inspect.plan.gpus import GPUS
from pipeline.inspect.plan.measure import STEPS
from pipeline.training.checkpoint import KEPT


def assumptions_of(estimate: Estimate) -> list[str]:
    """Return the assumptions one by one."""
    peaks = "; ".join(
        f"{gpu.name} {gpu.float32 / 1e12:g} and {f'{gpu.bfloat16 / 1e12:g}' if gpu.bfloat16 else 'none'} ({gpu.source})"
        for gpu in GPUS.values()
    )
    sheets = estimate.sheet.experiments
    notes = [note for sheet in sheets.values() for note in sheet.shape.notes]
    uncounted = sorted({metric for sheet in sheets.values() for metric in sheet.uncounted})
    return [
        "Jobs are those of an empty results folder; files that data.cache has already are not fetched again.",
        "FLOPs are those of matrix products, convolutions and attention, two for each multiplication. Elementwise work "
        "(norms, softmax, noise, losses, rates of paths, drawing) is not counted. Causal attention is counted in full, "
        "though it is half.",
        "A training step is three forward passes of its batch; validations are counted where their rows are known. The "
        "VQVAE: three of its own, LPIPS with the gradients of one image, eight of the discriminator once it starts.",
        "Sampling is one forward pass per step, two with guidance; an autoregressive network caches keys and values "
        "and takes one pass for all tokens together. Sweeps and searches are counted.",
        "GPU-hours = FLOPs / (peak x utilisation). The utilisation is assumed to be "
        f"{estimate.utilisation:g} of the peak in all work (--utilisation); token-by-token sampling, small networks "
        "and several nodes reach less. Waiting, loading and writing are not counted.",
        f"Peaks in TFLOP/s of dense matrices, float32 and bfloat16: {peaks}. bf16-mixed on a GPU without bfloat16 is "
        "taken at its float32 peak. Training follows training.precision; sampling, scoring and encoding compute in "
        "float32 (convolutions may be faster: PyTorch lets them use TF32).",
        *([f"Not counted: the networks from elsewhere of {', '.join(uncounted)}."] if uncounted else []),
        *(["Not counted: relaxation with CHGNet, on CPUs."] if any(s.jobs["relax"] for s in sheets.values()) else []),
        f"Checkpoints hold {COPIES} copies of the weights (last and averaged) and {MOMENTS} moments for each "
        f"parameter, in float32; the last {KEPT} of each training are kept. Shards are assumed to exist for all "
        "runs at once. Logs, tables, figures, texts, relaxed crystals and packages are not counted.",
        *_of_measurements(estimate),
        *(f"{note}." for note in notes),
    ]


def _of_measurements(estimate: Estimate) -> list[str]:
    if not estimate.measured:
        return []
    return [
        f"Measured: {STEPS - 2} training steps of each network on made-up data, by the training loop itself; sampling "
        "and scoring here are taken at the same FLOP/s, on one device. A tokenizer is measured if data.cache has the "
        "weights of its LPIPS."
    ]
