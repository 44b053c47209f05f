"""Rules and stages belong together, and no value reaches a shell unquoted."""

import re

import pytest
from project import ROOT

from pipeline.stages import load_stages

TEXT = "\n".join(file.read_text() for file in [ROOT / "Snakefile", *sorted((ROOT / "workflow/rules").glob("*.smk"))])
RULES = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", TEXT, re.MULTILINE | re.DOTALL))
NO_STAGE = {"all", "fetch", "report_page"}  # the one calls no command, the others work on no experiment
SAFE = re.compile(r"wildcards\.(experiment|name|shard|shards)|resources\.\w+")  # names and numbers
FLAGS = re.compile(r"params\.(?!config|journal|checkpoints|events)\w+")  # quoted by `flag`


def stage_called(rule: str) -> str:
    called = re.findall(r"python -m pipeline ([a-z-]+)", RULES[rule])
    assert len(called) == 1, rule
    return called[0].replace("-", "_")


def test_every_stage_has_a_rule_and_every_rule_a_stage() -> None:
    assert {stage_called(rule) for rule in RULES.keys() - NO_STAGE} == load_stages().keys()


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_says_in_one_line_what_it_does(rule: str) -> None:
    assert re.match(r'    """[A-Z].*\."""\n', RULES[rule])


@pytest.mark.parametrize("rule", sorted(RULES.keys() - NO_STAGE))
def test_a_rule_depends_on_what_its_stage_declares(rule: str) -> None:
    assert set(re.findall(r"\*\*declared\(\"(\w+)\"\)", RULES[rule])) == {stage_called(rule)}


@pytest.mark.parametrize("rule", sorted(RULES.keys() - {"all"}))
def test_every_value_in_a_shell_is_quoted_or_a_name_that_was_checked(rule: str) -> None:
    shell = RULES[rule].partition("shell:")[2]
    values = re.findall(r"{([^}]+)}", shell)
    assert len(values) > 1
    assert [one for one in values if not (one.endswith(":q") or SAFE.fullmatch(one) or FLAGS.fullmatch(one))] == []


def test_flags_are_quoted_by_the_function_that_makes_them() -> None:
    for rule, body in RULES.items():
        for name in set(re.findall(r"{params\.(\w+)}", body)):
            assert re.search(rf"^        {name}=(flag\(|evidence_flags,)", body, re.MULTILINE), (rule, name)
    assert TEXT.count("shlex.join(") == 2
