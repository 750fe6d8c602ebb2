"""
Errors a caller of this app can meet:

* Refusal
  - TrialUnderWay   another trial restore of this organisation is not done yet
  - NothingToTry    none of its snapshots lies off-site, read back and compared
"""

from controlplane.errors import Refusal


class TrialUnderWay(Refusal):
    code = "trial_restore_under_way"

    def __init__(self, organisation: str) -> None:
        super().__init__(
            f"A trial restore of {organisation} is under way already. Wait until that is done, "
            "then ask again."
        )


class NothingToTry(Refusal):
    code = "nothing_to_try"

    def __init__(self, organisation: str) -> None:
        super().__init__(
            f"{organisation} has no snapshot off-site that was read back and compared, so there is "
            "nothing to bring back. Take a snapshot, wait until it is done, then ask again."
        )
