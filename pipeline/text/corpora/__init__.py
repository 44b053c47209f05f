"""Corpora: each file here that declares `Options` is one, and is found by its name.

It has `SPLITS`, the splits that it really has (`("all",)`: one stream, which :mod:`pipeline.text.splitting` splits; a
function `splits(options)` where the options decide), `documents(options, cache, split)`, and, if it needs them,
`FILES` (names in the catalogue, fetched before into `cache`), `inputs(options)` (files of the user),
`revision(options)` (the version that was read) and `DETOKENISED = True` (the text was put back together from words).
"""
