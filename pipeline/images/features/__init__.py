"""Networks whose features images are compared by, one file each.

Such a file has `Options`, `label(options)` for the tables, `files(options)`: names in the catalogue of what is fetched
before, and `load(options, cache=..., classifier=..., device=...)`, which returns a
:class:`pipeline.images.extractor.FeatureExtractor` or raises the error of :mod:`pipeline.images.features.missing`. One
that is read from files of the user names them with `inputs(options)`. One with `TRAINED = True` is trained by the
workflow on the experiment's own images and classes; its weights are `classifier`.
"""
