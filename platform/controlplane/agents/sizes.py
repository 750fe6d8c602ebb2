"""Names for numbers. An agent's release holds the numbers; nothing else knows the names."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    slug: str
    title: str
    memory_mb: int
    cpu_millis: int
    why: str


SIZES = {
    size.slug: size
    for size in (
        Size("small", "Small", 512, 1000, "For light agents and their tools"),
        Size("medium", "Medium", 2048, 1500, "For builds and long jobs"),
        Size("large", "Large", 4096, 2000, "Several agents inside one"),
    )
}
DISK_GIB = (1, 5, 10, 20, 50)
DEFAULT_DISK_GIB = 5


def size_of(memory_mb: int, cpu_millis: int) -> Size:
    """The size of these numbers; older releases may have numbers that no name has any more."""
    for size in SIZES.values():
        if (size.memory_mb, size.cpu_millis) == (memory_mb, cpu_millis):
            return size
    return Size("custom", "Custom", memory_mb, cpu_millis, "As it was made")
