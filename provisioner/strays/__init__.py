"""What is there and no row speaks of: a database was restored, a node moved, a worker died.

`looking` finds it, `recording` keeps it as rows for operators, `adopting` makes an agent of it,
`reaping` removes what an operator has agreed to. Nothing here removes anything by itself.
"""
