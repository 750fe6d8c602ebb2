"""Trial restores: what lies off-site is brought back and compared, so that "success" stays true.

`planned` starts them, `run` carries one out, `snapshots.scratch` takes away what a killed one left.
"""
