"""The vault's configuration: its listener, seal, audit log, and what the first start sets up.

The parser takes one attribute a line. `initialize` runs once; later starts ignore it. Secrets
come from the environment, so that this file holds none.
"""

import json
from pathlib import Path

from deploy.vault import MOUNT, ROLES, login, policy

LOOPBACK = ["127.0.0.1/32"]


def render(port: int, data: Path, seal_key: Path) -> str:
    blocks: list[dict[str, object]] = [
        {"ui": False, "log_level": "info"},
        {"api_addr": f"http://127.0.0.1:{port}", "cluster_addr": f"https://127.0.0.1:{port}"},
        _block('storage "raft"', path=str(data / "raft"), node_id="local", **FAST_ELECTION),
        _block('listener "tcp"', address=f"127.0.0.1:{port}", **LISTENER),
        _block('seal "static"', current_key_id="local-1", current_key=f"file://{seal_key}"),
        _block('audit "file" "main"', options={"file_path": str(data / "audit.log")}),
        {f'initialize "{MOUNT}"': _first_start()},
    ]
    return "\n".join(_hcl(block) for block in blocks)


# One node waits for no other; the cluster port is never used, so any free one will do.
FAST_ELECTION: dict[str, object] = {"performance_multiplier": 1}
LISTENER: dict[str, object] = {"cluster_address": "127.0.0.1:0", "tls_disable": True}


def _block(head: str, **attributes: object) -> dict[str, object]:
    return {head: _Block(attributes)}


class _Block(dict[str, object]):
    """Written as `name { … }`; a plain mapping is written as `name = { … }`."""


def _first_start() -> _Block:
    requests = [
        _request("mount", f"sys/mounts/{MOUNT}", {"type": "kv", "options": {"version": "2"}}),
        _request("approle", "sys/auth/approle", {"type": "approle"}),
    ]
    for role in ROLES:
        secret: dict[str, object] = {"secret_id": _from_environment(f"{role.upper()}_SECRET_ID")}
        named = {"role_id": _from_environment(f"{role.upper()}_ROLE_ID")}
        path = f"auth/approle/role/{role}"
        requests += [
            _request(f"{role}-policy", f"sys/policies/acl/{role}", {"policy": policy(role)}),
            _request(f"{role}-role", path, {**named, **login(role, LOOPBACK)}),
            _request(f"{role}-secret", f"{path}/custom-secret-id", secret),
        ]
    return _Block({head: block for request in requests for head, block in request.items()})


def _request(name: str, path: str, data: dict[str, object]) -> dict[str, object]:
    return _block(f'request "{name}"', operation="update", path=path, data=data)


def _from_environment(name: str) -> dict[str, object]:
    return {"eval_source": "env", "eval_type": "string", "env_var": name}


def _hcl(block: dict[str, object], indent: str = "") -> str:
    return "".join(_line(name, value, indent) for name, value in block.items())


def _line(name: str, value: object, indent: str) -> str:
    if isinstance(value, dict):
        equals = "" if isinstance(value, _Block) else "= "
        inner = _hcl(value, indent + "  ")
        return f"{indent}{name} {equals}{{\n{inner}{indent}}}\n"
    # JSON writes strings, numbers, booleans and lists the way this language reads them.
    return f"{indent}{name} = {json.dumps(value)}\n"
