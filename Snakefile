from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"
include: "workflow/rules/evidence.smk"
include: "workflow/rules/dependencies.smk"
include: "workflow/rules/demands.smk"
include: "workflow/rules/preflight.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/sample.smk"
include: "workflow/rules/crystals.smk"
include: "workflow/rules/text.smk"
include: "workflow/rules/tokenizer.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/stages.smk"
include: "workflow/rules/code.smk"


rule all:
    default_target: True
    input:
        final_targets(),
