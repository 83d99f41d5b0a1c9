# SPDX-License-Identifier: GPL-2.0-only
"""What every room stands on: errors, settings and their names, numbers in options, files of TOML, statistics."""
