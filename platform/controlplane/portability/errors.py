"""
Errors a caller of this app can meet:

* Refusal
  - NoStore            the installation has no store that archives could go through
  - ExportUnderWay     another export of this agent is not done yet
  - TooManyImports     places to upload to that nobody used
  - NothingUploaded    no archive has arrived yet
  - ImportUsed         an agent began with it already
  - ImportExpired      its place to upload to is closed
  - NotImportable      a runtime that keeps more than its workspace
"""

from controlplane.errors import Refusal


class NoStore(Refusal):
    code = "no_store"

    def __init__(self) -> None:
        super().__init__(
            "This installation has no S3 store, through which exports and imports go. An operator "
            "sets one up: S3_ENDPOINT_URL, S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY "
            "for the node, and ROOST_ARCHIVES for the web process."
        )


class ExportUnderWay(Refusal):
    code = "export_under_way"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"An export of {name} is being made already. Wait until that is done, then ask again."
        )


class TooManyImports(Refusal):
    code = "too_many_imports"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"Your organisation has {most} places to upload to that no agent began with, the most "
            "there can be. Use one of these, or wait: each closes a day after it was made."
        )


class NothingUploaded(Refusal):
    code = "nothing_uploaded"

    def __init__(self) -> None:
        super().__init__("No archive has arrived yet. Upload it, then ask again.")


class ImportUsed(Refusal):
    code = "import_used"

    def __init__(self) -> None:
        super().__init__("An agent began with this import already. Upload the archive once more.")


class ImportExpired(Refusal):
    code = "import_expired"

    def __init__(self) -> None:
        super().__init__(
            "The time to use this import is over, and its archive is removed. Make another one."
        )


class NotImportable(Refusal):
    code = "not_importable"

    def __init__(self, title: str) -> None:
        super().__init__(
            f"{title} keeps what it signs in with outside its workspace, in the vault, so an "
            f"imported workspace could not be used. Fork a {title} agent instead."
        )
