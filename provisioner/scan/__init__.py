"""The credential proof: looks for an agent's live secrets wherever they must not be.

`wanted` gathers the values, `forms` and `needles` say what to look for, `places` where, and
`run` makes one signed report of it. Values stay in this process's memory.
"""
