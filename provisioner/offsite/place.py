"""Where an agent's off-site snapshots lie, from the settings: the one place that reads them."""

from functools import cache

from django.conf import settings

from controlplane import ids
from controlplane.keys.vault import Vault
from provisioner.offsite.bucket import Bucket
from provisioner.offsite.errors import OffsiteError
from provisioner.offsite.key import backup_key
from provisioner.offsite.restic import Credentials, Repository
from provisioner.offsite.running import restic

# Beside the repositories, so that a key for links may be one for this folder alone.
ARCHIVES = "archives"
WORK = "restic-cache"  # below the state directory
ON_NODE = (
    "This installation has no off-site store (S3_ENDPOINT_URL), so snapshots stay on the node."
)


def why_not() -> str | None:
    """Why snapshots stay on the node, as a sentence; None when they are shipped."""
    if not settings.S3_ENDPOINT_URL:
        return ON_NODE
    try:
        restic()
    except OffsiteError as error:
        return str(error)
    return None


def prefix(organisation_id: str, agent_id: str) -> str:
    return f"{organisation_id}/{agent_id}"


def bucket() -> Bucket:
    """Made once for each set of settings: signing in costs more than asking."""
    return _bucket(
        settings.S3_ENDPOINT_URL,
        settings.S3_BUCKET,
        settings.S3_ACCESS_KEY_ID,
        settings.S3_SECRET_ACCESS_KEY,
        settings.S3_REGION,
        settings.S3_PUBLIC_ENDPOINT_URL,
    )


@cache
def _bucket(*given: str) -> Bucket:
    return Bucket(*given)


def repository(vault: Vault, organisation_id: str, agent_id: str) -> Repository:
    """Raises VaultUnavailable. Nothing is made in the store; `ensure` does that."""
    where = prefix(organisation_id, agent_id)
    return Repository(
        url=f"s3:{settings.S3_ENDPOINT_URL.rstrip('/')}/{settings.S3_BUCKET}/{where}",
        host=agent_id,
        password=backup_key(vault, organisation_id),
        credentials=Credentials(
            settings.S3_ACCESS_KEY_ID, settings.S3_SECRET_ACCESS_KEY, settings.S3_REGION
        ),
        work=settings.ROOST_STATE_DIR / WORK,
        tidy=lambda: bucket().tidy_unfinished(where),
        names=lambda begin: bucket().names(f"{where}/{begin}"),
    )


def export_key(organisation_id: str, agent_id: str, export_id: str) -> str:
    return f"{_exports(organisation_id, agent_id)}/{export_id}/workspace.tar.zst"


def _exports(organisation_id: str, agent_id: str) -> str:
    return f"{ARCHIVES}/{organisation_id}/exports/{agent_id}"


def import_key(organisation_id: str, import_id: str) -> str:
    return f"{ARCHIVES}/{organisation_id}/imports/{import_id}/archive"


def forget_object(key: str) -> None:
    """With what an upload left that never ended. Raises OffsiteError."""
    bucket().delete_prefix(key.rpartition("/")[0])


def forget_exports(organisation_id: str, agent_id: str) -> int:
    """All of the agent's; returns how many objects there were. Raises OffsiteError."""
    return bucket().delete_prefix(_exports(organisation_id, agent_id))


def forget_agent(organisation_id: str, agent_id: str) -> int:
    """Everything of the agent in the store, for good; returns how many objects there were."""
    return bucket().delete_prefix(prefix(organisation_id, agent_id))


def kept() -> list[tuple[str, str]]:
    """Organisation and agent of every repository there is; what is named otherwise is not ours."""
    store = bucket()
    found = [
        (organisation, agent)
        for organisation in store.folders()
        if ids.is_id("org", organisation)
        for agent in store.folders(organisation)
    ]
    return [(organisation, agent) for organisation, agent in found if ids.is_id("agt", agent)]
