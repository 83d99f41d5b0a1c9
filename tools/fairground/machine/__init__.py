# SPDX-License-Identifier: GPL-2.0-only
"""The machine: build what it boots, start QEMU, watch it; the commands that only run it, on Linux too."""
