"""One file an experiment; experiment.py says what such a file holds."""
