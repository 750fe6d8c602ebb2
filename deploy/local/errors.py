"""What a local start says when it cannot go on.

LocalError
├── CheckFailed       this machine lacks something: Python, disk, a port, a right
├── EngineMissing     no Docker Engine can be reached or started
├── ProgramFailed     a program of the stack did not come up
├── CommandFailed     a command that `up` runs ended badly
└── Busy              another `up`, `down` or `clean` works on the same state directory
"""


class LocalError(Exception):
    """One sentence of what happened and one of what to do; shown without a traceback."""

    def __init__(self, what: str, do: str) -> None:
        super().__init__(f"{what} {do}")
        self.what = what
        self.do = do


class CheckFailed(LocalError):
    """The machine is not fit for a start, and nothing has been changed on it."""


class EngineMissing(LocalError):
    """No Docker Engine answers and none can be started here."""


class ProgramFailed(LocalError):
    """A program did not become ready; the sentence names its log."""


class CommandFailed(LocalError):
    """A command ended with an error; the sentence holds its last line."""


class Busy(LocalError):
    """The lock on the state directory is held by a living process."""
