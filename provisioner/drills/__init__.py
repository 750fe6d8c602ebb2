"""Recovery drills: an agent is ended on purpose, and what comes back is compared.

`run` is one drill from claim to verdict; `resting` says whether it may begin, `hurting` ends the
agent, `recovery` waits for it, `comparing` reads what it stands on, `planned` starts due ones.
"""
