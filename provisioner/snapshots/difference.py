"""What is added, changed and removed between two manifests."""

from dataclasses import dataclass

from provisioner.snapshots.manifest import Manifest


@dataclass(frozen=True)
class Difference:
    """Paths, in order. `changed` is content; `touched` only owner, mode, times or attributes."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    touched: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        return not (self.added or self.changed or self.removed or self.touched)

    def __str__(self) -> str:
        parts = [
            f"{len(paths)} {word} ({', '.join(paths[:3])}{', …' if len(paths) > 3 else ''})"
            for word, paths in vars(self).items()
            if paths
        ]
        return "; ".join(parts) or "nothing differs"


def difference(old: Manifest, new: Manifest) -> Difference:
    before = {entry.path: entry for entry in old.entries}
    after = {entry.path: entry for entry in new.entries}
    both = [path for path in after if path in before]
    changed = [path for path in both if before[path].content != after[path].content]
    touched = set(both) - set(changed)
    return Difference(
        added=tuple(path for path in after if path not in before),
        changed=tuple(changed),
        removed=tuple(path for path in before if path not in after),
        touched=tuple(sorted(path for path in touched if before[path] != after[path])),
    )
