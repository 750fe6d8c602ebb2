"""The network guard: one nftables table per installation, default deny for its agents.

Bridges are matched by the name's prefix. TCP is refused by a reset, so nothing hangs. The
engine's own rules stay as they are: a drop in any table is final. Its rules: guard_rules.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from provisioner import guard_rules as rules
from provisioner.guard_rules import Listed, Policy, table_name
from provisioner.workspaces.base import WorkspaceTrouble
from provisioner.workspaces.mounts import run

COMMENT = re.compile(r'comment "([0-9a-f]+)"')
Who = tuple[str, str]  # an agent: its bridge and its address
Target = tuple[str, int]  # an address and a port


class GuardError(Exception):
    """The rules could not be loaded; agents must not start without them."""


class NotLoaded(GuardError):
    """There is no table, or not all of it."""


def load(policy: Policy) -> None:
    """Every rule and every agent's policy. What agents with the same list as before were told
    stays let through."""
    now = {(agent.bridge, agent.address): agent.digest for agent in policy.listed}
    before = _listed(policy.installation)
    changed = {who for who, digest in before.items() if now.get(who) != digest}
    try:
        _nft(rules.renewed(policy) + _forgetting(policy.installation, changed))
    except GuardError:
        _nft(rules.replaced(policy))


def set_agent(
    installation: str,
    who: Who,
    *,
    is_open: bool,
    listed: Listed | None,
    quarantined: bool = False,
) -> None:
    """One agent's policy, in effect at once; connections it has stay. Raises NotLoaded."""
    name, key = table_name(installation), rules.agent_key(*who)
    lines = [rules.put(name, "open", key) if is_open else rules.removal(name, "open", key)]
    if not quarantined:  # it may have been, before it was adopted
        lines.append(rules.removal(name, "quarantined", key))
    before = _listed(installation).get(who)
    if before != (listed.digest if listed else None):
        lines += [rules.removal(name, "listed", key), _forgetting(installation, {who})]
        if listed is not None:
            lines.append(rules.put(name, "listed", key, f'comment "{listed.digest}"'))
            lines += [
                rules.put(name, "fixed", f"{key} . {address} . {port}")
                for address, port in listed.fixed
            ]
    _nft("\n".join(lines) + "\n")


def allow(installation: str, who: Who, targets: Iterable[Target], seconds: int) -> None:
    """Let one agent with a list connect to these for a while, from now on."""
    name, key = table_name(installation), rules.agent_key(*who)
    _nft(
        "".join(
            rules.put(name, "learned", f"{key} . {address} . {port}", f"timeout {seconds}s") + "\n"
            for address, port in targets
        )
    )


def list_of(installation: str, who: Who) -> str | None:
    """The digest of the list in effect for an agent; None where it has none."""
    key = rules.agent_key(*who)
    try:
        # Asked for as text: not every version of nft answers this one in JSON.
        found = _run("get", "element", "inet", table_name(installation), "listed", f"{{ {key} }}")
    except NotLoaded:
        return None
    said = COMMENT.search(found)
    return said[1] if said else None


def fingerprint(installation: str) -> str:
    """Of the table's rules, without what agents have learned; "" when there is no table. It stays
    the same over `load`, unless somebody else has changed or removed the table meanwhile."""
    try:
        listed = _json("-t", "list", "table", "inet", table_name(installation))
    except NotLoaded:
        return ""
    kept = [_lasting(row) for row in listed]
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def unload(installation: str) -> None:
    with contextlib.suppress(NotLoaded):
        _run("delete", "table", "inet", table_name(installation))


def _lasting(row: Mapping[str, Any]) -> Any:
    """A row of a listing without what changes by itself. The table's own handle stays in: another
    one says that the table was removed and made again."""
    if "table" in row:
        return row

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: bare(v) for k, v in value.items() if k not in {"handle", "counter"}}
        return [bare(one) for one in value] if isinstance(value, list) else value

    return bare(row)


def _listed(installation: str) -> dict[Who, str]:
    """The agents with a list that the table knows, and the digest of each list."""
    return {
        (where[0], where[1]): comment
        for where, comment in _elements(installation, "listed")
        if comment is not None
    }


def _forgetting(installation: str, agents: set[Who]) -> str:
    """Commands that remove all that these agents were let through to."""
    name = table_name(installation)
    return "".join(
        rules.removal(name, kind, f'"{where[0]}" . ' + " . ".join(map(str, where[1:]))) + "\n"
        for kind in ("learned", "fixed")
        if agents
        for where, _ in _elements(installation, kind)
        if (where[0], where[1]) in agents
    )


def _elements(installation: str, kind: str) -> list[tuple[list[Any], str | None]]:
    """Keys and comments of a set; none where there is no such set yet."""
    try:
        listed = _json("list", "set", "inet", table_name(installation), kind)
    except NotLoaded:
        return []
    rows: list[Any] = next((row["set"].get("elem", []) for row in listed if "set" in row), [])
    bare = [row.get("elem", {"val": row}) for row in rows]
    return [(row["val"]["concat"], row.get("comment")) for row in bare]


def _json(*words: str) -> list[dict[str, Any]]:
    found = json.loads(_run("-j", *words))["nftables"]
    return [row for row in found if "metainfo" not in row]


def _run(*words: str, text: str | None = None) -> str:
    try:
        return run("nft", *words, text=text)
    except WorkspaceTrouble as error:
        kind = NotLoaded if "No such file" in str(error) else GuardError
        raise kind(str(error)) from error


def _nft(script: str) -> None:
    _run("-f", "-", text=script)
