"""Broken formulas of likelihood bounds and scores."""

BOUNDS = "tests/laws/test_bounds.py"
INTEGRANDS = "tests/laws/test_integrands.py"
ROWS = "tests/benchmarks/test_losses.py"
SCORES = "tests/laws/test_scores_and_text_bounds.py"

# name: (tests that must notice, file, original text, replacement)
MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    "marginal: posterior not used": (
        INTEGRANDS,
        "rates.py",
        'torch.einsum("nc,nck->nk", weights,',
        'torch.einsum("nc,nck->nk", weights**2,',
    ),
    "general bound: sign": (
        INTEGRANDS,
        "elbo.py",
        "(conditional - marginal + torch.where",
        "(marginal - conditional + torch.where",
    ),
    "mixture bound: 1 + log p": (
        INTEGRANDS,
        "mixture_bounds.py",
        "* (1 + logit - log_total)",
        "* (1 - logit + log_total)",
    ),
    "mixture bound: own token": (INTEGRANDS, "row_terms.py", "row.scatter_(-1, here, 0.0)", "row"),
    "masked bound: rate": (INTEGRANDS, "mixture_bounds.py", "* (logit - log_total)", "* (1 + logit - log_total)"),
    "losses: gradient of the own token": (ROWS, "row_terms.py", "-(of_sum * at_x_t)", "(of_sum * at_x_t)"),
    "losses: gradient of the sum": (ROWS, "row_terms.py", "of_total - of_sum * elsewhere", "of_total"),
    "score entropy: tokens of the source": (ROWS, "score.py", "(share.log() - 1) * mass", "(share.log() + 1) * mass"),
    "score entropy: constant": (
        INTEGRANDS,
        "score.py",
        "torch.special.xlogy(ratio_x1, ratio_x1) - ratio_x1",
        "torch.special.xlogy(ratio_x1, ratio_x1) + ratio_x1",
    ),
    "score: inverse": (INTEGRANDS, "score.py", "weights = (score - (1 - kappa)", "weights = (score + (1 - kappa)"),
    "score: arguments of Q swapped": (
        INTEGRANDS,
        "score.py",
        "mixture.source_prob.on(z.device)[kinds, z])[..., None]",
        "mixture.source_prob.on(z.device)[kinds, 0])[..., None]",
    ),
    "scores: odds of kappa": (
        SCORES,
        "score.py",
        "return torch.log(kappa) - torch.log1p(-kappa)",
        "return torch.log(kappa) + torch.log1p(-kappa)",
    ),
    "scores: a uniform first guess": (SCORES, "score.py", "- math.log(path.vocabulary.size - 1)", ""),
    "scores: that of the own token": (SCORES, "score.py", ".scatter(-1, z[..., None], 0.0)  # s(z, z) = 1", ""),
    "scores: sign of the bound": (
        SCORES,
        "score.py",
        "return -score_entropy(path, logits",
        "return score_entropy(path, logits",
    ),
    "bound: speed of kappa": (SCORES, "likelihood.py", "any_token) * (1 - kappa)", "any_token)"),
    "likelihood: change of variable": (BOUNDS, "likelihood.py", "* (1 - kappa)\n", "* 1.0\n"),
    "likelihood: error": (BOUNDS, "likelihood.py", ".square().sum(0)", ".square().sum(0) * 4"),
    "likelihood: shift of the grid": (
        BOUNDS,
        "likelihood.py",
        ".square() / 12",
        ".square() / 12e9",
    ),
}
