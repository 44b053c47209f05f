"""Energy models, one file each.

An energy model is a file in this folder with `Options`, `label(options)` for the tables, `load(options, device)` for a
calculator of ase, and two constants. `CORRECTED` says whether its energies already carry the Materials Project's
corrections of 2020; if not, the pipeline adds them. `PACKAGE` is the distribution that must be installed.
"""
