"""
Errors a caller of this app can meet:

* Refusal
  - NothingToUpgrade      it runs the newest image already
  - NotSettled            it is on its way to something else
  - FailedBefore          the upgrade to this very image failed for this agent
  - UpgradesHalted        it failed too often, for whichever agents
  - ReleaseNotUsable      what a release names is gone or not allowed any more
  - SameRelease           going back to it would change nothing
  (and AgentAtWork of controlplane.jobs: another job of the agent is under way)
"""

from datetime import datetime

from controlplane.agents.lifecycle import spoken
from controlplane.errors import Refusal


class NothingToUpgrade(Refusal):
    code = "nothing_to_upgrade"

    def __init__(self, name: str, version: str) -> None:
        super().__init__(f"{name} runs the newest image of its runtime already, {version}.")


class NotSettled(Refusal):
    code = "not_settled"

    def __init__(self, name: str, status: str) -> None:
        super().__init__(
            f"{name} is {spoken(status)}. Wait until it runs or is stopped, then ask again."
        )


class FailedBefore(Refusal):
    code = "failed_before"

    def __init__(self, version: str, when: datetime | None, why: str) -> None:
        moment = f"on {when:%Y-%m-%d at %H:%M} UTC" if when else "before"
        super().__init__(
            f"The upgrade to {version} failed {moment}: {why} Wait for a newer version, or force "
            "it if the reason is gone."
        )


class UpgradesHalted(Refusal):
    code = "upgrades_halted"

    def __init__(self, version: str, since: datetime) -> None:
        super().__init__(
            f"Upgrades to this image of {version} are on hold since {since:%Y-%m-%d %H:%M} UTC: "
            "they failed three times. Nothing was changed; your operator can allow them again."
        )


class ReleaseNotUsable(Refusal):
    code = "release_not_usable"

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"Release {number} cannot be used again. {why}")


class SameRelease(Refusal):
    code = "same_release"

    def __init__(self, number: int) -> None:
        super().__init__(f"What runs now is just as release {number}. Nothing was changed.")
