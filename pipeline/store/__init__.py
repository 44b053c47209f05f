"""Files: atomic writes, tensors, tables, journals, locks, provenance, fingerprints, and where each result lies."""
