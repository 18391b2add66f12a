"""The one kind of error that ends a command without a traceback."""


class Problem(Exception):
    """What the person at the keyboard has to put right, in one line."""
