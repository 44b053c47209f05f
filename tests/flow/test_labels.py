"""Each implemented equation of the paper is named in the docstring of exactly one function or class."""

import ast
from pathlib import Path

import pytest

LABELS = [
    "eq:prob_path",
    "e:mixture_token_dependent",
    "e:u_t_marginalization",
    "eq:factorized_posterior",
    "eq:cross_entropy_p1|t",
    "e:euler",
    "eq:discrete_divergence",
    "e:velocity_from_flux",
    "e:kinetic_optimal_energy",
    "e:relaxation_lambda",
    "e:optimal_j_given_p",
    "e:closed_form_rank_1",
    "eq:Campbell_flux",
    "eq:Neta_flux",
    "eq:metric_prob_path",
    "eq:metric_velocity",
    "e:ko_solution",
    "e:ko_pt_and_ut",
    "e:ko_scheduler",
    "e:ko_velocity",
    "e:symmetric_flux",
    "eq:continuous_time_elbo",
    "e:elbo_mixture_path",
    "app:always_valid",
    "alg:alg_sampling",
    "eq:neta_velocity_mixture",
    "eq:mixture_u",
    "app:power_inf_velocity",
    "e:power_inf_flux",
    "a:elbo_masked",
    "a:text_gen",
    "ea:score_to_velocity",
]

FLOW = Path(__file__).parents[2] / "pipeline" / "flow"


def docstrings() -> list[str]:
    found = []
    for file in sorted(FLOW.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.append(ast.get_docstring(node) or "")
    return found


@pytest.mark.parametrize("label", LABELS)
def test_label_is_in_one_docstring_and_nowhere_else(label: str) -> None:
    words = [word.strip("(),.;") for text in docstrings() for word in text.split()]
    assert words.count(label) == 1
    lines = [line for file in FLOW.rglob("*.py") for line in file.read_text().splitlines() if f"({label}" in line]
    assert len(lines) == 1
