# SPDX-License-Identifier: GPL-2.0-only
"""What a command says and ends with when the user's input cannot be used."""


class InputError(Exception):
    """A setting, an option or a file that a command cannot use. The text is one sentence for the user."""
