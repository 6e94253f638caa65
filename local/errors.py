"""What the local tools say when they cannot go on."""


class LocalError(Exception):
    """One sentence for the person at the terminal; no traceback is needed to act on it."""
