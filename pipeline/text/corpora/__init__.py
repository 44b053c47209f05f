"""Corpora: each file here that declares `Options` is one, and is found by its name.

A corpus has `SPLITS`, the splits that it really has; `("all",)` is one stream, which `pipeline.text.corpus.HeldOut`
splits. If the options decide, it also has a function `splits(options)`. It has `documents(options, cache, split)`,
which is asked for these splits only. If it needs them, it has `FILES` (catalogue names of what to fetch into `cache`
first), `inputs(options)` (the user's files), `hub_names(options)` (what is read from the Hugging Face Hub),
`revision(options)` (the version that was read) and `DETOKENISED = True` (the text was put back together from words).
"""
