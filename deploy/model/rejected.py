"""The one error of this package; each dialect puts it into its provider's own shape."""


class Rejected(Exception):
    """A request that gets an error answer. `param` names the field at fault, if one is."""

    def __init__(self, status: int, message: str, *, code: str = "", param: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
