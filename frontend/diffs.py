"""A unified diff, line by line, as a page shows it."""

import re
from dataclasses import dataclass

MOST = 3000  # lines on a page
HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True)
class Line:
    """`kind` is a css class: add, del, hunk or none. A number is None where the line is not."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None

    @property
    def sign(self) -> str:
        return {"add": "+", "del": "\N{MINUS SIGN}"}.get(self.kind, "")


def lines_of(diff: str) -> tuple[list[Line], bool]:
    """The lines from the first hunk on, and whether there are more than these."""
    found: list[Line] = []
    old = new = 0
    for text in diff.split("\n")[2:]:  # below the two names
        if len(found) >= MOST:
            return found, True
        if hunk := HUNK.match(text):
            old, new = int(hunk[1]), int(hunk[2])
            found.append(Line("hunk", f"Line {new or old}"))
        elif text.startswith("+"):
            found.append(Line("add", shown(text[1:]), new=new))
            new += 1
        elif text.startswith("-"):
            found.append(Line("del", shown(text[1:]), old=old))
            old += 1
        elif text.startswith("\\"):
            found.append(Line("hunk", "No newline at the end"))
        elif text:
            found.append(Line("", shown(text[1:]), old=old, new=new))
            old, new = old + 1, new + 1
    return found, False


def shown(text: str) -> str:
    """What cannot be seen, or turns the direction of writing, is spelled out."""
    return "".join(
        one if one.isprintable() or one == "\t" else f"\\x{ord(one):02x}" for one in text
    )
