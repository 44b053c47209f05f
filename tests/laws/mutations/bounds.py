"""Broken formulas of likelihood bounds and scores."""

BOUNDS = "tests/laws/test_bounds.py"
INTEGRANDS = "tests/laws/test_integrands.py"
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
        "torch.where(x_t != x1, rate_x1 * (1 + at",
        "torch.where(x_t != x1, rate_x1 * (1 - at",
    ),
    "masked bound: sum": (INTEGRANDS, "mixture_bounds.py", "squeeze(-1)) - (rates *", "squeeze(-1)) + (rates *"),
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
        "odds = torch.log(kappa) - torch.log1p(-kappa)",
        "odds = torch.log(kappa) + torch.log1p(-kappa)",
    ),
    "scores: a uniform first guess": (SCORES, "score.py", "- math.log(path.vocabulary.size - 1)", ""),
    "scores: that of the own token": (SCORES, "score.py", ".scatter(-1, z[..., None], 0.0)  # s(z, z) = 1", ""),
    "scores: sign of the bound": (
        SCORES,
        "score.py",
        "return -score_entropy(path, log_scores",
        "return score_entropy(path, log_scores",
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
