"""What can go wrong with the off-site store; each has a stable code and a sentence for people.

OffsiteError
├── StoreAway           it does not answer, or stopped answering: try again later
├── StoreRefused        it does not accept our key, or has no such bucket: an operator must act
├── StoreFull           it took no more
├── RepositoryLocked    another run works on the same repository
├── RepositoryMissing   nothing was ever kept for this agent
├── WrongPassword       the repository is encrypted with another key
├── SnapshotMissing     the repository has no such snapshot
├── Damaged             what the store gave back is not what was put there
├── Unreadable          some files of the workspace could not be read: nothing counts as kept
├── NoRoom              the disk that a snapshot is written to is full
├── ToolMissing         restic is not installed on this node
└── Failed              anything else; the message has the tool's last line
"""


class OffsiteError(Exception):
    """The text says what happened and what to do; it holds no secret."""

    code = "offsite_failed"


class StoreAway(OffsiteError):
    code = "offsite_away"

    def __init__(self, why: str = "it does not answer") -> None:
        super().__init__(
            f"The off-site store cannot be reached: {why}. Nothing was lost; try again later, or "
            "ask your operator."
        )


class StoreRefused(OffsiteError):
    code = "offsite_refused"

    def __init__(self, why: str, *, missing: bool = False) -> None:
        self.missing = missing  # no more than that the one object is not there
        super().__init__(
            f"The off-site store refuses this node: {why}. An operator must check S3_BUCKET, "
            "S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY."
        )


class StoreFull(OffsiteError):
    code = "offsite_full"

    def __init__(self) -> None:
        super().__init__(
            "The off-site store is full. Nothing was lost; an operator must make room in it."
        )


class RepositoryLocked(OffsiteError):
    code = "offsite_locked"

    def __init__(self) -> None:
        super().__init__(
            "Another run works on this agent's off-site snapshots. Try again when it has ended."
        )


class RepositoryMissing(OffsiteError):
    code = "offsite_empty"

    def __init__(self) -> None:
        super().__init__("Nothing is kept off-site for this agent.")


class WrongPassword(OffsiteError):
    code = "offsite_wrong_key"

    def __init__(self) -> None:
        super().__init__(
            "The off-site snapshots of this agent are encrypted with another key than its "
            "organisation has in the vault. An operator must restore that key."
        )


class SnapshotMissing(OffsiteError):
    code = "offsite_no_such_snapshot"

    def __init__(self, snapshot_id: str) -> None:
        super().__init__(f"The off-site store has no snapshot {snapshot_id[:64]} of this agent.")


class Damaged(OffsiteError):
    code = "offsite_damaged"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"What the off-site store gave back is damaged: {why}. Use another snapshot, and tell "
            "your operator."
        )


class Unreadable(OffsiteError):
    code = "offsite_unreadable"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Some files could not be read, so this does not count as a snapshot: {why}."
        )


class NoRoom(OffsiteError):
    code = "offsite_no_room"

    def __init__(self) -> None:
        super().__init__(
            "The disk that the snapshot is written to is full. Give the workspace more room, or "
            "use a smaller snapshot."
        )


class ToolMissing(OffsiteError):
    code = "offsite_tool_missing"

    def __init__(self) -> None:
        super().__init__(
            "restic is not installed on this node, so snapshots stay on the node. An operator "
            "installs it with: apt-get install restic"
        )


class Failed(OffsiteError):
    pass
