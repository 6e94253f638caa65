"""How a command ends, as scripts see it."""

#: Done, and nothing is wrong.
DONE = 0
#: Done, and something is found to be wrong: doctor has findings, a request would be refused, work is left over.
FOUND = 1
#: The command line itself is wrong, or no stack is to be reached.
UNUSABLE = 2
#: The stack declined the order; nothing was changed.
DECLINED = 3


class CommandError(Exception):
    """A command cannot be carried out; the sentence says why."""

    def __init__(self, sentence: str, code: int = UNUSABLE) -> None:
        super().__init__(sentence)
        self.code = code


class TryAgain(CommandError):
    """The stack could not do it now, and nothing was changed; the same order may succeed a moment later."""
