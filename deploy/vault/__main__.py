"""Set up a real vault: `VAULT_ADDR=… VAULT_TOKEN=… python -m deploy.vault DIR`.

OpenBao or HashiCorp Vault. It gets one key-value store, AppRole, two policies and two roles; the
roles' ids are printed, their secret ids are written to DIR, readable by their owner alone. Run it
again after an update: it changes what has changed, and makes new secret ids only where the ones in
DIR are missing or refused.
"""

import argparse
import os
import sys
from pathlib import Path

from controlplane.keys.vault.setup import Admin, SetupFailed
from deploy.local import files
from deploy.vault import MOUNT, ROLES, login, policy

NO_AUDIT = """
No audit device is on: nobody could tell who read what. Switch one on, then run this again.
  OpenBao           in its configuration: audit "file" "main" { options = { file_path = "…" } }
  HashiCorp Vault   vault audit enable file file_path=…
(--without-audit leaves it as it is.)"""


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    address, token = os.environ.get("VAULT_ADDR", ""), os.environ.get("VAULT_TOKEN", "")
    if not address or not token:
        print("Set VAULT_ADDR and VAULT_TOKEN (an administrator's) in the environment.")
        return 2
    try:
        return _set_up(Admin(address, token, os.environ.get("VAULT_NAMESPACE", "")), given)
    except SetupFailed as error:
        print(error)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m deploy.vault", description="Set up a real vault.")
    parser.add_argument("directory", type=Path, help="where the secret ids are kept")
    parser.add_argument("--mount", default=MOUNT, help="of the key-value store")
    parser.add_argument("--approle", default="approle", help="where AppRole is mounted")
    parser.add_argument("--prefix", default="roost-", help="of the names of policies and roles")
    parser.add_argument("--from", dest="cidrs", action="append", default=[], metavar="NETWORK",
                        help="roles may be used from there only; may be repeated")  # fmt: skip
    parser.add_argument("--without-audit", action="store_true")
    return parser


def _set_up(admin: Admin, given: argparse.Namespace) -> int:
    if admin.forgets():
        print("This vault keeps everything in memory (dev mode) and would forget every key.")
        return 1
    admin.ensure_store(given.mount)
    admin.ensure_approle(given.approle)
    given.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    print(f"VAULT_ADDR={admin.address}\nVAULT_MOUNT={given.mount}")
    if given.approle != "approle":
        print(f"VAULT_APPROLE_MOUNT={given.approle}")
    for role in ROLES:
        _give_role(admin, role, given)
    if not admin.audit_devices() and not given.without_audit:
        print(NO_AUDIT)
        return 1
    return 0


def _give_role(admin: Admin, role: str, given: argparse.Namespace) -> None:
    name, path = f"{given.prefix}{role}", given.directory / f"{role}.secret-id"
    admin.ensure_policy(name, policy(role, given.mount))
    role_id = admin.ensure_role(given.approle, name, login(name, given.cidrs))
    kept = path.read_text().strip() if path.exists() else ""
    # Bound to other networks it would be refused here, and may be good where it is used.
    good = bool(kept) and (bool(given.cidrs) or admin.can_sign_in(given.approle, role_id, kept))
    if not good:
        files.write(path, admin.new_secret_id(given.approle, name) + "\n")
    print(f"\n# the {role} process{'es' if role == 'provisioner' else ''}")
    print(f"VAULT_ROLE_ID={role_id}\nVAULT_SECRET_ID=$(cat {path})")


if __name__ == "__main__":
    sys.exit(main())
