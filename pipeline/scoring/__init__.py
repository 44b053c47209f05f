"""The engine that scores samples: it runs metrics and knows no modality."""
