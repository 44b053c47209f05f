from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/start.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/tokenizer.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/crystals.smk"
include: "workflow/rules/protocols.smk"
include: "workflow/rules/prediction.smk"
include: "workflow/rules/text.smk"
include: "workflow/rules/images.smk"
include: "workflow/rules/oracle.smk"
include: "workflow/rules/report.smk"


rule all:
    """Make the tables and figures of all experiments."""
    default_target: True
    input:
        TARGETS,
