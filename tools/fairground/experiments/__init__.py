# SPDX-License-Identifier: GPL-2.0-only
"""Each file is one experiment. experiment.py says what such a file holds."""
