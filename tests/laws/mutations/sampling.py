"""Broken formulas of jumps, steps and the sampler."""

CLOSED_FORMS = "tests/laws/test_closed_forms.py"
EVERY = "tests/laws/test_every_path_and_velocity.py"
STEPS = "tests/laws/test_steps.py"
INTEGRANDS = "tests/laws/test_integrands.py"
SAMPLER = "tests/flow/test_sampler.py"
METRIC = "tests/flow/test_metric_path.py"
ALLOWED = "tests/laws/test_allowed.py"
FAST_STEPS = "tests/laws/test_fast_steps.py"

# name: (tests that must notice, file, original text, replacement)
MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    "mixture: return rate": (
        CLOSED_FORMS,
        "closed_forms/mixture.py",
        "* source_x1 - torch.expm1(-clock)",
        "* source_x1 + torch.expm1(-clock)",
    ),
    "mixture: closed velocity": (
        CLOSED_FORMS,
        "closed_forms/mixture.py",
        "scatter(-1, x1[..., None], 1.0) * (at(source, z) > 0)",
        "scatter(-1, x1[..., None], 2.0) * (at(source, z) > 0)",
    ),
    "mixture jump: mass of x1 not cut out": (
        SAMPLER,
        "closed_forms/mixture.py",
        "passed + torch.where(passed >= before, source_x1, 0.0)",
        "passed",
    ),
    "mixture jump: rate": (
        SAMPLER,
        "closed_forms/mixture.py",
        "self.rate = ((z != x1) & (source[path.vocabulary.kinds_of(x1), z] > 0)).double()",
        "self.rate = 2 * ((z != x1) & (source[path.vocabulary.kinds_of(x1), z] > 0)).double()",
    ),
    "metric: closed velocity": (
        CLOSED_FORMS,
        "closed_forms/metric.py",
        "closer = from_z - distances\n",
        "closer = distances - from_z\n",
    ),
    "metric: numbers within a kind": (
        FAST_STEPS,
        "steps.py",
        "part.inside(x1[here]), t, t_next",
        "inside.clamp(min=0), t, t_next",
    ),
    "metric: tokens outside the kind": (
        FAST_STEPS,
        "steps.py",
        "part.outside(arrived), z[here])",
        "arrived, z[here])",
    ),
    "sorted jump: what is lost": (
        METRIC,
        "sorted_jumps.py",
        "- self._level[here] * self._weights",
        "+ self._level[here] * self._weights",
    ),
    "sorted jump: bisection": (
        METRIC,
        "categorical.py",
        "torch.where(passed, low, middle + 1)",
        "torch.where(passed, low, middle)",
    ),
    "sorted jump: scale of Campbell's rates": (
        METRIC,
        "sorted_jumps.py",
        "torch.exp(from_z) * there",
        "torch.exp(-from_z) * there",
    ),
    "hub jump: rate to x1": (
        METRIC,
        "sorted_jumps.py",
        "(-state.log_prob_dot[which, z])",
        "(state.log_prob_dot[which, z])",
    ),
    "metric: bound of the rate": (
        FAST_STEPS,
        "closed_forms/metric.py",
        "* (1 + _ROUNDING)",
        "* 0.98",
    ),
    "shared rows: of another pair": (
        METRIC,
        "jumps.py",
        "self.rate = rows.rate[which]",
        "self.rate = rows.rate[which.flip(0)]",
    ),
    "marginal of a mixture: lambda": (
        INTEGRANDS,
        "closed_forms/mixture.py",
        "rates = token_rates(self.path, t) * posterior",
        "rates = posterior",
    ),
    "always-valid: sign": (
        STEPS,
        "steps.py",
        "-torch.expm1(-rate * path.increment",
        "torch.expm1(rate * path.increment",
    ),
    "exact step: first order only": (
        STEPS,
        "steps.py",
        "-torch.expm1(-rate * (path.clock(x1, t_next) - path.clock(x1, t)))",
        "-torch.expm1(-rate * path.increment(x1, t, t_next))",
    ),
    "euler: not cut": (
        EVERY,
        "steps.py",
        "return (rate * path.increment(x1, t, t_next)).clamp(max=1)",
        "return rate * path.increment(x1, t, t_next)",
    ),
    "posterior: unmasked tokens may change": (
        SAMPLER,
        "posterior.py",
        "excluded = ~path.vocabulary.targets(kinds) | absorbed\n",
        "excluded = ~path.vocabulary.targets(kinds) | (absorbed & False)\n",
    ),
    "allowed: mass outside of the sets": (
        ALLOWED,
        "posterior.py",
        "possible.masked_fill(~allowed.sets[:, columns][allowed.which[which]], -torch.inf)",
        "possible.masked_fill(~allowed.sets[:, columns][allowed.which[which]], -3.0)",
    ),
    "allowed: sets of other tokens": (
        ALLOWED,
        "allowed.py",
        "which if places is None else which[places]",
        "which if places is None else which[: len(places)]",
    ),
    "exact posterior: q forgotten": (
        SAMPLER,
        "posterior.py",
        "joint = log_likelihood.sum(-1) + self._log_q",
        "joint = log_likelihood.sum(-1)",
    ),
    "mixture jump: limit of the corrector": (
        SAMPLER,
        "closed_forms/mixture.py",
        "torch.minimum(weight, limit * prob_x1)",
        "torch.minimum(weight, limit)",
    ),
    "corrector: limit not symmetric": (
        EVERY,
        "jumps.py",
        "most = self.limit[..., None] * prob\n",
        "most = (self.limit[..., None] / prob.shape[-1]).expand_as(prob)\n",
    ),
    "velocity out of a state that the source excludes": (
        EVERY,
        "closed_forms/mixture.py",
        "scatter(-1, x1[..., None], 1.0) * (at(source, z) > 0)",
        "scatter(-1, x1[..., None], 1.0)",
    ),
    "corrector: at the earlier time": (
        STEPS,
        "steps.py",
        "net_rates = rates_of(self.path, self.velocity).net(x1, y, t_next)",
        "net_rates = rates_of(self.path, self.velocity).net(x1, y, t)",
    ),
    "corrector: in the kernel only": (
        SAMPLER,
        "steps.py",
        "lambda rate, x1: rate)",
        "lambda rate, x1: 0.9 * rate)",
    ),
    "refresh: weight times the velocity": (
        EVERY,
        "jumps.py",
        "return most if self.weight is None",
        "return net_rates.abs() if self.weight is None",
    ),
    "remask: share of all tokens": (
        STEPS,
        "correctors.py",
        "weight / elsewhere.clamp(min=1e-300)",
        "weight",
    ),
    "the paper's step: h": (
        STEPS,
        "steps.py",
        "rate * ((t_next - t) * path.clock_rate(x1, t))",
        "rate * path.increment(x1, t, t_next)",
    ),
    "guidance: sign": (SAMPLER, "guidance.py", "without + scale *", "without - scale *"),
    "temperature: multiplies": (SAMPLER, "categorical.py", "logits / temperature if", "logits * temperature if"),
}
