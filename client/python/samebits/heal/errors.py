"""What can be wrong with a file or a download."""


class HealError(Exception):
    """The message names the file, the place in it, and what to do."""
