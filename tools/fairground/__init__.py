# SPDX-License-Identifier: GPL-2.0-only
"""The host side of Fairground: boot the machine in QEMU, measure it, read what it recorded.

Standard library only, but for what pyproject.toml calls extras. `python3 -m fairground --help` lists the
commands; `make run`, `make bench` and the end-to-end tests go through the same code. Reading order: settings, qemu,
machine, then a command's file.
"""
