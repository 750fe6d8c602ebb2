"""Which of the tools seen in a conversation are one turn's own, and what of that is new."""

from runtimes.adapter import ToolUse
from runtimes.openclaw.reading import Use


class Tools:
    def __init__(self) -> None:
        self.run = ""
        self._open: dict[str, str] = {}  # the calls under way, by their id: the tools' names
        self._over: set[str] = set()

    def new(self, use: Use) -> list[ToolUse]:
        """What of this nobody was told yet. Use after use is told again and again."""
        if use.run != self.run or use.call in self._over:
            return []
        if use.event.state == "started":
            seen = use.call in self._open
            self._open[use.call] = use.event.name
            return [] if seen else [use.event]
        self._over.add(use.call)
        known = self._open.pop(use.call, None) is not None
        before = [] if known else [ToolUse(use.event.name, "started", "")]
        return [*before, use.event]

    def end(self) -> list[ToolUse]:
        """With its turn, every tool is over."""
        ended = [ToolUse(name, "completed", "") for name in self._open.values()]
        self._open.clear()
        return ended
