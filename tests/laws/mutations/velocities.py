"""Broken formulas of velocities and fluxes."""

CLOSED_FORMS = "tests/laws/test_closed_forms.py"
EVERY = "tests/laws/test_every_path_and_velocity.py"

# name: (tests that must notice, file, original text, replacement)
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
}
