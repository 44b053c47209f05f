include: "workflow/Snakefile"


workflow.default_target = "all"  # an `include` leaves the target of the file that has it
