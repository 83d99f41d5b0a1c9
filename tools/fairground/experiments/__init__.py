# SPDX-License-Identifier: GPL-2.0-only
"""What the files of experiments cannot say: experiment_file.py tells what such a module has."""
