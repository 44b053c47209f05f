"""Commands that are no stages of the workflow, one file each."""
