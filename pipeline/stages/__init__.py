"""The stages of the workflow, one file each."""
