"""Sampling: blocks of samples with their own seeds, spread over any number of jobs."""
