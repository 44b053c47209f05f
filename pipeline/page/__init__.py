"""The results page: everything of a scale's results that people look at, in a folder that needs no network."""
