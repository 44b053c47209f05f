"""Broken formulas of paths, schedulers and sources."""

CLOSED_FORMS = "tests/laws/test_closed_forms.py"
SCHEDULERS = "tests/laws/test_geodesics_and_schedulers.py"
PATH = "tests/laws/test_every_path.py"
SAMPLER = "tests/flow/test_sampler.py"
SOURCES = "tests/flow/test_sources.py"
METRIC = "tests/flow/test_metric_path.py"

# name: (tests that must notice, file, original text, replacement)
MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    "mixture: kappa and 1 - kappa": (
        PATH,
        "paths/mixture.py",
        "log_kappa = torch.log(-torch.expm1(-clock))",
        "log_kappa = -clock",
    ),
    "mixture: derivative": (
        PATH,
        "paths/mixture.py",
        "gain = rest * (1 - at(source, x1))",
        "gain = rest * (1 + at(source, x1))",
    ),
    "mixture: derivative of the logarithm": (
        CLOSED_FORMS,
        "paths/mixture.py",
        "(-torch.ones_like(source))",
        "(torch.ones_like(source))",
    ),
    "metric: sign of the exponent": (
        PATH,
        "paths/metric.py",
        "distances * -beta.clamp",
        "distances * beta.clamp",
    ),
    "metric: derivative": (
        PATH,
        "paths/metric.py",
        "(prob * finite).sum(-1, keepdim=True) - finite",
        "finite - (prob * finite).sum(-1, keepdim=True)",
    ),
    "metric: power of a kind": (
        METRIC,
        "paths/metric.py",
        "distances.double() ** power[..., None]",
        "distances.double() ** power.max()",
    ),
    "metric: beta of a kind": (METRIC, "paths/metric.py", "self.beta.within(tokens)", "self.beta"),
    "beta: rate": (PATH, "beta.py", "a.log() + torch.xlogy(a - 1, t)", "a.log() - torch.xlogy(a - 1, t)"),
    "geodesic: weights": (
        SCHEDULERS,
        "paths/geodesic.py",
        "a = weight_p * root_p + weight_q * root_q",
        "a = weight_q * root_p + weight_p * root_q",
    ),
    "geodesic: derivative": (
        PATH,
        "paths/geodesic.py",
        "torch.cos(t * angle) * root_q - torch.cos",
        "torch.cos(t * angle) * root_q + torch.cos",
    ),
    "kinetic-optimal scheduler: printed without its 1 -": (
        SCHEDULERS,
        "schedulers.py",
        "torch.log(1 - t) + torch.log(bend)",
        "torch.log(t) + torch.log(bend)",
    ),
    "kinetic-optimal scheduler: rate": (
        SCHEDULERS,
        "schedulers.py",
        "torch.cos(rest) / torch.sinc",
        "torch.sin(rest) / torch.sinc",
    ),
    "cubic: exponent": (SCHEDULERS, "schedulers.py", "return Polynomial(3)", "return Polynomial(-3 + 6.5)"),
    "polynomial: rate": (
        SCHEDULERS,
        "schedulers.py",
        "self.exponent * t ** (self.exponent - 1)",
        "self.exponent * t ** (self.exponent + 1)",
    ),
    "cosine: rate": (SCHEDULERS, "schedulers.py", "torch.tan(math.pi / 2 * t)", "torch.tan(math.pi / 4 * t)"),
    "autodiff: derivative": (
        PATH,
        "paths/base.py",
        "log_prob.exp() * log_prob_dot, 0.0)",
        "-log_prob.exp() * log_prob_dot, 0.0)",
    ),
    "statistics: sign of beta_0": (SOURCES, "sources.py", "logits = -beta_0", "logits = beta_0"),
    "absorbed: unmasked tokens of a user's path": (
        SAMPLER,
        "paths/base.py",
        "return Table(~reached)",
        "return Table(~reached & False)",
    ),
}
