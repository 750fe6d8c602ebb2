"""Long work of the node, each in a process of its own: see controlplane.jobs.

`kinds` says which there are and how they run; `launch` takes them up.
"""
