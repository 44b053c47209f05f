"""Break one formula at a time and see whether the law tests notice: python tests/mutations.py [word in the name ...].

Each mutation is made in a copy of the package; the tests that guard the formula run on the copy and must fail.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLOSED_FORMS = "tests/laws/test_closed_forms.py"
EVERY = "tests/laws/test_every_path_and_velocity.py"
PATH = "tests/laws/test_every_path.py"
STEPS = "tests/laws/test_steps.py"
BOUNDS = "tests/laws/test_bounds.py"
SCORES = "tests/laws/test_scores_and_text_bounds.py"
SAMPLER = "tests/flow/test_sampler.py"
SOURCES = "tests/flow/test_sources.py"
METRIC = "tests/flow/test_metric_path.py"

# name: (the tests that must notice, file, what stands there, what is put in its place)
MUTATIONS: dict[str, tuple[str, str, str, str]] = {
    "kinetic-optimal: sign of dp(z) p(x)": (
        CLOSED_FORMS,
        "velocities/kinetic_optimal.py",
        "state.prob_dot - state.prob * at(state.log_prob_dot, z)",
        "state.prob_dot + state.prob * at(state.log_prob_dot, z)",
    ),
    "rank one: sign": (
        CLOSED_FORMS,
        "velocities/net_rates.py",
        "share_per_mass_z - share *",
        "share_per_mass_z + share *",
    ),
    "campbell: all tokens instead of the support": (
        CLOSED_FORMS,
        "velocities/campbell.py",
        "state.support.double()",
        "state.prob.new_ones(1).expand_as(state.prob)",
    ),
    "power: alpha ignored": (
        CLOSED_FORMS,
        "velocities/power.py",
        "torch.log_softmax(alpha * state",
        "torch.log_softmax(1.0 * state",
    ),
    "power infinity: ties": (
        CLOSED_FORMS,
        "velocities/power_infinity.py",
        "torch.where(tied.squeeze(-1), x1, likeliest)",
        "likeliest",
    ),
    "power infinity: least instead of most": (
        CLOSED_FORMS,
        "velocities/power_infinity.py",
        "state.log_prob.max(-1)",
        "state.log_prob.min(-1)",
    ),
    "laplacian: sign": (CLOSED_FORMS, "velocities/laplacian.py", "(f - at(f, z))", "(at(f, z) - f)"),
    "laplacian: scaling": (
        CLOSED_FORMS,
        "fluxes.py",
        "return scale * torch.linalg.solve(",
        "return torch.linalg.solve(",
    ),
    "optimal flux: sign": (
        CLOSED_FORMS,
        "fluxes.py",
        "(f[..., None] - f[..., None, :])",
        "(f[..., None, :] - f[..., None])",
    ),
    "divergence: sign": (
        EVERY,
        "fluxes.py",
        "off_diagonal.sum(-2) - off_diagonal.sum(-1)",
        "off_diagonal.sum(-1) - off_diagonal.sum(-2)",
    ),
    "kinetic energy: power": (CLOSED_FORMS, "fluxes.py", "flux**2 / rho", "flux / rho"),
    "corrector: positive part only": (
        EVERY,
        "velocities/net_rates.py",
        "return net_rates.abs()",
        "return net_rates.clamp(min=0)",
    ),
    "velocity from flux: states without mass": (
        EVERY,
        "velocities/net_rates.py",
        "torch.where(at(state.log_prob, z) > -torch.inf, net_rates, 0.0)",
        "net_rates",
    ),
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
        "passed + torch.where(passed >= before, self._source_x1, 0.0)",
        "passed",
    ),
    "mixture jump: rate": (
        SAMPLER,
        "closed_forms/mixture.py",
        "self.rate = ((z != x1) & (source[self._kinds, z] > 0)).double()",
        "self.rate = 2 * ((z != x1) & (source[self._kinds, z] > 0)).double()",
    ),
    "metric: sign of the exponent": (
        PATH,
        "paths/metric.py",
        "-beta * torch.where(outside",
        "beta * torch.where(outside",
    ),
    "metric: derivative": (PATH, "paths/metric.py", "mean - finite", "finite - mean"),
    "metric: closed velocity": (
        CLOSED_FORMS,
        "closed_forms/metric.py",
        "from_z - distances, 0.0)",
        "distances - from_z, 0.0)",
    ),
    "metric: power of a kind": (
        METRIC,
        "paths/metric.py",
        "distances.double() ** power[..., None]",
        "distances.double() ** power.max()",
    ),
    "metric: beta of a kind": (METRIC, "paths/metric.py", "path.beta.within(tokens)", "path.beta"),
    "metric: numbers within a kind": (
        METRIC,
        "closed_forms/metric.py",
        "part.inside(x1[here]), part.inside(z[here])",
        "part.inside(z[here]), part.inside(x1[here])",
    ),
    "metric: tokens outside the kind": (
        METRIC,
        "closed_forms/metric.py",
        "return self._part.outside(self._jump.destination(uniforms))",
        "return self._jump.destination(uniforms)",
    ),
    "sorted jump: what is lost": (
        METRIC,
        "sorted_jumps.py",
        "- self._level * self._weights",
        "+ self._level * self._weights",
    ),
    "sorted jump: bisection": (
        METRIC,
        "sorted_jumps.py",
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
    "shared rows: of another pair": (
        METRIC,
        "jumps.py",
        "self.rate = rows.rate[which]",
        "self.rate = rows.rate[which.flip(0)]",
    ),
    "beta: rate": (PATH, "schedulers.py", "a.log() + torch.xlogy(a - 1, t)", "a.log() - torch.xlogy(a - 1, t)"),
    "geodesic: weights": (
        CLOSED_FORMS,
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
        CLOSED_FORMS,
        "schedulers.py",
        "torch.log(1 - t) + torch.log(bend)",
        "torch.log(t) + torch.log(bend)",
    ),
    "kinetic-optimal scheduler: rate": (
        CLOSED_FORMS,
        "schedulers.py",
        "torch.cos(rest) / torch.sinc",
        "torch.sin(rest) / torch.sinc",
    ),
    "cubic: exponent": (CLOSED_FORMS, "schedulers.py", "return Polynomial(3)", "return Polynomial(-3 + 6.5)"),
    "polynomial: rate": (
        CLOSED_FORMS,
        "schedulers.py",
        "self.exponent * t ** (self.exponent - 1)",
        "self.exponent * t ** (self.exponent + 1)",
    ),
    "cosine: rate": (CLOSED_FORMS, "schedulers.py", "torch.tan(math.pi / 2 * t)", "torch.tan(math.pi / 4 * t)"),
    "autodiff: derivative": (
        PATH,
        "paths/base.py",
        "log_prob.exp() * log_prob_dot, 0.0)",
        "-log_prob.exp() * log_prob_dot, 0.0)",
    ),
    "marginal: posterior not used": (
        BOUNDS,
        "rates.py",
        'torch.einsum("nc,nck->nk", weights,',
        'torch.einsum("nc,nck->nk", weights**2,',
    ),
    "marginal of a mixture: lambda": (
        BOUNDS,
        "closed_forms/mixture.py",
        "rates = token_rates(self.path, t) * posterior",
        "rates = posterior",
    ),
    "general bound: sign": (
        BOUNDS,
        "elbo.py",
        "(conditional - marginal + torch.where",
        "(marginal - conditional + torch.where",
    ),
    "mixture bound: 1 + log p": (
        BOUNDS,
        "mixture_bounds.py",
        "torch.where(x_t != x1, rate_x1 * (1 + at",
        "torch.where(x_t != x1, rate_x1 * (1 - at",
    ),
    "masked bound: sum": (BOUNDS, "mixture_bounds.py", "squeeze(-1)) - (rates *", "squeeze(-1)) + (rates *"),
    "score entropy: constant": (
        BOUNDS,
        "score.py",
        "torch.special.xlogy(ratio_x1, ratio_x1) - ratio_x1",
        "torch.special.xlogy(ratio_x1, ratio_x1) + ratio_x1",
    ),
    "score: inverse": (BOUNDS, "score.py", "weights = (score - (1 - kappa)", "weights = (score + (1 - kappa)"),
    "score: arguments of Q swapped": (
        BOUNDS,
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
        "path.increment(x1, t, t_next)).clamp(max=1)",
        "path.increment(x1, t, t_next))",
    ),
    "likelihood: change of variable": (BOUNDS, "likelihood.py", "* (1 - kappa)\n", "* 1.0\n"),
    "likelihood: error": (BOUNDS, "likelihood.py", ".square().sum(0)", ".square().sum(0) * 4"),
    "statistics: sign of beta_0": (SOURCES, "sources.py", "logits = -beta_0", "logits = beta_0"),
    "posterior: unmasked tokens may change": (
        SAMPLER,
        "posterior.py",
        "excluded = ~path.vocabulary.targets(kinds) | absorbed\n",
        "excluded = ~path.vocabulary.targets(kinds) | (absorbed & False)\n",
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
        "self.limit[..., None] * prob)",
        "self.limit[..., None] / prob.shape[-1])",
    ),
    "absorbed: unmasked tokens of a user's path": (
        SAMPLER,
        "paths/base.py",
        "return Table(~reached)",
        "return Table(~reached & False)",
    ),
    "likelihood: shift of the grid": (
        BOUNDS,
        "likelihood.py",
        ".square() / 12",
        ".square() / 12e9",
    ),
    "velocity out of a state that the source excludes": (
        EVERY,
        "closed_forms/mixture.py",
        "scatter(-1, x1[..., None], 1.0) * (at(source, z) > 0)",
        "scatter(-1, x1[..., None], 1.0)",
    ),
    "guidance: sign": (SAMPLER, "guidance.py", "without + scale *", "without - scale *"),
    "temperature: multiplies": (SAMPLER, "categorical.py", "logits / temperature if", "logits * temperature if"),
}


def notices(name: str) -> bool:
    """Return whether the tests fail with the mutation `name`."""
    tests, file, old, new = MUTATIONS[name]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for part in ("pipeline", "tests", "examples"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        target = copy / "pipeline" / "flow" / file
        text = target.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{name}: {file} has {text.count(old)} places with {old!r}; bring the mutation up to date")
        target.write_text(text.replace(old, new))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", tests]
        environment = os.environ | {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise SystemExit(f"{name}: pytest could not run\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return run.returncode == 1


def main(words: list[str]) -> int:
    """Try the mutations whose names contain one of the words, or all; return how many went unnoticed."""
    names = [name for name in MUTATIONS if not words or any(word in name for word in words)]
    unnoticed = 0
    with ThreadPoolExecutor(2) as pool:
        for name, noticed in zip(names, pool.map(notices, names), strict=True):
            print(f"{'noticed  ' if noticed else 'UNNOTICED'}  {name}", flush=True)
            unnoticed += not noticed
    print(f"{len(names) - unnoticed} of {len(names)} broken formulas noticed")
    return unnoticed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
