"""The list of agents: what is asked for, which page of it, and what it says as a whole."""

from collections import Counter
from dataclasses import dataclass
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, IntegerField, Value, When
from django.http import QueryDict

from controlplane.agents.lifecycle import Status
from controlplane.agents.models import Agent
from controlplane.agents.queries import STATES, agents_of, find_agents
from controlplane.tenants.access import Access
from frontend.verdicts import DECISIONS, decides

PAGE = 50
# What needs somebody comes first, then what is under way, then what is well.
RANKS = {
    **dict.fromkeys([Status.CRASH_LOOPING, Status.FAILED], 0),
    **dict.fromkeys([Status.DEGRADED, Status.SUSPENDED], 1),
    **dict.fromkeys([Status.WAITING, Status.UNKNOWN], 2),
    Status.RUNNING: 4,
    Status.STOPPED: 5,
}
UNDER_WAY = 3
NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Wish:
    q: str = ""
    state: str = ""
    runtime: str = ""
    page: int = 1

    @classmethod
    def of(cls, query: QueryDict) -> "Wish":
        """Nonsense in the address counts as not asked for."""
        page = query.get("page", "")
        state = query.get("state", "")
        return cls(
            q=query.get("q", "").replace("\0", "").strip()[:100],
            state=state if state in STATES else "",
            runtime=query.get("runtime", "").replace("\0", "")[:32],
            page=int(page) if page.isascii() and page.isdigit() and len(page) < 7 else 1,
        )

    def address(self, page: int | None = None) -> str:
        """As a query string, without what is not set."""
        wanted = {"q": self.q, "state": self.state, "runtime": self.runtime}
        pairs = {name: value for name, value in wanted.items() if value}
        number = self.page if page is None else page
        return urlencode(pairs | ({"page": str(number)} if number > 1 else {}))

    @property
    def filtered(self) -> bool:
        return bool(self.q or self.state or self.runtime)


def find(access: Access, wish: Wish) -> "Page[Agent]":
    whens = [When(status=status, then=Value(rank)) for status, rank in RANKS.items()]
    rank = Case(*whens, default=Value(UNDER_WAY), output_field=IntegerField())
    agents = find_agents(access, q=wish.q, state=wish.state, runtime=wish.runtime)
    return Paginator(agents.order_by(rank, "name", "pk"), PAGE).get_page(wish.page)


def counts(access: Access) -> dict[str, int]:
    """Agents by status; one that waits for a decision counts as failed until it is made."""
    rows = agents_of(access).order_by().values_list("status", "reason").annotate(Count("pk"))
    found: Counter[str] = Counter()
    for status, reason, number in rows:
        found[status if not decides(status, reason) else Status.FAILED] += number
    return found


def sentence(by_status: dict[str, int]) -> str:
    """The list in one sentence: how many need nothing, how many need somebody."""
    total = sum(by_status.values())
    need = sum(by_status.get(status, 0) for status in DECISIONS)
    unseen = by_status.get(Status.UNKNOWN, 0)
    calm = total - need - unseen
    if total == calm:
        who = "It needs" if total == 1 else f"All {_n(total)} need"
        return f"{who} nothing from you."
    parts = []
    if need:
        parts.append(f"{_n(need)} {'waits' if need == 1 else 'wait'} for a decision")
    if unseen:
        parts.append(f"{_n(unseen)} cannot be seen")
    first = f"{_n(calm)} of {_n(total)} {'needs' if calm == 1 else 'need'} nothing from you. "
    return (first if calm else "").capitalize() + ", ".join(parts).capitalize() + "."


def _n(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)
