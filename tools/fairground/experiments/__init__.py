# SPDX-License-Identifier: GPL-2.0-only
"""One file an experiment; experiment.py says what such a file holds."""
