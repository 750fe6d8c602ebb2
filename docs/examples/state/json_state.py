"""Some fields that must agree with each other: saved together, or not at all.

Reads one note a line; says `kept NUMBER` when a note is on the disk.
"""

import sys

import roost_state

state = roost_state.load("notes", {"notes": [], "letters": 0})
for line in sys.stdin:
    note = line.rstrip("\n")
    state["notes"].append(note)
    state["letters"] += len(note)
    roost_state.save("notes", state)
    print("kept", len(state["notes"]), flush=True)
