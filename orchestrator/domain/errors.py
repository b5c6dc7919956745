"""One error tree, without HTTP or SQL in it; `api/problems.py` gives each leaf a status.

PodwrightError
├── InvalidInput        faults, each with the path of the field
├── NotFound
├── Conflict
│   └── Superseded      a report or write of an attempt that is no longer current
├── Stale               it was changed since the caller saw it
├── TooManyFailures     of logging in
├── Unauthenticated
├── Forbidden
├── Unavailable         the database or the server cannot answer now; try again
└── IllegalTransition   a defect of ours: a change of state that the table does not hold
"""

from dataclasses import dataclass


class PodwrightError(Exception):
    """Something went wrong."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").strip())


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input: where, what, and what is allowed."""

    path: str
    message: str


class InvalidInput(PodwrightError):
    """The request holds values that are not allowed."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("; ".join(f"{fault.path}: {fault.message}" for fault in faults))
        self.faults = faults


class NotFound(PodwrightError):
    """There is no such thing."""


class Conflict(PodwrightError):
    """The request does not fit the present state."""


class Superseded(Conflict):
    """This attempt is no longer the current one; its processes must stop."""


class Stale(PodwrightError):
    """It was changed since you saw it; look again."""


class TooManyFailures(PodwrightError):
    """Too many unknown tokens came from this address; wait a minute."""


class Unauthenticated(PodwrightError):
    """A valid token is needed."""


class Forbidden(PodwrightError):
    """This token may not do that."""


class Unavailable(PodwrightError):
    """The control plane cannot answer now; try again."""

    @property
    def why(self) -> str:
        """For the log, in one line: drivers name hosts and accounts, which are not for whoever asked."""
        said = str(self.__cause__ or self).strip()
        return said.splitlines()[0] if said else type(self.__cause__).__name__


class IllegalTransition(PodwrightError):
    """The lifecycle table does not allow this change of state."""
