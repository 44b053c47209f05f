"""Data sets of crystals by name: every module here that declares `Options`."""
