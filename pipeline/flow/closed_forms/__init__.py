"""Closed forms: faster rates for some pairs of a path and a velocity.

Every velocity works on every path through rows of K rates (see `Rates`). A closed form is a subclass of `Rates` that
overrides what it can do better. Each module here ends with a table from the names of velocities to the closed forms of
one path, and the class of that path refers to it as `closed_forms`.
"""
