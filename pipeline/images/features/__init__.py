"""Networks whose features are used to compare images, one file each.

Such a file has `Options`, `label(options)` for the tables, `files(options)` with the catalogue names of what to fetch,
and `load(options, cache=..., classifier=..., device=...)`. `load` returns a
:class:`pipeline.images.extractor.FeatureExtractor` or raises a :class:`pipeline.images.feature_choice.FeatureError`. If
the network is read from files of the user, `inputs(options)` names them. If `TRAINED = True`, the workflow trains it on
the experiment's own images and classes; `classifier` is the file of its weights.
"""
