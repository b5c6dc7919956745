"""What a person sees when a command cannot do its work: a sentence on stderr and an exit code, never a traceback."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes, the same for all commands."""

    OK = 0
    FAILED = 1
    """The job, or what was asked for, did not succeed."""
    USAGE = 2
    """The command line or a file given with it is wrong: nothing was done."""
    UNREACHABLE = 3
    """No control plane answers."""
    INTERRUPTED = 130


class CommandFailed(Exception):
    """Ends the command with a message of one or more lines and an exit code."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code
