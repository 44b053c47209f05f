"""Text: corpora, tokenizers, and what is computed on text."""
