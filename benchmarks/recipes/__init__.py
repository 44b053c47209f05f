"""Which recipe teaches a network most in a fixed time of one core? A study for each network, one file of recipes each.

A recipe is what differs from the settings of a run. All recipes of a study get the same core-minutes: a few steps are
timed, and that gives the number of steps. They are judged by the cross-entropy of the same held-out tokens at the same
times, and by samples.
"""
