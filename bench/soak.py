"""`python -m bench soak`: parts are killed at random for a while, and nothing may be lost.

After every drill each agent must answer, recall its newest codeword and hold its files; in the
end there is one container for each agent, none for anybody else, and no status that is stuck.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from statistics import median

from bench import containers, results
from bench.drills import DRILLS, PASSING, Scene
from bench.installation import PLACE, Installation, Stuck, running, wait
from bench.resident import Resident, settle
from bench.results import Figure, Result

BACK_S = 180  # the longest any agent may be away after a drill
SETTLED_S = 120


@dataclass
class Story:
    drills: Counter[str] = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def trouble(self, text: str) -> None:
        self.troubles.append(text)
        print(f"  ! {text}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """0 nothing was lost · 1 something was."""
    parser = argparse.ArgumentParser(prog="python -m bench soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    with running() as installation:
        result = soak(installation, given.minutes, given.agents, given.seed)
        if not result.ok:
            _keep_logs(installation)
    results.write(result)
    told = results.read(result.name)
    assert told is not None
    print(results.table(told))
    return 0 if result.ok else 1


def soak(installation: Installation, minutes: float, agents: int, seed: int) -> Result:
    rng, story, before = Random(seed), Story(), results.load()  # noqa: S311  a drill, not a secret
    residents = settle(installation, agents, rng)
    end = time.monotonic() + minutes * 60
    while time.monotonic() < end:
        name = rng.choice(list(DRILLS))
        _drill(name, Scene(installation, rng.choice(residents), rng), residents, story)
    leftovers = _leftovers(installation, residents)
    for text in leftovers:
        story.trouble(text)
    figures = [
        Figure("losses and agents that did not come back", len(story.troubles), 0),
        Figure("drills", sum(story.drills.values())),
        Figure("all answer again, median", median(story.took or [0.0]), unit="s"),
        Figure("all answer again, slowest", max(story.took, default=0.0), unit="s"),
    ]
    details = {
        "minutes": minutes,
        "agents": agents,
        "seed": seed,
        "drills": dict(sorted(story.drills.items())),
        "troubles": story.troubles,
    }
    return Result("soak", figures, (before, results.load()), details)


def _keep_logs(installation: Installation) -> None:
    kept = tempfile.mkdtemp(prefix="roost-soak-log-")
    shutil.copytree(installation.state / "log", kept, dirs_exist_ok=True)
    print(f"· what its processes wrote is kept in {kept}", file=sys.stderr, flush=True)


def _drill(name: str, scene: Scene, residents: list[Resident], story: Story) -> None:
    print(f"· {name} {scene.victim.id}", file=sys.stderr, flush=True)
    begun = time.monotonic()
    try:
        DRILLS[name](scene)
        story.drills[name] += 1
    except PASSING as error:
        print(f"  not done: {error}", file=sys.stderr, flush=True)
    except Stuck as error:
        story.trouble(f"{name}: {error}")
    for resident in residents:
        try:
            for loss in resident.losses():
                story.trouble(f"{name}: {loss}")
            resident.wait_running(BACK_S)
        except Stuck as error:
            story.trouble(f"{name}: {error}")
    story.took.append(time.monotonic() - begun)
    try:
        scene.victim.learn(scene.rng)
    except (Stuck, *PASSING) as error:
        story.trouble(f"{name}: {scene.victim.id} could not learn: {error}")


def _leftovers(installation: Installation, residents: list[Resident]) -> list[str]:
    """What should not be there, or is not as it should be, when all has come to rest."""

    def found() -> list[str]:
        listed = containers.labelled("roost.installation", PLACE["ROOST_INSTALLATION"])
        wanted = sorted(resident.container for resident in residents)
        rows = installation.api("GET", "/agents?limit=100")["items"]
        return [
            *([f"containers {sorted(listed)}, not {wanted}"] if sorted(listed) != wanted else []),
            *(f"{row['id']} is {row['status']}" for row in rows if row["status"] != "running"),
            *(f"{row['id']} is not settled" for row in rows if not row["settled"]),
            *([f"{len(rows)} agents, not {len(wanted)}"] if len(rows) != len(wanted) else []),
        ]

    try:
        wait(lambda: not found(), SETTLED_S, "rest")
    except Stuck:
        return found()
    return []
