"""What a person who types a command can get wrong."""

from __future__ import annotations


class CommandError(Exception):
    """Wrong usage or input: one line that says what would be right. The command exits with 2."""


class NameNotFoundError(CommandError):
    """What was named does not exist; the text has near matches."""


class AmbiguousNameError(CommandError):
    """What was named may be several things; the text lists them."""
