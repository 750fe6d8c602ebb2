"""
Why a drill ends without having compared:

* NoVerdict   it was refused, or something outside kept it from its end: nobody is alarmed
* NotBack     the agent did not come back: that is an outcome, and alarms
"""


class NoVerdict(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class NotBack(Exception):
    def __init__(self, seconds: float, seen: str) -> None:
        super().__init__(
            f"It did not run and answer within {seconds:.0f} s. {seen or 'Nothing says why.'} "
            "Look at its log, then restart it; the snapshot of the drill has all it had."
        )
