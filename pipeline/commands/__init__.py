"""Commands that are not stages of the workflow, one file each, described by the docstring of its function."""
