"""What every place needs to know."""

from dataclasses import dataclass, field
from functools import cached_property

from controlplane.agents.models import Agent
from provisioner import names
from provisioner.backend import Backend
from provisioner.engines.base import Footprint
from provisioner.scan.needles import Needles
from provisioner.scan.packed import Budget
from provisioner.scan.place import Place
from provisioner.workspaces.base import Kept


@dataclass
class Context:
    backend: Backend
    agent: Agent
    needles: Needles = field(repr=False)
    budget: Budget = field(default_factory=Budget)
    done: dict[str, Place] = field(default_factory=dict)  # what was looked at before

    @cached_property
    def kept(self) -> Kept:
        return self.backend.workspaces.kept(self.agent.pk)

    @cached_property
    def footprint(self) -> Footprint:
        """Raises EngineUnavailable."""
        image = self.agent.release.image if self.agent.release else ""
        return self.backend.engine.footprint(names.container(self.agent.pk), image)
