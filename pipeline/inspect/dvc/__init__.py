"""The stages of DVC, from the jobs of the workflow and the declarations of their stages."""
