"""
What can go wrong when somebody asks for something:

* Refusal               theirs: we understood and will not; the message says what to do (409)
  - NotFound            not there, or not yours: the same answer, so that nobody can guess (404)
  - Forbidden           yours, but your role or token may not (403)
  - Invalid             a value that cannot be; names the field (422)
* Unavailable           ours: a part is away; try again (503)

Each class has one stable `code` for programs and one sentence for people.
"""


class Refusal(Exception):
    """A request we understood and will not carry out; the message is for people."""

    code = "refused"
    status = 409


class NotFound(Refusal):
    code = "not_found"
    status = 404

    def __init__(self, what: str = "That") -> None:
        super().__init__(f"{what} does not exist, or it belongs to an organisation you are not in.")


class Forbidden(Refusal):
    code = "forbidden"
    status = 403


class Invalid(Refusal):
    """A value that cannot be.

    `field` is the name the caller used for it.
    """

    code = "invalid"
    status = 422

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Unavailable(Exception):
    """A part of the installation is away; nothing was changed."""

    code = "unavailable"
    status = 503
