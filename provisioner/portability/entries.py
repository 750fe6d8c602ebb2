"""What an archive may hold: each entry is looked at before anything of it is written."""

import os
import posixpath
import tarfile

from provisioner.portability.streams import Bad
from provisioner.snapshots.naming import written

HOME = "/workspace"
# A link to what the agent's image holds, as virtual environments have them, leads to no stranger.
IMAGE = ("/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64")
RIGHTS = 0o1777  # never setuid or setgid
XATTR = "SCHILY.xattr."


def place_of(member: tarfile.TarInfo, top: str) -> str | None:
    """Below the workspace, without a leading slash; "" for the workspace itself, None for a label
    or a folder above. `top` is the folder of the archive that holds the workspace. Raises Bad."""
    name = clean(member, member.name, "name")
    if not top:
        return name
    if name == top:
        return ""
    if not name.startswith(f"{top}/"):
        raise bad(member, f"lies outside of {top}/, where an export has its workspace")
    return name.removeprefix(f"{top}/")


def clean(member: tarfile.TarInfo, name: str, what: str) -> str:
    """Without "./" and a last slash. Raises Bad for a name that leads out."""
    if name.startswith("/"):
        raise bad(member, f"has an absolute {what}")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise bad(member, f"has a {what} that leads out of the workspace")
    return "/".join(parts)


def check_kind(member: tarfile.TarInfo) -> None:
    """Raises Bad."""
    if member.isreg() or member.isdir() or member.issym() or member.islnk():
        return
    kinds = ((member.isfifo(), "a pipe"), (member.isdev(), "a device"))
    kind = next((word for is_it, word in kinds if is_it), "no file, folder or link")
    raise bad(member, f"is {kind}")


def check_link(member: tarfile.TarInfo, place: str) -> None:
    """That a symbolic link stays in the workspace, or in the image. Raises Bad."""
    target = member.linkname
    if not target:
        raise bad(member, "is a link to nothing")
    start = posixpath.dirname(f"{HOME}/{place}")
    led = posixpath.normpath(posixpath.join(start, target))
    if not any(led == folder or led.startswith(f"{folder}/") for folder in (HOME, *IMAGE)):
        raise bad(member, f"is a link that leads out of the workspace, to {written(target)}")


def moment(member: tarfile.TarInfo) -> int:
    """When it was changed, in nanoseconds; tarfile's own number is too coarse."""
    whole, _, part = member.pax_headers.get("mtime", "").partition(".")
    try:
        sign = -1 if whole.startswith("-") else 1
        return int(whole) * 10**9 + sign * int(part[:9].ljust(9, "0"))
    except ValueError:
        return int(member.mtime) * 10**9


def attributes(member: tarfile.TarInfo) -> dict[str, bytes]:
    """Its extended attributes, of those that belong to a file's owner."""
    found = {}
    for key, value in member.pax_headers.items():
        name = key.removeprefix(XATTR)
        if key.startswith(f"{XATTR}user."):
            found[name] = os.fsencode(value)
    return found


def bad(member: tarfile.TarInfo, why: str) -> Bad:
    shown = written(member.name)
    shown = shown if len(shown) <= 120 else f"…{shown[-120:]}"
    return Bad("archive_refused", f"{shown} {why}. Nothing of the archive was taken.")
