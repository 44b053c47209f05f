"""Where an artefact comes from: the records beside the files, followed down to the data."""
