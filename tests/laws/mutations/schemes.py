"""Broken formulas of schemes and of fitted grids."""

SCHEMES = "tests/laws/test_carried_posteriors.py"
IN_SAMPLER = "tests/flow/test_schemes.py"
LAWS = "tests/known/test_scheme_laws.py"
FITTED = "tests/flow/test_fitted_grids.py"

# name: (tests that must notice, file, original text, replacement)
MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    "second order: coefficient of the old posterior": (
        SCHEMES,
        "schemes/theta_trapezoidal.py",
        "(1 - product) / product * carried",
        "(1 - product) * carried",
    ),
    "second order: not cut off": (
        SCHEMES,
        "schemes/theta_trapezoidal.py",
        "* carried).clamp(min=0)",
        "* carried).abs()",
    ),
    "second order: own token seen at the earlier time": (
        SCHEMES,
        "schemes/theta_trapezoidal.py",
        "before.log() + now - then",
        "before.log()",
    ),
    "second order: evaluations": (
        IN_SAMPLER,
        "schemes/theta_trapezoidal.py",
        "    evaluations = 2",
        "    evaluations = 1",
    ),
    "likelihood: of a mixture": (
        SCHEMES,
        "token_likelihoods.py",
        "own = torch.logaddexp(found, torch.log(-torch.expm1(-clock)))",
        "own = torch.log(-torch.expm1(-clock))",
    ),
    "likelihood: transposed": (
        SCHEMES,
        "token_likelihoods.py",
        "table[:, x1] = path.log_prob(x1, t.expand(x1.shape)).T",
        "table[x1] = path.log_prob(x1, t.expand(x1.shape))",
    ),
    "confidence: least sure first": (IN_SAMPLER, "schemes/confidence.py", "descending=True", "descending=False"),
    "confidence: rounded down": (IN_SAMPLER, "schemes/confidence.py", "_ROUNDING).ceil()", "_ROUNDING).floor()"),
    "confidence: noise that stays": (
        LAWS,
        "schemes/confidence.py",
        "score = sureness + self.noise(t_next)",
        "score = sureness + self.noise(0.0)",
    ),
    "fitted grid: shares of all but the last": (
        FITTED,
        "grids.py",
        "np.arange(1, steps) / steps * total[-1]",
        "np.arange(1, steps) / steps * total[-2]",
    ),
    "pilot: jumps alone": (
        FITTED,
        "fitting.py",
        "(change * (moved != x)).mean()",
        "(moved != x).double().mean()",
    ),
}
