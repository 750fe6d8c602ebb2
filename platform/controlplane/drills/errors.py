"""
Errors a caller of this app can meet:

* Refusal
  - DrillUnderWay     another drill of this agent is not done yet
  - NothingToDrill    the agent does not run, so there is nothing to recover
  * Invalid           a number of days or a kind that means nothing
"""

from controlplane.errors import Refusal


class DrillUnderWay(Refusal):
    code = "drill_under_way"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"A drill of {name} is under way already. Wait until that is done, then ask again."
        )


class NothingToDrill(Refusal):
    code = "nothing_to_drill"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not running, so there is nothing to end and to bring back. Start it, wait "
            "until it answers, then ask again."
        )
