"""What every vault of ours is given: one key-value store, two roles, and what each may do.

The policies are the files beside this one, for the vault of `make up` and for a real one alike.
`python -m deploy.vault` gives them to an OpenBao or HashiCorp Vault that is there already.
"""

from pathlib import Path

MOUNT = "roost"
ROLES = ("web", "provisioner")
# Renewed while in use; a day after its sign-in a token ends whatever happens.
LOGIN: dict[str, object] = {
    "token_no_default_policy": True,
    "token_ttl": "1h",
    "token_max_ttl": "24h",
}


def policy(role: str, mount: str = MOUNT) -> str:
    text = (Path(__file__).parent / f"{role}.hcl").read_text()
    return text.replace(f'path "{MOUNT}/', f'path "{mount}/')


def login(policy_name: str, cidrs: list[str]) -> dict[str, object]:
    """The fields of a role. `cidrs` are the networks it may be used from; none: any."""
    bound = {"token_bound_cidrs": cidrs, "secret_id_bound_cidrs": cidrs}
    return {"token_policies": [policy_name], **LOGIN, **bound}
