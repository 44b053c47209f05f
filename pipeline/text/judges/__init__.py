"""Language models that judge texts, one file each.

A judge is a file in this folder with `Options`, `label(options)` for the tables, `files(options)` with the catalogue
names of what to fetch first, if any, and `load(options, cache=..., weights=..., data=..., device=...)`. This returns a
:class:`pipeline.text.judges.likelihood.Judge` or raises a :class:`pipeline.text.judge.JudgeError`.
"""
