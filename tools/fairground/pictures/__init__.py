# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of what a scheduler did: one module for each kind, in kinds. docs/pictures.md shows them."""
