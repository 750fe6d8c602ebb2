"""An agent that lives through the soak: what it was told and what it wrote must stay."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from bench.containers import docker
from bench.installation import Installation, wait

FILES = 20  # written at a time
WRITE = """
import os, random, sys
seed, count = int(sys.argv[1]), int(sys.argv[2])
random.seed(seed)
for number in range(count):
    path = f"/workspace/soak/{seed}/{number}.bin"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(random.randbytes(random.randint(1, 40_000)))
        file.flush()
        os.fsync(file.fileno())
"""


@dataclass
class Resident:
    installation: Installation
    id: str
    codeword: str = ""
    files: dict[str, str] = field(default_factory=dict)  # path: hash

    @property
    def container(self) -> str:
        return f"roost-{self.id}"

    def wait_running(self, seconds: float) -> None:
        """Raises Stuck."""

        def runs() -> bool:
            seen = self.installation.agent(self.id)
            return bool(seen["settled"] and seen["status"] == "running")

        wait(runs, seconds, f"{self.id} to run")

    def learn(self, rng: Random) -> None:
        """A new codeword and some new files; what was told before may be forgotten, files not."""
        self.codeword = f"heron-{rng.randrange(10**9):09d}"
        self.say(f"Remember: the codeword is {self.codeword}")
        seed = rng.randrange(10**9)
        docker("exec", self.container, "python3", "-c", WRITE, str(seed), str(FILES))
        self.files = self.manifest()

    def say(self, text: str, seconds: float = 120) -> str:
        """Said again while a part is on its way back, as the refusal's own words advise."""
        answers: list[str] = []

        def asked() -> bool:
            body = {"text": text}
            told = self.installation.api("POST", f"/agents/{self.id}/messages", json=body)
            answers.append(str(told["text"]))
            return True

        wait(asked, seconds, f"{self.id} to answer")
        return answers[0]

    def losses(self) -> list[str]:
        """What is not as it was, in words. Raises Stuck when it does not answer."""
        found = []
        answer = self.say("What is the codeword?")
        if self.codeword not in answer:
            found.append(f"{self.id} was told {self.codeword} and says {answer[:120]!r}")
        try:
            kept = self.manifest()
        except OSError as error:
            return [*found, f"{self.id}: its files cannot be read: {error}"]
        changed = sorted(path for path in self.files if kept.get(path) != self.files[path])
        if changed:
            found.append(f"{self.id} lost {len(changed)} files, the first is {changed[0]}")
        return found

    def manifest(self) -> dict[str, str]:
        """Every file it wrote, with its hash, read on the node."""
        root: Path = self.installation.state / "workspaces" / self.id / "data" / "soak"
        return {
            str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }


def settle(installation: Installation, count: int, rng: Random) -> list[Resident]:
    """The demo agent and some more, each with something to remember."""
    ids = [installation.facts["agent"]]
    ids += [installation.create(f"resident-{number}") for number in range(1, count)]
    residents = [Resident(installation, agent_id) for agent_id in ids]
    for resident in residents:
        resident.wait_running(180)
        resident.learn(rng)
    return residents
