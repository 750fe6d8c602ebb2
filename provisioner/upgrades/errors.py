"""
Why an upgrade does not go on:

* Refused           before anything was changed: nobody is alarmed, the agent is as it was
* NotGood           the new release is not what it should be: it is rolled back
* NotJudged         something outside kept it from being judged: the new release stays
* NotBack           rolling back did not bring the agent back: an operator or its owner must act
"""


class Told(Exception):
    """A reason for programs, a sentence for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Refused(Told):
    pass


class NotGood(Told):
    pass


class NotJudged(Told):
    pass


class NotBack(Told):
    pass
